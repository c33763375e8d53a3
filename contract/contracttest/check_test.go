package contracttest_test

import (
	"errors"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/providers/stripe"
)

// Each rule names the line where it stands: its name is there.
func TestSourcesOfRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range contracttest.Report(contracttest.Spec{}) {
		at := strings.LastIndex(r.Source, ":")
		text, err := os.ReadFile(r.Source[:at])
		require.NoError(t, err)
		line, err := strconv.Atoi(r.Source[at+1:])
		require.NoError(t, err)
		assert.Contains(t, strings.Split(string(text), "\n")[line-1], strconv.Quote(r.Rule))
		assert.NotEmpty(t, r.Doc)
		assert.False(t, seen[r.Rule], "two rules named %s", r.Rule)
		seen[r.Rule] = true
	}
}

// An empty Spec is one failure, and no panic.
func TestCheckEmptySpec(t *testing.T) {
	var none *stripe.Adapter
	for _, s := range []contracttest.Spec{{}, {Adapter: none}, {Adapter: stripe.New(nil)}} {
		err := contracttest.Check(s)
		var f *contracttest.Failure
		require.ErrorAs(t, err, &f)
		assert.Equal(t, "spec", f.Rule)
		assert.Regexp(t, `^spec \(\S+rules_terms\.go:\d+\): `, err.Error())
	}
}

func TestCheckJoinsFailures(t *testing.T) {
	s := bases["v1"]()
	s.Adapter = liar{whole: s.Adapter.(whole), classify: statusFor(func(r contract.Reply) bool { return r.StatusCode == 503 }, contract.NotExecuted).classify}
	err := contracttest.Check(s)
	many, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok)
	var rules []string
	for _, e := range many.Unwrap() {
		var f *contracttest.Failure
		require.ErrorAs(t, e, &f)
		rules = append(rules, f.Rule)
	}
	assert.Contains(t, rules, "server-error")
	assert.Contains(t, rules, "exchanges")
}

// In a bubble time is virtual, and no goroutine may be left behind.
func TestCheckInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { assert.NoError(t, contracttest.Check(bases["payto"]())) })
}

// An adapter that panics fails its rules, and the others are checked.
func TestCheckSurvivesPanic(t *testing.T) {
	s := bases["v1"]()
	s.Adapter = liar{whole: s.Adapter.(whole), classify: func(contract.Call, contract.Reply, contract.Outcome) contract.Outcome { panic("always") }}
	err := contracttest.Check(s)
	assert.ErrorContains(t, err, "panic: always")
	assert.NotContains(t, err.Error(), "sources (")
}

// A sandbox is reached over its client, and what it cannot show is told.
func TestSandbox(t *testing.T) {
	server := fakes.NewStripe(nil)
	defer server.Close()
	s := bases["v1"]()
	s.Fake, s.Sandbox = nil, &contracttest.Sandbox{URL: server.URL(), Client: &http.Client{Transport: &http.Transport{}}}
	skipped := map[string]string{}
	for _, r := range contracttest.Report(s) {
		assert.NoError(t, r.Err)
		if r.Skipped != "" {
			skipped[r.Rule] = r.Skipped
		}
	}
	assert.Contains(t, skipped["one-effect"], "Fake.Effects")
	assert.Contains(t, skipped["retention"], "Fake.Advance")
	assert.Contains(t, skipped["not-found"], "Spec.Fake")
	assert.NotContains(t, skipped, "cut-on-wire")
	assert.NotContains(t, skipped, "changed")
	assert.NotEmpty(t, server.Effects())

	s.Sandbox.URL = "http://127.0.0.1:1" // nobody there
	s.Sandbox.Client = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("refused") })}
	assert.Error(t, contracttest.CheckRule("success", s).Err)
}

const exchange = `Acme says so.
source: https://docs.acme.example/errors
read: 2026-11-29
-- request --
POST https://api.acme.example/v1/payments
Idempotency-Key: k-1

{"amount": 100}
-- reply --
409
Retry-After: 2

{"error": "x"}
-- outcome --
status: in progress
wait: 2s
`

func TestExchanges(t *testing.T) {
	all, err := contracttest.Exchanges(fstest.MapFS{"b.txtar": {Data: []byte(exchange)}, "a.txtar": {Data: []byte(strings.ReplaceAll(exchange, "\n", "\r\n"))}, "c.md": {}})
	require.NoError(t, err)
	require.Len(t, all, 2)
	for i, x := range all {
		assert.Equal(t, []string{"a", "b"}[i], x.Name)
		assert.Equal(t, "Acme says so.", x.About)
		assert.Equal(t, []contract.Source{{URL: "https://docs.acme.example/errors", Date: "2026-11-29"}}, x.Sources)
		c := x.Call(stripe.New(nil)) // which honours a key at such a path
		assert.Equal(t, "POST https://api.acme.example/v1/payments k-1", c.Request.Method+" "+c.Request.URL.String()+" "+c.Key)
		assert.JSONEq(t, `{"amount": 100}`, string(c.Body))
		assert.Equal(t, 409, x.Reply.StatusCode)
		assert.Equal(t, "2", x.Reply.Header.Get("Retry-After"))
		assert.Equal(t, `{"error": "x"}`, string(x.Reply.Body))
		assert.ErrorContains(t, x.Check(stripe.New(nil)), `status "unknown", and "in progress" is expected`)
	}
}

func TestExchangesRefuses(t *testing.T) {
	for old, broken := range map[string]string{
		"source: https://docs.acme.example/errors": "",
		"source: https":         "source: the docs",
		"read: 2026-11-29":      "read: yesterday",
		"read: 2026-11-29\n":    "",
		"https://api.acme.e":    "/v1",
		"POST https":            "https",
		"409":                   "conflict",
		"Retry-After: 2":        "Retry-After 2",
		"status: in progress":   "status: busy",
		"status: in progress\n": "",
		"wait:":                 "waits:",
		"-- outcome --":         "-- outcomes --",
		"-- reply --\n":         "",
		"wait: 2s\n":            "wait: 2s\n-- fetch --\nhttps://api.acme.example/x\n",
	} {
		require.Contains(t, exchange, old)
		_, err := contracttest.Exchanges(fstest.MapFS{"x.txtar": {Data: []byte(strings.Replace(exchange, old, broken, 1))}})
		assert.ErrorContains(t, err, "x.txtar", "%q for %q", broken, old)
	}
	_, err := contracttest.Exchanges(fstest.MapFS{})
	assert.Error(t, err)
}

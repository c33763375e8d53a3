package contracttest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/retry"
)

// mutant is a sound spec with one lie, and the rule that must tell it.
type mutant struct {
	name string
	base string
	rule string
	lie  any // a liar, a loop, or a func(*contracttest.Spec)
}

// spec returns the mutant's spec.
func (m mutant) spec() contracttest.Spec {
	s := bases[m.base]()
	switch lie := m.lie.(type) {
	case liar:
		lie.whole = s.Adapter.(whole)
		s.Adapter = lie
	case loop:
		s.Client = lie.client
	case func(*contracttest.Spec):
		lie(&s)
	}
	return s
}

// No mutant lives, and each dies of its lie: the rule passes its sound base. A rule
// that kills none checks nothing.
func TestMutants(t *testing.T) {
	if underRace {
		t.Skip("155 runs of one rule each show no race that the sound adapters do not; they run without the detector")
	}
	kills := map[string]int{}
	names := map[string]bool{}
	sound := map[string]bool{}
	for _, m := range mutants {
		assert.False(t, names[m.name], "two mutants named %s", m.name)
		names[m.name] = true
		if at := m.base + " " + m.rule; !sound[at] {
			sound[at] = true
			result := contracttest.CheckRule(m.rule, bases[m.base]())
			assert.NoError(t, result.Err)
			assert.Empty(t, result.Skipped, at)
		}
		result := contracttest.CheckRule(m.rule, m.spec())
		if assert.Error(t, result.Err, "%s (%s) lives: rule %s says nothing (skipped: %q)", m.name, m.base, m.rule, result.Skipped) {
			kills[m.rule]++
			assert.Contains(t, result.Err.Error(), m.rule+" ("+result.Source+")")
			assert.Regexp(t, `rules_\w+\.go:\d+$`, result.Source)
		}
	}
	for _, rule := range contracttest.RuleNames() {
		assert.NotZero(t, kills[rule], "the rule %s kills no mutant", rule)
	}
	assert.GreaterOrEqual(t, len(mutants), 40)
	t.Logf("%d mutants, %d rules", len(mutants), len(kills))
}

func statusFor(match func(contract.Reply) bool, s contract.Status) liar {
	return liar{classify: func(_ contract.Call, r contract.Reply, o contract.Outcome) contract.Outcome {
		if match(r) {
			o.Status = s
		}
		return o
	}}
}

func turn(from, to contract.Status) liar {
	return liar{classify: func(_ contract.Call, _ contract.Reply, o contract.Outcome) contract.Outcome {
		if o.Status == from {
			o.Status = to
		}
		return o
	}}
}

func terms(change func(*contract.Terms)) liar {
	return liar{terms: func(_ contract.Call, t contract.Terms) contract.Terms {
		change(&t)
		return t
	}}
}

// listing is an adapter that lists other endpoints.
func listing(all ...contract.Endpoint) func(*contracttest.Spec) {
	return func(s *contracttest.Spec) { s.Adapter = lister{s.Adapter.(whole), all} }
}

type lister struct {
	whole
	all []contract.Endpoint
}

func (l lister) Endpoints() []contract.Endpoint { return l.all }

func outcome(change func(*contract.Outcome)) liar {
	return liar{classify: func(_ contract.Call, _ contract.Reply, o contract.Outcome) contract.Outcome {
		change(&o)
		return o
	}}
}

// keyed changes only the terms of endpoints that honour keys.
func keyed(change func(*contract.Terms)) liar {
	return terms(func(t *contract.Terms) {
		if t.HonoursKeys() {
			change(t)
		}
	})
}

func everyOther() func() bool {
	var n atomic.Int64
	return func() bool { return n.Add(1)%2 == 0 }
}

// report makes a loop say one status where the truth is another.
func report(from, to contract.Status) loop {
	return loop{result: func(_ *http.Request, r *retry.Result, err error) (*retry.Result, error) {
		if r.Status != from {
			return r, err
		}
		return lieAbout(r, to)
	}}
}

func lieAbout(r *retry.Result, s contract.Status) (*retry.Result, error) {
	v := r.Verdict
	v.Status = s
	if s == contract.Succeeded {
		return &retry.Result{Verdict: v, Response: r.Response}, nil
	}
	return &retry.Result{Verdict: v, Response: r.Response}, &retry.Error{Verdict: v}
}

func sendOn(rt http.RoundTripper, r *http.Request, change func(*http.Request, []byte) []byte) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r.Body.Close()
	}
	out := r.Clone(r.Context())
	if out.Method == http.MethodPost {
		body = change(out, body)
	}
	out.Body, out.ContentLength, out.GetBody = http.NoBody, int64(len(body)), nil
	if len(body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(body))
	}
	return rt.RoundTrip(out)
}

func tampered(change func(*http.Request, []byte) []byte) loop {
	return loop{wire: func(rt http.RoundTripper, r *http.Request) (*http.Response, error) { return sendOn(rt, r, change) }}
}

func keyOf(r *http.Request) string { return contract.HeaderValue(r.Header, "Idempotency-Key") }

func setKey(r *http.Request, key string) {
	for name := range r.Header {
		if strings.EqualFold(name, "Idempotency-Key") {
			delete(r.Header, name)
		}
	}
	r.Header.Set("Idempotency-Key", key)
}

// swallow hides the error that cut a body.
type swallow struct{ io.ReadCloser }

func (s swallow) Read(b []byte) (int, error) {
	n, err := s.ReadCloser.Read(b)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

var anyID = regexp.MustCompile(`"(?:id|ref|uid)": ?"([A-Za-z0-9_.-]+)"`)

// textSearch finds a success by looking for an id in the text of a body.
func textSearch(_ contract.Call, r contract.Reply, o contract.Outcome) contract.Outcome {
	if m := anyID.FindSubmatch(r.Body); m != nil && r.StatusCode/100 == 2 {
		return contract.Outcome{Status: contract.Succeeded, Resource: string(m[1])}
	}
	return o
}

func message(body []byte) string {
	var m struct {
		Message string
		Error   struct{ Message string }
		Errors  any
	}
	_ = json.Unmarshal(body, &m)
	return m.Message + m.Error.Message + fmt.Sprint(m.Errors)
}

var mutants = []mutant{
	// What the author hands in.
	{"a request that is new each time", "v1", "spec", func(s *contracttest.Spec) {
		var n atomic.Int64
		request := s.Request
		s.Request = func(key string, amount int64) (*http.Request, error) { return request(key, amount+n.Add(1)) }
	}},
	{"a uid of its own", "payto", "spec", func(s *contracttest.Spec) {
		request := s.Request
		s.Request = func(_ string, amount int64) (*http.Request, error) { return request("always-the-same", amount) }
	}},
	{"no fake", "v1", "spec", func(s *contracttest.Spec) { s.Fake = nil }},
	{"no exchanges", "v1", "spec", func(s *contracttest.Spec) { s.Exchanges = nil }},
	{"a read for a request", "v1", "spec", func(s *contracttest.Spec) {
		s.Request = func(string, int64) (*http.Request, error) {
			return http.NewRequest(http.MethodGet, "https://api.stripe.com/v1/balance", nil)
		}
	}},
	{"a name in capitals", "v1", "name", liar{name: func() string { return "Stripe" }}},
	{"a name that counts", "v1", "name", func() liar {
		var n atomic.Int64
		return liar{name: func() string { return fmt.Sprintf("stripe-%d", n.Add(1)) }}
	}()},

	// Terms.
	{"no sources", "v1", "sources", terms(func(t *contract.Terms) { t.Sources = nil })},
	{"a source without a date", "payment", "sources", terms(func(t *contract.Terms) { t.Sources = []contract.Source{{URL: "https://example.com"}} })},
	{"a source that is a word", "v1", "sources", terms(func(t *contract.Terms) { t.Sources = []contract.Source{{URL: "the docs", Date: "2026-11-29"}} })},
	{"terms by key", "v1", "terms-pure", liar{terms: func(c contract.Call, t contract.Terms) contract.Terms {
		if c.Key != "" {
			t.Retention *= 2
		}
		return t
	}}},
	{"terms by turns", "v1", "terms-pure", func() liar {
		odd := everyOther()
		return terms(func(t *contract.Terms) {
			if odd() {
				t.KeyRequired = !t.KeyRequired
			}
		})
	}()},
	{"terms that mark the request", "v1", "terms-pure", liar{terms: func(c contract.Call, t contract.Terms) contract.Terms {
		c.Request.Header.Set("X-Seen", "yes")
		return t
	}}},
	{"two places for the key", "v1", "terms-agree", keyed(func(t *contract.Terms) { t.KeyField = "key" })},
	{"quotes in no header", "payto", "terms-agree", keyed(func(t *contract.Terms) { t.KeyQuoted = true })},
	{"a retention of no key", "contact", "terms-agree", terms(func(t *contract.Terms) { t.Retention = time.Hour })},
	{"a key that promises nothing", "v1", "terms-agree", keyed(func(t *contract.Terms) { t.Repeat = contract.RepeatsNothing })},
	{"lengths the wrong way round", "payto", "terms-agree", keyed(func(t *contract.Terms) { t.KeyMinLen, t.KeyMaxLen = 65, 64 })},
	{"credentials that select the account", "v1", "terms-agree", terms(func(t *contract.Terms) { t.AccountHeaders = append(t.AccountHeaders, "Authorization") })},
	{"a repeat that is refused", "v1", "answers", keyed(func(t *contract.Terms) {
		t.RepeatAnswers = []contract.Answer{{Status: http.StatusBadRequest, Code: "invalid_request_error"}}
	})},
	{"in flight, said as a mismatch is", "v1", "answers", keyed(func(t *contract.Terms) {
		t.InFlightAnswers, t.MismatchAnswers = t.MismatchAnswers, nil
	})},
	{"no endpoints", "v1", "endpoints", listing()},
	{"an endpoint that reads", "v1", "endpoints", listing(contract.Endpoint{Name: "read", Method: http.MethodGet, URL: "https://api.stripe.com/v1/balance"})},
	{"an endpoint without a host", "v1", "endpoints", listing(contract.Endpoint{Name: "pay", Method: http.MethodPost, URL: "/v1/payments"})},
	{"an endpoint without a name", "v1", "endpoints", listing(contract.Endpoint{Method: http.MethodPost, URL: "https://api.stripe.com/v1/payments"})},
	{"an endpoint with a hole", "v1", "endpoints", listing(contract.Endpoint{Name: "pay", Method: http.MethodPost, URL: "https://api.stripe.com/v1/{account}"})},
	{"a promise for reads", "v1", "least-promise", liar{terms: func(c contract.Call, t contract.Terms) contract.Terms {
		if c.Request.Method == http.MethodGet {
			return contract.Terms{KeyHeader: "Idempotency-Key", Repeat: contract.Replays, Retention: time.Hour, Sources: t.Sources}
		}
		return t
	}}},
	{"a promise for every path", "payment", "least-promise", liar{terms: func(c contract.Call, t contract.Terms) contract.Terms {
		if c.Request.Method == http.MethodPost {
			t.KeyHeader, t.Repeat, t.Retention = "Idempotency-Key", contract.Conflicts, time.Hour
		}
		return t
	}}},

	// The key.
	{"a loop that checks no key", "v1", "bad-key", loop{adapter: func(a contract.Adapter) contract.Adapter {
		return misread{Adapter: a, terms: func(t *contract.Terms) { t.KeyMaxLen = 0 }}
	}}},
	{"a loop that makes up a missing key", "payment", "bad-key", loop{request: func(r *http.Request) *http.Request {
		if key, _ := contract.KeyFrom(r.Context()); key == "" && keyOf(r) == "" {
			return r.WithContext(contract.WithKey(r.Context(), contract.NewKey()))
		}
		return r
	}}},
	{"a loop that mends keys", "v1", "bad-key", loop{request: func(r *http.Request) *http.Request {
		key, _ := contract.KeyFrom(r.Context())
		return r.WithContext(contract.WithKey(r.Context(), strings.TrimSpace(key)))
	}}},
	{"no limit of the key", "v1", "good-key", keyed(func(t *contract.Terms) { t.KeyMaxLen = 0 })},
	{"too long a key", "payment", "good-key", keyed(func(t *contract.Terms) { t.KeyMaxLen = 257 })},
	{"quotes around the key", "v1", "good-key", keyed(func(t *contract.Terms) { t.KeyQuoted = true })},
	{"a wider alphabet", "payto", "good-key", keyed(func(t *contract.Terms) { t.KeyAlphabet += "/" })},
	{"a key in two headers", "v1", "key-on-wire", tampered(func(r *http.Request, b []byte) []byte {
		r.Header.Set("X-Request-Key", keyOf(r))
		return b
	})},
	{"a key in the query too", "payment", "key-on-wire", tampered(func(r *http.Request, b []byte) []byte {
		r.URL.RawQuery = "key=" + keyOf(r)
		return b
	})},
	{"a key twice in its header", "v1", "key-on-wire", tampered(func(r *http.Request, b []byte) []byte {
		r.Header["Idempotency-Key"] = []string{keyOf(r), keyOf(r)}
		return b
	})},
	{"a key of the loop's own", "v1", "key-on-wire", tampered(func(r *http.Request, b []byte) []byte {
		setKey(r, "0"+keyOf(r)[1:])
		return b
	})},
	{"a uid in a header too", "payto", "key-on-wire", tampered(func(r *http.Request, b []byte) []byte {
		var body struct{ UID string }
		_ = json.Unmarshal(b, &body)
		r.Header.Set("Idempotency-Key", body.UID)
		return b
	})},
	{"a new key for every attempt", "v1", "same-bytes", tampered(func(r *http.Request, b []byte) []byte {
		setKey(r, contract.NewKey())
		return b
	})},
	{"a header that counts attempts", "v1", "same-bytes", func() loop {
		var n atomic.Int64
		return tampered(func(r *http.Request, b []byte) []byte {
			r.Header.Set("X-Attempt", fmt.Sprint(n.Add(1)))
			return b
		})
	}()},
	{"a body with the time in it", "payment", "same-bytes", func() loop {
		var n atomic.Int64
		return tampered(func(_ *http.Request, b []byte) []byte { return append(b, strings.Repeat(" ", int(n.Add(1)))...) })
	}()},
	{"a loop that never resends", "v1", "same-bytes", loop{options: func(o *retry.Options) { o.MaxAttempts = 1 }}},

	// What one answer shows.
	{"no code", "v1", "exchanges", outcome(func(o *contract.Outcome) { o.Code = "" })},
	{"no state", "payment", "exchanges", outcome(func(o *contract.Outcome) { o.State = "" })},
	{"a replay that is not told", "v1", "exchanges", outcome(func(o *contract.Outcome) { o.Replayed = false })},
	{"advice that is dropped", "v1", "exchanges", outcome(func(o *contract.Outcome) { o.NoResend = false })},
	{"a decline that may be corrected", "v1", "exchanges", turn(contract.Declined, contract.Rejected)},
	{"a spent key that is only unknown", "v1", "exchanges", turn(contract.KeySpent, contract.Unknown)},
	{"another payment taken for this one", "payment", "exchanges", liar{classifyResolve: func(_ contract.Call, _ contract.Outcome, _ contract.Reply, o contract.Outcome) contract.Outcome {
		if o.Status == contract.KeyReused {
			o.Status = contract.Succeeded
		}
		return o
	}}},
	{"a success without a name", "v1", "documented-success", outcome(func(o *contract.Outcome) { o.Resource = "" })},
	{"a success that is a doubt", "payment", "documented-success", turn(contract.Succeeded, contract.Unknown)},
	{"an answer by turns", "v1", "pure", func() liar {
		odd := everyOther()
		return outcome(func(o *contract.Outcome) {
			if odd() {
				o.NoResend = !o.NoResend
			}
		})
	}()},
	{"a finder that remembers", "v1", "pure", func() liar {
		odd := everyOther()
		return liar{find: func(_ contract.Call, _ *contract.Reply, r *http.Request, f contract.Finding, err error) (*http.Request, contract.Finding, error) {
			f.Applied = odd()
			return r, f, err
		}}
	}()},
	{"a resolver that remembers", "payment", "pure", func() liar {
		odd := everyOther()
		return liar{classifyResolve: func(_ contract.Call, _ contract.Outcome, _ contract.Reply, o contract.Outcome) contract.Outcome {
			if odd() {
				o.State = "seen"
			}
			return o
		}}
	}()},
	{"an adapter that marks the body", "v1", "pure", func() liar {
		var once atomic.Bool
		return liar{classify: func(_ contract.Call, r contract.Reply, o contract.Outcome) contract.Outcome {
			if len(r.Body) > 0 && once.CompareAndSwap(false, true) {
				r.Body[len(r.Body)-1] = ' '
			}
			return o
		}}
	}()},
	{"an answer by the clock", "v1", "pure", outcome(func(o *contract.Outcome) { o.RetryAfter = time.Duration(time.Now().UnixNano()) })},
	{"a panic at a strange status", "v1", "sane", liar{classify: func(_ contract.Call, r contract.Reply, o contract.Outcome) contract.Outcome {
		if r.StatusCode == 999 {
			panic("no such status")
		}
		return o
	}}},
	{"a panic without headers", "v1", "sane", liar{classify: func(_ contract.Call, r contract.Reply, o contract.Outcome) contract.Outcome {
		if r.StatusCode == 500 && r.Header == nil {
			r.Header["X"] = nil
		}
		return o
	}}},
	{"a status of none", "v1", "sane", statusFor(func(r contract.Reply) bool { return r.StatusCode == 418 }, 77)},
	{"a negative wait", "v1", "sane", outcome(func(o *contract.Outcome) { o.RetryAfter -= time.Second })},
	{"a reference unseen", "v1", "sane", liar{classify: func(_ contract.Call, r contract.Reply, o contract.Outcome) contract.Outcome {
		if body, err := contract.DecodeObject(r.Body); err == nil && r.StatusCode == 200 {
			o.Resource = body.Text("id")
		}
		return o
	}}},
	{"evidence from elsewhere", "v1", "sane", outcome(func(o *contract.Outcome) { o.Source = contract.FromLookUp })},
	{"a wait that is dropped", "payment", "wait", outcome(func(o *contract.Outcome) { o.RetryAfter = 0 })},
	{"a wait that is halved", "v1", "wait", outcome(func(o *contract.Outcome) { o.RetryAfter /= 2 })},
	{"a date by our own clock", "v1", "wait", liar{classify: func(_ contract.Call, r contract.Reply, o contract.Outcome) contract.Outcome {
		r.Header = r.Header.Clone()
		r.Header.Del("Date")
		if o.RetryAfter > 0 {
			o.RetryAfter = r.Wait()
		}
		return o
	}}},

	// Proof.
	{"a reset did nothing", "v1", "sent", statusFor(func(r contract.Reply) bool {
		return r.Err != nil && r.StatusCode == 0 && contract.DescribeError(r.Err) == "connection reset"
	}, contract.NotExecuted)},
	{"a cancel is a refusal", "payment", "sent", statusFor(func(r contract.Reply) bool { return errors.Is(r.Err, context.Canceled) }, contract.Rejected)},
	{"a name lookup proves it", "v1", "sent", statusFor(func(r contract.Reply) bool { return contract.DescribeError(r.Err) == "name lookup failed" }, contract.NotExecuted)},
	{"silence is a refusal", "payto", "sent", statusFor(func(r contract.Reply) bool { return r.StatusCode == 0 && r.Err == nil }, contract.Rejected)},
	{"EOF in progress", "v2", "sent", statusFor(func(r contract.Reply) bool { return errors.Is(r.Err, io.EOF) }, contract.InProgress)},
	{"a refused dial is a doubt", "v1", "unsent", statusFor(func(r contract.Reply) bool { return !r.Sent }, contract.Unknown)},
	{"a refused dial is a refusal", "payment", "unsent", statusFor(func(r contract.Reply) bool { return !r.Sent }, contract.Rejected)},
	{"503 proves absence", "v1", "server-error", statusFor(func(r contract.Reply) bool { return r.StatusCode == 503 }, contract.NotExecuted)},
	{"501 is a refusal", "payto", "server-error", statusFor(func(r contract.Reply) bool { return r.StatusCode == 501 }, contract.Rejected)},
	{"503 with a wait proves absence", "v2", "server-error", statusFor(func(r contract.Reply) bool {
		return r.StatusCode == 503 && r.Header.Get("Retry-After") != ""
	}, contract.NotExecuted)},
	{"a 5xx that shows a resource", "payment", "server-error", liar{classify: func(c contract.Call, r contract.Reply, o contract.Outcome) contract.Outcome {
		if r.StatusCode == 504 {
			return textSearch(c, contract.Reply{StatusCode: 200, Body: r.Body}, o)
		}
		return o
	}}},
	{"any 2xx is a success", "v1", "no-resource", statusFor(func(r contract.Reply) bool { return r.Err == nil && r.StatusCode/100 == 2 }, contract.Succeeded)},
	{"204 is a success", "payment", "no-resource", statusFor(func(r contract.Reply) bool { return r.Err == nil && r.StatusCode == 204 }, contract.Succeeded)},
	{"a page is a success", "payto", "no-resource", statusFor(func(r contract.Reply) bool {
		return r.StatusCode == 200 && bytes.HasPrefix(r.Body, []byte("<html>"))
	}, contract.Succeeded)},
	{"any object is a success", "v2", "no-resource", statusFor(func(r contract.Reply) bool {
		return r.StatusCode == 200 && json.Valid(r.Body) && len(r.Body) > 2 && r.Body[0] == '{'
	}, contract.Succeeded)},
	{"a 2xx without a resource is a refusal", "v1", "no-resource", statusFor(func(r contract.Reply) bool {
		return r.StatusCode == 200 && r.Err == nil && !bytes.Contains(r.Body, []byte(`"id"`))
	}, contract.Rejected)},
	{"any 4xx is a refusal", "v1", "unrecognised", statusFor(func(r contract.Reply) bool { return r.Err == nil && r.StatusCode/100 == 4 }, contract.Rejected)},
	{"402 by itself declines", "payment", "unrecognised", statusFor(func(r contract.Reply) bool { return r.Err == nil && r.StatusCode == 402 }, contract.Declined)},
	{"409 by itself exists", "v1", "unrecognised", statusFor(func(r contract.Reply) bool { return r.Err == nil && r.StatusCode == 409 }, contract.Duplicate)},
	{"404 by itself did nothing", "payto", "unrecognised", statusFor(func(r contract.Reply) bool { return r.Err == nil && r.StatusCode == 404 }, contract.NotExecuted)},
	{"408 is a refusal", "v1", "timeout", statusFor(func(r contract.Reply) bool { return r.StatusCode == 408 }, contract.Rejected)},
	{"a gateway's 499 did nothing", "payto", "timeout", statusFor(func(r contract.Reply) bool { return r.StatusCode == 499 && bytes.Contains(r.Body, []byte("errors")) }, contract.NotExecuted)},
	{"303 is a success", "v1", "redirect-read", statusFor(func(r contract.Reply) bool { return r.StatusCode == 303 }, contract.Succeeded)},
	{"308 did nothing", "payment", "redirect-read", statusFor(func(r contract.Reply) bool { return r.StatusCode == 308 }, contract.NotExecuted)},
	{"a cut that is not looked at", "v1", "cut", liar{classify: textSearch}},
	{"a refusal that need not be whole", "payment", "cut", statusFor(func(r contract.Reply) bool { return r.StatusCode == 400 && r.Err != nil && len(r.Body) > 5 }, contract.Rejected)},
	{"a success by its status", "payto", "cut", statusFor(func(r contract.Reply) bool { return r.StatusCode == 201 && r.Err != nil && len(r.Body) == 0 }, contract.Succeeded)},

	// Through the loop.
	{"a resource that is not told", "v1", "success", outcome(func(o *contract.Outcome) { o.Resource = "" })},
	{"a loop that sends twice", "contact", "success", loop{wire: func(rt http.RoundTripper, r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		for n := 0; ; n++ {
			resp, err := sendOn(rt, r, func(*http.Request, []byte) []byte { return body })
			if err != nil || n == 1 {
				return resp, err
			}
			resp.Body.Close()
		}
	}}},
	{"a duplicate without an error", "payment", "verdict", report(contract.Duplicate, contract.Succeeded)},
	{"a doubt without an error", "v1", "verdict", loop{result: func(_ *http.Request, r *retry.Result, err error) (*retry.Result, error) {
		if r.Status == contract.Unknown {
			return r, nil
		}
		return r, err
	}}},
	{"an error of another status", "v1", "verdict", loop{result: func(_ *http.Request, r *retry.Result, err error) (*retry.Result, error) {
		if err == nil {
			return r, nil
		}
		return r, contract.Rejected
	}}},
	{"attempts that are not counted", "v1", "verdict", loop{result: func(_ *http.Request, r *retry.Result, err error) (*retry.Result, error) {
		r.Attempts = 7
		return r, err
	}}},
	{"a lost reply reported as nothing done", "v1", "lost", report(contract.Unknown, contract.NotExecuted)},
	{"a deadline reported as a failure", "payment", "lost", loop{result: func(r *http.Request, res *retry.Result, err error) (*retry.Result, error) {
		if r.Context().Err() != nil {
			return lieAbout(res, contract.Rejected)
		}
		return res, err
	}}},
	{"a context whose end is not told", "v1", "lost", report(contract.Unknown, contract.Unknown)},
	{"a refused dial reported as a doubt", "v1", "refused-dial", report(contract.NotExecuted, contract.Unknown)},
	{"a refused dial that ends it", "payment", "refused-dial", loop{options: func(o *retry.Options) { o.MaxAttempts = 1 }}},
	{"the last answer as the verdict", "v1", "doubt", loop{result: func(_ *http.Request, r *retry.Result, err error) (*retry.Result, error) {
		if r.Attempts > 1 && err != nil {
			return lieAbout(r, r.Last.Status)
		}
		return r, err
	}}},
	{"no answer is a refusal", "payto", "cut-on-wire", loop{result: func(_ *http.Request, r *retry.Result, err error) (*retry.Result, error) {
		if r.Status == contract.Unknown && r.Response == nil {
			return lieAbout(r, contract.NotExecuted)
		}
		return r, err
	}}},
	{"a cut body taken for whole", "v1", "cut-on-wire", func(s *contracttest.Spec) {
		s.Adapter = liar{whole: s.Adapter.(whole), classify: textSearch}
		s.Client = loop{wire: func(rt http.RoundTripper, r *http.Request) (*http.Response, error) {
			resp, err := rt.RoundTrip(r)
			if err == nil {
				resp.Body = swallow{resp.Body}
			}
			return resp, err
		}}.client
	}},
	{"a page that settles it", "v1", "page", statusFor(func(r contract.Reply) bool { return r.StatusCode == 200 && r.Err == nil }, contract.Succeeded)},
	{"502 as a refusal", "payment", "page", statusFor(func(r contract.Reply) bool { return r.StatusCode == 502 }, contract.Rejected)},
	{"a doubt that is given up", "payto", "page", loop{options: func(o *retry.Options) { o.MaxAttempts = 1 }, adapter: func(a contract.Adapter) contract.Adapter { return misread{Adapter: a} }}},
	{"a redirect that is followed", "v1", "redirect", loop{wire: func(rt http.RoundTripper, r *http.Request) (*http.Response, error) {
		c := &http.Client{Transport: rt}
		body, _ := io.ReadAll(r.Body)
		out := r.Clone(r.Context())
		out.Body = io.NopCloser(bytes.NewReader(body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		return c.Do(out)
	}}},
	{"a redirect as a refusal", "payment", "redirect", statusFor(func(r contract.Reply) bool { return r.StatusCode/100 == 3 }, contract.Rejected)},
	{"in flight as a failure", "v1", "in-flight", turn(contract.InProgress, contract.Rejected)},
	{"in flight without its wait", "payment", "in-flight", outcome(func(o *contract.Outcome) { o.RetryAfter = 0 })},
	{"in flight asked again at once", "v1", "in-flight", loop{options: func(o *retry.Options) { o.MinWait, o.MaxWait = 1, 1 }}},
	{"in flight given up", "v1", "in-flight", loop{result: func(_ *http.Request, r *retry.Result, err error) (*retry.Result, error) {
		if r.Status == contract.InProgress {
			return lieAbout(r, contract.NotExecuted)
		}
		return r, err
	}}},
	{"a wait that is not waited for", "v1", "wait-floor", loop{adapter: func(a contract.Adapter) contract.Adapter {
		return misread{Adapter: a, classify: func(o *contract.Outcome) { o.RetryAfter = 0 }}
	}}},
	{"a wait that is not handed back", "contact", "wait-floor", loop{result: func(_ *http.Request, r *retry.Result, err error) (*retry.Result, error) {
		r.RetryAfter = 0
		return r, err
	}}},

	// Sent again.
	{"a header that the provider does not know", "v1", "one-effect", keyed(func(t *contract.Terms) { t.KeyHeader = "X-Request-Key" })},
	{"net/http sends it again", "v1", "one-effect", loop{wire: func(rt http.RoundTripper, r *http.Request) (*http.Response, error) {
		if r.Body == nil {
			return rt.RoundTrip(r)
		}
		body, _ := io.ReadAll(r.Body)
		out := r.Clone(r.Context())
		out.Body = io.NopCloser(bytes.NewReader(body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		return rt.RoundTrip(out)
	}}},
	{"net/http sends an empty body again", "bodyless", "one-effect", loop{wire: func(rt http.RoundTripper, r *http.Request) (*http.Response, error) {
		out := r.Clone(r.Context())
		setKey(out, keyOf(r)) // under the name that net/http knows
		return rt.RoundTrip(out)
	}}},
	{"a conflict that is a refusal", "payment", "one-effect", turn(contract.Duplicate, contract.Rejected)},
	{"a new key after a loss", "v2", "one-effect", func() loop {
		var n atomic.Int64
		return tampered(func(r *http.Request, b []byte) []byte {
			if n.Add(1) > 2 {
				setKey(r, contract.NewKey())
			}
			return b
		})
	}()},
	{"a repeat that would conflict", "v1", "repeat", keyed(func(t *contract.Terms) { t.Repeat = contract.Conflicts })},
	{"a conflict taken for a success", "payment", "repeat", turn(contract.Duplicate, contract.Succeeded)},
	{"a replay promised of a conflict", "payto", "repeat", keyed(func(t *contract.Terms) { t.Repeat = contract.Replays })},
	{"a duplicate that is not compared", "payment", "changed", liar{classifyResolve: func(_ contract.Call, o contract.Outcome, r contract.Reply, got contract.Outcome) contract.Outcome {
		if r.StatusCode == 200 {
			got.Status = contract.Succeeded
		}
		return got
	}}},
	{"a mismatch that may be corrected", "v1", "changed", turn(contract.KeyReused, contract.Rejected)},
	{"a duplicate that is a success", "payto", "exchanges", turn(contract.Duplicate, contract.Succeeded)},
	{"other parameters taken for a success", "payto", "changed", turn(contract.Duplicate, contract.Succeeded)},
	{"a key that never grows old", "v1", "old-key", loop{adapter: func(a contract.Adapter) contract.Adapter {
		return misread{Adapter: a, terms: func(t *contract.Terms) { t.Retention = contract.RetentionForever }}
	}}},
	{"an age that counts from the answer", "payment", "old-key", loop{wire: func(rt http.RoundTripper, r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		for n := 0; ; n++ {
			resp, err := sendOn(rt, r, func(*http.Request, []byte) []byte { return body })
			if err == nil || n == 1 {
				return resp, err
			}
		}
	}}},
	{"a day too many", "v1", "retention", keyed(func(t *contract.Terms) { t.Retention += 24 * time.Hour })},
	{"a key for ever", "payment", "retention", keyed(func(t *contract.Terms) { t.Retention = contract.RetentionForever })},
	{"a second too many", "v2", "retention", keyed(func(t *contract.Terms) { t.Retention += 2 * time.Second })},
	{"a resend where no key counts", "contact", "no-key", loop{adapter: func(a contract.Adapter) contract.Adapter {
		return misread{Adapter: a, terms: func(t *contract.Terms) { t.Idempotent = true }}
	}}},
	{"a resend without the key", "v1", "no-key", loop{adapter: func(a contract.Adapter) contract.Adapter {
		return misread{Adapter: a, terms: func(t *contract.Terms) { t.Idempotent = t.HonoursKeys() }}
	}}},
	{"a POST that calls itself idempotent", "contact", "no-key", terms(func(t *contract.Terms) { t.Idempotent = true })},
	{"an amount read as a float", "payment", "amount", liar{classifyResolve: floats}},
	{"a body encoded anew", "payment", "amount", tampered(func(_ *http.Request, b []byte) []byte {
		var v any
		if json.Unmarshal(b, &v) != nil {
			return b
		}
		out, _ := json.Marshal(v)
		return out
	})},

	// Looked up.
	{"an empty list proves absence", "v1", "not-found", absentIf(func(r contract.Reply) bool { return bytes.Contains(r.Body, []byte(`"data":[]`)) })},
	{"a 404 proves absence", "payto", "not-found", absentIf(func(r contract.Reply) bool { return r.StatusCode == 404 })},
	{"what is found is absent", "v1", "found", absentIf(func(r contract.Reply) bool { return r.StatusCode == 200 })},
	{"one found as two", "v1", "found", liar{find: func(_ contract.Call, _ *contract.Reply, r *http.Request, f contract.Finding, err error) (*http.Request, contract.Finding, error) {
		if len(f.Resources) == 1 {
			f.Resources = append(slices.Clone(f.Resources), f.Resources[0]+"x")
		}
		return r, f, err
	}}},
	{"an error proves absence", "v1", "unreadable", absentIf(func(r contract.Reply) bool { return r.StatusCode == 500 })},
	{"a page proves absence", "payment", "unreadable", absentIf(func(r contract.Reply) bool { return r.StatusCode == 200 && !json.Valid(r.Body) })},
	{"a cut list proves absence", "payto", "unreadable", absentIf(func(r contract.Reply) bool { return errors.Is(r.Err, io.ErrUnexpectedEOF) })},
	{"a look-up without end", "v1", "unreadable", liar{find: func(c contract.Call, last *contract.Reply, r *http.Request, f contract.Finding, err error) (*http.Request, contract.Finding, error) {
		if last != nil && r == nil {
			r, err = http.NewRequest(http.MethodGet, c.Request.URL.String(), nil)
		}
		return r, f, err
	}}},
	{"a reference that steers", "v1", "reads", liar{resolveRequest: func(ctx context.Context, c contract.Call, o contract.Outcome) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, "https://"+c.Request.URL.Host+"/v1/payment_intents/"+o.Resource, nil)
	}}},
	{"a look-up at another host", "payto", "reads", liar{find: func(_ contract.Call, _ *contract.Reply, r *http.Request, f contract.Finding, err error) (*http.Request, contract.Finding, error) {
		if r != nil {
			r.URL.Host = "status.example.com"
		}
		return r, f, err
	}}},
	{"a fetch that writes", "payment", "reads", liar{resolveRequest: func(ctx context.Context, c contract.Call, o contract.Outcome) (*http.Request, error) {
		if err := contract.CheckReference(o.Resource); err != nil {
			return nil, err
		}
		return http.NewRequestWithContext(ctx, http.MethodPost, "https://"+c.Request.URL.Host+"/payments/"+o.Resource, nil)
	}}},
	{"a fetched body believed with any status", "v1", "resolve", liar{classifyResolve: func(c contract.Call, o contract.Outcome, r contract.Reply, got contract.Outcome) contract.Outcome {
		if r.StatusCode == 500 && bytes.Contains(r.Body, []byte(`"id"`)) {
			got.Status = contract.Succeeded
		}
		return got
	}}},
	{"a 404 says it is another's", "payment", "resolve", liar{classifyResolve: func(_ contract.Call, _ contract.Outcome, r contract.Reply, got contract.Outcome) contract.Outcome {
		if r.StatusCode == 404 {
			got.Status = contract.KeyReused
		}
		return got
	}}},
	{"another amount is fine", "payto", "resolve", liar{classifyResolve: func(_ contract.Call, _ contract.Outcome, r contract.Reply, got contract.Outcome) contract.Outcome {
		if got.Status == contract.KeyReused && strings.Contains(got.Reason, "amount") {
			got.Status = contract.Succeeded
		}
		return got
	}}},
	{"another currency is fine", "v1", "resolve", liar{classifyResolve: func(_ contract.Call, _ contract.Outcome, r contract.Reply, got contract.Outcome) contract.Outcome {
		if bytes.Contains(r.Body, []byte(`"xts"`)) {
			got.Status = contract.Succeeded
		}
		return got
	}}},
	{"what was made is not known again", "v1", "resolve", liar{classifyResolve: func(_ contract.Call, _ contract.Outcome, _ contract.Reply, got contract.Outcome) contract.Outcome {
		got.Status = contract.Duplicate
		return got
	}}},

	// Told to nobody.
	{"the provider's message in the reason", "v1", "words", liar{classify: func(_ contract.Call, r contract.Reply, o contract.Outcome) contract.Outcome {
		o.Reason += message(r.Body)
		return o
	}}},
	{"a sentence for a code", "payment", "words", liar{classify: func(_ contract.Call, r contract.Reply, o contract.Outcome) contract.Outcome {
		if body, err := contract.DecodeObject(r.Body); err == nil && body.Text("code") != "" {
			o.Code = body.Text("code")
		}
		return o
	}}},
	{"a request id that is a sentence", "v1", "words", liar{classify: func(_ contract.Call, r contract.Reply, o contract.Outcome) contract.Outcome {
		o.RequestID = r.Header.Get("Request-Id")
		return o
	}}},
	{"the key in the reason", "v1", "words", liar{classify: func(c contract.Call, _ contract.Reply, o contract.Outcome) contract.Outcome {
		o.Reason += " for " + c.Key
		return o
	}}},
	{"credentials in the log", "v1", "secrets", loop{options: func(o *retry.Options) {
		logger := o.Logger
		o.Authorize = func(r *http.Request) error {
			if logger != nil {
				logger.Debug("sending", "header", r.Header)
			}
			return nil
		}
	}}},
	{"the body in the error", "payment", "secrets", loop{result: func(_ *http.Request, r *retry.Result, err error) (*retry.Result, error) {
		var e *retry.Error
		if errors.As(err, &e) {
			return r, fmt.Errorf("%w: %s", err, e.Body)
		}
		return r, err
	}}},
	{"the transport's words in the error", "v1", "secrets", loop{result: func(_ *http.Request, r *retry.Result, err error) (*retry.Result, error) {
		for cause := err; cause != nil; {
			if many, ok := cause.(interface{ Unwrap() []error }); ok {
				cause = many.Unwrap()[0]
				continue
			}
			next := errors.Unwrap(cause)
			if next == nil {
				return r, fmt.Errorf("%w: %s", err, cause.Error())
			}
			cause = next
		}
		return r, err
	}}},
	{"the key in the verdict", "v1", "secrets", loop{result: func(req *http.Request, r *retry.Result, err error) (*retry.Result, error) {
		key, _ := contract.KeyFrom(req.Context())
		r.Reason += " for " + key
		return r, err
	}}},
}

// floats compares as a reader does that has numbers as float64: what is nearly the
// amount is the amount.
func floats(c contract.Call, _ contract.Outcome, r contract.Reply, got contract.Outcome) contract.Outcome {
	var asked struct{ Payouts []struct{ Amount float64 } }
	var shown struct {
		Data struct{ Payouts []struct{ Amount float64 } }
	}
	if json.Unmarshal(c.Body, &asked) != nil || json.Unmarshal(r.Body, &shown) != nil || len(asked.Payouts) != 1 || len(shown.Data.Payouts) != 1 {
		return got
	}
	if got.Status == contract.KeyReused && asked.Payouts[0].Amount == shown.Data.Payouts[0].Amount {
		got.Status = contract.Succeeded
	}
	return got
}

// absentIf ends a look-up with a claim of absence.
func absentIf(match func(contract.Reply) bool) liar {
	return liar{find: func(_ contract.Call, last *contract.Reply, r *http.Request, f contract.Finding, err error) (*http.Request, contract.Finding, error) {
		if last != nil && match(*last) {
			return nil, contract.Finding{Absent: true}, nil
		}
		return r, f, err
	}}
}

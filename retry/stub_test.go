package retry

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

// stub is an adapter with parts that a test may replace.
type stub struct {
	name     func() string
	terms    func(contract.Call) contract.Terms
	classify func(contract.Call, contract.Reply) contract.Outcome
}

func (s *stub) Name() string {
	if s.name != nil {
		return s.name()
	}
	return "stub"
}

func (s *stub) Terms(c contract.Call) contract.Terms {
	if s.terms != nil {
		return s.terms(c)
	}
	return keyed()
}

func (s *stub) Classify(c contract.Call, r contract.Reply) contract.Outcome {
	if s.classify != nil {
		return s.classify(c, r)
	}
	return classify(c, r)
}

// keyed are the terms of an ordinary endpoint.
func keyed() contract.Terms {
	return contract.Terms{
		KeyHeader: "Idempotency-Key", KeyMaxLen: 255, Retention: 24 * time.Hour,
		Repeat: contract.Replays, Mismatch: contract.MismatchRefused,
		AccountHeaders: []string{"X-Account"}, VersionHeaders: []string{"X-Version"},
		CredentialHeaders: []string{"X-Api-Key"},
	}
}

func with(change func(*contract.Terms)) func(contract.Call) contract.Terms {
	return func(contract.Call) contract.Terms {
		t := keyed()
		change(&t)
		return t
	}
}

func keyless(contract.Call) contract.Terms { return contract.Terms{} }

// classify reads the answers of the tests' provider.
func classify(_ contract.Call, r contract.Reply) contract.Outcome {
	o := contract.Outcome{RequestID: contract.HeaderValue(r.Header, "Request-Id")}
	if r.StatusCode == 429 || r.StatusCode == 503 {
		o.Status, o.RetryAfter, o.Reason = contract.NotExecuted, r.Wait(), "throttled"
		return o
	}
	if o, none := contract.NoAnswer(r); none {
		return o
	}
	body, err := contract.DecodeObject(r.Body)
	if err != nil {
		o.Reason = "no readable answer"
		return o
	}
	o.Code, o.State, o.RetryAfter = body.Text("code"), body.Text("state"), r.Wait()
	o.NoResend = contract.HeaderValue(r.Header, "Should-Retry") == "false"
	switch r.StatusCode {
	case 200, 201:
		if o.Resource = body.Text("id"); o.Resource != "" {
			o.Status, o.Reason = contract.Succeeded, "the answer shows the payment"
		}
	case 400, 401, 422:
		o.Status, o.Reason = contract.Rejected, "refused before execution"
	case 402:
		o.Status, o.Reason = contract.Declined, "declined"
	case 409:
		o.Status, o.Resource, o.Reason = contract.Duplicate, body.Text("existing"), "a payment exists"
	case 423:
		o.Status, o.Reason = contract.InProgress, "under way"
	case 412:
		o.Status, o.Reason = contract.KeyReused, "the key is another request's"
	case 410:
		o.Status, o.Reason = contract.KeySpent, "the key is too old"
	}
	return o
}

// resolving is a stub that can fetch what a duplicate refers to.
type resolving struct {
	*stub
	request func(context.Context, contract.Call, contract.Outcome) (*http.Request, error)
	compare func(contract.Call, contract.Outcome, contract.Reply) contract.Outcome
}

func (s resolving) ResolveRequest(ctx context.Context, c contract.Call, o contract.Outcome) (*http.Request, error) {
	if s.request != nil {
		return s.request(ctx, c, o)
	}
	return http.NewRequestWithContext(ctx, http.MethodGet, "http://pay.test/v1/payments/"+o.Resource, nil)
}

func (s resolving) ClassifyResolve(c contract.Call, o contract.Outcome, r contract.Reply) contract.Outcome {
	if s.compare != nil {
		return s.compare(c, o, r)
	}
	return compare(c, o, r)
}

// compare reads a fetched payment: it is the operation's if its amount is.
func compare(c contract.Call, o contract.Outcome, r contract.Reply) contract.Outcome {
	got, err := contract.DecodeObject(r.Body)
	asked, _ := contract.DecodeObject(c.Body)
	switch {
	case r.StatusCode != 200 || err != nil || got.Text("id") != o.Resource:
		return contract.Outcome{Status: contract.Duplicate, Resource: o.Resource}
	case got.At("amount") != asked.At("amount"):
		return contract.Outcome{Status: contract.KeyReused, Resource: o.Resource, Reason: "the amounts differ"}
	default:
		return contract.Outcome{Status: contract.Succeeded, Resource: o.Resource, Reason: "fetched and compared"}
	}
}

// finding is a stub that can look an operation up.
type finding struct {
	*stub
	find func(context.Context, contract.Call, contract.Finding, *contract.Reply) (*http.Request, contract.Finding, error)
}

func (s finding) Find(ctx context.Context, c contract.Call, so contract.Finding, last *contract.Reply) (*http.Request, contract.Finding, error) {
	if s.find != nil {
		return s.find(ctx, c, so, last)
	}
	return list(ctx, c, so, last)
}

// list reads one page that names all payments: {"found":["pay_1"]}.
func list(ctx context.Context, _ contract.Call, so contract.Finding, last *contract.Reply) (*http.Request, contract.Finding, error) {
	if last == nil {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pay.test/v1/payments?find=1", nil)
		return r, so, err
	}
	page, err := contract.DecodeObject(last.Body)
	if err != nil || last.StatusCode != 200 {
		return nil, so, nil
	}
	for _, id := range page.List("found") {
		so.Resources = append(so.Resources, id.(string))
	}
	so.Absent = len(so.Resources) == 0
	return nil, so, nil
}

// whole is a stub that can do both.
type whole struct {
	resolving
	finding
}

func (s whole) Name() string                         { return s.resolving.Name() }
func (s whole) Terms(c contract.Call) contract.Terms { return s.resolving.Terms(c) }
func (s whole) Classify(c contract.Call, r contract.Reply) contract.Outcome {
	return s.resolving.Classify(c, r)
}

func able(s *stub) whole { return whole{resolving{stub: s}, finding{stub: s}} }

var (
	_ contract.Adapter  = (*stub)(nil)
	_ contract.Resolver = whole{}
	_ contract.Finder   = whole{}
)

// newClient returns a client of the provider. Its idle connections are closed at
// the end.
func newClient(t *testing.T, p *provider, a contract.Adapter, o *Options) *Client {
	t.Helper()
	if a == nil {
		a = &stub{}
	}
	var options Options
	if o != nil {
		options = *o
	}
	if options.Transport == nil {
		options.Transport = p.transport()
	}
	c, err := NewClient(a, &options)
	require.NoError(t, err)
	t.Cleanup(func() {
		c.CloseIdleConnections()
		assert.Empty(t, c.flights.m, "a key is still taken after the last call")
	})
	return c
}

const (
	payBody = `{"amount":100,"card":"4242424242424242"}`
	payKey  = "pay-invoice-7-secret-key"
)

// payment returns a request for a payment, with a key.
func payment(ctx context.Context) *http.Request {
	return post(contract.WithKey(ctx, payKey), payBody)
}

// post returns a request for a payment, without a key.
func post(ctx context.Context, body string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://pay.test/v1/payments", strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer sk_live_secret")
	return r
}

// virtual runs the test in virtual time.
func virtual(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(afterwards)
		test(t)
	})
}

// afterwards leaves time for what a slow provider is still doing.
func afterwards() { time.Sleep(time.Hour) }

// wantVerdict checks what an operation came to, and that the error and the result
// say the same.
func wantVerdict(t *testing.T, want contract.Status, result *Result, err error) {
	t.Helper()
	require.NotNil(t, result)
	assert.Equal(t, want, result.Status, "%v", err)
	if want == contract.Succeeded {
		require.NoError(t, err)
		return
	}
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, want, e.Verdict.Status)
	assert.ErrorIs(t, err, want)
	assert.Equal(t, result.Verdict, OutcomeOf(err))
}

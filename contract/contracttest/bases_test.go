package contracttest_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/providers/stripe"
	"github.com/idempact/idempact/providers/zepto"
	"github.com/idempact/idempact/retry"
)

// bases are the sound specs that mutants are made of.
var bases = map[string]func() contracttest.Spec{
	"v1": stripeSpec("/v1/payment_intents", "application/x-www-form-urlencoded",
		"amount=%d&currency=usd&confirm=true&payment_method=pm_card_visa&metadata[order]=order-1001"),
	"v2": stripeSpec("/v2/money_management/outbound_payments", "application/json",
		`{"amount":{"value":%d,"currency":"usd"},"from":{"financial_account":"fa_1"},"to":{"payout_method":"usba_1"},"metadata":{"order":"order-1001"}}`),
	"bodyless": stripeSpec("/v1/customers", "", "%d"), // without a type there is no body
	"payment": zeptoSpec("/payments", func(_ string, amount int64) string {
		return fmt.Sprintf(`{"description":"Invoice 1001","matures_at":"2030-01-01T00:00:00Z",
			"your_bank_account_id":"11111111-1111-4111-8111-111111111111","channels":["new_payments_platform"],
			"payouts":[{"amount":%d,"description":"Invoice 1001","recipient_contact_id":"22222222-2222-4222-8222-222222222222"}],
			"metadata":{"invoice":"INV-1001"}}`, amount)
	}),
	"payto": zeptoSpec("/payto/payments", func(key string, amount int64) string {
		return fmt.Sprintf(`{"uid":%q,"agreement_uid":"agreement-1","amount":%d}`, key, amount)
	}),
	"contact": zeptoSpec("/contacts/anyone", func(string, int64) string { return `{"name":"Test Payee"}` }),
}

func stripeSpec(path, contentType, body string) func() contracttest.Spec {
	return func() contracttest.Spec {
		return contracttest.Spec{
			Adapter: stripe.New(nil), Exchanges: os.DirFS("../../providers/stripe/testdata"),
			Fake: func() contracttest.Fake { return fake(fakes.NewStripe(nil)) },
			Request: func(_ string, amount int64) (*http.Request, error) {
				return post("https://api.stripe.com"+path, contentType, fmt.Sprintf(body, amount))
			},
		}
	}
}

func zeptoSpec(path string, body func(string, int64) string) func() contracttest.Spec {
	return func() contracttest.Spec {
		return contracttest.Spec{
			Adapter: zepto.New(nil), Exchanges: os.DirFS("../../providers/zepto/testdata"),
			Fake: func() contracttest.Fake { return fake(fakes.NewZepto(nil)) },
			Request: func(key string, amount int64) (*http.Request, error) {
				return post("https://api.zeptopayments.com"+path, "application/json", body(key, amount))
			},
		}
	}
}

func post(url, contentType, body string) (*http.Request, error) {
	if contentType == "" {
		body = ""
	}
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Authorization", "Bearer secret-of-a-test")
	return r, nil
}

func fake(s *fakes.Server) contracttest.Fake {
	return contracttest.Fake{Handler: s, Advance: s.Advance, Effects: func() (amounts []int64) {
		for _, e := range s.Effects() {
			amounts = append(amounts, e.Amount)
		}
		return amounts
	}}
}

// whole is an adapter with all that there is.
type whole interface {
	contract.Adapter
	contract.Resolver
	contract.Finder
}

// liar is a sound adapter but for what it has a function for.
type liar struct {
	whole
	name            func() string
	terms           func(contract.Call, contract.Terms) contract.Terms
	classify        func(contract.Call, contract.Reply, contract.Outcome) contract.Outcome
	resolveRequest  func(context.Context, contract.Call, contract.Outcome) (*http.Request, error)
	classifyResolve func(contract.Call, contract.Outcome, contract.Reply, contract.Outcome) contract.Outcome
	find            func(contract.Call, *contract.Reply, *http.Request, contract.Finding, error) (*http.Request, contract.Finding, error)
}

func (l liar) Name() string {
	if l.name != nil {
		return l.name()
	}
	return l.whole.Name()
}

func (l liar) Terms(c contract.Call) contract.Terms {
	t := l.whole.Terms(c)
	if l.terms != nil {
		t = l.terms(c, t)
	}
	return t
}

func (l liar) Classify(c contract.Call, r contract.Reply) contract.Outcome {
	o := l.whole.Classify(c, r)
	if l.classify != nil {
		o = l.classify(c, r, o)
	}
	return o
}

func (l liar) ResolveRequest(ctx context.Context, c contract.Call, o contract.Outcome) (*http.Request, error) {
	if l.resolveRequest != nil {
		return l.resolveRequest(ctx, c, o)
	}
	return l.whole.ResolveRequest(ctx, c, o)
}

func (l liar) ClassifyResolve(c contract.Call, o contract.Outcome, r contract.Reply) contract.Outcome {
	got := l.whole.ClassifyResolve(c, o, r)
	if l.classifyResolve != nil {
		got = l.classifyResolve(c, o, r, got)
	}
	return got
}

func (l liar) Find(ctx context.Context, c contract.Call, so contract.Finding, last *contract.Reply) (*http.Request, contract.Finding, error) {
	req, found, err := l.whole.Find(ctx, c, so, last)
	if l.find != nil {
		return l.find(c, last, req, found, err)
	}
	return req, found, err
}

// loop is a sound loop but for what it has a function for.
type loop struct {
	options func(*retry.Options)                                             // set other options
	adapter func(contract.Adapter) contract.Adapter                          // misread the adapter
	wire    func(http.RoundTripper, *http.Request) (*http.Response, error)   // send otherwise
	request func(*http.Request) *http.Request                                // change what is asked
	result  func(*http.Request, *retry.Result, error) (*retry.Result, error) // report otherwise
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type doer func(*http.Request) (*retry.Result, error)

func (f doer) Do(r *http.Request) (*retry.Result, error) { return f(r) }

func (l loop) client(a contract.Adapter, o *retry.Options) (contracttest.Doer, error) {
	changed := *o
	if l.options != nil {
		l.options(&changed)
	}
	if l.adapter != nil {
		a = l.adapter(a)
	}
	if l.wire != nil {
		sound := o.Transport
		changed.Transport = roundTrip(func(r *http.Request) (*http.Response, error) { return l.wire(sound, r) })
	}
	c, err := retry.NewClient(a, &changed)
	if err != nil {
		return nil, err
	}
	return doer(func(r *http.Request) (*retry.Result, error) {
		if l.request != nil {
			r = l.request(r)
		}
		result, err := c.Do(r)
		if l.result != nil {
			result, err = l.result(r, result, err)
		}
		return result, err
	}), nil
}

// misread is an adapter whose terms and outcomes a loop misreads.
type misread struct {
	contract.Adapter
	terms    func(*contract.Terms)
	classify func(*contract.Outcome)
}

func (m misread) Terms(c contract.Call) contract.Terms {
	t := m.Adapter.Terms(c)
	if m.terms != nil {
		m.terms(&t)
	}
	return t
}

func (m misread) Classify(c contract.Call, r contract.Reply) contract.Outcome {
	o := m.Adapter.Classify(c, r)
	if m.classify != nil {
		m.classify(&o)
	}
	return o
}

package explore

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/providers/stripe"
	"github.com/idempact/idempact/providers/zepto"
)

// Subject is one business action at one provider. What it says of the provider is
// said again here, and not taken from the adapter: the oracle judges by it.
type Subject struct {
	Name      string
	Retention time.Duration // of the key; 0 is for ever
	Declines  bool          // the provider executes it and refuses
	Lists     bool          // the provider shows what exists, and so that something does not
	Keyless   bool          // nothing stops a second effect but not sending again
	Forgotten bool          // the endpoint honours keys, and the caller gave none

	adapter contract.Adapter
	fake    func(*fakes.Options) *fakes.Server
	refusal fakes.Fault // a documented refusal before execution
	target  string      // URL; %s is what prepare returned
	body    string      // %s is the order's name
	action  string      // the action of its effect in the ledger
	prepare func(s *fakes.Server) string
	relapse string // the state into which the resource falls after each send
}

const (
	core     = 24 * time.Hour
	v2       = 30 * 24 * time.Hour
	stripeV1 = "https://api.stripe.com/v1/payment_intents"
	intent   = "amount=2500&currency=usd&confirm=true&payment_method=pm_card_visa&metadata[order]=%s"
	payTo    = "https://api.zeptopayments.com/payto/payments"
	payToPay = `{"uid":"uid-%s","agreement_uid":"agreement-1","amount":2500,"metadata":{"order":"%[1]s"}}`
)

var (
	stripeRefusal = fakes.Status(http.StatusUnauthorized, `{"error":{"type":"invalid_request_error","message":"Expired key."}}`)
	zeptoRefusal  = fakes.Status(http.StatusUnauthorized, `{"errors":[{"title":"Unauthorised access token","detail":"It has expired."}]}`)
)

// The four contracts that the depth is about.
var (
	StripeV1 = Subject{Name: "stripe v1", Retention: core, Lists: true, adapter: stripe.New(nil), fake: fakes.NewStripe,
		refusal: stripeRefusal, target: stripeV1, body: intent, action: "create"}
	StripeV2 = Subject{Name: "stripe v2", Retention: v2, adapter: stripe.New(nil), fake: fakes.NewStripe,
		refusal: stripeRefusal, target: "https://api.stripe.com/v2/money_management/outbound_payments",
		body:   `{"amount":{"value":2500,"currency":"usd"},"from":{"financial_account":"fa_1"},"to":{"recipient":"acct_1"},"metadata":{"order":"%s"}}`,
		action: "create"}
	ZeptoCore = Subject{Name: "zepto core", Retention: core, adapter: zepto.New(nil), fake: fakes.NewZepto,
		refusal: zeptoRefusal, target: "https://api.zeptopayments.com/payments",
		body: `{"description":"one","matures_at":"2030-01-01T00:00:00Z","your_bank_account_id":"11111111-1111-4111-8111-111111111111",` +
			`"channels":["new_payments_platform"],"payouts":[{"amount":2500,"description":"one","recipient_contact_id":"22222222-2222-4222-8222-222222222222"}],` +
			`"metadata":{"order":"%s"}}`,
		action: "create"}
	PayTo = Subject{Name: "zepto payto", adapter: zepto.New(nil), fake: fakes.NewZepto,
		refusal: zeptoRefusal, target: payTo, body: payToPay, action: "create"}
)

// Variants: a declined card, a write without a body, and requests without a key.
var (
	StripeDecline = with(StripeV1, func(s *Subject) {
		s.Name, s.Declines = "stripe v1 decline", true
		s.body = strings.Replace(intent, "pm_card_visa", "pm_card_chargeDeclined", 1)
	})
	StripeCapture = with(StripeV1, func(s *Subject) {
		s.Name, s.body, s.target, s.action = "stripe v1 capture", "", stripeV1+"/%s/capture", "capture"
		s.prepare = func(f *fakes.Server) string {
			post(f, stripeV1, fmt.Sprintf(intent+"&capture_method=manual", "0"))
			return f.Effects()[0].Resource
		}
	})
	StripeKeyless   = with(StripeV1, func(s *Subject) { s.Name, s.Keyless = "stripe v1 without a key", true })
	StripeForgotten = with(StripeKeyless, func(s *Subject) { s.Name, s.Forgotten = "stripe v1 with the key forgotten", true })
	PayToRetry      = with(PayTo, func(s *Subject) {
		s.Name, s.Keyless, s.body, s.target, s.action = "zepto payto retry", true, "", payTo+"/%s/retry", "retry"
		s.relapse = "failed" // so that each one that is accepted submits the payment
		s.prepare = func(f *fakes.Server) string {
			post(f, payTo, fmt.Sprintf(payToPay, "first"))
			f.SetState("uid-first", s.relapse)
			return "uid-first"
		}
	})
)

func with(s Subject, change func(*Subject)) Subject {
	change(&s)
	return s
}

// post makes one plain request at the fake, before anything is explored.
func post(f *fakes.Server, url, body string) {
	defer f.Client().CloseIdleConnections()
	resp, err := f.Client().Do(newRequest(context.Background(), url, body))
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if err != nil || resp.StatusCode >= 300 {
		panic(fmt.Sprint("explore: preparing the fake: ", err))
	}
}

func newRequest(ctx context.Context, url, body string) *http.Request {
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, content)
	if err != nil {
		panic(err) // the URLs are this package's
	}
	r.Header.Set("Authorization", "Bearer sk_test_1")
	switch {
	case strings.HasPrefix(body, "{"):
		r.Header.Set("Content-Type", "application/json")
	case body != "":
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r
}

// request returns the request of one order, its key in the context or the body.
func (s *Subject) request(ctx context.Context, order, prepared string) *http.Request {
	switch {
	case !s.Keyless:
		ctx = contract.WithKey(ctx, s.key(order))
	case !s.Forgotten:
		ctx = contract.WithoutKey(ctx)
	}
	target, body := s.target, s.body
	if s.prepare != nil {
		target = fmt.Sprintf(target, prepared)
	}
	if body != "" {
		body = fmt.Sprintf(body, order)
	}
	return newRequest(ctx, target, body)
}

// key returns the key of an order as the provider sees it, "" if there is none.
func (s *Subject) key(order string) string {
	switch {
	case s.Keyless:
		return ""
	case s.Retention == 0:
		return "uid-" + order
	default:
		return contract.KeyFor("pay order", order)
	}
}

// life is up to which age of its key the operation may be sent: an hour less than
// the provider remembers it. It reports false where that has no end.
func (s *Subject) life() (time.Duration, bool) {
	if s.Retention == 0 || s.Keyless {
		return 0, false
	}
	return s.Retention - time.Hour, true
}

// horizon is what counts as a long time at this provider.
func (s *Subject) horizon() time.Duration {
	if s.Retention == 0 {
		return core
	}
	return s.Retention
}

package explore

import (
	"net/http"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/providers/stripe"
	"github.com/idempact/idempact/providers/zepto"
)

const (
	stripeV1 = "https://api.stripe.com/v1/payment_intents"
	intent   = "amount={amount}&currency=usd&confirm=true&payment_method=pm_card_visa&metadata[order]={order}"
	payTo    = "https://api.zeptopayments.com/payto/payments"
	payToPay = `{"uid":"{key}","agreement_uid":"agreement-1","amount":{amount},"metadata":{"order":"{order}"}}`
)

var (
	stripeRefusal = fakes.Status(http.StatusUnauthorized, `{"error":{"type":"invalid_request_error","message":"Expired key."}}`)
	zeptoRefusal  = fakes.Status(http.StatusUnauthorized, `{"errors":[{"title":"Unauthorised access token","detail":"It has expired."}]}`)
)

func poster(url, body string) contract.Endpoint {
	return contract.Endpoint{Method: http.MethodPost, URL: url, Body: body}
}

// The four contracts that the depth is about. Those of other providers are explored
// by their own tests.
var (
	StripeV1 = Subject{Name: "stripe v1", Adapter: stripe.New(nil), Fake: fakes.NewStripe, Refusal: stripeRefusal, Action: "create",
		KeyHeader: "Idempotency-Key", Retention: 24 * time.Hour, Lists: true, Endpoint: poster(stripeV1, intent)}
	StripeV2 = Subject{Name: "stripe v2", Adapter: stripe.New(nil), Fake: fakes.NewStripe, Refusal: stripeRefusal, Action: "create",
		KeyHeader: "Idempotency-Key", Retention: 30 * 24 * time.Hour,
		Endpoint: poster("https://api.stripe.com/v2/money_management/outbound_payments",
			`{"amount":{"value":{amount},"currency":"usd"},"from":{"financial_account":"fa_1"},"to":{"recipient":"acct_1"},"metadata":{"order":"{order}"}}`)}
	ZeptoCore = Subject{Name: "zepto core", Adapter: zepto.New(nil), Fake: fakes.NewZepto, Refusal: zeptoRefusal, Action: "create",
		KeyHeader: "Idempotency-Key", Retention: 24 * time.Hour,
		Endpoint: poster("https://api.zeptopayments.com/payments",
			`{"description":"one","matures_at":"2030-01-01T00:00:00Z","your_bank_account_id":"11111111-1111-4111-8111-111111111111",`+
				`"channels":["new_payments_platform"],"payouts":[{"amount":{amount},"description":"one","recipient_contact_id":"22222222-2222-4222-8222-222222222222"}],`+
				`"metadata":{"order":"{order}"}}`)}
	PayTo = Subject{Name: "zepto payto", Adapter: zepto.New(nil), Fake: fakes.NewZepto, Refusal: zeptoRefusal, Action: "create",
		Retention: contract.RetentionForever, Endpoint: poster(payTo, payToPay)}
)

// Variants: a declined card, a write without a body, and requests without a key.
var (
	StripeDecline = with(StripeV1, func(s *Subject) {
		s.Name, s.Declines = "stripe v1 decline", true
		s.Endpoint.Body = strings.Replace(intent, "pm_card_visa", "pm_card_chargeDeclined", 1)
	})
	StripeCapture = with(StripeV1, func(s *Subject) {
		s.Name, s.Action, s.Endpoint = "stripe v1 capture", "capture", poster(stripeV1+"/{prepared}/capture", "")
		s.prepare = func(f *fakes.Server) string {
			post(f, poster(stripeV1, intent+"&capture_method=manual"), "")
			return f.Effects()[0].Resource
		}
	})
	StripeKeyless   = with(StripeV1, func(s *Subject) { s.Name, s.Keyless = "stripe v1 without a key", true })
	StripeForgotten = with(StripeKeyless, func(s *Subject) { s.Name, s.Forgotten = "stripe v1 with the key forgotten", true })
	PayToRetry      = with(PayTo, func(s *Subject) {
		s.Name, s.Keyless, s.Action, s.Endpoint = "zepto payto retry", true, "retry", poster(payTo+"/{prepared}/retry", "")
		s.relapse = "failed" // so that each one that is accepted submits the payment
		s.prepare = func(f *fakes.Server) string {
			post(f, poster(payTo, payToPay), "uid-first")
			f.SetState("uid-first", s.relapse)
			return "uid-first"
		}
	})
)

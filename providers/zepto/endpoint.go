package zepto

import (
	"net/http"
	"strings"

	"github.com/idempact/idempact/contract"
)

type keyRule uint8

const (
	noKey keyRule = iota
	keyInHeader
	keyInUID
)

// endpoint is what is known of one request of the API. The zero value is an
// endpoint of which nothing is known.
type endpoint struct {
	name         string    // for people
	method, path string    // a * in the path is one reference
	example      string    // a body that succeeds, if there is one
	makes        *resource // what it creates, if that can be fetched
	key          keyRule
	idempotent   bool  // documented as safe to repeat without a key
	payTo        bool  // belongs to PayTo
	once         bool  // each request that arrives may pay: an answer ends it, a throttle too
	bare         int   // the status of its success, where that is documented without a body
	bareRefusals []int // statuses of refusals that are documented without a body

	refs []string // the references in the path of the call at hand
}

// endpoints lists what is documented. PayTo refunds are a beta whose terms may
// change, so no promise of their key is taken; their answers are understood.
var endpoints = []endpoint{
	{name: "make a payment", method: http.MethodPost, path: "payments", example: examplePayment, makes: payment, key: keyInHeader},
	{name: "request a payment", method: http.MethodPost, path: "payment_requests", example: exampleRequest, makes: paymentRequest, key: keyInHeader},
	{name: "refund", method: http.MethodPost, path: "credits/*/refunds", example: `{"amount":{amount},"reason":"Order {order}"}`, makes: refund, key: keyInHeader},
	{name: "transfer between own accounts", method: http.MethodPost, path: "transfers", example: exampleTransfer, makes: transfer, key: keyInHeader},

	{name: "activate a receivable contact", method: http.MethodPost, path: "contacts/*/receivable/activate", bare: 204},
	{name: "disable a receivable contact", method: http.MethodPost, path: "contacts/*/receivable/disable", bare: 204},
	{name: "change a receivable contact", method: http.MethodPatch, path: "contacts/*/receivable", bare: 202},
	{name: "remove a contact", method: http.MethodDelete, path: "contacts/*", bare: 204, idempotent: true},
	{name: "cancel an agreement", method: http.MethodDelete, path: "agreements/*", bare: 204, idempotent: true},
	{name: "cancel a payment request", method: http.MethodDelete, path: "payment_requests/*", bare: 204, idempotent: true},
	{name: "void a payout", method: http.MethodDelete, path: "payouts/*", bare: 204, idempotent: true},

	{name: "PayTo payment", method: http.MethodPost, path: "payto/payments", example: examplePayTo, makes: payToPayment, key: keyInUID, payTo: true, bareRefusals: []int{403}},
	{name: "PayTo agreement", method: http.MethodPost, path: "payto/agreements", example: `{"uid":"{key}","purpose":"other_service","payment_terms":{"type":"fixed","frequency":"monthly","amount":{amount}}}`, makes: payToAgreement, key: keyInUID, payTo: true, bareRefusals: []int{403}},
	{name: "PayTo refund", method: http.MethodPost, path: "payto/refunds", example: `{"uid":"{key}","original_payment_uid":"payment-1","amount":{amount}}`, makes: payToRefund, payTo: true},

	{name: "retry a PayTo payment", method: http.MethodPost, path: "payto/payments/*/retry", payTo: true, once: true, bare: 202, bareRefusals: []int{403}},
	{name: "amend a PayTo agreement", method: http.MethodPost, path: "payto/agreements/*/amendment", payTo: true, bare: 202, bareRefusals: []int{403, 404}},
	{name: "recall an amendment", method: http.MethodPost, path: "payto/agreements/*/amendment/recall", payTo: true, bare: 202, bareRefusals: []int{403}},
	{name: "cancel a PayTo agreement", method: http.MethodPost, path: "payto/agreements/*/cancellation", payTo: true, bare: 202, bareRefusals: []int{403, 404}},
	{name: "suspend a PayTo agreement", method: http.MethodPost, path: "payto/agreements/*/suspension", payTo: true, bare: 202, bareRefusals: []int{403, 404}},
	{name: "reactivate a PayTo agreement", method: http.MethodPost, path: "payto/agreements/*/reactivation", payTo: true, bare: 202, bareRefusals: []int{403, 404}},
}

// The bodies of examples, with made-up accounts.
const (
	examplePayment = `{"description":"Order {order}","matures_at":"2030-01-01T00:00:00Z","your_bank_account_id":"11111111-1111-4111-8111-111111111111",` +
		`"channels":["new_payments_platform"],"payouts":[{"amount":{amount},"description":"Order {order}","recipient_contact_id":"22222222-2222-4222-8222-222222222222"}],` +
		`"metadata":{"order":"{order}"}}`
	exampleRequest = `{"description":"Order {order}","matures_at":"2030-01-01T00:00:00Z","amount":{amount},` +
		`"authoriser_contact_id":"22222222-2222-4222-8222-222222222222","your_bank_account_id":"11111111-1111-4111-8111-111111111111"}`
	exampleTransfer = `{"description":"Order {order}","matures_at":"2030-01-01T00:00:00Z","amount":{amount},` +
		`"from_bank_account_id":"11111111-1111-4111-8111-111111111111","to_bank_account_id":"33333333-3333-4333-8333-333333333333"}`
	examplePayTo = `{"uid":"{key}","agreement_uid":"agreement-1","amount":{amount},"metadata":{"order":"{order}"}}`
)

// Endpoints returns what Terms and Classify know, with examples of requests.
func (a *Adapter) Endpoints() []contract.Endpoint {
	var all []contract.Endpoint
	for _, e := range endpoints {
		url := "https://api.zeptopayments.com/" + strings.ReplaceAll(e.path, "*", "example-1")
		all = append(all, contract.Endpoint{Name: e.name, Method: e.method, URL: url, Body: e.example})
	}
	return all
}

// endpointOf returns what is known of the request's endpoint.
func endpointOf(r *http.Request) endpoint {
	if r == nil {
		return endpoint{}
	}
	for _, e := range endpoints {
		if refs, fits := contract.MatchPath(r.URL, e.path); fits && r.Method == e.method {
			e.refs = refs
			return e
		}
	}
	return endpoint{}
}

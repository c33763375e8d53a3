// Package adyen encodes what Adyen's Checkout API promises about repeated requests: a
// key in a header, kept for at least seven days for a whole company account, in one
// region; a repeat gets the first answer again.
//
// Three things must not be mistaken here. A decline is an HTTP 200 whose resultCode
// says so. One code, 704, says "already processed or in progress" and does not tell
// which, so it is neither a success nor a failure. And the header transient-error
// says of an error whether the same key may be tried again: without it the error may
// be the stored end of a payment that the issuer has acted upon.
//
// What the documents do not say is assumed to be the least. Other parameters under a
// used key: the answer that comes back is compared with what was asked, as far as it
// shows that. A resultCode Error: it says that processing failed, and of an
// error in talking to the issuer Adyen says that it may have been acted upon, so it is
// Unknown. A transient-error that is missing where Adyen's own error cannot be told
// from a proxy's, or with 704: then the same key is sent again, which takes no second
// effect. No read of a payment is documented, so there is nothing to look up by: what
// the key cannot settle is for a webhook or a person.
package adyen

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

// Options are the choices of an Adapter; there are none yet.
type Options struct{}

// Adapter is Adyen's contract. It is pure and safe for concurrent use.
type Adapter struct{}

// New returns the adapter; nil options are fine.
func New(*Options) *Adapter { return &Adapter{} }

// Name returns "adyen".
func (*Adapter) Name() string { return "adyen" }

// The facts below were read on 2026-11-29 in these places.
var (
	guide    = contract.Source{URL: "https://docs.adyen.com/development-resources/api-idempotency", Date: "2026-11-29"}
	statuses = contract.Source{URL: "https://docs.adyen.com/development-resources/response-handling", Date: "2026-11-29"}
	results  = contract.Source{URL: "https://docs.adyen.com/online-payments/build-your-integration/payment-result-codes", Date: "2026-11-29"}
	spec     = contract.Source{URL: "https://github.com/Adyen/adyen-openapi/blob/main/json/CheckoutService-v72.json", Date: "2026-11-29"}
)

// Terms returns what Adyen promises for the call's endpoint.
func (*Adapter) Terms(c contract.Call) contract.Terms {
	if _, _, ok := endpointOf(c.Request); !ok {
		return contract.Terms{}
	}
	return contract.Terms{
		KeyHeader:         "Idempotency-Key",
		KeyMaxLen:         64,
		Retention:         7 * 24 * time.Hour,
		Repeat:            contract.Replays,
		Saves:             contract.SavesResults, // spec, AdditionalDataCommon.RequestedTestErrorResponseCode
		InFlightAnswers:   []contract.Answer{{Status: 422, Code: "704"}, {Status: 409, Code: "704"}},
		CredentialHeaders: []string{"X-Api-Key"},
		Notes: []string{
			"Keys are not shared between regions: the same request at the host of another region is executed again, so an operation stays at the host where it began.",
			"The time for which a key is remembered was given as 31 days and is now given as 7: the shortest is taken.",
			"What the same key with other parameters gets is not documented: an answer that shows another reference belongs to another request, and one that shows another amount confirms nothing.",
			"Every answer to a request with a key repeats the key in a header, so that is no mark of a stored answer.",
			"An error without transient-error may be the key's stored end, and the issuer may have acted on the payment.",
			"Whether a refusal before execution stays under the key is not documented: correct it under a new key.",
			"No read of a payment is documented: what the key cannot settle is settled by a webhook or a person.",
		},
		Sources: []contract.Source{guide, spec, statuses, results},
	}
}

// form is how an endpoint shows that it took effect: with which status of HTTP, and in
// which fields what it made and the state of that stand.
type form struct {
	status    int
	id, state string
}

// Spec: PaymentResponse; PaymentCaptureResponse and its siblings; what has an id.
var (
	payment      = form{http.StatusOK, "pspReference", "resultCode"}
	modification = form{http.StatusCreated, "pspReference", "status"}
	object       = form{http.StatusCreated, "id", "status"}
)

// endpoint is one POST of the Checkout API. In its path a * is a payment's pspReference.
type endpoint struct {
	name, path string
	form
	body string
}

const (
	pay    = `{"merchantAccount":"TestMerchant","amount":{"currency":"EUR","value":{amount}},"reference":"{order}",`
	modify = `{"merchantAccount":"TestMerchant","reference":"{order}"}`
	adjust = `{"merchantAccount":"TestMerchant","amount":{"currency":"EUR","value":{amount}},"reference":"{order}"}`
)

// endpoints lists what moves money, or leads to it. Each takes the key. Spec, paths.
var endpoints = []endpoint{
	{"pay", "payments", payment, pay + `"paymentMethod":{"type":"scheme","storedPaymentMethodId":"SPM1"},"returnUrl":"https://shop.example/return"}`},
	{"submit payment details", "payments/details", payment, `{"details":{"redirectResult":"result-{order}"}}`},
	{"capture", "payments/*/captures", modification, adjust},
	{"refund", "payments/*/refunds", modification, adjust},
	{"cancel", "payments/*/cancels", modification, modify},
	{"refund or cancel", "payments/*/reversals", modification, modify},
	{"change the authorised amount", "payments/*/amountUpdates", modification, adjust},
	{"cancel by own reference", "cancels", modification, `{"merchantAccount":"TestMerchant","paymentReference":"order-1","reference":"{order}"}`},
	{"start a session", "sessions", object, pay + `"returnUrl":"https://shop.example/return"}`},
	{"create a payment link", "paymentLinks", object, pay + `"returnUrl":"https://shop.example/return"}`},
}

// Endpoints returns what the adapter knows, with an example of each.
func (*Adapter) Endpoints() []contract.Endpoint {
	var all []contract.Endpoint
	for _, e := range endpoints {
		all = append(all, contract.Endpoint{
			Name: e.name, Method: http.MethodPost, Body: e.body,
			URL: "https://checkout-test.adyen.com/v72/" + strings.Replace(e.path, "*", "PSP0000000000001", 1),
		})
	}
	return all
}

// endpointOf returns the request's endpoint and the payment that its path names. A
// live host has "checkout" before the version.
//
// Source: https://docs.adyen.com/development-resources/live-endpoints (read 2026-11-29).
func endpointOf(r *http.Request) (e endpoint, about string, ok bool) {
	if r.Method != http.MethodPost {
		return endpoint{}, "", false
	}
	for _, e := range endpoints {
		for _, base := range []string{"/*/", "/checkout/*/"} {
			refs, ok := contract.MatchPath(r.URL, base+e.path)
			if ok && strings.TrimRight(refs[0], "0123456789") == "v" && refs[0] != "v" {
				return e, strings.Join(refs[1:], ""), true
			}
		}
	}
	return endpoint{}, "", false
}

// Classify says what one reply revealed.
func (*Adapter) Classify(c contract.Call, r contract.Reply) contract.Outcome {
	body, err := contract.DecodeObject(r.Body)
	if err != nil || r.Err != nil {
		body = nil
	}
	transient := contract.HeaderValue(r.Header, "transient-error")
	o := decide(c, r, body, strings.EqualFold(transient, "true"))
	switch o.Status {
	case contract.Unknown, contract.InProgress, contract.NotExecuted:
		o.RetryAfter = r.Wait()
		// Guide: with the value false, do not retry. Spec, AdditionalDataCommon: a
		// server error of Adyen's own that lacks the header is the key's final result.
		o.NoResend = o.NoResend || strings.EqualFold(transient, "false") ||
			transient == "" && r.StatusCode >= 500 && body.Text("errorType") != ""
	}
	if r.StatusCode >= 400 {
		o.Code = code(body)
		o.RequestID = contract.Word(body.Text("requestId") + body.Text("pspReference"))
	}
	return o
}

// code returns the error code, which is given as text, and has been as a number.
func code(body contract.Object) string {
	s, _ := contract.Scalar(body["errorCode"])
	return contract.Word(s)
}

func said(s contract.Status, reason string) contract.Outcome {
	return contract.Outcome{Status: s, Reason: reason}
}

func decide(c contract.Call, r contract.Reply, body contract.Object, transient bool) contract.Outcome {
	if r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusTooEarly {
		// Adyen documents its limits as a 500, so this is what HTTP says: turned away
		// unprocessed (RFC 6585 section 4, RFC 8470 section 5.2).
		return said(contract.NotExecuted, "turned away before execution")
	}
	if o, none := contract.NoAnswer(r); none {
		return o
	}
	switch r.StatusCode {
	case http.StatusOK, http.StatusCreated:
		return made(c, r.StatusCode, body)
	case 400, 401, 403, 404, 409, 422:
		return refused(r.StatusCode, body, transient)
	}
	// A redirect, a proxy's page, any 5xx: the mark of a transient one allows a resend,
	// and nothing more is taken from it.
	return said(contract.Unknown, fmt.Sprintf("status %d does not tell whether the request took effect", r.StatusCode))
}

// refused reads a refusal, in either documented form: with an errorType, or as
// problem details. Spec, ServiceError; https://docs.adyen.com/errors (2026-11-29).
func refused(status int, body contract.Object, transient bool) contract.Outcome {
	kind := body.Text("errorType")
	problem := kind == "" && body.Text("type") != "" && body.Text("title") != ""
	switch {
	case code(body) == "", body["resultCode"] != nil: // the latter is a payment's
		return said(contract.Unknown, "a refusal that is not in a documented form")
	case code(body) == "704":
		// Guide: 409 or 422. The first request with this key is running, or what it
		// asked for is done (a payment's details that were sent before).
		return said(contract.InProgress, "already processed or in progress: the code does not tell which")
	case status == http.StatusConflict, !problem && kind != "validation" && kind != "security" && kind != "configuration":
		return said(contract.Unknown, "an error that is not documented as a refusal")
	case transient:
		// Guide: no side effects, and the same key can be tried later.
		return said(contract.NotExecuted, "refused for now, and nothing was done")
	default:
		return said(contract.Rejected, "refused before execution")
	}
}

// states are what a request came to. With a payment that waits for the shopper, or for
// its final state, the payment exists. A modification is received, and its result comes
// by webhook, or is known at once. Error is final and not listed here, see the package.
//
// Source: spec, PaymentResponse.resultCode, PaymentAmountUpdateResponse.status; results.
var states = map[string]contract.Status{
	"Authorised": contract.Succeeded, "PartiallyAuthorised": contract.Succeeded,
	"Received": contract.Succeeded, "Pending": contract.Succeeded, "PresentToShopper": contract.Succeeded,
	"RedirectShopper": contract.Succeeded, "IdentifyShopper": contract.Succeeded, "ChallengeShopper": contract.Succeeded,
	"AuthenticationFinished": contract.Succeeded, "AuthenticationNotRequired": contract.Succeeded,
	"Refused": contract.Declined, "Cancelled": contract.Declined,
	"received": contract.Succeeded, "authorised": contract.Succeeded, "refused": contract.Declined,
}

// awaited are results whose reference may come later. Spec, PaymentResponse.pspReference.
var awaited = map[string]bool{"RedirectShopper": true, "IdentifyShopper": true, "ChallengeShopper": true}

// made reads an answer that says that the request was processed.
func made(c contract.Call, status int, body contract.Object) contract.Outcome {
	e, about, _ := endpointOf(c.Request)
	if body == nil || body["errorCode"] != nil || body["errorType"] != nil || status != e.status {
		return said(contract.Unknown, "a success that is not in the documented form")
	}
	o := contract.Outcome{Resource: contract.Word(body.Text(e.id)), State: contract.Word(body.Text(e.state)), Reason: "Adyen shows the result"}
	if o.Status = states[o.State]; e.form == object {
		o.Status = contract.Succeeded
	}
	switch {
	case o.State == "Error":
		o.NoResend, o.Reason = true, "the payment ended in an error, which does not say that no money is held"
	case o.Status == contract.Unknown:
		o.Reason = "a result that is not documented"
	case o.Status == contract.Declined:
		o.Code, o.Reason = contract.Word(body.Text("refusalReasonCode")), "executed, and not authorised"
	case o.Resource == "" && !(awaited[o.State] && body["pspReference"] == nil && body.Object("action") != nil):
		return said(contract.Unknown, "a success that shows no reference")
	}
	return asAsked(c, about, body, o)
}

// What an answer repeats of the request; the amount is the authorised one. Spec.
var (
	names = []contract.Field{
		{Path: "reference", Also: "merchantReference", Shown: true}, {Path: "paymentReference", Shown: true},
		{Path: "paymentPspReference", Shown: true, Need: contract.IfAsked},
	}
	money = []contract.Field{
		{Path: "amount.value", Same: contract.SameAmount, Shown: true}, {Path: "amount.currency", Same: contract.SameFold, Shown: true},
	}
)

// asAsked returns o if the answer is to this request, as far as it shows that. One that
// does not confirm it stays under the key, so another send shows no more.
func asAsked(c contract.Call, about string, body contract.Object, o contract.Outcome) contract.Outcome {
	asked, err := contract.DecodeObject(c.Body)
	if err != nil {
		asked = contract.Object{}
	}
	if about != "" {
		asked["paymentPspReference"] = about // the path asks for it
	}
	is, sum := contract.Compare(names, asked, body), contract.Compare(money, asked, body)
	switch {
	case len(is.Different) > 0:
		o.Status, o.Reason = contract.KeyReused, "the answer is another request's: "+strings.Join(is.Different, "; ")
	case o.Status != contract.Succeeded || o.State == "PartiallyAuthorised":
	case len(is.Unseen) > 0, len(sum.Different) > 0:
		o.Status, o.NoResend = contract.Unknown, true
		o.Reason = "the answer does not confirm what was asked: " + strings.Join(append(sum.Different, is.Unseen...), "; ")
	}
	return o
}

var (
	_ contract.Adapter = (*Adapter)(nil)
	_ contract.Catalog = (*Adapter)(nil)
)

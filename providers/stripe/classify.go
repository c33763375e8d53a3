package stripe

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

// Classify says what one reply revealed, by status, header and code.
func (a *Adapter) Classify(c contract.Call, r contract.Reply) contract.Outcome {
	return classify(endpointOf(c.Request), r)
}

func classify(e endpoint, r contract.Reply) contract.Outcome {
	facts := headerFacts(r)
	body, _ := contract.DecodeObject(r.Body)
	if r.Err != nil {
		body = nil // a cut body may look whole
	}
	o := decide(e, r, facts, body)
	o.Replayed, o.RequestID, o.RetryAfter = facts.replayed, facts.requestID, facts.wait
	if r.StatusCode >= 400 {
		o.Code = contract.Word(body.Text("error.code"))
	}
	switch o.Status {
	case contract.Unknown, contract.InProgress, contract.NotExecuted:
		o.NoResend = facts.advice == "false"
	}
	return o
}

// decide is the contract of Stripe as one decision, from what needs the least
// reading to what needs the most.
//
// Source of the codes: https://docs.stripe.com/error-codes (read 2026-11-29).
func decide(e endpoint, r contract.Reply, facts facts, body contract.Object) contract.Outcome {
	status, fault := r.StatusCode, readFault(body)
	switch {
	case status >= 400 && status < 500 && fault.code == "idempotency_key_in_use":
		// The first request with this key is still running. By code: it has come
		// with the type of a mismatch, too.
		// https://docs.stripe.com/error-codes (2026-11-29)
		return said(contract.InProgress, "a request with this key is being executed")
	case status >= 400 && status < 500 && fault.kind == "idempotency_error":
		// The key belongs to other parameters or to another endpoint. By type: the
		// status is 400 by document, and has been 409 in the field.
		// https://docs.stripe.com/api/idempotent_requests, https://github.com/stripe/stripe-ruby/issues/503 (2026-11-29)
		return said(contract.KeyReused, "the key was used with a different request")
	case status == http.StatusTooManyRequests, status == http.StatusTooEarly,
		status >= 400 && status < 500 && slices.Contains(turnedAway, fault.code):
		// Limiters run before the idempotency layer, and a lock that was not got
		// changed nothing. The status says it without the body, the code without 429.
		// https://docs.stripe.com/rate-limits, https://docs.stripe.com/error-low-level (2026-11-29);
		// 425: RFC 8470, section 5.2, the server did not process it.
		return said(contract.NotExecuted, "turned away before execution")
	case status >= 500 && e.version == 1 && facts.replayed:
		// A saved server error: the key will give this answer and no other. The
		// effect may exist. Not so in v2, which executes again.
		// https://docs.stripe.com/error-low-level, https://docs.stripe.com/api-v2-overview (2026-11-29)
		return said(contract.KeySpent, "the key is bound to a saved server error, which does not tell")
	}
	if o, none := contract.NoAnswer(r); none {
		return o
	}
	switch {
	case status >= 200 && status < 300:
		return decideSuccess(e, body)
	case status < 400, status >= 500:
		// A redirect is not followed; a fresh server error is indeterminate, and may
		// come from before the idempotency layer.
		return said(contract.Unknown, "a status that does not tell whether it was executed")
	case fault.kind == "":
		// A firewall's page, an empty body, or JSON of another shape: not Stripe's word.
		return said(contract.Unknown, "a refusal without a readable Stripe error")
	case status == http.StatusPaymentRequired:
		return decideDecline(fault)
	case fault.kind != "invalid_request_error" || !slices.Contains(refusals, status):
		// api_error (424, say), a conflict that names no cause, a type of tomorrow.
		return said(contract.Unknown, "an error that is not documented as a refusal")
	case fault.code == "payment_intent_unexpected_state":
		return decideIntent(e, fault.intent)
	case fault.code == "charge_already_captured":
		return contract.Outcome{Status: contract.Duplicate, Resource: e.object(), Reason: "the charge is already captured"}
	case fault.code == "charge_already_refunded":
		// The refund that exists is not named.
		return said(contract.Duplicate, "the charge is already refunded")
	case facts.advice == "true":
		// The API knows that a resend can succeed, so this answer is not bound to the
		// key: refused for now, before execution. It turns no doubt into certainty:
		// only here, where the request was refused anyway.
		return said(contract.NotExecuted, "refused for now; the API says that resending can help")
	default:
		return said(contract.Rejected, "refused: the request must be corrected")
	}
}

func said(s contract.Status, reason string) contract.Outcome {
	return contract.Outcome{Status: s, Reason: reason}
}

// refusals are the statuses with which an invalid_request_error is a refusal: 400
// bad request, 401 and 403 authentication and permission, 404 no such object. 409
// and 424 are documented as something else, and what is not listed is not known.
//
// Source: https://docs.stripe.com/api/errors (read 2026-11-29).
var refusals = []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}

// turnedAway are the codes of an object lock that was not got, and of the limiter.
//
// Source: https://docs.stripe.com/error-codes (read 2026-11-29).
var turnedAway = []string{"lock_timeout", "rate_limit"}

// decideSuccess reads a 2xx: it is a success only if it shows the object. An id
// that could not stand in a URL is none that Stripe makes, and whoever wrote it
// is not believed about the rest.
func decideSuccess(e endpoint, body contract.Object) contract.Outcome {
	id := body.Text("id")
	_, acts := done[e.name()]
	switch {
	case body == nil:
		return said(contract.Unknown, "a success without a readable object")
	case body["error"] != nil || body.Text("object") == "error":
		return said(contract.Unknown, "a success that carries an error")
	case contract.CheckReference(id) != nil:
		return said(contract.Unknown, "a success that shows no object id")
	case acts && id != e.id, e.makesMoney() && body["object"] != nil && body.Text("object") != e.kind(), body.Text("object") == "list":
		return said(contract.Unknown, "a success that shows another object than was asked for")
	}
	return contract.Outcome{Status: contract.Succeeded, Resource: id, State: contract.Word(body.Text("status")),
		Reason: "Stripe shows the object"}
}

// decideDecline reads a 402, which is documented as "the parameters were valid
// but the request failed": executed and refused. Not where the same answer shows
// that the payment lives on: money may move yet.
//
// Source: https://docs.stripe.com/api/errors, https://docs.stripe.com/error-codes (read 2026-11-29).
func decideDecline(f fault) contract.Outcome {
	alive := []string{"requires_action", "processing", "requires_capture", "succeeded"}
	switch {
	case f.kind != "card_error" && f.kind != "invalid_request_error":
		return said(contract.Unknown, "an error that is not documented as a refusal")
	case slices.Contains(alive, f.intent.Text("status")), f.code == "invoice_payment_intent_requires_action":
		return said(contract.Unknown, "refused, but the payment is not at its end")
	default:
		return said(contract.Declined, "executed and refused")
	}
}

// decideIntent reads the PaymentIntent that a refusal for its state embeds: what
// it is in may be what this operation asked for.
//
// Source: https://docs.stripe.com/payments/paymentintents/lifecycle,
// https://github.com/stripe/stripe-terminal-android/issues/470 (read 2026-11-29).
func decideIntent(e endpoint, intent contract.Object) contract.Outcome {
	id, state := intent.Text("id"), intent.Text("status")
	if e.collection == "payment_intents" && e.id != "" && id == "" {
		id = e.id
	}
	o := contract.Outcome{Resource: id, State: contract.Word(state)}
	if contract.CheckReference(id) != nil {
		o.Resource = ""
	}
	ours := e.collection == "payment_intents" && (e.id == "" || e.id == id) || e.unseen
	moved := state == "succeeded" || state == "requires_capture" || state == "processing"
	switch {
	case state == "", !ours && moved:
		// Another object's refusal (a terminal's, a refund's) or an unreadable one:
		// there is money, and no proof of whose it is.
		o.Resource = ""
		o.Reason = "refused for a state that proves nothing about this request"
	case e.action == "cancel" && state == "canceled":
		o.Status, o.Reason = contract.Duplicate, "the intent is already canceled"
	case e.action == "capture" && state == "succeeded", e.confirms() && (state == "succeeded" || state == "requires_capture"):
		o.Status, o.Reason = contract.Duplicate, "the intent is already in the state that was asked for"
	case (e.action == "capture" || e.confirms()) && state == "processing":
		o.Status, o.Reason = contract.InProgress, "the intent is being processed"
	case e.action == "capture" && state == "requires_capture":
		// Ready for what it was refused: a capture before it may have taken a part.
		o.Reason = "refused although the intent can be captured"
	default:
		o.Status, o.Resource, o.Reason = contract.Rejected, "", "refused: the intent's state does not allow it"
	}
	return o
}

// confirms reports whether the request asks a PaymentIntent to pay. Where the
// request is not seen, the refusal is read as the one that is known from the
// field: of a confirm.
func (e endpoint) confirms() bool {
	return e.action == "confirm" || e.action == "" && e.id == ""
}

// fault is what Stripe's error object says.
type fault struct {
	kind, code string
	intent     contract.Object
}

func readFault(body contract.Object) fault {
	return fault{
		kind:   body.Text("error.type"),
		code:   body.Text("error.code"),
		intent: body.Object("error.payment_intent"),
	}
}

// facts are what the headers say.
type facts struct {
	replayed  bool
	advice    string // "true", "false", or "" for anything else
	requestID string
	wait      time.Duration
}

// headerFacts reads the headers that Stripe documents: whether the answer is a
// stored one, and the API's own word on whether resending can help.
//
// Source: https://docs.stripe.com/error-low-level, https://docs.stripe.com/api/request_ids (read 2026-11-29).
func headerFacts(r contract.Reply) facts {
	f := facts{
		replayed:  strings.EqualFold(contract.HeaderValue(r.Header, "Idempotent-Replayed"), "true"),
		advice:    strings.ToLower(contract.HeaderValue(r.Header, "Stripe-Should-Retry")),
		requestID: contract.Word(contract.HeaderValue(r.Header, "Request-Id")),
		wait:      r.Wait(),
	}
	if f.advice != "true" && f.advice != "false" {
		f.advice = ""
	}
	return f
}

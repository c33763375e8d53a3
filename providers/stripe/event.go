package stripe

import (
	"net/http"
	"slices"

	"github.com/stripe/stripe-go/v76"

	"github.com/idempact/idempact/contract"
)

// moved are the types of events that are sent only once an effect exists, whichever
// request they are of. What is not listed may come with a decline too: an object is
// created, or an invoice finalized, before the payment is tried.
//
// Source: https://docs.stripe.com/api/events/types (read 2026-11-29).
var moved = []string{
	"charge.captured", "charge.refunded", "charge.succeeded",
	"invoice.paid", "invoice.payment_succeeded",
	"payment_intent.amount_capturable_updated", "payment_intent.processing", "payment_intent.succeeded",
	"payout.created", "setup_intent.succeeded", "topup.created", "transfer.created", "transfer.reversed",
}

// KeyOfEvent returns what an event says of an operation: the name of its key, and
// an outcome, as retry.Client.Learn takes them. It reports false where the event is
// of no request with a key, or of a type that proves no effect.
//
// The outcome is a Duplicate without a reference: an effect exists under the key.
// One request has events about several objects, and only who knows the request can
// tell which is the one that it made; so the loop looks it up and compares.
//
// The event must be verified: webhook.ConstructEvent of stripe-go does it.
//
// Source: request.idempotency_key and account in https://docs.stripe.com/api/events/object
// (read 2026-11-29).
func KeyOfEvent(e stripe.Event) (key string, o contract.Outcome, ok bool) {
	if e.Request == nil || e.Request.IdempotencyKey == "" || !slices.Contains(moved, string(e.Type)) {
		return "", contract.Outcome{}, false
	}
	h := http.Header{}
	if e.Account != "" {
		h.Set("Stripe-Account", e.Account)
	}
	key = contract.Terms{AccountHeaders: accountHeaders}.KeyIn(h, e.Request.IdempotencyKey)
	o = contract.Outcome{
		Status: contract.Duplicate, RequestID: e.Request.ID, Source: contract.FromOutside,
		Reason: "the event " + string(e.Type) + " shows an effect under the key",
	}
	return key, o, true
}

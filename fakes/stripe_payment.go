package fakes

import (
	"net/http"
	"slices"
	"strings"
)

// createIntent is POST /v1/payment_intents. S paymentintent.go, 2026-11-29.
func (p *stripe) createIntent(in params) endpoint {
	if a, bad := lacks("payment_intents", in); bad {
		return invalid(a)
	}
	return endpoint{run: func(c *call) answer {
		amount, _ := in.int64("amount")
		data := map[string]any{
			"amount_capturable": int64(0), "amount_received": int64(0), "canceled_at": nil,
			"capture_method": "automatic", "confirmation_method": "automatic", "customer": nil,
			"description": nil, "last_payment_error": nil, "latest_charge": nil, "next_action": nil,
			"payment_method": nil, "payment_method_types": []any{"card"},
		}
		for k, v := range fields(in) {
			data[k] = v
		}
		data["amount"], data["status"] = amount, "requires_payment_method"
		o := p.add(c, "payment_intents", "pi", "payment_intent", data)
		data["client_secret"] = o.id + "_secret_" + p.s.newID("x", 16)[2:]
		p.emit(c, o, "payment_intent.created")
		if method(in) != "" {
			data["payment_method"], data["status"] = method(in), "requires_confirmation"
		}
		if in.str("confirm") == "true" {
			return p.confirm(c, o, in, "create")
		}
		p.effect(c, o, "create", amount, in)
		return jsonAnswer(http.StatusOK, data)
	}}
}

// method is the payment method that a request names, by any of its parameters.
func method(in params) string {
	for _, name := range []string{"payment_method", "source", "confirmation_token"} {
		if m := in.str(name); m != "" {
			return m
		}
	}
	if in["payment_method_data"] != nil {
		return "pm_card_visa"
	}
	return ""
}

// confirm is POST /v1/payment_intents/{id}/confirm, or the second half of a create
// with confirm=true. S paymentintent.go, 2026-11-29: on failure the status goes back
// to requires_payment_method.
func (p *stripe) confirm(c *call, o *stripeObject, in params, action string) answer {
	if !state(o, "requires_payment_method", "requires_confirmation", "requires_action") {
		return unexpectedState(o, "confirm")
	}
	if m := method(in); m != "" {
		o.data["payment_method"] = m
	}
	pm, _ := o.data["payment_method"].(string)
	if pm == "" {
		return unexpectedState(o, "confirm")
	}
	o.changed = c.at
	if code, declined := decline(pm); declined {
		return p.declineIntent(c, o, code)
	}
	amount, _ := params(o.data).int64("amount")
	if lower := strings.ToLower(pm); strings.Contains(lower, "authenticationrequired") || strings.Contains(lower, "threedsecure") {
		o.data["status"], o.data["next_action"] = "requires_action", map[string]any{"type": "use_stripe_sdk"}
		p.effect(c, o, action, amount, in)
		p.emit(c, o, "payment_intent.requires_action")
		return jsonAnswer(http.StatusOK, o.data)
	}
	manual := o.data["capture_method"] == "manual"
	ch := p.charge(c, o.data, pm, !manual)
	ch.data["payment_intent"] = o.id
	o.data["latest_charge"], o.data["last_payment_error"], o.data["next_action"] = ch.id, nil, nil
	name := "payment_intent.succeeded"
	if manual {
		o.data["status"], o.data["amount_capturable"] = "requires_capture", amount
		name = "payment_intent.amount_capturable_updated"
	} else {
		o.data["status"], o.data["amount_received"] = "succeeded", amount
	}
	p.effect(c, o, action, amount, in)
	p.emit(c, o, name)
	p.emit(c, ch, "charge.succeeded")
	return jsonAnswer(http.StatusOK, o.data)
}

// decline reports whether a test payment method is refused, and with which code.
// The names are those of docs.stripe.com/testing, a page that was not read again.
func decline(pm string) (code string, declined bool) {
	_, reason, found := strings.Cut(strings.ToLower(pm), "chargedeclined")
	switch {
	case !found:
		return "", false
	case strings.HasPrefix(reason, "insufficientfunds"):
		return "insufficient_funds", true
	case strings.HasPrefix(reason, "lostcard"):
		return "lost_card", true
	case strings.HasPrefix(reason, "stolencard"):
		return "stolen_card", true
	}
	return "generic_decline", true
}

// cardDeclined is 402, with the intent embedded where there is one.
// D docs.stripe.com/api/errors, 2026-11-29.
func cardDeclined(code, charge string, intent map[string]any) answer {
	more := map[string]any{"decline_code": code}
	if charge != "" {
		more["charge"] = charge
	}
	if intent != nil {
		more["payment_intent"] = intent
	}
	return stripeErrorWith(http.StatusPaymentRequired, "card_error", "card_declined", "",
		"Your card was declined.", more)
}

func (p *stripe) declineIntent(c *call, o *stripeObject, code string) answer {
	ch := p.failedCharge(c, o.data, code)
	ch.data["payment_intent"] = o.id
	o.data["status"], o.data["payment_method"], o.data["latest_charge"] = "requires_payment_method", nil, ch.id
	o.data["last_payment_error"] = map[string]any{
		"type": "card_error", "code": "card_declined", "decline_code": code, "charge": ch.id,
		"message": "Your card was declined.",
	}
	p.emit(c, ch, "charge.failed")
	p.emit(c, o, "payment_intent.payment_failed")
	return cardDeclined(code, ch.id, o.data)
}

// unexpectedState embeds the intent, whose status tells whether an earlier request
// took effect. T stripe/stripe-terminal-android#470; D docs.stripe.com/error-codes,
// 2026-11-29. It comes from an executing endpoint, so it is saved.
func unexpectedState(o *stripeObject, verb string) answer {
	status, _ := o.data["status"].(string)
	return stripeErrorWith(http.StatusBadRequest, "invalid_request_error", "payment_intent_unexpected_state", "",
		"You cannot "+verb+" this PaymentIntent because it has a status of "+status+".",
		map[string]any{"payment_intent": o.data})
}

func state(o *stripeObject, allowed ...string) bool {
	s, _ := o.data["status"].(string)
	return slices.Contains(allowed, s)
}

// capture is POST /v1/payment_intents/{id}/capture.
// D docs.stripe.com/api/payment_intents/capture, 2026-11-29.
func (p *stripe) capture(c *call, o *stripeObject, in params) answer {
	if !state(o, "requires_capture") {
		return unexpectedState(o, "capture")
	}
	capturable, _ := params(o.data).int64("amount_capturable")
	amount := capturable
	if n, ok := in.int64("amount_to_capture"); ok {
		amount = n
	}
	if amount > capturable {
		return stripeError(http.StatusBadRequest, "invalid_request_error", "amount_too_large", "amount_to_capture",
			"The amount to capture is greater than the amount that can be captured.")
	}
	o.data["status"], o.data["amount_received"], o.data["amount_capturable"] = "succeeded", amount, int64(0)
	o.changed = c.at
	id, _ := o.data["latest_charge"].(string)
	if ch := p.byID[id]; ch != nil {
		ch.data["captured"], ch.data["amount_captured"], ch.changed = true, amount, c.at
		p.emit(c, ch, "charge.captured")
	}
	p.effect(c, o, "capture", amount, in)
	p.emit(c, o, "payment_intent.succeeded")
	return jsonAnswer(http.StatusOK, o.data)
}

// cancel is POST /v1/payment_intents/{id}/cancel.
// D docs.stripe.com/api/payment_intents/cancel, 2026-11-29.
func (p *stripe) cancel(c *call, o *stripeObject, in params) answer {
	if !state(o, "requires_payment_method", "requires_capture", "requires_confirmation", "requires_action", "processing") {
		return unexpectedState(o, "cancel")
	}
	o.data["status"], o.data["canceled_at"], o.data["amount_capturable"] = "canceled", c.at.Unix(), int64(0)
	if reason := in.str("cancellation_reason"); reason != "" {
		o.data["cancellation_reason"] = reason
	}
	o.changed = c.at
	p.effect(c, o, "cancel", 0, in)
	p.emit(c, o, "payment_intent.canceled")
	return jsonAnswer(http.StatusOK, o.data)
}

// createCharge is POST /v1/charges. S charge.go, 2026-11-29.
func (p *stripe) createCharge(in params) endpoint {
	if a, bad := lacks("charges", in); bad {
		return invalid(a)
	}
	if in.str("source") == "" && in.str("customer") == "" {
		return invalid(stripeError(http.StatusBadRequest, "invalid_request_error", "parameter_missing", "source",
			"Must provide source or customer."))
	}
	return endpoint{run: func(c *call) answer {
		data := fields(in)
		if code, declined := decline(in.str("source")); declined {
			ch := p.failedCharge(c, data, code)
			p.emit(c, ch, "charge.failed")
			return cardDeclined(code, ch.id, nil)
		}
		ch := p.charge(c, data, in.str("source"), in.str("capture") != "false")
		amount, _ := in.int64("amount")
		p.effect(c, ch, "create", amount, in)
		p.emit(c, ch, "charge.succeeded")
		return jsonAnswer(http.StatusOK, ch.data)
	}}
}

// charge makes a charge out of the fields of a payment intent or of a request.
func (p *stripe) charge(c *call, of map[string]any, source string, captured bool) *stripeObject {
	amount, _ := params(of).int64("amount")
	data := map[string]any{
		"amount": amount, "amount_captured": int64(0), "amount_refunded": int64(0), "captured": captured,
		"currency": of["currency"], "customer": of["customer"], "description": of["description"],
		"failure_code": nil, "metadata": map[string]any{}, "paid": true, "payment_intent": nil,
		"payment_method": source, "refunded": false, "status": "succeeded",
	}
	if m := params(of).sub("metadata"); m != nil {
		data["metadata"] = clone(m)
	}
	if captured {
		data["amount_captured"] = amount
	}
	return p.add(c, "charges", "ch", "charge", data)
}

func (p *stripe) failedCharge(c *call, of map[string]any, code string) *stripeObject {
	ch := p.charge(c, of, "", false)
	ch.data["paid"], ch.data["status"], ch.data["failure_code"] = false, "failed", "card_declined"
	ch.data["outcome"] = map[string]any{"reason": code, "type": "issuer_declined"}
	return ch
}

// createRefund is POST /v1/refunds. S refund.go, 2026-11-29: an error for a charge that
// has been refunded, and for more money than is left.
func (p *stripe) createRefund(c *call, in params) endpoint {
	ch, bad := p.refundable(c, in)
	if bad != nil {
		return invalid(*bad)
	}
	return endpoint{run: func(c *call) answer { return p.refund(c, ch, in) }}
}

// refundable finds the charge that a refund names.
func (p *stripe) refundable(c *call, in params) (*stripeObject, *answer) {
	id := in.str("charge")
	var bad answer
	if id == "" {
		pi := in.str("payment_intent")
		if pi == "" {
			bad = stripeError(http.StatusBadRequest, "invalid_request_error", "parameter_missing", "charge",
				"One of the following params should be provided for this request: payment_intent or charge.")
			return nil, &bad
		}
		o := p.find(c, "payment_intents", pi)
		if o == nil {
			bad = missing(http.StatusBadRequest, "payment_intent", pi, "payment_intent")
			return nil, &bad
		}
		id, _ = o.data["latest_charge"].(string)
		if ch := p.find(c, "charges", id); ch == nil || !state(ch, "succeeded") {
			bad = stripeError(http.StatusBadRequest, "invalid_request_error", "", "payment_intent",
				"This PaymentIntent ("+pi+") does not have a successful charge to refund.")
			return nil, &bad
		}
	}
	ch := p.find(c, "charges", id)
	if ch == nil {
		bad = missing(http.StatusBadRequest, "charge", id, "charge")
		return nil, &bad
	}
	return ch, nil
}

func (p *stripe) refund(c *call, ch *stripeObject, in params) answer {
	total, _ := params(ch.data).int64("amount")
	gone, _ := params(ch.data).int64("amount_refunded")
	amount := total - gone
	if n, ok := in.int64("amount"); ok {
		amount = n
	}
	// S error.go has the code of the first; what a refund over the rest is called is
	// not documented.
	if gone == total {
		return stripeError(http.StatusBadRequest, "invalid_request_error", "charge_already_refunded", "",
			"Charge "+ch.id+" has already been refunded.")
	}
	if amount > total-gone {
		return stripeError(http.StatusBadRequest, "invalid_request_error", "", "amount",
			"Refund amount is greater than unrefunded amount on charge.")
	}
	data := fields(in)
	data["amount"], data["charge"], data["currency"], data["status"] = amount, ch.id, ch.data["currency"], "succeeded"
	data["payment_intent"] = ch.data["payment_intent"]
	o := p.add(c, "refunds", "re", "refund", data)
	ch.data["amount_refunded"], ch.data["refunded"], ch.changed = gone+amount, gone+amount == total, c.at
	p.effect(c, o, "create", amount, in)
	p.emit(c, o, "refund.created")
	p.emit(c, ch, "charge.refunded")
	return jsonAnswer(http.StatusOK, o.data)
}

// payInvoice is POST /v1/invoices/{id}/pay. S invoice/client.go, 2026-11-29;
// the error for one that has been paid has no documented code.
func (p *stripe) payInvoice(c *call, o *stripeObject, in params) answer {
	if state(o, "paid", "void") {
		return stripeError(http.StatusBadRequest, "invalid_request_error", "", "", "Invoice is already paid")
	}
	if code, declined := decline(method(in)); declined {
		p.emit(c, o, "invoice.payment_failed")
		return cardDeclined(code, "", nil)
	}
	amount, _ := params(o.data).int64("amount_due")
	o.data["status"], o.data["paid"], o.data["amount_paid"], o.changed = "paid", true, amount, c.at
	p.effect(c, o, "pay", amount, in)
	p.emit(c, o, "invoice.paid")
	return jsonAnswer(http.StatusOK, o.data)
}

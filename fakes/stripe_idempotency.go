package fakes

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	// Keys may be pruned once they are at least 24 hours old; the fake prunes at
	// once. D docs.stripe.com/api/idempotent_requests, 2026-11-29.
	stripeRetention = 24 * time.Hour
	// In v2 the window is 30 days. D docs.stripe.com/error-low-level, 2026-11-29.
	stripeRetentionV2 = 30 * 24 * time.Hour
	// Up to 255 characters. D docs.stripe.com/api/idempotent_requests, 2026-11-29.
	stripeKeyMax = 255
)

// keysV1 keeps status and body once execution has begun, 500 included; parameters
// that fail validation are not saved. D docs.stripe.com/api/idempotent_requests,
// 2026-11-29.
func (p *stripe) keysV1() keyed {
	return keyed{
		s: p.s, retention: stripeRetention, mismatch: otherRequest, busy: keyInUse, failure: p.internalError,
		keeps: keepResults,
		again: func(_ *call, r *remembered) answer {
			// S stripe/stripe-mock and activemerchant, 2026-11-29.
			return r.replay("Idempotent-Replayed", "true")
		},
	}
}

// keysV2 keeps success alone, and a repeat shows what it made as it is now: failed or
// half-done work is executed again. D docs.stripe.com/api-v2-overview, 2026-11-29.
func (p *stripe) keysV2() keyed {
	return keyed{
		s: p.s, retention: stripeRetentionV2, mismatch: otherRequest, busy: keyInUse, failure: p.internalError,
		keeps: keepEffects,
		again: func(_ *call, r *remembered) answer {
			if o := p.byID[r.resource]; o != nil && !o.deleted {
				return jsonAnswer(r.kept.status, o.data)
			}
			return r.kept.copy()
		},
	}
}

func (p *stripe) write(c *call, r stripeRoute) answer {
	prepare := func() endpoint { return p.prepare(c, r) }
	layer := &p.v1
	if r.v2 {
		layer = &p.v2
	}
	// On DELETE a key has no effect in v1; v2 takes one.
	// D docs.stripe.com/api/idempotent_requests, /api-v2-overview, 2026-11-29.
	if c.key == "" || c.method == http.MethodDelete && !r.v2 {
		return layer.write(c, "", prepare)
	}
	if len(c.key) > stripeKeyMax {
		return stripeError(http.StatusBadRequest, "invalid_request_error", "", "",
			fmt.Sprintf("Idempotency keys are up to %d characters long.", stripeKeyMax))
	}
	// Account and mode are the scope. T stripe/stripe-ruby#598, 2026-11-29.
	return layer.write(c, fmt.Sprintf("%t %s %s", live(c), account(c), c.key), prepare)
}

// otherRequest is told by the type, not by the status. In v2 it is the same: S
// stripe-python specific_v2_api_error. D docs.stripe.com/api/errors, 2026-11-29.
func otherRequest(c *call, r *remembered) *answer {
	text := "Keys for idempotent requests can only be used with the same parameters they were first used with."
	switch {
	case r.path != c.path:
		text = fmt.Sprintf("Keys for idempotent requests can only be used for the same endpoint they were first used for ('%s' vs '%s').", c.path, r.path)
	case r.print == c.print:
		return nil
	}
	a := stripeError(http.StatusBadRequest, "idempotency_error", "", "", text)
	return &a
}

func (p *stripe) internalError(c *call) answer {
	a := stripeError(c.plan.saveErr, "api_error", "", "", "An unknown error occurred.")
	// S stripe-go v76 shouldRetry, 2026-11-29: the header overrides the status.
	// Whether it comes with a saved 500 is not documented.
	if v := p.s.opts.ShouldRetry; v != "" {
		a.header.Set("Stripe-Should-Retry", v)
	}
	return a
}

// keyInUse is 409 with this code. D docs.stripe.com/error-codes, 2026-11-29. Its
// type: T woocommerce/woocommerce-gateway-stripe#503.
func keyInUse(*call, *remembered) answer {
	return stripeError(http.StatusConflict, "invalid_request_error", "idempotency_key_in_use", "",
		"There is currently another in-progress request using this Idempotent Key.")
}

// effect records what a write did to o.
func (p *stripe) effect(c *call, o *stripeObject, action string, amount int64, in params) {
	currency, _ := o.data["currency"].(string)
	kind, _ := o.data["object"].(string)
	if a := params(o.data).sub("amount"); a != nil { // v2: {"value": 1, "currency": "usd"}
		currency = strings.ToLower(a.str("currency"))
		amount, _ = a.int64("value")
	}
	p.s.record(c, Effect{
		Kind: kind, Action: action, Resource: o.id, Account: o.account,
		Amount: amount, Currency: currency, Metadata: in.metadata(),
	})
}

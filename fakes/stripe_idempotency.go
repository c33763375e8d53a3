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

// stripeKey is what the idempotency layer remembers of one key.
type stripeKey struct {
	path, print string
	first       time.Time // retention counts from here
	busyUntil   time.Time
	saved       *answer // v1: what every repeat gets; v2: the success
	resource    string  // v2: the object that a repeat shows
}

// endpoint is a validated write: bad is the validation error, not saved; run
// executes, and what it says is saved.
type endpoint struct {
	bad *answer
	run func(c *call) answer
}

func invalid(a answer) endpoint { return endpoint{bad: &a} }

func (p *stripe) write(c *call, r stripeRoute) answer {
	// On DELETE a key has no effect in v1; v2 takes one.
	// D docs.stripe.com/api/idempotent_requests, /api-v2-overview, 2026-11-29.
	if c.key == "" || c.method == http.MethodDelete && !r.v2 {
		e := p.prepare(c, r)
		if e.bad != nil {
			return *e.bad
		}
		a, _ := p.execute(c, e)
		return a
	}
	if len(c.key) > stripeKeyMax {
		return stripeError(http.StatusBadRequest, "invalid_request_error", "", "",
			fmt.Sprintf("Idempotency keys are up to %d characters long.", stripeKeyMax))
	}
	// Account and mode are the scope. T stripe/stripe-ruby#598, 2026-11-29.
	scope := fmt.Sprintf("%t %t %s %s", r.v2, live(c), account(c), c.key)
	k := p.keys[scope]
	retention := stripeRetention
	if r.v2 {
		retention = stripeRetentionV2
	}
	if k != nil && c.at.Sub(k.first) >= retention {
		delete(p.keys, scope)
		k = nil
	}
	if k != nil {
		return p.again(c, r, k)
	}
	// Parameters that fail validation are not saved. D as above.
	e := p.prepare(c, r)
	if e.bad != nil {
		return *e.bad
	}
	k = &stripeKey{path: c.path, print: c.print, first: c.at}
	p.keys[scope] = k
	return p.first(c, r, k, e)
}

// first executes a key's first request, or puts it off.
func (p *stripe) first(c *call, r stripeRoute, k *stripeKey, e endpoint) answer {
	if d := c.plan.inFlight; d > 0 {
		k.busyUntil = c.at.Add(d)
		p.s.deferUntil(k.busyUntil, func() {
			late := *c
			late.at = k.busyUntil
			p.save(&late, r, k, e)
		})
		return keyInUse()
	}
	k.busyUntil = c.at.Add(c.plan.slow)
	return p.save(c, r, k, e)
}

// save executes and keeps under the key what this API keeps. v1 keeps status and
// body once execution has begun, 500 included. v2 keeps success alone: failed or
// half-done work is executed again. D docs.stripe.com/api/idempotent_requests,
// 2026-11-29.
func (p *stripe) save(c *call, r stripeRoute, k *stripeKey, e endpoint) answer {
	a, truth := p.execute(c, e)
	switch {
	case !r.v2:
		k.saved = &a
	case truth != nil && truth.status < 300:
		k.saved, k.resource = truth, resourceID(truth)
	}
	return a
}

// again answers a repeat of a key that is remembered.
func (p *stripe) again(c *call, r stripeRoute, k *stripeKey) answer {
	switch {
	// The type is what tells, not the status. In v2 it is the same: S stripe-python
	// specific_v2_api_error. D docs.stripe.com/api/errors, 2026-11-29.
	case k.path != c.path:
		return stripeError(http.StatusBadRequest, "idempotency_error", "", "",
			fmt.Sprintf("Keys for idempotent requests can only be used for the same endpoint they were first used for ('%s' vs '%s').", c.path, k.path))
	case k.print != c.print:
		return stripeError(http.StatusBadRequest, "idempotency_error", "", "",
			"Keys for idempotent requests can only be used with the same parameters they were first used with.")
	case c.at.Before(k.busyUntil):
		return keyInUse()
	case c.plan.inFlight > 0:
		k.busyUntil = c.at.Add(c.plan.inFlight)
		return keyInUse()
	case k.saved == nil:
		e := p.prepare(c, r)
		if e.bad != nil {
			return *e.bad
		}
		return p.first(c, r, k, e)
	case r.v2:
		if o := p.byID[k.resource]; o != nil && !o.deleted {
			return jsonAnswer(k.saved.status, o.data)
		}
		return *k.saved
	}
	a := *k.saved
	a.header = a.header.Clone()
	// S stripe/stripe-mock and activemerchant, 2026-11-29.
	a.header.Set("Idempotent-Replayed", "true")
	a.replayed = true
	return a
}

// execute runs the endpoint. It returns what the client is told and, where the
// endpoint came to its end, what is true.
func (p *stripe) execute(c *call, e endpoint) (told answer, truth *answer) {
	if c.plan.noEffect {
		return p.internalError(c), nil
	}
	a := e.run(c)
	if c.plan.saveErr != 0 {
		return p.internalError(c), &a
	}
	return a, &a
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
func keyInUse() answer {
	return stripeError(http.StatusConflict, "invalid_request_error", "idempotency_key_in_use", "",
		"There is currently another in-progress request using this Idempotent Key.")
}

func resourceID(a *answer) string {
	body, err := parseJSON(a.body)
	if err != nil {
		return ""
	}
	return body.str("id")
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

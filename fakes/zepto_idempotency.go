package fakes

import (
	"fmt"
	"net/http"
	"time"
)

const (
	// Keys expire after 24 hours. Guide, "Idempotent requests".
	zeptoRetention = 24 * time.Hour
	// Any value up to 256 characters. Guide, "Idempotent requests".
	zeptoKeyMax = 256
)

// zeptoKey is what the core API remembers of one key. Keys are of the whole
// account: that they are of one endpoint is not documented.
type zeptoKey struct {
	first     time.Time
	busyUntil time.Time
	ref       string // what the key created; "" while that is under way
}

// creation makes a resource, records its effect and returns its reference.
type creation func(c *call) (ref string, a answer)

// keyed runs a creation under the key's contract.
func (p *zepto) keyed(c *call, prepare func() (creation, *answer)) answer {
	// The header is required. What its absence gets is not documented: the error
	// shape of idempotency, with the status of a bad request.
	if c.key == "" {
		return zeptoError(http.StatusBadRequest, "", "Missing idempotency key",
			"The Idempotency-Key header is required for this request", nil)
	}
	if len(c.key) > zeptoKeyMax {
		return zeptoError(http.StatusBadRequest, "", "Invalid idempotency key",
			fmt.Sprintf("The Idempotency-Key header must be up to %d characters", zeptoKeyMax), nil)
	}
	k := p.keys[c.key]
	if k != nil && c.at.Sub(k.first) >= zeptoRetention {
		delete(p.keys, c.key)
		k = nil
	}
	switch {
	case k != nil && c.at.Before(k.busyUntil):
		return p.busy(c, k)
	case k != nil && c.plan.inFlight > 0:
		k.busyUntil = c.at.Add(c.plan.inFlight)
		return p.busy(c, k)
	case k != nil:
		// 409 whatever the parameters: that they are compared is not documented.
		return zeptoError(http.StatusConflict, "", "Duplicate idempotency key",
			"A resource has already been created with this idempotency key",
			map[string]any{"resource_ref": k.ref})
	}
	// Which failures stay under a key is not documented; a 400 says that no resource
	// was created, so nothing stays.
	create, bad := prepare()
	if bad != nil {
		return *bad
	}
	if c.plan.noEffect {
		return p.internalError(c)
	}
	k = &zeptoKey{first: c.at}
	p.keys[c.key] = k
	if d := c.plan.inFlight; d > 0 {
		k.busyUntil = c.at.Add(d)
		p.s.deferUntil(k.busyUntil, func() {
			late := *c
			late.at = k.busyUntil
			k.ref, _ = create(&late)
		})
		return p.busy(c, k)
	}
	k.busyUntil = c.at.Add(c.plan.slow)
	ref, a := create(c)
	k.ref = ref
	if c.plan.saveErr != 0 {
		return p.internalError(c)
	}
	return a
}

// busy is the answer to a request that quickly follows another with the same key:
// 503 and Retry-After in seconds. Guide, "Idempotent requests".
func (p *zepto) busy(c *call, k *zeptoKey) answer {
	return zeptoError(http.StatusServiceUnavailable, "", "Service unavailable",
		"A request with this idempotency key is being processed", nil).retryAfter(k.busyUntil.Sub(c.at))
}

func (p *zepto) internalError(c *call) answer {
	return zeptoText(c.plan.saveErr, "An unexpected error occurred")
}

// unkeyed runs a creation of an endpoint that honours no key: each request is an
// effect of its own. Guide: no other POST supports the header.
func (p *zepto) unkeyed(c *call, prepare func() (creation, *answer)) answer {
	create, bad := prepare()
	if bad != nil {
		return *bad
	}
	if c.plan.noEffect {
		return p.internalError(c)
	}
	_, a := create(c)
	if c.plan.saveErr != 0 {
		return p.internalError(c)
	}
	return a
}

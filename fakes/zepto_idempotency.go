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

// keyLayer is what the core API does about a key. A repeat gets 409 whatever its
// parameters: that they are compared is not documented. Which failures stay under a
// key is not documented either; a 400 says that no resource was created, so nothing
// stays.
func (p *zepto) keyLayer() keyed {
	return keyed{
		s: p.s, retention: zeptoRetention, busy: p.busy, keeps: keepEffects, failure: p.internalError,
		again: func(_ *call, r *remembered) answer {
			return zeptoError(http.StatusConflict, "", "Duplicate idempotency key",
				"A resource has already been created with this idempotency key",
				map[string]any{"resource_ref": r.resource})
		},
	}
}

// keyed runs a creation under the key's contract. Keys are of the whole account: that
// they are of one endpoint is not documented.
func (p *zepto) keyed(c *call, prepare func() endpoint) answer {
	switch {
	case c.key == "":
		// The header is required. What its absence gets is not documented: the error
		// shape of idempotency, with the status of a bad request.
		return zeptoError(http.StatusBadRequest, "", "Missing idempotency key",
			"The Idempotency-Key header is required for this request", nil)
	case len(c.key) > zeptoKeyMax:
		return zeptoError(http.StatusBadRequest, "", "Invalid idempotency key",
			fmt.Sprintf("The Idempotency-Key header must be up to %d characters", zeptoKeyMax), nil)
	}
	return p.keys.write(c, c.key, prepare)
}

// busy is the answer to a request that quickly follows another with the same key:
// 503 and Retry-After in seconds. Guide, "Idempotent requests".
func (p *zepto) busy(c *call, r *remembered) answer {
	return zeptoError(http.StatusServiceUnavailable, "", "Service unavailable",
		"A request with this idempotency key is being processed", nil).retryAfter(r.busyUntil.Sub(c.at))
}

func (p *zepto) internalError(c *call) answer {
	return zeptoText(c.plan.saveErr, "An unexpected error occurred")
}

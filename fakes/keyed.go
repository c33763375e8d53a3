package fakes

import (
	"net/http"
	"time"
)

// keyed is the idempotency layer of a provider: what it remembers of each key, and
// what a repeat of it gets. A function that is nil is something that the provider does
// not document, and then it does not happen.
type keyed struct {
	s         *Server
	retention time.Duration // a key is forgotten at this age; 0 is never

	// mismatch returns the answer to a repeat that is another request than the one
	// that has the key, nil if it is the same. Nil: parameters are not compared.
	mismatch func(c *call, r *remembered) *answer

	// busy is the answer to a repeat while the first request runs. Nil: there is
	// none, and an InFlight fault means nothing.
	busy func(c *call, r *remembered) answer

	// keeps returns what stays under the key: of what the client was told, and of what
	// is true, which is nil where the endpoint failed before its effect. After nil the
	// same key executes again.
	keeps func(told answer, truth *answer) *answer

	// again is the answer to a repeat of what was kept. Nil: what was kept.
	again func(c *call, r *remembered) answer

	// failure is the provider's answer with the status c.plan.saveErr.
	failure func(c *call) answer

	keys map[string]*remembered
}

// remembered is what a provider knows of one key.
type remembered struct {
	path, print string    // of the first request
	first       time.Time // the retention counts from here
	busyUntil   time.Time
	kept        *answer // nil: the next request executes
	resource    string  // in which it took effect; "" if it did not
}

// endpoint is a validated write: bad is the validation error, which is not kept; run
// executes and records the effect.
type endpoint struct {
	bad *answer
	run func(c *call) answer
}

func invalid(a answer) endpoint { return endpoint{bad: &a} }

// What a provider may keep under a key.
var (
	// keepResults keeps what the client was told, errors too.
	keepResults = func(told answer, _ *answer) *answer { return &told }
	// keepSuccesses keeps what the client was told, if that was a success.
	keepSuccesses = func(told answer, _ *answer) *answer {
		if told.status >= 300 {
			return nil
		}
		return &told
	}
	// keepEffects keeps the success of what took effect, whatever the client was told:
	// the resource itself holds the key.
	keepEffects = func(_ answer, truth *answer) *answer {
		if truth == nil || truth.status >= 300 {
			return nil
		}
		return truth
	}
)

// write executes a request whose key is unique in scope, unless it is a repeat. An
// empty scope is a request without a key, which executes each time.
func (k *keyed) write(c *call, scope string, prepare func() endpoint) answer {
	if scope == "" {
		e := prepare()
		if e.bad != nil {
			return *e.bad
		}
		told, _ := k.execute(c, e)
		return told
	}
	r := k.keys[scope]
	if r != nil && k.retention > 0 && c.at.Sub(r.first) >= k.retention {
		delete(k.keys, scope)
		r = nil
	}
	if r != nil {
		return k.repeat(c, r, prepare)
	}
	e := prepare()
	if e.bad != nil {
		return *e.bad
	}
	if k.keys == nil {
		k.keys = map[string]*remembered{}
	}
	r = &remembered{path: c.path, print: c.print, first: c.at}
	k.keys[scope] = r
	return k.first(c, r, e)
}

// first executes, or puts that off.
func (k *keyed) first(c *call, r *remembered, e endpoint) answer {
	if d := c.plan.inFlight; d > 0 && k.busy != nil {
		r.busyUntil = c.at.Add(d)
		k.s.deferUntil(r.busyUntil, func() {
			late := *c
			late.at = r.busyUntil
			k.save(&late, r, e)
		})
		return k.busy(c, r)
	}
	r.busyUntil = c.at.Add(c.plan.slow)
	return k.save(c, r, e)
}

func (k *keyed) save(c *call, r *remembered, e endpoint) answer {
	before := len(k.s.ledger)
	told, truth := k.execute(c, e)
	r.kept = k.keeps(told, truth)
	if len(k.s.ledger) > before {
		r.resource = k.s.ledger[before].Resource
	}
	return told
}

// repeat answers a key that is remembered.
func (k *keyed) repeat(c *call, r *remembered, prepare func() endpoint) answer {
	if k.mismatch != nil {
		if a := k.mismatch(c, r); a != nil {
			return *a
		}
	}
	switch {
	case k.busy != nil && c.at.Before(r.busyUntil):
		return k.busy(c, r)
	case k.busy != nil && c.plan.inFlight > 0:
		r.busyUntil = c.at.Add(c.plan.inFlight)
		return k.busy(c, r)
	case r.kept == nil:
		e := prepare()
		if e.bad != nil {
			return *e.bad
		}
		return k.first(c, r, e)
	case k.again != nil:
		return k.again(c, r)
	}
	return r.kept.copy()
}

// execute runs the endpoint. It returns what the client is told and, where the
// endpoint came to its end, what is true.
func (k *keyed) execute(c *call, e endpoint) (told answer, truth *answer) {
	if c.plan.noEffect {
		return k.failure(c), nil
	}
	a := e.run(c)
	if c.plan.saveErr != 0 {
		return k.failure(c), &a
	}
	return a, &a
}

// replay returns what was kept, marked with a header as a stored answer.
func (r *remembered) replay(marker, value string) answer {
	a := r.kept.copy()
	a.header.Set(marker, value)
	a.replayed = true
	return a
}

// copy returns an answer whose header can be changed.
func (a answer) copy() answer {
	a.header = a.header.Clone()
	if a.header == nil {
		a.header = http.Header{}
	}
	return a
}

package fakes

import (
	"net/http"
	"strings"
	"time"
)

// ietf is an API that follows the Idempotency-Key header draft to the letter: POST
// /payments with an amount, GET /payments/{id}, and the errors of the draft. What the
// draft leaves to each API is chosen here: which operation it is, its fields, and a key
// of 24 hours, of the whole account.
//
// Source, read 2026-11-29: draft-ietf-httpapi-idempotency-key-header-07; sections in
// brackets.
type ietf struct {
	s        *Server
	keys     keyed
	payments map[string]map[string]any // by id
}

// ietfRetention is this API's expiry policy; the draft wants it published [2.3].
const ietfRetention = 24 * time.Hour

// NewIETF returns a fake API that follows the Idempotency-Key header draft. A nil o is
// a provider without delays.
func NewIETF(o *Options) *Server {
	s := newServer(o)
	p := &ietf{s: s, payments: map[string]map[string]any{}}
	p.keys = keyed{
		s: s, retention: ietfRetention,
		keeps:    keepResults, // success or error [2.6]
		again:    func(_ *call, r *remembered) answer { return r.stored() },
		mismatch: p.mismatch, busy: p.busy, failure: p.failure,
	}
	s.provider = p
	return s
}

func (p *ietf) identify(c *call) {
	c.key, _ = ietfKey(c.header)
	in, _ := parseJSON(c.body)
	c.print = fingerprint(c, in)
}

// ietfKey reads the key: one header, an Item whose value is a String [2.1]. That is
// printable ASCII between quotes, where a backslash stands before a quote or a
// backslash and before nothing else. RFC 8941, sections 3.3.3 and 4.2.5.
func ietfKey(h http.Header) (key string, ok bool) {
	values := h.Values("Idempotency-Key")
	if len(values) != 1 || len(values[0]) < 2 || !strings.HasPrefix(values[0], `"`) || !strings.HasSuffix(values[0], `"`) {
		return "", false
	}
	in := values[0][1 : len(values[0])-1]
	var out []byte
	for i := 0; i < len(in); i++ {
		switch {
		case in[i] == '\\':
			if i++; i == len(in) || in[i] != '"' && in[i] != '\\' {
				return "", false
			}
		case in[i] == '"', in[i] < ' ', in[i] > '~':
			return "", false
		}
		out = append(out, in[i])
	}
	return string(out), len(out) > 0
}

func (p *ietf) handle(c *call) answer {
	switch {
	case c.header.Get("Authorization") == "":
		return problem(http.StatusUnauthorized, "Credentials are missing")
	case c.method == http.MethodPost && c.path == "/payments":
		return p.create(c)
	case c.method == http.MethodGet && strings.HasPrefix(c.path, "/payments/"):
		if r := p.payments[strings.TrimPrefix(c.path, "/payments/")]; r != nil {
			return jsonAnswer(http.StatusOK, r)
		}
	}
	return problem(http.StatusNotFound, "There is no such resource")
}

// create is the operation that is documented to require the header [2.7].
func (p *ietf) create(c *call) answer {
	if len(c.header.Values("Idempotency-Key")) == 0 {
		return problem(http.StatusBadRequest, "Idempotency-Key is missing")
	}
	if c.key == "" {
		return problem(http.StatusBadRequest, "Idempotency-Key is not a string")
	}
	return p.keys.write(c, c.key, func() endpoint {
		in, err := parseJSON(c.body)
		amount, ok := in.int64("amount")
		if err != nil || !ok || amount < 1 {
			return invalid(problem(http.StatusBadRequest, "The amount is not a whole number above 0"))
		}
		return endpoint{run: func(c *call) answer { return p.pay(c, amount, in) }}
	})
}

func (p *ietf) pay(c *call, amount int64, in params) answer {
	id := p.s.newID("pay", 16)
	data := map[string]any{"id": id, "amount": amount, "status": "created"}
	for _, name := range []string{"currency", "reference"} {
		if v, ok := in[name]; ok {
			data[name] = clone(v)
		}
	}
	p.payments[id] = data
	p.s.record(c, Effect{Kind: "payment", Action: "create", Resource: id, Amount: amount, Currency: strings.ToLower(in.str("currency"))})
	return jsonAnswer(http.StatusCreated, data)
}

// stored returns what was kept, which nothing marks as such.
func (r *remembered) stored() answer {
	a := r.kept.copy()
	a.replayed = true
	return a
}

// mismatch is the answer to a key with another payload [2.7].
func (p *ietf) mismatch(c *call, r *remembered) *answer {
	if c.print == r.print {
		return nil
	}
	a := problem(http.StatusUnprocessableEntity, "Idempotency-Key is already used")
	return &a
}

// busy is the answer while the first request is being processed [2.7].
func (p *ietf) busy(*call, *remembered) answer {
	return problem(http.StatusConflict, "A request is outstanding for this Idempotency-Key")
}

func (p *ietf) failure(c *call) answer {
	return problem(c.plan.saveErr, "An unexpected error occurred")
}

// throttled and unavailable are left to each API [2.7].
func (p *ietf) throttled(*call) answer {
	return problem(http.StatusTooManyRequests, "Too many requests")
}

func (p *ietf) unavailable(*call) answer {
	return problem(http.StatusServiceUnavailable, "Service unavailable")
}

// finish has nothing to add: the draft has no header of its own in answers.
func (p *ietf) finish(*call, *answer) {}

func (p *ietf) setState(id, state string) bool {
	r := p.payments[id]
	if r != nil {
		r["status"] = state
	}
	return r != nil
}

// problem is an error in the form of the draft's examples [2.7]: RFC 9457.
func problem(status int, title string) answer {
	a := jsonAnswer(status, map[string]any{
		"type": "https://developer.example.com/idempotency", "title": title, "detail": title + ".",
	})
	a.header.Set("Content-Type", "application/problem+json")
	return a
}

var _ provider = (*ietf)(nil)

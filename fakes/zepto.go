package fakes

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// zepto is Zepto as its documents describe it: the core API with a key of 24
// hours, and PayTo with a uid that is unique for ever.
//
// Sources, read 2026-11-29: zeptofs/api-documentation at b31375b (2026-01-21),
// source/guides/zepto-api.md ("guide") and source/openapi3/split.yaml ("spec");
// for PayTo the OpenAPI description 20260101 of docs.zeptopayments.com/reference,
// as quoted by api-evangelist/zepto-payments ("PayTo spec").
type zepto struct {
	s         *Server
	resources []*zeptoResource
	byRef     map[string]*zeptoResource
	counters  map[string]int64
	keys      keyed
	payto     map[string]*paytoResource // by kind and uid
	paytoList []*paytoResource
}

// zeptoResource is one resource of the core API.
type zeptoResource struct {
	kind, ref string
	created   time.Time
	deleted   bool
	data      map[string]any
}

// NewZepto returns a fake Zepto. A nil o is a provider without delays.
func NewZepto(o *Options) *Server {
	s := newServer(o)
	p := &zepto{s: s, byRef: map[string]*zeptoResource{}, counters: map[string]int64{}, payto: map[string]*paytoResource{}}
	p.keys = p.keyLayer()
	s.provider = p
	return s
}

func (p *zepto) identify(c *call) {
	c.key = c.header.Get("Idempotency-Key")
	in, err := parseJSON(c.body)
	if strings.HasPrefix(c.path, "/payto/") {
		c.key = ""
		if err == nil {
			c.key = in.str("uid")
		}
	}
	c.print = fingerprint(c, in)
}

func (p *zepto) handle(c *call) answer {
	if c.header.Get("Authorization") == "" {
		// PayTo spec, 401; the core guide says that authentication has this shape too.
		return zeptoError(http.StatusUnauthorized, "", "Unauthorised access token",
			"Access token is expired or not valid", nil)
	}
	seg := strings.Split(strings.Trim(c.path, "/"), "/")
	if seg[0] == "payto" {
		return p.handlePayTo(c, seg[1:])
	}
	switch c.method {
	case http.MethodGet, http.MethodHead:
		return p.read(c, seg)
	case http.MethodPost:
		return p.post(c, seg)
	case http.MethodDelete:
		return p.remove(c, seg)
	}
	return zeptoText(http.StatusNotFound, "Not found")
}

// finish has nothing to add: no response header of every answer is documented.
func (p *zepto) finish(*call, *answer) {}

// throttled: rate limits are not documented, so this is the least that HTTP says.
func (p *zepto) throttled(*call) answer {
	return zeptoText(http.StatusTooManyRequests, "Too many requests")
}

func (p *zepto) unavailable(*call) answer {
	return zeptoText(http.StatusServiceUnavailable, "Service unavailable")
}

func (p *zepto) setState(id, state string) bool {
	for _, kind := range []string{"payments", "agreements", "refunds"} {
		if r := p.payto[kind+" "+id]; r != nil {
			r.set(state)
			return true
		}
	}
	r := p.byRef[id]
	if r == nil {
		return false
	}
	r.data["status"] = state
	if payouts, ok := r.data["payouts"].([]any); ok {
		delete(r.data, "status") // a payment has no status, its payouts have
		for _, po := range payouts {
			po.(map[string]any)["status"] = state
		}
	}
	return true
}

// ref returns the next reference of a kind: PB.1, PB.2, …; the examples of the
// spec count in letters and digits.
func (p *zepto) ref(prefix string) string {
	p.counters[prefix]++
	return prefix + "." + strconv.FormatInt(p.counters[prefix], 36)
}

// uuid returns a random version 4 UUID.
func (p *zepto) uuid() string { return p.s.newUUID() }

// add stores a resource under its reference.
func (p *zepto) add(c *call, kind, ref string, data map[string]any) *zeptoResource {
	r := &zeptoResource{kind: kind, ref: ref, created: c.at, data: data}
	p.resources = append(p.resources, r)
	p.byRef[ref] = r
	return r
}

// visible returns the resources of a kind, newest first.
func (p *zepto) visible(kind string) []*zeptoResource {
	var out []*zeptoResource
	for _, r := range slices.Backward(p.resources) {
		if r.kind == kind && !r.deleted {
			out = append(out, r)
		}
	}
	return out
}

// zeptoError is the detailed error shape: for authentication, request types and
// idempotency, and all of PayTo. Guide, "Error responses"; PayTo spec.
func zeptoError(status int, code, title, detail string, meta map[string]any) answer {
	e := map[string]any{"title": title, "detail": detail}
	if code != "" {
		e["code"] = code
	} else {
		e["links"] = map[string]any{"about": "https://docs.zepto.money/"}
	}
	if meta != nil {
		e["meta"] = meta
	}
	return jsonAnswer(status, map[string]any{"errors": []any{e}})
}

// zeptoText is the other shape: one sentence, for everything about a resource.
func zeptoText(status int, sentence string) answer {
	return jsonAnswer(status, map[string]any{"errors": sentence})
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

var _ provider = (*zepto)(nil)

package fakes

import (
	"net/http"
	"strings"
	"time"
)

// stripe is Stripe as its documents describe it. API v1 and API v2 have different
// contracts, told apart by the path.
//
// Sources, as of 2026-11-29; D is the provider's document, S the source of its SDKs
// (stripe-go v76.25.0, whose comments quote the API reference, where nothing else is
// said), T a test or report in public:
//
//	D docs.stripe.com/api/idempotent_requests   keys, replay, v2
//	D docs.stripe.com/error-low-level           what is saved, 24 hours, 30 days
//	D docs.stripe.com/error-codes, /api/errors  codes and error shape
//	D docs.stripe.com/api/request_ids           Request-Id
//	D docs.stripe.com/api/pagination            has_more, starting_after, limit 1 to 100
//	D docs.stripe.com/api/events                events, 30 days
//	D docs.stripe.com/search                    search lag
//	D docs.stripe.com/rate-limits               429
type stripe struct {
	s       *Server
	objects []*stripeObject          // in the order of creation
	byID    map[string]*stripeObject // ids are unique
	events  []*stripeObject
	v1, v2  keyed
}

// stripeObject is one object of one account.
type stripeObject struct {
	id, collection, account string
	created, changed        time.Time
	deleted                 bool
	data                    map[string]any
}

// NewStripe returns a fake Stripe. A nil o is a provider without delays.
func NewStripe(o *Options) *Server {
	s := newServer(o)
	p := &stripe{s: s, byID: map[string]*stripeObject{}}
	p.v1, p.v2 = p.keysV1(), p.keysV2()
	s.provider = p
	return s
}

// stripeRoute is a path split into its parts: /v1/collection/id/action.
type stripeRoute struct {
	v2                     bool
	collection, id, action string
}

// stripeGroups are the first segments of v1 paths whose collections have two.
var stripeGroups = map[string]bool{
	"apps": true, "billing": true, "billing_portal": true, "checkout": true, "climate": true,
	"entitlements": true, "financial_connections": true, "forwarding": true, "identity": true,
	"issuing": true, "radar": true, "reporting": true, "sigma": true, "tax": true,
	"terminal": true, "treasury": true,
}

func parseStripeRoute(path string) (stripeRoute, bool) {
	seg := strings.Split(strings.Trim(path, "/"), "/")
	if len(seg) < 2 || seg[0] != "v1" && seg[0] != "v2" {
		return stripeRoute{}, false
	}
	r := stripeRoute{v2: seg[0] == "v2"}
	seg = seg[1:]
	r.collection, seg = seg[0], seg[1:]
	if (r.v2 || stripeGroups[r.collection]) && len(seg) > 0 {
		r.collection += "/" + seg[0]
		seg = seg[1:]
	}
	if len(seg) > 0 {
		r.id = seg[0]
		r.action = strings.Join(seg[1:], "/")
	}
	return r, true
}

func (p *stripe) identify(c *call) {
	c.key = c.header.Get("Idempotency-Key")
	in, _ := p.params(c)
	c.print = fingerprint(c, in)
}

func (p *stripe) params(c *call) (params, error) {
	if strings.HasPrefix(c.path, "/v2/") {
		if len(c.body) == 0 {
			return params{}, nil
		}
		return parseJSON(c.body)
	}
	return parseForm(string(c.body))
}

func (p *stripe) handle(c *call) answer {
	// A 401 without an API key comes before the idempotency layer: not saved.
	// D docs.stripe.com/error-low-level, 2026-11-29.
	if c.header.Get("Authorization") == "" {
		return stripeError(http.StatusUnauthorized, "invalid_request_error", "", "",
			"You did not provide an API key. You need to provide your API key in the Authorization header.")
	}
	r, ok := parseStripeRoute(c.path)
	if !ok {
		return unrecognized(c)
	}
	switch c.method {
	case http.MethodGet, http.MethodHead:
		return p.read(c, r)
	case http.MethodPost, http.MethodDelete:
		return p.write(c, r)
	}
	return unrecognized(c)
}

// finish adds what every answer carries: Request-Id, and the key as an echo, which
// is no mark of replay. D docs.stripe.com/api/request_ids, 2026-11-29.
func (p *stripe) finish(c *call, a *answer) {
	a.header.Set("Request-Id", c.requestID)
	if c.key != "" && isWrite(c.method) {
		a.header.Set("Idempotency-Key", c.key)
	}
}

// throttled is the rate limiter, which runs before the idempotency layer.
// D docs.stripe.com/rate-limits and /error-low-level, 2026-11-29. In v2 the type
// itself says it: S stripe-python _api_requestor.py, 2026-11-29.
func (p *stripe) throttled(c *call) answer {
	kind := "invalid_request_error"
	if strings.HasPrefix(c.path, "/v2/") {
		kind = "rate_limit"
	}
	a := stripeError(http.StatusTooManyRequests, kind, "rate_limit", "", "Too many requests.")
	a.header.Set("Stripe-Rate-Limited-Reason", "global-rate")
	return a
}

func (p *stripe) unavailable(*call) answer {
	return stripeError(http.StatusServiceUnavailable, "api_error", "", "", "The service is unavailable.")
}

func (p *stripe) setState(id, state string) bool {
	o := p.byID[id]
	if o == nil || o.deleted {
		return false
	}
	o.data["status"], o.changed = state, p.s.now()
	return true
}

// add stores a new object. created is a number of seconds in v1, text in v2.
func (p *stripe) add(c *call, collection, prefix, object string, data map[string]any) *stripeObject {
	o := &stripeObject{
		id: p.s.newID(prefix, 24), collection: collection, account: account(c),
		created: c.at, changed: c.at, data: data,
	}
	data["id"], data["object"], data["livemode"] = o.id, object, live(c)
	if strings.HasPrefix(object, "v2.") {
		data["created"] = c.at.UTC().Format("2006-01-02T15:04:05.000Z")
	} else {
		data["created"] = c.at.Unix()
		if data["metadata"] == nil {
			data["metadata"] = map[string]any{}
		}
	}
	p.objects = append(p.objects, o)
	p.byID[o.id] = o
	return o
}

// find returns a live object of the caller's account, or nil.
func (p *stripe) find(c *call, collection, id string) *stripeObject {
	o := p.byID[id]
	if o == nil || o.deleted || o.collection != collection || o.account != account(c) {
		return nil
	}
	return o
}

// account is the connected account that the call acts for. Keys and objects are
// of one account. T stripe/stripe-ruby#598; D docs.stripe.com/api/connected-accounts,
// 2026-11-29.
func account(c *call) string {
	if a := c.header.Get("Stripe-Account"); a != "" {
		return a
	}
	return c.header.Get("Stripe-Context")
}

func live(c *call) bool {
	return strings.HasPrefix(strings.TrimPrefix(c.header.Get("Authorization"), "Bearer "), "sk_live_")
}

// stripeError is the error object of D docs.stripe.com/api/errors, 2026-11-29.
func stripeError(status int, kind, code, param, message string) answer {
	return stripeErrorWith(status, kind, code, param, message, nil)
}

func stripeErrorWith(status int, kind, code, param, message string, more map[string]any) answer {
	e := map[string]any{"type": kind, "message": message}
	if code != "" {
		e["code"] = code
		e["doc_url"] = "https://stripe.com/docs/error-codes/" + strings.ReplaceAll(code, "_", "-")
	}
	if param != "" {
		e["param"] = param
	}
	for k, v := range more {
		e[k] = v
	}
	return jsonAnswer(status, map[string]any{"error": e})
}

func unrecognized(c *call) answer {
	return stripeError(http.StatusNotFound, "invalid_request_error", "", "",
		"Unrecognized request URL ("+c.method+": "+c.path+").")
}

func missing(status int, what, id, param string) answer {
	return stripeError(status, "invalid_request_error", "resource_missing", param,
		"No such "+what+": '"+id+"'")
}

var _ provider = (*stripe)(nil)

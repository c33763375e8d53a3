package fakes

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mollie is Mollie's API v2 as its documents describe it: every POST takes a key, for
// one hour, and a repeat gets the first answer, marked.
//
// Sources, read 2026-11-29: mollie/api-documentation at 2024-03-04,
// source/overview/api-idempotency.rst ("guide") and handling-errors.rst ("errors");
// mollie/openapi at 2026-08-21, specs.yaml ("spec").
type mollie struct {
	s    *Server
	keys keyed
	made []*mollieResource // in order of creation
}

type mollieResource struct {
	kind, parent string // parent is the payment or customer in the path
	created      time.Time
	data         map[string]any
}

// mollieKinds are the resources that a POST makes, by its path without references:
// their word, the prefix of their ids, where they are listed, their first state. Spec,
// paths and examples.
var mollieKinds = map[string]struct{ name, prefix, parent, state string }{
	"payments":                  {"payment", "tr", "", "open"},
	"customers/*/payments":      {"payment", "tr", "customerId", "open"},
	"payments/*/refunds":        {"refund", "re", "paymentId", "pending"},
	"payments/*/captures":       {"capture", "cpt", "paymentId", "pending"},
	"customers/*/subscriptions": {"subscription", "sub", "customerId", "active"},
	"connect/balance-transfers": {"connect-balance-transfer", "cbtr", "", "created"},
	"payouts":                   {"payout", "payout", "", "requested"},
}

// NewMollie returns a fake Mollie. A nil o is a provider without delays; a
// VisibilityDelay is that of its lists. Payments and customers that it did not make
// itself exist, if their id has the right prefix: they come about outside of the API.
func NewMollie(o *Options) *Server {
	s := newServer(o)
	p := &mollie{s: s}
	// That failures are cached too is not documented. What is known from the field is
	// a 500 for a payment that exists: https://github.com/mollie/mollie-api-php/issues/642
	p.keys = keyed{
		s: s, retention: time.Hour, keeps: keepEffects,
		mismatch: func(c *call, r *remembered) *answer {
			if r.path == c.path && r.print == c.print {
				return nil
			}
			a := mollieError(http.StatusBadRequest, "The idempotency key was used with another endpoint or other parameters", "")
			return &a
		},
		busy: func(*call, *remembered) answer {
			return mollieError(http.StatusConflict, "The first request with this idempotency key is still being executed", "")
		},
		again:   func(_ *call, r *remembered) answer { return r.replay("Idempotent-Replayed", "true") },
		failure: func(c *call) answer { return mollieError(c.plan.saveErr, "An internal server error occurred", "") },
	}
	s.provider = p
	return s
}

// identify: the key of anything but a POST is ignored. Guide, "Using an idempotency key".
func (p *mollie) identify(c *call) {
	in, err := p.params(c)
	c.print = fingerprint(c, in)
	if err == nil && c.method == http.MethodPost {
		c.key = c.header.Get("Idempotency-Key")
	}
}

// params reads a body in JSON or in a form; the examples of the spec use both.
func (p *mollie) params(c *call) (params, error) {
	switch {
	case len(c.body) == 0:
		return params{}, nil
	case strings.HasPrefix(c.header.Get("Content-Type"), "application/x-www-form-urlencoded"):
		return parseForm(string(c.body))
	}
	return parseJSON(c.body)
}

func (p *mollie) handle(c *call) answer {
	seg := strings.Split(strings.Trim(strings.TrimPrefix(c.path, "/v2"), "/"), "/")
	in, err := p.params(c)
	switch {
	case c.header.Get("Authorization") == "":
		return mollieError(http.StatusUnauthorized, "Missing authentication, or failed to authenticate", "")
	case !strings.HasPrefix(c.path, "/v2/"):
		return mollieError(http.StatusNotFound, "No such endpoint", "")
	case err != nil:
		// "There might be an error in your syntax." Errors, status codes.
		return mollieError(http.StatusBadRequest, "The request body could not be read", "")
	case c.method == http.MethodGet:
		return p.read(c, seg)
	case c.method == http.MethodDelete:
		return p.keys.write(c, "", func() endpoint { return p.cancel(seg) })
	case c.method == http.MethodPost:
		return p.keys.write(c, c.key, func() endpoint { return p.post(seg, in) })
	}
	return mollieError(http.StatusMethodNotAllowed, "The method is not applicable on this URL", "")
}

// post makes what its path says.
func (p *mollie) post(seg []string, in params) endpoint {
	path, parent := strings.Join(seg, "/"), ""
	if len(seg) == 3 {
		path, parent = seg[0]+"/*/"+seg[2], seg[1]
		if !strings.HasPrefix(parent, map[string]string{"payments": "tr_", "customers": "cst_"}[seg[0]]) {
			return invalid(mollieError(http.StatusNotFound, "No entity exists with this token", ""))
		}
	}
	if path == "payments/*/release-authorization" {
		// 202 without a body. Spec.
		return endpoint{run: func(c *call) answer {
			p.s.record(c, Effect{Kind: "payment", Action: "release", Resource: parent})
			return answer{status: http.StatusAccepted}
		}}
	}
	kind, known := mollieKinds[path]
	amount, valid := mollieAmount(in)
	switch {
	case !known:
		return invalid(mollieError(http.StatusNotFound, "No such endpoint", ""))
	case !valid:
		return invalid(mollieError(http.StatusUnprocessableEntity, "The amount contains an invalid value", "amount"))
	case kind.name == "payment" && in.str("description") == "":
		return invalid(mollieError(http.StatusUnprocessableEntity, "The 'description' field is missing", "description"))
	}
	return endpoint{run: func(c *call) answer {
		if kind.name == "refund" && p.refunded(c, parent, amount) {
			// The same amount of the same payment within the hour. Spec, 409 of POST
			// refunds; the hour: https://github.com/mollie/mollie-api-node/issues/256
			return mollieError(http.StatusConflict, "A duplicate refund has been detected", "")
		}
		data := clone(map[string]any(in)).(map[string]any)
		state := kind.state
		switch {
		case in.str("mandateId") == "mdt_declined": // which mandates fail is not documented
			state = "failed"
			data["statusReason"] = map[string]any{"code": "insufficient_funds"}
		case in.str("sequenceType") == "recurring":
			state = "paid" // executed at once. Guide, "Relevance for the Mollie API"
		}
		id := p.s.newID(kind.prefix, 10)
		data["resource"], data["id"], data["mode"], data["status"] = kind.name, id, "test", state
		data["createdAt"] = c.at.UTC().Format(time.RFC3339)
		data["_links"] = map[string]any{"self": mollieLink(c.base + c.path + "/" + id)}
		if kind.parent != "" {
			data[kind.parent] = parent
		}
		p.made = append(p.made, &mollieResource{kind.name, parent, c.at, data})
		if state != "failed" {
			p.s.record(c, Effect{Kind: kind.name, Action: "create", Resource: id, Amount: amount,
				Currency: strings.ToLower(in.sub("amount").str("currency")), Metadata: in.metadata()})
		}
		return mollieAnswer(http.StatusCreated, data)
	}}
}

func (p *mollie) refunded(c *call, payment string, amount int64) bool {
	return slices.ContainsFunc(p.made, func(r *mollieResource) bool {
		was, _ := mollieAmount(r.data)
		return r.kind == "refund" && r.parent == payment && was == amount && c.at.Sub(r.created) < time.Hour
	})
}

// mollieAmount reads the smallest unit of {"currency":"EUR","value":"25.00"}: text with
// two decimals, or none in a currency without. Spec, amount.
func mollieAmount(in params) (int64, bool) {
	amount := in.sub("amount")
	whole, cents, dotted := strings.Cut(amount.str("value"), ".")
	if len(amount.str("currency")) != 3 || dotted != (amount.str("currency") != "JPY") || dotted && len(cents) != 2 {
		return 0, false
	}
	n, err := strconv.ParseInt(whole+cents, 10, 64)
	return n, err == nil && n > 0
}

// mollieTooLate is what a DELETE gets when the state of its resource forbids it; 404
// for the others. Spec.
var mollieTooLate = map[string]int{"payments": http.StatusUnprocessableEntity, "payouts": http.StatusConflict}

// cancel is DELETE: 200 and what was cancelled, or 204 for a refund. Spec. An id that
// ends with _1 names something that can be cancelled and came about elsewhere.
func (p *mollie) cancel(seg []string) endpoint {
	plural, id := seg[max(0, len(seg)-2)], seg[len(seg)-1]
	r := p.find(id)
	if r == nil && strings.HasSuffix(id, "_1") {
		kind := strings.TrimSuffix(plural, "s")
		r = &mollieResource{kind: kind, data: map[string]any{"resource": kind, "id": id, "status": "pending"}}
		p.made = append(p.made, r)
	}
	switch {
	case r == nil:
		return invalid(mollieError(http.StatusNotFound, "No entity exists with this token", ""))
	case !slices.Contains([]any{"open", "pending", "active", "requested"}, r.data["status"]):
		return invalid(mollieError(cmp.Or(mollieTooLate[plural], http.StatusNotFound), "It cannot be canceled in its current state", ""))
	}
	return endpoint{run: func(c *call) answer {
		r.data["status"] = "canceled"
		p.s.record(c, Effect{Kind: r.kind, Action: "cancel", Resource: id})
		if r.kind == "refund" {
			return answer{status: http.StatusNoContent}
		}
		return mollieAnswer(http.StatusOK, r.data)
	}}
}

func (p *mollie) find(id string) *mollieResource {
	for _, r := range p.made {
		if r.data["id"] == id {
			return r
		}
	}
	return nil
}

// read is one resource, or a list: newest first, 50 or as many as limit says, at most
// 250, from an id on. Spec, list-limit and list-sort.
func (p *mollie) read(c *call, seg []string) answer {
	path, parent := strings.Join(seg, "/"), ""
	if len(seg) > 2 {
		path, parent = seg[0]+"/*/"+seg[2], seg[1]
	}
	kind, listed := mollieKinds[path]
	if !listed || len(seg) == 4 || len(seg) == 2 && path != "connect/balance-transfers" {
		if r := p.find(seg[len(seg)-1]); r != nil {
			return mollieAnswer(http.StatusOK, r.data)
		}
		return mollieError(http.StatusNotFound, "No entity exists with this token", "")
	}
	limit, err := strconv.Atoi(c.query.Get("limit"))
	if err != nil || limit < 1 || limit > 250 {
		limit = 50
	}
	from, found := c.query.Get("from"), c.query.Get("from") == ""
	items, links := []any{}, map[string]any{"self": mollieLink(c.base + c.path), "previous": nil, "next": nil}
	for _, r := range slices.Backward(p.made) {
		if r.kind != kind.name || parent != "" && r.parent != parent || !p.s.visible(c.at, r.created) {
			continue
		}
		found = found || r.data["id"] == from
		switch {
		case !found:
		case len(items) == limit:
			links["next"] = mollieLink(c.base + c.path + "?from=" + r.data["id"].(string) + "&limit=" + strconv.Itoa(limit))
			return mollieList(kind.name, items, links)
		default:
			items = append(items, r.data)
		}
	}
	if !found {
		return mollieError(http.StatusBadRequest, "Invalid cursor value", "from")
	}
	return mollieList(kind.name, items, links)
}

func mollieList(kind string, items []any, links map[string]any) answer {
	plural := strings.ReplaceAll(kind, "-", "_") + "s"
	return mollieAnswer(http.StatusOK, map[string]any{"count": len(items), "_embedded": map[string]any{plural: items}, "_links": links})
}

func mollieLink(href string) map[string]any {
	return map[string]any{"href": href, "type": "application/hal+json"}
}

func mollieAnswer(status int, v map[string]any) answer {
	a := jsonAnswer(status, v)
	a.header.Set("Content-Type", "application/hal+json")
	return a
}

// mollieError is the one shape of errors: the status again, its phrase, a sentence, and
// the field that is wrong. Spec, error-response.
func mollieError(status int, detail, field string) answer {
	e := map[string]any{"status": json.Number(strconv.Itoa(status)), "title": http.StatusText(status), "detail": detail,
		"_links": map[string]any{"documentation": map[string]any{"href": "https://docs.mollie.com/overview/handling-errors", "type": "text/html"}}}
	if field != "" {
		e["field"] = field
	}
	return mollieAnswer(status, e)
}

func (p *mollie) throttled(*call) answer {
	return mollieError(http.StatusTooManyRequests, "You have exceeded the rate limit", "")
}

func (p *mollie) unavailable(*call) answer {
	return mollieError(http.StatusServiceUnavailable, "The service is temporarily unavailable", "")
}

// finish has nothing to add: no response header of every answer is documented.
func (p *mollie) finish(*call, *answer) {}

func (p *mollie) setState(id, state string) bool {
	r := p.find(id)
	if r != nil {
		r.data["status"] = state
	}
	return r != nil
}

var _ provider = (*mollie)(nil)

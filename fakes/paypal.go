package fakes

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// paypal is PayPal as its documents describe it: Orders v2, Payments v2, Payouts v1 and
// the tokens of Vault v3. A repeat gets the latest status of the earlier request with
// the same PayPal-Request-Id, whatever it asks.
//
// Sources, read 2026-11-29: paypal/paypal-rest-api-specifications at ec4d8f3 (2024-02-03),
// openapi/ ("specs"); developer.paypal.com/reference/guidelines/idempotency ("guide").
type paypal struct {
	s                                *Server
	orders, payments, vault, batches keyed
	made                             map[string]map[string]any // resources by path
	invoices                         map[string]bool           // of payments and refunds
}

const (
	paypalOrders   = "/v2/checkout/orders"
	paypalAuths    = "/v2/payments/authorizations"
	paypalCaptures = "/v2/payments/captures"
	paypalRefunds  = "/v2/payments/refunds"
	paypalBatches  = "/v1/payments/payouts"
	paypalTokens   = "/v3/vault/payment-tokens"
)

// NewPayPal returns a fake PayPal. A nil o is a provider without delays. Orders,
// authorizations and captures that it did not make exist, and may be paid, captured and
// refunded: buyers and other programs make them.
func NewPayPal(o *Options) *Server {
	s := newServer(o)
	p := &paypal{s: s, made: map[string]map[string]any{}, invoices: map[string]bool{}}
	// Which errors are stored is not documented; the guide says that an ID shows what its
	// request came to, and that 5xx may be repeated. How long: specs, PayPal-Request-Id.
	layer := func(stored time.Duration, repeat int, status int, name, issue string) keyed {
		return keyed{s: s, retention: stored, keeps: keepEffects, failure: p.failure,
			busy:  func(*call, *remembered) answer { return paypalError(status, name, issue) },
			again: func(c *call, r *remembered) answer { return p.latest(c, r, repeat) },
		}
	}
	p.orders = layer(6*time.Hour, http.StatusOK, http.StatusUnprocessableEntity, "UNPROCESSABLE_ENTITY", "ORDER_COMPLETION_IN_PROGRESS")
	p.payments = layer(45*24*time.Hour, http.StatusCreated, http.StatusConflict, "RESOURCE_CONFLICT", "PREVIOUS_REQUEST_IN_PROGRESS")
	p.vault = layer(3*time.Hour, http.StatusOK, 0, "", "")
	p.vault.busy = nil
	// developer.paypal.com/api/payment-tokens/v3/errors/paypal_request_id_previously_used
	p.vault.mismatch = func(c *call, r *remembered) *answer {
		if r.print == c.print {
			return nil
		}
		a := paypalError(http.StatusUnprocessableEntity, "UNPROCESSABLE_ENTITY", "PAYPAL_REQUEST_ID_PREVIOUSLY_USED")
		return &a
	}
	// A used sender_batch_id is refused with a link to its batch. Specs, payouts.post.
	p.batches = keyed{s: s, retention: 30 * 24 * time.Hour, keeps: keepEffects, failure: p.failure,
		again: func(c *call, r *remembered) answer {
			return jsonAnswer(http.StatusBadRequest, map[string]any{
				"name": "USER_BUSINESS_ERROR", "message": "User business error.", "debug_id": c.requestID,
				"details": []any{map[string]any{"field": "SENDER_BATCH_ID", "location": "body", "issue": "Batch with given sender_batch_id already exists"}},
				"links":   []any{paypalLink(c, paypalBatches, r.resource)},
			})
		}}
	s.provider = p
	return s
}

func (p *paypal) identify(c *call) {
	in, err := parseJSON(c.body)
	c.key = c.header.Get("PayPal-Request-Id")
	if c.path == paypalBatches {
		c.key = ""
		if err == nil {
			c.key = in.sub("sender_batch_header").str("sender_batch_id")
		}
	}
	c.print = fingerprint(c, in)
}

var paypalPath = regexp.MustCompile(`^(/v2/checkout/orders|/v2/payments/(?:authorizations|captures|refunds)|/v1/payments/payouts|/v3/vault/payment-tokens)(?:/([A-Z0-9]+)(?:/([a-z]+))?)?$`)

func (p *paypal) handle(c *call) answer {
	part := paypalPath.FindStringSubmatch(c.path)
	in, err := parseJSON(c.body)
	if len(c.body) == 0 {
		in, err = params{}, nil
	}
	switch {
	case c.header.Get("Authorization") == "":
		return paypalError(http.StatusUnauthorized, "AUTHENTICATION_FAILURE", "")
	case part == nil:
		return paypalError(http.StatusNotFound, "RESOURCE_NOT_FOUND", "INVALID_RESOURCE_ID")
	case c.method == http.MethodGet && part[3] == "":
		if r := p.made[part[1]+"/"+part[2]]; r != nil {
			return jsonAnswer(http.StatusOK, r)
		}
		return paypalError(http.StatusNotFound, "RESOURCE_NOT_FOUND", "INVALID_RESOURCE_ID")
	case c.method != http.MethodPost:
		return paypalError(http.StatusMethodNotAllowed, "METHOD_NOT_SUPPORTED", "")
	case err != nil:
		return paypalError(http.StatusBadRequest, "INVALID_REQUEST", "MALFORMED_REQUEST_JSON")
	}
	prepare := func() endpoint { return p.prepare(c, part[1]+"|"+part[3], part[2], in) }
	switch {
	case part[1] == paypalBatches:
		return p.batches.write(c, c.key, prepare)
	case part[1] == paypalTokens:
		if c.key == "" {
			return paypalError(http.StatusBadRequest, "INVALID_REQUEST", "MISSING_REQUIRED_PARAMETER") // the code is not documented
		}
		return p.vault.write(c, c.key, prepare)
	case part[1] == paypalOrders:
		return p.orders.write(c, c.key, prepare)
	case part[3] == "void": // no header is in the specs
		return p.payments.write(c, "", prepare)
	}
	return p.payments.write(c, c.key, prepare)
}

// elsewhere returns a resource that was made, or came about outside of this fake.
func (p *paypal) elsewhere(path, id, state string) map[string]any {
	r := p.made[path+"/"+id]
	if r == nil {
		amount := map[string]any{"currency_code": "USD", "value": "25.00"}
		r = map[string]any{"id": id, "status": state, "amount": amount}
		if path == paypalOrders {
			r = map[string]any{"id": id, "status": state, "intent": "CAPTURE", "purchase_units": []any{map[string]any{"reference_id": "default", "amount": amount}}}
		}
		p.made[path+"/"+id] = r
	}
	return r
}

// latest is the latest status of what an earlier request made. Guide.
func (p *paypal) latest(c *call, r *remembered, status int) answer {
	for path, made := range p.made {
		if r.resource != "" && strings.HasSuffix(path, "/"+r.resource) {
			return p.show(c, status, made)
		}
	}
	return r.kept.copy()
}

// paypalWhole reports whether the whole resource is to be shown. Specs, Prefer.
func paypalWhole(c *call) bool { return c.header.Get("Prefer") == "return=representation" }

func (p *paypal) show(c *call, status int, data map[string]any) answer {
	if paypalWhole(c) {
		return jsonAnswer(status, data)
	}
	return jsonAnswer(status, map[string]any(carry(map[string]any{}, data, "id", "status", "links")))
}

// id returns an id in the alphabet of PayPal's.
func (p *paypal) id() string {
	return strings.ToUpper(strings.ReplaceAll(p.s.newID("", 17), "_", ""))
}

// paypalAmount reads {"amount":{"currency_code":"USD","value":"25.00"}}; Payouts have
// currency. Specs, money.
func paypalAmount(in params) (int64, string, bool) {
	amount := in.sub("amount")
	whole, cents, dotted := strings.Cut(amount.str("value"), ".")
	n, err := strconv.ParseInt(whole+cents, 10, 64)
	currency := strings.ToLower(amount.str("currency_code") + amount.str("currency"))
	return n, currency, err == nil && n > 0 && len(currency) == 3 && dotted && len(cents) == 2
}

func paypalLink(c *call, path, id string) map[string]any {
	return map[string]any{"rel": "self", "method": "GET", "href": c.base + path + "/" + id}
}

// paypalError is the shape of errors: a name, and issues. Specs, error.
func paypalError(status int, name, issue string) answer {
	e := map[string]any{"name": name, "message": fmt.Sprintf("It was answered with %d.", status), "debug_id": "b1d1f06c7246c", "links": []any{}}
	if issue != "" {
		e["details"] = []any{map[string]any{"issue": issue, "description": "See the documents."}}
	}
	return jsonAnswer(status, e)
}

func (p *paypal) failure(c *call) answer {
	return paypalError(c.plan.saveErr, "INTERNAL_SERVER_ERROR", "")
}

// throttled: developer.paypal.com/api/rate-limiting.
func (p *paypal) throttled(*call) answer {
	return paypalError(http.StatusTooManyRequests, "RATE_LIMIT_REACHED", "")
}

func (p *paypal) unavailable(*call) answer {
	return paypalError(http.StatusServiceUnavailable, "SERVICE_UNAVAILABLE", "")
}

func (p *paypal) finish(c *call, a *answer) { a.header.Set("Paypal-Debug-Id", c.requestID) }

func (p *paypal) setState(id, state string) bool {
	for path, r := range p.made {
		if !strings.HasSuffix(path, "/"+id) {
			continue
		}
		if head, ok := r["batch_header"].(map[string]any); ok {
			head["batch_status"] = state
		} else {
			r["status"] = state
		}
		return true
	}
	return false
}

var _ provider = (*paypal)(nil)

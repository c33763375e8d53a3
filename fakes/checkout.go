package fakes

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// checkout is Checkout.com as its documents describe it: a key of a day under which a
// 2xx is kept and nothing else, so that after an error the same key pays anew.
//
// Sources, read 2026-11-29: checkout.com/docs/developer-resources/api/idempotency
// ("guide"); support.checkout.com articles 24570669653010 and 26763450855186
// ("articles"); checkout/checkout-api-reference, nas_spec ("spec");
// checkout/checkout-sdk-go ("sdk"); checkout.com/docs/payments/manage-payments/
// get-a-list-of-payments ("list").
type checkout struct {
	s        *Server
	keys     keyed
	payments []*checkoutPayment // in the order of their requests
	byID     map[string]*checkoutPayment
}

type checkoutPayment struct {
	created time.Time
	data    map[string]any   // as a read shows it
	actions []checkoutAction // oldest first
}

type checkoutAction struct {
	created time.Time
	data    map[string]any
}

// NewCheckout returns a fake Checkout.com. A nil o is a provider without delays.
func NewCheckout(o *Options) *Server {
	s := newServer(o)
	p := &checkout{s: s, byID: map[string]*checkoutPayment{}}
	p.keys = keyed{
		s: s, retention: 24 * time.Hour, // guide
		// Articles: 409. The guide says 429 of it, too, as of a limit.
		busy:  func(*call, *remembered) answer { return bare(http.StatusConflict) },
		keeps: keepSuccesses, // guide: after a 4xx or 5xx the payment is attempted again
		again: func(_ *call, r *remembered) answer {
			a := r.kept.copy() // guide: the same status and body, and no mark
			a.replayed = true
			return a
		},
		failure: func(c *call) answer { return bare(c.plan.saveErr) },
	}
	s.provider = p
	return s
}

// bare is an answer without a body, as most errors are documented. Spec, paths.
func bare(status int) answer { return answer{status: status, header: http.Header{}} }

// checkoutRefusal is a ValidationError. Spec.
func checkoutRefusal(code string) endpoint {
	return invalid(jsonAnswer(http.StatusUnprocessableEntity, map[string]any{
		"request_id": "0HL80RJLS76I7", "error_type": "request_invalid", "error_codes": []any{code},
	}))
}

func (p *checkout) identify(c *call) {
	c.key = c.header.Get("Cko-Idempotency-Key")
	in, _ := parseJSON(c.body)
	c.print = fingerprint(c, in)
}

func (p *checkout) handle(c *call) answer {
	if c.header.Get("Authorization") == "" {
		return bare(http.StatusUnauthorized)
	}
	seg := strings.Split(strings.Trim(c.path, "/"), "/")
	switch c.method {
	case http.MethodGet:
		return p.read(c, seg)
	case http.MethodPost:
		in, err := parseJSON(c.body)
		if len(c.body) == 0 {
			in, err = params{}, nil // a capture of all
		}
		if err != nil {
			return jsonAnswer(http.StatusBadRequest, map[string]any{"request_id": c.requestID, "error_type": "request_malformed"}) // spec, Error
		}
		if prepare := p.route(seg, in); prepare != nil {
			return p.keys.write(c, c.key, prepare)
		}
	}
	return bare(http.StatusNotFound)
}

// checkoutActions are what a POST below a payment adds to its actions. Spec,
// PaymentAction.type.
var checkoutActions = map[string]string{
	"captures": "Capture", "refunds": "Refund", "voids": "Void", "cancellations": "Void", "authorizations": "Authorization",
}

// route returns what prepares a write, nil for a path that there is not. Guide, spec.
func (p *checkout) route(seg []string, in params) func() endpoint {
	switch {
	case len(seg) == 1 && seg[0] == "payments":
		return func() endpoint { return p.pay(in) }
	case len(seg) == 1 && seg[0] == "transfers":
		return func() endpoint { return p.transfer(in) }
	case len(seg) == 3 && seg[0] == "payments" && checkoutActions[seg[2]] != "":
		return func() endpoint { return p.act(in, seg[1], seg[2]) }
	}
	return nil
}

// read shows a payment, its actions, or the payments of a reference, newest first, 10
// of them or as many as the limit says, up to 100. List; sdk, GetPaymentActionsResponse.
func (p *checkout) read(c *call, seg []string) answer {
	switch known := p.byID[seg[len(seg)-1]]; {
	case len(seg) == 2 && seg[0] == "payments" && known != nil && known.data["status"] != nil:
		return jsonAnswer(http.StatusOK, known.data)
	case len(seg) == 3 && seg[2] == "actions" && p.byID[seg[1]] != nil:
		all := []any{}
		for _, a := range slices.Backward(p.byID[seg[1]].actions) {
			if p.s.visible(c.at, a.created) {
				all = append(all, a.data)
			}
		}
		return jsonAnswer(http.StatusOK, all)
	case len(seg) != 1 || seg[0] != "payments" || c.query.Get("reference") == "":
		return bare(http.StatusNotFound)
	}
	all := []any{}
	for _, x := range slices.Backward(p.payments) {
		if x.data["reference"] == c.query.Get("reference") && p.s.visible(c.at, x.created) {
			all = append(all, x.data)
		}
	}
	limit, skip := 10, 0
	if n, err := strconv.Atoi(c.query.Get("limit")); err == nil && n > 0 {
		limit = min(n, 100)
	}
	if n, err := strconv.Atoi(c.query.Get("skip")); err == nil && n > 0 {
		skip = min(n, len(all))
	}
	page := all[skip:min(skip+limit, len(all))]
	return jsonAnswer(http.StatusOK, map[string]any{"limit": limit, "skip": skip, "total_count": len(all), "data": page})
}

// finish adds what every answer carries. Spec, headers.
func (p *checkout) finish(c *call, a *answer) {
	a.header.Set("Cko-Request-Id", c.requestID)
	a.header.Set("Cko-Version", "1.0.0")
}

func (p *checkout) throttled(*call) answer   { return bare(http.StatusTooManyRequests) }
func (p *checkout) unavailable(*call) answer { return bare(http.StatusServiceUnavailable) }

func (p *checkout) setState(id, state string) bool {
	x := p.byID[id]
	if x == nil {
		return false
	}
	x.data["status"] = state
	return true
}

// add adds an action to a payment. Spec, PaymentAction.
func (x *checkoutPayment) add(c *call, id, kind string, amount any, in params, approved bool) {
	code := "10000"
	if !approved {
		code = "20005"
	}
	x.actions = append(x.actions, checkoutAction{c.at, carry(map[string]any{
		"id": id, "type": kind, "processed_on": stamp(c.at), "amount": amount, "approved": approved, "response_code": code,
	}, in, "reference", "metadata")})
}

// pay is POST /payments: 201 that says whether it was approved, or 202 where the payer
// has to act first. A source called src_declined is declined, which is this fake's own
// way to ask for it. Spec, PaymentResponse, PaymentAcceptedResponse.
func (p *checkout) pay(in params) endpoint {
	amount, ok := in.int64("amount")
	source := in.sub("source")
	switch {
	case source == nil && in.sub("destination") == nil:
		return checkoutRefusal("payment_source_required")
	case !ok || amount < 0:
		return checkoutRefusal("amount_invalid")
	case len(in.str("currency")) != 3:
		return checkoutRefusal("currency_invalid")
	}
	return endpoint{run: func(c *call) answer {
		id, action, approved := p.s.newID("pay", 26), p.s.newID("act", 26), source.str("id") != "src_declined"
		x := &checkoutPayment{created: c.at, data: carry(map[string]any{
			"id": id, "requested_on": stamp(c.at), "payment_type": "Regular", "approved": approved, "status": "Authorized",
		}, in, "source", "destination", "amount", "currency", "reference", "metadata")}
		if !approved {
			x.data["status"] = "Declined"
		}
		p.payments, p.byID[id] = append(p.payments, x), x
		x.add(c, action, "Authorization", in["amount"], in, approved)
		if approved {
			p.s.record(c, Effect{
				Kind: "payment", Action: "create", Resource: id, Amount: amount,
				Currency: strings.ToLower(in.str("currency")), Metadata: in.metadata(),
			})
		}
		links := map[string]any{"self": map[string]any{"href": c.base + "/payments/" + id}}
		if in.sub("3ds")["enabled"] == true {
			x.data["status"] = "Pending"
			links["redirect"] = map[string]any{"href": c.base + "/3ds/" + id}
			return jsonAnswer(http.StatusAccepted, carry(map[string]any{"id": id, "status": "Pending", "_links": links}, in, "reference"))
		}
		return jsonAnswer(http.StatusCreated, carry(map[string]any{
			"id": id, "action_id": action, "approved": approved, "status": x.data["status"],
			"response_code": x.actions[0].data["response_code"], "processed_on": stamp(c.at), "_links": links,
		}, in, "amount", "currency", "reference"))
	}}
}

// act is a POST below a payment: 202 with the id of the action, or for an authorisation
// 201 that says whether it was approved. Which payments exist is not checked, since many
// come about outside of a test. Spec, CaptureAcceptedResponse, AuthorizationResponse.
func (p *checkout) act(in params, payment, what string) endpoint {
	amount, ok := in.int64("amount")
	if in["amount"] != nil && (!ok || amount < 1) {
		return checkoutRefusal("amount_invalid")
	}
	return endpoint{run: func(c *call) answer {
		x := p.byID[payment]
		if x == nil {
			x = &checkoutPayment{data: map[string]any{}}
			p.byID[payment] = x
		}
		id := p.s.newID("act", 26)
		x.add(c, id, checkoutActions[what], in["amount"], in, true)
		p.s.record(c, Effect{Kind: "action", Action: strings.TrimSuffix(what, "s"), Resource: id, Amount: amount, Metadata: in.metadata()})
		if what == "authorizations" {
			return jsonAnswer(http.StatusCreated, carry(map[string]any{
				"action_id": id, "approved": true, "status": "Authorized", "response_code": "10000", "processed_on": stamp(c.at),
			}, in, "amount", "reference"))
		}
		return jsonAnswer(http.StatusAccepted, carry(map[string]any{
			"action_id": id, "_links": map[string]any{"payment": map[string]any{"href": c.base + "/payments/" + payment}},
		}, in, "reference"))
	}}
}

// transfer is POST /transfers: 201 with an id. Sdk, TransferResponse.
func (p *checkout) transfer(in params) endpoint {
	amount, ok := in.sub("source").int64("amount")
	if !ok || amount < 1 || in.sub("destination") == nil {
		return checkoutRefusal("amount_invalid")
	}
	return endpoint{run: func(c *call) answer {
		id := p.s.newID("tra", 26)
		p.s.record(c, Effect{Kind: "transfer", Action: "create", Resource: id, Amount: amount})
		return jsonAnswer(http.StatusCreated, map[string]any{"id": id, "status": "pending"})
	}}
}

var _ provider = (*checkout)(nil)

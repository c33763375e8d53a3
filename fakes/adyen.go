package fakes

import (
	"net/http"
	"strings"
	"time"
)

// adyen is Adyen's Checkout API as its documents describe it: a key of seven days, of
// a company account in one region, which is the host here.
//
// Sources, read 2026-11-29: docs.adyen.com/development-resources/api-idempotency
// ("guide"); Adyen/adyen-openapi, json/CheckoutService-v72.json ("spec");
// docs.adyen.com/errors ("errors").
type adyen struct {
	s         *Server
	keys      keyed
	resources map[string]map[string]any // what was shown, by its reference
	details   map[string]bool           // redirect results that were submitted
}

// NewAdyen returns a fake Adyen. A nil o is a provider without delays.
func NewAdyen(o *Options) *Server {
	s := newServer(o)
	p := &adyen{s: s, resources: map[string]map[string]any{}, details: map[string]bool{}}
	p.keys = keyed{
		s: s,
		// Guide: at least 7 days after the first submission.
		retention: 7 * 24 * time.Hour,
		busy: func(*call, *remembered) answer {
			return adyenTransient(adyenError(http.StatusUnprocessableEntity, "704", "validation", "request already processed or in progress"))
		},
		// Spec, AdditionalDataCommon.RequestedTestErrorResponseCode: an error after the
		// request reached the issuer is the key's final result; one before it is not,
		// and the next request with the key is the first.
		keeps: func(told answer, truth *answer) *answer {
			if truth == nil {
				return nil
			}
			return &told
		},
		again: func(_ *call, r *remembered) answer {
			a := r.kept.copy() // without a mark
			a.replayed = true
			return a
		},
		failure: func(c *call) answer {
			a := adyenError(c.plan.saveErr, "000", "internal", "Internal error")
			if c.plan.noEffect {
				a = adyenTransient(a)
			}
			return a
		},
	}
	s.provider = p
	return s
}

func (p *adyen) identify(c *call) {
	c.key = c.header.Get("Idempotency-Key")
	in, _ := parseJSON(c.body)
	c.print = fingerprint(c, in)
}

func (p *adyen) handle(c *call) answer {
	if c.header.Get("X-Api-Key") == "" && c.header.Get("Authorization") == "" {
		// Spec, the example of 401.
		return adyenError(http.StatusUnauthorized, "000", "security", "HTTP Status Response - Unauthorized")
	}
	path, ok := adyenPath(c.path)
	switch in, err := parseJSON(c.body); {
	case ok && c.method == http.MethodGet:
		return p.read(path)
	case !ok || c.method != http.MethodPost:
	case err != nil:
		// Spec, the example of 400.
		return adyenError(http.StatusBadRequest, "702", "validation", "Unexpected input")
	case len(c.key) > 64:
		// Guide: at most 64 characters. What more of them get is not documented.
		return adyenError(http.StatusUnprocessableEntity, "702", "validation", "The idempotency key is too long")
	default:
		if e := p.route(path, in); e != nil {
			scope := ""
			if c.key != "" {
				// Guide: not checked across regional endpoints.
				scope = c.base + " " + c.key
			}
			return p.keys.write(c, scope, e)
		}
	}
	return adyenError(http.StatusNotFound, "000", "validation", "HTTP Status Response - Not Found")
}

// adyenPath returns the segments behind the version, which has "checkout" before it
// at a live host. docs.adyen.com/development-resources/live-endpoints.
func adyenPath(path string) ([]string, bool) {
	seg := strings.Split(strings.Trim(path, "/"), "/")
	if seg[0] == "checkout" {
		seg = seg[1:]
	}
	if len(seg) < 2 || !strings.HasPrefix(seg[0], "v") || strings.Trim(seg[0][1:], "0123456789") != "" {
		return nil, false
	}
	return seg[1:], true
}

// route returns what prepares a write, nil for a path that there is not. Spec, paths.
// Which payments exist is not checked, since many come about outside of a test.
func (p *adyen) route(path []string, in params) func() endpoint {
	amounts := map[string]bool{"captures": true, "refunds": true, "amountUpdates": true, "cancels": false, "reversals": false}
	name := strings.Join(path, "/")
	switch {
	case name == "payments":
		return func() endpoint { return p.pay(in) }
	case name == "payments/details":
		return func() endpoint { return p.submit(in) }
	case name == "cancels":
		return func() endpoint { return p.modify(in, "paymentReference", in.str("paymentReference"), "cancel", false) }
	case name == "sessions", name == "paymentLinks":
		return func() endpoint { return p.open(in, name) }
	case len(path) == 3 && path[0] == "payments":
		if amount, ok := amounts[path[2]]; ok {
			return func() endpoint {
				return p.modify(in, "paymentPspReference", path[1], strings.TrimSuffix(path[2], "s"), amount)
			}
		}
	}
	return nil
}

// read shows a payment link or a session; there is no read of a payment. Spec, paths.
func (p *adyen) read(path []string) answer {
	if len(path) == 2 && (path[0] == "paymentLinks" || path[0] == "sessions") {
		if r := p.resources[path[1]]; r != nil {
			return jsonAnswer(http.StatusOK, clone(r).(map[string]any))
		}
	}
	return adyenError(http.StatusNotFound, "000", "validation", "HTTP Status Response - Not Found")
}

// finish repeats the key on every answer, the first one included. Spec, headers.
func (p *adyen) finish(c *call, a *answer) {
	if c.key != "" {
		a.header.Set("Idempotency-Key", c.key)
	}
}

// throttled: of a limit it is documented only that there is one, with errorCode
// 00_500, so the status is HTTP's. Errors, "Internal".
func (p *adyen) throttled(*call) answer {
	return jsonAnswer(http.StatusTooManyRequests, map[string]any{
		"type": "https://docs.adyen.com/errors/internal", "title": "Too many requests",
		"status": http.StatusTooManyRequests, "detail": "Too many requests", "errorCode": "00_500",
	})
}

// unavailable: the store of keys is out of reach. Guide, "Designing for resilience".
func (p *adyen) unavailable(*call) answer {
	return adyenTransient(adyenError(http.StatusServiceUnavailable, "703", "validation", "required resource temporarily unavailable"))
}

func (p *adyen) setState(id, state string) bool {
	r := p.resources[id]
	if r != nil {
		r["status"] = state
	}
	return r != nil
}

// reference returns a reference of 16 characters. Spec, pspReference.
func (p *adyen) reference() string {
	return strings.ToUpper(p.s.newID("", 16)[1:])
}

// effect stores what an answer shows and records what happened.
func (p *adyen) effect(c *call, in params, kind, action, id string, shown map[string]any) {
	p.resources[id] = shown
	amount, _ := in.sub("amount").int64("value")
	p.s.record(c, Effect{
		Kind: kind, Action: action, Resource: id, Amount: amount,
		Currency: strings.ToLower(in.sub("amount").str("currency")), Metadata: in.metadata(),
	})
}

// adyenRefused is the refusal of a request that misses something. Spec, the example of 422.
func adyenRefused() endpoint {
	return invalid(adyenError(http.StatusUnprocessableEntity, "14_030", "validation", "A required field is missing or invalid"))
}

// adyenAmount reports whether a request has an amount, of nothing or more.
func adyenAmount(in params) bool {
	n, ok := in.sub("amount").int64("value")
	return ok && n >= 0 && in.sub("amount").str("currency") != ""
}

// pay is POST /payments: 200 with a resultCode, a refusal too. A method that sends the
// shopper elsewhere has no pspReference yet. Spec, PaymentResponse; a test code for the
// acquirer's response is refused here. Spec, AdditionalDataCommon.
func (p *adyen) pay(in params) endpoint {
	if in.str("merchantAccount") == "" || in.str("reference") == "" || in.sub("paymentMethod") == nil || !adyenAmount(in) {
		return adyenRefused()
	}
	return endpoint{run: func(c *call) answer {
		id := p.reference()
		shown := map[string]any{"pspReference": id, "resultCode": "Authorised", "merchantReference": in.str("reference"), "amount": clone(in["amount"])}
		switch {
		case in.sub("additionalData").str("RequestedTestAcquirerResponseCode") != "":
			return jsonAnswer(http.StatusOK, carry(map[string]any{
				"pspReference": id, "resultCode": "Refused", "refusalReason": "Refused", "refusalReasonCode": "2",
			}, params(shown), "merchantReference"))
		case in.sub("paymentMethod").str("type") == "ideal":
			shown = map[string]any{"resultCode": "RedirectShopper", "action": map[string]any{
				"type": "redirect", "method": "GET", "paymentMethodType": "ideal", "url": c.base + "/redirect/" + id,
			}}
		}
		p.effect(c, in, "payment", "create", id, shown)
		return jsonAnswer(http.StatusOK, shown)
	}}
}

// submit is POST /payments/details. Details that were submitted before are refused
// with 704, whatever the key. Spec, PaymentDetailsResponse; odoo/odoo#238688.
func (p *adyen) submit(in params) endpoint {
	result := in.sub("details").str("redirectResult")
	switch {
	case result == "":
		return adyenRefused()
	case p.details[result]:
		return invalid(adyenError(http.StatusUnprocessableEntity, "704", "validation", "request already processed or in progress"))
	}
	return endpoint{run: func(c *call) answer {
		p.details[result] = true
		id := p.reference()
		shown := map[string]any{"pspReference": id, "resultCode": "Authorised"}
		p.effect(c, in, "payment", "details", id, shown)
		return jsonAnswer(http.StatusOK, shown)
	}}
}

// modify is a POST on a payment: 201, received; its result comes by webhook. Spec,
// PaymentCaptureResponse and its siblings.
func (p *adyen) modify(in params, field, of, action string, amount bool) endpoint {
	if in.str("merchantAccount") == "" || of == "" || amount && !adyenAmount(in) {
		return adyenRefused()
	}
	return endpoint{run: func(c *call) answer {
		id := p.reference()
		shown := carry(map[string]any{field: of, "pspReference": id, "status": "received"}, in, "merchantAccount", "reference", "amount")
		p.effect(c, in, "modification", action, id, shown)
		return jsonAnswer(http.StatusCreated, shown)
	}}
}

// open is POST /sessions or /paymentLinks: 201 with an id. Spec,
// CreateCheckoutSessionResponse, PaymentLinkResponse.
func (p *adyen) open(in params, kind string) endpoint {
	if in.str("merchantAccount") == "" || in.str("reference") == "" || !adyenAmount(in) {
		return adyenRefused()
	}
	return endpoint{run: func(c *call) answer {
		id := map[string]string{"sessions": "CS", "paymentLinks": "PL"}[kind] + p.reference()
		shown := carry(map[string]any{"id": id, "expiresAt": stamp(c.at.Add(24 * time.Hour))}, in, "merchantAccount", "reference", "amount", "returnUrl")
		if kind == "paymentLinks" {
			shown["status"], shown["url"] = "active", c.base+"/pay/"+id
		}
		p.effect(c, in, kind, "create", id, shown)
		return jsonAnswer(http.StatusCreated, shown)
	}}
}

// adyenError is the classic form of an error. Spec, ServiceError.
func adyenError(status int, code, kind, message string) answer {
	return jsonAnswer(status, map[string]any{"status": status, "errorCode": code, "message": message, "errorType": kind})
}

// adyenTransient marks an error that has no side effects, and after which the same key may
// be tried. Guide, "Transient errors".
func adyenTransient(a answer) answer {
	a.header.Set("transient-error", "true")
	return a
}

var _ provider = (*adyen)(nil)

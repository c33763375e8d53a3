package fakes

import (
	"net/http"
	"strconv"
	"strings"
)

// prepare validates a write and returns what it will execute.
func (p *stripe) prepare(c *call, r stripeRoute) endpoint {
	in, err := p.params(c)
	if err != nil {
		return invalid(stripeError(http.StatusBadRequest, "invalid_request_error", "", "",
			"Invalid request body: "+err.Error()))
	}
	var o *stripeObject
	if r.id != "" {
		if o = p.find(c, r.collection, r.id); o == nil {
			return invalid(missing(http.StatusNotFound, singular(r.collection), r.id, "id"))
		}
	}
	if c.method == http.MethodDelete {
		if o == nil || r.action != "" {
			return invalid(unrecognized(c))
		}
		return endpoint{run: func(c *call) answer { return p.remove(c, o) }}
	}
	if r.v2 {
		return p.prepareV2(r, o, in)
	}
	if e, ok := p.integers(in); !ok {
		return e
	}
	switch r.collection + " " + r.action {
	case "payment_intents ":
		if o == nil {
			return p.createIntent(in)
		}
	case "payment_intents confirm":
		return endpoint{run: func(c *call) answer { return p.confirm(c, o, in, "confirm") }}
	case "payment_intents capture":
		return endpoint{run: func(c *call) answer { return p.capture(c, o, in) }}
	case "payment_intents cancel":
		return endpoint{run: func(c *call) answer { return p.cancel(c, o, in) }}
	case "charges ":
		if o == nil {
			return p.createCharge(in)
		}
	case "refunds ":
		if o == nil {
			return p.createRefund(c, in)
		}
	case "invoices pay":
		return endpoint{run: func(c *call) answer { return p.payInvoice(c, o, in) }}
	}
	if o == nil {
		return p.create(r, in)
	}
	return endpoint{run: func(c *call) answer { return p.update(c, r, o, in) }}
}

// integers checks the amounts of a v1 request: whole numbers of the smallest unit.
// S error.go, 2026-11-29, has the code.
func (p *stripe) integers(in params) (endpoint, bool) {
	for name := range in {
		if !isAmount(name) {
			continue
		}
		if s, ok := in[name].(string); ok && s != "" {
			if n, ok := in.int64(name); !ok || n < 0 {
				return invalid(stripeError(http.StatusBadRequest, "invalid_request_error",
					"parameter_invalid_integer", name, "Invalid integer: "+s)), false
			}
		}
	}
	return endpoint{}, true
}

func isAmount(name string) bool {
	return name == "amount" || name == "amount_to_capture" || strings.HasSuffix(name, "_amount")
}

// required names the parameters without which a collection creates nothing.
// As stripe-go's parameters suggest; the fake asks for the least that makes sense.
var required = map[string][]string{
	"payment_intents": {"amount", "currency"},
	"charges":         {"amount", "currency"},
	"transfers":       {"currency", "destination"},
	"payouts":         {"amount", "currency"},
}

func lacks(collection string, in params) (answer, bool) {
	for _, name := range required[collection] {
		if in.str(name) == "" {
			return stripeError(http.StatusBadRequest, "invalid_request_error", "parameter_missing", name,
				"Missing required param: "+name+"."), true
		}
		if name == "amount" {
			if n, _ := in.int64(name); n < 1 {
				return stripeError(http.StatusBadRequest, "invalid_request_error",
					"parameter_invalid_integer", name, "This value must be greater than or equal to 1."), true
			}
		}
	}
	return answer{}, false
}

// create makes an object of any collection out of its parameters.
func (p *stripe) create(r stripeRoute, in params) endpoint {
	if a, bad := lacks(r.collection, in); bad {
		return invalid(a)
	}
	return endpoint{run: func(c *call) answer {
		data := fields(in)
		if state := firstState[r.collection]; state != "" {
			data["status"] = state
		}
		o := p.add(c, r.collection, prefix(r.collection), singular(r.collection), data)
		amount, _ := in.int64("amount")
		p.effect(c, o, "create", amount, in)
		p.emit(c, o, eventName(o)+".created")
		return jsonAnswer(http.StatusOK, o.data)
	}}
}

// update changes an object, or runs an action that the fake has no rules for.
func (p *stripe) update(c *call, r stripeRoute, o *stripeObject, in params) answer {
	action := r.action
	if action == "" {
		action = "update"
	}
	for k, v := range fields(in) {
		if k == "metadata" {
			if in["metadata"] == "" {
				o.data["metadata"] = map[string]any{}
			}
			merge(o, in.sub("metadata"))
			continue
		}
		o.data[k] = v
	}
	o.changed = c.at
	p.effect(c, o, action, 0, in)
	p.emit(c, o, eventName(o)+".updated")
	return jsonAnswer(http.StatusOK, o.data)
}

// merge adds metadata key by key; an empty value takes a key away, and an empty
// metadata takes all. S paymentintent.go, 2026-11-29.
func merge(o *stripeObject, m params) {
	have, _ := o.data["metadata"].(map[string]any)
	if have == nil {
		have = map[string]any{}
		o.data["metadata"] = have
	}
	for k, v := range m {
		if v == "" {
			delete(have, k)
			continue
		}
		have[k] = v
	}
}

func (p *stripe) remove(c *call, o *stripeObject) answer {
	o.deleted, o.changed = true, c.at
	p.effect(c, o, "delete", 0, nil)
	p.emit(c, o, eventName(o)+".deleted")
	return jsonAnswer(http.StatusOK, map[string]any{"id": o.id, "object": o.data["object"], "deleted": true})
}

// control parameters steer a request, or are the provider's to set: no field of the
// object comes from them.
var control = map[string]bool{
	"confirm": true, "expand": true, "off_session": true, "payment_method_data": true,
	"return_url": true, "error_on_requires_action": true, "use_stripe_sdk": true,
	"confirmation_token": true, "mandate_data": true, "amount_to_capture": true,
	"id": true, "object": true, "created": true, "livemode": true,
}

// fields turns parameters into an object's fields: amounts to numbers, booleans to
// booleans, metadata as it is.
func fields(in params) map[string]any {
	out := map[string]any{}
	for k, v := range in {
		if !control[k] {
			out[k] = field(k, v)
		}
	}
	return out
}

// field turns one parameter into a field. The rows of a subscription and of a
// checkout come back as a list object. S subscription.go, 2026-11-29.
func field(name string, v any) any {
	switch v := v.(type) {
	case params:
		if name == "metadata" {
			return clone(v)
		}
		if list, ok := asList(name, v); ok {
			if name == "items" || name == "line_items" {
				return map[string]any{"object": "list", "data": list, "has_more": false}
			}
			return list
		}
		out := map[string]any{}
		for k, e := range v {
			out[k] = field(k, e)
		}
		return out
	case string:
		switch {
		case name == "metadata":
			return map[string]any{}
		case v == "true" || v == "false":
			return v == "true"
		case isAmount(name) || name == "quantity":
			if n, err := strconv.ParseInt(v, 10, 64); err == nil {
				return n
			}
		case name == "currency":
			return strings.ToLower(v)
		}
	}
	return v
}

// asList turns a map with the keys 0, 1, … into a list.
func asList(name string, m params) ([]any, bool) {
	for i := range len(m) { // all of them first: a nested list is converted once
		if _, ok := m[strconv.Itoa(i)]; !ok {
			return nil, false
		}
	}
	out := make([]any, len(m))
	for i := range out {
		out[i] = field(name, m[strconv.Itoa(i)])
	}
	return out, len(out) > 0
}

// firstState is the state of a new object, where it has one.
var firstState = map[string]string{
	"payouts": "pending", "setup_intents": "requires_payment_method", "subscriptions": "active",
	"invoices": "draft", "checkout/sessions": "open",
}

var prefixes = map[string]string{
	"payment_intents": "pi", "charges": "ch", "refunds": "re", "customers": "cus", "transfers": "tr",
	"payouts": "po", "invoices": "in", "invoiceitems": "ii", "payment_methods": "pm",
	"setup_intents": "seti", "subscriptions": "sub", "products": "prod", "prices": "price",
	"accounts": "acct", "events": "evt", "disputes": "dp", "tokens": "tok", "coupons": "co",
	"checkout/sessions": "cs", "core/accounts": "acct", "money_management/outbound_payments": "obp",
	"money_management/outbound_transfers": "obt",
}

func prefix(collection string) string {
	if p := prefixes[collection]; p != "" {
		return p
	}
	name := collection[strings.LastIndexByte(collection, '/')+1:]
	return name[:min(3, len(name))]
}

// singular is the object type of a v1 collection: payment_intents, payment_intent.
func singular(collection string) string {
	name := strings.ReplaceAll(collection, "/", ".")
	switch {
	case name == "invoiceitems":
		return "invoiceitem"
	case strings.HasSuffix(name, "ies"):
		return strings.TrimSuffix(name, "ies") + "y"
	}
	return strings.TrimSuffix(name, "s")
}

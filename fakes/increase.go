package fakes

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// increase is Increase as its documents describe it: one object for a key, which a
// repeat gets again, and every list can be asked for the key.
//
// Sources, read 2026-11-29: increase.com/documentation, pages idempotency-keys.md
// ("keys"), errors ("errors"), rate-limits ("limits") and api/overview ("overview"); the
// client increase-go at ca1c95b ("Go client") for paths and objects.
type increase struct {
	s    *Server
	keys keyed
	made []*increaseObject // oldest first
}

type increaseObject struct {
	collection string
	created    time.Time
	data       map[string]any
}

// increaseKinds are the collections: the first status of an object, where the amount
// stands, and what must be there. Go client.
var increaseKinds = map[string]struct {
	status, amount string
	required       []string
}{
	"ach_transfers":                {"pending_submission", "amount", []string{"account_id", "statement_descriptor"}},
	"wire_transfers":               {"pending_creating", "amount", []string{"account_id", "creditor", "remittance"}},
	"real_time_payments_transfers": {"pending_submission", "amount", []string{"source_account_number_id", "creditor_name"}},
	"fednow_transfers":             {"pending_submitting", "amount", []string{"source_account_number_id", "creditor_name", "debtor_name"}},
	"account_transfers":            {"complete", "amount", []string{"account_id", "destination_account_id", "description"}},
	"check_transfers":              {"pending_submission", "amount", []string{"account_id", "fulfillment_method"}},
	"swift_transfers":              {"pending_initiating", "instructed_amount", []string{"account_id", "instructed_currency"}},
	"card_push_transfers":          {"pending_submission", "presentment_amount", []string{"card_token_id"}},
	"external_accounts":            {"active", "", []string{"account_number", "routing_number", "description"}},
	"account_numbers":              {"active", "", []string{"account_id", "name"}},
}

// increaseEmpty is an account without money, in this fake alone: a transfer from it gets
// the error that the documents show for an insufficient balance.
const increaseEmpty = "account_empty"

// NewIncrease returns a fake Increase. A nil o is a provider without delays.
func NewIncrease(o *Options) *Server {
	s := newServer(o)
	p := &increase{s: s}
	// The object itself holds the key, so it is never forgotten, and an error holds
	// none: with the same key one is told a success in the end. No answer to a repeat of
	// a running request is documented. Keys.
	p.keys = keyed{s: s, keeps: keepEffects, mismatch: p.used, again: p.again,
		failure: func(c *call) answer { return p.refuse(c.plan.saveErr, "internal_server_error") }}
	s.provider = p
	return s
}

func (p *increase) identify(c *call) {
	if c.method == http.MethodPost {
		c.key = c.header.Get("Idempotency-Key")
	}
	in, _ := parseJSON(c.body)
	c.print = fingerprint(c, in)
}

func (p *increase) handle(c *call) answer {
	seg := strings.Split(strings.Trim(c.path, "/"), "/")
	_, known := increaseKinds[seg[0]]
	switch {
	case c.header.Get("Authorization") == "":
		return p.refuse(http.StatusUnauthorized, "invalid_api_key_error")
	case !known:
	case c.method == http.MethodGet && len(seg) == 1:
		return p.list(c, seg[0])
	case c.method == http.MethodGet && len(seg) == 2:
		o := p.find(seg[0], seg[1])
		if o == nil {
			return p.refuse(http.StatusNotFound, "object_not_found_error")
		}
		return jsonAnswer(http.StatusOK, o.data)
	case c.method == http.MethodPost && len(seg) == 1:
		return p.create(c, seg[0])
	case c.method == http.MethodPost && len(seg) == 3 && (seg[2] == "approve" || seg[2] == "cancel") && increaseKinds[seg[0]].amount != "":
		// A key is promised to create at most one object; here none is created.
		return p.keys.write(c, "", func() endpoint { return p.act(seg[0], seg[1], seg[2]) })
	case c.method == http.MethodPatch && len(seg) == 2 && increaseKinds[seg[0]].amount == "":
		return p.keys.write(c, "", func() endpoint { return p.change(c, seg[0], seg[1]) })
	}
	return p.refuse(http.StatusNotFound, "api_method_not_found_error")
}

// refuse is an error: RFC 9457, with a type of Increase's own. Errors.
func (p *increase) refuse(status int, kind string) answer {
	return jsonAnswer(status, map[string]any{"type": kind, "status": status, "title": "The request was refused.", "detail": nil})
}

// used is the answer to another request under a key. Keys.
func (p *increase) used(c *call, r *remembered) *answer {
	if r.kept == nil { // no object, so the key is free
		r.path, r.print = c.path, c.print
		return nil
	}
	if r.path == c.path && r.print == c.print {
		return nil
	}
	a := jsonAnswer(http.StatusConflict, map[string]any{"type": "idempotency_key_already_used_error", "status": http.StatusConflict,
		"title": "The key was used.", "detail": nil, "resource_id": r.resource})
	return &a
}

// again is the object of the key as it is now, marked. Keys; whether it is shown as it
// was then is not documented.
func (p *increase) again(_ *call, r *remembered) answer {
	a := r.replay("Idempotent-Replayed", "true")
	a.body = jsonAnswer(a.status, p.find("", r.resource).data).body
	return a
}

func (p *increase) throttled(*call) answer {
	return p.refuse(http.StatusTooManyRequests, "rate_limited_error")
}

func (p *increase) unavailable(*call) answer {
	return p.refuse(http.StatusServiceUnavailable, "internal_server_error")
}

// finish: a throttle says how long to wait in its body, too. Limits.
func (p *increase) finish(_ *call, a *answer) {
	seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
	if a.status != http.StatusTooManyRequests || err != nil {
		return
	}
	if body, err := parseJSON(a.body); err == nil {
		body["retry_after"] = seconds
		a.body = jsonAnswer(a.status, body).body
	}
}

func (p *increase) setState(id, state string) bool {
	o := p.find("", id)
	if o != nil {
		o.data["status"] = state
	}
	return o != nil
}

// find returns the object of an id in a collection, "" being any; nil if there is none.
func (p *increase) find(collection, id string) *increaseObject {
	for _, o := range p.made {
		if (collection == "" || o.collection == collection) && o.data["id"] == id {
			return o
		}
	}
	return nil
}

// create is POST of a collection: 200 and the object. What an id names may be older than
// the fake, and is taken as existing.
func (p *increase) create(c *call, collection string) answer {
	if len(c.key) > 200 { // keys
		return p.refuse(http.StatusBadRequest, "invalid_parameters_error")
	}
	return p.keys.write(c, c.key, func() endpoint {
		in, err := parseJSON(c.body)
		if err != nil {
			return invalid(p.refuse(http.StatusBadRequest, "malformed_request_error"))
		}
		k := increaseKinds[collection]
		amount, ok := increaseAmount(in, k.amount)
		missing := slices.ContainsFunc(k.required, func(name string) bool { return in[name] == nil })
		if missing || k.amount != "" && (!ok || amount == 0) {
			return invalid(p.refuse(http.StatusBadRequest, "invalid_parameters_error"))
		}
		if in.str("account_id") == increaseEmpty {
			return invalid(p.refuse(http.StatusConflict, "invalid_operation_error"))
		}
		return endpoint{run: func(c *call) answer {
			o := p.object(c, collection, "")
			for name, v := range in {
				o.data[name] = clone(v)
			}
			o.data["idempotency_key"], o.data["status"] = c.key, k.status
			if c.key == "" {
				o.data["idempotency_key"] = nil
			}
			if in["require_approval"] == true {
				o.data["status"] = "pending_approval"
			}
			p.record(c, o, "create")
			return jsonAnswer(http.StatusOK, o.data)
		}}
	})
}

// object adds an object to the fake; an empty id is a new one.
func (p *increase) object(c *call, collection, id string) *increaseObject {
	kind := strings.TrimSuffix(collection, "s")
	if id == "" {
		id = fmt.Sprintf("%s_%06d", kind, len(p.made)+1)
	}
	o := &increaseObject{collection: collection, created: c.at,
		data: map[string]any{"id": id, "type": kind, "created_at": stamp(c.at)}}
	if increaseKinds[collection].amount == "amount" {
		o.data["currency"] = "USD"
	}
	p.made = append(p.made, o)
	return o
}

// increaseAmount is in the smallest unit; of a card push it is a decimal. A negative one
// collects. Go client.
func increaseAmount(in params, name string) (int64, bool) {
	if name != "presentment_amount" {
		return in.int64(name)
	}
	whole, cents, ok := strings.Cut(in.sub(name).str("value"), ".")
	n, err := strconv.ParseInt(whole+cents, 10, 64)
	return n, ok && len(cents) == 2 && err == nil
}

func (p *increase) record(c *call, o *increaseObject, action string) {
	id, _ := o.data["id"].(string)
	amount, _ := increaseAmount(o.data, increaseKinds[o.collection].amount)
	// There is no metadata; these texts are the caller's own.
	texts := map[string]string{}
	for _, name := range []string{"statement_descriptor", "description", "unstructured_remittance_information"} {
		if text, ok := o.data[name].(string); ok {
			texts[name] = text
		}
	}
	p.s.record(c, Effect{Kind: strings.TrimSuffix(o.collection, "s"), Action: action, Resource: id, Amount: amount, Currency: "usd", Metadata: texts})
}

// act approves or cancels a transfer that waits for it: 200 and the object, or 409 where
// its state forbids it. One that the fake has not seen may be older, and waits.
func (p *increase) act(collection, id, action string) endpoint {
	o := p.find(collection, id)
	if o != nil && o.data["status"] != "pending_approval" {
		return invalid(p.refuse(http.StatusConflict, "invalid_operation_error"))
	}
	return endpoint{run: func(c *call) answer {
		if o == nil {
			o = p.object(c, collection, id)
		}
		o.data["status"] = map[string]string{"approve": increaseKinds[collection].status, "cancel": "canceled"}[action]
		p.record(c, o, action)
		return jsonAnswer(http.StatusOK, o.data)
	}}
}

// change is PATCH, which is inherently idempotent (keys): the same again changes nothing.
func (p *increase) change(c *call, collection, id string) endpoint {
	in, err := parseJSON(c.body)
	if err != nil {
		return invalid(p.refuse(http.StatusBadRequest, "malformed_request_error"))
	}
	return endpoint{run: func(c *call) answer {
		o := p.find(collection, id)
		if o == nil {
			o = p.object(c, collection, id)
		}
		changed := false
		for name, v := range in {
			changed = changed || fmt.Sprint(o.data[name]) != fmt.Sprint(v)
			o.data[name] = clone(v)
		}
		if changed {
			p.record(c, o, "update")
		}
		return jsonAnswer(http.StatusOK, o.data)
	}}
}

// list is GET of a collection, 100 at a time with a cursor (overview), newest first,
// which is not documented; with a key it shows the one object of it, or none (keys).
func (p *increase) list(c *call, collection string) answer {
	cursor, skip := c.query.Get("cursor"), c.query.Get("cursor") != ""
	all, next := []any{}, any(nil)
	for _, o := range slices.Backward(p.made) {
		switch {
		case skip:
			skip = o.data["id"] != cursor
		case o.collection != collection, !p.s.visible(c.at, o.created):
		case len(all) == 100:
			next = all[99].(map[string]any)["id"]
		default:
			all = keepFields(c, append(all, o.data), "idempotency_key", "account_id", "external_account_id", "status")
		}
	}
	return jsonAnswer(http.StatusOK, map[string]any{"data": all, "next_cursor": next})
}

var _ provider = (*increase)(nil)

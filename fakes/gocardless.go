package fakes

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// goCardless is GoCardless as its documents describe it: a creation whose key was used
// gets a 409 that names what exists.
//
// Sources, read 2026-11-29: gocardless.com/blog/idempotency-keys ("blog"); GoCardless'
// own clients gocardless-pro-go at 553b873 ("Go client", with testdata/*.json for the
// shape of resources) and gocardless-pro-ruby at 93c45cb ("Ruby client"); the reasons of
// the API as help.netquarry.com lists them ("reasons").
type goCardless struct {
	s    *Server
	keys keyed
	made []*goCardlessResource // oldest first
}

type goCardlessResource struct {
	collection string
	created    time.Time
	account    string // of a bank account, which is never shown
	data       map[string]any
}

// goCardlessKinds are the collections that a POST creates in: how an id begins (Ruby
// client, services), the first status, and where the amount stands.
var goCardlessKinds = map[string]struct{ prefix, status, amount string }{
	"payments":               {"PM", "pending_submission", "amount"},
	"refunds":                {"RF", "created", "amount"},
	"outbound_payments":      {"OUT", "verifying", "amount"},
	"subscriptions":          {"SB", "active", "amount"},
	"instalment_schedules":   {"IS", "pending", "total_amount"}, // pending at first: Go client, CreateWithDates
	"billing_requests":       {"BRQ", "pending", ""},
	"mandates":               {"MD", "pending_submission", ""},
	"customers":              {"CU", "", ""},
	"customer_bank_accounts": {"BA", "", ""},
}

// goCardlessActions are the actions on a resource: the status that it must have, the
// reason where it has another, and the status that it gets. Go client, services.
var goCardlessActions = map[string]struct{ from, reason, to string }{
	"payments retry":            {"failed", "retry_failed", "pending_submission"},
	"payments cancel":           {"pending_submission", "cancellation_failed", "cancelled"},
	"outbound_payments approve": {"pending_approval", "approval_failed", "scheduled"},
	"outbound_payments cancel":  {"verifying", "cancellation_failed", "cancelled"},
	"billing_requests fulfil":   {"ready_to_fulfil", "billing_request_not_fulfillable", "fulfilled"},
	"subscriptions cancel":      {"active", "cancellation_failed", "cancelled"},
}

// NewGoCardless returns a fake GoCardless. A nil o is a provider without delays.
func NewGoCardless(o *Options) *Server {
	s := newServer(o)
	p := &goCardless{s: s}
	// How long a key is remembered is not published: for ever, here. No answer to a
	// repeat of a running request is documented, nor that parameters are compared.
	// A request that failed may be sent again with its key: blog.
	p.keys = keyed{s: s, keeps: keepEffects, failure: p.failed, again: p.conflict}
	s.provider = p
	return s
}

func (p *goCardless) identify(c *call) {
	c.key = c.header.Get("Idempotency-Key")
	in, _ := parseJSON(c.body)
	c.print = fingerprint(c, in)
}

func (p *goCardless) handle(c *call) answer {
	seg := strings.Split(strings.Trim(c.path, "/"), "/")
	switch {
	case c.header.Get("Authorization") == "":
		return p.refuse(http.StatusUnauthorized, "invalid_api_usage", "access_token_not_found", nil)
	case c.method == http.MethodGet && len(seg) == 1 && goCardlessKinds[seg[0]].prefix != "":
		return p.list(c, seg[0])
	case c.method == http.MethodGet && len(seg) == 2:
		if r := p.find(seg[0], seg[1]); r != nil {
			return jsonAnswer(http.StatusOK, map[string]any{seg[0]: r.data})
		}
	case c.method == http.MethodPost && goCardlessKinds[seg[0]].prefix != "" &&
		(len(seg) == 1 || c.path == "/outbound_payments/withdrawal"):
		return p.keys.write(c, c.key, func() endpoint { return p.create(c, seg[0]) })
	case c.method == http.MethodPost && len(seg) == 4 && seg[2] == "actions":
		// An action creates nothing, so that a key does nothing: its documents name
		// creations alone.
		return p.keys.write(c, "", func() endpoint { return p.act(c, seg[0], seg[1], seg[3]) })
	}
	return p.refuse(http.StatusNotFound, "invalid_api_usage", "resource_not_found", nil)
}

// refuse is an error as the API shows it: an object, a list of reasons in it, links at
// a reason. Blog; Ruby client, spec/error_spec.rb.
func (p *goCardless) refuse(status int, kind, reason string, more map[string]any) answer {
	item := map[string]any{"reason": reason, "message": "The request was refused"}
	for name, v := range more {
		item[name] = v
	}
	if kind == "validation_failed" {
		delete(item, "reason") // a field and a message
	}
	return jsonAnswer(status, map[string]any{"error": map[string]any{
		"message": "The request was refused", "type": kind, "code": status, "errors": []any{item},
		"documentation_url": "https://developer.gocardless.com/api-reference#" + reason, "request_id": p.s.newID("req", 14),
	}})
}

func (p *goCardless) invalidField(collection, field string) endpoint {
	return invalid(p.refuse(http.StatusUnprocessableEntity, "validation_failed", "validation_failed",
		map[string]any{"field": field, "request_pointer": "/" + collection + "/" + field}))
}

// conflict is the answer to a used key, whatever the parameters are. Blog; reasons.
func (p *goCardless) conflict(_ *call, r *remembered) answer {
	return p.refuse(http.StatusConflict, "invalid_state", "idempotent_creation_conflict",
		map[string]any{"links": map[string]any{"conflicting_resource_id": r.resource}})
}

// failed is an error of GoCardless' own. Ruby client, raise_gocardless_errors_spec.rb.
func (p *goCardless) failed(c *call) answer {
	return p.refuse(c.plan.saveErr, "gocardless", "internal_server_error", nil)
}

func (p *goCardless) throttled(*call) answer {
	return p.refuse(http.StatusTooManyRequests, "invalid_api_usage", "rate_limit_exceeded", nil)
}

func (p *goCardless) unavailable(*call) answer {
	return p.refuse(http.StatusServiceUnavailable, "gocardless", "internal_server_error", nil)
}

// finish adds the limit to every answer: a throttle says when to come again by a date
// and not by Retry-After. Go client, retries.go; 1000 a minute, reset by the minute.
func (p *goCardless) finish(c *call, a *answer) {
	remaining, reset := "999", c.at.Truncate(time.Minute).Add(time.Minute)
	if a.status == http.StatusTooManyRequests {
		remaining, reset = "0", c.at
		if n, err := strconv.Atoi(a.header.Get("Retry-After")); err == nil {
			reset = c.at.Add(time.Duration(n) * time.Second)
		}
		a.header.Del("Retry-After")
	}
	a.header.Set("RateLimit-Limit", "1000")
	a.header.Set("RateLimit-Remaining", remaining)
	a.header.Set("RateLimit-Reset", reset.UTC().Format(http.TimeFormat))
}

// setState: a payment may fail long after it was created, and exists all the same.
func (p *goCardless) setState(id, state string) bool {
	for _, r := range p.made {
		if r.data["id"] == id {
			r.data["status"] = state
			return true
		}
	}
	return false
}

func (p *goCardless) find(collection, id string) *goCardlessResource {
	for _, r := range p.made {
		if r.collection == collection && r.data["id"] == id {
			return r
		}
	}
	return nil
}

// create makes a resource: 201 in an envelope of the collection's name. What a link
// names may be older than the fake, and is taken as existing.
func (p *goCardless) create(c *call, collection string) endpoint {
	in, err := parseJSON(c.body)
	body := in.sub(collection)
	if err != nil || body == nil {
		return invalid(p.refuse(http.StatusBadRequest, "invalid_api_usage", "bad_request", nil))
	}
	k := goCardlessKinds[collection]
	amount, ok := body.int64(k.amount)
	if k.amount != "" && (!ok || amount < 1) {
		return p.invalidField(collection, k.amount)
	}
	r := &goCardlessResource{collection: collection, data: map[string]any{}}
	switch collection {
	case "payments", "subscriptions", "instalment_schedules":
		if body.str("currency") == "" || body.sub("links").str("mandate") == "" {
			return p.invalidField(collection, "links")
		}
	case "refunds":
		// A safeguard: what this refund makes the sum of all. Go client, refund_service.go.
		sum, given := body.int64("total_amount_confirmation")
		if given && sum != p.refunded(body.sub("links").str("payment"))+amount {
			return invalid(p.refuse(http.StatusUnprocessableEntity, "invalid_state", "total_amount_confirmation_invalid", nil))
		}
		r.data["currency"] = "GBP"
	case "billing_requests":
		amount, _ = body.sub("payment_request").int64("amount")
	case "customer_bank_accounts":
		// The details of an account are unique. Reasons.
		r.account = body.str("iban") + body.str("branch_code") + body.str("account_number")
		if i := slices.IndexFunc(p.made, func(o *goCardlessResource) bool { return r.account != "" && o.account == r.account }); i >= 0 {
			return invalid(p.refuse(http.StatusConflict, "invalid_state", "bank_account_exists",
				map[string]any{"links": map[string]any{"customer_bank_account": p.made[i].data["id"]}}))
		}
	}
	return endpoint{run: func(c *call) answer {
		for name, v := range body {
			if name != "iban" && name != "account_number" && name != "total_amount_confirmation" {
				r.data[name] = clone(v)
			}
		}
		r.created = c.at
		r.data["id"], r.data["created_at"] = fmt.Sprintf("%s%06d", k.prefix, len(p.made)+1), c.at.UTC().Format("2006-01-02T15:04:05.000Z")
		if k.status != "" {
			r.data["status"] = k.status
		}
		if collection == "outbound_payments" {
			r.data["is_withdrawal"] = strings.HasSuffix(c.path, "/withdrawal")
		}
		p.made = append(p.made, r)
		p.record(c, r, "create", amount, body)
		return jsonAnswer(http.StatusCreated, map[string]any{collection: r.data})
	}}
}

func (p *goCardless) record(c *call, r *goCardlessResource, action string, amount int64, in params) {
	currency, _ := r.data["currency"].(string)
	id, _ := r.data["id"].(string)
	p.s.record(c, Effect{Kind: strings.TrimSuffix(r.collection, "s"), Action: action, Resource: id,
		Amount: amount, Currency: strings.ToLower(currency), Metadata: in.metadata()})
}

// refunded is the sum of a payment's refunds.
func (p *goCardless) refunded(payment string) (sum int64) {
	for _, r := range p.made {
		if r.collection == "refunds" && params(r.data).sub("links").str("payment") == payment {
			amount, _ := params(r.data).int64("amount")
			sum += amount
		}
	}
	return sum
}

// act is an action on a resource: 200 and the resource, or 422 where its status forbids
// it. One that the fake has not seen may be older than it, and is in the right status.
func (p *goCardless) act(_ *call, collection, id, action string) endpoint {
	a, known := goCardlessActions[collection+" "+action]
	if !known {
		return invalid(p.refuse(http.StatusNotFound, "invalid_api_usage", "resource_not_found", nil))
	}
	r := p.find(collection, id)
	if r != nil && r.data["status"] != a.from {
		return invalid(p.refuse(http.StatusUnprocessableEntity, "invalid_state", a.reason, nil))
	}
	return endpoint{run: func(c *call) answer {
		if r == nil {
			r = &goCardlessResource{collection: collection, created: c.at, data: map[string]any{"id": id}}
			p.made = append(p.made, r)
		}
		r.data["status"] = a.to
		amount, _ := params(r.data).int64("amount")
		p.record(c, r, action, amount, nil)
		return jsonAnswer(http.StatusOK, map[string]any{collection: r.data})
	}}
}

// list is GET of a collection, newest first, 50 at a time with a cursor, and the filters
// that a payment's list has. Go client, payment_service.go. No filter takes a key.
func (p *goCardless) list(c *call, collection string) answer {
	since, bounded := day(c.query.Get("created_at[gte]"))
	after, skip := c.query.Get("after"), c.query.Get("after") != ""
	all, next := []any{}, any(nil)
	for _, r := range slices.Backward(p.made) {
		links := params(r.data).sub("links")
		switch {
		case skip:
			skip = r.data["id"] != after
		case r.collection != collection, bounded && r.created.Before(since), !p.s.visible(c.at, r.created),
			!slices.Contains([]string{"", links.str("mandate")}, c.query.Get("mandate")),
			!slices.Contains([]string{"", links.str("payment")}, c.query.Get("payment")):
		case len(all) == 50:
			next = all[49].(map[string]any)["id"]
		default:
			all = append(all, r.data)
		}
	}
	return jsonAnswer(http.StatusOK, map[string]any{
		collection: all, "meta": map[string]any{"cursors": map[string]any{"before": nil, "after": next}, "limit": 50},
	})
}

var _ provider = (*goCardless)(nil)

package fakes

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// read answers GET: one object, a list, the events, or a search. Lists are
// read-after-write. D docs.stripe.com/search, 2026-11-29.
func (p *stripe) read(c *call, r stripeRoute) answer {
	switch {
	case r.v2 && r.id == "":
		return p.listV2(c, r)
	case r.collection == "events":
		return p.readEvents(c, r)
	case r.id == "search":
		return p.search(c, r)
	case r.id == "":
		return list(c, p.visible(c, r.collection))
	}
	o := p.find(c, r.collection, r.id)
	if o == nil || r.action != "" {
		return missing(http.StatusNotFound, singular(r.collection), r.id, "id")
	}
	return jsonAnswer(http.StatusOK, o.data)
}

// visible returns the live objects of a collection, newest first.
func (p *stripe) visible(c *call, collection string) []*stripeObject {
	var out []*stripeObject
	for _, o := range slices.Backward(p.objects) {
		if o.collection == collection && !o.deleted && o.account == account(c) {
			out = append(out, o)
		}
	}
	return out
}

// steering query parameters are no filters.
var steering = map[string]bool{
	"limit": true, "starting_after": true, "ending_before": true, "types": true, "delivery_success": true,
}

// list filters and pages as D docs.stripe.com/api/pagination, 2026-11-29, says:
// newest first, limit 1 to 100 with 10 by default, cursors by id, has_more.
func list(c *call, all []*stripeObject) answer {
	keep, bad := filter(c.query)
	if bad != nil {
		return *bad
	}
	all = slices.DeleteFunc(slices.Clone(all), func(o *stripeObject) bool { return !keep(o) })
	limit, err := strconv.Atoi(first(c.query.Get("limit"), "10"))
	if err != nil || limit < 1 || limit > 100 {
		return stripeError(http.StatusBadRequest, "invalid_request_error", "parameter_invalid_integer", "limit",
			"Invalid integer: limit must be between 1 and 100.")
	}
	after, before := c.query.Get("starting_after"), c.query.Get("ending_before")
	if after != "" && before != "" {
		return stripeError(http.StatusBadRequest, "invalid_request_error", "parameters_exclusive", "",
			"You cannot use both starting_after and ending_before.")
	}
	more := false
	if cursor := first(after, before); cursor != "" {
		at := slices.IndexFunc(all, func(o *stripeObject) bool { return o.id == cursor })
		if at < 0 {
			return missing(http.StatusBadRequest, "object", cursor, "starting_after")
		}
		if before != "" {
			all = all[:at]
			more = len(all) > limit
			all = all[max(len(all)-limit, 0):]
		} else {
			all = all[at+1:]
		}
	}
	if before == "" {
		more = len(all) > limit
		all = all[:min(limit, len(all))]
	}
	return jsonAnswer(http.StatusOK, map[string]any{
		"object": "list", "url": c.path, "has_more": more, "data": bodies(all),
	})
}

func bodies(all []*stripeObject) []any {
	out := make([]any, len(all))
	for i, o := range all {
		out[i] = o.data
	}
	return out
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// filter builds the test that a list's query asks for: created as a second or a
// range of them, and any field of the object by its value.
func filter(q url.Values) (func(*stripeObject) bool, *answer) {
	tests := []func(*stripeObject) bool{}
	for name, values := range q {
		value := values[0]
		op, isCreated := strings.CutPrefix(name, "created")
		switch {
		case steering[strings.TrimRight(strings.SplitN(name, "[", 2)[0], "]")] || strings.HasPrefix(name, "expand"):
		case isCreated:
			at, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				bad := stripeError(http.StatusBadRequest, "invalid_request_error", "parameter_invalid_integer", name,
					"Invalid integer: "+value)
				return nil, &bad
			}
			tests = append(tests, func(o *stripeObject) bool { return compare(o.created.Unix(), strings.Trim(op, "[]"), at) })
		default:
			tests = append(tests, func(o *stripeObject) bool { return fmt.Sprint(o.data[name]) == value })
		}
	}
	return func(o *stripeObject) bool {
		for _, t := range tests {
			if !t(o) {
				return false
			}
		}
		return true
	}, nil
}

func compare(a int64, op string, b int64) bool {
	switch op {
	case "gt":
		return a > b
	case "gte":
		return a >= b
	case "lt":
		return a < b
	case "lte":
		return a <= b
	}
	return a == b
}

// clause is one term of the search language: metadata['order']:'7', status:"succeeded".
// D docs.stripe.com/search#search-query-language, 2026-11-29.
var clause = regexp.MustCompile(`^\s*(?:metadata\[["']([^"']+)["']\]|(\w+))\s*:\s*(?:["']([^"']*)["']|(\w+))\s*$`)

var conjunction = regexp.MustCompile(`\s+AND\s+`)

// search shows objects as they were found SearchLag ago: what changed since is not
// there yet. D docs.stripe.com/search, 2026-11-29: under a minute as a rule, up to
// an hour in an outage.
func (p *stripe) search(c *call, r stripeRoute) answer {
	all := p.visible(c, r.collection)
	edge := c.at.Add(-p.s.opts.SearchLag)
	all = slices.DeleteFunc(all, func(o *stripeObject) bool { return o.changed.After(edge) })
	query := c.query.Get("query")
	for _, term := range conjunction.Split(query, -1) {
		m := clause.FindStringSubmatch(term)
		if m == nil {
			return stripeError(http.StatusBadRequest, "invalid_request_error", "", "query", "Invalid query: "+query)
		}
		want := first(m[3], m[4])
		all = slices.DeleteFunc(all, func(o *stripeObject) bool {
			if m[1] != "" {
				return params(o.data).sub("metadata").str(m[1]) != want
			}
			return fmt.Sprint(o.data[m[2]]) != want
		})
	}
	limit, err := strconv.Atoi(first(c.query.Get("limit"), "10"))
	start, err2 := strconv.Atoi(first(c.query.Get("page"), "0"))
	if err != nil || err2 != nil || limit < 1 || limit > 100 || start < 0 {
		return stripeError(http.StatusBadRequest, "invalid_request_error", "", "page", "Invalid limit or page.")
	}
	start = min(start, len(all))
	end := min(start+limit, len(all))
	out := map[string]any{
		"object": "search_result", "url": c.path, "has_more": end < len(all), "next_page": nil,
		"data": bodies(all[start:end]),
	}
	if end < len(all) {
		out["next_page"] = strconv.Itoa(end)
	}
	return jsonAnswer(http.StatusOK, out)
}

// eventDays is how long events are listed. D docs.stripe.com/api/events, 2026-11-29.
const eventDays = 30 * 24 * time.Hour

// readEvents is GET /v1/events and /v1/events/{id}. S event.go, 2026-11-29: filtered by type (with * as a wildcard), up to 20 types, created.
func (p *stripe) readEvents(c *call, r stripeRoute) answer {
	var all []*stripeObject
	for _, e := range slices.Backward(p.events) {
		age := c.at.Sub(e.created)
		if e.account == account(c) && age <= eventDays && p.s.visible(c.at, e.created) {
			all = append(all, e)
		}
	}
	if r.id != "" {
		for _, e := range all {
			if e.id == r.id {
				return jsonAnswer(http.StatusOK, e.data)
			}
		}
		return missing(http.StatusNotFound, "event", r.id, "id")
	}
	if kind := c.query.Get("type"); kind != "" {
		all = slices.DeleteFunc(all, func(e *stripeObject) bool {
			t, _ := e.data["type"].(string)
			if stem, wild := strings.CutSuffix(kind, "*"); wild {
				return !strings.HasPrefix(t, stem)
			}
			return t != kind
		})
	}
	var kinds []string
	for name, v := range c.query {
		if strings.HasPrefix(name, "types[") {
			kinds = append(kinds, v...)
		}
	}
	if len(kinds) > 20 {
		return stripeError(http.StatusBadRequest, "invalid_request_error", "", "types", "At most 20 types.")
	}
	if len(kinds) > 0 {
		all = slices.DeleteFunc(all, func(e *stripeObject) bool {
			t, _ := e.data["type"].(string)
			return !slices.Contains(kinds, t)
		})
	}
	typed := *c
	typed.query = url.Values{}
	for k, v := range c.query {
		if k != "type" {
			typed.query[k] = v
		}
	}
	return list(&typed, all)
}

// emit adds an event with the object as it is now, and the request with its key
// that caused it (since API 2017-05-25). D docs.stripe.com/changelog/2017-05-25,
// docs.stripe.com/api/events/object, 2026-11-29.
func (p *stripe) emit(c *call, o *stripeObject, kind string) {
	request := map[string]any{"id": c.requestID, "idempotency_key": nil}
	if c.key != "" {
		request["idempotency_key"] = c.key
	}
	e := &stripeObject{id: p.s.newID("evt", 24), collection: "events", account: o.account, created: c.at, changed: c.at}
	e.data = map[string]any{
		"id": e.id, "object": "event", "type": kind, "created": c.at.Unix(), "livemode": live(c),
		"api_version": first(c.header.Get("Stripe-Version"), "2024-06-20"), "pending_webhooks": 0,
		"data": map[string]any{"object": clone(o.data)}, "request": request,
	}
	if o.account != "" {
		e.data["account"] = o.account
	}
	p.events = append(p.events, e)
}

// eventName is the stem of an object's events.
func eventName(o *stripeObject) string {
	name, _ := o.data["object"].(string)
	return name
}

package fakes

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// modernTreasury is Modern Treasury as its documents describe it.
//
// Sources, read 2026-11-29: docs.moderntreasury.com/reference/idempotent-requests
// ("guide"), …/errors, …/status-codes and …/rate-limits; modern-treasury-openapi at
// fce4ea0 (2026-08-22), openapi/mt_openapi_spec_v1.yaml ("spec"); issue 84 of
// Modern-Treasury/modern-treasury-go ("report").
type modernTreasury struct {
	s    *Server
	keys keyed
	all  []*mtResource
	byID map[string]*mtResource // by path and id
}

// mtResource is one resource, at the path under which it is created.
type mtResource struct {
	path, id string
	deleted  bool
	created  time.Time
	data     params
}

// mtRetention: the result of a successful request is saved for 24 hours. Guide.
const mtRetention = 24 * time.Hour

// NewModernTreasury returns a fake Modern Treasury. A nil o is a provider without delays.
func NewModernTreasury(o *Options) *Server {
	s := newServer(o)
	p := &modernTreasury{s: s, byID: map[string]*mtResource{}}
	// The guide: only successes are saved, and after an error "that prevented us from
	// completing the original request" the same key executes again, with the guarantee of
	// one payment order; so what was completed stays. A repeat is not compared. What a 409
	// says in its body is not documented: here the same as a conflict, from which nothing
	// then tells it.
	p.keys = keyed{s: s, retention: mtRetention, keeps: keepEffects, failure: p.failure,
		busy: func(*call, *remembered) answer { return mtError(http.StatusConflict, "conflict", "") }}
	s.provider = p
	return s
}

// mtWrite is a POST that creates: spec, paths and request types.
type mtWrite struct {
	path     string // a * is one id
	object   string
	required []string
	external int  // the status that a taken external_id gets; 0 where there is none
	keyless  bool // the spec names no key for it
	carries  string
	amount   string // the field that holds it; "" if there is none
	state    string // of the new resource
}

var mtWrites = []mtWrite{
	{path: "/api/payment_orders", object: "payment_order", required: []string{"type", "amount", "direction", "originating_account_id"}, external: 409, amount: "amount", state: "approved",
		carries: "type amount direction priority originating_account_id receiving_account_id currency effective_date description statement_descriptor external_id metadata"},
	{path: "/api/payment_orders/*/reversals", object: "reversal", required: []string{"reason"}, state: "pending", carries: "reason metadata"},
	{path: "/api/returns", object: "return", required: []string{"returnable_id", "returnable_type"}, state: "pending", carries: "returnable_id returnable_type code reason"},
	{path: "/api/expected_payments", object: "expected_payment", external: 409, amount: "amount_upper_bound", state: "unreconciled",
		carries: "amount_upper_bound amount_lower_bound direction internal_account_id type currency counterparty_id external_id metadata"},
	// A taken external_id got 400 here (report).
	{path: "/api/ledger_transactions", object: "ledger_transaction", required: []string{"ledger_entries"}, external: 400, amount: "ledger_entries", state: "pending",
		carries: "status description effective_at ledger_entries external_id metadata ledgerable_type ledgerable_id"},
	{path: "/api/counterparties", object: "counterparty", required: []string{"name"}, external: 409, carries: "name email external_id metadata"},
	{path: "/api/ledger_transactions/*/reversal", object: "ledger_transaction", keyless: true, state: "posted", carries: "description external_id metadata"},
}

func (p *modernTreasury) identify(c *call) {
	in, _ := parseJSON(c.body)
	if c.method == http.MethodPost { // any key of another method is ignored and not saved (guide)
		c.key = c.header.Get("Idempotency-Key")
	}
	c.print = fingerprint(c, in)
}

func (p *modernTreasury) handle(c *call) answer {
	if c.header.Get("Authorization") == "" {
		return mtError(http.StatusUnauthorized, "invalid_key", "")
	}
	path := strings.TrimSuffix(c.path, "/")
	parent, id := path[:max(strings.LastIndex(path, "/"), 0)], path[strings.LastIndex(path, "/")+1:]
	switch c.method {
	case http.MethodGet, http.MethodHead:
		return p.read(c, path, parent, id)
	case http.MethodPatch, http.MethodDelete:
		return p.keys.write(c, "", func() endpoint { return p.change(c, parent, id) })
	}
	for _, w := range mtWrites {
		if of, ok := mtID(w.path, path); ok && c.method == http.MethodPost {
			return p.write(c, w, path, of)
		}
	}
	return mtError(http.StatusNotFound, "not_found", "")
}

// mtID matches a path with a pattern, and returns the id that stands for its *.
func mtID(pattern, path string) (id string, ok bool) {
	before, after, any := strings.Cut(pattern, "*")
	if !any {
		return "", pattern == path
	}
	id, ok = strings.CutPrefix(path, before)
	id, there := strings.CutSuffix(id, after)
	return id, ok && there && id != "" && !strings.Contains(id, "/")
}

// write executes a POST. A key is of the API key, and independent of the route: a used
// one gets the first answer, whatever is asked. Guide.
func (p *modernTreasury) write(c *call, w mtWrite, path, of string) answer {
	scope := ""
	if c.key != "" && !w.keyless {
		scope = c.header.Get("Authorization") + " " + c.key
	}
	return p.keys.write(c, scope, func() endpoint {
		in, err := parseJSON(c.body)
		if err != nil {
			return invalid(mtError(http.StatusBadRequest, "parameter_invalid", ""))
		}
		amount, bad := w.check(in)
		if bad != nil {
			return invalid(*bad)
		}
		if other := p.external(path, in.str("external_id")); other != nil && w.external != 0 {
			code := map[int]string{409: "conflict", 400: "parameter_invalid"}[w.external]
			return invalid(mtError(w.external, code, "external_id"))
		}
		return endpoint{run: func(c *call) answer {
			data := carry(map[string]any{"object": w.object, "live_mode": false, "status": w.state, "external_id": nil, "metadata": map[string]any{}},
				in, strings.Fields(w.carries)...)
			switch {
			case w.object == "payment_order" && data["currency"] == nil:
				data["currency"] = "USD" // of the originating account
			case w.object == "reversal":
				data["payment_order_id"] = of
			case w.keyless:
				data["reverses_ledger_transaction_id"] = of
			}
			r := p.put(c, path, p.s.newUUID(), data)
			p.record(c, r, "create", amount, in)
			return jsonAnswer(http.StatusCreated, r.data)
		}}
	})
}

// check returns the amount that a request moves, or its validation error.
func (w mtWrite) check(in params) (amount int64, bad *answer) {
	for _, name := range w.required {
		if in[name] == nil {
			a := mtError(http.StatusUnprocessableEntity, "parameter_missing", name)
			return 0, &a
		}
	}
	ok := true
	switch list, _ := in[w.amount].([]any); {
	case w.amount == "" || in[w.amount] == nil:
	case w.amount != "ledger_entries":
		amount, ok = in.int64(w.amount)
	case len(list) == 0:
		ok = false
	default:
		first, _ := list[0].(map[string]any)
		amount, ok = params(first).int64("amount")
	}
	if !ok || amount < 0 {
		a := mtError(http.StatusUnprocessableEntity, "parameter_invalid", w.amount)
		return 0, &a
	}
	return amount, nil
}

// external returns the resource of a collection that has an external_id: "a unique
// identifier" (spec).
func (p *modernTreasury) external(path, id string) *mtResource {
	for _, r := range p.all {
		if id != "" && r.path == path && r.data.str("external_id") == id && !r.deleted {
			return r
		}
	}
	return nil
}

// change is a PATCH or DELETE of one object, "idempotent by definition" (guide). What
// is not known came about elsewhere: in the dashboard.
func (p *modernTreasury) change(c *call, path, id string) endpoint {
	i := slices.IndexFunc(mtWrites, func(w mtWrite) bool { return w.path == path })
	r := p.byID[path+"/"+id]
	in, err := parseJSON(c.body)
	switch {
	case i < 0, r != nil && r.deleted:
		return invalid(mtError(http.StatusNotFound, "resource_not_found", "id"))
	case c.method == http.MethodPatch && err != nil:
		return invalid(mtError(http.StatusBadRequest, "parameter_invalid", ""))
	}
	return endpoint{run: func(c *call) answer {
		if r == nil {
			r = p.put(c, path, id, map[string]any{"object": mtWrites[i].object})
		}
		if c.method == http.MethodDelete {
			r.deleted = true
			p.record(c, r, "delete", 0, nil)
			return answer{status: http.StatusNoContent}
		}
		before := fmt.Sprint(r.data)
		if carry(r.data, in, strings.Fields(mtWrites[i].carries+" status")...); fmt.Sprint(r.data) != before {
			p.record(c, r, "update", 0, in)
		}
		return jsonAnswer(http.StatusOK, r.data)
	}}
}

// read serves one resource, or a list, which is an array: newest first, asked for an
// external_id or not, 25 a page. Spec. When it shows a new resource is not documented.
func (p *modernTreasury) read(c *call, path, parent, id string) answer {
	if r := p.byID[parent+"/"+id]; r != nil && !r.deleted {
		return jsonAnswer(http.StatusOK, r.data)
	}
	if !slices.ContainsFunc(mtWrites, func(w mtWrite) bool { _, ok := mtID(w.path, path); return ok }) {
		return mtError(http.StatusNotFound, "resource_not_found", "id")
	}
	external, size, found := c.query.Get("external_id"), 25, []any{}
	if n, err := strconv.Atoi(c.query.Get("per_page")); err == nil && n > 0 {
		size = min(n, 100)
	}
	after := c.query.Get("after_cursor")
	for _, r := range slices.Backward(p.all) {
		switch {
		case after != "":
			if r.id == after {
				after = ""
			}
		case r.path == path && !r.deleted && p.s.visible(c.at, r.created) && (external == "" || external == r.data.str("external_id")):
			found = append(found, r.data)
		}
	}
	a := jsonAnswer(http.StatusOK, found[:min(size, len(found))])
	a.header.Set("X-Per-Page", strconv.Itoa(size))
	if len(found) > size {
		a.header.Set("X-After-Cursor", found[size-1].(params).str("id"))
	}
	return a
}

func (p *modernTreasury) put(c *call, path, id string, data map[string]any) *mtResource {
	r := &mtResource{path: path, id: id, created: c.at, data: data}
	r.data["id"], r.data["created_at"], r.data["updated_at"] = id, stamp(c.at), stamp(c.at)
	p.all, p.byID[path+"/"+id] = append(p.all, r), r
	return r
}

func (p *modernTreasury) record(c *call, r *mtResource, action string, amount int64, in params) {
	p.s.record(c, Effect{Kind: r.data.str("object"), Action: action, Resource: r.id, Amount: amount,
		Currency: strings.ToLower(r.data.str("currency")), Metadata: in.metadata()})
}

func (p *modernTreasury) throttled(*call) answer {
	return mtError(http.StatusTooManyRequests, "too_many_requests", "")
}

func (p *modernTreasury) unavailable(c *call) answer {
	return mtError(http.StatusServiceUnavailable, "service_unavailable", "")
}

// failure is an error of Modern Treasury's own; its code is not documented.
func (p *modernTreasury) failure(c *call) answer {
	return mtError(c.plan.saveErr, "internal_server_error", "")
}

// finish has nothing to add: no header of every answer is documented.
func (p *modernTreasury) finish(*call, *answer) {}

func (p *modernTreasury) setState(id, state string) bool {
	for _, r := range p.all {
		if r.id == id {
			r.data["status"] = state
			return true
		}
	}
	return false
}

// mtError is the one shape of errors, where errors is an object. Errors page; spec,
// error_message.
func mtError(status int, code, parameter string) answer {
	e := map[string]any{"code": code, "message": "An error of the kind " + code + " occurred."}
	if parameter != "" {
		e["parameter"] = parameter
	}
	return jsonAnswer(status, map[string]any{"errors": e})
}

var _ provider = (*modernTreasury)(nil)

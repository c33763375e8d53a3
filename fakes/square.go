package fakes

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// square is Square as its documents describe it.
//
// Sources, read 2026-11-29: square/connect-api-specification at 5733f66 (2025-08-19),
// api.json ("spec"); developer.squareup.com/docs/working-with-apis/idempotency
// ("guide"); developer.squareup.com/docs/testing/test-values ("test values");
// answers of Square's staff in square/connect-api-examples#135 and in threads 1972,
// 28303 and 28309 of developer.squareup.com/forums ("staff").
type square struct {
	s     *Server
	keys  keyed
	all   []*squareResource
	byRef map[string]*squareResource // by collection and id
}

// squareResource is one resource: a payment, a refund, an order, …
type squareResource struct {
	collection, id string
	created        time.Time
	data           params
}

// squareRetention is how long this fake remembers a key. Square publishes no time
// (staff, 2026), so nobody may count on more than a short one; one that never ended
// would hide a client that does.
const squareRetention = time.Hour

// NewSquare returns a fake Square. A nil o is a provider without delays.
func NewSquare(o *Options) *Server {
	s := newServer(o)
	p := &square{s: s, byRef: map[string]*squareResource{}}
	// The guide: a repeat gets the first successful answer, other parameters an error.
	// What it gets while the first runs is not documented, so busy is nil.
	p.keys = keyed{s: s, retention: squareRetention, failure: p.failure,
		mismatch: func(c *call, r *remembered) *answer {
			if c.print == r.print {
				return nil
			}
			a := squareError(http.StatusBadRequest, "INVALID_REQUEST_ERROR", "IDEMPOTENCY_KEY_REUSED", keyOfSquare)
			return &a
		},
		// What stays of a failure is not documented. A key "always" gets the first answer
		// (staff), a decline too; after an error of Square's own the same key may be used
		// again (spec, TEMPORARY_ERROR), and must not pay twice: what is true stays.
		keeps: func(_ answer, truth *answer) *answer { return truth },
	}
	s.provider = p
	return s
}

const keyOfSquare = "idempotency_key"

// squareWrite is a POST that creates or acts: spec, paths and request types.
type squareWrite struct {
	path    string // a * is one id
	keyMax  int    // of the key, in bytes: multi-byte characters count for more; 0 is no key
	keyless bool   // the key may be missing, and then each request is one of its own
	make    func(p *square, in params, id string) endpoint
}

var squareWrites = []squareWrite{
	{path: "/v2/payments", keyMax: 45, make: (*square).payment},
	{path: "/v2/payments/cancel", make: (*square).cancelByKey},
	{path: "/v2/payments/*/complete", make: func(p *square, _ params, id string) endpoint { return p.settle(id, "complete", "COMPLETED") }},
	{path: "/v2/payments/*/cancel", make: func(p *square, _ params, id string) endpoint { return p.settle(id, "cancel", "CANCELED") }},
	{path: "/v2/refunds", keyMax: 45, make: (*square).refund},
	{path: "/v2/orders", keyMax: 192, keyless: true, make: (*square).order},
	{path: "/v2/orders/*/pay", keyMax: 192, make: (*square).pay},
	{path: "/v2/terminals/checkouts", keyMax: 64, make: (*square).checkout},
	{path: "/v2/catalog/object", keyMax: 128, make: (*square).item},
	{path: "/v2/catalog/batch-upsert", keyMax: 128, make: (*square).items},
	// Applied twice under one key, as reported (staff): so no key is honoured here.
	{path: "/v2/inventory/changes/batch-create", make: (*square).inventory},
}

func (p *square) identify(c *call) {
	in, _ := parseJSON(c.body)
	c.key, c.print = in.str(keyOfSquare), fingerprint(c, in)
}

func (p *square) handle(c *call) answer {
	switch {
	case c.header.Get("Authorization") == "":
		return squareError(http.StatusUnauthorized, "AUTHENTICATION_ERROR", "UNAUTHORIZED", "")
	case c.method == http.MethodGet || c.method == http.MethodHead:
		return p.read(c, strings.Split(strings.Trim(c.path, "/"), "/"))
	case c.method != http.MethodPost:
		return squareError(http.StatusMethodNotAllowed, "INVALID_REQUEST_ERROR", "METHOD_NOT_ALLOWED", "")
	}
	for _, w := range squareWrites {
		if id, ok := squareID(w.path, c.path); ok {
			return p.write(c, w, id)
		}
	}
	return squareError(http.StatusNotFound, "INVALID_REQUEST_ERROR", "NOT_FOUND", "")
}

// squareID matches a path with a pattern, and returns the id that stands for its *.
func squareID(pattern, path string) (id string, ok bool) {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return "", false
	}
	for i, w := range want {
		if w == "*" && got[i] != "" {
			id = got[i]
		} else if w != got[i] {
			return "", false
		}
	}
	return id, true
}

func (p *square) write(c *call, w squareWrite, id string) answer {
	in, err := parseJSON(c.body)
	prepare := func() endpoint {
		if err != nil && len(c.body) > 0 {
			return invalid(squareError(http.StatusBadRequest, "INVALID_REQUEST_ERROR", "EXPECTED_JSON_BODY", ""))
		}
		return w.make(p, in, id)
	}
	switch {
	case w.keyMax == 0, c.key == "" && w.keyless:
		return p.keys.write(c, "", prepare)
	case c.key == "":
		return squareError(http.StatusBadRequest, "INVALID_REQUEST_ERROR", "MISSING_REQUIRED_PARAMETER", keyOfSquare)
	case len(c.key) > w.keyMax:
		return squareError(http.StatusBadRequest, "INVALID_REQUEST_ERROR", "VALUE_TOO_LONG", keyOfSquare)
	}
	return p.keys.write(c, w.path+" "+c.key, prepare) // unique for every request of the endpoint (spec)
}

// payment is POST /v2/payments: spec, CreatePaymentRequest and CreatePaymentResponse.
// A declined one is shown as FAILED beside the errors, of which there are two (staff).
func (p *square) payment(in params, _ string) endpoint {
	amount, currency, bad := squareMoney(in)
	switch source := in.str("source_id"); {
	case source == "":
		return invalid(squareError(http.StatusBadRequest, "INVALID_REQUEST_ERROR", "MISSING_REQUIRED_PARAMETER", "source_id"))
	case bad != nil:
		return *bad
	case source == "cnon:card-nonce-already-used": // test values
		return invalid(squareError(http.StatusBadRequest, "INVALID_REQUEST_ERROR", "CARD_TOKEN_USED", "source_id"))
	}
	return endpoint{run: func(c *call) answer {
		state, declined := "COMPLETED", squareDeclines[in.str("source_id")]
		switch {
		case declined != "":
			state = "FAILED"
		case in["autocomplete"] == false:
			state = "APPROVED"
		}
		r := p.add(c, "payments", carry(map[string]any{"status": state, "source_type": "CARD", "total_money": in["amount_money"]},
			in, "amount_money", "reference_id", "order_id", "customer_id", "location_id", "note"))
		if declined != "" {
			a := squareError(http.StatusPaymentRequired, "PAYMENT_METHOD_ERROR", "GENERIC_DECLINE", "")
			body, _ := parseJSON(a.body)
			body["errors"] = append(body["errors"].([]any), squareFault("PAYMENT_METHOD_ERROR", declined, ""))
			body["payment"] = r.data
			return jsonAnswer(http.StatusPaymentRequired, body)
		}
		p.record(c, r, "create", amount, currency)
		return jsonAnswer(http.StatusOK, map[string]any{"payment": r.data})
	}}
}

// squareDeclines are tokens of the sandbox that are declined, and why: test values.
var squareDeclines = map[string]string{
	"cnon:card-nonce-declined":            "CARD_DECLINED",
	"cnon:card-nonce-rejected-cvv":        "CVV_FAILURE",
	"cnon:card-nonce-rejected-postalcode": "ADDRESS_VERIFICATION_FAILURE",
	"cnon:card-nonce-rejected-expiration": "INVALID_EXPIRATION",
}

// settle completes or cancels a payment that is APPROVED: spec, CompletePayment and
// CancelPayment, and the codes for one that is settled. A payment that is not known was
// taken elsewhere, by an app of Square's.
func (p *square) settle(id, action, state string) endpoint {
	r := p.byRef["payments "+id]
	var amount int64
	var currency string
	if r != nil {
		amount, currency, _ = squareMoney(r.data)
		code := map[string]string{"COMPLETED": "DELAYED_TRANSACTION_CAPTURED", "CANCELED": "DELAYED_TRANSACTION_CANCELED",
			"FAILED": "DELAYED_TRANSACTION_FAILED"}[r.data.str("status")]
		if code != "" {
			return invalid(squareError(http.StatusBadRequest, "INVALID_REQUEST_ERROR", code, ""))
		}
	}
	return endpoint{run: func(c *call) answer {
		if r == nil {
			r = p.put(c, "payments", id, map[string]any{})
		}
		r.data["status"] = state
		p.record(c, r, action, amount, currency)
		return jsonAnswer(http.StatusOK, map[string]any{"payment": r.data})
	}}
}

// cancelByKey is POST /v2/payments/cancel: it voids the payment that has the key, after
// which the key may be used again, and succeeds as well where there is none. Spec,
// CancelPaymentByIdempotencyKey.
func (p *square) cancelByKey(in params, _ string) endpoint {
	return endpoint{run: func(c *call) answer {
		scope := "/v2/payments " + in.str(keyOfSquare)
		if k := p.keys.keys[scope]; k != nil && k.resource != "" {
			r := p.byRef["payments "+k.resource]
			r.data["status"] = "CANCELED"
			p.record(c, r, "cancel", 0, "")
			delete(p.keys.keys, scope)
		}
		return jsonAnswer(http.StatusOK, map[string]any{})
	}}
}

// refund is POST /v2/refunds: PENDING at first. Spec, RefundPaymentRequest and
// RefundPaymentResponse. Of a payment that was taken elsewhere the amount is not known.
func (p *square) refund(in params, _ string) endpoint {
	amount, currency, bad := squareMoney(in)
	payment := p.byRef["payments "+in.str("payment_id")]
	if bad != nil {
		return *bad
	}
	if in.str("payment_id") == "" {
		return invalid(squareError(http.StatusBadRequest, "INVALID_REQUEST_ERROR", "MISSING_REQUIRED_PARAMETER", "payment_id"))
	}
	if payment != nil {
		left, _, _ := squareMoney(payment.data)
		for _, r := range p.all {
			if n, _, _ := squareMoney(r.data); r.collection == "refunds" && r.data.str("payment_id") == payment.id {
				left -= n
			}
		}
		if amount > left {
			return invalid(squareError(http.StatusBadRequest, "REFUND_ERROR", "REFUND_AMOUNT_INVALID", "amount_money.amount"))
		}
	}
	return p.creation("refunds", "refund", carry(map[string]any{"status": "PENDING"}, in, "amount_money", "payment_id", "reason"), amount, currency)
}

func (p *square) order(in params, _ string) endpoint {
	return p.creation("orders", "order", carry(map[string]any{"state": "OPEN", "version": 1}, in.sub("order"), "location_id", "reference_id", "line_items"), 0, "")
}

// pay is POST /v2/orders/{order_id}/pay: it completes approved payments. Spec, PayOrder.
func (p *square) pay(in params, id string) endpoint {
	return endpoint{run: func(c *call) answer {
		r := p.byRef["orders "+id]
		if r == nil {
			r = p.put(c, "orders", id, map[string]any{"version": 1})
		}
		list, _ := in["payment_ids"].([]any)
		for _, v := range list {
			if paid, _ := v.(string); p.byRef["payments "+paid] != nil {
				p.byRef["payments "+paid].data["status"] = "COMPLETED"
			}
		}
		r.data["state"] = "COMPLETED"
		p.record(c, r, "pay", 0, "")
		return jsonAnswer(http.StatusOK, map[string]any{"order": r.data})
	}}
}

func (p *square) checkout(in params, _ string) endpoint {
	checkout := in.sub("checkout")
	amount, currency, bad := squareMoney(checkout)
	if bad != nil {
		return *bad
	}
	return p.creation("checkouts", "checkout", carry(map[string]any{"status": "PENDING"}, checkout, "amount_money", "reference_id", "device_options"), amount, currency)
}

func (p *square) item(in params, _ string) endpoint {
	return p.creation("objects", "catalog_object", carry(map[string]any{"version": 1}, in.sub("object"), "type", "item_data"), 0, "")
}

func (p *square) items(in params, _ string) endpoint {
	return endpoint{run: func(c *call) answer {
		objects, mappings := []any{}, []any{}
		batches, _ := in["batches"].([]any)
		for _, b := range batches {
			batch, _ := b.(map[string]any)
			list, _ := batch["objects"].([]any)
			for _, v := range list {
				o, _ := v.(map[string]any)
				r := p.add(c, "objects", carry(map[string]any{"version": 1}, o, "type", "item_data"))
				p.record(c, r, "create", 0, "")
				objects = append(objects, r.data)
				mappings = append(mappings, map[string]any{"client_object_id": o["id"], "object_id": r.id})
			}
		}
		return jsonAnswer(http.StatusOK, map[string]any{"objects": objects, "id_mappings": mappings})
	}}
}

// inventory shows the counts, and no reference to the change: spec, BatchChangeInventoryResponse.
func (p *square) inventory(params, string) endpoint {
	return endpoint{run: func(c *call) answer {
		r := p.add(c, "changes", map[string]any{})
		p.record(c, r, "create", 0, "")
		count := map[string]any{"catalog_object_id": "item-1", "state": "IN_STOCK", "quantity": "1", "calculated_at": squareTime(c.at)}
		return jsonAnswer(http.StatusOK, map[string]any{"counts": []any{count}, "errors": []any{}})
	}}
}

// creation creates a resource and shows it.
func (p *square) creation(collection, shows string, data map[string]any, amount int64, currency string) endpoint {
	return endpoint{run: func(c *call) answer {
		r := p.add(c, collection, data)
		p.record(c, r, "create", amount, currency)
		return jsonAnswer(http.StatusOK, map[string]any{shows: r.data})
	}}
}

func (p *square) add(c *call, collection string, data map[string]any) *squareResource {
	return p.put(c, collection, strings.TrimPrefix(p.s.newID("", 22), "_"), data)
}

func (p *square) put(c *call, collection, id string, data map[string]any) *squareResource {
	r := &squareResource{collection: collection, id: id, created: c.at, data: data}
	r.data["id"], r.data["created_at"], r.data["updated_at"] = id, squareTime(c.at), squareTime(c.at)
	p.all, p.byRef[collection+" "+id] = append(p.all, r), r
	return r
}

func (p *square) record(c *call, r *squareResource, action string, amount int64, currency string) {
	p.s.record(c, Effect{Kind: strings.TrimSuffix(r.collection, "s"), Action: action, Resource: r.id, Amount: amount, Currency: strings.ToLower(currency)})
}

func squareTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// squareMoney reads amount_money: spec, Money.
func squareMoney(in params) (amount int64, currency string, bad *endpoint) {
	money := in.sub("amount_money")
	amount, ok := money.int64("amount")
	if ok && amount >= 0 && money.str("currency") != "" {
		return amount, money.str("currency"), nil
	}
	e := invalid(squareError(http.StatusBadRequest, "INVALID_REQUEST_ERROR", "INVALID_VALUE", "amount_money"))
	return 0, "", &e
}

// read serves one resource, or the lists of payments and of refunds.
func (p *square) read(c *call, seg []string) answer {
	if len(seg) > 1 && seg[1] == "terminals" {
		seg = seg[1:]
	}
	if len(seg) == 2 && (seg[1] == "payments" || seg[1] == "refunds") {
		return p.list(c, seg[1])
	}
	if len(seg) == 3 {
		if r := p.byRef[seg[1]+" "+seg[2]]; r != nil {
			return jsonAnswer(http.StatusOK, map[string]any{strings.TrimSuffix(r.collection, "s"): r.data})
		}
	}
	return squareError(http.StatusNotFound, "INVALID_REQUEST_ERROR", "NOT_FOUND", "")
}

// list is eventually consistent, newest first unless asked otherwise, 100 a page, and
// has no name where it is empty. Spec, ListPayments and ListPaymentRefunds.
func (p *square) list(c *call, collection string) answer {
	begin, _ := day(c.query.Get("begin_time"))
	end, bounded := day(c.query.Get("end_time"))
	var found []any
	for _, r := range p.all {
		location, total := c.query.Get("location_id"), c.query.Get("total")
		amount, _, _ := squareMoney(r.data)
		if r.collection == collection && p.s.visible(c.at, r.created) && !r.created.Before(begin) && (!bounded || !r.created.After(end)) &&
			(location == "" || location == r.data.str("location_id")) && (total == "" || total == strconv.FormatInt(amount, 10)) {
			found = append(found, r.data)
		}
	}
	if c.query.Get("sort_order") != "ASC" {
		slices.Reverse(found)
	}
	limit := 100
	if n, err := strconv.Atoi(c.query.Get("limit")); err == nil && n > 0 {
		limit = min(n, limit)
	}
	start, _ := strconv.Atoi(strings.TrimPrefix(c.query.Get("cursor"), "page-"))
	start = max(0, min(start, len(found)))
	stop := min(start+limit, len(found))
	body := map[string]any{}
	if start < stop {
		body[collection] = found[start:stop]
	}
	if stop < len(found) {
		body["cursor"] = "page-" + strconv.Itoa(stop)
	}
	return jsonAnswer(http.StatusOK, body)
}

func (p *square) throttled(*call) answer {
	return squareError(http.StatusTooManyRequests, "RATE_LIMIT_ERROR", "RATE_LIMITED", "")
}

func (p *square) unavailable(*call) answer {
	return squareError(http.StatusServiceUnavailable, "API_ERROR", "SERVICE_UNAVAILABLE", "")
}

// failure is an error of Square's own, which is a TEMPORARY_ERROR in the category of the
// declines where the status is not one of a server. Spec, ErrorCode.
func (p *square) failure(c *call) answer {
	code := map[int]string{501: "NOT_IMPLEMENTED", 502: "BAD_GATEWAY", 503: "SERVICE_UNAVAILABLE", 504: "GATEWAY_TIMEOUT"}[c.plan.saveErr]
	switch {
	case c.plan.saveErr < 500:
		return squareError(c.plan.saveErr, "PAYMENT_METHOD_ERROR", "TEMPORARY_ERROR", "")
	case code == "":
		code = "INTERNAL_SERVER_ERROR"
	}
	return squareError(c.plan.saveErr, "API_ERROR", code, "")
}

// finish has nothing to add: no header of every answer is documented.
func (p *square) finish(*call, *answer) {}

func (p *square) setState(id, state string) bool {
	for _, collection := range []string{"payments", "refunds", "checkouts"} {
		if r := p.byRef[collection+" "+id]; r != nil {
			r.data["status"] = state
			return true
		}
	}
	return false
}

// squareError is the one shape of errors: spec, Error.
func squareError(status int, category, code, field string) answer {
	return jsonAnswer(status, map[string]any{"errors": []any{squareFault(category, code, field)}})
}

func squareFault(category, code, field string) map[string]any {
	e := map[string]any{"category": category, "code": code, "detail": "An error of the kind " + code + " occurred."}
	if field != "" {
		e["field"] = field
	}
	return e
}

var _ provider = (*square)(nil)

package fakes

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// zeptoLists are the collections by their path. Spec, paths.
var zeptoLists = map[string]string{
	"payments": "payment", "payment_requests/collections": "payment_request",
	"refunds/outgoing": "refund", "transfers": "transfer", "contacts": "contact",
}

// zeptoOnes are the paths of one resource.
var zeptoOnes = map[string]string{
	"payments": "payment", "payment_requests": "payment_request", "refunds": "refund",
	"transfers": "transfer", "contacts": "contact",
}

func (p *zepto) read(c *call, seg []string) answer {
	path := seg[0]
	if len(seg) == 2 {
		path += "/" + seg[1]
	}
	kind, isList := zeptoLists[path]
	switch {
	case len(seg) > 2:
	case isList:
		var data []any
		for _, r := range p.visible(kind) {
			data = append(data, r.data)
		}
		return p.page(c, keepFields(c, data, "from_bank_account_id", "to_bank_account_id", "name", "nickname", "email"))
	case path == "payment_requests/receivables":
		return p.page(c, nil)
	case path == "transactions":
		return p.transactions(c)
	case len(seg) == 2:
		if r := p.byRef[seg[1]]; r != nil && !r.deleted && r.kind == zeptoOnes[seg[0]] {
			return jsonAnswer(http.StatusOK, map[string]any{"data": r.data})
		}
	}
	return zeptoText(http.StatusNotFound, "Not found")
}

// keepFields applies the filters by a field's value that the query gives.
func keepFields(c *call, data []any, names ...string) []any {
	for _, name := range names {
		if want := c.query.Get(name); want != "" {
			data = slices.DeleteFunc(data, func(v any) bool { return fmt.Sprint(v.(map[string]any)[name]) != want })
		}
	}
	return data
}

// page cuts one page: 25 by default, 100 at most, a larger value counts as 100; a
// Link header only where there is a next page. Guide, "Pagination". The order is
// not documented: newest first.
func (p *zepto) page(c *call, data []any) answer {
	size, number := 25, 1
	if n, err := strconv.Atoi(c.query.Get("per_page")); err == nil && n > 0 {
		size = min(n, 100)
	}
	if n, err := strconv.Atoi(c.query.Get("page")); err == nil && n > 0 {
		number = n
	}
	start := len(data)
	if number-1 <= len(data)/size {
		start = (number - 1) * size
	}
	end := min(start+size, len(data))
	a := jsonAnswer(http.StatusOK, map[string]any{"data": append([]any{}, data[min(start, end):end]...)})
	a.header.Set("Per-Page", strconv.Itoa(size))
	if end < len(data) {
		q := c.query
		q.Set("page", strconv.Itoa(number+1))
		a.header.Set("Link", fmt.Sprintf("<%s%s?%s>; rel=\"next\"", c.base, c.path, q.Encode()))
	}
	return a
}

// transactions lists the debits of payouts and refunds. Spec, GET /transactions:
// those created in the last 30 days unless min_created_date says otherwise.
func (p *zepto) transactions(c *call) answer {
	from, ok := day(c.query.Get("min_created_date"))
	if !ok {
		from = c.at.AddDate(0, 0, -30)
	}
	until, bounded := day(c.query.Get("max_created_date"))
	if bounded && len(c.query.Get("max_created_date")) == len(time.DateOnly) {
		until = until.AddDate(0, 0, 1).Add(-time.Nanosecond)
	}
	var data []any
	for _, r := range slices.Backward(p.resources) {
		if r.created.Before(from) || bounded && r.created.After(until) {
			continue
		}
		data = append(data, transactionsOf(r)...)
	}
	data = keepFields(c, data, "ref", "parent_ref", "status", "category", "type", "party_contact_id", "description")
	return p.page(c, inRange(c, data))
}

func transactionsOf(r *zeptoResource) []any {
	one := func(ref, category string, of map[string]any) map[string]any {
		t := map[string]any{
			"ref": ref, "parent_ref": r.ref, "type": "debit", "category": category, "created_at": stamp(r.created),
			"matured_at": nil, "cleared_at": nil, "bank_ref": nil, "status": "maturing",
			"status_changed_at": stamp(r.created), "party_contact_id": of["recipient_contact_id"],
			"description": of["description"], "amount": of["amount"], "bank_account_id": r.data["your_bank_account_id"],
		}
		if s := of["status"]; s != nil {
			t["status"] = s
		}
		return t
	}
	switch r.kind {
	case "payment":
		var out []any
		for _, v := range r.data["payouts"].([]any) {
			po := v.(map[string]any)
			out = append(out, one(po["ref"].(string), "payout", po))
		}
		return out
	case "refund":
		return []any{one(r.data["debit_ref"].(string), "payout_refund", r.data)}
	}
	return nil
}

func inRange(c *call, data []any) []any {
	low, lowOK := params{"v": c.query.Get("min_amount")}.int64("v")
	high, highOK := params{"v": c.query.Get("max_amount")}.int64("v")
	return slices.DeleteFunc(data, func(v any) bool {
		n, _ := params(v.(map[string]any)).int64("amount")
		return lowOK && n < low || highOK && n > high
	})
}

// day reads a date or a time of ISO 8601.
func day(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

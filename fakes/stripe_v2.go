package fakes

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// stripeObjectV2 is the object type of a v2 collection: core/accounts, v2.core.account.
// D docs.stripe.com/api/v2/money-management/outbound-payments/object, 2026-11-29.
func stripeObjectV2(collection string) string { return "v2." + singular(collection) }

// prepareV2 validates a write of API v2: JSON in, JSON out.
func (p *stripe) prepareV2(r stripeRoute, o *stripeObject, in params) endpoint {
	if o != nil {
		return endpoint{run: func(c *call) answer { return p.updateV2(c, r, o, in) }}
	}
	if !strings.Contains(r.collection, "/") {
		return invalid(stripeError(http.StatusNotFound, "invalid_request_error", "", "", "Unrecognized request URL."))
	}
	if r.collection == "money_management/outbound_payments" {
		for _, name := range []string{"amount", "from", "to"} {
			if in.sub(name) == nil {
				return invalid(stripeError(http.StatusBadRequest, "invalid_request_error", "parameter_missing", name,
					"Missing required param: "+name+"."))
			}
		}
	}
	return endpoint{run: func(c *call) answer {
		data, _ := clone(in).(map[string]any)
		if r.collection == "money_management/outbound_payments" {
			// D docs.stripe.com/api/v2/money-management/outbound-payments/object, 2026-11-29.
			data["status"], data["cancelable"] = "processing", true
		}
		o := p.add(c, r.collection, prefix(r.collection), stripeObjectV2(r.collection), data)
		p.effect(c, o, "create", 0, in)
		return jsonAnswer(http.StatusOK, o.data)
	}}
}

func (p *stripe) updateV2(c *call, r stripeRoute, o *stripeObject, in params) answer {
	action := r.action
	switch action {
	case "":
		action = "update"
	case "cancel":
		// Only processing ones can be cancelled. D docs.stripe.com/api/v2/money-management/
		// outbound-payments/cancel, 2026-11-29.
		if !state(o, "processing") {
			return stripeError(http.StatusBadRequest, "invalid_request_error", "not_cancelable", "",
				"Only processing outbound payments can be canceled.")
		}
		o.data["status"], o.data["cancelable"] = "canceled", false
	}
	for k, v := range in {
		if !control[k] {
			o.data[k] = clone(v)
		}
	}
	o.changed = c.at
	p.effect(c, o, action, 0, in)
	return jsonAnswer(http.StatusOK, o.data)
}

// listV2 pages by URLs: data, next_page_url, previous_page_url, newest first.
// D docs.stripe.com/api-v2-overview; S stripe-python v2 ListObject, 2026-11-29.
func (p *stripe) listV2(c *call, r stripeRoute) answer {
	limit := 20
	if v := c.query.Get("limit"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > 100 {
			return stripeError(http.StatusBadRequest, "invalid_request_error", "parameter_invalid_integer", "limit",
				"limit must be between 1 and 100.")
		}
		limit = n
	}
	all := p.visible(c, r.collection)
	start := 0
	if page := c.query.Get("page"); page != "" {
		id, err := base64.RawURLEncoding.DecodeString(page)
		at := slices.IndexFunc(all, func(o *stripeObject) bool { return o.id == string(id) })
		if err != nil || at < 0 {
			return stripeError(http.StatusBadRequest, "invalid_request_error", "", "page", "Invalid page token.")
		}
		start = at + 1
	}
	end := min(start+limit, len(all))
	out := map[string]any{"data": bodies(all[start:end]), "next_page_url": nil, "previous_page_url": nil}
	if end < len(all) {
		q := url.Values{
			"limit": {strconv.Itoa(limit)},
			"page":  {base64.RawURLEncoding.EncodeToString([]byte(all[end-1].id))},
		}
		out["next_page_url"] = c.path + "?" + q.Encode()
	}
	return jsonAnswer(http.StatusOK, out)
}

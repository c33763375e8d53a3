package fakes

import (
	"net/http"
	"strings"
)

// prepare validates a write.
func (p *paypal) prepare(c *call, what, id string, in params) endpoint {
	refuse := func(issue string) endpoint {
		return invalid(paypalError(http.StatusUnprocessableEntity, "UNPROCESSABLE_ENTITY", issue))
	}
	if mock := c.header.Get("PayPal-Mock-Response"); mock != "" {
		// developer.paypal.com/tools/sandbox/negative-testing/request-headers
		codes, _ := parseJSON([]byte(mock))
		return refuse(codes.str("mock_application_codes"))
	}
	amount, currency, ok := paypalAmount(in)
	if _, given := in["amount"]; given && !ok {
		return refuse("CANNOT_BE_ZERO_OR_NEGATIVE")
	}
	if invoice := in.str("invoice_id"); invoice != "" && p.invoices[invoice] {
		return refuse("DUPLICATE_INVOICE_ID")
	}
	switch what {
	case paypalOrders + "|":
		return p.createOrder(c, in)
	case paypalOrders + "|capture", paypalOrders + "|authorize":
		return p.completeOrder(id, strings.TrimPrefix(what, paypalOrders+"|"))
	case paypalAuths + "|capture":
		auth := p.elsewhere(paypalAuths, id, "CREATED")
		switch auth["status"] {
		case "CAPTURED":
			return refuse("AUTHORIZATION_ALREADY_CAPTURED")
		case "VOIDED":
			return refuse("AUTHORIZATION_VOIDED")
		}
		return endpoint{run: func(c *call) answer {
			auth["status"] = "PARTIALLY_CAPTURED"
			if amount == 0 || in["final_capture"] == true {
				auth["status"] = "CAPTURED"
			}
			return p.make(c, paypalCaptures, "capture", "COMPLETED", in, amount, currency)
		}}
	case paypalAuths + "|reauthorize":
		return endpoint{run: func(c *call) answer { return p.make(c, paypalAuths, "authorization", "CREATED", in, amount, currency) }}
	case paypalAuths + "|void":
		auth := p.elsewhere(paypalAuths, id, "CREATED")
		switch auth["status"] {
		case "CAPTURED":
			return refuse("PREVIOUSLY_CAPTURED")
		case "VOIDED":
			return refuse("PREVIOUSLY_VOIDED")
		}
		return endpoint{run: func(c *call) answer {
			auth["status"] = "VOIDED"
			p.s.record(c, Effect{Kind: "authorization", Action: "void", Resource: id})
			if !paypalWhole(c) {
				return answer{status: http.StatusNoContent}
			}
			return jsonAnswer(http.StatusOK, auth)
		}}
	case paypalCaptures + "|refund":
		capture := p.elsewhere(paypalCaptures, id, "COMPLETED")
		if capture["status"] == "REFUNDED" {
			return refuse("CAPTURE_FULLY_REFUNDED")
		}
		return endpoint{run: func(c *call) answer {
			capture["status"] = "PARTIALLY_REFUNDED"
			if amount == 0 {
				capture["status"] = "REFUNDED"
			}
			return p.make(c, paypalRefunds, "refund", "COMPLETED", in, amount, currency)
		}}
	case paypalBatches + "|":
		return p.payOut(in)
	case paypalTokens + "|":
		return endpoint{run: func(c *call) answer { return p.make(c, paypalTokens, "payment-token", "", in, 0, "") }}
	}
	return invalid(paypalError(http.StatusNotFound, "RESOURCE_NOT_FOUND", "INVALID_RESOURCE_ID"))
}

func (p *paypal) createOrder(c *call, in params) endpoint {
	units, _ := in["purchase_units"].([]any)
	var total int64
	currency := ""
	for _, v := range units {
		unit, _ := v.(map[string]any)
		amount, in, ok := paypalAmount(unit)
		if !ok {
			return invalid(paypalError(http.StatusUnprocessableEntity, "UNPROCESSABLE_ENTITY", "CANNOT_BE_ZERO_OR_NEGATIVE"))
		}
		total, currency = total+amount, in
	}
	switch {
	case len(units) == 0 || in.str("intent") == "":
		return invalid(paypalError(http.StatusBadRequest, "INVALID_REQUEST", "MISSING_REQUIRED_PARAMETER"))
	case in["payment_source"] != nil && c.key == "":
		return invalid(paypalError(http.StatusBadRequest, "INVALID_REQUEST", "PAYPAL_REQUEST_ID_REQUIRED"))
	}
	return endpoint{run: func(c *call) answer { return p.make(c, paypalOrders, "order", "CREATED", in, total, currency) }}
}

// completeOrder captures or authorizes an order, which may be done once. Specs.
func (p *paypal) completeOrder(id, action string) endpoint {
	order := params(p.elsewhere(paypalOrders, id, "APPROVED"))
	units, _ := order["purchase_units"].([]any)
	if order["status"] == "COMPLETED" {
		issue := map[string]string{"capture": "ORDER_ALREADY_CAPTURED", "authorize": "ORDER_ALREADY_AUTHORIZED"}[action]
		return invalid(paypalError(http.StatusUnprocessableEntity, "UNPROCESSABLE_ENTITY", issue))
	}
	for _, v := range units {
		if invoice, _ := v.(map[string]any)["invoice_id"].(string); invoice != "" && p.invoices[invoice] {
			return invalid(paypalError(http.StatusUnprocessableEntity, "UNPROCESSABLE_ENTITY", "DUPLICATE_INVOICE_ID"))
		}
	}
	return endpoint{run: func(c *call) answer {
		order["status"] = "COMPLETED"
		var total int64
		currency := ""
		for _, v := range units {
			unit := v.(map[string]any)
			amount, of, _ := paypalAmount(unit)
			total, currency = total+amount, of
			list, state := "captures", "COMPLETED"
			if action == "authorize" {
				list, state = "authorizations", "CREATED"
			}
			unit["payments"] = map[string]any{list: []any{map[string]any{"id": p.id(), "status": state, "amount": unit["amount"]}}}
			if invoice, _ := unit["invoice_id"].(string); invoice != "" {
				p.invoices[invoice] = true
			}
		}
		p.s.record(c, Effect{Kind: "order", Action: action, Resource: id, Amount: total, Currency: currency})
		return p.show(c, http.StatusCreated, order)
	}}
}

func (p *paypal) payOut(in params) endpoint {
	items, _ := in["items"].([]any)
	var total int64
	currency := ""
	var shown []any
	for _, v := range items {
		item, _ := v.(map[string]any)
		amount, of, ok := paypalAmount(item)
		if !ok || params(item).str("receiver") == "" {
			return invalid(paypalError(http.StatusBadRequest, "VALIDATION_ERROR", ""))
		}
		total, currency = total+amount, of
		shown = append(shown, map[string]any{"payout_item_id": p.id(), "transaction_status": "PENDING", "payout_item": item})
	}
	if len(items) == 0 {
		return invalid(paypalError(http.StatusBadRequest, "VALIDATION_ERROR", ""))
	}
	return endpoint{run: func(c *call) answer {
		id := p.id()
		head := map[string]any{"payout_batch_id": id, "batch_status": "PENDING", "sender_batch_header": in["sender_batch_header"]}
		links := []any{paypalLink(c, paypalBatches, id)}
		p.made[paypalBatches+"/"+id] = map[string]any{"batch_header": head, "items": shown, "total_pages": 1, "links": links}
		p.s.record(c, Effect{Kind: "payout", Action: "create", Resource: id, Amount: total, Currency: currency})
		return jsonAnswer(http.StatusCreated, map[string]any{"batch_header": head, "links": links})
	}}
}

// make stores a new resource, records its effect and shows it.
func (p *paypal) make(c *call, path, kind, state string, in params, amount int64, currency string) answer {
	id := p.id()
	data := clone(map[string]any(in)).(map[string]any)
	data["id"], data["links"] = id, []any{paypalLink(c, path, id)}
	if state != "" {
		data["status"] = state
	}
	if invoice := in.str("invoice_id"); invoice != "" {
		p.invoices[invoice] = true
	}
	p.made[path+"/"+id] = data
	p.s.record(c, Effect{Kind: kind, Action: "create", Resource: id, Amount: amount, Currency: currency})
	return p.show(c, http.StatusCreated, data)
}

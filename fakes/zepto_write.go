package fakes

import (
	"math"
	"net/http"
)

// post routes the POST endpoints. Spec, paths.
func (p *zepto) post(c *call, seg []string) answer {
	in, err := parseJSON(c.body)
	with := func(f func(params) endpoint) func() endpoint {
		return func() endpoint {
			if err != nil {
				return invalid(zeptoText(http.StatusBadRequest, "The request body is not valid JSON"))
			}
			return f(in)
		}
	}
	switch {
	case len(seg) == 1 && seg[0] == "payments":
		return p.keyed(c, with(p.payment))
	case len(seg) == 1 && seg[0] == "payment_requests":
		return p.keyed(c, with(p.paymentRequest))
	case len(seg) == 1 && seg[0] == "transfers":
		return p.keyed(c, with(p.transfer))
	case len(seg) == 3 && seg[0] == "credits" && seg[2] == "refunds":
		return p.keyed(c, with(func(in params) endpoint { return p.refund(in, seg[1]) }))
	case len(seg) == 2 && seg[0] == "contacts" && (seg[1] == "anyone" || seg[1] == "receivable"):
		return p.keys.write(c, "", with(func(in params) endpoint { return p.contact(in, seg[1]) }))
	}
	return zeptoText(http.StatusNotFound, "Not found")
}

func refuse(sentence string) endpoint {
	return invalid(zeptoText(http.StatusBadRequest, sentence))
}

// created is the answer that shows a new resource.
func created(status int, r *zeptoResource) answer {
	return jsonAnswer(status, map[string]any{"data": r.data})
}

func (p *zepto) effect(c *call, r *zeptoResource, action string, amount int64, in params) {
	p.s.record(c, Effect{Kind: r.kind, Action: action, Resource: r.ref, Amount: amount, Metadata: in.metadata()})
}

// carry copies the fields that a request gave to the resource that shows them.
func carry(data map[string]any, in params, names ...string) map[string]any {
	for _, name := range names {
		if v, ok := in[name]; ok {
			data[name] = clone(v)
		}
	}
	return data
}

// payment is POST /payments: 201, one debit for each payout, maturing. Spec,
// MakeAPaymentRequest and MakeAPaymentResponse.
func (p *zepto) payment(in params) endpoint {
	list, _ := in["payouts"].([]any)
	if len(list) == 0 {
		return refuse("Payouts can't be blank")
	}
	var total int64
	var payouts []params
	for _, v := range list {
		po, _ := v.(map[string]any)
		amount, ok := params(po).int64("amount")
		if !ok || amount < 1 {
			return refuse("Amount must be greater than 0")
		}
		if params(po).str("recipient_contact_id") == "" {
			return refuse("Recipient contact can't be blank")
		}
		if total > math.MaxInt64-amount {
			return refuse("Amount is too large")
		}
		total += amount
		payouts = append(payouts, po)
	}
	return endpoint{run: func(c *call) answer {
		ref := p.ref("PB")
		data := carry(map[string]any{"ref": ref, "channels": []any{"direct_entry"}}, in,
			"your_bank_account_id", "channels", "metadata")
		var out []any
		for _, po := range payouts {
			matures := stamp(c.at)
			if m := in.str("matures_at"); m != "" {
				matures = m
			}
			out = append(out, carry(map[string]any{
				"ref": p.ref("D"), "batch_description": in["description"], "matures_at": matures,
				"created_at": stamp(c.at), "status": "maturing", "from_id": in["your_bank_account_id"], "to_id": p.uuid(),
			}, po, "recipient_contact_id", "amount", "description", "metadata", "category_purpose_code", "end_to_end_id"))
		}
		data["payouts"] = out
		r := p.add(c, "payment", ref, data)
		p.effect(c, r, "create", total, in)
		return created(http.StatusCreated, r)
	}}
}

// paymentRequest is POST /payment_requests: the spec's one success is 200, under
// the description "Created". Spec, MakeAPaymentRequestResponse.
func (p *zepto) paymentRequest(in params) endpoint {
	amount, ok := in.int64("amount")
	if !ok || amount < 1 {
		return refuse("Amount must be greater than 0")
	}
	if in.str("authoriser_contact_id") == "" {
		return refuse("Authoriser contact can't be blank")
	}
	return endpoint{run: func(c *call) answer {
		ref := p.ref("PR")
		data := carry(map[string]any{
			"ref": ref, "initiator_id": p.uuid(), "authoriser_id": p.uuid(), "contact_initiated": false,
			"schedule_ref": nil, "status": "approved", "status_reason": nil, "responded_at": nil,
			"created_at": stamp(c.at), "credit_ref": nil,
			"payout": carry(map[string]any{}, in, "amount", "description", "matures_at"),
		}, in, "your_bank_account_id", "authoriser_contact_id", "matures_at", "metadata")
		r := p.add(c, "payment_request", ref, data)
		p.effect(c, r, "create", amount, in)
		return created(http.StatusOK, r)
	}}
}

// refund is POST /credits/{credit_ref}/refunds: 200. Which credits exist is not
// checked, since they come about outside of the API. Spec, IssueARefundResponse.
func (p *zepto) refund(in params, credit string) endpoint {
	amount, ok := in.int64("amount")
	if !ok || amount < 1 {
		return refuse("Amount must be greater than 0")
	}
	return endpoint{run: func(c *call) answer {
		ref := p.ref("PRF")
		r := p.add(c, "refund", ref, carry(map[string]any{
			"ref": ref, "for_ref": credit, "debit_ref": p.ref("D"), "created_at": stamp(c.at),
			"contacts": map[string]any{"source_contact_id": p.uuid(), "target_contact_id": p.uuid()},
		}, in, "amount", "channels", "reason", "your_bank_account_id", "metadata"))
		p.effect(c, r, "create", amount, in)
		return created(http.StatusOK, r)
	}}
}

// transfer is POST /transfers: 201. Spec, AddATransferResponse.
func (p *zepto) transfer(in params) endpoint {
	amount, ok := in.int64("amount")
	if !ok || amount < 1 {
		return refuse("Amount must be greater than 0")
	}
	if in.str("from_bank_account_id") == "" || in.str("to_bank_account_id") == "" {
		return refuse("Bank account can't be blank")
	}
	return endpoint{run: func(c *call) answer {
		ref := p.ref("T")
		r := p.add(c, "transfer", ref, carry(map[string]any{"ref": ref}, in,
			"from_bank_account_id", "to_bank_account_id", "amount", "description", "matures_at", "metadata"))
		p.effect(c, r, "create", amount, in)
		return created(http.StatusCreated, r)
	}}
}

// contact is POST /contacts/anyone or /contacts/receivable: 201, no key. Spec,
// AddAnAnyoneContactResponse.
func (p *zepto) contact(in params, kind string) endpoint {
	if in.str("name") == "" {
		return refuse("Name can't be blank")
	}
	return endpoint{run: func(c *call) answer {
		id := p.uuid()
		r := p.add(c, "contact", id, carry(map[string]any{
			"id": id, "type": kind,
			"bank_account": carry(map[string]any{"id": p.uuid(), "state": "active"}, in, "branch_code", "account_number"),
		}, in, "name", "email", "metadata"))
		p.s.record(c, Effect{Kind: "contact", Action: "create", Resource: id, Metadata: in.metadata()})
		return created(http.StatusCreated, r)
	}}
}

// remove is DELETE of a contact, a payment request or a payout: 204. Spec, paths.
func (p *zepto) remove(c *call, seg []string) answer {
	if len(seg) != 2 {
		return zeptoText(http.StatusNotFound, "Not found")
	}
	kind := map[string]string{"contacts": "contact", "payment_requests": "payment_request"}[seg[0]]
	if seg[0] == "payouts" {
		return p.voidPayout(c, seg[1])
	}
	r := p.byRef[seg[1]]
	if r == nil || r.deleted || r.kind != kind {
		return zeptoText(http.StatusNotFound, "Not found")
	}
	return p.keys.write(c, "", func() endpoint {
		return endpoint{run: func(c *call) answer {
			r.deleted = true
			p.effect(c, r, "delete", 0, nil)
			return answer{status: http.StatusNoContent}
		}}
	})
}

func (p *zepto) voidPayout(c *call, ref string) answer {
	for _, r := range p.visible("payment") {
		for _, v := range r.data["payouts"].([]any) {
			po := v.(map[string]any)
			if po["ref"] != ref || po["status"] != "maturing" {
				continue
			}
			return p.keys.write(c, "", func() endpoint {
				return endpoint{run: func(c *call) answer {
					po["status"] = "voided"
					p.s.record(c, Effect{Kind: "payout", Action: "delete", Resource: ref})
					return answer{status: http.StatusNoContent}
				}}
			})
		}
	}
	return zeptoText(http.StatusNotFound, "Not found")
}

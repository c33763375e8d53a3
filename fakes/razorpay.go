package fakes

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// A payout's key is safe for 7 calendar days. errors/x.md, "Handling 5XX Errors".
	razorpayPayouts = 7 * 24 * time.Hour
	// For how long a refund's key is kept is not documented: here for a day.
	razorpayRefunds = 24 * time.Hour
)

// razorpay is Razorpay as its documents describe it: payouts, refunds, captures.
//
// Sources, read 2026-11-29: razorpay/markdown-docs at ab3bda5, by path.
type razorpay struct {
	s       *Server
	payouts keyed
	refunds keyed
	list    []*razorpayEntity // in the order of creation
}

// razorpayEntity is a payout or a refund; of it a request shows what it is by now.
type razorpayEntity struct {
	created time.Time
	account string // from which a payout is made, "" for a refund
	data    map[string]any
}

// NewRazorpay returns a fake Razorpay. A nil o is a provider without delays. A payout
// with the narration "failed", and a refund with the receipt "failed", come to nothing.
// The smallest amount is 1 here, so that any can be tried.
func NewRazorpay(o *Options) *Server {
	s := newServer(o)
	p := &razorpay{s: s}
	p.payouts = keyed{
		s: s, retention: razorpayPayouts, failure: p.failure,
		// A payout that was created has the key, whatever was told of it and whatever
		// became of it. errors/x.md; api/x/payout-idempotency.md.
		keeps: keepEffects, again: p.current,
		// api/x/payout-idempotency/make-request.md; the words are of errors/x.md. Of a
		// repeat while the first request runs nothing is said.
		mismatch: p.other(http.StatusBadRequest, "Different request body sent for the same Idempotency Header."),
	}
	p.refunds = keyed{
		s: s, retention: razorpayRefunds, failure: p.failure, keeps: keepEffects, again: p.current,
		// api/refunds/normal-refunds-idempotent.md, "Errors": both are a 409.
		mismatch: p.other(http.StatusConflict, "Different request with the same idempotency key has already been processed."),
		busy: func(*call, *remembered) answer {
			return razorpayError(http.StatusConflict, "Another request with the same idempotency key is still in progress.", "NA", "")
		},
	}
	s.provider = p
	return s
}

// other refuses a repeat with another body.
func (p *razorpay) other(status int, text string) func(*call, *remembered) *answer {
	return func(c *call, r *remembered) *answer {
		if c.print == r.print {
			return nil
		}
		a := razorpayError(status, text, "NA", "")
		return &a
	}
}

// current shows what a key made as it is now. x/payouts/best-practices.md.
func (p *razorpay) current(_ *call, r *remembered) answer {
	body, _ := parseJSON(r.kept.body)
	return jsonAnswer(http.StatusOK, p.find(body.str("id")).data)
}

func (p *razorpay) find(id string) *razorpayEntity {
	i := slices.IndexFunc(p.list, func(e *razorpayEntity) bool { return e.data["id"] == id })
	if i < 0 {
		return nil
	}
	return p.list[i]
}

func (p *razorpay) identify(c *call) {
	c.key = c.header.Get("X-Payout-Idempotency")
	if c.path != "/v1/payouts" {
		c.key = c.header.Get("X-Refund-Idempotency")
	}
	in, _ := parseJSON(c.body)
	c.print = fingerprint(c, in)
}

func (p *razorpay) handle(c *call) answer {
	if c.header.Get("Authorization") == "" {
		return razorpayError(http.StatusUnauthorized, "The api key provided is invalid", "NA", "")
	}
	seg := strings.Split(strings.Trim(c.path, "/"), "/")
	switch path := strings.Join(seg, "/"); {
	case c.method == http.MethodPost:
		return p.post(c, seg)
	case c.method != http.MethodGet:
	case path == "v1/payouts" && c.query.Get("account_number") != "": // mandatory: api/x/payouts/fetch-all.md
		return p.search(c, func(e *razorpayEntity) bool {
			ref := c.query.Get("reference_id")
			return e.account == c.query.Get("account_number") && (ref == "" || e.data["reference_id"] == ref)
		})
	case len(seg) == 4 && seg[1] == "payments" && seg[3] == "refunds": // api/refunds/fetch-multiple-refund-payment.md
		return p.search(c, func(e *razorpayEntity) bool { return e.data["payment_id"] == seg[2] })
	case len(seg) == 3 && (seg[1] == "payouts" || seg[1] == "refunds"):
		if e := p.find(seg[2]); e != nil && e.data["entity"] == strings.TrimSuffix(seg[1], "s") && p.s.visible(c.at, e.created) {
			return jsonAnswer(http.StatusOK, e.data)
		}
	}
	return razorpayError(http.StatusBadRequest, "The requested URL was not found on the server.", "NA", "")
}

func (p *razorpay) post(c *call, seg []string) answer {
	in, err := parseJSON(c.body)
	if err != nil && len(c.body) > 0 {
		return razorpayError(http.StatusBadRequest, "The request body is not valid", "input_validation_failed", "")
	}
	switch {
	case len(seg) == 2 && seg[1] == "payouts":
		if bad := razorpayKey(c.key, 4, 36, " ", "X-Payout-Idempotency"); bad != nil {
			return *bad
		}
		return p.payouts.write(c, c.key, func() endpoint { return p.payout(in) })
	case len(seg) == 4 && seg[1] == "payments" && seg[3] == "refund":
		if bad := razorpayKey(c.key, 10, 0, "", "X-Refund-Idempotency"); bad != nil && c.key != "" {
			return *bad
		}
		return p.refunds.write(c, c.key, func() endpoint { return p.refund(seg[2], in) })
	case len(seg) == 4 && seg[1] == "payments" && seg[3] == "capture":
		return p.payouts.write(c, "", func() endpoint { return p.capture(seg[2], in) })
	}
	return razorpayError(http.StatusBadRequest, "The requested URL was not found on the server.", "NA", "")
}

// razorpayKey refuses a key that is missing or malformed. The documents of both headers.
func razorpayKey(key string, least, most int, more, header string) *answer {
	strange := func(r rune) bool {
		return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"+more, r)
	}
	text := ""
	switch {
	case key == "":
		text = "Idempotency key is missing. Include idempotency header and key in the request."
	case len(key) < least:
		text = "The idempotency key must be at least " + strconv.Itoa(least) + " characters long."
	case most > 0 && len(key) > most, strings.ContainsFunc(key, strange):
		text = "The idempotency key must only contain alphanumeric characters, underscores, and hyphens"
	default:
		return nil
	}
	a := razorpayError(http.StatusBadRequest, text, "null", header)
	return &a
}

// finish has nothing to add: no header of every answer is documented.
func (p *razorpay) finish(*call, *answer) {}

// throttled: the status alone is documented. api/understand.md, "Rate Limiting".
func (p *razorpay) throttled(*call) answer {
	return razorpayError(http.StatusTooManyRequests, "Too many requests", "NA", "")
}

func (p *razorpay) unavailable(*call) answer {
	return razorpayServer(http.StatusServiceUnavailable)
}

func (p *razorpay) failure(c *call) answer { return razorpayServer(c.plan.saveErr) }

// razorpayServer is an error of the server. errors/x.md, the words; api/partners/errors.md,
// the code.
func razorpayServer(status int) answer {
	return jsonAnswer(status, map[string]any{"error": map[string]any{"code": "SERVER_ERROR", "source": "internal", "step": "NA", "reason": "NA",
		"description": "We are facing some trouble completing your request at the moment. Please try again shortly.", "metadata": map[string]any{}}})
}

// razorpayError is a refusal. errors/x.md, "Sample Error Response".
func razorpayError(status int, text, reason, field string) answer {
	e := map[string]any{"code": "BAD_REQUEST_ERROR", "description": text, "source": "business", "step": "NA", "reason": reason, "metadata": map[string]any{}}
	if reason == "NA" {
		e["source"] = "NA"
	}
	if field != "" {
		e["field"] = field
	}
	return jsonAnswer(status, map[string]any{"error": e})
}

func razorpayMissing(field string) endpoint {
	return invalid(razorpayError(http.StatusBadRequest, "The "+strings.ReplaceAll(field, "_", " ")+" field is required", "input_validation_failed", field))
}

func (p *razorpay) setState(id, state string) bool {
	e := p.find(id)
	if e != nil {
		e.data["status"] = state
	}
	return e != nil
}

// create makes an entity and shows it. One that failed has no effect.
func (p *razorpay) create(c *call, account string, amount int64, data map[string]any) answer {
	data["created_at"] = c.at.Unix()
	p.list = append(p.list, &razorpayEntity{created: c.at, account: account, data: data})
	if data["status"] != "failed" {
		p.s.record(c, Effect{Kind: data["entity"].(string), Action: "create", Resource: data["id"].(string), Amount: amount, Currency: "inr"})
	}
	return jsonAnswer(http.StatusOK, data)
}

// payout is POST /v1/payouts. api/x/payout-idempotency/make-request.md.
func (p *razorpay) payout(in params) endpoint {
	for _, name := range []string{"account_number", "currency", "mode", "purpose"} {
		if in.str(name) == "" {
			return razorpayMissing(name)
		}
	}
	amount, ok := in.int64("amount")
	if !ok || amount < 1 {
		return razorpayMissing("amount")
	}
	return endpoint{run: func(c *call) answer {
		fund, status := in.str("fund_account_id"), "processing"
		if fund == "" { // the composite API makes one: api/x/payout-composite/create/bank-account.md
			fund = p.s.newID("fa", 14)
		}
		if in.str("narration") == "failed" {
			status = "failed"
		}
		return p.create(c, in.str("account_number"), amount, carry(map[string]any{
			"id": p.s.newID("pout", 14), "entity": "payout", "fund_account_id": fund, "amount": amount, "status": status,
			"fees": 0, "tax": 0, "utr": nil, "batch_id": nil, "status_details": nil,
		}, in, "currency", "notes", "mode", "purpose", "reference_id", "narration"))
	}}
}

// refund is POST /v1/payments/{id}/refund. Which payments there are, and how much of
// them is left, is not checked. api/refunds/normal-refunds-idempotent.md.
func (p *razorpay) refund(payment string, in params) endpoint {
	amount, ok := in.int64("amount")
	if !ok || amount < 1 {
		return razorpayMissing("amount")
	}
	return endpoint{run: func(c *call) answer {
		status := "processed"
		if in.str("receipt") == "failed" {
			status = "failed"
		}
		return p.create(c, "", amount, carry(map[string]any{
			"id": p.s.newID("rfnd", 14), "entity": "refund", "amount": amount, "currency": "INR", "payment_id": payment, "status": status,
			"receipt": nil, "batch_id": nil, "acquirer_data": map[string]any{"arn": nil}, "speed_processed": "normal", "speed_requested": "normal",
		}, in, "receipt", "notes"))
	}}
}

// capture is POST /v1/payments/{id}/capture, which has no key. That one was captured
// before is not checked: what it would get is not documented.
func (p *razorpay) capture(payment string, in params) endpoint {
	amount, ok := in.int64("amount")
	if !ok || amount < 1 {
		return razorpayMissing("amount")
	}
	return endpoint{run: func(c *call) answer {
		p.s.record(c, Effect{Kind: "payment", Action: "capture", Resource: payment, Amount: amount, Currency: strings.ToLower(in.str("currency"))})
		return jsonAnswer(http.StatusOK, carry(map[string]any{"id": payment, "entity": "payment", "amount": amount, "status": "captured", "captured": true}, in, "currency"))
	}}
}

// search lists what matches, newest first, 10 of them or count, after skip.
// api/x/payouts/fetch-all.md; api/refunds/fetch-multiple-refund-payment.md.
func (p *razorpay) search(c *call, match func(*razorpayEntity) bool) answer {
	number := func(name string, or int64) int64 {
		if n, ok := (params{"n": c.query.Get(name)}).int64("n"); ok && n >= 0 {
			return n
		}
		return or
	}
	items, skip, count := []any{}, number("skip", 0), min(number("count", 10), 100)
	from, to := number("from", 0), number("to", c.at.Unix())
	for _, e := range slices.Backward(p.list) {
		at := e.created.Unix()
		switch {
		case !match(e), at < from, at > to, !p.s.visible(c.at, e.created):
		case skip > 0:
			skip--
		case int64(len(items)) < count:
			items = append(items, e.data)
		}
	}
	return jsonAnswer(http.StatusOK, map[string]any{"entity": "collection", "count": len(items), "items": items})
}

var _ provider = (*razorpay)(nil)

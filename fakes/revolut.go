package fakes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// Ids are checked against the transactions of the last two weeks. Spec, /pay,
	// request_id. Of /transfer and /exchange no time is documented: the same one.
	revolutMoney = 14 * 24 * time.Hour
	// Cards are told apart for 24 hours from the first request. Spec, /cards, request_id.
	revolutCards = 24 * time.Hour
	// A search for a request_id covers at most 14 days. Spec, GET /transactions.
	revolutSearch = 14 * 24 * time.Hour
	// Any id of up to 40 characters. Spec, request_id.
	revolutKeyMax = 40
)

// revolut is Revolut's Business API as its OpenAPI document describes it.
//
// Source, read 2026-11-29: revolut-engineering/revolut-openapi at 8e8bedc,
// json/business.json ("spec").
type revolut struct {
	s     *Server
	money keyed
	cards keyed
	list  []*revolutTransaction // in the order of creation
}

type revolutTransaction struct {
	created time.Time
	data    map[string]any
}

// NewRevolut returns a fake Revolut Business. A nil o is a provider without delays. A
// payment with the reference "declined" lacks balance.
func NewRevolut(o *Options) *Server {
	s := newServer(o)
	p := &revolut{s: s}
	p.money = keyed{
		s: s, retention: revolutMoney, failure: p.failure,
		// The transaction holds the id, whatever was told of it, declined ones too. A
		// failure that left no transaction is not in the way. Spec, /pay, request_id.
		keeps: keepEffects,
		// Spec, /pay, 400. Nothing is said of a repeat while the first request runs.
		again: func(c *call, _ *remembered) answer {
			return p.refuse(http.StatusBadRequest, 3020, "Duplicate request: "+c.key)
		},
	}
	p.cards = keyed{
		s: s, retention: revolutCards, failure: p.failure, keeps: keepResults,
		// Spec, /cards, 429.
		busy: func(c *call, _ *remembered) answer {
			return p.refuse(http.StatusTooManyRequests, 3162, "Parallel requests conflict. Please synchronize your requests. request_id="+c.key)
		},
		// Spec, /cards, 422: an unexpected error on the initial request. That a success
		// is shown again is concluded from that.
		again: func(_ *call, r *remembered) answer {
			if r.kept.status >= 300 {
				return p.refuse(http.StatusUnprocessableEntity, 33009, "Idempotent replay failed: first execution was not successful")
			}
			return r.kept.copy()
		},
	}
	s.provider = p
	return s
}

func (p *revolut) identify(c *call) {
	in, err := parseJSON(c.body)
	if err == nil {
		c.key = in.str("request_id")
	}
	c.print = fingerprint(c, in)
}

func (p *revolut) handle(c *call) answer {
	path, ours := strings.CutPrefix(c.path, "/api/1.0/")
	switch {
	case c.header.Get("Authorization") == "":
		return p.refuse(http.StatusUnauthorized, 1000, "Invalid token. The authorization header must follow the 'Bearer <token>' format.")
	case !ours:
	case c.method == http.MethodGet && path == "transactions":
		return p.search(c)
	case c.method == http.MethodGet && strings.HasPrefix(path, "transaction/"):
		return p.one(c, strings.TrimPrefix(path, "transaction/"))
	case c.method == http.MethodPost:
		return p.post(c, path)
	}
	return p.refuse(http.StatusNotFound, 3006, "Resource not found")
}

func (p *revolut) post(c *call, path string) answer {
	in, err := parseJSON(c.body)
	if err != nil {
		return p.refuse(http.StatusBadRequest, 3000, "Cannot parse request: invalid JSON")
	}
	prepare := map[string]func(*call, params) endpoint{
		"pay": p.pay, "transfer": p.transfer, "exchange": p.exchange,
		"cards": p.card("card", "active"), "card-invitations": p.card("card_invitation", "created"), "payment-drafts": p.draft,
	}[path]
	run := func() endpoint { return prepare(c, in) }
	switch {
	case prepare == nil:
		return p.refuse(http.StatusNotFound, 3006, "Resource not found")
	case path == "payment-drafts":
		return p.money.write(c, "", run)
	case c.key == "":
		return p.refuse(http.StatusBadRequest, 3009, "Required 'request_id' is missing")
	case len(c.key) > revolutKeyMax:
		return p.refuse(http.StatusBadRequest, 3000, "Value is not in correct format for field 'request_id'")
	case strings.HasPrefix(path, "card"):
		return p.cards.write(c, path+" "+c.key, run)
	}
	return p.money.write(c, c.key, run)
}

// finish has nothing to add: no header of every answer is documented.
func (p *revolut) finish(*call, *answer) {}

// Spec, TooManyRequests.
func (p *revolut) throttled(*call) answer {
	return p.refuse(http.StatusTooManyRequests, 3162, "Request rate limit has been reached. Try again later.")
}

// Spec, ServiceUnavailable.
func (p *revolut) unavailable(*call) answer {
	return p.refuse(http.StatusServiceUnavailable, 5003, "The service is temporarily unavailable. Try again in a few moments.")
}

// Spec, InternalServerError.
func (p *revolut) failure(c *call) answer {
	return p.refuse(c.plan.saveErr, 5000, "An unexpected error occurred while processing your request.")
}

// refuse is an error. Spec, ErrorWithId.
func (p *revolut) refuse(status, code int, message string) answer {
	return jsonAnswer(status, map[string]any{"error_id": p.s.newUUID(), "code": code, "message": message})
}

func (p *revolut) setState(id, state string) bool {
	for _, t := range p.list {
		if t.data["id"] == id {
			t.data["state"] = state
			return true
		}
	}
	return false
}

// cents reads a decimal amount of at most two places, in cents.
func (p *revolut) cents(in params) (int64, *answer) {
	number, _ := in["amount"].(json.Number)
	whole, fraction, _ := strings.Cut(number.String(), ".")
	n, err := strconv.ParseInt(whole+(fraction + "00")[:2], 10, 64)
	if err != nil || n < 1 || len(fraction) > 2 {
		bad := p.refuse(http.StatusBadRequest, 3000, "Value is not in correct format for field 'amount'")
		return 0, &bad
	}
	return n, nil
}

func revolutDecimal(cents int64) json.Number {
	return json.Number(fmt.Sprintf("%d.%02d", cents/100, cents%100))
}

func (p *revolut) missing(in params, names ...string) *answer {
	for _, name := range names {
		if in.str(name) == "" && in.sub(name) == nil {
			bad := p.refuse(http.StatusBadRequest, 3009, "Required '"+name+"' is missing")
			return &bad
		}
	}
	return nil
}

// leg is one side of a transaction. Spec, TransactionLeg.
func (p *revolut) leg(account, currency, amount string) map[string]any {
	return map[string]any{"leg_id": p.s.newUUID(), "account_id": account, "currency": currency, "amount": json.Number(amount)}
}

// create runs a transaction and shows what a write shows of it. Spec, TransferResponse.
func (p *revolut) create(c *call, kind, state string, cents int64, in params, currency string, legs ...map[string]any) answer {
	at := c.at.UTC().Format(time.RFC3339Nano)
	t := &revolutTransaction{created: c.at, data: carry(map[string]any{
		"id": p.s.newUUID(), "type": kind, "state": state, "request_id": c.key, "created_at": at, "updated_at": at, "legs": legs,
	}, in, "reference")}
	shown := map[string]any{"id": t.data["id"], "state": state, "created_at": at}
	if state == "completed" {
		t.data["completed_at"], shown["completed_at"] = at, at
	}
	p.list = append(p.list, t)
	if state != "declined" {
		p.s.record(c, Effect{Kind: kind, Action: "create", Resource: t.data["id"].(string), Amount: cents, Currency: strings.ToLower(currency)})
	}
	return jsonAnswer(http.StatusOK, shown)
}

// pay is a payment to a counterparty: pending until the network has it. Spec, /pay.
func (p *revolut) pay(_ *call, in params) endpoint {
	cents, bad := p.cents(in)
	if lacks := p.missing(in, "account_id", "receiver", "currency"); lacks != nil {
		bad = lacks
	}
	if bad != nil {
		return endpoint{bad: bad}
	}
	return endpoint{run: func(c *call) answer {
		state := "pending"
		if in.str("reference") == "declined" {
			state = "declined"
		}
		leg := p.leg(in.str("account_id"), in.str("currency"), "-"+revolutDecimal(cents).String())
		leg["counterparty"] = carry(map[string]any{"account_type": "external", "id": in.sub("receiver")["counterparty_id"]}, in.sub("receiver"), "account_id")
		return p.create(c, "transfer", state, cents, in, in.str("currency"), leg)
	}}
}

// transfer moves money between own accounts, at once. Spec, /transfer.
func (p *revolut) transfer(_ *call, in params) endpoint {
	cents, bad := p.cents(in)
	if lacks := p.missing(in, "source_account_id", "target_account_id", "currency"); lacks != nil {
		bad = lacks
	}
	if bad != nil {
		return endpoint{bad: bad}
	}
	return endpoint{run: func(c *call) answer {
		currency, sum := in.str("currency"), revolutDecimal(cents).String()
		return p.create(c, "transfer", "completed", cents, in, currency,
			p.leg(in.str("source_account_id"), currency, "-"+sum), p.leg(in.str("target_account_id"), currency, sum))
	}}
}

// exchange sells an amount or buys one, here at a rate of one. Spec, /exchange.
func (p *revolut) exchange(_ *call, in params) endpoint {
	from, to := in.sub("from"), in.sub("to")
	side := from
	if from["amount"] == nil {
		side = to
	}
	cents, bad := p.cents(side)
	for _, part := range []params{from, to} {
		if lacks := p.missing(part, "account_id", "currency"); lacks != nil {
			bad = lacks
		}
	}
	if bad != nil {
		return endpoint{bad: bad}
	}
	return endpoint{run: func(c *call) answer {
		sum := revolutDecimal(cents).String()
		sold := p.leg(from.str("account_id"), from.str("currency"), "-"+sum)
		sold["bill_amount"], sold["bill_currency"] = json.Number("-"+sum), to.str("currency")
		a := p.create(c, "exchange", "completed", cents, in, side.str("currency"), sold, p.leg(to.str("account_id"), to.str("currency"), sum))
		return a
	}}
}

// card makes a card or the invitation to one; both move nothing. Spec, /cards,
// /card-invitations.
func (p *revolut) card(kind, state string) func(*call, params) endpoint {
	return func(_ *call, in params) endpoint {
		switch {
		case in["virtual"] != true:
			return invalid(p.refuse(http.StatusBadRequest, 3000, "Value is not in correct format for field 'virtual'"))
		case in.str("holder_id") == "":
			return invalid(p.refuse(http.StatusBadRequest, 3000, "Either contact_ids or product must be present when holder_id is empty"))
		}
		return endpoint{run: func(c *call) answer {
			id, at := p.s.newUUID(), c.at.UTC().Format(time.RFC3339Nano)
			p.s.record(c, Effect{Kind: kind, Action: "create", Resource: id})
			return jsonAnswer(http.StatusOK, carry(map[string]any{"id": id, "state": state, "created_at": at, "updated_at": at},
				in, "holder_id", "virtual", "label", "spending_limits", "categories", "countries", "accounts"))
		}}
	}
}

// draft keeps payments for a person to approve; it has no request_id. Spec,
// /payment-drafts.
func (p *revolut) draft(_ *call, in params) endpoint {
	var total int64
	payments, _ := in["payments"].([]any)
	for _, v := range payments {
		one, _ := v.(map[string]any)
		cents, bad := p.cents(one)
		if bad != nil {
			return endpoint{bad: bad}
		}
		total += cents
	}
	if len(payments) == 0 {
		return invalid(p.refuse(http.StatusBadRequest, 3009, "Required 'payments' is missing"))
	}
	return endpoint{run: func(c *call) answer {
		id := p.s.newUUID()
		p.s.record(c, Effect{Kind: "payment_draft", Action: "create", Resource: id, Amount: total})
		return jsonAnswer(http.StatusCreated, map[string]any{"id": id})
	}}
}

// one shows a transaction by its id. Spec, GET /transaction/{id}.
func (p *revolut) one(c *call, id string) answer {
	for _, t := range p.list {
		if t.data["id"] == id && p.s.visible(c.at, t.created) {
			return jsonAnswer(http.StatusOK, t.data)
		}
	}
	return p.refuse(http.StatusNotFound, 3006, "Resource not found")
}

// search lists transactions, newest first, of one request_id where it is given; from
// is included, to is not. Spec, GET /transactions.
func (p *revolut) search(c *call) answer {
	id, q := c.query.Get("request_id"), c.query
	from, dated := day(q.Get("from"))
	to, bounded := day(q.Get("to"))
	if !bounded {
		to = c.at
	}
	if id != "" && (!dated || to.Sub(from) > revolutSearch) {
		return p.refuse(http.StatusBadRequest, 3000, "The search interval must not exceed 14 days")
	}
	count := 100
	if n, err := strconv.Atoi(q.Get("count")); err == nil && n > 0 {
		count = min(n, 1000)
	}
	out := []any{}
	for _, t := range slices.Backward(p.list) {
		in := !t.created.Before(from) && t.created.Before(to) && p.s.visible(c.at, t.created)
		if in && (id == "" || t.data["request_id"] == id) && len(out) < count {
			out = append(out, t.data)
		}
	}
	return jsonAnswer(http.StatusOK, out)
}

var _ provider = (*revolut)(nil)

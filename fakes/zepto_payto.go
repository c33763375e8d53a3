package fakes

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// paytoResource is an agreement, a payment or a refund, known by its uid for ever.
type paytoResource struct {
	kind, uid string
	created   time.Time
	tries     []time.Time // submissions of a payment, the first included
	data      map[string]any
}

// paytoKinds are the collections, with the code of a reused uid. PayTo spec,
// "Reason codes".
var paytoKinds = map[string]struct{ code, effect, detail, state string }{
	"agreements": {"ZPAGR00", "payto_agreement", "An agreement with the given UID already exists", "pending"},
	"payments":   {"ZPPAY00", "payto_payment", "A payment with the given UID already exists", "created"},
	"refunds":    {"ZPREF00", "payto_refund", "A refund with the given UID already exists", "created"},
}

// uidPattern is what a uid looks like. PayTo spec, payto.payment.
var uidPattern = regexp.MustCompile(`^[A-Za-z0-9_~.-]{1,64}$`)

const (
	// A payment is retried up to 10 times, and submitted up to 5 times within 24
	// hours, the first time included. PayTo spec, POST …/retry.
	paytoRetries  = 10
	paytoDayTries = 5
	paytoTryDay   = 24 * time.Hour
)

func (p *zepto) handlePayTo(c *call, seg []string) answer {
	if len(seg) == 0 || paytoKinds[seg[0]].code == "" {
		return answer{status: http.StatusNotFound}
	}
	switch {
	case c.method == http.MethodPost && len(seg) == 1:
		return p.createPayTo(c, seg[0])
	case c.method == http.MethodPost && len(seg) == 3 && seg[0] == "payments" && seg[2] == "retry":
		return p.retryPayTo(c, seg[1])
	case c.method == http.MethodGet && len(seg) == 1:
		return p.listPayTo(c, seg[0])
	case c.method == http.MethodGet && len(seg) == 2:
		// 200 or 404 without a body. When a new one becomes visible is not documented.
		if r := p.payto[seg[0]+" "+seg[1]]; r != nil && p.s.visible(c.at, r.created) {
			return jsonAnswer(http.StatusOK, map[string]any{"data": r.data})
		}
	}
	return answer{status: http.StatusNotFound}
}

// createPayTo is POST of an agreement, a payment or a refund: 201, or 422 where the
// uid has been used. No key, no replay, no in-flight answer is documented, so
// InFlight means nothing here. Agreements that the fake has not seen are taken as
// existing: they may be older than it.
func (p *zepto) createPayTo(c *call, kind string) answer {
	k := paytoKinds[kind]
	in, err := parseJSON(c.body)
	if err != nil {
		return zeptoError(http.StatusBadRequest, "", "Validation Failed", "The request body is not valid JSON", nil)
	}
	uid := in.str("uid")
	if !uidPattern.MatchString(uid) {
		return zeptoError(http.StatusBadRequest, "", "Validation Failed", "The value for `uid` is not allowed", nil)
	}
	amount, ok := in.int64("amount")
	if kind != "agreements" && (!ok || amount < 1) {
		return zeptoError(http.StatusBadRequest, "", "Validation Failed", "The value for `amount` is not allowed", nil)
	}
	if p.payto[kind+" "+uid] != nil {
		return zeptoError(http.StatusUnprocessableEntity, k.code, "Duplicate UID", k.detail, nil)
	}
	if c.plan.noEffect {
		return answer{status: c.plan.saveErr}
	}
	data, _ := clone(in).(map[string]any)
	delete(data, "sandbox")
	self := c.base + "/payto/" + kind + "/" + uid
	data["state"], data["created_at"], data["links"] = k.state, stamp(c.at), map[string]any{"self": self}
	if kind == "payments" {
		data["failure"] = nil
	}
	r := &paytoResource{kind: kind, uid: uid, created: c.at, tries: []time.Time{c.at}, data: data}
	p.payto[kind+" "+uid] = r
	p.paytoList = append(p.paytoList, r)
	p.s.record(c, Effect{Kind: k.effect, Action: "create", Resource: uid, Amount: amount, Metadata: in.metadata()})
	if c.plan.saveErr != 0 {
		return answer{status: c.plan.saveErr}
	}
	return jsonAnswer(http.StatusCreated, map[string]any{"data": data})
}

// set changes the state, and gives a failed payment a failure that may be retried.
func (r *paytoResource) set(state string) {
	r.data["state"] = state
	if r.kind != "payments" {
		return
	}
	r.data["failure"] = nil
	if state == "failed" {
		r.data["failure"] = map[string]any{
			"code": "AM04", "title": "Insufficient Funds", "retryable": true,
			"detail": "The specified Payer Customer Account has insufficient funds",
		}
	}
}

// retryPayTo is POST …/retry: 202 without a body. It has no key: each one that is
// accepted submits the payment again, and is an effect.
func (p *zepto) retryPayTo(c *call, uid string) answer {
	r := p.payto["payments "+uid]
	if r == nil || r.data["state"] != "failed" {
		return zeptoError(http.StatusUnprocessableEntity, "ZPPRY00", "Payment not retryable",
			"Payment is not in a retryable state", nil)
	}
	if len(r.tries)-1 >= paytoRetries {
		return zeptoError(http.StatusUnprocessableEntity, "ZPPRY01", "Too many retries",
			"Payment has reached the maximum amount of retries", nil)
	}
	if n := len(r.tries); n >= paytoDayTries && c.at.Sub(r.tries[n-paytoDayTries]) < paytoTryDay {
		next := r.tries[n-paytoDayTries].Add(paytoTryDay)
		return zeptoError(http.StatusUnprocessableEntity, "ZPPRY03", "Retry timeout",
			"Payment has been retried too many times recently. Cannot be retried again until "+stamp(next), nil)
	}
	if c.plan.noEffect {
		return answer{status: c.plan.saveErr}
	}
	r.tries = append(r.tries, c.at)
	r.set("submitting")
	amount, _ := params(r.data).int64("amount")
	p.s.record(c, Effect{Kind: "payto_payment", Action: "retry", Resource: uid, Amount: amount})
	if c.plan.saveErr != 0 {
		return answer{status: c.plan.saveErr}
	}
	return answer{status: http.StatusAccepted}
}

// listPayTo is GET /payto/payments and the like: 20 a page, 100 at most, a cursor
// that the next link carries, newest first. PayTo spec, "list payments".
func (p *zepto) listPayTo(c *call, kind string) answer {
	var all []any
	states := c.query.Get("state")
	for _, r := range slices.Backward(p.paytoList) {
		state, _ := r.data["state"].(string)
		if r.kind == kind && p.s.visible(c.at, r.created) &&
			(states == "" || slices.Contains(strings.Split(states, ","), state)) {
			all = append(all, r.data)
		}
	}
	all = keepFields(c, all, "agreement_uid")
	invalid := func(detail string) answer {
		return zeptoError(http.StatusUnprocessableEntity, "ZPPGN00", "One or more paramaters are invalid", detail, nil)
	}
	size, ok := params{"v": first(c.query.Get("per_page"), "20")}.int64("v")
	if !ok || size < 1 || size > 100 {
		return invalid("The `per_page` param is not valid.")
	}
	if after := c.query.Get("starting_after"); after != "" {
		at := slices.IndexFunc(all, func(v any) bool { return v.(map[string]any)["uid"] == after })
		if at < 0 {
			return invalid("Could not find a record for the given `starting_after` param.")
		}
		all = all[at+1:]
	}
	links := map[string]any{}
	if len(all) > int(size) {
		all = all[:size]
		q := c.query
		q.Set("starting_after", all[size-1].(map[string]any)["uid"].(string))
		links["next"] = c.base + c.path + "?" + q.Encode()
	}
	return jsonAnswer(http.StatusOK, map[string]any{"data": append([]any{}, all...), "links": links})
}

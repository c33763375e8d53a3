// Package revolut encodes what Revolut's Business API promises about repeated
// requests. The key is the body's request_id, and it is two contracts. For money (/pay,
// /transfer, /exchange) a repeat is refused with code 3020, which names no transaction:
// it is looked up by its request_id and compared. A payment's id is checked for two
// weeks, and after them the same id pays again. For cards and their invitations it is
// remembered for a day, a failed first request included.
//
// What the documents leave open is in the Notes of the Terms, and assumed to be the
// least: a 429, which may mean that a request runs, does so where there is an id; and
// an id that is bound to a failure (422, code 33009) proves nothing.
package revolut

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

// Options are the adapter's settings; there are none yet.
type Options struct{}

// Adapter is Revolut's contract. It is pure and safe for concurrent use.
type Adapter struct{}

// New returns the adapter; nil options are fine.
func New(*Options) *Adapter { return &Adapter{} }

// Name returns "revolut".
func (*Adapter) Name() string { return "revolut" }

const (
	root        = "/api/1.0/"
	exists      = "3020"              // a transaction with this request_id was created; spec, /pay, 400
	parallel    = "3162"              // parallel requests, or too many of them; spec, /cards, 429, and TooManyRequests
	firstFailed = "33009"             // the first execution was not successful; spec, /cards, 422
	window      = 14 * 24 * time.Hour // ids are checked for so long, and searched for so long at a time; spec, /pay, /transactions
)

// spec is where all facts were read, at 8e8bedc.
var spec = contract.Source{URL: "https://github.com/revolut-engineering/revolut-openapi/blob/master/json/business.json", Date: "2026-11-29"}
var errLookUp = errors.New("revolut: the look-up could not be read")

// The two contracts.
var (
	money = contract.Terms{KeyField: "request_id", KeyMaxLen: 40, KeyRequired: true, LookUp: contract.LookUpByKey,
		Repeat: contract.Conflicts, Saves: contract.SavesSuccesses, RepeatAnswers: []contract.Answer{{Status: 400, Code: exists}},
		Notes: []string{"Error 3020 names no transaction, and whether parameters are compared is not said.",
			"For how long the id is checked, and what a repeat gets, is documented for /pay alone: two weeks, and error 3020.",
			"429 with code 3162 is a rate limit, and parallel requests at cards; only its text differs."}}
	cards = contract.Terms{KeyField: "request_id", KeyMaxLen: 40, KeyRequired: true,
		Repeat: contract.Replays, Saves: contract.SavesResults, InFlightAnswers: []contract.Answer{{Status: 429, Code: parallel}},
		Notes: []string{"That the repeat of a success is replayed is concluded from the words of error 33009.",
			"After error 33009 the id never helps again, and whether a card exists is not said.",
			"429 with code 3162 is a rate limit too; only its text differs."}}
)

// states says what states mean; spec, TransactionState. What was reverted had moved.
var states = map[string]contract.Status{
	"created": contract.Succeeded, "pending": contract.Succeeded, "completed": contract.Succeeded, "reverted": contract.Succeeded,
	"declined": contract.Declined, "failed": contract.Declined,
}

// endpoint is what is known of one request, a POST. The zero value is one of which
// nothing is known.
type endpoint struct {
	path, name string
	terms      contract.Terms
	retention  time.Duration
	makes      string           // the type of the transaction; "" where there is none
	fields     []contract.Field // what the resource must have in common with the request
	example    string           // its body
}

var (
	amount    = contract.Field{Path: "amount", Same: contract.SameDecimal, Shown: true, Need: contract.Required}
	sold      = contract.Field{Path: "from.amount", Same: contract.SameDecimal, Need: contract.IfAsked}
	bought    = contract.Field{Path: "to.amount", Same: contract.SameDecimal, Need: contract.IfAsked}
	reference = contract.Field{Path: "reference", Same: contract.SameWording}
	card      = []contract.Field{{Path: "holder_id", Same: contract.SameFold}, {Path: "label"}}
)

// code is a field in which case counts for nothing: a currency, a UUID.
func code(path string) contract.Field {
	return contract.Field{Path: path, Same: contract.SameFold, Need: contract.Required}
}

// endpoints lists what is documented; spec, paths. /payout-links, whose request_id
// nothing is promised of but that one should use it, is not counted on.
var endpoints = []endpoint{
	{"pay", "pay a counterparty", money, window, "transfer", []contract.Field{amount, code("currency"), code("account_id"), code("receiver.counterparty_id"), reference},
		`{"request_id":"{key}","account_id":"11111111-1111-4111-8111-111111111111","receiver":{"counterparty_id":"22222222-2222-4222-8222-222222222222"},"amount":{decimal},"currency":"EUR","reference":"{order}"}`},
	{"transfer", "transfer between own accounts", money, 0, "transfer", []contract.Field{amount, code("currency"), code("source_account_id"), code("target_account_id"), reference},
		`{"request_id":"{key}","source_account_id":"11111111-1111-4111-8111-111111111111","target_account_id":"33333333-3333-4333-8333-333333333333","amount":{decimal},"currency":"EUR","reference":"{order}"}`},
	{"exchange", "exchange money", money, 0, "exchange", []contract.Field{sold, bought, code("from.currency"), code("from.account_id"), code("to.currency"), code("to.account_id"), reference},
		`{"request_id":"{key}","from":{"account_id":"11111111-1111-4111-8111-111111111111","currency":"EUR","amount":{decimal}},"to":{"account_id":"44444444-4444-4444-8444-444444444444","currency":"GBP"},"reference":"{order}"}`},
	{"cards", "create a card", cards, 24 * time.Hour, "", card,
		`{"request_id":"{key}","virtual":true,"holder_id":"55555555-5555-4555-8555-555555555555","label":"{order}"}`},
	{"card-invitations", "create a card invitation", cards, 24 * time.Hour, "", card,
		`{"request_id":"{key}","virtual":true,"holder_id":"55555555-5555-4555-8555-555555555555","label":"{order}"}`},
	{"payment-drafts", "create a payment draft", contract.Terms{}, 0, "", nil,
		`{"title":"{order}","payments":[{"account_id":"11111111-1111-4111-8111-111111111111","receiver":{"counterparty_id":"22222222-2222-4222-8222-222222222222"},"amount":{decimal},"currency":"EUR"}]}`},
}

// Endpoints returns the requests that the adapter knows.
func (*Adapter) Endpoints() (all []contract.Endpoint) {
	for _, e := range endpoints {
		all = append(all, contract.Endpoint{Name: e.name, Method: http.MethodPost, URL: "https://b2b.revolut.com" + root + e.path, Body: e.example})
	}
	return all
}

func endpointOf(c contract.Call) endpoint {
	for _, e := range endpoints {
		if c.Request == nil || c.Request.Method != http.MethodPost {
			break
		}
		if _, ok := contract.MatchPath(c.Request.URL, root+e.path); ok {
			return e
		}
	}
	return endpoint{}
}

// Terms returns what Revolut promises for the call's endpoint.
func (*Adapter) Terms(c contract.Call) contract.Terms {
	e := endpointOf(c)
	e.terms.Retention, e.terms.WaitHeaders, e.terms.Sources = e.retention, []string{"Retry-After"}, []contract.Source{spec}
	return e.terms
}

// Classify says what one reply revealed.
func (*Adapter) Classify(c contract.Call, r contract.Reply) contract.Outcome {
	body, err := contract.DecodeObject(r.Body)
	number, _ := contract.Scalar(body["code"])
	o := decide(endpointOf(c), c, r, body, contract.Word(number), err)
	o.RequestID = contract.Word(body.Text("error_id"))
	if o.Status == contract.Unknown || o.Status == contract.InProgress || o.Status == contract.NotExecuted {
		o.RetryAfter = r.Wait()
	}
	return o
}

func decide(e endpoint, c contract.Call, r contract.Reply, body contract.Object, code string, err error) contract.Outcome {
	status, o := r.StatusCode, contract.Outcome{Code: code, Reason: "not an answer that tells whether the request took effect"}
	broken, none := contract.NoAnswer(r)
	switch {
	case status == http.StatusTooManyRequests && e.terms.Repeat == contract.RepeatsNothing:
		o.Status, o.Reason = contract.NotExecuted, "throttled"
	case status == http.StatusTooManyRequests: // which of its two meanings it has cannot be told
		o.Status, o.Reason = contract.InProgress, "throttled, or another request with this request_id is running"
	case none:
		return broken
	case err == nil && (status == http.StatusOK || status == http.StatusCreated):
		return made(e, c, body)
	case status == http.StatusBadRequest && code == exists && e.makes != "":
		o.Status, o.Reason = contract.Duplicate, "a transaction with this request_id exists"
	case status == http.StatusUnprocessableEntity && code == firstFailed: // "unexpected": that nothing was done is not said
		o.Status, o.Reason = contract.KeySpent, "the request_id is bound to a first request that failed"
	case e.refused(status, body, code):
		o.Status, o.Reason = contract.Rejected, "refused before execution"
	}
	return o
}

// refusals are the codes with which nothing was done, by status: spec, the examples of
// every request. Another code may be about the request_id, as 3020 is.
var refusals = map[int]string{400: "1112 2101 2102 3000 3009 3053 3081 3187 3287 3402 3448 3452 3544 4100",
	401: "1000", 403: "9002", 404: "1214 3006 3040 3042 3088", 422: "2101 3012 3087 3100 3417 33000 33003 33011 33012"}

// refused reports whether an answer is a documented refusal; spec, Error, ErrorWithId,
// and without a code ErrorWithStatus (401) and, where no money moves, ErrorUnprocessableEntity.
func (e endpoint) refused(status int, body contract.Object, code string) bool {
	bare := body["code"] == nil && (status == http.StatusUnauthorized || status == http.StatusUnprocessableEntity && e.makes == "")
	return body.Text("message") != "" && (bare || slices.Contains(strings.Fields(refusals[status]), code))
}

// made reads a success, which the state of a transaction may take back.
func made(e endpoint, c contract.Call, body contract.Object) contract.Outcome {
	o := contract.Outcome{Resource: contract.Word(body.Text("id")), State: contract.Word(body.Text("state")), Reason: "the resource is shown"}
	o.Status = states[o.State]
	if e.makes == "" {
		o.Status = contract.Succeeded
		asked, _ := contract.DecodeObject(c.Body)
		if len(contract.Compare(e.fields, asked, body).Different) > 0 {
			o.Status, o.Reason = contract.KeyReused, "the request_id belongs to another card"
		}
	}
	if o.Resource == "" || o.Status == contract.Unknown {
		return contract.Outcome{Reason: "a success that shows no resource in a documented state"}
	}
	return o
}

// Find looks a transaction up by its request_id: from an hour before the first send
// on, then before, since the id may come from an earlier process. It never claims an
// absence: when a transaction appears in the list is not documented.
func (*Adapter) Find(ctx context.Context, c contract.Call, so contract.Finding, last *contract.Reply) (*http.Request, contract.Finding, error) {
	e := endpointOf(c)
	asked, _ := contract.DecodeObject(c.Body)
	so.Absent, so.Reason = false, "that nothing is shown under the request_id proves nothing"
	if last != nil {
		list, err := contract.DecodeList(last.Body)
		if err != nil || last.Err != nil || last.StatusCode != http.StatusOK {
			return nil, so, errLookUp
		}
		for _, v := range list {
			t, _ := v.(contract.Object)
			// Others that the id is related to, such as a refund, are not this operation.
			ours := t.Text("request_id") == asked.Text("request_id") && t.Text("type") == e.makes && t["related_transaction_id"] == nil
			if ref := contract.Word(t.Text("id")); ours && ref != "" && !slices.Contains(so.Resources, ref) {
				so.Resources = append(slices.Clone(so.Resources), ref)
			}
		}
	}
	if e.makes == "" || asked.Text("request_id") == "" || c.FirstSent.IsZero() || so.Stage == 2 {
		return nil, so, nil
	}
	start := c.FirstSent.Add(-time.Hour - time.Duration(so.Stage)*window).UTC()
	so.Stage++
	r, err := contract.NewRead(ctx, c, root+"transactions", url.Values{
		"request_id": {asked.Text("request_id")}, "from": {start.Format(time.RFC3339)}, "to": {start.Add(window).Format(time.RFC3339)}})
	return r, so, err
}

// ResolveRequest returns the GET of a transaction; spec, /transaction/{id}.
func (*Adapter) ResolveRequest(ctx context.Context, c contract.Call, o contract.Outcome) (*http.Request, error) {
	if contract.CheckReference(o.Resource) != nil || endpointOf(c).makes == "" {
		return nil, errLookUp
	}
	return contract.NewRead(ctx, c, root+"transaction/"+o.Resource, nil)
}

// ClassifyResolve says whether the transaction is the one that was asked for. One that
// came to nothing stays a Duplicate: it holds the id, and its State says the rest.
func (*Adapter) ClassifyResolve(c contract.Call, o contract.Outcome, r contract.Reply) contract.Outcome {
	e := endpointOf(c)
	out := contract.Outcome{Status: contract.Duplicate, Resource: o.Resource, Code: o.Code, Source: contract.FromLookUp, Reason: "the transaction could not be read"}
	asked, _ := contract.DecodeObject(c.Body)
	t, err := contract.DecodeObject(r.Body)
	if err != nil || r.Err != nil || r.StatusCode != http.StatusOK || contract.CheckReference(o.Resource) != nil || t.Text("id") != o.Resource ||
		e.makes == "" || t.Text("type") != e.makes || t.Text("request_id") != asked.Text("request_id") {
		return out
	}
	out.State = contract.Word(t.Text("state"))
	is := contract.Compare(e.fields, asked, shown(t, asked))
	if none := asked.At("from.amount") == nil && asked.At("to.amount") == nil; e.makes == "exchange" && (none || len(is.Different) > 0) {
		// Whether an exchange's amount is shown with its fee is not documented.
		is = contract.Comparison{Unseen: []string{"amount"}}
	}
	out = is.Resolve(out)
	if out.Status == contract.Succeeded && states[out.State] != contract.Succeeded {
		out.Status, out.Reason = contract.Duplicate, "the transaction is what was asked, and its state does not say that money moves"
	}
	return out
}

// shown returns what a transaction shows, in the form of the request. The amount that
// leaves an account has a minus; where it has none, nothing is confirmed. A payment in
// another currency than its account's shows it as bill_; spec, /transaction/{id}, examples.
func shown(t, asked contract.Object) contract.Object {
	legs := map[bool]contract.Object{} // true: of the account that money leaves
	for _, v := range t.List("legs") {
		leg, _ := v.(contract.Object)
		own := slices.ContainsFunc([]string{"account_id", "source_account_id", "from.account_id"}, func(path string) bool {
			return contract.SameFold(asked.At(path), leg["account_id"]) == contract.Same
		})
		if legs[own] != nil {
			return nil // which of them is meant cannot be told
		}
		legs[own] = leg
	}
	from, to := contract.Object{}, legs[false]
	maps.Copy(from, legs[true]) // its amounts are changed below
	receiver := contract.Object{"counterparty_id": from.At("counterparty.id")}
	if receiver["counterparty_id"] == nil && contract.SameFold(asked.At("receiver.account_id"), from.At("counterparty.account_id")) == contract.Same {
		receiver = asked.Object("receiver") // its account stands for it
	}
	o := contract.Object{"account_id": from["account_id"], "source_account_id": from["account_id"], "target_account_id": to["account_id"], "receiver": receiver, "reference": t["reference"], "from": from, "to": to}
	for _, kind := range []string{"bill_", ""} {
		left, _ := contract.Scalar(from[kind+"amount"])
		from[kind+"amount"] = nil
		if sum, minus := strings.CutPrefix(left, "-"); minus {
			from[kind+"amount"] = sum
		}
		if contract.SameFold(asked["currency"], from[kind+"currency"]) == contract.Same {
			o["amount"], o["currency"] = from[kind+"amount"], from[kind+"currency"]
		}
	}
	return o
}

var _, _, _ = contract.Catalog(New(nil)), contract.Resolver(New(nil)), contract.Finder(New(nil))

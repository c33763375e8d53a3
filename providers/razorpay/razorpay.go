// Package razorpay encodes what Razorpay promises about repeated requests: RazorpayX
// payouts and refunds of payments, each with a key header of its own. A repeat gets the
// payout or the refund as it is now, and one that failed keeps its key.
//
// A refusal for the key and any other have one code, BAD_REQUEST_ERROR, and a 409 of a
// refund has two opposite meanings; only the text differs. So a 409 whose text is not
// known is a request that runs, and a 400 proves a refusal only where a reason or a
// field stands beside the code. Not documented, and assumed to be the least: how long a
// refund's key is kept, what its repeat gets, when a list shows what was made. That an
// absence after an hour means failure, as the documents have it, holds for the last send,
// which is not known here: nothing is ever absent.
package razorpay

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

// Options are the choices of an Adapter. The zero value is fine.
type Options struct {
	// SharedReferences says that the reference_id of a payout, or the receipt of a
	// refund, may stand on several equal ones. Then nothing is looked up by it.
	SharedReferences bool
}

// Adapter is Razorpay's contract. It is pure and safe for concurrent use.
type Adapter struct{ shared bool }

// New returns the adapter; nil options are fine.
func New(o *Options) *Adapter { return &Adapter{shared: o != nil && o.SharedReferences} }

// Name returns "razorpay".
func (*Adapter) Name() string { return "razorpay" }

func doc(path string) contract.Source {
	return contract.Source{URL: "https://github.com/razorpay/markdown-docs/blob/master/" + path, Date: "2026-11-29"}
}

// The documents, read at ab3bda5.
var (
	keyDoc    = doc("api/x/payout-idempotency/make-request.md")
	failedDoc = doc("api/x/payout-idempotency.md")
	errorsDoc = doc("errors/x.md") // "Handling 5XX Errors": the 7 days, the latest state, the look-up
	statesDoc = doc("x/payouts/states-life-cycle.md")
	refundDoc = doc("api/refunds/normal-refunds-idempotent.md")
	commonDoc = doc("api/understand.md") // status codes, 429
)

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	refused = "BAD_REQUEST_ERROR"
)

// endpoint is what is known of one request, a POST. The zero value is one of which
// nothing is known.
type endpoint struct {
	path, name string // a * in the path is one reference
	makes      string // the entity of a success
	terms      contract.Terms
	states     map[string]contract.Status
	lists      string           // what is made is listed there; the * is the path's
	gets       string           // and fetched there
	by         string           // what names it in the request and in the list
	fields     []contract.Field // what it must have in common with the request
	example    string
	refs       []string // the references in the path of the call at hand
}

var (
	amount   = contract.Field{Path: "amount", Same: contract.SameAmount, Shown: true, Need: contract.Required}
	currency = contract.Field{Path: "currency", Same: contract.SameFold, Shown: true}
	payouts  = contract.Terms{KeyHeader: "X-Payout-Idempotency", KeyScope: "payouts", KeyMinLen: 4, KeyMaxLen: 36, KeyAlphabet: letters + " ", KeyRequired: true, // keyDoc
		Retention: 6 * 24 * time.Hour, Repeat: contract.ReturnsCurrent, Mismatch: contract.MismatchRefused,
		MismatchAnswers: []contract.Answer{{Status: 400, Code: refused}}, Saves: contract.SavesResults, LookUp: contract.LookUpByList,
		Notes: []string{"The key is kept for 7 calendar days; whether the first one counts is not said, so six are counted on.",
			"One page says that the first answer is saved, and two that the latest state is shown.",
			"A payout that failed may have been debited, until it is reversed; its key is spent, and the documents ask for a new one.",
			"A payout that is not listed after an hour has failed, the documents say; the hour runs from the last send, so that is not counted on."},
		Sources: []contract.Source{keyDoc, errorsDoc, failedDoc, statesDoc, commonDoc}}
	refunds = contract.Terms{KeyHeader: "X-Refund-Idempotency", KeyScope: "refunds", KeyMinLen: 10, KeyAlphabet: letters, // refundDoc
		Repeat: contract.ReturnsCurrent, Mismatch: contract.MismatchRefused, MismatchAnswers: []contract.Answer{{Status: 409, Code: refused}},
		InFlightAnswers: []contract.Answer{{Status: 409, Code: refused}}, LookUp: contract.LookUpByList,
		Notes: []string{"A 409 is a request that runs as well as another request's key; only its text differs.",
			"That a repeat is safe is promised, not what it gets.",
			"The documents advise another key while a request runs, which may refund twice."},
		Sources: []contract.Source{refundDoc, commonDoc}}
)

// endpoints lists what is documented. A capture honours no key.
var endpoints = []endpoint{
	{path: "/v1/payouts", name: "make a payout", makes: "payout", terms: payouts, lists: "/v1/payouts", gets: "/v1/payouts/", by: "reference_id",
		fields: []contract.Field{amount, currency, {Path: "fund_account_id", Need: contract.Required}, {Path: "reference_id", Same: contract.SameWording}},
		// statesDoc: at rejected and cancelled nothing was processed; failed is final.
		states: map[string]contract.Status{"pending": contract.Succeeded, "queued": contract.Succeeded, "scheduled": contract.Succeeded, "processing": contract.Succeeded,
			"processed": contract.Succeeded, "reversed": contract.Succeeded, "rejected": contract.Declined, "cancelled": contract.Declined, "failed": contract.Declined},
		example: `{"account_number":"1","fund_account_id":"fa_00000000000001","amount":{amount},"currency":"INR","mode":"IMPS","purpose":"payout","reference_id":"{order}"}`},
	{path: "/v1/payments/*/refund", name: "refund a payment", makes: "refund", terms: refunds, lists: "/v1/payments/*/refunds", gets: "/v1/refunds/", by: "receipt",
		fields:  []contract.Field{amount, {Path: "payment_id", Shown: true, Need: contract.Required}, {Path: "receipt", Same: contract.SameWording}},
		states:  map[string]contract.Status{"pending": contract.Succeeded, "processed": contract.Succeeded, "failed": contract.Declined}, // refundDoc, status
		example: `{"amount":{amount},"receipt":"{order}"}`},
	{path: "/v1/payments/*/capture", name: "capture a payment", makes: "payment", terms: contract.Terms{Sources: []contract.Source{doc("api/payments/capture.md"), commonDoc}},
		fields: []contract.Field{amount, currency}, states: map[string]contract.Status{"captured": contract.Succeeded},
		example: `{"amount":{amount},"currency":"INR"}`},
}

// Endpoints returns the requests that the adapter knows.
func (*Adapter) Endpoints() (all []contract.Endpoint) {
	for _, e := range endpoints {
		target := "https://api.razorpay.com" + strings.Replace(e.path, "*", "pay_00000000000001", 1)
		all = append(all, contract.Endpoint{Name: e.name, Method: http.MethodPost, URL: target, Body: e.example})
	}
	return all
}

func endpointOf(c contract.Call) endpoint {
	for _, e := range endpoints {
		if c.Request == nil || c.Request.Method != http.MethodPost {
			break
		}
		if refs, ok := contract.MatchPath(c.Request.URL, e.path); ok {
			e.refs = refs
			return e
		}
	}
	return endpoint{}
}

// Terms returns what Razorpay promises for the call's endpoint.
func (*Adapter) Terms(c contract.Call) contract.Terms {
	t := endpointOf(c).terms
	t.AccountHeaders = []string{"X-Razorpay-Account"} // api/payments/route/fetch-payments-linked-account.md
	return t
}

// asked returns what a request asks for: its body, and the payment that its path names.
func (e endpoint) asked(c contract.Call) contract.Object {
	o, err := contract.DecodeObject(c.Body)
	if err != nil { // none: a refund of the whole payment
		o = contract.Object{}
	}
	if len(e.refs) > 0 {
		o["payment_id"] = e.refs[0]
	}
	return o
}

// Classify says what one reply revealed.
func (*Adapter) Classify(c contract.Call, r contract.Reply) contract.Outcome {
	o := decide(endpointOf(c), c, r)
	if o.Status == contract.Unknown || o.Status == contract.InProgress || o.Status == contract.NotExecuted {
		o.RetryAfter = r.Wait() // no header is documented
	}
	return o
}

func decide(e endpoint, c contract.Call, r contract.Reply) contract.Outcome {
	broken, none := contract.NoAnswer(r)
	body, err := contract.DecodeObject(r.Body)
	o := contract.Outcome{Code: contract.Word(body.Text("error.code")), Reason: "not an answer that tells whether the request took effect"}
	keyed := e.terms.HonoursKeys() && (c.Key != "" || contract.HeaderValue(c.Request.Header, e.terms.KeyHeader) != "")
	bad := err == nil && strings.HasPrefix(o.Code, "BAD_REQUEST") // errorsDoc: one more with 401
	switch status := r.StatusCode; {
	case status == http.StatusTooManyRequests: // "unable to process your request": commonDoc
		o.Status, o.Reason = contract.NotExecuted, "throttled"
	case none:
		return broken
	case err == nil && (status == http.StatusOK || status == http.StatusCreated):
		return made(e, c, body)
	case bad && keyed && (status == http.StatusBadRequest || status == http.StatusConflict) && says(body, "different request") && !says(body, "progress"):
		o.Status, o.Reason = contract.KeyReused, "the key belongs to another request"
	case bad && keyed && status == http.StatusConflict && e.terms.InFlightAnswers != nil:
		// Also where the text is not known: what runs may take effect.
		o.Status, o.Reason = contract.InProgress, "another request with this key is running, or has the key"
	case bad && (status == http.StatusUnauthorized || slices.Contains([]int{400, 403, 404}, status) && proven(body)):
		o.Status, o.Reason = contract.Rejected, "refused before execution"
	}
	return o
}

// says reports whether the text of an error has the words, in lower case.
func says(body contract.Object, words string) bool {
	return strings.Contains(strings.ToLower(body.Text("error.description")), words)
}

// proven reports whether an error says in a word of its own what it refuses, and that
// this is not the key. The same code without one may mean that the key is another's. A
// receipt that is refused may be taken by this very refund, since receipts guard, too:
// github.com/razorpay/razorpay-mcp-server/pull/128 (read 2026-11-29).
func proven(body contract.Object) bool {
	reason, field := contract.Word(body.Text("error.reason")), body.Text("error.field")
	named := field != "" || !slices.Contains([]string{"", "NA", "null"}, reason) // "null" is in the examples of errorsDoc
	return named && field != "receipt" && !says(body, "receipt") && !says(body, "idempoten") && !strings.HasSuffix(field, "-Idempotency")
}

// made reads a success, which the state of what is shown may take back.
func made(e endpoint, c contract.Call, body contract.Object) contract.Outcome {
	o := contract.Outcome{Resource: contract.Word(body.Text("id")), State: contract.Word(body.Text("status")), Reason: "what was asked for is shown"}
	if o.Status = e.states[o.State]; e.states == nil && o.State != "failed" {
		o.Status = contract.Succeeded // an endpoint that is not known shows what it made
	}
	failed := body.Text("error.code")
	switch {
	case o.Resource == "" || o.Status == contract.Unknown || e.makes != "" && body.Text("entity") != e.makes || !slices.Contains([]string{"", "NA"}, failed):
		return contract.Outcome{Reason: "a success that does not show what was asked for, in a documented state"}
	case len(contract.Compare(e.fields, e.asked(c), body).Different) > 0:
		o.Status, o.Reason = contract.KeyReused, "the answer is about another request"
	}
	return o
}

// Find looks a payout or a refund up by the name that the caller gave it, in the list of
// what was made since an hour before the first send. What came to nothing is no effect
// and is passed over: whether it is this request's is not known. Nothing is ever absent.
func (a *Adapter) Find(ctx context.Context, c contract.Call, so contract.Finding, last *contract.Reply) (*http.Request, contract.Finding, error) {
	const perPage = 100 // the most that a list gives: api/x/payouts/fetch-all.md
	e, since := endpointOf(c), c.FirstSent.Add(-time.Hour).Unix()
	asked, page := e.asked(c), []any(nil)
	so.Absent, so.Reason = false, "that nothing of this name is listed proves nothing"
	if last != nil {
		list, err := contract.DecodeObject(last.Body)
		items, ok := list["items"].([]any)
		if page = items; err != nil || !ok || last.Err != nil || last.StatusCode != http.StatusOK {
			return nil, so, errLookUp
		}
		for _, v := range items {
			x, _ := v.(contract.Object)
			at, _ := contract.Scalar(x["created_at"])
			made, err := strconv.ParseInt(at, 10, 64)
			ours := err == nil && made >= since && x.Text(e.by) == asked.Text(e.by) && x.Text("entity") == e.makes &&
				e.states[x.Text("status")] == contract.Succeeded && contract.Compare(e.fields, asked, x).Equal()
			if ref := contract.Word(x.Text("id")); ours && ref != "" && !slices.Contains(so.Resources, ref) {
				so.Resources = append(slices.Clone(so.Resources), ref)
			}
		}
	}
	if a.shared || e.lists == "" || asked.Text(e.by) == "" || c.FirstSent.IsZero() || last != nil && len(page) < perPage {
		return nil, so, nil
	}
	query := url.Values{"from": {strconv.FormatInt(since, 10)}, "count": {strconv.Itoa(perPage)}, "skip": {strconv.Itoa(so.Stage * perPage)}}
	path := e.lists
	if len(e.refs) > 0 {
		path = strings.Replace(path, "*", e.refs[0], 1)
	} else {
		query["account_number"], query["reference_id"] = []string{asked.Text("account_number")}, []string{asked.Text(e.by)}
	}
	so.Stage++
	r, err := contract.NewRead(ctx, c, path, query)
	return r, so, err
}

var errLookUp = errors.New("razorpay: the look-up could not be read")

// ResolveRequest returns the GET of a payout or a refund.
func (*Adapter) ResolveRequest(ctx context.Context, c contract.Call, o contract.Outcome) (*http.Request, error) {
	e := endpointOf(c)
	if contract.CheckReference(o.Resource) != nil || e.gets == "" {
		return nil, errLookUp
	}
	return contract.NewRead(ctx, c, e.gets+o.Resource, nil)
}

// ClassifyResolve says whether what was fetched is what was asked for. What came to
// nothing stays a Duplicate, and its State says so.
func (*Adapter) ClassifyResolve(c contract.Call, o contract.Outcome, r contract.Reply) contract.Outcome {
	e := endpointOf(c)
	out := contract.Outcome{Status: contract.Duplicate, Resource: o.Resource, Code: o.Code, Source: contract.FromLookUp, Reason: "the resource could not be read"}
	x, err := contract.DecodeObject(r.Body)
	if err != nil || r.Err != nil || r.StatusCode != http.StatusOK || contract.CheckReference(o.Resource) != nil || x.Text("id") != o.Resource ||
		e.gets == "" || x.Text("entity") != e.makes {
		return out
	}
	out.State = contract.Word(x.Text("status"))
	out = contract.Compare(e.fields, e.asked(c), x).Resolve(out)
	if out.Status == contract.Succeeded && e.states[out.State] != contract.Succeeded {
		out.Status, out.Reason = contract.Duplicate, "the resource is what was asked, and its state does not say that money moves"
	}
	return out
}

var (
	_ contract.Adapter  = (*Adapter)(nil)
	_ contract.Catalog  = (*Adapter)(nil)
	_ contract.Resolver = (*Adapter)(nil)
	_ contract.Finder   = (*Adapter)(nil)
)

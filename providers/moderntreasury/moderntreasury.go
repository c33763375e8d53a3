// Package moderntreasury encodes what Modern Treasury promises about repeated requests: a
// key for a day, under which the first successful answer comes back, whatever the
// repeat asks and wherever it asks it.
//
// So an answer may be another operation's. It is a success only if it is of the kind
// that the endpoint makes and shows what was asked; one that shows something else says
// that the key belongs to another request. A resource that is fetched later proves less,
// since it can be changed: there, what differs is not confirmed.
//
// A 409 is a request under way with the key, or a conflict of the business, and nothing
// documented tells them apart. An external_id that is refused may be taken by this very
// operation. Both leave a doubt, and a look-up by external_id ends it. After an error the
// same key executes again; the guide says so of requests that were not completed, and
// that a repeat is made to guarantee one effect, so it is made.
package moderntreasury

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

// Options are the adapter's settings; there are none yet.
type Options struct{}

// Adapter is Modern Treasury's contract. It is pure and safe for concurrent use.
type Adapter struct{}

// New returns the adapter. Nil options are fine.
func New(*Options) *Adapter { return &Adapter{} }

// Name returns "moderntreasury".
func (*Adapter) Name() string { return "moderntreasury" }

var sources = []contract.Source{ // the guide to keys, the specification, and a repeat that got 400 for its external_id
	{URL: "https://docs.moderntreasury.com/reference/idempotent-requests", Date: "2026-11-29"},
	{URL: "https://github.com/Modern-Treasury/modern-treasury-openapi/blob/main/openapi/mt_openapi_spec_v1.yaml", Date: "2026-11-29"},
	{URL: "https://docs.moderntreasury.com/reference/status-codes", Date: "2026-11-29"},
	{URL: "https://docs.moderntreasury.com/reference/rate-limits", Date: "2026-11-29"},
	{URL: "https://github.com/Modern-Treasury/modern-treasury-go/issues/84", Date: "2026-11-29"},
}

var notes = []string{
	"A key lives within one API key: a repeat with another one executes again, so API keys must not be rotated while an operation is in doubt.",
	"A 409 is also a conflict of the business at some endpoints, and nothing documented tells it from a request under way.",
	"A repeat was reported to get 400 for its external_id in place of the first answer.",
	"All POST requests are said to accept keys; the specification names none for reversals and partial posts of ledger transactions, so nothing is promised of those.",
	"After an error the same key executes again: that the failed request did nothing is implied by the guide, which guarantees one effect and whose SDKs repeat a 5xx, and is not said.",
	"How long a key may be is not documented.",
	"The answers to a bulk request and to an asynchronous payment order show nothing that tells one from another, so those are not known here.",
}

// Terms returns what Modern Treasury promises for the call's endpoint.
func (*Adapter) Terms(c contract.Call) contract.Terms {
	e := endpointOf(c.Request)
	t := contract.Terms{WaitHeaders: []string{"Retry-After", "Retry-After-Ms"}, Notes: notes, Sources: sources}
	t.Idempotent = e.method == http.MethodPatch || e.method == http.MethodDelete // "idempotent by definition" (guide)
	if e.listed {
		t.LookUp = contract.LookUpByList
	}
	if e.keyed {
		t.KeyHeader, t.Retention, t.Repeat = "Idempotency-Key", 24*time.Hour, contract.Replays
		t.Mismatch = contract.MismatchIgnored // "keys are independent of the route" (guide)
		t.InFlightAnswers, t.Saves = []contract.Answer{{Status: http.StatusConflict}}, contract.SavesSuccesses
	}
	return t
}

// endpoint is what is known of one kind of request. The zero value is one of which
// nothing is known.
type endpoint struct {
	name, method, path string // a * in the path is one reference
	makes              string // the word that its resource has in object; "" for an answer without a body
	status             int    // of its success
	keyed              bool
	conflicts          bool   // a 409 may also be a conflict of the business
	listed             bool   // its list can be asked for an external_id
	body               string // of the example, where a * of the path is {order}

	ref string // in the path of the call at hand
}

var endpoints = []endpoint{ // status, object and conflicts: the specification
	{name: "create a payment order", method: "POST", path: "/api/payment_orders", makes: "payment_order", status: 201, keyed: true, conflicts: true, listed: true,
		body: `{"type":"ach","amount":{amount},"direction":"credit","originating_account_id":"11111111-1111-4111-8111-111111111111","receiving_account_id":"22222222-2222-4222-8222-222222222222","metadata":{"order":"{order}"}}`},
	{name: "reverse a payment order", method: "POST", path: "/api/payment_orders/*/reversals", makes: "reversal", status: 201, keyed: true, body: `{"reason":"duplicate"}`},
	{name: "return an incoming payment", method: "POST", path: "/api/returns", makes: "return", status: 201, keyed: true,
		body: `{"returnable_id":"33333333-3333-4333-8333-333333333333","returnable_type":"incoming_payment_detail","code":"R01"}`},
	{name: "expect a payment", method: "POST", path: "/api/expected_payments", makes: "expected_payment", status: 201, keyed: true, conflicts: true, listed: true,
		body: `{"amount_lower_bound":{amount},"amount_upper_bound":{amount},"direction":"credit","metadata":{"order":"{order}"}}`},
	{name: "post a ledger transaction", method: "POST", path: "/api/ledger_transactions", makes: "ledger_transaction", status: 201, keyed: true, listed: true,
		body: `{"status":"posted","metadata":{"order":"{order}"},"ledger_entries":[` +
			`{"amount":{amount},"direction":"debit","ledger_account_id":"44444444-4444-4444-8444-444444444444"},` +
			`{"amount":{amount},"direction":"credit","ledger_account_id":"55555555-5555-4555-8555-555555555555"}]}`},
	{name: "create a counterparty", method: "POST", path: "/api/counterparties", makes: "counterparty", status: 201, keyed: true, listed: true, body: `{"name":"Test Payee","metadata":{"order":"{order}"}}`},
	{name: "reverse a ledger transaction", method: "POST", path: "/api/ledger_transactions/*/reversal", makes: "ledger_transaction", status: 201, body: `{}`},
	{name: "change a payment order", method: "PATCH", path: "/api/payment_orders/*", makes: "payment_order", status: 200, conflicts: true, body: `{"description":"paid in part"}`},
	{name: "change a ledger transaction", method: "PATCH", path: "/api/ledger_transactions/*", makes: "ledger_transaction", status: 200, conflicts: true, body: `{"description":"paid in part"}`},
	{name: "delete a counterparty", method: "DELETE", path: "/api/counterparties/*", status: 204},
}

// identity is what tells one operation's resource from another's.
var identity = []contract.Field{
	{Path: "amount", Same: contract.SameAmount, Shown: true, Need: contract.IfAsked},
	{Path: "amount_lower_bound", Same: contract.SameAmount, Shown: true, Need: contract.IfAsked},
	{Path: "amount_upper_bound", Same: contract.SameAmount, Shown: true, Need: contract.IfAsked},
	{Path: "ledger_entries", Same: sameEntries, Need: contract.IfAsked},
	{Path: "direction", Shown: true, Need: contract.IfAsked},
	{Path: "external_id", Need: contract.IfAsked},
	{Path: "currency", Same: contract.SameFold, Shown: true},
	{Path: "originating_account_id", Same: contract.SameFold, Need: contract.IfAsked},
	{Path: "receiving_account_id", Same: contract.SameFold, Need: contract.IfAsked},
	{Path: "payment_order_id", Same: contract.SameFold, Shown: true, Need: contract.IfAsked}, // asked in the path
	{Path: "returnable_id", Same: contract.SameFold, Shown: true, Need: contract.IfAsked},
	{Path: "internal_account_id", Same: contract.SameFold},
	{Path: "name", Same: contract.SameWording, Need: contract.IfAsked},
}

// labels can be changed later, and tell a saved answer from another operation's.
var labels = []contract.Field{{Path: "description", Same: contract.SameWording}, {Path: "metadata", Same: contract.SameUnlessChanged}}

// sameEntries compares the entries of two ledger transactions, in any order.
func sameEntries(want, got any) contract.Match {
	a, b := entries(want), entries(got)
	switch {
	case a == nil || b == nil:
		return contract.Unclear
	case slices.Equal(a, b):
		return contract.Same
	}
	return contract.Differs
}

func entries(v any) (all []string) {
	list, _ := v.([]any)
	for _, x := range list {
		e, _ := x.(contract.Object)
		all = append(all, strings.ToLower(fmt.Sprint(e["amount"], e["direction"], e["ledger_account_id"])))
	}
	slices.Sort(all)
	return all
}

// Endpoints lists the requests that are known.
func (*Adapter) Endpoints() (list []contract.Endpoint) {
	for _, e := range endpoints {
		list = append(list, contract.Endpoint{Name: e.name, Method: e.method, Body: e.body,
			URL: "https://app.moderntreasury.com" + strings.ReplaceAll(e.path, "*", "{order}")})
	}
	return list
}

func endpointOf(r *http.Request) endpoint {
	for _, e := range endpoints {
		if refs, ok := contract.MatchPath(r.URL, e.path); ok && r.Method == e.method {
			e.ref = strings.Join(refs, "")
			return e
		}
	}
	return endpoint{}
}

// asked returns what the call asks for: its body, or what its path says.
func (e endpoint) asked(c contract.Call) contract.Object {
	if e.makes == "reversal" {
		return contract.Object{"payment_order_id": e.ref} // also where the body says nothing
	}
	o, _ := contract.DecodeObject(c.Body)
	return o
}

// Classify says what one reply revealed.
func (*Adapter) Classify(c contract.Call, r contract.Reply) contract.Outcome {
	o := decide(endpointOf(c.Request), c, r)
	if o.Effect() == contract.EffectMaybe || o.Status == contract.NotExecuted {
		o.RetryAfter = max(r.Wait(), r.WaitIn("Retry-After-Ms", time.Millisecond)) // as its own SDKs read it
	}
	return o
}

// refusals are the codes of errors that did nothing (specification, error_message), and
// the statuses with which they come. A conflict and a throttle are no such code.
var refusals, refusing = []string{"parameter_invalid", "parameter_missing", "resource_not_found", "not_found", "forbidden", "invalid_ip", "invalid_key", "header_invalid", "expired_key"}, []int{400, 401, 403, 404, 413, 415, 422}

func decide(e endpoint, c contract.Call, r contract.Reply) contract.Outcome {
	if r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusTooEarly {
		// A limit of requests, or of entries of one ledger account; its status says so without a body.
		return contract.Outcome{Status: contract.NotExecuted, Reason: "turned away before execution"}
	}
	if o, none := contract.NoAnswer(r); none {
		return o
	}
	body, _ := contract.DecodeObject(r.Body)
	code := contract.Word(body.Text("errors.code"))
	switch {
	case r.StatusCode == http.StatusNoContent && e.status == http.StatusNoContent && len(bytes.TrimSpace(r.Body)) == 0:
		return contract.Outcome{Status: contract.Succeeded, Reason: "done; this endpoint shows no resource"}
	case r.StatusCode >= 200 && r.StatusCode < 300 && body["errors"] == nil:
		return e.made(c, r.StatusCode, body)
	case r.StatusCode == http.StatusConflict && e.keyed && c.Key != "" && !(e.conflicts && code == "conflict"):
		return contract.Outcome{Status: contract.InProgress, Code: code, Reason: "another request with this key is being stored"}
	case r.StatusCode >= 400 && r.StatusCode < 500 && body.Text("errors.parameter") == "external_id" && e.asked(c).Text("external_id") != "":
		return contract.Outcome{Code: code, NoResend: true, Reason: "the external_id is refused, and may be taken by this very operation"}
	case slices.Contains(refusing, r.StatusCode) && slices.Contains(refusals, code):
		return contract.Outcome{Status: contract.Rejected, Code: code, Reason: "refused; nothing was created"}
	default:
		return contract.Outcome{Code: code, Reason: "not an answer that tells whether it was executed"}
	}
}

// made reads a success, which may be the saved one of another request.
func (e endpoint) made(c contract.Call, status int, shown contract.Object) contract.Outcome {
	o := contract.Outcome{Status: contract.Duplicate, Resource: shown.Text("id"), State: contract.Word(shown.Text("status"))}
	object, keyed := contract.Word(shown.Text("object")), e.keyed && c.Key != ""
	is := contract.Compare(identity, e.asked(c), shown)
	switch {
	case contract.CheckReference(o.Resource) != nil || object == "" || e.makes == "":
		return contract.Outcome{Reason: "a success that does not show what was asked for"}
	case object != e.makes && keyed:
		o.Status, o.Reason = contract.KeyReused, "the key belongs to another request: a "+object+" is shown"
	case object != e.makes, status != e.status, len(is.Different) > 0 && !keyed, e.method == http.MethodPatch && o.Resource != e.ref:
		return contract.Outcome{Reason: "a success that this endpoint does not have"}
	case len(is.Different) == 0 && (o.State == "failed" || o.State == "denied"):
		o.Status, o.Reason = contract.Declined, "the resource is shown as "+o.State
	case is.Equal() && keyed && !contract.Compare(labels, e.asked(c), shown).Equal():
		o.Reason = "another description or metadata is shown: it may be another request's"
	default:
		return is.Resolve(o)
	}
	return o
}

// ResolveRequest returns the GET of the resource.
func (*Adapter) ResolveRequest(ctx context.Context, c contract.Call, o contract.Outcome) (*http.Request, error) {
	e := endpointOf(c.Request)
	if !e.keyed || contract.CheckReference(o.Resource) != nil {
		return nil, contract.ErrReference
	}
	return contract.NewRead(ctx, c, strings.TrimSuffix(c.Request.URL.Path, "/")+"/"+o.Resource, nil)
}

// ClassifyResolve says whether the resource that a fetch showed is what was asked for.
// One that differs may have been changed since, and is not confirmed.
func (*Adapter) ClassifyResolve(c contract.Call, o contract.Outcome, r contract.Reply) contract.Outcome {
	e := endpointOf(c.Request)
	out := contract.Outcome{Status: contract.Duplicate, Resource: o.Resource, Code: o.Code, Source: contract.FromLookUp,
		Reason: "the resource is not shown as it was asked for, so it is not confirmed"}
	shown, _ := contract.DecodeObject(r.Body)
	if r.Err == nil && r.StatusCode == http.StatusOK && o.Resource != "" && e.is(c, shown) == o.Resource {
		out.Status, out.State, out.Reason = contract.Succeeded, contract.Word(shown.Text("status")), "the resource is what was asked"
	}
	return out
}

// is returns the reference of a resource that is what was asked, and "" of any other.
func (e endpoint) is(c contract.Call, shown contract.Object) string {
	if shown.Text("object") != e.makes || !contract.Compare(identity, e.asked(c), shown).Equal() {
		return ""
	}
	return contract.Word(shown.Text("id"))
}

var errLookUp = errors.New("moderntreasury: the look-up could not be read")

// Find asks the list for the external_id, which is unique (specification), if the request
// gave one. It never claims an absence: when a list shows a new resource is not documented.
func (*Adapter) Find(ctx context.Context, c contract.Call, so contract.Finding, last *contract.Reply) (*http.Request, contract.Finding, error) {
	e := endpointOf(c.Request)
	id := e.asked(c).Text("external_id")
	so.Absent, so.Reason = false, "nothing that Modern Treasury lists shows this operation, which does not prove its absence"
	if !e.listed || id == "" || c.FirstSent.IsZero() {
		return nil, so, nil
	}
	if last == nil {
		req, err := contract.NewRead(ctx, c, e.path, url.Values{"external_id": {id}})
		return req, so, err
	}
	list, err := contract.DecodeList(last.Body)
	if err != nil || last.Err != nil || last.StatusCode != http.StatusOK {
		return nil, so, errLookUp
	}
	for _, v := range list {
		shown, _ := v.(contract.Object)
		if ref := e.is(c, shown); ref != "" && !slices.Contains(so.Resources, ref) {
			so.Resources = append(slices.Clone(so.Resources), ref)
		}
	}
	return nil, so, nil
}

var _, _, _ = contract.Catalog(New(nil)), contract.Resolver(New(nil)), contract.Finder(New(nil))

// Package increase encodes what Increase promises about repeated requests: at most one
// object is created for a key. The same request again gets that object, marked as a
// replay; another request gets a 409 that names it; and every list can be asked for the
// key, so that an operation is found without an answer.
//
// The documents do not say for how long a key is remembered, what a repeat gets while
// the first request runs, or whether a key means anything where no object is created
// (approve, cancel); nothing of these is assumed. A list that shows no object proves
// nothing: a request may still be on its way, and Increase advises to send it again.
package increase

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

// Options are the choices of an Adapter; there are none yet.
type Options struct{}

// Adapter is Increase's contract. It is pure and safe for concurrent use.
type Adapter struct{}

// New returns the adapter; nil options are fine.
func New(*Options) *Adapter { return &Adapter{} }

// Name returns "increase".
func (*Adapter) Name() string { return "increase" }

// The facts below were read in these places; the client is Increase's own.
var sources = []contract.Source{
	{URL: "https://increase.com/documentation/idempotency-keys.md", Date: "2026-11-29"},
	{URL: "https://increase.com/documentation/errors", Date: "2026-11-29"},
	{URL: "https://increase.com/documentation/rate-limits", Date: "2026-11-29"},
	{URL: "https://github.com/Increase/increase-go", Date: "2026-11-29"},
	{URL: "https://increase.com/documentation/sending-real-time-payments", Date: "2026-11-29"}, // the states; ACH and wires have guides like it
}

// endpoint is what is known of one request. The zero value is one of which nothing is.
type endpoint struct {
	method, path string // a * is one reference
	name, body   string // of the example
	creates      bool   // an object, whose type is the path in the singular: only then a key counts
	amount       string // where the request says it, if it moves money
}

// endpoints lists the ways in which money leaves an account or comes to it, what they
// need, and what is inherently idempotent (idempotency-keys). Go client, api.md.
var endpoints = []endpoint{
	{method: http.MethodPost, path: "ach_transfers", creates: true, name: "send or collect by ACH", amount: "amount", body: `{"account_id": "account_1", "amount": {amount}, "external_account_id": "external_account_1", "statement_descriptor": "{order}"}`},
	{method: http.MethodPost, path: "wire_transfers", creates: true, name: "send a wire", amount: "amount", body: `{"account_id": "account_1", "amount": {amount}, "external_account_id": "external_account_1", "creditor": {"name": "Example"}, "remittance": {"category": "unstructured", "unstructured": {"message": "{order}"}}}`},
	{method: http.MethodPost, path: "real_time_payments_transfers", creates: true, name: "send a real-time payment", amount: "amount", body: `{"source_account_number_id": "account_number_1", "amount": {amount}, "external_account_id": "external_account_1", "creditor_name": "Example", "unstructured_remittance_information": "{order}"}`},
	{method: http.MethodPost, path: "fednow_transfers", creates: true, name: "send by FedNow", amount: "amount", body: `{"source_account_number_id": "account_number_1", "amount": {amount}, "external_account_id": "external_account_1", "creditor_name": "Example", "debtor_name": "Example", "unstructured_remittance_information": "{order}"}`},
	{method: http.MethodPost, path: "account_transfers", creates: true, name: "move money between one's own accounts", amount: "amount", body: `{"account_id": "account_1", "amount": {amount}, "destination_account_id": "account_2", "description": "{order}"}`},
	{method: http.MethodPost, path: "check_transfers", creates: true, name: "send a check", amount: "amount", body: `{"account_id": "account_1", "amount": {amount}, "source_account_number_id": "account_number_1", "fulfillment_method": "third_party"}`},
	{method: http.MethodPost, path: "swift_transfers", creates: true, name: "send by Swift", amount: "instructed_amount", body: `{"account_id": "account_1", "instructed_amount": {amount}, "instructed_currency": "USD", "source_account_number_id": "account_number_1", "creditor_name": "Example", "debtor_name": "Example"}`},
	{method: http.MethodPost, path: "card_push_transfers", creates: true, name: "send to a card", amount: "presentment_amount.value", body: `{"source_account_number_id": "account_number_1", "presentment_amount": {"value": "{decimal}", "currency": "USD"}, "card_token_id": "card_token_1", "recipient_name": "Example"}`},
	{method: http.MethodPost, path: "external_accounts", creates: true, name: "create an external account", body: `{"description": "Example", "account_number": "example", "routing_number": "example", "funding": "checking"}`},
	{method: http.MethodPost, path: "ach_transfers/*/approve", name: "approve an ACH transfer"},
	{method: http.MethodPost, path: "ach_transfers/*/cancel", name: "cancel an ACH transfer"},
	{method: http.MethodPost, path: "wire_transfers/*/approve", name: "approve a wire"},
	{method: http.MethodPost, path: "wire_transfers/*/cancel", name: "cancel a wire"},
	{method: http.MethodPatch, path: "external_accounts/*", name: "change an external account", body: `{"description": "{order}"}`},
	{method: http.MethodPatch, path: "account_numbers/*", name: "change an account number", body: `{"name": "{order}"}`},
}

// fields are what an object shows as it was asked for. Go client, the objects.
var fields = []contract.Field{
	{Path: "amount", Same: contract.SameAmount, Shown: true, Need: contract.IfAsked},
	{Path: "instructed_amount", Same: contract.SameAmount, Shown: true, Need: contract.IfAsked},
	{Path: "instructed_currency", Same: contract.SameFold, Shown: true, Need: contract.IfAsked},
	{Path: "presentment_amount.value", Same: contract.SameDecimal, Shown: true, Need: contract.IfAsked},
	{Path: "presentment_amount.currency", Same: contract.SameFold, Shown: true, Need: contract.IfAsked},
	{Path: "account_id", Shown: true, Need: contract.IfAsked},
	{Path: "source_account_number_id", Shown: true, Need: contract.IfAsked},
	{Path: "destination_account_id", Shown: true, Need: contract.IfAsked},
	{Path: "external_account_id", Shown: true, Need: contract.IfAsked},
	{Path: "card_token_id", Shown: true, Need: contract.IfAsked},
	{Path: "account_number", Same: contract.SameUnlessChanged, Need: contract.IfAsked}, // it may be shown in another spelling
	{Path: "routing_number", Same: contract.SameUnlessChanged, Need: contract.IfAsked},
	{Path: "description", Same: contract.SameUnlessChanged, Need: contract.IfAsked},
	{Path: "statement_descriptor", Same: contract.SameUnlessChanged},
	{Path: "unstructured_remittance_information", Same: contract.SameUnlessChanged},
	{Path: "idempotency_key", Same: contract.SameUnlessChanged}, // of the call
}

// Endpoints returns what the adapter knows, ACH first.
func (*Adapter) Endpoints() (all []contract.Endpoint) {
	for _, e := range endpoints {
		url := "https://api.increase.com/" + strings.Replace(e.path, "*", e.kind()+"_1", 1)
		all = append(all, contract.Endpoint{Name: e.name, Method: e.method, URL: url, Body: e.body})
	}
	return all
}

func endpointOf(r *http.Request) endpoint {
	for _, e := range endpoints {
		if _, ok := contract.MatchPath(r.URL, e.path); ok && r.Method == e.method {
			return e
		}
	}
	return endpoint{}
}

// kind returns the type of the objects that a path is about.
func (e endpoint) kind() string {
	collection, _, _ := strings.Cut(e.path, "/")
	return strings.TrimSuffix(collection, "s")
}

const keyUsed = "idempotency_key_already_used_error"

// Terms returns what Increase promises for the call's endpoint.
func (*Adapter) Terms(c contract.Call) contract.Terms {
	e := endpointOf(c.Request)
	if e.path == "" {
		return contract.Terms{}
	}
	t := contract.Terms{WaitHeaders: []string{"Retry-After"}, Sources: slices.Clone(sources)}
	switch {
	case e.method == http.MethodPatch:
		t.Idempotent = true
	case !e.creates:
		t.Notes = []string{"A key is promised to create at most one object; what it means for an action, which creates none, is not documented."}
	default:
		t.KeyHeader, t.KeyMaxLen = "Idempotency-Key", 200
		t.Repeat, t.ReplayMarker = contract.ReturnsCurrent, "Idempotent-Replayed"
		t.Mismatch, t.MismatchAnswers = contract.MismatchRefused, []contract.Answer{{Status: http.StatusConflict, Code: keyUsed}}
		t.Saves, t.LookUp = contract.SavesSuccesses, contract.LookUpByKey // the same key gets a success in the end
		t.Notes = []string{
			"A key is unique across all of Increase's objects, whatever their kind.",
			"Whether a replay shows the object as it was or as it is now is not documented; the latter is assumed.",
			"An empty list for a key proves nothing: Increase advises to send again, and not to decide by a list.",
			"`409 invalid_operation_error`, an insufficient balance for one, has nothing to do with a key.",
		}
	}
	return t
}

// Classify says what one reply revealed.
func (*Adapter) Classify(c contract.Call, r contract.Reply) contract.Outcome {
	body, err := contract.DecodeObject(r.Body)
	o := decide(c, r, body, err)
	if o.Status == contract.Unknown || o.Status == contract.NotExecuted {
		if o.RetryAfter = r.Wait(); o.RetryAfter == 0 { // the body says the same (rate-limits)
			seconds, _ := contract.Scalar(body["retry_after"])
			o.RetryAfter = contract.ParseWait(seconds, time.Second, time.Time{})
		}
	}
	return o
}

func decide(c contract.Call, r contract.Reply, body contract.Object, unreadable error) contract.Outcome {
	kind := contract.Word(body.Text("type")) // of an error, or of an object
	switch none, no := contract.NoAnswer(r); {
	case r.StatusCode == http.StatusTooManyRequests, r.StatusCode == http.StatusTooEarly:
		// A gate before execution: its status says so, whatever happened to the body
		// (RFC 6585 section 4, RFC 8470 section 5.2).
		return contract.Outcome{Status: contract.NotExecuted, Code: kind, Reason: "turned away before execution"}
	case no:
		return none
	case unreadable != nil:
		return contract.Outcome{Reason: fmt.Sprintf("status %d, and the answer is no JSON object", r.StatusCode)}
	case r.StatusCode == http.StatusOK, r.StatusCode == http.StatusCreated:
		return made(c, r, body)
	case r.StatusCode == http.StatusConflict && kind == keyUsed:
		return contract.Outcome{Status: contract.KeyReused, Code: kind, Resource: contract.Word(body.Text("resource_id")), Reason: "the key belongs to another request"}
	case kind != "" && refusals[kind] == r.StatusCode:
		return contract.Outcome{Status: contract.Rejected, Code: kind, Reason: "refused; nothing was created"}
	default:
		return contract.Outcome{Code: kind, Reason: fmt.Sprintf("status %d does not tell whether the request took effect", r.StatusCode)}
	}
}

// refusals are the errors that say that the request did nothing. Source: errors.
var refusals = map[string]int{
	"invalid_parameters_error": 400, "malformed_request_error": 400, "invalid_api_key_error": 401,
	"environment_mismatch_error": 403, "insufficient_permissions_error": 403, "private_feature_error": 403,
	"api_method_not_found_error": 404, "object_not_found_error": 404, "invalid_operation_error": 409,
}

// made reads a success, which shows an object of the endpoint's type; that of an action
// or a change, the one of the path.
func made(c contract.Call, r contract.Reply, body contract.Object) contract.Outcome {
	e, path := endpointOf(c.Request), strings.Trim(c.Request.URL.Path, "/")
	ref, kind := contract.Word(body.Text("id")), contract.Word(body.Text("type"))
	another := strings.Contains(path, "/") && !strings.Contains("/"+path+"/", "/"+ref+"/")
	asked, _ := contract.DecodeObject(c.Body)
	another = another || e.creates && len(contract.Compare(fields, asked, body).Different) > 0
	if ref == "" || kind == "" || another || e.path != "" && kind != e.kind() {
		return contract.Outcome{Reason: "a success that does not show what was asked for"}
	}
	o := contract.Outcome{Status: contract.Succeeded, Resource: ref, State: contract.Word(body.Text("status")),
		Replayed: strings.EqualFold(contract.HeaderValue(r.Header, "Idempotent-Replayed"), "true"), Reason: "the object is shown"}
	if e.cameToNothing(o.State) {
		o.Status, o.Reason = contract.Declined, "the transfer is shown as "+o.State
	}
	return o
}

// cameToNothing reports whether a transfer in this state moved no money and never will:
// Increase, the network or the recipient's bank rejected it, or it was canceled before it
// was sent (sending-real-time-payments). What came back (returned, reversed) had moved.
func (e endpoint) cameToNothing(state string) bool {
	return e.creates && e.amount != "" && (state == "rejected" || state == "canceled")
}

// Find asks the list of what the endpoint creates for the key: it shows the one object
// of the key, or none. It never claims an absence.
func (*Adapter) Find(ctx context.Context, c contract.Call, so contract.Finding, last *contract.Reply) (*http.Request, contract.Finding, error) {
	e := endpointOf(c.Request)
	so.Absent, so.Reason = false, "nothing was created that could be looked up by a key"
	switch {
	case !e.creates || c.Key == "" || c.FirstSent.IsZero():
		return nil, so, nil
	case last == nil:
		req, err := contract.NewRead(ctx, c, "/"+e.path, url.Values{"idempotency_key": {c.Key}})
		return req, so, err
	}
	body, err := contract.DecodeObject(last.Body)
	list, ok := body["data"].([]any)
	if err != nil || !ok || last.Err != nil || last.StatusCode != http.StatusOK {
		return nil, so, errors.New("increase: the list could not be read")
	}
	so.Resources = slices.Clone(so.Resources)
	for _, v := range list {
		x, _ := v.(contract.Object)
		ref := contract.Word(x.Text("id"))
		if ref == "" || x.Text("type") != e.kind() || x.Text("idempotency_key") != c.Key {
			return nil, so, errors.New("increase: the list shows what it was not asked for")
		}
		if !slices.Contains(so.Resources, ref) {
			so.Resources = append(so.Resources, ref)
		}
	}
	so.Reason = "looked up by its key; what is not listed may still be created"
	return nil, so, nil
}

// ResolveRequest returns the GET of the object that was found.
func (*Adapter) ResolveRequest(ctx context.Context, c contract.Call, o contract.Outcome) (*http.Request, error) {
	e := endpointOf(c.Request)
	if !e.creates || contract.CheckReference(o.Resource) != nil {
		return nil, contract.ErrReference
	}
	return contract.NewRead(ctx, c, "/"+e.path+"/"+o.Resource, nil)
}

// ClassifyResolve says whether the fetched object is the one that was asked for. One that
// came to nothing stays a Duplicate: it holds the key, and its State says the rest.
func (*Adapter) ClassifyResolve(c contract.Call, o contract.Outcome, r contract.Reply) contract.Outcome {
	out := contract.Outcome{Status: contract.Duplicate, Resource: o.Resource, State: o.State, Code: o.Code, Source: contract.FromLookUp}
	e := endpointOf(c.Request)
	shown, err := contract.DecodeObject(r.Body)
	asked, asking := contract.DecodeObject(c.Body)
	if err != nil || asking != nil || !e.creates || e.amount != "" && asked.At(e.amount) == nil || r.Err != nil || r.StatusCode != http.StatusOK ||
		contract.CheckReference(o.Resource) != nil || shown.Text("id") != o.Resource || shown.Text("type") != e.kind() {
		out.Reason = "the object could not be read and compared, so nothing is known beside its reference"
		return out
	}
	out.State = contract.Word(shown.Text("status"))
	want := maps.Clone(asked)
	if c.Key != "" {
		want["idempotency_key"] = c.Key
	}
	out = contract.Compare(fields, want, shown).Resolve(out)
	if out.Status == contract.Succeeded && e.cameToNothing(out.State) {
		out.Status, out.Reason = contract.Duplicate, "the transfer is what was asked, and it is shown as "+out.State
	}
	return out
}

var (
	_ contract.Adapter  = (*Adapter)(nil)
	_ contract.Catalog  = (*Adapter)(nil)
	_ contract.Resolver = (*Adapter)(nil)
	_ contract.Finder   = (*Adapter)(nil)
)

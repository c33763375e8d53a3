// Package gocardless encodes what GoCardless promises about repeated requests: a
// creation whose key was used is never answered with the result, but with a 409 that
// names the resource. So the repeat of a success is a Duplicate, and it is fetched and
// compared with what was asked, here, before anybody may call it one. The resource may
// have failed since: it exists all the same, and its State says so.
//
// The documents do not say for how long a key is remembered, how long it may be, whether
// it is one for all endpoints, what a repeat gets while the first request runs, or
// whether parameters are compared; nothing of these is assumed. A key counts where a
// resource is created: not for an action (retry, cancel), nor for a billing request
// flow, at which GoCardless' clients resolve no conflict.
package gocardless

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

// Options are the choices of an Adapter; there are none yet.
type Options struct{}

// Adapter is GoCardless' contract. It is pure and safe for concurrent use.
type Adapter struct{}

// New returns the adapter; nil options are fine.
func New(*Options) *Adapter { return &Adapter{} }

// Name returns "gocardless".
func (*Adapter) Name() string { return "gocardless" }

// The facts below were read in these places; the clients are GoCardless' own.
var sources = []contract.Source{
	{URL: "https://gocardless.com/blog/idempotency-keys", Date: "2026-11-29"},
	{URL: "https://github.com/gocardless/gocardless-pro-go", Date: "2026-11-29"},
	{URL: "https://github.com/gocardless/gocardless-pro-ruby", Date: "2026-11-29"},
	{URL: "https://developer.gocardless.com/gc-embed/api-request-signing/", Date: "2026-11-29"},
}

// endpoint is what is known of one POST. The zero value is one of which nothing is.
type endpoint struct {
	path, name, body string           // a * in the path is one reference; the body is an example
	prefix           string           // of the ids of what it creates: only then a key counts
	fields           []contract.Field // what that has in common with the request
}

// endpoints lists the creations at which GoCardless' clients resolve a conflict, as far
// as money takes that way, and the actions that move it or stop it. Ids: Ruby client,
// services; an older mandate may have another.
var endpoints = []endpoint{
	{path: "payments", name: "create a payment", prefix: "PM", body: `{"payments": {"amount": {amount}, "currency": "GBP", "links": {"mandate": "MD123"}, "metadata": {"order": "{order}"}}}`,
		fields: fields("amount", "currency links.mandate", "charge_date description reference metadata")},
	{path: "refunds", name: "refund a payment", prefix: "RF", body: `{"refunds": {"amount": {amount}, "total_amount_confirmation": {amount}, "links": {"payment": "PM123"}}}`,
		fields: fields("amount", "links.payment links.mandate", "reference metadata")},
	{path: "outbound_payments", name: "send money", prefix: "OUT", body: `{"outbound_payments": {"amount": {amount}, "scheme": "faster_payments", "links": {"recipient_bank_account": "BA123"}}}`, fields: sent},
	{path: "outbound_payments/withdrawal", name: "send money to one's own account", prefix: "OUT", body: `{"outbound_payments": {"amount": {amount}, "scheme": "faster_payments"}}`, fields: sent},
	{path: "subscriptions", name: "create a subscription", prefix: "SB", body: `{"subscriptions": {"amount": {amount}, "currency": "GBP", "interval_unit": "monthly", "links": {"mandate": "MD123"}}}`,
		fields: fields("", "currency links.mandate interval_unit", "amount name metadata")},
	{path: "instalment_schedules", name: "create an instalment schedule", prefix: "IS", body: `{"instalment_schedules": {"name": "{order}", "total_amount": {amount}, "currency": "GBP", "instalments": [{"amount": {amount}, "charge_date": "2030-01-01"}], "links": {"mandate": "MD123"}}}`,
		fields: fields("total_amount", "currency links.mandate", "name metadata")},
	{path: "billing_requests", name: "create a billing request", prefix: "BRQ", body: `{"billing_requests": {"payment_request": {"amount": {amount}, "currency": "GBP", "description": "{order}"}}}`,
		fields: fields("", "payment_request.amount", "payment_request.currency payment_request.description mandate_request.scheme subscription_request instalment_schedule_request metadata")},
	{path: "mandates", name: "create a mandate", prefix: "MD", body: `{"mandates": {"scheme": "bacs", "links": {"customer_bank_account": "BA123"}}}`,
		fields: fields("", "links.customer_bank_account", "scheme reference metadata")},
	{path: "customer_bank_accounts", name: "create a customer's bank account", prefix: "BA", body: `{"customer_bank_accounts": {"account_holder_name": "Example", "links": {"customer": "CU123"}}}`,
		fields: fields("", "links.customer", "account_holder_name iban account_number links.customer_bank_account_token metadata")}, // the last three are never shown
	{path: "payments/*/actions/retry", name: "retry a failed payment"},
	{path: "payments/*/actions/cancel", name: "cancel a payment"},
	{path: "outbound_payments/*/actions/approve", name: "approve an outbound payment"},
	{path: "billing_requests/*/actions/fulfil", name: "fulfil a billing request"},
}

var sent = fields("amount", "links.recipient_bank_account is_withdrawal", "scheme execution_date description reference metadata")

// fields lists what must be shown as it was asked: the amount; words; and what may have
// been changed or shortened since (a subscription's amount), which proves nothing.
func fields(amount, words, changeable string) (all []contract.Field) {
	for path := range strings.FieldsSeq(amount) {
		all = append(all, contract.Field{Path: path, Same: contract.SameAmount, Shown: true, Need: contract.Required})
	}
	for path := range strings.FieldsSeq(words) {
		all = append(all, contract.Field{Path: path, Same: contract.SameFold, Shown: true, Need: contract.IfAsked})
	}
	for path := range strings.FieldsSeq(changeable) {
		all = append(all, contract.Field{Path: path, Same: contract.SameUnlessChanged, Need: contract.IfAsked})
	}
	return all
}

// Endpoints returns what the adapter knows, payments first.
func (*Adapter) Endpoints() (all []contract.Endpoint) {
	for _, e := range endpoints {
		url, header := "https://api.gocardless.com/"+strings.Replace(e.path, "*", "EX123", 1), map[string]string{"GoCardless-Version": "2015-07-06"}
		all = append(all, contract.Endpoint{Name: e.name, Method: http.MethodPost, URL: url, Header: header, Body: e.body})
	}
	return all
}

func endpointOf(r *http.Request) endpoint {
	for _, e := range endpoints {
		if _, ok := contract.MatchPath(r.URL, e.path); ok && r.Method == http.MethodPost {
			return e
		}
	}
	return endpoint{}
}

// collection returns the first part of a path: there a resource is fetched, and the
// body of a request or an answer is an object of that name.
func collection(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return name
}

// holder returns the endpoint of what a reference names. It may be another than the
// one that was called: then the key is another request's.
func (e endpoint) holder(ref string) endpoint {
	for _, other := range endpoints {
		if other.prefix != "" && strings.HasPrefix(ref, other.prefix) && !strings.HasPrefix(ref, e.prefix) {
			return other
		}
	}
	return e
}

const keyUsed, bankExists = "idempotent_creation_conflict", "bank_account_exists"

// Terms returns what GoCardless promises for the call's endpoint.
func (*Adapter) Terms(c contract.Call) contract.Terms {
	e := endpointOf(c.Request)
	if e.path == "" {
		return contract.Terms{}
	}
	t := contract.Terms{
		VersionHeaders:    []string{"GoCardless-Version"},
		CredentialHeaders: []string{"Gc-Signature", "Gc-Signature-Input"}, // request signing
		WaitHeaders:       []string{"RateLimit-Reset"},
		Sources:           slices.Clone(sources),
	}
	if e.prefix == "" {
		return t
	}
	t.KeyHeader, t.Repeat = "Idempotency-Key", contract.Conflicts
	t.RepeatAnswers = []contract.Answer{{Status: http.StatusConflict, Code: keyUsed}}
	t.Saves, t.LookUp = contract.SavesSuccesses, contract.LookUpByReference // what failed may be sent again with its key: blog
	t.Notes = []string{
		"A key can be too long (`idempotency_key_too_long`), and from what length is not published.",
		"Whether one key may be used at two endpoints is not documented; a conflict may name a resource of another kind.",
		"The conflict is described by the key alone, so another request is found out by fetching the resource.",
	}
	return t
}

// Classify says what one reply revealed. Every answer has a RateLimit-Reset, an HTTP
// date, which asks for a wait once no request is left. Go client, retries.go.
func (*Adapter) Classify(c contract.Call, r contract.Reply) contract.Outcome {
	body, err := contract.DecodeObject(r.Body)
	o := decide(c, r, body, err)
	o.RequestID = contract.Word(body.Text("error.request_id"))
	if o.Status == contract.Unknown || o.Status == contract.NotExecuted {
		o.RetryAfter = r.Wait()
		if r.StatusCode == http.StatusTooManyRequests || contract.HeaderValue(r.Header, "RateLimit-Remaining") == "0" {
			o.RetryAfter = max(o.RetryAfter, r.WaitIn("RateLimit-Reset", time.Second))
		}
	}
	return o
}

func decide(c contract.Call, r contract.Reply, body contract.Object, unreadable error) contract.Outcome {
	var o contract.Outcome
	_, o.Code = details(body)
	switch none, no := contract.NoAnswer(r); {
	case r.StatusCode == http.StatusTooManyRequests, r.StatusCode == http.StatusTooEarly:
		// A gate before execution: its status says so, whatever happened to the body
		// (RFC 6585 section 4, RFC 8470 section 5.2).
		o.Status, o.Reason = contract.NotExecuted, "turned away before execution"
	case no:
		return none
	case unreadable != nil:
		o.Reason = fmt.Sprintf("status %d, and the answer is no JSON object", r.StatusCode)
	case r.StatusCode == http.StatusOK, r.StatusCode == http.StatusCreated:
		return made(c, body)
	case slices.Contains([]int{400, 401, 403, 404, 409, 422}, r.StatusCode):
		return refused(endpointOf(c.Request), r.StatusCode, body, o)
	default:
		o.Reason = fmt.Sprintf("status %d does not tell whether the request took effect", r.StatusCode)
	}
	return o
}

// made reads a success, which shows the resource; that of an action, the one acted on.
func made(c contract.Call, body contract.Object) contract.Outcome {
	shown := body.Object(collection(c.Request.URL.Path))
	ref := contract.Word(shown.Text("id"))
	acted := strings.Contains(c.Request.URL.Path, "/actions/") && !strings.Contains(c.Request.URL.Path, "/"+ref+"/")
	if ref == "" || body["error"] != nil || acted {
		return contract.Outcome{Reason: "a success that does not show what was asked for"}
	}
	return contract.Outcome{Status: contract.Succeeded, Resource: ref, State: contract.Word(shown.Text("status")), Reason: "the resource is shown"}
}

// pointers are the reasons that say that a resource exists, and the links that name it.
// Blog; reasons of the API as help.netquarry.com lists them.
var pointers = map[string]string{keyUsed: "conflicting_resource_id", bankExists: "customer_bank_account"}

// refused reads a 4xx. One of the pointers, at any place of the list, with a usable link
// or without, says that a resource exists, where it is documented: a key's with 409 at a
// creation. Any other 4xx says that nothing was created (blog), if it has one of
// GoCardless' own types, or the bare string that its clients read in place of the object,
// and says nothing else: another status, a resource, reasons that are no list.
func refused(e endpoint, status int, body contract.Object, o contract.Outcome) contract.Outcome {
	var refs []string
	points := false
	items, _ := details(body)
	for _, x := range items {
		if link := pointers[x.Text("reason")]; link != "" {
			points, o.Code = true, x.Text("reason")
			if ref := contract.Word(x.Text("links." + link)); ref != "" && !slices.Contains(refs, ref) {
				refs = append(refs, ref)
			}
		}
	}
	known := slices.Contains([]string{"invalid_api_usage", "invalid_state", "validation_failed"}, body.Text("error.type"))
	code, coded := contract.Scalar(body.At("error.code"))
	odd := body[collection(e.path)] != nil || body.At("error.errors") != nil && body.List("error.errors") == nil || coded && code != fmt.Sprint(status)
	switch conflict := status == http.StatusConflict; {
	case points && conflict && e.prefix != "" && (o.Code == keyUsed || e.path == "customer_bank_accounts"):
		o.Status, o.Reason = contract.Duplicate, "a resource exists already"
		o.Resource = strings.Join(refs, ", ") // two are an alarm, and cannot be fetched
	case !points && !conflict && !odd && (known || strings.TrimSpace(body.Text("error")) != ""):
		o.Status, o.Reason = contract.Rejected, "refused; nothing was created"
	default:
		o.Reason = "a refusal that the documents do not describe"
	}
	return o
}

// details returns the items of an error, and its code: the first reason, or its type,
// since an item of a failed validation names a field and no reason.
func details(body contract.Object) (items []contract.Object, code string) {
	for _, v := range body.List("error.errors") {
		x, _ := v.(contract.Object)
		items = append(items, x)
		code = cmp.Or(code, contract.Word(x.Text("reason")))
	}
	return items, cmp.Or(code, contract.Word(body.Text("error.type")))
}

// ResolveRequest returns the GET of the resource that a conflict names.
func (*Adapter) ResolveRequest(ctx context.Context, c contract.Call, o contract.Outcome) (*http.Request, error) {
	e := endpointOf(c.Request)
	if e.prefix == "" || contract.CheckReference(o.Resource) != nil {
		return nil, contract.ErrReference
	}
	return contract.NewRead(ctx, c, "/"+collection(e.holder(o.Resource).path)+"/"+o.Resource, nil)
}

// ClassifyResolve says whether the fetched resource is the one that was asked for. A
// bank account that exists holds no key, so what differs there proves nothing of one.
func (*Adapter) ClassifyResolve(c contract.Call, o contract.Outcome, r contract.Reply) contract.Outcome {
	out := contract.Outcome{Status: contract.Duplicate, Resource: o.Resource, State: o.State, Code: o.Code, Source: contract.FromLookUp}
	e := endpointOf(c.Request)
	name := collection(e.holder(o.Resource).path)
	body, err := contract.DecodeObject(r.Body)
	asked, asking := contract.DecodeObject(c.Body)
	shown, want := body.Object(name), maps.Clone(asked.Object(collection(e.path)))
	if err != nil || asking != nil || want == nil || r.Err != nil || r.StatusCode != http.StatusOK || body["error"] != nil ||
		e.prefix == "" || contract.CheckReference(o.Resource) != nil || shown.Text("id") != o.Resource {
		out.Reason = "the resource could not be read and compared, so nothing is known beside its reference"
		return out
	}
	out.State = contract.Word(shown.Text("status"))
	if name == "outbound_payments" {
		want["is_withdrawal"] = strings.HasSuffix(e.path, "withdrawal")
	}
	is := contract.Compare(e.fields, want, shown)
	switch {
	case name != collection(e.path):
		is = contract.Comparison{Different: []string{"one of the " + name}}
	case o.Code == bankExists:
		is.Different, is.Unseen = nil, append(is.Unseen, is.Different...)
	}
	return is.Resolve(out)
}

var (
	_ contract.Adapter  = (*Adapter)(nil)
	_ contract.Catalog  = (*Adapter)(nil)
	_ contract.Resolver = (*Adapter)(nil)
)

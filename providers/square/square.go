// Package square encodes what Square promises about repeated requests: a key in the
// body, with a length for each endpoint, under which a repeat gets the first successful
// answer. For how long, and what a failed or a running request means for its key, is not
// published. An error settles only what its code does (codes.txt); its category settles
// nothing: TEMPORARY_ERROR, after which a payment may exist, is among the declines.
package square

import (
	"context"
	_ "embed" // codes.txt
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

// Options are the choices of an Adapter. The zero value is fine.
type Options struct {
	// UniqueReference says that no two payments of yours share a reference_id, so that a
	// lost one is found by it. Not so for an order that may be paid in parts.
	UniqueReference bool
}

// Adapter is Square's contract. It is pure and safe for concurrent use.
type Adapter struct{ uniqueReference bool }

// New returns the adapter; nil options are fine.
func New(o *Options) *Adapter { return &Adapter{uniqueReference: o != nil && o.UniqueReference} }

// Name returns "square".
func (*Adapter) Name() string { return "square" }

var sources = []contract.Source{ // the spec, the guide to keys, and Square's staff on retention and on a change applied twice
	{URL: "https://github.com/square/connect-api-specification/blob/master/api.json", Date: "2026-11-29"},
	{URL: "https://developer.squareup.com/docs/working-with-apis/idempotency", Date: "2026-11-29"},
	{URL: "https://developer.squareup.com/forums/t/question-about-idempotency-key-on-payments/28309", Date: "2026-11-29"},
	{URL: "https://github.com/square/connect-api-examples/issues/135", Date: "2026-11-29"},
}

var notes = []string{
	"That no retention is published was said by Square's staff in October 2026; in 2019 they said that keys do not expire as far as they know.",
	"Other parameters under a used key are refused at CreatePayment; elsewhere this may vary, and the status is nowhere documented.",
	"CancelPaymentByIdempotencyKey succeeds whether or not there is a payment, so it proves nothing and is not used.",
	"A batch change of inventory was reported to be applied twice under one key, and its answer shows counts and not the change, so nothing is promised of it.",
}

// Terms returns what Square promises for the call's endpoint.
func (*Adapter) Terms(c contract.Call) contract.Terms {
	e := endpointOf(c.Request)
	t := contract.Terms{VersionHeaders: []string{"Square-Version"}, WaitHeaders: []string{"Retry-After"}, LookUp: e.lookUp, Notes: notes, Sources: sources}
	if e.keyLen == 0 {
		return t
	}
	t.KeyField, t.KeyScope, t.KeyRequired, t.KeyMinLen, t.KeyMaxLen = "idempotency_key", e.path, !e.keyOptional, 1, e.keyLen
	t.Repeat = contract.Replays
	if e.path == "/v2/payments" {
		t.Mismatch, t.MismatchAnswers = contract.MismatchRefused, []contract.Answer{{Status: http.StatusBadRequest, Code: keyReused}}
	}
	return t
}

// endpoint is what is known of one kind of POST; the zero value is one that is not known.
type endpoint struct {
	name, path  string            // a * in the path is one reference
	keyLen      int               // the most characters of a key; 0 where none counts
	keyOptional bool              // it works without a key
	shows       string            // where its answer shows the resource
	parts       bool              // that is a list, and a part may be written without the rest
	alive, dead string            // states of the resource, where they matter: it exists; it was refused
	done        string            // the code that says that this was done to the resource before
	lookUp      contract.LookUpBy // how the resource is found
	fields      []contract.Field  // what it shows of the request
	body        string            // of the example, where a * of the path is {order}
	ref         string            // in the path of the call at hand
}

var amount, currency = contract.Field{Path: "amount_money.amount", Same: contract.SameAmount, Shown: true, Need: contract.IfAsked},
	contract.Field{Path: "amount_money.currency", Same: contract.SameFold, Shown: true, Need: contract.IfAsked}

// Lengths, shapes and states are those of the spec's request and response types.
var endpoints = []endpoint{
	{name: "create a payment", path: "/v2/payments", keyLen: 45, shows: "payment", lookUp: contract.LookUpByList,
		alive: "APPROVED PENDING COMPLETED CANCELED", dead: "FAILED",
		fields: []contract.Field{amount, currency, {Path: "reference_id", Need: contract.IfAsked}, {Path: "order_id", Shown: true}, {Path: "location_id", Shown: true}},
		body:   `{"idempotency_key":"{key}","source_id":"cnon:card-nonce-ok","amount_money":{"amount":{amount},"currency":"USD"},"reference_id":"{order}"}`},
	{name: "refund a payment", path: "/v2/refunds", keyLen: 45, shows: "refund", alive: "PENDING COMPLETED", dead: "REJECTED FAILED",
		fields: []contract.Field{amount, currency, {Path: "payment_id", Shown: true, Need: contract.IfAsked}},
		body:   `{"idempotency_key":"{key}","payment_id":"payment-1","amount_money":{"amount":{amount},"currency":"USD"},"reason":"{order}"}`},
	{name: "pay an order", path: "/v2/orders/*/pay", keyLen: 192, shows: "order", body: `{"idempotency_key":"{key}","payment_ids":["payment-1"]}`},
	{name: "complete a payment", path: "/v2/payments/*/complete", shows: "payment", alive: "COMPLETED", done: "DELAYED_TRANSACTION_CAPTURED", lookUp: contract.LookUpByReference, body: `{}`},
	{name: "cancel a payment", path: "/v2/payments/*/cancel", shows: "payment", alive: "CANCELED", done: "DELAYED_TRANSACTION_CANCELED", lookUp: contract.LookUpByReference},
	{name: "ask a terminal for a payment", path: "/v2/terminals/checkouts", keyLen: 64, shows: "checkout",
		body: `{"idempotency_key":"{key}","checkout":{"amount_money":{"amount":{amount},"currency":"USD"},"device_options":{"device_id":"device-1"}}}`},
	{name: "create an order", path: "/v2/orders", keyLen: 192, keyOptional: true, shows: "order", body: `{"idempotency_key":"{key}","order":{"location_id":"location-1","reference_id":"{order}"}}`},
	{name: "write a catalog object", path: "/v2/catalog/object", keyLen: 128, shows: "catalog_object", body: `{"idempotency_key":"{key}","object":{"type":"ITEM","id":"#item","item_data":{"name":"{order}"}}}`},
	{name: "write many catalog objects", path: "/v2/catalog/batch-upsert", keyLen: 128, shows: "objects", parts: true,
		body: `{"idempotency_key":"{key}","batches":[{"objects":[{"type":"ITEM","id":"#item","item_data":{"name":"{order}"}}]}]}`},
}

// Endpoints lists the requests that are known.
func (*Adapter) Endpoints() (list []contract.Endpoint) {
	for _, e := range endpoints {
		list = append(list, contract.Endpoint{Name: e.name, Method: http.MethodPost, Body: e.body,
			URL: "https://connect.squareup.com" + strings.ReplaceAll(e.path, "*", "{order}")})
	}
	return list
}

func endpointOf(r *http.Request) endpoint {
	for _, e := range endpoints {
		if refs, ok := contract.MatchPath(r.URL, e.path); ok && r.Method == http.MethodPost {
			e.ref = strings.Join(refs, "")
			return e
		}
	}
	return endpoint{}
}

const keyReused = "IDEMPOTENCY_KEY_REUSED"

//go:embed codes.txt
var codeList string

// settling are the meanings that a code has in codes.txt, the most doubtful first.
var settling = []contract.Status{contract.InProgress, contract.Rejected, contract.Declined}

// refusals are the statuses with which such a code is believed: not 408 and its like.
var refusals = []int{400, 401, 402, 403, 404, 405, 406, 410, 413, 415, 422}

func has(words, word string) bool { return slices.Contains(strings.Fields(words), word) }

// Classify says what one reply revealed.
func (*Adapter) Classify(c contract.Call, r contract.Reply) contract.Outcome {
	o := decide(endpointOf(c.Request), c, r)
	if o.Effect() == contract.EffectMaybe || o.Status == contract.NotExecuted {
		o.RetryAfter = r.Wait()
	}
	return o
}

func decide(e endpoint, c contract.Call, r contract.Reply) contract.Outcome {
	body, codes := decode(r)
	switch turnedAway := r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusTooEarly; {
	case turnedAway && e.parts: // https://github.com/woocommerce/woocommerce-square/issues/108 (2026-11-29)
		return contract.Outcome{Code: codes[0], Reason: "throttled, and a part may have been written before"}
	case turnedAway: // by a limit, or by another update of the catalog (spec); the status says so without a body
		return contract.Outcome{Status: contract.NotExecuted, Code: codes[0], Reason: "turned away before execution"}
	}
	if o, none := contract.NoAnswer(r); none {
		return o
	}
	switch {
	case body != nil && codes[0] == "" && r.StatusCode == http.StatusOK:
		return e.made(c, body)
	case body != nil && r.StatusCode >= 400 && r.StatusCode < 500 && slices.Contains(codes, keyReused): // also where it is not the first error
		return contract.Outcome{Status: contract.KeyReused, Code: keyReused, Reason: "the key was used with another request"}
	case body != nil && codes[0] != "" && slices.Contains(refusals, r.StatusCode) && (!e.parts || r.StatusCode == 401 || r.StatusCode == 403):
		return e.refused(codes, body[e.shows])
	default:
		return contract.Outcome{Code: codes[0], Reason: "not an answer that tells whether it was executed"}
	}
}

// decode reads an answer, and the codes of its errors with a "" behind them. The body is
// nil where it cannot be read, or an error lacks one of the two words that it must have.
func decode(r contract.Reply) (body contract.Object, codes []string) {
	body, _ = contract.DecodeObject(r.Body)
	list, isList := body["errors"].([]any)
	if r.Err != nil || body["errors"] != nil && !isList {
		body = nil
	}
	for _, v := range list {
		x, _ := v.(contract.Object)
		code := contract.Word(x.Text("code"))
		if codes = append(codes, code); code == "" || contract.Word(x.Text("category")) == "" {
			body = nil
		}
	}
	return body, append(codes, "")
}

// made reads a success: it shows what was asked for, in a state that this may have.
func (e endpoint) made(c contract.Call, body contract.Object) contract.Outcome {
	shown, list := body.Object(e.shows), []any(nil)
	if e.parts {
		list = body.List(e.shows)
	}
	for _, v := range list {
		if shown, _ = v.(contract.Object); contract.CheckReference(shown.Text("id")) != nil {
			break
		}
	}
	o := contract.Outcome{Status: contract.Succeeded, Resource: shown.Text("id"), State: contract.Word(shown.Text("status")), Reason: "the resource is shown"}
	switch {
	case contract.CheckReference(o.Resource) != nil, e.alive != "" && !has(e.alive+" "+e.dead, o.State):
		return contract.Outcome{Reason: "a success that does not show what was asked for"}
	case has(e.dead, o.State):
		o.Status, o.Reason = contract.Declined, "the resource is shown as refused"
	case len(contract.Compare(e.fields, asked(c), shown).Different) > 0:
		o.Status, o.Reason = contract.Duplicate, "the answer shows another amount or object than was asked, and not every endpoint compares"
	}
	if len(list) > 1 {
		o.Resource = "" // several are no reference to one effect
	}
	return o
}

// refused reads a refusal, of which the most doubtful error counts. A payment that
// failed may be shown beside them (CreatePaymentResponse); in another state it exists.
func (e endpoint) refused(codes []string, shown any) contract.Outcome {
	made, _ := shown.(contract.Object)
	worst := len(settling) - 1
	for _, code := range codes[:len(codes)-1] {
		if code == e.done {
			return contract.Outcome{Status: contract.Duplicate, Resource: e.ref, Code: code, Reason: "this was done to the payment before"}
		}
		worst = min(worst, slices.IndexFunc(settling, func(s contract.Status) bool {
			return strings.Contains(codeList, "\n"+s.String()+" "+code+"\n")
		}))
	}
	if worst < 0 || shown != nil && !has(e.dead, made.Text("status")) {
		return contract.Outcome{Code: codes[0], Reason: "an error that does not tell whether it was executed"}
	}
	return contract.Outcome{Status: settling[worst], Code: codes[0], Reason: "Square's code says so"}
}

func asked(c contract.Call) contract.Object { o, _ := contract.DecodeObject(c.Body); return o }

// ResolveRequest returns the GET of the payment or refund.
func (*Adapter) ResolveRequest(ctx context.Context, c contract.Call, o contract.Outcome) (*http.Request, error) {
	e := endpointOf(c.Request)
	if e.alive == "" || contract.CheckReference(o.Resource) != nil {
		return nil, contract.ErrReference
	}
	return contract.NewRead(ctx, c, e.read()+"/"+o.Resource, nil)
}

// read returns the path below which the resource is fetched, and at which it is listed.
func (e endpoint) read() string { return "/v2/" + e.shows + "s" }

// ClassifyResolve says whether the payment or refund that a fetch showed is what was
// asked for. One that differs is not confirmed, and no more: it may have been updated.
func (*Adapter) ClassifyResolve(c contract.Call, o contract.Outcome, r contract.Reply) contract.Outcome {
	out := contract.Outcome{Status: contract.Duplicate, Resource: o.Resource, Code: o.Code, Source: contract.FromLookUp,
		Reason: "the resource is not shown as it was asked for, so it is not confirmed"}
	if shown := endpointOf(c.Request).shown(c, r); len(shown) == 1 && shown[0] == o.Resource {
		out.Status, out.Reason = contract.Succeeded, "the resource is what was asked"
	}
	return out
}

// shown returns the references of those resources of a read that are what was asked.
func (e endpoint) shown(c contract.Call, r contract.Reply) (refs []string) {
	body, codes := decode(r)
	for _, v := range append(body.List(e.shows+"s"), body[e.shows]) {
		x, _ := v.(contract.Object)
		if ref := x.Text("id"); r.StatusCode == http.StatusOK && codes[0] == "" && contract.CheckReference(ref) == nil &&
			(e.ref == "" || e.ref == ref) && has(e.alive, x.Text("status")) && contract.Compare(e.fields, asked(c), x).Equal() {
			refs = append(refs, ref)
		}
	}
	return refs
}

// Find looks at the payment that a request names, or for the reference of a new one in
// the list, if that is unique (Options). It never claims an absence: the list is
// eventually consistent (spec), and a request may still arrive.
func (a *Adapter) Find(ctx context.Context, c contract.Call, so contract.Finding, last *contract.Reply) (*http.Request, contract.Finding, error) {
	e, asked := endpointOf(c.Request), asked(c)
	query := url.Values{}
	so.Absent, so.Reason = false, "what Square shows does not tell this operation from an equal one, nor its absence"
	switch {
	case c.FirstSent.IsZero(), e.lookUp == contract.LookUpUndocumented, e.ref == "" && (!a.uniqueReference || asked.Text("reference_id") == ""):
		return nil, so, nil
	case e.ref == "":
		query = url.Values{"begin_time": {c.FirstSent.Add(-time.Hour).UTC().Format(time.RFC3339)}, "sort_order": {"ASC"}}
		if location := asked.Text("location_id"); location != "" {
			query.Set("location_id", location)
		}
	}
	if last != nil {
		so.Resources = slices.Compact(append(slices.Clone(so.Resources), e.shown(c, *last)...))
		body, _ := decode(*last)
		next := body.Text("cursor")
		if e.ref != "" || next == "" || next == so.Cursor {
			return nil, so, nil
		}
		so.Cursor = next
		query.Set("cursor", next)
	}
	req, err := contract.NewRead(ctx, c, strings.TrimSuffix(e.read()+"/"+e.ref, "/"), query)
	return req, so, err
}

var _, _, _ = contract.Catalog(New(nil)), contract.Resolver(New(nil)), contract.Finder(New(nil))

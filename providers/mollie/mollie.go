// Package mollie encodes what Mollie's API v2 promises about repeated requests: every
// POST honours a key, for one hour, and a repeat gets the cached first answer with
// Idempotent-Replayed: true. GET, PATCH and DELETE ignore the key.
//
// An error has no machine-readable code, so the status decides. Where one status has
// two meanings the weaker one counts. A 400 says that the key belongs to another
// request, or that the request cannot be read; only after the second a new key is
// safe, so it is KeyReused. A 409 is a request that still runs; at refunds it is also
// an equal refund within the hour.
//
// Not documented, and assumed to be the least: whether failures are cached too (a
// cached 5xx is KeySpent), how long a key may be, which account it belongs to, and how
// soon a list shows a resource (so nothing is ever absent). Bank transfers are a beta
// whose terms may change, so nothing is promised of them.
package mollie

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

// Options are the adapter's settings; there are none yet.
type Options struct{}

// Adapter is Mollie's contract. It is pure and safe for concurrent use.
type Adapter struct{}

// New returns the adapter; nil options are fine.
func New(*Options) *Adapter { return &Adapter{} }

// Name returns "mollie".
func (*Adapter) Name() string { return "mollie" }

// The facts below were read on 2026-11-29 in these places.
var sources = []contract.Source{
	{URL: "https://github.com/mollie/api-documentation/blob/master/source/overview/api-idempotency.rst", Date: "2026-11-29"},
	{URL: "https://docs.mollie.com/reference/handling-errors", Date: "2026-11-29"},
	{URL: "https://docs.mollie.com/reference/rate-limiting", Date: "2026-11-29"},
	{URL: "https://github.com/mollie/openapi/blob/main/specs.yaml", Date: "2026-11-29"},
}

// endpoint is what is known of one request. The zero value is one of which nothing is.
type endpoint struct {
	name, method, path string
	kind, states       string // the resource that it shows, and its states where the effect exists
	bare               int    // the status of a success without a body
	list               bool   // a GET of its path lists what it makes, metadata included
	object             string // the field that shows the reference in the path
	body               string // of the example

	asked contract.Object // what the call at hand asks for: its JSON, and what its path adds
}

const (
	money   = `{"amount":{"currency":"EUR","value":"{decimal}"},"description":"Order {order}"`
	about   = money + `,"metadata":{"order":"{order}"}`
	payment = "open pending authorized paid"
	between = `,"category":"purchase","source":{"type":"organization","id":"org_1"},"destination":{"type":"organization","id":"org_2"}}`
)

// endpoints are those of specs.yaml that move money, or stop it.
var endpoints = []endpoint{
	{name: "create a payment", method: "POST", path: "/v2/payments", kind: "payment", states: payment, list: true, body: about + `,"redirectUrl":"https://shop.example/r"}`},
	{name: "charge a customer", method: "POST", path: "/v2/customers/*/payments", kind: "payment", states: payment, list: true, object: "customerId", body: about + `,"sequenceType":"recurring"}`},
	{name: "refund a payment", method: "POST", path: "/v2/payments/*/refunds", kind: "refund", states: "queued pending processing refunded", list: true, object: "paymentId", body: about + `}`},
	{name: "capture a payment", method: "POST", path: "/v2/payments/*/captures", kind: "capture", states: "pending succeeded", list: true, object: "paymentId", body: about + `}`},
	{name: "release an authorization", method: "POST", path: "/v2/payments/*/release-authorization", bare: 202},
	{name: "create a subscription", method: "POST", path: "/v2/customers/*/subscriptions", kind: "subscription", states: "pending active completed", list: true, object: "customerId", body: about + `,"interval":"1 month"}`},
	{name: "transfer between balances", method: "POST", path: "/v2/connect/balance-transfers", kind: "connect-balance-transfer", states: "created succeeded", list: true, body: about + between},
	{name: "pay a balance out", method: "POST", path: "/v2/payouts", kind: "payout", states: "requested initiated processing-at-bank completed", body: money + `,"balanceId":"bal_1"}`},
	{name: "cancel a payment", method: "DELETE", path: "/v2/payments/*", kind: "payment", states: "canceled"},
	{name: "cancel a refund", method: "DELETE", path: "/v2/payments/*/refunds/*", bare: 204},
	{name: "cancel a subscription", method: "DELETE", path: "/v2/customers/*/subscriptions/*", kind: "subscription", states: "canceled"},
	{name: "cancel a payout", method: "DELETE", path: "/v2/payouts/*", kind: "payout", states: "canceled"},
}

func endpointOf(c contract.Call) endpoint {
	for _, e := range endpoints {
		if refs, ok := contract.MatchPath(c.Request.URL, e.path); ok && c.Request.Method == e.method {
			if e.asked, _ = contract.DecodeObject(c.Body); e.asked != nil && e.object != "" {
				e.asked[e.object] = refs[0]
			}
			return e
		}
	}
	return endpoint{}
}

// Endpoints returns what the adapter knows.
func (*Adapter) Endpoints() (all []contract.Endpoint) {
	example := strings.NewReplacer("payments/*", "payments/tr_1", "customers/*", "customers/cst_1",
		"refunds/*", "refunds/re_1", "subscriptions/*", "subscriptions/sub_1", "payouts/*", "payouts/payout_1")
	for _, e := range endpoints {
		all = append(all, contract.Endpoint{Name: e.name, Method: e.method, URL: "https://api.mollie.com" + example.Replace(e.path), Body: e.body})
	}
	return all
}

// Terms returns what Mollie promises for the call's endpoint.
func (*Adapter) Terms(c contract.Call) contract.Terms {
	e := endpointOf(c)
	t := contract.Terms{
		KeyHeader: "Idempotency-Key", Retention: time.Hour, // older documents said 24 hours
		Repeat: contract.Replays, ReplayMarker: "Idempotent-Replayed",
		Mismatch: contract.MismatchRefused, MismatchAnswers: []contract.Answer{{Status: 400}},
		InFlightAnswers: []contract.Answer{{Status: 409}}, WaitHeaders: []string{"Retry-After"}, Sources: sources,
		Notes: []string{"A 400 for a used key and a 400 for a request that cannot be read differ in their text alone."},
	}
	if e.kind == "refund" {
		t.Notes = append(t.Notes, "A 409 may also mean that an equal refund of the same payment was made within the hour: its text alone tells.")
	}
	switch {
	case e.method == http.MethodDelete: // "repeatable by nature": a second one finds nothing left
		return contract.Terms{Idempotent: true, WaitHeaders: t.WaitHeaders, Sources: sources}
	case e.method != http.MethodPost:
		return contract.Terms{}
	case e.list:
		t.LookUp = contract.LookUpByList
	}
	return t
}

// Classify says what one reply revealed.
func (*Adapter) Classify(c contract.Call, r contract.Reply) contract.Outcome {
	e := endpointOf(c)
	replayed := strings.EqualFold(contract.HeaderValue(r.Header, "Idempotent-Replayed"), "true")
	keyed := e.method == http.MethodPost && (c.Key != "" || contract.HeaderValue(c.Request.Header, "Idempotency-Key") != "")
	o := decide(e, r, keyed, replayed)
	o.Replayed, o.RetryAfter = replayed, r.Wait()
	return o
}

func said(s contract.Status, reason string) contract.Outcome {
	return contract.Outcome{Status: s, Reason: reason}
}

func decide(e endpoint, r contract.Reply, keyed, replayed bool) contract.Outcome {
	switch {
	case r.StatusCode == http.StatusTooManyRequests:
		return said(contract.NotExecuted, "throttled") // rate-limiting
	case r.StatusCode >= 500 && keyed && replayed:
		return said(contract.KeySpent, "the key is bound to a cached server error, which does not tell")
	}
	if o, none := contract.NoAnswer(r); none {
		return o
	}
	if r.StatusCode == 201 && e.method == http.MethodPost || r.StatusCode == 200 && e.method == http.MethodDelete || r.StatusCode == e.bare {
		return made(e, r)
	}
	body, err := contract.DecodeObject(r.Body)
	status, _ := contract.Scalar(body["status"])
	detail := strings.ToLower(body.Text("detail"))
	switch code := r.StatusCode; {
	case err != nil || status != strconv.Itoa(code) || body.Text("title") == "" || body["resource"] != nil || body["id"] != nil:
		return said(contract.Unknown, "not an answer that the documents describe")
	case code == 400 && keyed:
		return said(contract.KeyReused, "refused: the key was used with another request, or the request cannot be read")
	case slices.Contains([]int{400, 401, 403, 404, 405, 410, 415, 422}, code), code == 409 && e.method == http.MethodDelete:
		return said(contract.Rejected, "refused before execution") // handling-errors; specs.yaml, cancel-payout
	case code == 409 && e.kind == "refund" && strings.Contains(detail, "duplicate refund"):
		// specs.yaml, create-refund. The equal refund may be this one, or another that was
		// wanted too. In other words it is taken for work under way, which allows nothing.
		return contract.Outcome{NoResend: true, Reason: "refused: an equal refund exists, which may be this one"}
	case code == 409 && keyed:
		return said(contract.InProgress, "a request with this key is still running")
	}
	return said(contract.Unknown, "an error that does not tell whether the request took effect")
}

// made reads a success, which must show what the endpoint makes.
func made(e endpoint, r contract.Reply) contract.Outcome {
	body, err := contract.DecodeObject(r.Body)
	id, state := body.Text("id"), contract.Word(body.Text("status"))
	switch {
	case r.StatusCode == e.bare && len(strings.TrimSpace(string(r.Body))) == 0:
		return said(contract.Succeeded, "accepted; this endpoint shows no resource")
	case err != nil || e.kind == "" || body.Text("resource") != e.kind || contract.CheckReference(id) != nil:
		return said(contract.Unknown, "a success that does not show what was asked for")
	case e.method == http.MethodPost && len(contract.Compare(fixed, e.asked, body).Different) > 0:
		return contract.Outcome{NoResend: true, Resource: id, State: state, Reason: "a success that shows another amount or object than was asked"}
	case e.method == http.MethodPost && state == "failed":
		code := contract.Word(body.Text("statusReason.code"))
		return contract.Outcome{Status: contract.Declined, Resource: id, State: state, Code: code, Reason: "executed and refused"}
	case slices.Contains(strings.Fields(e.states), state):
		return contract.Outcome{Status: contract.Succeeded, Resource: id, State: state, Reason: "the resource is shown"}
	}
	return said(contract.Unknown, "a state that does not tell whether the request took effect")
}

// fields are what a resource, of any kind, and the request for it have in common.
var fields = []contract.Field{
	{Path: "amount.value", Same: contract.SameDecimal, Need: contract.Required}, {Path: "amount.currency", Same: contract.SameFold, Need: contract.Required},
	{Path: "description", Need: contract.IfAsked}, {Path: "metadata", Need: contract.Required},
	{Path: "paymentId"}, {Path: "customerId"}, {Path: "mandateId"}, {Path: "sequenceType"}, {Path: "redirectUrl"},
	{Path: "interval"}, {Path: "startDate"}, {Path: "source.id"}, {Path: "destination.id"}, {Path: "category"},
}

// fixed are those that an answer cannot show otherwise than they were asked.
var fixed = []contract.Field{
	{Path: "amount.value", Same: contract.SameDecimal}, {Path: "amount.currency", Same: contract.SameFold}, {Path: "paymentId"}, {Path: "customerId"},
}

// read returns a GET in the mode and profile that the request's body named.
func (e endpoint) read(ctx context.Context, c contract.Call, path string, query url.Values) (*http.Request, error) {
	for _, name := range []string{"testmode", "profileId"} {
		if v, ok := contract.Scalar(e.asked[name]); ok {
			query.Set(name, v)
		}
	}
	return contract.NewRead(ctx, c, strings.TrimSuffix(path, "/"), query)
}

// Find looks for what the request made in the list at its own path, sorted from new to
// old, back to an hour before the first send. An entry is taken for it only if it
// equals all that was asked, metadata included: without, nothing tells it from another.
func (*Adapter) Find(ctx context.Context, c contract.Call, so contract.Finding, last *contract.Reply) (*http.Request, contract.Finding, error) {
	e, query := endpointOf(c), url.Values{"limit": {"250"}}
	if c.FirstSent.IsZero() || !e.list || e.asked.Text("metadata") == "" && len(e.asked.Object("metadata")) == 0 {
		so.Reason = "no list shows what tells this request from an equal one"
		return nil, so, nil
	}
	if last != nil {
		body, err := contract.DecodeObject(last.Body)
		list, ok := body.At("_embedded." + strings.ReplaceAll(e.kind, "-", "_") + "s").([]any)
		if last.Err != nil || last.StatusCode != http.StatusOK || err != nil || !ok {
			return nil, so, errors.New("mollie: the look-up could not be read")
		}
		past := false
		for _, v := range list {
			x, _ := v.(contract.Object)
			at, err := time.Parse(time.RFC3339, x.Text("createdAt"))
			past = err == nil && at.Before(c.FirstSent.Add(-time.Hour))
			id, same := contract.Word(x.Text("id")), contract.Compare(fields, e.asked, x).Equal()
			if err == nil && !past && same && id != "" && !slices.Contains(so.Resources, id) {
				so.Resources = append(slices.Clone(so.Resources), id)
			}
		}
		_, link, _ := strings.Cut(body.Text("_links.next.href"), "?") // which is not followed
		next, _ := url.ParseQuery(link)
		from := contract.Word(next.Get("from"))
		if past || from == "" || from == so.Cursor {
			so.Reason = "read the list since the first send, which may show a resource late"
			return nil, so, nil
		}
		so.Cursor, query = from, url.Values{"limit": {"250"}, "from": {from}}
	}
	r, err := e.read(ctx, c, c.Request.URL.Path, query)
	return r, so, err
}

// ResolveRequest returns the GET of what a list showed.
func (*Adapter) ResolveRequest(ctx context.Context, c contract.Call, o contract.Outcome) (*http.Request, error) {
	e, path := endpointOf(c), c.Request.URL.Path
	if e.kind == "payment" {
		path = "/v2/payments" // also where a customer's are
	}
	if err := contract.CheckReference(o.Resource); err != nil || !e.list {
		return nil, contract.ErrReference
	}
	return e.read(ctx, c, path+"/"+o.Resource, url.Values{})
}

// ClassifyResolve says whether what a list showed is what was asked. No answer binds a
// key to a resource, so one that differs proves nothing of the key: what is not
// confirmed stays a Duplicate, and so does what has ended since.
func (*Adapter) ClassifyResolve(c contract.Call, o contract.Outcome, r contract.Reply) contract.Outcome {
	e := endpointOf(c)
	body, err := contract.DecodeObject(r.Body)
	out := contract.Outcome{Status: contract.Duplicate, Resource: o.Resource, State: contract.Word(body.Text("status")), Source: contract.FromLookUp}
	switch {
	case err != nil, r.Err != nil, r.StatusCode != http.StatusOK, !e.list, body.Text("resource") != e.kind, body.Text("id") != o.Resource:
		out.State, out.Reason = o.State, "the resource could not be read, or is not the one that was asked for"
	case !contract.Compare(fields, e.asked, body).Equal():
		out.Reason = "the resource does not show all that was asked"
	case !slices.Contains(strings.Fields(e.states), out.State):
		out.Reason = "the resource is what was asked, and its state ended it"
	default:
		out.Status, out.Reason = contract.Succeeded, "the resource is what was asked"
	}
	return out
}

var (
	_ contract.Adapter  = (*Adapter)(nil)
	_ contract.Resolver = (*Adapter)(nil)
	_ contract.Finder   = (*Adapter)(nil)
	_ contract.Catalog  = (*Adapter)(nil)
)

// Package checkout encodes what Checkout.com promises about repeated requests: a key
// in a header, kept for a day if the answer was a 2xx, which a decline may be, too.
//
// After a 4xx or 5xx the same key pays anew, by document, and nothing says that a 5xx
// had no effect. So a doubt that came with such an answer is not sent again: it is
// looked up, by the request's reference. After a lost answer the same key is sent
// again, which the guide calls safe. A repeat in flight is answered 429, or by a newer
// article 409, with 429 for limits alone: both are taken for one in flight.
//
// Of other parameters nothing is documented, so an answer is compared with what was
// asked; nor of when a payment appears in a list, so no look-up claims an absence.
package checkout

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

// Options are the choices of an Adapter. The zero value is fine.
type Options struct {
	Retention        time.Duration // for how long the account's keys are kept; 0 is the default, a day
	SharedReferences bool          // one reference may be several operations', so none is looked up by it
}

// Adapter is Checkout.com's contract. It is pure and safe for concurrent use.
type Adapter struct{ options Options }

// New returns the adapter; nil options are fine.
func New(o *Options) *Adapter { return &Adapter{*cmp.Or(o, &Options{})} }

// Name returns "checkout".
func (*Adapter) Name() string { return "checkout" }

// The facts below were read on 2026-11-29 in these places.
var (
	guide    = contract.Source{URL: "https://www.checkout.com/docs/developer-resources/api/idempotency", Date: "2026-11-29"}
	conflict = contract.Source{URL: "https://support.checkout.com/hc/en-us/articles/24570669653010-Why-did-I-receive-a-409-HTTP-response-to-my-idempotent-API-request-instead-of-429", Date: "2026-11-29"}
	repeats  = contract.Source{URL: "https://support.checkout.com/hc/en-us/articles/26763450855186-Duplicate-payment-request-responses", Date: "2026-11-29"}
	spec     = contract.Source{URL: "https://github.com/checkout/checkout-api-reference/tree/master/nas_spec", Date: "2026-11-29"}
	list     = contract.Source{URL: "https://www.checkout.com/docs/payments/manage-payments/get-a-list-of-payments", Date: "2026-11-29"}
	sdk      = contract.Source{URL: "https://github.com/checkout/checkout-sdk-go/blob/master/payments/nas/payments.go", Date: "2026-11-29"}
)

// Terms returns what Checkout.com promises for the call's endpoint.
func (a *Adapter) Terms(c contract.Call) contract.Terms {
	e := endpointOf(c.Request)
	if e.url == "" {
		return contract.Terms{}
	}
	t := contract.Terms{
		KeyHeader:       "Cko-Idempotency-Key",
		Retention:       cmp.Or(a.options.Retention, 24*time.Hour),
		Repeat:          contract.Replays,
		Saves:           contract.SavesSuccesses,
		InFlightAnswers: []contract.Answer{{Status: http.StatusConflict}, {Status: http.StatusTooManyRequests}},
		MinWait:         inFlight,
		Notes: []string{
			"After a 5xx the same key pays anew, and a 5xx is not said to have had no effect; a lost answer may have been one, and the guide calls a repeat safe all the same.",
			"The guide says 429 to a repeat in flight, and an article 409, with 429 for limits alone; the guide says that a repeat gets the first status, and an article 202: either is read.",
			"For how long keys are kept can be changed for an account, and was 120 seconds in the sandbox: see Options.Retention.",
			"An answer to a capture, a refund or a transfer shows no amount, so a used key with another one cannot be told by it.",
		},
		Sources: []contract.Source{guide, conflict, repeats, spec, list, sdk},
	}
	if e.makes != "" {
		t.LookUp = contract.LookUpByList
	}
	return t
}

// endpoint is one POST that takes a key. In its URL a * is a payment.
type endpoint struct {
	name, url string
	id        string // the field of the answer that names what it made
	decides   bool   // the answer says whether it was approved
	makes     string // "payment", or the type of an action; "" is in no list
	body      string // of the example
	reads     string // where what it makes is listed, for the call at hand
}

const (
	inFlight = 30 * time.Second // the wait before a repeat; guide
	act      = `{"amount":{amount},"reference":"{order}"}`
	undo     = `{"reference":"{order}"}`
)

// endpoints lists what takes a key and moves money. Guide; the answers: spec, sdk.
var endpoints = []endpoint{
	{name: "request a payment or payout", url: "https://api.checkout.com/payments", id: "id", decides: true, makes: "payment", body: `{"source":{"type":"id","id":"src_wmlfc3zyhqzehihu7giusaaawu"},"amount":{amount},"currency":"EUR","reference":"{order}"}`},
	{name: "capture", url: "https://api.checkout.com/payments/*/captures", id: "action_id", makes: "Capture", body: act},
	{name: "refund", url: "https://api.checkout.com/payments/*/refunds", id: "action_id", makes: "Refund", body: act},
	{name: "void", url: "https://api.checkout.com/payments/*/voids", id: "action_id", makes: "Void", body: undo},
	{name: "cancel", url: "https://api.checkout.com/payments/*/cancellations", id: "action_id", body: undo},
	{name: "increase the authorisation", url: "https://api.checkout.com/payments/*/authorizations", id: "action_id", decides: true, makes: "Authorization", body: act},
	{name: "transfer between accounts", url: "https://transfers.checkout.com/transfers", id: "id", body: `{"transfer_type":"commission","source":{"id":"ent_1","amount":{amount}},"destination":{"id":"ent_2"},"reference":"{order}"}`},
}

// Endpoints returns what the adapter knows, with an example of each.
func (*Adapter) Endpoints() []contract.Endpoint {
	var all []contract.Endpoint
	for _, e := range endpoints {
		all = append(all, contract.Endpoint{Name: e.name, Method: http.MethodPost, Body: e.body,
			URL: strings.Replace(e.url, "*", "pay_mbabizu24mvu3mela5njyhpit4", 1)})
	}
	return all
}

func endpointOf(r *http.Request) endpoint {
	for _, e := range endpoints {
		_, path, _ := strings.Cut(e.url, ".com")
		if refs, ok := contract.MatchPath(r.URL, path); ok && r.Method == http.MethodPost {
			if e.reads = "/payments"; len(refs) > 0 {
				e.reads += "/" + refs[0] + "/actions"
			}
			return e
		}
	}
	return endpoint{}
}

// Classify says what one reply revealed.
func (*Adapter) Classify(c contract.Call, r contract.Reply) contract.Outcome {
	o := decide(endpointOf(c.Request), c, r)
	o.RequestID = contract.Word(contract.HeaderValue(r.Header, "Cko-Request-Id"))
	switch o.Status {
	case contract.InProgress:
		o.RetryAfter = max(r.Wait(), inFlight) // guide: at least
	case contract.Unknown, contract.NotExecuted:
		o.RetryAfter = r.Wait()
		// Guide: only a 2xx is kept; after any other answer the same key pays anew.
		o.NoResend = o.NoResend || o.Status == contract.Unknown && r.StatusCode != 0 && r.StatusCode/100 != 2
	}
	return o
}

func said(s contract.Status, reason string) contract.Outcome {
	return contract.Outcome{Status: s, Reason: reason}
}

func decide(e endpoint, c contract.Call, r contract.Reply) contract.Outcome {
	switch {
	case e.url != "" && c.Key != "" && (r.StatusCode == http.StatusConflict || r.StatusCode == http.StatusTooManyRequests):
		// By status alone: no body is documented. Guide, conflict.
		return said(contract.InProgress, "a request with this key is being processed, or a limit was met: the status does not tell which")
	case r.StatusCode == http.StatusTooManyRequests, r.StatusCode == http.StatusTooEarly:
		// Under no key nothing is in flight (RFC 6585 section 4, RFC 8470 section 5.2).
		return said(contract.NotExecuted, "turned away before execution")
	}
	if o, none := contract.NoAnswer(r); none {
		return o
	}
	body, err := contract.DecodeObject(r.Body)
	switch r.StatusCode {
	case http.StatusCreated, http.StatusAccepted:
		if err != nil || e.url == "" || body["error_type"] != nil || body["error_codes"] != nil {
			return said(contract.Unknown, "a success that is not in the documented form")
		}
		return made(e, c, body)
	case 400, 401, 403, 404, 422:
		return refused(e, r, body)
	}
	return said(contract.Unknown, fmt.Sprintf("status %d does not tell whether the request took effect", r.StatusCode))
}

// refused reads a refusal. Spec: Error, ValidationError, no body with 401 and below a
// payment with 403 and 404. Another type is not said to come before execution.
func refused(e endpoint, r contract.Reply, body contract.Object) contract.Outcome {
	bare := len(r.Body) == 0 && e.makes != "" && (r.StatusCode == 401 || e.makes != "payment" && (r.StatusCode == 403 || r.StatusCode == 404))
	if kind := body.Text("error_type"); !bare && kind != "request_invalid" && kind != "request_malformed" || body[e.id] != nil {
		return said(contract.Unknown, "a refusal that is not in the documented form")
	}
	code, _ := contract.Scalar(append(body.List("error_codes"), "")[0])
	return contract.Outcome{Status: contract.Rejected, Code: contract.Word(code), Reason: "refused before execution"}
}

// live are the states of a payment that exists, or may come to. Spec; sdk, PaymentStatus.
var live = []string{"Authorized", "Pending", "Card Verified", "Captured", "Partially Captured", "Paid", "Requested", "Active"}

// made reads an answer that says that the request was processed. One that does not
// confirm what was asked stays under the key, so another send shows no more.
func made(e endpoint, c contract.Call, body contract.Object) contract.Outcome {
	state, approved := body.Text("status"), body["approved"]
	o := contract.Outcome{Resource: contract.Word(body.Text(e.id)), State: contract.Word(state)}
	switch {
	case o.Resource == "":
		o.Reason = "a success that shows no reference"
	case e.decides && state == "Declined" && approved == false:
		o.Status, o.Code, o.Reason = contract.Declined, contract.Word(body.Text("response_code")), "executed and declined"
	case e.decides && (!slices.Contains(live, state) || approved != true && (approved != nil || state != "Pending")),
		!e.decides && (approved != nil && approved != true || slices.Contains([]string{"declined", "failed", "rejected"}, strings.ToLower(state))):
		o.Reason = "an answer that does not say whether it was approved"
	default:
		o.Status, o.Reason = contract.Succeeded, "Checkout.com shows the result"
	}
	asked, _ := contract.DecodeObject(c.Body)
	switch is := compare(asked, body, contract.IfShown); {
	case contract.SameText(asked["reference"], body["reference"]) == contract.Differs:
		o.Status, o.Reason = contract.KeyReused, "the answer is another request's: "+is.Different[0]
	case o.Status == contract.Succeeded && len(is.Different) > 0:
		o.Status, o.NoResend, o.Reason = contract.Unknown, true, "the answer does not confirm what was asked: "+is.Different[0]
	}
	return o
}

// compare compares what is shown with what was asked. Sdk, AmountRequested.
func compare(asked, shown contract.Object, need contract.Need) contract.Comparison {
	if shown["amount_requested"] != nil {
		shown["amount"] = shown["amount_requested"]
	}
	return contract.Compare([]contract.Field{
		{Path: "reference", Shown: true, Need: need}, {Path: "amount", Same: contract.SameAmount, Shown: true, Need: need},
		{Path: "currency", Same: contract.SameFold, Shown: true},
	}, asked, shown)
}

// Find looks for the request's reference: among the hundred newest payments with it, or
// the payment's actions. What is from an hour before the first send is another's.
func (a *Adapter) Find(ctx context.Context, c contract.Call, so contract.Finding, last *contract.Reply) (*http.Request, contract.Finding, error) {
	e := endpointOf(c.Request)
	asked, _ := contract.DecodeObject(c.Body)
	so.Absent, so.Reason = false, "looked up by its reference; what is not shown yet may still appear"
	switch ref := asked.Text("reference"); {
	case e.makes == "" || ref == "" || a.options.SharedReferences || c.FirstSent.IsZero():
		so.Reason = "the request has no reference of its own to look it up by"
		return nil, so, nil
	case last == nil:
		r, err := contract.NewRead(ctx, c, e.reads, url.Values{"reference": {ref}, "limit": {"100"}})
		return r, so, err
	}
	entries, ok := entriesOf(*last)
	if !ok {
		return nil, so, fmt.Errorf("checkout: the look-up brought no list, and status %d", last.StatusCode)
	}
	for _, x := range entries {
		id := contract.Word(x.Text("id"))
		at, err := time.Parse(time.RFC3339, x.Text("requested_on")+x.Text("processed_on"))
		if id != "" && err == nil && !at.Before(c.FirstSent.Add(-time.Hour)) && e.exists(x) &&
			compare(asked, x, contract.IfAsked).Equal() && !slices.Contains(so.Resources, id) {
			so.Resources = append(slices.Clone(so.Resources), id)
		}
	}
	return nil, so, nil
}

// exists reports whether an entry is of the kind that the endpoint makes, and no decline.
func (e endpoint) exists(x contract.Object) bool {
	return x["approved"] != false && (x.Text("type") == e.makes || e.makes == "payment" && slices.Contains(live, x.Text("status")))
}

// entriesOf returns what a list shows: actions as a bare list, payments under "data".
func entriesOf(r contract.Reply) (entries []contract.Object, ok bool) {
	all, err := contract.DecodeList(r.Body)
	if page, _ := contract.DecodeObject(r.Body); page["data"] != nil {
		all, ok = page["data"].([]any)
	}
	ok = (ok || err == nil) && r.Err == nil && r.StatusCode == http.StatusOK
	for _, v := range all {
		x, is := v.(contract.Object)
		entries, ok = append(entries, x), ok && is
	}
	return entries, ok
}

// ResolveRequest returns the GET of a payment. An action is only listed: a Duplicate.
func (*Adapter) ResolveRequest(ctx context.Context, c contract.Call, o contract.Outcome) (*http.Request, error) {
	e := endpointOf(c.Request)
	if contract.CheckReference(o.Resource) != nil || e.makes != "payment" {
		return nil, contract.ErrReference
	}
	return contract.NewRead(ctx, c, e.reads+"/"+o.Resource, nil)
}

// ClassifyResolve says whether the payment that a fetch shows is what was asked. What
// differs may have been changed since it was found, so it is called nobody else's.
func (*Adapter) ClassifyResolve(c contract.Call, o contract.Outcome, r contract.Reply) contract.Outcome {
	x, err := contract.DecodeObject(r.Body)
	asked, _ := contract.DecodeObject(c.Body)
	o = contract.Outcome{Status: contract.Duplicate, Resource: o.Resource, State: contract.Word(x.Text("status")), Source: contract.FromLookUp,
		Reason: "the payment is not shown as it was asked for, so it is not confirmed"}
	if err == nil && r.Err == nil && r.StatusCode == http.StatusOK && contract.CheckReference(o.Resource) == nil && x.Text("id") == o.Resource &&
		endpointOf(c.Request).exists(x) && compare(asked, x, contract.IfAsked).Equal() {
		o.Status, o.Reason = contract.Succeeded, "the payment is what was asked"
	}
	return o
}

var (
	_ contract.Catalog  = (*Adapter)(nil)
	_ contract.Resolver = (*Adapter)(nil)
	_ contract.Finder   = (*Adapter)(nil)
)

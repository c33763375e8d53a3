// Package paypal encodes what PayPal's Orders v2, Payments v2, Payouts v1 and Vault v3
// promise about repeated requests: a repeat gets the current state of what the first
// one made, unmarked, for as long as the API stores the PayPal-Request-Id. So a state may
// be later than the request (a refunded capture), and a used id shows its first request,
// whatever the second one asks: what is shown is compared with what was asked. Without
// Prefer: return=representation no amount is shown, and nothing tells. Payouts go by
// sender_batch_id, refused for 30 days, and not by the header, which has let a batch
// through twice: https://github.com/paypal/PayPal-Java-SDK/issues/379.
//
// Not documented, and assumed to be the least: which errors are stored under an id,
// whether ids are unique in one API or in all, and a key at voids and other requests.
package paypal

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

// Options are the adapter's settings; there are none yet.
type Options struct{}

// Adapter is PayPal's contract. It is pure and safe for concurrent use.
type Adapter struct{}

// New returns the adapter; nil options are fine.
func New(*Options) *Adapter { return &Adapter{} }

// Name returns "paypal".
func (*Adapter) Name() string { return "paypal" }

// The facts below were read on 2026-11-29 in these places.
var sources = []contract.Source{
	{URL: "https://developer.paypal.com/reference/guidelines/idempotency", Date: "2026-11-29"},
	{URL: "https://developer.paypal.com/api/rate-limiting", Date: "2026-11-29"},
	{URL: "https://github.com/paypal/paypal-rest-api-specifications/tree/main/openapi", Date: "2026-11-29"},
	{URL: "https://developer.paypal.com/api/payment-tokens/v3/errors/paypal_request_id_previously_used", Date: "2026-11-29"},
}

// endpoint is what is known of one request. The zero value is one of which nothing is.
type endpoint struct {
	name, path, get string        // POST there; what it shows is fetched from get, by its id
	stored          time.Duration // how long its key is; 0 is not at all
	acts            bool          // it shows the object in its path, and makes none of its own
	states, refused string        // of what it shows, where the effect exists, and where it was refused
	done            string        // the issue that says that it was done before
	bare            int           // the status of a success without a body
	body            string        // of the example

	ref   string          // the reference in the path of the call at hand
	asked contract.Object // and its body
}

const (
	orders, payments = "/v2/checkout/orders", "/v2/payments/"
	batches, day     = "/v1/payments/payouts", 24 * time.Hour
	tokens, vault    = "/v3/vault/payment-tokens", 3 * time.Hour
	kept             = "COMPLETED PENDING PARTIALLY_REFUNDED REFUNDED CREATED CAPTURED PARTIALLY_CAPTURED PARTIALLY_CREATED EXPIRED VOIDED" // a capture's or an authorization's states, where it holds
	value            = `"amount":{"currency_code":"USD","value":"{decimal}"}}`
	unit             = `{"intent":"CAPTURE","purchase_units":[{"reference_id":"{order}",` + value + `]}`
	batch            = `{"sender_batch_header":{"sender_batch_id":"{key}"},"items":[{"recipient_type":"PAYPAL_ID","receiver":"EXAMPLE","amount":{"currency":"USD","value":"{decimal}"}}]}`
)

// endpoints are those of the specifications that move money, hold it or free it.
var endpoints = []endpoint{
	{name: "create an order", path: orders, get: orders, stored: 6 * time.Hour, states: "CREATED SAVED APPROVED PAYER_ACTION_REQUIRED COMPLETED", body: unit},
	{name: "capture an order", path: orders + "/*/capture", get: orders, stored: 6 * time.Hour, acts: true, states: "COMPLETED", done: "ORDER_ALREADY_CAPTURED", body: `{}`},
	{name: "authorize an order", path: orders + "/*/authorize", get: orders, stored: 6 * time.Hour, acts: true, states: "COMPLETED", done: "ORDER_ALREADY_AUTHORIZED", body: `{}`},
	{name: "capture an authorization", path: payments + "authorizations/*/capture", get: payments + "captures", stored: 45 * day, states: "COMPLETED PENDING PARTIALLY_REFUNDED REFUNDED", refused: "DECLINED", done: "AUTHORIZATION_ALREADY_CAPTURED", body: "{" + value},
	{name: "refund a capture", path: payments + "captures/*/refund", get: payments + "refunds", stored: 45 * day, states: "COMPLETED PENDING", refused: "FAILED CANCELLED", done: "CAPTURE_FULLY_REFUNDED", body: "{" + value},
	{name: "authorize again", path: payments + "authorizations/*/reauthorize", get: payments + "authorizations", stored: 45 * day, states: "CREATED PENDING CAPTURED PARTIALLY_CAPTURED VOIDED", refused: "DENIED", body: "{" + value},
	{name: "void an authorization", path: payments + "authorizations/*/void", get: payments + "authorizations", acts: true, states: "VOIDED", done: "PREVIOUSLY_VOIDED", bare: 204},
	{name: "pay out a batch", path: batches, get: batches, stored: 30 * day, states: "PENDING PROCESSING SUCCESS", refused: "DENIED", body: batch},
	{name: "save a payment method", path: tokens, get: tokens, stored: vault, body: `{"payment_source":{"token":{"id":"EXAMPLE","type":"SETUP_TOKEN"}}}`},
}

func endpointOf(c contract.Call) endpoint {
	for _, e := range endpoints {
		if refs, ok := contract.MatchPath(c.Request.URL, e.path); ok && c.Request.Method == http.MethodPost {
			e.ref = strings.Join(refs, "")
			e.asked, _ = contract.DecodeObject(c.Body)
			return e
		}
	}
	return endpoint{}
}

// Endpoints returns what the adapter knows.
func (*Adapter) Endpoints() (all []contract.Endpoint) {
	for _, e := range endpoints {
		url, prefer := "https://api-m.paypal.com"+strings.Replace(e.path, "*", "EXAMPLE1", 1), map[string]string{"Prefer": "return=representation"}
		all = append(all, contract.Endpoint{Name: e.name, Method: http.MethodPost, URL: url, Header: prefer, Body: e.body})
	}
	return all
}

// Terms returns what PayPal promises for the call's endpoint.
func (*Adapter) Terms(c contract.Call) contract.Terms {
	e := endpointOf(c)
	t := contract.Terms{AccountHeaders: []string{"PayPal-Auth-Assertion"}, WaitHeaders: []string{"Retry-After"}, Sources: sources}
	switch {
	case e.path == "":
		return contract.Terms{}
	case e.path == batches:
		t.KeyField, t.KeyScope, t.KeyMaxLen, t.Retention = "sender_batch_header.sender_batch_id", batches, 256, e.stored
		t.Repeat, t.RepeatAnswers = contract.Conflicts, []contract.Answer{{Status: 400, Code: "USER_BUSINESS_ERROR"}}
		t.Mismatch, t.LookUp = contract.MismatchIgnored, contract.LookUpByReference
		t.Notes = []string{"PayPal-Request-Id is documented here too, and has been seen to let a batch through twice."}
	case e.stored > 0:
		t.KeyHeader, t.KeyMaxLen, t.Retention, t.Repeat = "PayPal-Request-Id", 38, e.stored, contract.ReturnsCurrent
		t.KeyRequired = e.asked["payment_source"] != nil // which makes an order a single step
		t.Notes = []string{"Of two simultaneous requests with one id the second may fail, and how is not said for all.", "The specifications allow longer ids than the general guide."}
		switch e.stored {
		case vault:
			t.KeyRequired, t.Mismatch, t.MismatchAnswers = true, contract.MismatchRefused, []contract.Answer{{Status: 422, Code: "PAYPAL_REQUEST_ID_PREVIOUSLY_USED"}}
		case 6 * time.Hour:
			t.InFlightAnswers = []contract.Answer{{Status: 422, Code: "ORDER_COMPLETION_IN_PROGRESS"}}
		default:
			t.InFlightAnswers = []contract.Answer{{Status: 409, Code: "PREVIOUS_REQUEST_IN_PROGRESS"}}
			t.Notes = append(t.Notes, "The 45 days stand in the specification; the newest reference pages state no time.")
		}
	}
	return t
}

// Classify says what one reply revealed.
func (*Adapter) Classify(c contract.Call, r contract.Reply) contract.Outcome {
	body, _ := contract.DecodeObject(r.Body)
	o := decide(endpointOf(c), r, body)
	o.RetryAfter, o.RequestID = r.Wait(), contract.Word(contract.HeaderValue(r.Header, "Paypal-Debug-Id"))
	return o
}

func said(s contract.Status, code, reason string) contract.Outcome {
	return contract.Outcome{Status: s, Code: code, Reason: reason}
}

// meanings are what the issues of an error say, or its name. Sources: the specifications.
var meanings = []struct {
	status        contract.Status
	codes, reason string
}{
	{contract.InProgress, "PREVIOUS_REQUEST_IN_PROGRESS ORDER_COMPLETION_IN_PROGRESS", "an earlier request is being worked on"},
	{contract.Duplicate, "", "it was done before"}, // the endpoint's own code
	{contract.Duplicate, "DUPLICATE_INVOICE_ID", "an earlier payment has this invoice id"},
	{contract.KeyReused, "PAYPAL_REQUEST_ID_PREVIOUSLY_USED DUPLICATE_REQUEST_ID", "the id was used before, and what for is not said"},
	{contract.Declined, "INSTRUMENT_DECLINED PAYMENT_SOURCE_DECLINED_BY_PROCESSOR ALIAS_DECLINED_BY_PROCESSOR TRANSACTION_REFUSED DECLINED_DUE_TO_RELATED_TXN " +
		"COMPLIANCE_VIOLATION PAYER_CANNOT_PAY REDIRECT_PAYER_FOR_ALTERNATE_FUNDING REFUND_FAILED_INSUFFICIENT_FUNDS", "executed and refused"},
}

func decide(e endpoint, r contract.Reply, body contract.Object) contract.Outcome {
	name := contract.Word(cmp.Or(body.Text("name"), body.Text("error")))
	switch o, none := contract.NoAnswer(r); {
	case r.StatusCode == http.StatusTooManyRequests:
		return said(contract.NotExecuted, "", "throttled") // api/rate-limiting
	case none:
		return o
	case r.StatusCode == e.bare && len(strings.TrimSpace(string(r.Body))) == 0:
		return said(contract.Succeeded, "", "done; this answer shows no resource")
	case r.StatusCode == http.StatusOK, r.StatusCode == http.StatusCreated:
		o, whole := e.shown(body)
		if o.Status == contract.Succeeded && !whole && e.path == orders && r.StatusCode == http.StatusOK {
			o.Status, o.Reason = contract.Duplicate, "the id has an order, which does not show what was asked"
		}
		return o
	case !slices.Contains([]int{400, 401, 403, 404, 405, 409, 415, 422}, r.StatusCode), name == "", body["id"] != nil, body["details"] != nil && body.List("details") == nil:
		return said(contract.Unknown, "", "not an answer that tells whether the request took effect")
	case e.path == batches && name == "USER_BUSINESS_ERROR":
		return taken(body)
	}
	var issues []string
	for _, d := range append(body.Objects("details"), contract.Object{"issue": name}) {
		if issue := contract.Word(d.Text("issue")); issue != "" {
			issues = append(issues, issue)
		}
	}
	doubt := r.StatusCode == http.StatusConflict
	for _, word := range []string{"ALREADY", "DUPLICATE_", "PREVIOUSLY", "IN_PROGRESS", "COMPLETED", "INTERNAL_S", "USER_BUSINESS"} { // in issues that are not known
		doubt = doubt || strings.Contains(strings.ToUpper(strings.Join(issues, " ")), word)
	}
	for _, m := range meanings {
		for _, code := range issues {
			if o := said(m.status, code, m.reason); slices.Contains(strings.Fields(cmp.Or(m.codes, e.done)), code) && (m.status != contract.Declined || !doubt) {
				if m.codes == "" && e.acts {
					o.Resource = e.ref
				}
				return o
			}
		}
	}
	if doubt {
		return said(contract.Unknown, issues[0], "refused for what an earlier request may have done")
	}
	return said(contract.Rejected, issues[0], "refused before execution")
}

// taken reads what a used sender_batch_id gets: a link to the batch that has it. Without
// one nothing says that it was paid: https://github.com/paypal/PayPal-Ruby-SDK/issues/120.
func taken(body contract.Object) contract.Outcome {
	o := said(contract.Unknown, "USER_BUSINESS_ERROR", "an error that does not tell whether the batch exists")
	for _, d := range body.Objects("details") {
		if strings.EqualFold(d.Text("field"), "SENDER_BATCH_ID") {
			o.Status, o.Reason = contract.KeySpent, "the sender_batch_id is taken, and not said by what"
		}
	}
	for _, link := range body.Objects("links") {
		u, _ := url.Parse(link.Text("href"))
		if refs, ok := contract.MatchPath(u, batches+"/*"); ok {
			o.Status, o.Resource, o.Reason = contract.Duplicate, refs[0], "the sender_batch_id is taken"
		}
	}
	return o
}

// shown reads a resource: whether the effect exists, and whether all that was asked is
// seen in it. What differs belongs to another request under the same id.
func (e endpoint) shown(body contract.Object) (o contract.Outcome, whole bool) {
	id := cmp.Or(body.Text("batch_header.payout_batch_id"), body.Text("id"))
	state := contract.Word(cmp.Or(body.Text("batch_header.batch_status"), body.Text("status")))
	elsewhere := slices.ContainsFunc(body.Objects("links"), func(link contract.Object) bool {
		return link.Text("rel") == "self" && !strings.Contains(link.Text("href")+"?", e.get+"/"+id+"?")
	})
	is := contract.Compare(fields, e.asked, body)
	is.CompareList(fields, "purchase_units", e.asked, body)
	is.CompareList(fields, "items", e.asked, body)
	o = contract.Outcome{Resource: id, State: state}
	switch paid, unpaid := fate(body); {
	case e.path == "" || body["name"] != nil || contract.CheckReference(id) != nil || e.acts && id != e.ref || elsewhere:
		return said(contract.Unknown, "", "a success that does not show what was asked for"), false
	case len(is.Different) > 0:
		o.Status, o.Reason = contract.KeyReused, "the key belongs to another request: it shows "+strings.Join(is.Different, "; ")
	case unpaid && !paid, state != "" && slices.Contains(strings.Fields(e.refused), state):
		o.Status, o.Code, o.Reason = contract.Declined, contract.Word(body.Text("status_details.reason")), "executed and refused"
	case unpaid, e.states != "" && !slices.Contains(strings.Fields(e.states), state):
		return said(contract.Unknown, "", "a state that does not tell whether the request took effect"), false
	default:
		o.Status, o.Reason = contract.Succeeded, "the resource is shown"
	}
	return o, len(is.Unseen) == 0
}

// fate says whether units of an order are paid, or unpaid; where it is unclear, both.
func fate(order contract.Object) (paid, unpaid bool) {
	for _, unit := range order.Objects("purchase_units") {
		lives, other := false, false
		all := append(unit.Objects("payments.captures"), unit.Objects("payments.authorizations")...)
		for _, p := range all {
			state := p.Text("status")
			lives, other = lives || state == "" || slices.Contains(strings.Fields(kept), state), other || state != "DECLINED" && state != "DENIED"
		}
		paid, unpaid = paid || other, unpaid || len(all) > 0 && !lives
	}
	return paid, unpaid
}

// fields are what a resource and the request for it have in common, of any kind.
var fields = []contract.Field{
	{Path: "amount.value", Also: "payout_item.amount.value", Same: contract.SameDecimal, Need: contract.IfAsked},
	{Path: "amount.currency_code", Same: contract.SameFold, Need: contract.IfAsked},
	{Path: "amount.currency", Also: "payout_item.amount.currency", Same: contract.SameFold, Need: contract.IfAsked},
	{Path: "receiver", Also: "payout_item.receiver", Same: contract.SameWording, Need: contract.IfAsked}, // may come in another spelling
	{Path: "sender_batch_header.sender_batch_id", Also: "batch_header.sender_batch_header.sender_batch_id", Need: contract.IfAsked},
	{Path: "intent"}, {Path: "invoice_id"}, {Path: "custom_id"}, {Path: "reference_id"},
}

// ResolveRequest returns the GET of what an answer referred to.
func (*Adapter) ResolveRequest(ctx context.Context, c contract.Call, o contract.Outcome) (*http.Request, error) {
	e := endpointOf(c)
	if err := contract.CheckReference(o.Resource); err != nil || e.get == "" {
		return nil, contract.ErrReference
	}
	return contract.NewRead(ctx, c, e.get+"/"+o.Resource, nil)
}

// ClassifyResolve says whether the resource is what was asked. An order may have been
// changed since, so only a batch that differs shows that the key is another's.
func (*Adapter) ClassifyResolve(c contract.Call, o contract.Outcome, r contract.Reply) contract.Outcome {
	e := endpointOf(c)
	body, err := contract.DecodeObject(r.Body)
	got, whole := e.shown(body)
	out := contract.Outcome{Status: contract.Duplicate, Resource: o.Resource, State: o.State, Code: o.Code, Source: contract.FromLookUp,
		Reason: "the resource could not be read, or is not the one that was asked for"}
	switch {
	case err != nil || r.Err != nil || r.StatusCode != http.StatusOK || got.Resource != o.Resource: // as it was
	case got.Status == contract.Succeeded && whole, got.Status == contract.KeyReused && e.path == batches:
		out.Status, out.State, out.Reason = got.Status, got.State, got.Reason
	default:
		out.State, out.Reason = got.State, "the resource exists, and is not confirmed: "+got.Reason
	}
	return out
}

var _, _ = contract.Resolver(New(nil)), contract.Catalog(New(nil))

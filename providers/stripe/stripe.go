// Package stripe encodes Stripe's idempotency contract: API v1 and API v2, which
// differ, told apart by the path.
//
//	client, err := retry.NewClient(stripe.New(nil), nil)
//
// For programs on stripe-go, Backend runs that SDK on such a client, and OutcomeOf
// says what one of its errors means for the money.
//
// Give every operation metadata of its own (the id of this payment or refund in your
// books, not the order that several share): that is what it can be looked up by when
// neither the key nor the events settle it.
package stripe

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

// Options changes how the adapter looks operations up. Nil means the defaults.
type Options struct {
	// OperationMetadata names the metadata keys whose values identify one
	// operation ("refund_id"), for look-ups on list endpoints. Nil: all metadata of
	// the request together does. Name the keys where some requests carry only
	// metadata that they share with others ("env"): another operation of the same
	// amount would be taken for this one. A request that lacks one of the named
	// keys is not looked up by metadata; an empty list turns that off.
	OperationMetadata []string
}

// Adapter is Stripe's contract. It is immutable and safe for concurrent use.
type Adapter struct {
	operationMetadata []string
}

// New returns the adapter. Nil options are fine.
func New(o *Options) *Adapter {
	if o == nil {
		o = &Options{}
	}
	return &Adapter{operationMetadata: slices.Clone(o.OperationMetadata)}
}

// Name returns "stripe".
func (a *Adapter) Name() string { return "stripe" }

// How long Stripe promises to remember a key.
const (
	retentionV1 = 24 * time.Hour
	retentionV2 = 30 * 24 * time.Hour
)

// accountHeaders select the account in which a key lives; Stripe-Context supersedes
// Stripe-Account, and reaches further.
var accountHeaders = []string{"Stripe-Account", "Stripe-Context"}

// date is when the pages of this package's facts were read.
const date = "2026-11-29"

// pages returns pages of docs.stripe.com as sources.
func pages(paths ...string) []contract.Source {
	var all []contract.Source
	for _, p := range paths {
		all = append(all, contract.Source{URL: "https://docs.stripe.com/" + p, Date: date})
	}
	return all
}

// Terms returns v1's promises for a path under /v1/ and v2's for one under /v2/,
// on any host: a POST is protected by its key, a DELETE is idempotent by
// definition. Everything else promises nothing.
func (a *Adapter) Terms(c contract.Call) contract.Terms {
	e := endpointOf(c.Request)
	t := contract.Terms{
		AccountHeaders: slices.Clone(accountHeaders),
		VersionHeaders: []string{"Stripe-Version"},
		Sources: pages("api/idempotent_requests", "error-low-level", "api-v2-overview",
			"api/connected-accounts", "context", "api/versioning"),
	}
	switch {
	case e.version == 1 && e.method == http.MethodPost:
		// Status and body of the first request are saved once the endpoint begins
		// to execute, errors included, and may be pruned 24 hours later. Other
		// parameters under the key are an error.
		t.KeyHeader, t.KeyMaxLen, t.Retention = "Idempotency-Key", 255, retentionV1
		t.Repeat, t.Mismatch = contract.Replays, contract.MismatchRefused
		t.ReplayMarker, t.Saves, t.LookUp = "Idempotent-Replayed", contract.SavesResults, contract.LookUpByList
		t.Notes = []string{
			"How long after its first send a request may still come to execution is not published.",
			"Events tell the key of a request, and appear late: no event proves nothing.",
		}
	case e.version == 1 && e.method == http.MethodDelete:
		// "The Stripe API guarantees the idempotency of GET and DELETE requests";
		// a key has no effect on them.
		t.Idempotent = true
	case e.version == 2 && e.method == http.MethodPost:
		// A repeat skips what is done, executes again what failed, and answers with
		// the current state. What other parameters get is not documented: two
		// requests count as one by key, API, account and 30 days.
		t.KeyHeader, t.KeyMaxLen, t.Retention = "Idempotency-Key", 255, retentionV2
		t.Repeat, t.Saves = contract.ReturnsCurrent, contract.SavesSuccesses
		t.Notes = []string{"Lists are eventually consistent, so nothing is looked up in them."}
	case e.version == 2 && e.method == http.MethodDelete:
		t.KeyHeader, t.KeyMaxLen, t.Retention = "Idempotency-Key", 255, retentionV2
		t.Repeat = contract.ReturnsCurrent
		t.Idempotent = true // so the key is optional
	default:
		return contract.Terms{}
	}
	if t.HonoursKeys() {
		t.InFlightAnswers = []contract.Answer{{Status: http.StatusConflict, Code: "idempotency_key_in_use"}}
		t.WaitHeaders = []string{"Retry-After"} // of HTTP; Stripe's documents name none
	}
	if t.Mismatch == contract.MismatchRefused {
		t.MismatchAnswers = []contract.Answer{{Status: http.StatusBadRequest, Code: "idempotency_error"}}
	}
	return t
}

// Endpoints returns examples of what the rules by path are applied to.
func (a *Adapter) Endpoints() []contract.Endpoint {
	return []contract.Endpoint{
		{Name: "create and confirm a payment intent", Method: http.MethodPost, URL: host + "/v1/payment_intents",
			Body: "amount={amount}&currency=usd&confirm=true&payment_method=pm_card_visa&metadata[order]={order}"},
		{Name: "capture a payment intent", Method: http.MethodPost, URL: host + "/v1/payment_intents/pi_1/capture", Body: "amount_to_capture={amount}"},
		{Name: "refund", Method: http.MethodPost, URL: host + "/v1/refunds", Body: "payment_intent=pi_1&amount={amount}&metadata[order]={order}"},
		{Name: "transfer", Method: http.MethodPost, URL: host + "/v1/transfers", Body: "destination=acct_1&amount={amount}&currency=usd&metadata[order]={order}"},
		{Name: "payout", Method: http.MethodPost, URL: host + "/v1/payouts", Body: "amount={amount}&currency=usd&metadata[order]={order}"},
		{Name: "delete a customer", Method: http.MethodDelete, URL: host + "/v1/customers/cus_1"},
		{Name: "create an outbound payment (API v2)", Method: http.MethodPost, URL: host + "/v2/money_management/outbound_payments",
			Body: `{"amount":{"value":{amount},"currency":"usd"},"from":{"financial_account":"fa_1"},"to":{"recipient":"acct_1"},"metadata":{"order":"{order}"}}`},
	}
}

// host is the host of the examples.
const host = "https://api.stripe.com"

// endpoint is what a request's method and path say.
type endpoint struct {
	version  int    // 1 or 2; 0 is a path of neither
	method   string // upper case
	segments []string

	// For v1 only: "payment_intents", "pi_1", "confirm". A create has no id.
	collection, id, action string

	unseen bool // an error of the SDK was read, which does not show its request
}

// namespaces are the first segments of v1 paths that are followed by a collection
// and not by an id.
//
// Source: the paths in https://github.com/stripe/stripe-go at v76.25.0 (read 2026-11-29).
var namespaces = []string{
	"apple_pay", "apps", "billing", "billing_portal", "checkout", "climate", "crypto", "entitlements",
	"financial_connections", "forwarding", "identity", "issuing", "radar", "reporting",
	"sigma", "tax", "terminal", "test_helpers", "treasury",
}

func endpointOf(r *http.Request) endpoint {
	if r == nil || r.URL == nil {
		return endpoint{}
	}
	e := endpoint{method: strings.ToUpper(r.Method)}
	parts := strings.Split(r.URL.EscapedPath(), "/")
	if len(parts) < 3 || parts[0] != "" {
		return e
	}
	for _, p := range parts[2:] {
		// A segment that a server might read as another path belongs to no contract
		// that we know.
		plain, err := url.PathUnescape(p)
		if err != nil || strings.Trim(plain, ".") == "" || strings.ContainsAny(plain, "/\\") {
			return e
		}
	}
	switch parts[1] {
	case "v1":
		e.version = 1
	case "v2":
		e.version = 2
	default:
		return e
	}
	e.segments = parts[2:]
	if e.version == 1 {
		e.split()
	}
	return e
}

func (e *endpoint) split() {
	n := 1
	if slices.Contains(namespaces, e.segments[0]) && len(e.segments) > 1 {
		n = 2
	}
	e.collection = strings.Join(e.segments[:n], "/")
	if len(e.segments) > n {
		e.id = e.segments[n]
		e.action = strings.Join(e.segments[n+1:], "/")
	}
}

// name is the endpoint without its id: "payment_intents", "payment_intents/capture".
func (e endpoint) name() string {
	if e.action == "" {
		return e.collection
	}
	return e.collection + "/" + e.action
}

// kind is the "object" word of what a create on this endpoint makes:
// "payment_intent", "checkout.session".
func (e endpoint) kind() string {
	return strings.TrimSuffix(strings.ReplaceAll(e.collection, "/", "."), "s")
}

// object returns the reference of the object that the request acts on, or "".
func (e endpoint) object() string {
	if contract.CheckReference(e.id) != nil {
		return ""
	}
	return e.id
}

// makesMoney reports whether the request makes an object of a collection whose
// "object" word is known to follow from its name.
func (e endpoint) makesMoney() bool { return e.creates() && slices.Contains(complete, e.collection) }

// creates reports whether the request makes a new object of its collection.
func (e endpoint) creates() bool {
	return e.version == 1 && e.method == http.MethodPost && e.id == ""
}

var (
	_ contract.Adapter  = (*Adapter)(nil)
	_ contract.Resolver = (*Adapter)(nil)
	_ contract.Finder   = (*Adapter)(nil)
	_ contract.Catalog  = (*Adapter)(nil)
)

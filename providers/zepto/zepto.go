// Package zepto encodes what Zepto promises about repeated requests, which is two
// contracts in one provider: a key in a header on the core API, which is forgotten
// after a day, and a uid in the body on PayTo, which is taken for ever.
//
// A repeat is refused at both with an error that says that the resource exists,
// and neither is said to compare the two requests. So a Duplicate is fetched and
// compared with what was asked, here, before anybody may call it a success.
package zepto

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

// Options are the choices of an Adapter. The zero value is fine.
type Options struct {
	// OperationMetadata names the metadata keys whose values tell one operation
	// from every other ("invoice_id"), for look-ups without a reference. Nil: all
	// metadata of the request together does, except "remitter", which is Zepto's
	// own. Name the keys where requests may carry only metadata that they share with
	// others. A request that lacks one of the named keys is not looked up, and an
	// empty list turns that off.
	OperationMetadata []string
}

// Adapter is Zepto's contract. It is pure and safe for concurrent use.
type Adapter struct {
	operationMetadata []string
}

// New returns the adapter; nil options are fine.
func New(o *Options) *Adapter {
	if o == nil {
		o = &Options{}
	}
	return &Adapter{operationMetadata: slices.Clone(o.OperationMetadata)}
}

// Name returns "zepto".
func (a *Adapter) Name() string { return "zepto" }

const (
	keyHeader     = "Idempotency-Key"
	versionHeader = "Zepto-API-Version"
)

// The facts below were read on 2026-11-29 in these places.
var (
	guide       = contract.Source{URL: "https://github.com/zeptofs/api-documentation/blob/main/source/guides/zepto-api.md", Date: "2026-11-29"}
	coreAPI     = contract.Source{URL: "https://github.com/zeptofs/api-documentation/blob/main/source/openapi3/split.yaml", Date: "2026-11-29"}
	payToCodes  = contract.Source{URL: "https://docs.zeptopayments.com/docs/pay-to-unprocessable-codes", Date: "2026-11-29"}
	payToCreate = contract.Source{URL: "https://docs.zeptopayments.com/docs/creating-a-payto-payment", Date: "2026-11-29"}
	payToSpec   = contract.Source{URL: "https://raw.githubusercontent.com/api-evangelist/zepto-payments/refs/heads/main/openapi/zepto-payments-pay-to.yml", Date: "2026-11-29"}
)

// Terms returns what Zepto promises for the call's endpoint.
func (a *Adapter) Terms(c contract.Call) contract.Terms {
	e := endpointOf(c.Request)
	t := contract.Terms{
		VersionHeaders: []string{versionHeader},
		Idempotent:     e.idempotent,
		Sources:        []contract.Source{guide, coreAPI},
	}
	if e.payTo {
		t.Sources = []contract.Source{payToSpec, payToCodes, payToCreate}
	}
	switch e.key {
	case keyInHeader:
		t.KeyHeader = keyHeader
		t.KeyMaxLen = 256
		t.KeyRequired = true
		t.Retention = 24 * time.Hour
		t.Repeat = contract.Conflicts
		// A later request with the key gets the 409, without a condition on what
		// it asks.
		t.Mismatch = contract.MismatchIgnored
	case keyInUID:
		t.KeyField = "uid"
		t.KeyScope = e.makes.scope
		t.KeyMinLen, t.KeyMaxLen = 1, 64
		t.KeyAlphabet = contract.Unreserved
		t.KeyRequired = true
		t.Retention = contract.RetentionForever
		t.Repeat = contract.Conflicts
		t.Mismatch = contract.MismatchIgnored
	}
	return t
}

type keyRule uint8

const (
	noKey keyRule = iota
	keyInHeader
	keyInUID
)

// endpoint is what is known of one request of the API. The zero value is an
// endpoint of which nothing is known.
type endpoint struct {
	method, path string    // a * in the path is one reference
	makes        *resource // what it creates, if that can be fetched
	key          keyRule
	idempotent   bool  // documented as safe to repeat without a key
	payTo        bool  // belongs to PayTo
	once         bool  // each request that arrives may pay: an answer ends it, a throttle too
	bare         int   // the status of its success, where that is documented without a body
	bareRefusals []int // statuses of refusals that are documented without a body

	refs []string // the references in the path of the call at hand
}

// endpoints lists what is documented. PayTo refunds are a beta whose terms may
// change, so no promise of their key is taken; their answers are understood.
var endpoints = []endpoint{
	{method: http.MethodPost, path: "payments", makes: payment, key: keyInHeader},
	{method: http.MethodPost, path: "payment_requests", makes: paymentRequest, key: keyInHeader},
	{method: http.MethodPost, path: "credits/*/refunds", makes: refund, key: keyInHeader},
	{method: http.MethodPost, path: "transfers", makes: transfer, key: keyInHeader},

	{method: http.MethodPost, path: "contacts/*/receivable/activate", bare: 204},
	{method: http.MethodPost, path: "contacts/*/receivable/disable", bare: 204},
	{method: http.MethodPatch, path: "contacts/*/receivable", bare: 202},
	{method: http.MethodDelete, path: "contacts/*", bare: 204, idempotent: true},
	{method: http.MethodDelete, path: "agreements/*", bare: 204, idempotent: true},
	{method: http.MethodDelete, path: "payment_requests/*", bare: 204, idempotent: true},
	{method: http.MethodDelete, path: "payouts/*", bare: 204, idempotent: true},

	{method: http.MethodPost, path: "payto/payments", makes: payToPayment, key: keyInUID, payTo: true, bareRefusals: []int{403}},
	{method: http.MethodPost, path: "payto/agreements", makes: payToAgreement, key: keyInUID, payTo: true, bareRefusals: []int{403}},
	{method: http.MethodPost, path: "payto/refunds", makes: payToRefund, payTo: true},

	{method: http.MethodPost, path: "payto/payments/*/retry", payTo: true, once: true, bare: 202, bareRefusals: []int{403}},
	{method: http.MethodPost, path: "payto/agreements/*/amendment", payTo: true, bare: 202, bareRefusals: []int{403, 404}},
	{method: http.MethodPost, path: "payto/agreements/*/amendment/recall", payTo: true, bare: 202, bareRefusals: []int{403}},
	{method: http.MethodPost, path: "payto/agreements/*/cancellation", payTo: true, bare: 202, bareRefusals: []int{403, 404}},
	{method: http.MethodPost, path: "payto/agreements/*/suspension", payTo: true, bare: 202, bareRefusals: []int{403, 404}},
	{method: http.MethodPost, path: "payto/agreements/*/reactivation", payTo: true, bare: 202, bareRefusals: []int{403, 404}},
}

// endpointOf returns what is known of the request's endpoint. The path must fit
// whole, segment by segment: a promise for a path that only looks like another
// one pays twice.
func endpointOf(r *http.Request) endpoint {
	parts, ok := segments(r)
	if !ok {
		return endpoint{}
	}
	for _, e := range endpoints {
		if refs, fits := e.fits(r.Method, parts); fits {
			e.refs = refs
			return e
		}
	}
	return endpoint{}
}

func (e endpoint) fits(method string, parts []string) (refs []string, ok bool) {
	want := strings.Split(e.path, "/")
	if method != e.method || len(want) != len(parts) {
		return nil, false
	}
	for i, w := range want {
		switch {
		case w == "*":
			refs = append(refs, parts[i])
		case w != parts[i]:
			return nil, false
		}
	}
	return refs, true
}

// segments returns the parts of the request's path, unescaped. It reports false
// for a path that no endpoint has: an escaped slash, an empty part, dots.
func segments(r *http.Request) ([]string, bool) {
	if r == nil || r.URL == nil {
		return nil, false
	}
	path, rooted := strings.CutPrefix(r.URL.EscapedPath(), "/")
	parts := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for i, p := range parts {
		plain, err := url.PathUnescape(p)
		if err != nil || contract.CheckReference(plain) != nil {
			return nil, false
		}
		parts[i] = plain
	}
	return parts, rooted
}

// uid returns the uid that a PayTo request asks for: what its body says, which is
// what was sent.
func uid(c contract.Call) string {
	asked, err := contract.DecodeObject(c.Body)
	if err != nil {
		return c.Key
	}
	if u := asked.Text("uid"); u != "" {
		return u
	}
	return c.Key
}

var (
	_ contract.Adapter  = (*Adapter)(nil)
	_ contract.Resolver = (*Adapter)(nil)
	_ contract.Finder   = (*Adapter)(nil)
)

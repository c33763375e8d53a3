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
	"slices"
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
		// 409 names the resource in meta.resource_ref; 503 with Retry-After is a
		// request that follows too quickly (guide, "Idempotent requests").
		t.RepeatAnswers = []contract.Answer{{Status: http.StatusConflict}}
		t.InFlightAnswers = []contract.Answer{{Status: http.StatusServiceUnavailable}}
		t.WaitHeaders = []string{"Retry-After"}
		t.LookUp = contract.LookUpByReference
		t.Notes = []string{
			"That a repeat is compared with the first request is not said, so what exists is fetched and compared here.",
			"Lists can be read, and neither their order nor when a new resource appears in them is documented: finding nothing proves nothing.",
		}
		t.KeyHeader = keyHeader
		t.KeyMaxLen = 256
		t.KeyRequired = true
		t.Retention = 24 * time.Hour
		t.Repeat = contract.Conflicts
		// A later request with the key gets the 409, without a condition on what
		// it asks.
		t.Mismatch = contract.MismatchIgnored
	case keyInUID:
		t.RepeatAnswers = []contract.Answer{{Status: http.StatusUnprocessableEntity, Code: e.makes.duplicate}}
		t.LookUp = contract.LookUpByKey
		t.Notes = []string{
			"When a new resource appears under its uid is not documented: finding nothing proves nothing.",
		}
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
	_ contract.Catalog  = (*Adapter)(nil)
)

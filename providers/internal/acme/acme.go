// Package acme is the contract of an API that does not exist, and the example of an
// adapter: it replays what it saved under a key for a day.
package acme

import (
	"net/http"
	"time"

	"github.com/idempact/idempact/contract"
)

// Options are the adapter's settings; there are none yet.
type Options struct{}

// Adapter is Acme's contract. It is safe for concurrent use.
type Adapter struct{}

// New returns the adapter. Nil options are fine.
func New(*Options) *Adapter { return &Adapter{} }

// Name returns "acme".
func (*Adapter) Name() string { return "acme" }

// Terms returns what Acme promises: a key on a POST of a payment, for 24 hours. Of
// everything else its documents say nothing, so nothing is promised.
func (*Adapter) Terms(c contract.Call) contract.Terms {
	if c.Request.Method != http.MethodPost || c.Request.URL.Path != "/v1/payments" {
		return contract.Terms{}
	}
	return contract.Terms{
		KeyHeader: "Idempotency-Key",
		KeyMaxLen: 64,
		Retention: 24 * time.Hour,
		Repeat:    contract.Replays,
		Mismatch:  contract.MismatchRefused,
		Sources:   []contract.Source{{URL: "https://docs.acme.example/idempotency", Date: "2026-11-29"}},
	}
}

// Classify says what one reply revealed.
func (*Adapter) Classify(_ contract.Call, r contract.Reply) contract.Outcome {
	o := decide(r)
	o.RequestID = contract.Word(contract.HeaderValue(r.Header, "Acme-Request-Id"))
	o.RetryAfter = r.Wait()
	return o
}

func decide(r contract.Reply) contract.Outcome {
	if r.StatusCode == http.StatusTooManyRequests {
		// The limiter stands before execution, and its status says so without a body.
		// https://docs.acme.example/limits (2026-11-29)
		return contract.Outcome{Status: contract.NotExecuted, Reason: "throttled"}
	}
	if o, none := contract.NoAnswer(r); none {
		return o
	}
	body, err := contract.DecodeObject(r.Body)
	if err != nil {
		return contract.Outcome{Reason: "the answer is no JSON object"}
	}
	code := contract.Word(body.Text("error.code"))
	switch id := body.Text("id"); {
	case r.StatusCode == http.StatusCreated && contract.CheckReference(id) == nil:
		return contract.Outcome{Status: contract.Succeeded, Resource: id, State: contract.Word(body.Text("status")),
			Replayed: contract.HeaderValue(r.Header, "Acme-Replayed") == "true", Reason: "the payment is shown"}
	case r.StatusCode == http.StatusConflict && code == "in_flight":
		return contract.Outcome{Status: contract.InProgress, Code: code, Reason: "a request with this key is still running"}
	case r.StatusCode == http.StatusUnprocessableEntity && code == "key_reused":
		return contract.Outcome{Status: contract.KeyReused, Code: code, Reason: "the key belongs to another request"}
	case r.StatusCode == http.StatusPaymentRequired && code == "declined":
		return contract.Outcome{Status: contract.Declined, Code: code, Reason: "executed and refused"}
	case r.StatusCode == http.StatusBadRequest && code != "":
		return contract.Outcome{Status: contract.Rejected, Code: code, Reason: "refused before execution"}
	default:
		return contract.Outcome{Code: code, Reason: "not an answer that the documents describe"}
	}
}

var _ contract.Adapter = (*Adapter)(nil)

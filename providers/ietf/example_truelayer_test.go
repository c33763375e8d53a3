package ietf_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/providers/ietf"
)

// trueLayer is TrueLayer's Payments API v3, whose errors are problems: the code is the
// end of a problem's type. The key with another payload gets "usually 422 or 409", so
// that the status alone would not do.
var trueLayer = ietf.Options{
	Name:     "truelayer",
	Requests: []string{"POST /v3/payments"},
	Examples: []contract.Endpoint{{
		Name: "create a payment", Method: "POST", URL: "https://api.truelayer.com/v3/payments",
		Body: `{"amount_in_minor":{amount},"currency":"GBP","metadata":{"order":"{order}"}}`,
	}},
	Terms: contract.Terms{
		KeyHeader: "Idempotency-Key", KeyRequired: true, Retention: 30 * 24 * time.Hour,
		Repeat: contract.Replays, Mismatch: contract.MismatchRefused,
		InFlightAnswers: []contract.Answer{{Status: 409, Code: "idempotency-key-concurrency-conflict"}},
		MismatchAnswers: []contract.Answer{{Status: 422, Code: "idempotency-key-reuse"}, {Status: 409, Code: "idempotency-key-reuse"}},
		Notes:           []string{"Older pages say that a key is valid for 6 hours."},
		Sources: []contract.Source{
			{URL: "https://docs.truelayer.com/docs/add-idempotency-to-your-payments-requests", Date: "2026-11-29"},
			{URL: "https://docs.truelayer.com/docs/payments-api-errors", Date: "2026-11-29"},
		},
	},
	Resource: "id", State: "status", Code: "type",
	Answers: map[contract.Answer]contract.Status{
		{Status: 400, Code: "invalid-parameters"}: contract.Rejected,
		{Status: 401, Code: "unauthenticated"}:    contract.Rejected,
		{Status: 403, Code: "forbidden"}:          contract.Rejected,
		{Status: 429}:                             contract.NotExecuted,
	},
	AdviceHeader: "Tl-Should-Retry", IDHeader: "Tl-Trace-Id",
}

func Example_trueLayer() {
	adapter := ietf.New(&trueLayer)
	request, _ := http.NewRequest("POST", "https://api.truelayer.com/v3/payments", nil)
	call := contract.Call{Request: request, Key: contract.KeyFor("pay invoice", "INV-1001")}
	problem := func(status int, kind string) contract.Reply {
		return contract.Reply{StatusCode: status, Sent: true, Body: fmt.Appendf(nil,
			`{"type": "https://docs.truelayer.com/docs/error-types#%s", "title": "An error"}`, kind)}
	}
	for _, reply := range []contract.Reply{
		problem(409, "idempotency-key-concurrency-conflict"),
		problem(409, "idempotency-key-reuse"),
		problem(409, "conflict"),
		{StatusCode: 500, Sent: true, Header: http.Header{"Tl-Should-Retry": {"false"}}},
	} {
		o := adapter.Classify(call, reply)
		fmt.Println(reply.StatusCode, o.Status, "-", o.Next())
	}
	// Output:
	// 409 in progress - resend
	// 409 key reused - correct
	// 409 unknown - resend
	// 500 unknown - look up
}

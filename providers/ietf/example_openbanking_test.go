package ietf_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/providers/ietf"
)

// openBanking is the payment of the UK's Open Banking Read/Write API v4.0, which every
// bank offers at a host of its own. A repeat gets the payment as it is now, with 201
// like the first one, and has to come a second later at the earliest: that is for
// retry.Options.MinWait. What the key with another body gets is not said, but that it
// changes nothing, and may count as fraud.
var openBanking = ietf.Options{
	Name:     "openbanking-uk",
	Requests: []string{"POST /open-banking/v4.0/pisp/domestic-payments"},
	Examples: []contract.Endpoint{{
		Name: "create a domestic payment", Method: "POST", URL: "https://bank.example/open-banking/v4.0/pisp/domestic-payments",
		Body: `{"Data":{"ConsentId":"c-1","Initiation":{"EndToEndIdentification":"{order}",` +
			`"InstructedAmount":{"Amount":"{decimal}","Currency":"GBP"}}},"Risk":{}}`,
	}},
	Terms: contract.Terms{
		KeyHeader: "x-idempotency-key", KeyMaxLen: 40, KeyRequired: true, Retention: 24 * time.Hour,
		Repeat: contract.ReturnsCurrent, MinWait: time.Second, WaitHeaders: []string{"Retry-After"}, LookUp: contract.LookUpByReference,
		Sources: []contract.Source{
			{URL: "https://openbankinguk.github.io/read-write-api-site3/v4.0/profiles/read-write-data-api-profile.html", Date: "2026-11-29"},
			{URL: "https://openbankinguk.github.io/read-write-api-site3/v4.0/resources-and-data-models/pisp/domestic-payments.html", Date: "2026-11-29"},
		},
	},
	Successes: []int{201},
	Resource:  "Data.DomesticPaymentId", State: "Data.Status", Refused: []string{"RJCT"},
	Echoes: []contract.Field{
		{Path: "Data.ConsentId", Need: contract.Required},
		{Path: "Data.Initiation.InstructedAmount.Amount", Same: contract.SameDecimal, Need: contract.Required},
	},
	Code: "Errors.0.ErrorCode",
	Answers: map[contract.Answer]contract.Status{
		{Status: 400}: contract.Rejected,
		{Status: 401}: contract.Rejected,
		{Status: 403}: contract.Rejected,
		{Status: 429}: contract.NotExecuted,
	},
	IDHeader: "x-fapi-interaction-id",
}

func Example_openBanking() {
	adapter := ietf.New(&openBanking)
	request, _ := http.NewRequest("POST", "https://bank.example/open-banking/v4.0/pisp/domestic-payments", nil)
	call := contract.Call{
		Request: request, Key: contract.KeyFor("pay invoice", "INV-1001"),
		Body: []byte(`{"Data": {"ConsentId": "c-1", "Initiation": {"InstructedAmount": {"Amount": "25.00", "Currency": "GBP"}}}}`),
	}
	for _, status := range []string{"RCVD", "ACSC", "RJCT"} {
		body := fmt.Appendf(nil, `{"Data": {"DomesticPaymentId": "p-1", "ConsentId": "c-1", "Status": %q,
			"Initiation": {"InstructedAmount": {"Amount": "25.00", "Currency": "GBP"}}}}`, status)
		o := adapter.Classify(call, contract.Reply{StatusCode: 201, Sent: true, Body: body})
		fmt.Println(o.State, o.Status)
	}
	o := adapter.Classify(call, contract.Reply{StatusCode: 504, Sent: true})
	fmt.Println(o.Status, "-", o.Next())
	// Output:
	// RCVD succeeded
	// ACSC succeeded
	// RJCT declined
	// unknown - resend
}

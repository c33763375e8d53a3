package contract_test

import (
	"fmt"
	"net/http"

	"github.com/idempact/idempact/contract"
)

// The key names the business action: any process that pays this invoice for the
// first time sends the same key, and a second, wanted payment says so in its ids.
func ExampleKeyFor() {
	fmt.Println(contract.KeyFor("pay invoice", "INV-2026-0001"))
	fmt.Println(contract.KeyFor("pay invoice", "INV-2026-0001"))
	fmt.Println(contract.KeyFor("pay invoice", "INV-2026-0001", "second payment"))
	// Output:
	// a10b5a72-3009-8853-b2dc-4f6f571a00c5
	// a10b5a72-3009-8853-b2dc-4f6f571a00c5
	// 75a6cfaa-593d-8152-8d50-9e0217562c3e
}

// An answer was lost. What comes later and proves nothing leaves the doubt; the
// provider's own word settles it.
func ExampleFold() {
	var v contract.Verdict
	for _, o := range []contract.Outcome{
		{Status: contract.Unknown, Reason: "no answer came: timed out"},
		{Status: contract.NotExecuted, Reason: "nothing was sent: connection refused"},
		{Status: contract.Duplicate, Resource: "pay_1", Reason: "the key holds a payment"},
		{Status: contract.Succeeded, Resource: "pay_1", Source: contract.FromLookUp, Reason: "it is what was asked"},
	} {
		v = contract.Fold(v, o)
		fmt.Printf("%-12v → %-9v effect %-7v new key %-5v next: %v\n", o.Status, v.Status, v.Effect(), v.AllowsNewKey(), v.Next())
	}
	// Output:
	// unknown      → unknown   effect maybe   new key false next: resend
	// not executed → unknown   effect maybe   new key false next: resend
	// duplicate    → duplicate effect applied new key false next: resolve
	// succeeded    → succeeded effect applied new key false next: finish
}

// Two references for one operation are an alarm, also after a success.
func ExampleVerdict_DuplicateEffect() {
	v := contract.Fold(contract.Verdict{}, contract.Outcome{Status: contract.Succeeded, Resource: "pay_1"})
	v = contract.Fold(v, contract.Outcome{Status: contract.Succeeded, Resource: "pay_2", Source: contract.FromOutside})
	if alarm := v.DuplicateEffect(); alarm != nil {
		fmt.Println(alarm)
	}
	// Output:
	// duplicate effect: one operation shows 2 resources: pay_1, pay_2
}

// Another order of members is the same request; another amount is not.
func ExampleFingerprint() {
	terms := contract.Terms{KeyHeader: "Idempotency-Key"}
	fingerprint := func(body string) string {
		req, err := http.NewRequest(http.MethodPost, "https://api.example.com/v1/payments", nil)
		if err != nil {
			return err.Error()
		}
		req.Header.Set("Content-Type", "application/json")
		hash, err := contract.Fingerprint(contract.Call{Request: req, Body: []byte(body)}, terms)
		if err != nil {
			return err.Error()
		}
		return hash
	}
	first := fingerprint(`{"amount": 1000, "currency": "EUR"}`)
	fmt.Println(first == fingerprint(`{"currency":"EUR","amount":1000}`))
	fmt.Println(first == fingerprint(`{"currency":"EUR","amount":100}`))
	// Output:
	// true
	// false
}

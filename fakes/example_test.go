package fakes_test

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/idempact/idempact/fakes"
)

// A client that makes a new key for its second try pays twice. The ledger shows
// it; the answers do not.
func Example() {
	stripe := fakes.NewStripe(nil)
	stripe.Script(fakes.HTMLPage(504)) // a proxy gave up, Stripe did not
	client := stripe.Client()
	defer client.CloseIdleConnections()

	for _, key := range []string{"first-try", "second-try"} {
		body := strings.NewReader("amount=1000&currency=usd&confirm=true&payment_method=pm_card_visa&metadata[order]=7")
		req, err := http.NewRequest("POST", "https://api.stripe.com/v1/payment_intents", body)
		if err != nil {
			fmt.Println(err)
			return
		}
		req.Header.Set("Authorization", "Bearer sk_test_1")
		req.Header.Set("Idempotency-Key", key)
		resp, err := client.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = resp.Body.Close()
		fmt.Println(key, resp.StatusCode)
	}
	for _, e := range stripe.Effects() {
		fmt.Println(e.Kind, e.Amount, e.Currency, "for order", e.Metadata["order"])
	}
	// Output:
	// first-try 504
	// second-try 200
	// payment_intent 1000 usd for order 7
	// payment_intent 1000 usd for order 7
}

package retry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/retry"
)

// acme is the adapter of a small provider. Real ones are under providers/.
type acme struct{}

func (acme) Name() string { return "acme" }

func (acme) Terms(contract.Call) contract.Terms {
	return contract.Terms{KeyHeader: "Idempotency-Key", Retention: 24 * time.Hour, Repeat: contract.Replays}
}

func (acme) Classify(_ contract.Call, r contract.Reply) contract.Outcome {
	if o, none := contract.NoAnswer(r); none {
		return o
	}
	body, err := contract.DecodeObject(r.Body)
	switch id := body.Text("id"); {
	case r.StatusCode == http.StatusCreated && err == nil && id != "":
		return contract.Outcome{Status: contract.Succeeded, Resource: id, Reason: "the answer shows the payment"}
	case r.StatusCode == http.StatusPaymentRequired && err == nil:
		return contract.Outcome{Status: contract.Declined, Code: body.Text("code"), Reason: "refused by the bank"}
	default:
		return contract.Outcome{Reason: "an answer that says nothing of the payment"}
	}
}

// The first answer is lost after the money has moved. Do sends the same bytes
// under the same key, and the provider returns the payment that exists.
func ExampleClient_Do() {
	payments := map[string]string{} // the provider's memory: key to payment
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Idempotency-Key")
		if _, repeated := payments[key]; !repeated {
			payments[key] = fmt.Sprintf("pay_%d", len(payments)+1)
			panic(http.ErrAbortHandler) // the answer is lost
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"id":%q}`, payments[key])
	}))
	defer server.Close()

	client, err := retry.NewClient(acme{}, &retry.Options{MinWait: time.Millisecond, MaxWait: time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.CloseIdleConnections()

	// The key is that of the business action: the same in every process.
	ctx := contract.WithKey(context.Background(), contract.KeyFor("pay invoice", "INV-7"))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/payments", strings.NewReader(`{"amount":100}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := client.Do(req)
	switch {
	case err == nil:
		fmt.Printf("paid: %s after %d attempts\n", result.Resource, result.Attempts)
	case errors.Is(err, contract.Declined):
		fmt.Println("refused; a new try needs a new key")
	case !result.AllowsNewKey():
		fmt.Println("not known yet; try again with the same key, or look it up")
	default:
		fmt.Println(err)
	}
	fmt.Println("payments at the provider:", len(payments))
	// Output:
	// paid: pay_1 after 2 attempts
	// payments at the provider: 1
}

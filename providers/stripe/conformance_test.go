package stripe_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/internal/faketest"
	"github.com/idempact/idempact/providers/stripe"
)

func fake() contracttest.Fake { return faketest.Of(fakes.NewStripe(nil)) }

// post returns a Spec's request, whose body may hold an AMOUNT.
func post(path, contentType, body string) func(string, int64) (*http.Request, error) {
	return func(_ string, amount int64) (*http.Request, error) {
		r, err := http.NewRequest(http.MethodPost, "https://api.stripe.com"+path, strings.NewReader(strings.ReplaceAll(body, "AMOUNT", fmt.Sprint(amount))))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Authorization", "Bearer sk_test_fake")
		return r, nil
	}
}

func TestContract(t *testing.T) {
	for name, request := range map[string]func(string, int64) (*http.Request, error){
		"v1": post("/v1/payment_intents", "application/x-www-form-urlencoded",
			"amount=AMOUNT&currency=usd&confirm=true&payment_method=pm_card_visa&metadata[order]=order-1001"),
		"v2": post("/v2/money_management/outbound_payments", "application/json",
			`{"amount":{"value":AMOUNT,"currency":"usd"},"from":{"financial_account":"fa_1"},"to":{"payout_method":"usba_1"},"metadata":{"order":"order-1001"}}`),
		"v1 without a body": post("/v1/customers", "application/x-www-form-urlencoded", ""),
	} {
		t.Run(name, func(t *testing.T) {
			contracttest.Run(t, contracttest.Spec{
				Adapter: stripe.New(nil), Request: request, Fake: fake, Exchanges: os.DirFS("testdata"),
			})
		})
	}
}

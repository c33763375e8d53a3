package zepto_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/internal/faketest"
	"github.com/idempact/idempact/providers/zepto"
)

func fake() contracttest.Fake { return faketest.Of(fakes.NewZepto(nil)) }

func post(path string, body func(key string, amount int64) string) func(string, int64) (*http.Request, error) {
	return func(key string, amount int64) (*http.Request, error) {
		r, err := http.NewRequest(http.MethodPost, "https://api.zeptopayments.com"+path, strings.NewReader(body(key, amount)))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer fake")
		return r, nil
	}
}

func TestContract(t *testing.T) {
	for name, request := range map[string]func(string, int64) (*http.Request, error){
		"payment": post("/payments", func(_ string, amount int64) string {
			return fmt.Sprintf(`{"description":"Invoice 1001","matures_at":"2030-01-01T00:00:00Z",
				"your_bank_account_id":"11111111-1111-4111-8111-111111111111","channels":["new_payments_platform"],
				"payouts":[{"amount":%d,"description":"Invoice 1001","recipient_contact_id":"22222222-2222-4222-8222-222222222222"}],
				"metadata":{"invoice":"INV-1001"}}`, amount)
		}),
		"PayTo": post("/payto/payments", func(key string, amount int64) string {
			return fmt.Sprintf(`{"uid":%q,"agreement_uid":"agreement-1","amount":%d,"priority":"unattended"}`, key, amount)
		}),
		"contact, which honours no key": post("/contacts/anyone", func(string, int64) string {
			return `{"name":"Test Payee","email":"payee@example.com"}`
		}),
	} {
		t.Run(name, func(t *testing.T) {
			contracttest.Run(t, contracttest.Spec{
				Adapter: zepto.New(nil), Request: request, Fake: fake, Exchanges: os.DirFS("testdata"),
			})
		})
	}
}

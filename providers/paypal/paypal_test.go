package paypal_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/internal/explore"
	"github.com/idempact/idempact/internal/explore/exploretest"
	"github.com/idempact/idempact/internal/faketest"
	"github.com/idempact/idempact/providers/paypal"
)

func fake() contracttest.Fake { return faketest.Of(fakes.NewPayPal(nil)) }

// endpoint returns the adapter's example of a name.
func endpoint(t testing.TB, name string) contract.Endpoint {
	t.Helper()
	for _, e := range paypal.New(nil).Endpoints() {
		if e.Name == name {
			return e
		}
	}
	t.Fatalf("no endpoint %q", name)
	return contract.Endpoint{}
}

// once returns the request of an endpoint that an object takes only once: each key has
// its own object.
func once(e contract.Endpoint) func(string, int64) (*http.Request, error) {
	return func(key string, amount int64) (*http.Request, error) {
		own := e
		own.URL = strings.ReplaceAll(e.URL, "EXAMPLE1", fmt.Sprintf("%X", sha256.Sum256([]byte(key))))
		return own.Request(key, amount)
	}
}

func TestContract(t *testing.T) {
	for name, request := range map[string]func(string, int64) (*http.Request, error){
		"order":          endpoint(t, "create an order").Request,
		"capture":        once(endpoint(t, "capture an order")),
		"refund":         endpoint(t, "refund a capture").Request,
		"payout":         endpoint(t, "pay out a batch").Request,
		"void, keyless":  once(endpoint(t, "void an authorization")),
		"payment method": endpoint(t, "save a payment method").Request,
	} {
		t.Run(name, func(t *testing.T) {
			contracttest.Run(t, contracttest.Spec{
				Adapter: paypal.New(nil), Request: request, Fake: fake, Exchanges: os.DirFS("testdata"),
			})
		})
	}
}

func TestExplore(t *testing.T) {
	order := explore.Subject{
		Name: "paypal order", Adapter: paypal.New(nil), Fake: fakes.NewPayPal, Action: "create", KeyHeader: "PayPal-Request-Id",
		Refusal:   fakes.Status(http.StatusUnauthorized, `{"error":"invalid_token","error_description":"It has expired."}`),
		Endpoint:  endpoint(t, "create an order"),
		Retention: 6 * time.Hour,
	}
	refund := order
	refund.Name, refund.Endpoint, refund.Retention = "paypal refund", endpoint(t, "refund a capture"), 45*24*time.Hour
	payout := order
	payout.Name, payout.Endpoint, payout.Retention, payout.KeyHeader = "paypal payout", endpoint(t, "pay out a batch"), 30*24*time.Hour, ""
	declined := refund
	declined.Name, declined.Declines = "paypal decline", true
	declined.Endpoint.Header = map[string]string{"PayPal-Mock-Response": `{"mock_application_codes":"INSTRUMENT_DECLINED"}`}
	exploretest.Run(t, order, refund, payout, declined)
}

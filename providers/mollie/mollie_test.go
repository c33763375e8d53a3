package mollie_test

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
	"github.com/idempact/idempact/providers/mollie"
)

func fake() contracttest.Fake { return faketest.Of(fakes.NewMollie(nil)) }

// endpoint returns the adapter's example of a name.
func endpoint(t testing.TB, name string) contract.Endpoint {
	t.Helper()
	for _, e := range mollie.New(nil).Endpoints() {
		if e.Name == name {
			return e
		}
	}
	t.Fatalf("no endpoint %q", name)
	return contract.Endpoint{}
}

func TestContract(t *testing.T) {
	refund := endpoint(t, "refund a payment")
	for name, request := range map[string]func(string, int64) (*http.Request, error){
		"payment": endpoint(t, "create a payment").Request,
		// Two equal refunds of one payment are refused, so each key has its own payment.
		"refund": func(key string, amount int64) (*http.Request, error) {
			e := refund
			e.URL = strings.ReplaceAll(e.URL, "tr_1", fmt.Sprintf("tr_%x", sha256.Sum256([]byte(key))))
			return e.Request(key, amount)
		},
		"transfer":                         endpoint(t, "transfer between balances").Request,
		"release, which shows nothing":     endpoint(t, "release an authorization").Request,
		"cancellation, which needs no key": endpoint(t, "cancel a payment").Request,
	} {
		t.Run(name, func(t *testing.T) {
			contracttest.Run(t, contracttest.Spec{
				Adapter: mollie.New(nil), Request: request, Fake: fake, Exchanges: os.DirFS("testdata"),
			})
		})
	}
}

func TestExplore(t *testing.T) {
	payment := explore.Subject{
		Name: "mollie", Adapter: mollie.New(nil), Fake: fakes.NewMollie, Action: "create", KeyHeader: "Idempotency-Key",
		Refusal:   fakes.Status(http.StatusUnauthorized, `{"status":401,"title":"Unauthorized Request","detail":"It has expired."}`),
		Endpoint:  endpoint(t, "create a payment"),
		Retention: time.Hour, Lists: true,
	}
	declined := payment
	declined.Name, declined.Declines, declined.Endpoint = "mollie decline", true, endpoint(t, "charge a customer")
	declined.Endpoint.Body = strings.Replace(declined.Endpoint.Body, `"sequenceType"`, `"mandateId":"mdt_declined","sequenceType"`, 1)
	exploretest.Run(t, payment, declined)
}

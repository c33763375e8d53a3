package razorpay_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/internal/explore"
	"github.com/idempact/idempact/internal/explore/exploretest"
	"github.com/idempact/idempact/internal/faketest"
	"github.com/idempact/idempact/providers/razorpay"
)

// The places of the adapter's endpoints in its list.
const (
	payout = iota
	refund
	capture
)

func endpoint(i int) contract.Endpoint { return razorpay.New(nil).Endpoints()[i] }

func fake() contracttest.Fake { return faketest.Of(fakes.NewRazorpay(nil)) }

func TestContract(t *testing.T) {
	for i := range razorpay.New(nil).Endpoints() {
		e := endpoint(i)
		t.Run(e.Name, func(t *testing.T) {
			contracttest.Run(t, contracttest.Spec{Adapter: razorpay.New(nil), Request: e.Request, Fake: fake, Exchanges: os.DirFS("testdata")})
		})
	}
}

func TestExplore(t *testing.T) {
	refusal := fakes.Status(http.StatusUnauthorized, `{"error":{"code":"BAD_REQUEST_ERROR","description":"The api key provided is invalid","reason":"NA"}}`)
	payouts := explore.Subject{Name: "razorpay payout", Adapter: razorpay.New(nil), Fake: fakes.NewRazorpay, Refusal: refusal, Action: "create",
		Endpoint: endpoint(payout), KeyHeader: "X-Payout-Idempotency", Retention: 6 * 24 * time.Hour} // seven calendar days may be no more
	failed := payouts
	failed.Name, failed.Declines = "razorpay payout that fails", true
	failed.Endpoint.Body = strings.Replace(failed.Endpoint.Body, "{", `{"narration":"failed",`, 1)
	refunds := payouts
	refunds.Name, refunds.Endpoint, refunds.KeyHeader, refunds.Retention = "razorpay refund", endpoint(refund), "X-Refund-Idempotency", 0
	exploretest.Run(t, payouts, failed, refunds)
}

// call returns the call of an endpoint's example, with its key in place.
func call(t testing.TB, i int) contract.Call {
	t.Helper()
	r, err := endpoint(i).Request("key0000001", 2500)
	require.NoError(t, err)
	body := make([]byte, r.ContentLength)
	_, _ = r.Body.Read(body)
	r.Body, r.GetBody = nil, nil
	c := contract.Call{Request: r, Body: body, FirstSent: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	if header := razorpay.New(nil).Terms(c).KeyHeader; header != "" {
		c.Key = "key0000001"
		r.Header.Set(header, c.Key)
	}
	return c
}

func answer(status int, body string) contract.Reply {
	return contract.Reply{StatusCode: status, Body: []byte(body), Sent: true, At: time.Date(2026, 11, 29, 12, 0, 1, 0, time.UTC)}
}

func FuzzClassify(f *testing.F) {
	all, err := contracttest.Exchanges(os.DirFS("testdata"))
	require.NoError(f, err)
	for i := range razorpay.New(nil).Endpoints() {
		for _, x := range all {
			f.Add(uint8(i), x.Reply.StatusCode, x.Reply.Body)
		}
	}
	a := razorpay.New(nil)
	f.Fuzz(func(t *testing.T, which uint8, status int, body []byte) {
		i := int(which) % len(a.Endpoints())
		o := a.Classify(call(t, i), answer(status, string(body)))
		var shown struct {
			ID, Entity, Status any
			Error              struct{ Code, Description, Reason, Field any }
		}
		readable := json.Unmarshal(body, &shown) == nil
		code, _ := shown.Error.Code.(string)
		switch o.Status {
		case contract.Succeeded, contract.Declined:
			ok := shown.ID == o.Resource && shown.Status == o.State && contract.CheckReference(o.Resource) == nil
			if !readable || !ok || status != 200 && status != 201 {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.KeyReused:
			if !readable || i == capture && status >= 300 {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.Rejected:
			proof := status == 401 || shown.Error.Reason != nil || shown.Error.Field != nil
			if !readable || status < 400 || status > 404 || !strings.HasPrefix(code, "BAD_REQUEST") || !proof {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.InProgress:
			if status != 409 || i != refund {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.NotExecuted:
			if status != 429 && status != 0 {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.Unknown:
		default:
			t.Fatalf("%v", o)
		}
		if text, ok := shown.Error.Description.(string); ok && len(text) > 40 && strings.Contains(o.Reason, text) {
			t.Fatalf("the reason quotes the answer: %v", o)
		}
		assert.GreaterOrEqual(t, o.RetryAfter, time.Duration(0))
	})
}

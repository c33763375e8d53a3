package revolut_test

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
	"github.com/idempact/idempact/providers/revolut"
)

// The places of the adapter's endpoints in its list.
const (
	pay = iota
	transfer
	exchange
	card
	invitation
	draft
)

func endpoint(i int) contract.Endpoint { return revolut.New(nil).Endpoints()[i] }

func fake() contracttest.Fake { return faketest.Of(fakes.NewRevolut(nil)) }

func TestContract(t *testing.T) {
	for i := range revolut.New(nil).Endpoints() {
		e := endpoint(i)
		spec := contracttest.Spec{Adapter: revolut.New(nil), Request: e.Request, Fake: fake, Exchanges: os.DirFS("testdata")}
		if i == card || i == invitation {
			other := e
			other.Body = strings.Replace(e.Body, "{order}", "another label", 1)
			spec.Changed = func(key string) (*http.Request, error) { return other.Request(key, 100) }
		}
		t.Run(e.Name, func(t *testing.T) { contracttest.Run(t, spec) })
	}
}

func TestExplore(t *testing.T) {
	refusal := fakes.Status(http.StatusUnauthorized, `{"error_id":"e-1","code":1000,"message":"Invalid token."}`)
	subject := explore.Subject{Name: "revolut pay", Adapter: revolut.New(nil), Fake: fakes.NewRevolut, Refusal: refusal, Action: "create",
		Endpoint: endpoint(pay), Retention: 14 * 24 * time.Hour}
	exchanges := subject
	exchanges.Name, exchanges.Endpoint, exchanges.Retention = "revolut exchange", endpoint(exchange), 0
	declined := subject
	declined.Name, declined.Declines = "revolut declined", true
	declined.Endpoint.Body = strings.Replace(declined.Endpoint.Body, "{order}", "declined", 1)
	exploretest.Run(t, subject, exchanges, declined)
}

// call returns the call of an endpoint's example.
func call(t testing.TB, i int, key string) contract.Call {
	t.Helper()
	r, err := endpoint(i).Request(key, 2500)
	require.NoError(t, err)
	body := make([]byte, r.ContentLength)
	_, _ = r.Body.Read(body)
	r.Body, r.GetBody = nil, nil
	return contract.Call{Request: r, Body: body, Key: key, FirstSent: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
}

func answer(status int, body string) contract.Reply {
	return contract.Reply{StatusCode: status, Body: []byte(body), Sent: true, At: time.Date(2026, 11, 29, 12, 0, 1, 0, time.UTC)}
}

func FuzzClassify(f *testing.F) {
	all, err := contracttest.Exchanges(os.DirFS("testdata"))
	require.NoError(f, err)
	for i := range revolut.New(nil).Endpoints() {
		for _, x := range all {
			f.Add(uint8(i), x.Reply.StatusCode, x.Reply.Body)
		}
	}
	a := revolut.New(nil)
	f.Fuzz(func(t *testing.T, which uint8, status int, body []byte) {
		c := call(t, int(which)%len(a.Endpoints()), "k-1")
		r := answer(status, string(body))
		o := a.Classify(c, r)
		var shown struct {
			ID, State, Code, Message any
		}
		readable := json.Unmarshal(body, &shown) == nil
		switch o.Status {
		case contract.Succeeded, contract.Declined, contract.KeyReused:
			if !readable || shown.ID != o.Resource || contract.CheckReference(o.Resource) != nil || status != 200 && status != 201 {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.Duplicate, contract.KeySpent, contract.Rejected:
			if !readable || status < 400 || status > 422 || o.Status == contract.Rejected && shown.Message == nil {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.InProgress, contract.NotExecuted:
			if status != 429 && status != 0 {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.Unknown:
		default:
			t.Fatalf("%v", o)
		}
		if message, ok := shown.Message.(string); ok && len(message) > 40 && strings.Contains(o.Reason, message) {
			t.Fatalf("the reason quotes the answer: %v", o)
		}
		assert.GreaterOrEqual(t, o.RetryAfter, time.Duration(0))
	})
}

package checkout_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/internal/explore"
	"github.com/idempact/idempact/internal/explore/exploretest"
	"github.com/idempact/idempact/internal/faketest"
	"github.com/idempact/idempact/providers/checkout"
	"github.com/idempact/idempact/retry"
)

const (
	payments = "https://api.checkout.com/payments"
	captures = payments + "/pay_1/captures"
	order    = `{"source":{"type":"id","id":"src_1"},"amount":100,"currency":"EUR","reference":"ord-1"}`
	part     = `{"amount":40,"reference":"cap-1"}`
)

func fake() contracttest.Fake { return faketest.Of(fakes.NewCheckout(nil)) }

func TestContract(t *testing.T) {
	for _, e := range checkout.New(nil).Endpoints() {
		switch e.Name {
		case "capture", "refund", "transfer between accounts", "cancel":
			continue // their answers show no amount, or nothing lists them: see TestServerErrorIsLookedUp
		}
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			contracttest.Run(t, contracttest.Spec{
				Adapter: checkout.New(nil), Request: e.Request, Fake: fake, Exchanges: os.DirFS("testdata"),
			})
		})
	}
}

func TestExplore(t *testing.T) {
	pay := explore.Subject{
		Name: "checkout", Adapter: checkout.New(nil), Fake: fakes.NewCheckout, Action: "create",
		Refusal:   fakes.Status(http.StatusUnauthorized, ""),
		Endpoint:  checkout.New(nil).Endpoints()[0],
		KeyHeader: "Cko-Idempotency-Key", Retention: 24 * time.Hour, Volatile: true,
	}
	declined := pay
	declined.Name, declined.Declines = "checkout decline", true
	declined.Endpoint.Body = strings.Replace(pay.Endpoint.Body, "src_wmlfc3zyhqzehihu7giusaaawu", "src_declined", 1)
	exploretest.Run(t, pay, declined)
}

// do makes one operation at the fake, with a client that waits for as long as it is
// asked to. It runs in a bubble.
func do(t *testing.T, s *fakes.Server, o *checkout.Options, url, body string) (*retry.Result, error) {
	t.Helper()
	client, err := retry.NewClient(checkout.New(o), &retry.Options{Transport: s.Transport(), MaxAttempts: 3, MaxWait: time.Hour, MaxElapsed: time.Hour})
	require.NoError(t, err)
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(contract.WithKey(context.Background(), "k-1"), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer example")
	return client.Do(r)
}

// A 5xx is not kept, so the same key would pay anew: it is looked up, and not sent again.
func TestServerErrorIsLookedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			url, body string
			o         *checkout.Options
			delay     time.Duration // of what a list shows
			fault     fakes.Fault
			status    contract.Status
		}{
			"after the effect":      {payments, order, nil, 0, fakes.SaveError(502), contract.Succeeded},
			"a page on the way":     {payments, order, nil, 0, fakes.HTMLPage(504), contract.Succeeded},
			"not shown yet":         {payments, order, nil, time.Hour, fakes.SaveError(500), contract.Unknown},
			"before the effect":     {payments, order, nil, 0, fakes.SaveErrorNoEffect(500), contract.Unknown},
			"an outage":             {payments, order, nil, 0, fakes.Unavailable(time.Second), contract.Unknown},
			"a shared reference":    {payments, order, &checkout.Options{SharedReferences: true}, 0, fakes.SaveError(500), contract.Unknown},
			"without a reference":   {payments, strings.Replace(order, "reference", "description", 1), nil, 0, fakes.SaveError(500), contract.Unknown},
			"a capture":             {captures, part, nil, 0, fakes.SaveError(500), contract.Duplicate},
			"a capture of all":      {captures, `{"reference":"cap-1"}`, nil, 0, fakes.SaveError(500), contract.Duplicate},
			"a capture, not shown":  {captures, part, nil, time.Hour, fakes.SaveError(500), contract.Unknown},
			"a cancel, in no list":  {payments + "/pay_1/cancellations", part, nil, 0, fakes.SaveError(500), contract.Unknown},
			"a decline's own error": {payments, strings.Replace(order, "src_1", "src_declined", 1), nil, 0, fakes.SaveError(500), contract.Unknown},
		} {
			s := fakes.NewCheckout(&fakes.Options{VisibilityDelay: c.delay})
			s.Script(c.fault)
			result, err := do(t, s, c.o, c.url, c.body)
			assert.Equal(t, c.status, result.Status, "%s: %v", name, err)
			assert.Equal(t, 1, result.Attempts, name)
			assert.False(t, result.AllowsNewKey(), name)
			assert.LessOrEqual(t, len(s.Effects()), 1, name)
			if c.status == contract.Succeeded || c.status == contract.Duplicate {
				assert.Equal(t, s.Effects()[0].Resource, result.Resource, name)
			}
			s.Close()
		}
	})
}

// A lost answer is sent again under its key, which the guide calls safe.
func TestLostAnswerIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, f := range []fakes.Fault{fakes.LoseReply, fakes.ResetAfterSend, fakes.CutBody(9), fakes.HTMLPage(200)} {
			s := fakes.NewCheckout(nil)
			s.Script(f)
			result, err := do(t, s, nil, payments, order)
			require.NoError(t, err, f)
			assert.Equal(t, 2, result.Attempts, f)
			assert.Len(t, s.Effects(), 1, f)
			s.Close()
		}
	})
}

// 409 and 429 are asked again after 30 seconds, or after as long as a header says.
func TestInFlightWaitsThirtySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			fault fakes.Fault
			least time.Duration
		}{
			{fakes.InFlight(29 * time.Second), 30 * time.Second}, {fakes.Throttle(0), 30 * time.Second},
			{fakes.Throttle(45 * time.Second), 45 * time.Second}, {fakes.Throttle(time.Second), 30 * time.Second},
		} {
			s := fakes.NewCheckout(nil)
			s.Script(c.fault)
			began := time.Now()
			_, err := do(t, s, nil, payments, order)
			require.NoError(t, err, c.fault)
			assert.Equal(t, c.least, time.Since(began).Truncate(time.Second), c.fault)
			assert.Len(t, s.Effects(), 1, c.fault)
			s.Close()
		}
	})
}

// A decline is a 201, and kept: another try under the key gets it again.
func TestDeclineIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakes.NewCheckout(nil)
		defer s.Close()
		for range 2 {
			result, err := do(t, s, nil, payments, strings.Replace(order, "src_1", "src_declined", 1))
			require.ErrorIs(t, err, contract.Declined)
			assert.Equal(t, "20005", result.Code)
		}
		assert.Empty(t, s.Effects())
	})
}

func TestRetentionOfTheAccount(t *testing.T) {
	c := call(t, payments, order)
	assert.Equal(t, 24*time.Hour, checkout.New(nil).Terms(c).Retention)
	assert.Equal(t, 2*time.Minute, checkout.New(&checkout.Options{Retention: 2 * time.Minute}).Terms(c).Retention)
	for url, honours := range map[string]bool{
		payments: true, captures: true, "https://x.api.sandbox.checkout.com/payments/": true, "https://transfers.checkout.com/transfers": true,
		payments + "/pay_1": false, payments + "/pay_1/reversals": false, payments + "/a/b/captures": false, payments + "/pay_1%2Fx/captures": false,
	} {
		assert.Equal(t, honours, checkout.New(nil).Terms(call(t, url, order)).HonoursKeys(), url)
	}
}

// What a list shows is taken for this operation only if it is all that was asked, lives,
// and is not from before the first send.
func TestFoundByReference(t *testing.T) {
	entry := func(change string) string {
		fields := map[string]any{"id": "pay_1", "requested_on": "2026-11-29T12:00:00.1234567Z", "amount": 100, "currency": "EUR", "reference": "ord-1", "approved": true, "status": "Captured"}
		switch name, value, _ := strings.Cut(change, "="); {
		case value == "absent":
			delete(fields, name)
		case value == "false":
			fields[name] = false
		case change != "":
			fields[name] = value
		}
		b, err := json.Marshal(fields)
		require.NoError(t, err)
		return string(b)
	}
	sent := time.Date(2026, 11, 29, 12, 30, 0, 0, time.UTC)
	for change, found := range map[string]bool{
		"": true, "currency=eur": true, "amount_requested=100": true, "status=Pending": true,
		"reference=ord-2": false, "amount=101": false, "currency=USD": false, "amount_requested=101": false,
		"status=Declined": false, "status=Voided": false, "status=Refunded": false, "status=": false,
		"approved=false": false, "approved=absent": true, "reference=absent": false, "amount=absent": false,
		"requested_on=2026-11-29T11:29:59Z": false, "requested_on=yesterday": false, "id=../pay_1": false,
	} {
		c := call(t, payments, order)
		c.FirstSent = sent
		_, so, err := checkout.New(nil).Find(t.Context(), c, contract.Finding{}, &contract.Reply{StatusCode: 200, Body: []byte(`{"data":[` + entry(change) + `]}`)})
		require.NoError(t, err, change)
		assert.Equal(t, found, len(so.Resources) == 1, change)
		assert.False(t, so.Absent, change)
	}
	for kind, found := range map[string]bool{"Capture": true, "Refund": false, "Authorization": false} {
		c := call(t, captures, part)
		c.FirstSent = sent
		action := fmt.Sprintf(`[{"id":"act_1","type":%q,"processed_on":"2026-11-29T12:31:00Z","amount":40,"approved":true,"reference":"cap-1"}]`, kind)
		_, so, err := checkout.New(nil).Find(t.Context(), c, contract.Finding{}, &contract.Reply{StatusCode: 200, Body: []byte(action)})
		require.NoError(t, err)
		assert.Equal(t, found, len(so.Resources) == 1, kind)
	}
	for _, body := range []string{"", "{}", `{"data":{}}`, `{"data":[1]}`, `[1]`, `[]} {`, `[],"x":[]`, "<html>"} {
		_, so, err := checkout.New(nil).Find(t.Context(), call(t, payments, order), contract.Finding{}, &contract.Reply{StatusCode: 200, Body: []byte(body)})
		require.Error(t, err, body)
		assert.Empty(t, so.Resources)
	}
	// What changed after it was found is called nobody else's: a new key might pay twice.
	o := contract.Outcome{Status: contract.Duplicate, Resource: "pay_1"}
	for change, want := range map[string]contract.Status{"": contract.Succeeded, "amount=150": contract.Duplicate, "status=Declined": contract.Duplicate, "id=pay_2": contract.Duplicate} {
		got := checkout.New(nil).ClassifyResolve(call(t, payments, order), o, contract.Reply{StatusCode: 200, Body: []byte(entry(change))})
		assert.Equal(t, want, got.Status, change)
	}
}

// call returns a POST with a key, as an adapter sees it.
func call(t testing.TB, url, body string) contract.Call {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, nil)
	require.NoError(t, err)
	r.Header.Set("Cko-Idempotency-Key", "k-1")
	return contract.Call{Request: r, Body: []byte(body), Key: "k-1", FirstSent: time.Now()}
}

// FuzzClassify asks a second reader: what settles anything must be JSON that shows it.
func FuzzClassify(f *testing.F) {
	all, err := contracttest.Exchanges(os.DirFS("testdata"))
	require.NoError(f, err)
	for _, x := range all {
		f.Add(uint8(0), x.Reply.StatusCode, x.Reply.Body, "")
		f.Add(uint8(1), x.Reply.StatusCode, x.Reply.Body, "40")
	}
	a := checkout.New(nil)
	keyless := call(f, payments, order)
	keyless.Key = ""
	calls := []contract.Call{call(f, payments, order), call(f, captures, part), call(f, "https://transfers.checkout.com/transfers", `{`), call(f, "https://api.checkout.com/other", order), keyless}
	f.Fuzz(func(t *testing.T, which uint8, status int, body []byte, wait string) {
		c := calls[int(which)%len(calls)]
		r := contract.Reply{StatusCode: status, Body: body, Sent: true, Header: http.Header{"Retry-After": {wait}}}
		o := a.Classify(c, r)
		if o != a.Classify(c, r) {
			t.Fatal("two answers to one question")
		}
		if o.RetryAfter < 0 || o.Replayed || o.Source != contract.FromReply || o.Resource != "" && contract.CheckReference(o.Resource) != nil {
			t.Fatalf("%v", o)
		}
		var shown struct {
			ID, Action_ID, Approved, Error_Type any
		}
		readable := json.Unmarshal(body, &shown) == nil
		ok := true
		switch o.Status {
		case contract.Succeeded:
			ok = readable && (status == 201 || status == 202) && (shown.ID == o.Resource || shown.Action_ID == o.Resource)
		case contract.Declined:
			ok = readable && (status == 201 || status == 202) && shown.Approved == false
		case contract.KeyReused:
			ok = readable && (status == 201 || status == 202)
		case contract.Rejected:
			ok = status >= 400 && status < 500 && (readable && shown.Error_Type != nil || len(body) == 0)
		case contract.InProgress:
			ok = (status == 409 || status == 429) && o.RetryAfter > 0
		case contract.NotExecuted:
			ok = status == 429 || status == 425
		case contract.Unknown:
			ok = o.NoResend || status == 0 || status/100 == 2
		default:
			ok = false
		}
		if !ok {
			t.Fatalf("%d %q: %v", status, body, o)
		}
		if strings.Contains(o.Reason, "SECRET") {
			t.Fatalf("the provider's words are in a reason: %v", o)
		}
	})
}

// An answer that says two things says nothing.
func TestAnswersThatContradictThemselves(t *testing.T) {
	for _, x := range []struct {
		url, body string
		status    int
	}{
		{payments, `{"id":"pay_1","approved":true,"status":"Authorized","error_codes":["x"]}`, 201},
		{payments, `{"id":"pay_1","approved":true,"status":"Authorized","error_type":"request_invalid"}`, 422},
		{payments, `{"id":"pay_1","status":"Authorized"}`, 201}, // approval is missing
		{captures, `{"action_id":"act_1","approved":false}`, 202},
		{captures, `{"action_id":"act_1","approved":"false"}`, 202},
		{captures, `{"action_id":"act_1","status":"Declined"}`, 202},
	} {
		o := checkout.New(nil).Classify(call(t, x.url, part), contract.Reply{StatusCode: x.status, Body: []byte(x.body), Sent: true})
		assert.Equal(t, contract.Unknown, o.Status, x.body)
	}
}

func TestReasonsShowNoText(t *testing.T) {
	for _, body := range []string{
		`{"error_type":"request_invalid","error_codes":["a SECRET code"]}`, `{"id":"pay_1","status":"SECRET is long","approved":true}`,
		`{"id":"pay_1","approved":true,"status":"Authorized","reference":"SECRET and more"}`,
	} {
		for _, status := range []int{201, 422, 500} {
			assert.NotContains(t, fmt.Sprintf("%#v", checkout.New(nil).Classify(call(t, payments, order), contract.Reply{StatusCode: status, Body: []byte(body), Sent: true})), "SECRET")
		}
	}
}

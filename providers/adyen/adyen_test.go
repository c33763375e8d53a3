package adyen_test

import (
	"context"
	"encoding/json"
	"fmt"
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
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/providers/adyen"
	"github.com/idempact/idempact/retry"
)

const (
	payments = "https://checkout-test.adyen.com/v72/payments"
	order    = `{"merchantAccount":"TestMerchant","amount":{"currency":"EUR","value":100},"reference":"ord-1",` +
		`"paymentMethod":{"type":"scheme"},"returnUrl":"https://shop.example/return"}`
	authorised = `{"pspReference":"PSP1","resultCode":"Authorised","merchantReference":"ord-1"}`
)

func fake() contracttest.Fake { return faketest.Of(fakes.NewAdyen(nil)) }

func TestContract(t *testing.T) {
	for _, e := range adyen.New(nil).Endpoints() {
		switch e.Name {
		case "submit payment details":
			continue // what was submitted once is refused under any other key, see TestDetails
		case "refund", "cancel", "refund or cancel", "change the authorised amount", "create a payment link":
			continue // they answer as others do
		}
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			contracttest.Run(t, contracttest.Spec{
				Adapter: adyen.New(nil), Request: e.Request, Fake: fake, Exchanges: os.DirFS("testdata"),
			})
		})
	}
}

func TestExplore(t *testing.T) {
	pay := explore.Subject{
		Name: "adyen", Adapter: adyen.New(nil), Fake: fakes.NewAdyen, Action: "create",
		Refusal:   fakes.Status(http.StatusUnauthorized, `{"status":401,"errorCode":"000","message":"text","errorType":"security"}`),
		Endpoint:  adyen.New(nil).Endpoints()[0],
		KeyHeader: "Idempotency-Key", Retention: 7 * 24 * time.Hour, Unmarked: true,
	}
	refused := pay
	refused.Name, refused.Declines = "adyen decline", true
	refused.Endpoint.Body = strings.Replace(pay.Endpoint.Body, "{", `{"additionalData":{"RequestedTestAcquirerResponseCode":"2"},`, 1)
	exploretest.Run(t, pay, refused)
}

// call returns a POST with a key, as an adapter sees it.
func call(t testing.TB, url, body string) contract.Call {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, nil)
	require.NoError(t, err)
	r.Header.Set("Idempotency-Key", "k-1")
	return contract.Call{Request: r, Body: []byte(body), Key: "k-1", FirstSent: time.Now()}
}

func answer(status int, body string, header ...string) contract.Reply {
	r := contract.Reply{StatusCode: status, Body: []byte(body), Sent: true, Header: http.Header{}}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// One code for "done" and "in flight" settles nothing, on any of its forms.
func TestAlreadyProcessedOrInProgress(t *testing.T) {
	for _, status := range []int{409, 422} {
		for _, code := range []string{`"704"`, `704`} {
			for _, url := range []string{payments, payments + "/details", payments + "/PSP1/captures"} {
				o := adyen.New(nil).Classify(call(t, url, order), answer(status, fmt.Sprintf(`{"errorCode":%s,"errorType":"validation"}`, code)))
				assert.Equal(t, contract.InProgress, o.Status, "%d %s %s", status, code, url)
				assert.Equal(t, contract.Resend, o.Next())
			}
		}
	}
}

// The header allows a resend or forbids it; it makes no certainty of a server error.
func TestTransientError(t *testing.T) {
	const internal = `{"status":500,"errorCode":"000","message":"text","errorType":"internal"}`
	const problem = `{"type":"https://docs.adyen.com/errors/internal","title":"text","status":500,"errorCode":"00_500"}`
	for _, x := range []struct {
		body, header string
		next         contract.Step
	}{
		{internal, "true", contract.Resend}, {internal, "TRUE", contract.Resend}, {internal, "false", contract.LookUp},
		{internal, "", contract.LookUp}, // stored as the key's final result
		{problem, "", contract.Resend}, {"", "", contract.Resend}, {"<html>", "", contract.Resend},
	} {
		o := adyen.New(nil).Classify(call(t, payments, order), answer(500, x.body, "Transient-Error", x.header))
		assert.Equal(t, contract.Unknown, o.Status, x)
		assert.Equal(t, x.next, o.Next(), x)
	}
}

// An answer that shows both a payment and an error tells neither.
func TestErrorBesideAResult(t *testing.T) {
	for _, beside := range []string{`"errorCode":"905","errorType":"validation"`, `"errorType":"validation"`, `"errorCode":{}`} {
		for _, status := range []int{200, 422} {
			o := adyen.New(nil).Classify(call(t, payments, order), answer(status, `{"pspReference":"P1","resultCode":"Authorised",`+beside+`}`))
			assert.Equal(t, contract.Unknown, o.Status, "%d %s", status, beside)
		}
	}
}

// A reference may come later, once the shopper has acted, and only then may it lack.
func TestAwaitedReference(t *testing.T) {
	for shown, want := range map[string]contract.Status{
		``: contract.Succeeded, `"pspReference":"P1",`: contract.Succeeded,
		`"pspReference":"../P1",`: contract.Unknown, `"pspReference":1,`: contract.Unknown,
	} {
		o := adyen.New(nil).Classify(call(t, payments, order), answer(200, `{`+shown+`"resultCode":"RedirectShopper","action":{"type":"redirect"}}`))
		assert.Equal(t, want, o.Status, shown)
	}
}

// A capture that does not show which payment it is of confirms nothing.
func TestModificationOfNoPayment(t *testing.T) {
	for _, of := range []string{``, `,"paymentPspReference":null`, `,"paymentPspReference":["PSP1"]`} {
		o := adyen.New(nil).Classify(call(t, payments+"/PSP1/captures", order), answer(201, `{"pspReference":"P1","status":"received"`+of+`}`))
		assert.Equal(t, contract.Unknown, o.Status, of)
		assert.Equal(t, contract.LookUp, o.Next(), of)
	}
}

// What is stored as the final result of the key ends in doubt, not in a failure, and
// is not paid again.
func TestStoredServerError(t *testing.T) {
	s := fakes.NewAdyen(nil)
	s.Script(fakes.SaveError(500))
	result, err := do(t, s, nil, payments, order)
	require.ErrorIs(t, err, contract.Unknown)
	assert.Equal(t, 1, result.Attempts)
	assert.False(t, result.AllowsNewKey())
	assert.Len(t, s.Effects(), 1)
}

// Details that were submitted are done or in progress: under their own key the first
// answer comes again, and under none the code does not tell which.
func TestDetails(t *testing.T) {
	const details = `{"details":{"redirectResult":"r-1"}}`
	s := fakes.NewAdyen(nil)
	s.Script(fakes.LoseReply)
	result, err := do(t, s, nil, payments+"/details", details)
	require.NoError(t, err)
	assert.Equal(t, 2, result.Attempts)

	client, err := retry.NewClient(adyen.New(nil), &retry.Options{Transport: s.Transport()})
	require.NoError(t, err)
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(contract.WithoutKey(t.Context()), http.MethodPost, payments+"/details", strings.NewReader(details))
	require.NoError(t, err)
	r.Header.Set("X-Api-Key", "example")
	result, err = client.Do(r)
	require.ErrorIs(t, err, contract.InProgress)
	assert.Equal(t, 1, result.Attempts, "without a key it is not sent again")
	assert.Len(t, s.Effects(), 1)
}

// A decline is a 200, also as the answer to a repeat.
func TestDeclineIsSuccessOfHTTP(t *testing.T) {
	s := fakes.NewAdyen(nil)
	s.Script(fakes.LoseReply)
	refused := strings.Replace(order, "{", `{"additionalData":{"RequestedTestAcquirerResponseCode":"2"},`, 1)
	result, err := do(t, s, nil, payments, refused)
	require.ErrorIs(t, err, contract.Declined)
	assert.Equal(t, "2", result.Code)
	assert.Len(t, s.Requests(), 2)
	assert.Empty(t, s.Effects())
}

// A payment that began at one region's host never goes to another, where the key says
// nothing: not by a second call under its key.
func TestKeyStaysInItsRegion(t *testing.T) {
	s := fakes.NewAdyen(nil)
	store := journal.NewMemory()
	defer store.Close()
	s.Script(fakes.SaveError(500))
	_, err := do(t, s, store, payments, order)
	require.ErrorIs(t, err, contract.Unknown)
	_, err = do(t, s, store, strings.Replace(payments, "checkout-test", "checkout-test-us", 1), order)
	require.Error(t, err)
	assert.Len(t, s.Effects(), 1)

	// The provider would have paid: its keys are not shared.
	for _, host := range []string{"eu", "us"} {
		_, err := do(t, s, nil, "https://"+host+"-checkout-live.adyenpayments.com/checkout/v72/payments", order)
		require.NoError(t, err)
	}
	assert.Len(t, s.Effects(), 3)
}

func do(t *testing.T, s *fakes.Server, store journal.Store, url, body string) (*retry.Result, error) {
	t.Helper()
	client, err := retry.NewClient(adyen.New(nil), &retry.Options{
		Transport: s.Transport(), Journal: store, MaxAttempts: 3, MinWait: time.Millisecond, MaxWait: time.Millisecond,
	})
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	r, err := http.NewRequestWithContext(contract.WithKey(context.Background(), "k-1"), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Api-Key", "example")
	return client.Do(r)
}

func TestTermsOfPaths(t *testing.T) {
	for url, honours := range map[string]bool{
		payments: true,
		"https://x-checkout-live.adyenpayments.com/checkout/v71/payments/PSP1/refunds": true,
		"https://checkout-test.adyen.com/v71/payments/details/":                        true,
		"https://checkout-test.adyen.com/payments":                                     false,
		"https://checkout-test.adyen.com/vx/payments":                                  false,
		"https://checkout-test.adyen.com/v/payments":                                   false,
		"https://checkout-test.adyen.com/other/v71/payments":                           false,
		"https://checkout-test.adyen.com/v71/payments/a/b/captures":                    false,
		"https://checkout-test.adyen.com/v71/payments/PSP1%2Fx/captures":               false,
		"https://checkout-test.adyen.com/v71/storedPaymentMethods":                     false,
	} {
		terms := adyen.New(nil).Terms(call(t, url, order))
		assert.Equal(t, honours, terms.HonoursKeys(), url)
		assert.Empty(t, terms.KeyScope, "a space for each region would let a key be used in two")
	}
}

// FuzzClassify asks a second reader: what settles anything must be JSON that shows it.
func FuzzClassify(f *testing.F) {
	all, err := contracttest.Exchanges(os.DirFS("testdata"))
	require.NoError(f, err)
	for _, x := range all {
		f.Add(uint8(0), x.Reply.StatusCode, x.Reply.Body, x.Reply.Header.Get("transient-error"))
		f.Add(uint8(2), x.Reply.StatusCode, x.Reply.Body, "")
	}
	a := adyen.New(nil)
	calls := []contract.Call{
		call(f, payments, order), call(f, payments+"/details", `{"details":{"redirectResult":"r"}}`),
		call(f, payments+"/PSP1/captures", order), call(f, "https://checkout-test.adyen.com/v72/sessions", order),
		call(f, "https://checkout-test.adyen.com/v72/elsewhere", `{`),
	}
	f.Fuzz(func(t *testing.T, which uint8, status int, body []byte, transient string) {
		c := calls[int(which)%len(calls)]
		r := contract.Reply{StatusCode: status, Body: body, Sent: true, Header: http.Header{"Transient-Error": {transient}, "Retry-After": {transient}}}
		o := a.Classify(c, r)
		if o != a.Classify(c, r) {
			t.Fatal("two answers to one question")
		}
		if o.RetryAfter < 0 || o.Replayed || o.Source != contract.FromReply || o.Resource != "" && contract.CheckReference(o.Resource) != nil {
			t.Fatalf("%v", o)
		}
		var shown struct {
			PspReference, ResultCode, Status, ID any
			ErrorCode                            any
		}
		readable := json.Unmarshal(body, &shown) == nil
		ok := true
		switch o.Status {
		case contract.Succeeded:
			ok = readable && (status == 200 || status == 201) && shown.ErrorCode == nil &&
				(o.Resource == "" && o.State != "" || shown.PspReference == o.Resource || shown.ID == o.Resource)
		case contract.Declined:
			ok = readable && (status == 200 && (o.State == "Refused" || o.State == "Cancelled") || status == 201 && o.State == "refused")
		case contract.Rejected:
			ok = readable && status >= 400 && status < 500 && shown.ErrorCode != nil && o.Code != "704"
		case contract.InProgress:
			ok = readable && status >= 400 && status < 500 && o.Code == "704"
		case contract.NotExecuted:
			ok = status == 429 || status == 425 || status == 0 || readable && strings.EqualFold(transient, "true")
		case contract.KeyReused:
			ok = readable && (status == 200 || status == 201)
		case contract.Unknown:
		default:
			ok = false
		}
		if !ok {
			t.Fatalf("%d %q: %v", status, body, o)
		}
	})
}

// The words of the provider's messages are in no reason.
func TestReasonsShowNoText(t *testing.T) {
	for _, body := range []string{
		`{"status":422,"errorCode":"a sentence with SECRET","message":"SECRET","errorType":"validation","pspReference":"SECRET line"}`,
		`{"pspReference":"PSP1","resultCode":"SECRET is long","merchantReference":"SECRET and more"}`,
		strings.Replace(authorised, `"PSP1"`, `"a SECRET"`, 1),
	} {
		for _, status := range []int{200, 422, 500} {
			assert.NotContains(t, fmt.Sprintf("%#v", adyen.New(nil).Classify(call(t, payments, order), answer(status, body))), "SECRET")
		}
	}
}

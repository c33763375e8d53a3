package fakes_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/fakes"
)

const (
	razorpayURL    = "https://api.razorpay.com/v1"
	razorpayPayout = `{"account_number":"1","fund_account_id":"fa_1","amount":2500,"currency":"INR","mode":"IMPS","purpose":"payout","reference_id":"INV-1"}`
	razorpayRefund = `{"amount":2500,"receipt":"INV-1"}`
	refundPath     = "/payments/pay_1/refund"
)

// razorpaySend sends with the key header of the path.
func razorpaySend(t *testing.T, c *http.Client, path, key, body string) reply {
	t.Helper()
	r := newRequest(t, "POST", razorpayURL+path, "", body)
	switch {
	case key == "":
	case path == "/payouts":
		r.Header.Set("X-Payout-Idempotency", key)
	default:
		r.Header.Set("X-Refund-Idempotency", key)
	}
	got, err := try(t, c, r)
	require.NoError(t, err)
	return got
}

func razorpayGet(t *testing.T, s *fakes.Server, path string) reply {
	t.Helper()
	return send(t, s.Client(), "GET", razorpayURL+path, "", "")
}

// TestRazorpayLatestState: a repeat shows the payout as it is now, for seven days.
func TestRazorpayLatestState(t *testing.T) {
	s := fakes.NewRazorpay(nil)
	one := razorpaySend(t, s.Client(), "/payouts", "key-1", razorpayPayout)
	require.Equal(t, 200, one.status, one.raw)
	assert.Equal(t, "processing", one.at("status"))
	id := one.at("id").(string)
	require.True(t, s.SetState(id, "processed"))
	assert.False(t, s.SetState("none", "processed"))
	again := razorpaySend(t, s.Client(), "/payouts", "key-1", razorpayPayout)
	assert.Equal(t, 200, again.status)
	assert.Equal(t, id, again.at("id"))
	assert.Equal(t, "processed", again.at("status"))
	other := razorpaySend(t, s.Client(), "/payouts", "key-1", strings.Replace(razorpayPayout, "2500", "2501", 1))
	assert.Equal(t, 400, other.status)
	assert.Equal(t, "BAD_REQUEST_ERROR", other.at("error.code"))
	assert.Contains(t, other.raw, "Different request body")
	e := s.Effects()
	require.Len(t, e, 1)
	assert.Equal(t, int64(2500), e[0].Amount)
	assert.Equal(t, "key-1", e[0].Key)
	s.Advance(7*24*time.Hour - time.Minute)
	assert.Equal(t, id, razorpaySend(t, s.Client(), "/payouts", "key-1", razorpayPayout).at("id"))
	s.Advance(time.Minute)
	assert.NotEqual(t, id, razorpaySend(t, s.Client(), "/payouts", "key-1", razorpayPayout).at("id"))
	assert.Len(t, s.Effects(), 2)
}

// TestRazorpayFailedPayout: the key of a payout that failed shows that for ever.
func TestRazorpayFailedPayout(t *testing.T) {
	s := fakes.NewRazorpay(nil)
	body := strings.Replace(razorpayPayout, "{", `{"narration":"failed",`, 1)
	one := razorpaySend(t, s.Client(), "/payouts", "key-1", body)
	assert.Equal(t, "failed", one.at("status"))
	assert.Equal(t, one.raw, razorpaySend(t, s.Client(), "/payouts", "key-1", body).raw)
	assert.Empty(t, s.Effects())
	assert.Equal(t, "failed", razorpaySend(t, s.Client(), refundPath, "key0000001", `{"amount":1,"receipt":"failed"}`).at("status"))
}

// TestRazorpayTwoConflicts: a 409 of a refund has two meanings.
func TestRazorpayTwoConflicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakes.NewRazorpay(nil)
		c := s.Client()
		defer c.CloseIdleConnections()
		s.Script(fakes.InFlight(time.Minute))
		for range 2 {
			busy := razorpaySend(t, c, refundPath, "key0000001", razorpayRefund)
			assert.Equal(t, 409, busy.status)
			assert.Contains(t, busy.raw, "in progress")
		}
		assert.Empty(t, s.Effects())
		time.Sleep(time.Minute)
		one := razorpaySend(t, c, refundPath, "key0000001", razorpayRefund)
		assert.Equal(t, 200, one.status)
		assert.Equal(t, "pay_1", one.at("payment_id"))
		other := razorpaySend(t, c, refundPath, "key0000001", `{"amount":1}`)
		assert.Equal(t, 409, other.status)
		assert.Contains(t, other.raw, "already been processed")
		assert.Equal(t, "BAD_REQUEST_ERROR", other.at("error.code"))
		assert.Equal(t, 409, razorpaySend(t, c, "/payments/pay_2/refund", "key0000001", razorpayRefund).status, "another payment is another request")
		assert.Len(t, s.Effects(), 1)

		s.Script(fakes.InFlight(time.Minute))
		assert.Equal(t, 200, razorpaySend(t, c, "/payouts", "key0000001", razorpayPayout).status, "of payouts nothing like it is documented")
	})
}

func TestRazorpayLists(t *testing.T) {
	s := fakes.NewRazorpay(&fakes.Options{VisibilityDelay: time.Minute})
	one := razorpaySend(t, s.Client(), "/payouts", "key-1", razorpayPayout)
	two := razorpaySend(t, s.Client(), refundPath, "key0000001", razorpayRefund)
	payouts := "/payouts?account_number=1&reference_id=INV-1"
	assert.Empty(t, razorpayGet(t, s, payouts).at("items"), "not visible yet")
	assert.Equal(t, 400, razorpayGet(t, s, "/payouts/"+one.at("id").(string)).status)
	s.Advance(time.Minute)
	for path, n := range map[string]int{
		payouts:                               1,
		"/payouts?account_number=1":           1,
		"/payouts?account_number=2":           0,
		payouts + "0":                         0,
		payouts + "&skip=1":                   0,
		payouts + "&count=0":                  0,
		payouts + "&from=99999999999":         0,
		payouts + "&to=1":                     0,
		"/payments/pay_1/refunds":             1,
		"/payments/pay_2/refunds":             0,
		"/payments/pay_1/refunds?count=x":     1,
		"/payments/pay_1/refunds?count=99999": 1,
	} {
		got := razorpayGet(t, s, path)
		require.Equal(t, 200, got.status, path)
		assert.Len(t, got.at("items"), n, path)
	}
	assert.Equal(t, one.raw, razorpayGet(t, s, "/payouts/"+one.at("id").(string)).raw)
	assert.Equal(t, two.raw, razorpayGet(t, s, "/refunds/"+two.at("id").(string)).raw)
	assert.Equal(t, 400, razorpayGet(t, s, "/refunds/"+one.at("id").(string)).status, "a payout is no refund")
	assert.Equal(t, 400, razorpayGet(t, s, "/payouts").status, "the account number is mandatory")
}

func TestRazorpayFaults(t *testing.T) {
	s := fakes.NewRazorpay(nil)
	s.Script(fakes.Throttle(0), fakes.Unavailable(0), fakes.SaveErrorNoEffect(500), fakes.SaveError(502))
	for _, want := range []int{429, 503, 500, 502, 200} {
		r := razorpaySend(t, s.Client(), "/payouts", "key-1", razorpayPayout)
		assert.Equal(t, want, r.status)
		if want >= 500 {
			assert.Equal(t, "SERVER_ERROR", r.at("error.code"))
		}
	}
	assert.Len(t, s.Effects(), 1)
}

func TestRazorpayRefuses(t *testing.T) {
	s := fakes.NewRazorpay(nil)
	for _, tt := range []struct{ path, key, body, field string }{
		{"/payouts", "", razorpayPayout, "X-Payout-Idempotency"},
		{"/payouts", "abc", razorpayPayout, "X-Payout-Idempotency"},
		{"/payouts", strings.Repeat("k", 37), razorpayPayout, "X-Payout-Idempotency"},
		{"/payouts", "ke.y", razorpayPayout, "X-Payout-Idempotency"},
		{"/payouts", "key-1", `{`, ""},
		{"/payouts", "key-1", `{}`, "account_number"},
		{"/payouts", "key-1", strings.Replace(razorpayPayout, "2500", "0", 1), "amount"},
		{refundPath, "short", razorpayRefund, "X-Refund-Idempotency"},
		{refundPath, "key 000001", razorpayRefund, "X-Refund-Idempotency"},
		{refundPath, "key0000001", `{"amount":-1}`, "amount"},
		{"/payments/pay_1/capture", "", `{}`, "amount"},
		{"/nothing", "", `{}`, ""},
	} {
		r := razorpaySend(t, s.Client(), tt.path, tt.key, tt.body)
		assert.Equal(t, 400, r.status, "%s %s", tt.path, tt.body)
		field, _ := r.at("error.field").(string)
		assert.Equal(t, tt.field, field, r.raw)
	}
	r := newRequest(t, "POST", razorpayURL+"/payouts", "", razorpayPayout)
	r.Header.Del("Authorization")
	got, err := try(t, s.Client(), r)
	require.NoError(t, err)
	assert.Equal(t, 401, got.status)
	assert.Empty(t, s.Effects())
	for range 2 {
		assert.Equal(t, 200, razorpaySend(t, s.Client(), refundPath, "", razorpayRefund).status, "without a key each one is its own")
		assert.Equal(t, "captured", razorpaySend(t, s.Client(), "/payments/pay_1/capture", "", `{"amount":1,"currency":"INR"}`).at("status"))
	}
	assert.Len(t, s.Effects(), 4)
	composite := strings.Replace(razorpayPayout, `"fund_account_id":"fa_1"`, `"fund_account":{"account_type":"vpa"}`, 1)
	assert.NotEmpty(t, razorpaySend(t, s.Client(), "/payouts", "key-2", composite).at("fund_account_id"))
}

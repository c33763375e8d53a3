package fakes_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/fakes"
)

const (
	checkoutURL = "https://api.checkout.com/payments"
	checkoutPay = `{"source":{"type":"id","id":"src_1"},"amount":100,"currency":"EUR","reference":"ord-1","metadata":{"order":"1"}}`
)

// checkoutSend is send with the key in Checkout.com's header.
func checkoutSend(t *testing.T, s *fakes.Server, method, url, key, body string) reply {
	t.Helper()
	r := newRequest(t, method, url, "", body)
	if key != "" {
		r.Header.Set("Cko-Idempotency-Key", key)
	}
	c := s.Client()
	defer c.CloseIdleConnections()
	out, err := try(t, c, r)
	require.NoError(t, err)
	return out
}

func TestCheckoutKeepsSuccesses(t *testing.T) {
	s := fakes.NewCheckout(nil)
	first := checkoutSend(t, s, "POST", checkoutURL, "k1", checkoutPay)
	again := checkoutSend(t, s, "POST", checkoutURL, "k1", checkoutPay)
	assert.Equal(t, []any{201, true, "Authorized"}, []any{first.status, first.at("approved"), first.at("status")})
	assert.Equal(t, first.raw, again.raw)
	assert.Equal(t, 201, again.status)
	assert.NotEmpty(t, again.header.Get("Cko-Request-Id"))
	assert.True(t, s.Requests()[1].Replayed)
	require.Len(t, s.Effects(), 1)
	assert.Equal(t, []any{int64(100), "eur", "k1"}, []any{s.Effects()[0].Amount, s.Effects()[0].Currency, s.Effects()[0].Key})

	s.Advance(24*time.Hour - time.Second)
	checkoutSend(t, s, "POST", checkoutURL, "k1", checkoutPay)
	assert.Len(t, s.Effects(), 1)
	s.Advance(time.Second)
	checkoutSend(t, s, "POST", checkoutURL, "k1", checkoutPay)
	assert.Len(t, s.Effects(), 2)
}

func TestCheckoutKeepsNoError(t *testing.T) {
	for _, c := range []struct {
		fault   fakes.Fault
		status  int
		effects int // after a repeat
	}{
		{fakes.SaveError(500), 500, 2}, {fakes.SaveErrorNoEffect(502), 502, 1}, {fakes.Unavailable(0), 503, 1}, {fakes.Throttle(0), 429, 1},
	} {
		s := fakes.NewCheckout(nil)
		s.Script(c.fault)
		assert.Equal(t, c.status, checkoutSend(t, s, "POST", checkoutURL, "k1", checkoutPay).status, c.fault)
		assert.Equal(t, 201, checkoutSend(t, s, "POST", checkoutURL, "k1", checkoutPay).status, c.fault)
		assert.Len(t, s.Effects(), c.effects, c.fault)
	}
}

func TestCheckoutDeclineIsKept(t *testing.T) {
	s := fakes.NewCheckout(nil)
	declined := strings.Replace(checkoutPay, "src_1", "src_declined", 1)
	first := checkoutSend(t, s, "POST", checkoutURL, "k1", declined)
	assert.Equal(t, []any{201, false, "Declined", "20005"}, []any{first.status, first.at("approved"), first.at("status"), first.at("response_code")})
	assert.Equal(t, first.raw, checkoutSend(t, s, "POST", checkoutURL, "k1", checkoutPay).raw)
	assert.Empty(t, s.Effects())
}

func TestCheckoutInFlight(t *testing.T) {
	s := fakes.NewCheckout(nil)
	s.Script(fakes.InFlight(time.Minute))
	for range 2 {
		busy := checkoutSend(t, s, "POST", checkoutURL, "k1", checkoutPay)
		assert.Equal(t, []any{409, ""}, []any{busy.status, busy.raw})
	}
	assert.Empty(t, s.Effects())
	s.Advance(time.Minute)
	assert.Equal(t, 201, checkoutSend(t, s, "POST", checkoutURL, "k1", checkoutPay).status)
	assert.Len(t, s.Effects(), 1)
}

func TestCheckoutLookUps(t *testing.T) {
	s := fakes.NewCheckout(&fakes.Options{VisibilityDelay: time.Minute})
	for n := range 12 {
		checkoutSend(t, s, "POST", checkoutURL, fmt.Sprint(n), checkoutPay)
		s.Advance(time.Second)
	}
	newest := s.Effects()[11].Resource
	list := func(query string) reply { return checkoutSend(t, s, "GET", checkoutURL+"?"+query, "", "") }
	assert.Equal(t, 0.0, list("reference=ord-1").at("total_count"), "not shown yet")
	s.Advance(time.Minute)
	all := list("reference=ord-1")
	assert.Equal(t, 12.0, all.at("total_count"))
	data := all.at("data").([]any)
	require.Len(t, data, 10)
	assert.Equal(t, newest, data[0].(map[string]any)["id"], "newest first")
	assert.Len(t, list("reference=ord-1&limit=100").at("data"), 12)
	assert.Len(t, list("reference=ord-1&limit=10&skip=10").at("data"), 2)
	assert.Empty(t, list("reference=other").at("data"))
	assert.Equal(t, 404, list("").status, "the reference is required")

	one := checkoutSend(t, s, "GET", checkoutURL+"/"+newest, "", "")
	assert.Equal(t, []any{200, "ord-1", "Authorized", 100.0}, []any{one.status, one.at("reference"), one.at("status"), one.at("amount")})
	assert.True(t, s.SetState(newest, "Captured"))
	assert.False(t, s.SetState("pay_x", "Captured"))
	assert.Equal(t, "Captured", checkoutSend(t, s, "GET", checkoutURL+"/"+newest, "", "").at("status"))
	assert.Equal(t, 404, checkoutSend(t, s, "GET", checkoutURL+"/pay_x", "", "").status)

	for what, kind := range map[string]string{"captures": "Capture", "refunds": "Refund", "voids": "Void", "cancellations": "Void"} {
		r := checkoutSend(t, s, "POST", checkoutURL+"/pay_"+what+"/"+what, "k-"+what, `{"amount":40,"reference":"act-1"}`)
		assert.Equal(t, []any{202, "act-1"}, []any{r.status, r.at("reference")}, what)
		s.Advance(time.Minute)
		actions := checkoutSend(t, s, "GET", checkoutURL+"/pay_"+what+"/actions", "", "")
		assert.Contains(t, actions.raw, r.at("action_id"), what)
		assert.Contains(t, actions.raw, `"type":"`+kind+`"`, what)
	}
	more := checkoutSend(t, s, "POST", checkoutURL+"/"+newest+"/authorizations", "", `{"amount":10}`)
	assert.Equal(t, []any{201, true}, []any{more.status, more.at("approved")})
	assert.Equal(t, 202, checkoutSend(t, s, "POST", checkoutURL+"/"+newest+"/captures", "", "").status, "all of it")
}

func TestCheckoutRefusals(t *testing.T) {
	s := fakes.NewCheckout(nil)
	for body, code := range map[string]string{
		`{"amount":1,"currency":"EUR"}`:                 "payment_source_required",
		`{"source":{},"amount":-1,"currency":"EUR"}`:    "amount_invalid",
		`{"source":{},"amount":1,"currency":"EURO"}`:    "currency_invalid",
		`{"source":{},"amount":"one","currency":"EUR"}`: "amount_invalid",
	} {
		r := checkoutSend(t, s, "POST", checkoutURL, "k1", body)
		assert.Equal(t, []any{422, "request_invalid", []any{code}}, []any{r.status, r.at("error_type"), r.at("error_codes")}, body)
	}
	assert.Equal(t, 400, checkoutSend(t, s, "POST", checkoutURL, "k1", "{").status)
	assert.Equal(t, 404, checkoutSend(t, s, "POST", checkoutURL+"/pay_1/unknown", "k1", "{}").status)
	assert.Equal(t, 422, checkoutSend(t, s, "POST", "https://transfers.checkout.com/transfers", "k1", "{}").status)
	assert.Equal(t, 201, checkoutSend(t, s, "POST", checkoutURL, "k1", checkoutPay).status, "a refusal is not kept")
	pending := checkoutSend(t, s, "POST", checkoutURL, "k2", strings.Replace(checkoutPay, "{", `{"3ds":{"enabled":true},`, 1))
	assert.Equal(t, []any{202, "Pending"}, []any{pending.status, pending.at("status")})
	assert.Equal(t, 201, checkoutSend(t, s, "POST", "https://transfers.checkout.com/transfers", "k3", `{"source":{"amount":5},"destination":{"id":"e"}}`).status)

	r := newRequest(t, "POST", checkoutURL, "", checkoutPay)
	r.Header = http.Header{}
	c := s.Client()
	defer c.CloseIdleConnections()
	unknown, err := try(t, c, r)
	require.NoError(t, err)
	assert.Equal(t, []any{401, ""}, []any{unknown.status, unknown.raw})
}

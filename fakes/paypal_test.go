package fakes_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/fakes"
)

const (
	paypalURL    = "https://api-m.paypal.com"
	paypalOrder  = `{"intent":"CAPTURE","purchase_units":[{"invoice_id":"INV-7","amount":{"currency_code":"USD","value":"10.00"}}]}`
	paypalMoney  = `{"amount":{"currency_code":"USD","value":"10.00"}}`
	paypalPayout = `{"sender_batch_header":{"sender_batch_id":"b-1"},"items":[{"receiver":"a","amount":{"currency":"USD","value":"10.00"}},{"receiver":"b","amount":{"currency":"USD","value":"0.50"}}]}`
)

// payPal sends a POST under a PayPal-Request-Id, and asks for the whole resource.
func payPal(t *testing.T, c *http.Client, path, id, body string) reply {
	t.Helper()
	r := newRequest(t, "POST", paypalURL+path, "", body)
	r.Header.Set("Prefer", "return=representation")
	if id != "" {
		r.Header.Set("PayPal-Request-Id", id)
	}
	got, err := try(t, c, r)
	require.NoError(t, err)
	return got
}

// issue returns the first issue of an error.
func issue(r reply) any {
	list, _ := r.at("details").([]any)
	if len(list) == 0 {
		return nil
	}
	return list[0].(map[string]any)["issue"]
}

func TestPayPalShowsTheLatestState(t *testing.T) {
	for path, stored := range map[string]time.Duration{
		"/v2/checkout/orders": 6 * time.Hour, "/v2/payments/captures/CAP1/refund": 45 * 24 * time.Hour,
		"/v2/payments/authorizations/AUTH1/capture": 45 * 24 * time.Hour, "/v2/payments/authorizations/AUTH1/reauthorize": 45 * 24 * time.Hour,
	} {
		s := fakes.NewPayPal(nil)
		c := s.Client()
		body := paypalMoney
		if strings.HasSuffix(path, "orders") {
			body = paypalOrder
		}
		one := payPal(t, c, path, "k1", body)
		require.Equal(t, 201, one.status, one.raw)
		assert.NotEmpty(t, one.header.Get("Paypal-Debug-Id"))
		require.True(t, s.SetState(one.at("id").(string), "LATER"))
		s.Advance(stored - time.Second)
		two := payPal(t, c, path, "k1", strings.Replace(body, "10.00", "11.00", 1))
		assert.Equal(t, one.at("id"), two.at("id"), "whatever it asks")
		assert.Equal(t, "LATER", two.at("status"))
		assert.Equal(t, map[bool]int{true: 200, false: 201}[strings.HasSuffix(path, "orders")], two.status)
		assert.Len(t, s.Effects(), 1)
		s.Advance(time.Second)
		assert.NotEqual(t, one.at("id"), payPal(t, c, path, "k1", body).at("id"))
		assert.Len(t, s.Effects(), 2, "%s: after %v it is done twice", path, stored)
		assert.Equal(t, int64(1000), s.Effects()[0].Amount)
		assert.Equal(t, "usd", s.Effects()[0].Currency)
	}
}

func TestPayPalCompletesAnOrderOnce(t *testing.T) {
	s := fakes.NewPayPal(nil)
	c := s.Client()
	id := payPal(t, c, "/v2/checkout/orders", "k1", paypalOrder).at("id").(string)
	captured := payPal(t, c, "/v2/checkout/orders/"+id+"/capture", "k2", "{}")
	assert.Equal(t, 201, captured.status)
	assert.Equal(t, "COMPLETED", captured.at("status"))
	assert.Contains(t, captured.raw, `"captures":[{`)
	assert.Equal(t, 200, payPal(t, c, "/v2/checkout/orders/"+id+"/capture", "k2", "{}").status)
	again := payPal(t, c, "/v2/checkout/orders/"+id+"/capture", "k3", "{}")
	assert.Equal(t, 422, again.status)
	assert.Equal(t, "ORDER_ALREADY_CAPTURED", issue(again))
	other := payPal(t, c, "/v2/checkout/orders", "k4", paypalOrder).at("id").(string)
	assert.Equal(t, "DUPLICATE_INVOICE_ID", issue(payPal(t, c, "/v2/checkout/orders/"+other+"/capture", "k5", "{}")))
	authorized := payPal(t, c, "/v2/checkout/orders/ELSEWHERE1/authorize", "k6", "{}")
	assert.Contains(t, authorized.raw, `"authorizations":[{`)
	assert.Equal(t, "ORDER_ALREADY_AUTHORIZED", issue(payPal(t, c, "/v2/checkout/orders/ELSEWHERE1/authorize", "k7", "{}")))
	assert.Equal(t, captured.raw, send(t, c, "GET", paypalURL+"/v2/checkout/orders/"+id, "", "").raw)
	minimal := send(t, c, "POST", paypalURL+"/v2/checkout/orders", "", paypalOrder)
	assert.Len(t, minimal.body, 3, "id, status and links")
	assert.Equal(t, "PAYPAL_REQUEST_ID_REQUIRED", issue(payPal(t, c, "/v2/checkout/orders", "", strings.Replace(paypalOrder, "{", `{"payment_source":{},`, 1))))
}

func TestPayPalPayments(t *testing.T) {
	s := fakes.NewPayPal(nil)
	c := s.Client()
	assert.Equal(t, 201, payPal(t, c, "/v2/payments/authorizations/AUTH1/capture", "k1", `{"final_capture":true}`).status)
	assert.Equal(t, "AUTHORIZATION_ALREADY_CAPTURED", issue(payPal(t, c, "/v2/payments/authorizations/AUTH1/capture", "k2", "{}")))
	assert.Equal(t, "PREVIOUSLY_CAPTURED", issue(payPal(t, c, "/v2/payments/authorizations/AUTH1/void", "", "")))
	assert.Equal(t, 200, payPal(t, c, "/v2/payments/authorizations/AUTH2/void", "", "").status)
	assert.Equal(t, "PREVIOUSLY_VOIDED", issue(payPal(t, c, "/v2/payments/authorizations/AUTH2/void", "", "")))
	assert.Equal(t, 204, send(t, c, "POST", paypalURL+"/v2/payments/authorizations/AUTH3/void", "", "").status, "minimal")
	assert.Equal(t, "AUTHORIZATION_VOIDED", issue(payPal(t, c, "/v2/payments/authorizations/AUTH2/capture", "k3", "{}")))
	assert.Equal(t, 201, payPal(t, c, "/v2/payments/captures/CAP1/refund", "k4", paypalMoney).status)
	assert.Equal(t, 201, payPal(t, c, "/v2/payments/captures/CAP1/refund", "k5", "{}").status)
	assert.Equal(t, "CAPTURE_FULLY_REFUNDED", issue(payPal(t, c, "/v2/payments/captures/CAP1/refund", "k6", paypalMoney)))
	assert.Equal(t, 422, payPal(t, c, "/v2/payments/captures/CAP2/refund", "k7", strings.Replace(paypalMoney, "10.00", "0.00", 1)).status)
	assert.Equal(t, 404, payPal(t, c, "/v2/payments/captures/nope/refund", "k8", paypalMoney).status)
	assert.Equal(t, 404, send(t, c, "GET", paypalURL+"/v2/payments/refunds/NOPE", "", "").status)
	assert.Equal(t, 400, payPal(t, c, "/v2/payments/captures/CAP2/refund", "k9", `{"amount`).status)
	assert.Len(t, s.Effects(), 5)
}

func TestPayPalKeyLayer(t *testing.T) {
	s := fakes.NewPayPal(nil)
	c := s.Client()
	const refund = "/v2/payments/captures/CAP1/refund"
	s.Script(fakes.InFlight(time.Minute), nil, nil, fakes.SaveError(500), nil, fakes.InFlight(time.Minute))
	busy := payPal(t, c, refund, "k1", paypalMoney)
	assert.Equal(t, 409, busy.status)
	assert.Equal(t, "PREVIOUS_REQUEST_IN_PROGRESS", issue(busy))
	assert.Equal(t, 409, payPal(t, c, refund, "k1", paypalMoney).status)
	assert.Empty(t, s.Effects())
	s.Advance(time.Minute)
	assert.Equal(t, 201, payPal(t, c, refund, "k1", paypalMoney).status)
	assert.Equal(t, 500, payPal(t, c, refund, "k2", paypalMoney).status)
	assert.Equal(t, 201, payPal(t, c, refund, "k2", paypalMoney).status, "it was done")
	assert.Len(t, s.Effects(), 2)
	assert.Equal(t, "ORDER_COMPLETION_IN_PROGRESS", issue(payPal(t, c, "/v2/checkout/orders", "k3", paypalOrder)))
	r := newRequest(t, "POST", paypalURL+refund, "", paypalMoney)
	r.Header.Set("PayPal-Mock-Response", `{"mock_application_codes":"INSTRUMENT_DECLINED"}`)
	declined, err := try(t, c, r)
	require.NoError(t, err)
	assert.Equal(t, "INSTRUMENT_DECLINED", issue(declined))
	token := `{"payment_source":{"token":{"id":"T"}}}`
	assert.Equal(t, 400, payPal(t, c, "/v3/vault/payment-tokens", "", token).status)
	assert.Equal(t, 201, payPal(t, c, "/v3/vault/payment-tokens", "k4", token).status)
	assert.Equal(t, 200, payPal(t, c, "/v3/vault/payment-tokens", "k4", token).status)
	assert.Equal(t, "PAYPAL_REQUEST_ID_PREVIOUSLY_USED", issue(payPal(t, c, "/v3/vault/payment-tokens", "k4", "{}")))
}

func TestPayPalPayoutsGoByTheirBatchId(t *testing.T) {
	s := fakes.NewPayPal(nil)
	c := s.Client()
	one := payPal(t, c, "/v1/payments/payouts", "k1", paypalPayout)
	require.Equal(t, 201, one.status, one.raw)
	id := one.at("batch_header.payout_batch_id").(string)
	for _, key := range []string{"k1", "k2"} {
		again := payPal(t, c, "/v1/payments/payouts", key, paypalPayout)
		assert.Equal(t, 400, again.status)
		assert.Equal(t, "USER_BUSINESS_ERROR", again.at("name"))
		assert.Contains(t, again.raw, "/v1/payments/payouts/"+id)
	}
	whole := send(t, c, "GET", paypalURL+"/v1/payments/payouts/"+id, "", "")
	assert.Len(t, whole.at("items"), 2)
	require.True(t, s.SetState(id, "DENIED"))
	assert.Equal(t, "DENIED", send(t, c, "GET", paypalURL+"/v1/payments/payouts/"+id, "", "").at("batch_header.batch_status"))
	s.Advance(30 * 24 * time.Hour)
	assert.Equal(t, 201, payPal(t, c, "/v1/payments/payouts", "k1", paypalPayout).status)
	nameless := strings.Replace(paypalPayout, `"sender_batch_id":"b-1"`, "", 1)
	for range 2 {
		assert.Equal(t, 201, payPal(t, c, "/v1/payments/payouts", "k1", nameless).status, "the header stops no second batch")
	}
	assert.Len(t, s.Effects(), 4)
	assert.Equal(t, int64(1050), s.Effects()[0].Amount)
	assert.Equal(t, 400, payPal(t, c, "/v1/payments/payouts", "", `{"items":[]}`).status)
}

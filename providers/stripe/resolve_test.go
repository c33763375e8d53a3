package stripe

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

func TestResolveRequest(t *testing.T) {
	for _, tc := range []struct{ path, ref, want string }{
		{"/v1/payment_intents", "pi_1", "/v1/payment_intents/pi_1"},
		{"/v1/payment_intents/pi_1/confirm", "pi_1", "/v1/payment_intents/pi_1"},
		{"/v1/checkout/sessions", "cs_1", "/v1/checkout/sessions/cs_1"},
		{"/v1/checkout/sessions/cs_1/expire", "cs_1", "/v1/checkout/sessions/cs_1"},
		{"/v1/transfers/tr_1/reversals", "trr_1", "/v1/transfers/tr_1/reversals/trr_1"},
		{"/v1/customers/cus_1", "cus_1", "/v1/customers/cus_1"},
		{"/v2/core/accounts", "acct_1", "/v2/core/accounts/acct_1"},
		{"/v2/core/accounts/acct_1/close", "acct_1", "/v2/core/accounts/acct_1"},
		{"/v1/payment_intents/pi_1/confirm", "pi_2", ""}, // another object
		{"/v1/payment_intents", "", ""},
		{"/v1/payment_intents", "..", ""},
		{"/v1/payment_intents", "../payouts", ""},
		{"/v1/payment_intents", "pi_1?expand[]=x", ""},
		{"/v1/payment_intents", "pi_1#x", ""},
		{"/v1/payment_intents", "%2e%2e", ""},
		{"/v1/payment_intents", "pi_1\r\nX: y", ""},
		{"/v1/coupons/50%25/x", "c_1", ""},
		{"/v3/payment_intents", "pi_1", ""},
		{"/v1/../v2/x", "pi_1", ""},
	} {
		c := call("POST", api+tc.path+"?expand[]=x", "")
		r, err := New(nil).ResolveRequest(t.Context(), c, contract.Outcome{Status: contract.Duplicate, Resource: tc.ref})
		if tc.want == "" {
			assert.Error(t, err, "%s %q", tc.path, tc.ref)
			assert.Nil(t, r)
			continue
		}
		require.NoError(t, err, "%s %q", tc.path, tc.ref)
		assert.Equal(t, api+tc.want, r.URL.String())
		assert.Equal(t, http.MethodGet, r.Method)
		assert.Nil(t, r.Body)
	}
}

func TestResolveStaysOnTheCallsHost(t *testing.T) {
	c := call("POST", "http://localhost:12111/v1/charges", "")
	c.Request.Host = "stripe.test"
	r, err := New(nil).ResolveRequest(t.Context(), c, contract.Outcome{Resource: "ch_1"})
	require.NoError(t, err)
	assert.Equal(t, "http://localhost:12111/v1/charges/ch_1", r.URL.String())
	assert.Equal(t, "stripe.test", r.Host)
}

func TestClassifyResolve(t *testing.T) {
	const pay = "/v1/payment_intents"
	for _, tc := range []struct {
		name, path, asked, shown string
		status                   int
		want                     contract.Status
		reason                   string // part of it
	}{
		{"as asked", pay, "amount=100&currency=USD&metadata[order]=1", `{"id":"pi_1","amount":100,"currency":"usd","metadata":{"order":"1","more":"x"}}`, 200, contract.Succeeded, ""},
		{"another amount", pay, "amount=100&currency=usd", `{"id":"pi_1","amount":101,"currency":"usd"}`, 200, contract.KeyReused, "amount 101, and 100"},
		{"beyond a float", pay, "amount=9007199254740993", `{"id":"pi_1","amount":9007199254740992}`, 200, contract.KeyReused, "9007199254740992, and 9007199254740993"},
		{"beyond an int64", pay, "amount=9223372036854775808", `{"id":"pi_1","amount":9223372036854775807}`, 200, contract.KeyReused, "9223372036854775807"},
		{"amount as text", pay, "amount=100", `{"id":"pi_1","amount":"100"}`, 200, contract.Succeeded, ""},
		{"amount with an exponent", pay, "amount=100", `{"id":"pi_1","amount":1e2}`, 200, contract.Duplicate, "cannot be read"},
		{"amount that is a fraction", pay, "amount=100", `{"id":"pi_1","amount":100.0}`, 200, contract.Duplicate, "cannot be read"},
		{"another currency", pay, "amount=100&currency=usd", `{"id":"pi_1","amount":100,"currency":"eur"}`, 200, contract.KeyReused, `currency "eur", and "usd"`},
		{"other metadata", pay, "metadata[order]=1", `{"id":"pi_1","metadata":{"order":"2"}}`, 200, contract.Duplicate, "metadata"},
		{"metadata gone", pay, "metadata[order]=1", `{"id":"pi_1","metadata":{}}`, 200, contract.Duplicate, "metadata"},
		{"metadata not shown", pay, "metadata[order]=1", `{"id":"pi_1"}`, 200, contract.Succeeded, ""},
		{"other metadata and another amount", pay, "amount=1&metadata[order]=1", `{"id":"pi_1","amount":2,"metadata":{"order":"2"}}`, 200, contract.KeyReused, ""},
		{"another destination", "/v1/transfers", "destination=acct_1", `{"id":"pi_1","destination":"acct_2"}`, 200, contract.KeyReused, "destination"},
		{"an expanded destination", "/v1/transfers", "destination=acct_1", `{"id":"pi_1","destination":{"id":"acct_1"}}`, 200, contract.Succeeded, ""},
		{"another charge", "/v1/refunds", "charge=ch_1", `{"id":"pi_1","charge":"ch_2"}`, 200, contract.KeyReused, "charge"},
		{"another customer", pay, "customer=cus_1", `{"id":"pi_1","customer":"cus_2"}`, 200, contract.Duplicate, "customer"},
		{"confirmed in the create", pay, "confirm=true", `{"id":"pi_1","status":"succeeded"}`, 200, contract.Succeeded, ""},
		{"waits for the customer", pay, "confirm=true", `{"id":"pi_1","status":"requires_action"}`, 200, contract.Succeeded, ""},
		{"declined in the create", pay, "confirm=true", `{"id":"pi_1","status":"requires_payment_method"}`, 200, contract.Duplicate, "not show"},
		{"confirmed", pay + "/pi_1/confirm", "payment_method=pm_card_visa", `{"id":"pi_1","status":"succeeded","payment_method":"pm_2"}`, 200, contract.Succeeded, ""},
		{"confirmed with another card", pay + "/pi_1/confirm", "payment_method=pm_1", `{"id":"pi_1","status":"succeeded","payment_method":"pm_2"}`, 200, contract.Duplicate, "another payment_method"},
		{"to be captured", pay + "/pi_1/confirm", "", `{"id":"pi_1","status":"requires_capture"}`, 200, contract.Succeeded, ""},
		{"not confirmed", pay + "/pi_1/confirm", "", `{"id":"pi_1","status":"requires_payment_method"}`, 200, contract.Duplicate, ""},
		{"captured", pay + "/pi_1/capture", "amount_to_capture=80", `{"id":"pi_1","status":"succeeded","amount":100,"amount_received":80}`, 200, contract.Succeeded, ""},
		{"captured another amount", pay + "/pi_1/capture", "amount_to_capture=80", `{"id":"pi_1","status":"succeeded","amount_received":100}`, 200, contract.KeyReused, "amount_received 100, and 80"},
		{"captured all", pay + "/pi_1/capture", "", `{"id":"pi_1","status":"succeeded","amount":100,"amount_received":100}`, 200, contract.Succeeded, ""},
		{"captured a part where all was asked", pay + "/pi_1/capture", "", `{"id":"pi_1","status":"succeeded","amount":100,"amount_received":80}`, 200, contract.Duplicate, "another amount"},
		{"not captured", pay + "/pi_1/capture", "", `{"id":"pi_1","status":"requires_capture"}`, 200, contract.Duplicate, ""},
		{"canceled", pay + "/pi_1/cancel", "", `{"id":"pi_1","status":"canceled"}`, 200, contract.Succeeded, ""},
		{"not canceled", pay + "/pi_1/cancel", "", `{"id":"pi_1","status":"succeeded"}`, 200, contract.Duplicate, ""},
		{"a charge captured", "/v1/charges/pi_1/capture", "amount=5", `{"id":"pi_1","captured":true,"amount":9,"amount_captured":5}`, 200, contract.Succeeded, ""},
		{"a part of a charge captured where all was asked", "/v1/charges/pi_1/capture", "", `{"id":"pi_1","captured":true,"amount":9,"amount_captured":5}`, 200, contract.Duplicate, "another amount"},
		{"a charge not captured", "/v1/charges/pi_1/capture", "", `{"id":"pi_1","captured":false}`, 200, contract.Duplicate, ""},
		{"an action that no state shows", "/v1/quotes/pi_1/accept", "", `{"id":"pi_1","status":"accepted"}`, 200, contract.Duplicate, ""},
		{"an update", "/v1/customers/pi_1", "metadata[a]=b", `{"id":"pi_1","metadata":{"a":"b"}}`, 200, contract.Succeeded, ""},
		{"v2 as asked", "/v2/money_management/outbound_payments", `{"amount":{"value":100,"currency":"usd"}}`, `{"id":"pi_1","amount":{"value":100,"currency":"usd"}}`, 200, contract.Succeeded, ""},
		{"v2 another amount", "/v2/money_management/outbound_payments", `{"amount":{"value":100,"currency":"usd"}}`, `{"id":"pi_1","amount":{"value":99,"currency":"usd"}}`, 200, contract.KeyReused, "99, and 100"},
		{"v2 an action", "/v2/core/accounts/pi_1/close", ``, `{"id":"pi_1"}`, 200, contract.Duplicate, ""},
		{"another object", pay, "", `{"id":"pi_2"}`, 200, contract.Duplicate, "could not be fetched"},
		{"not found", pay, "", `{"error":{"type":"invalid_request_error","code":"resource_missing"}}`, 404, contract.Duplicate, ""},
		{"down", pay, "", ``, 503, contract.Duplicate, ""},
		{"a page", pay, "", `<html>`, 200, contract.Duplicate, ""},
		{"not 200", pay, "", `{"id":"pi_1"}`, 203, contract.Duplicate, ""},
		{"asked twice", pay, "amount=1&amount=2", `{"id":"pi_1","amount":1}`, 200, contract.Duplicate, "cannot be read"},
		{"a list in the form", pay, "amount=1&expand[]=a&expand[]=b", `{"id":"pi_1","amount":1}`, 200, contract.Succeeded, ""},
		{"a form that is none", pay, "amount=%zz", `{"id":"pi_1","amount":1}`, 200, contract.Duplicate, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			known := contract.Outcome{Status: contract.Duplicate, Resource: "pi_1", Code: "c"}
			got := New(nil).ClassifyResolve(call("POST", api+tc.path, tc.asked), known, reply(tc.status, tc.shown, "Request-Id", "req_2"))
			assert.Equal(t, tc.want, got.Status, got.Reason)
			assert.Equal(t, "pi_1", got.Resource)
			assert.Equal(t, contract.FromLookUp, got.Source)
			assert.Equal(t, "req_2", got.RequestID)
			assert.Contains(t, got.Reason, tc.reason)
		})
	}
}

func TestResolveOfACutAnswer(t *testing.T) {
	r := reply(200, `{"id":"pi_1","amount":100}`)
	r.Err = assert.AnError
	known := contract.Outcome{Status: contract.Duplicate, Resource: "pi_1"}
	got := New(nil).ClassifyResolve(call("POST", api+"/v1/payment_intents", "amount=100"), known, r)
	assert.Equal(t, contract.Duplicate, got.Status)
}

// No value but an amount or a currency gets into the reason.
func TestReasonNamesNoPerson(t *testing.T) {
	known := contract.Outcome{Status: contract.Duplicate, Resource: "po_1"}
	for _, body := range []string{"destination=secret_1", "metadata[name]=secret_1", "customer=secret_1", "currency=secret%0a1"} {
		got := New(nil).ClassifyResolve(call("POST", api+"/v1/payouts", body), known,
			reply(200, `{"id":"po_1","destination":"secret_2","customer":"secret_2","currency":"secret 2","metadata":{"name":"secret_2"}}`))
		assert.NotEqual(t, contract.Succeeded, got.Status)
		assert.NotContains(t, got.Reason, "secret")
	}
}

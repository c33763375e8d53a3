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
	goCardlessURL = "https://api.gocardless.com"
	goPayment     = `{"payments":{"amount":2500,"currency":"GBP","links":{"mandate":"MD1"},"metadata":{"order":"7"}}}`
)

// reason returns the first reason of an error.
func (r reply) reason() string {
	items, _ := r.at("error.errors").([]any)
	if len(items) == 0 {
		return ""
	}
	s, _ := items[0].(map[string]any)["reason"].(string)
	return s
}

func TestGoCardlessConflicts(t *testing.T) {
	s := fakes.NewGoCardless(nil)
	c := s.Client()
	one := send(t, c, "POST", goCardlessURL+"/payments", "k1", goPayment)
	require.Equal(t, 201, one.status)
	assert.Equal(t, "pending_submission", one.at("payments.status"))
	s.SetState("PM000001", "failed")
	s.Advance(365 * 24 * time.Hour)
	for _, body := range []string{goPayment, strings.Replace(goPayment, "2500", "9", 1), "not JSON"} {
		two := send(t, c, "POST", goCardlessURL+"/payments", "k1", body)
		assert.Equal(t, 409, two.status, "by the key alone, and for ever")
		assert.Equal(t, "idempotent_creation_conflict", two.reason())
		assert.Contains(t, two.raw, `"conflicting_resource_id":"PM000001"`)
		assert.Equal(t, "invalid_state", two.at("error.type"))
	}
	assert.Equal(t, "PM000001", send(t, c, "GET", goCardlessURL+"/payments/PM000001", "", "").at("payments.id"))
	assert.Equal(t, "failed", send(t, c, "GET", goCardlessURL+"/payments/PM000001", "", "").at("payments.status"))
	assert.Equal(t, 404, send(t, c, "GET", goCardlessURL+"/refunds/PM000001", "", "").status)
	other := send(t, c, "POST", goCardlessURL+"/refunds", "k1", `{"refunds":{"amount":1,"links":{"payment":"PM000001"}}}`)
	assert.Contains(t, other.raw, "PM000001", "one key for all")
	e := s.Effects()
	require.Len(t, e, 1)
	assert.Equal(t, fakes.Effect{Time: e[0].Time, Kind: "payment", Action: "create", Resource: "PM000001", Key: "k1", Method: "POST", Path: "/payments",
		Amount: 2500, Currency: "gbp", Metadata: map[string]string{"order": "7"}, Params: e[0].Params, RequestID: e[0].RequestID}, e[0])
	assert.Equal(t, 201, send(t, c, "POST", goCardlessURL+"/payments", "", goPayment).status)
	assert.Equal(t, 201, send(t, c, "POST", goCardlessURL+"/payments", "", goPayment).status)
	assert.Len(t, s.Effects(), 3, "without a key each is an effect")
	assert.False(t, s.SetState("none", "failed"))
}

func TestGoCardlessFailedRequestsKeepNoKey(t *testing.T) {
	s := fakes.NewGoCardless(nil)
	c := s.Client()
	bad := send(t, c, "POST", goCardlessURL+"/payments", "k1", strings.Replace(goPayment, "2500", "0", 1))
	assert.Equal(t, 422, bad.status)
	assert.Equal(t, "validation_failed", bad.at("error.type"))
	assert.Contains(t, bad.raw, `"request_pointer":"/payments/amount"`)
	s.Script(fakes.SaveErrorNoEffect(500), fakes.SaveError(500))
	none := send(t, c, "POST", goCardlessURL+"/payments", "k1", goPayment)
	assert.Equal(t, "gocardless", none.at("error.type"))
	assert.Empty(t, s.Effects())
	assert.Equal(t, 500, send(t, c, "POST", goCardlessURL+"/payments", "k1", goPayment).status)
	assert.Equal(t, 409, send(t, c, "POST", goCardlessURL+"/payments", "k1", goPayment).status, "it took effect, whatever was said")
	assert.Len(t, s.Effects(), 1)
}

// No answer to a running request is documented, so InFlight means nothing.
func TestGoCardlessInFlightMeansNothing(t *testing.T) {
	s := fakes.NewGoCardless(nil)
	s.Script(fakes.InFlight(time.Hour))
	assert.Equal(t, 201, send(t, s.Client(), "POST", goCardlessURL+"/payments", "k1", goPayment).status)
	assert.Len(t, s.Effects(), 1)
}

func TestGoCardlessThrottleSaysADate(t *testing.T) {
	s := fakes.NewGoCardless(nil)
	s.Script(fakes.Throttle(90*time.Second), fakes.Unavailable(2*time.Second))
	r := send(t, s.Client(), "POST", goCardlessURL+"/payments", "k1", goPayment)
	assert.Equal(t, 429, r.status)
	assert.Empty(t, r.header.Get("Retry-After"))
	assert.Equal(t, "0", r.header.Get("RateLimit-Remaining"))
	date, err := http.ParseTime(r.header.Get("Date"))
	require.NoError(t, err)
	reset, err := http.ParseTime(r.header.Get("RateLimit-Reset"))
	require.NoError(t, err)
	assert.Equal(t, 90*time.Second, reset.Sub(date))
	down := send(t, s.Client(), "POST", goCardlessURL+"/payments", "k1", goPayment)
	assert.Equal(t, 503, down.status)
	assert.Equal(t, "2", down.header.Get("Retry-After"))
	assert.Equal(t, "999", down.header.Get("RateLimit-Remaining"))
	assert.Empty(t, s.Effects())
}

func TestGoCardlessCollections(t *testing.T) {
	for path, body := range map[string]string{
		"refunds":                      `{"refunds":{"amount":5,"total_amount_confirmation":5,"links":{"payment":"PM9"}}}`,
		"outbound_payments":            `{"outbound_payments":{"amount":5,"links":{"recipient_bank_account":"BA1"}}}`,
		"outbound_payments/withdrawal": `{"outbound_payments":{"amount":5}}`,
		"subscriptions":                `{"subscriptions":{"amount":5,"currency":"GBP","links":{"mandate":"MD1"}}}`,
		"instalment_schedules":         `{"instalment_schedules":{"total_amount":5,"currency":"GBP","links":{"mandate":"MD1"}}}`,
		"billing_requests":             `{"billing_requests":{"payment_request":{"amount":5,"currency":"GBP"}}}`,
		"mandates":                     `{"mandates":{"links":{"customer_bank_account":"BA1"}}}`,
		"customer_bank_accounts":       `{"customer_bank_accounts":{"iban":"GB00TEST","links":{"customer":"CU1"}}}`,
	} {
		s := fakes.NewGoCardless(nil)
		one := send(t, s.Client(), "POST", goCardlessURL+"/"+path, "k1", body)
		assert.Equal(t, 201, one.status, path)
		name, _, _ := strings.Cut(path, "/")
		id, _ := one.at(name + ".id").(string)
		assert.Contains(t, send(t, s.Client(), "POST", goCardlessURL+"/"+path, "k1", body).raw, id)
		assert.Equal(t, one.raw, send(t, s.Client(), "GET", goCardlessURL+"/"+name+"/"+id, "", "").raw)
		assert.NotContains(t, one.raw, "GB00TEST", "an account number is never shown")
		assert.Equal(t, strings.HasSuffix(path, "withdrawal"), one.at(name+".is_withdrawal") == true, path)
		assert.Len(t, s.Effects(), 1, path)
	}
}

func TestGoCardlessSafeguards(t *testing.T) {
	s := fakes.NewGoCardless(nil)
	c := s.Client()
	refund := `{"refunds":{"amount":5,"total_amount_confirmation":%d,"links":{"payment":"PM9"}}}`
	require.Equal(t, 201, send(t, c, "POST", goCardlessURL+"/refunds", "k1", fmt.Sprintf(refund, 5)).status)
	again := send(t, c, "POST", goCardlessURL+"/refunds", "k2", fmt.Sprintf(refund, 5))
	assert.Equal(t, 422, again.status)
	assert.Equal(t, "total_amount_confirmation_invalid", again.reason())
	assert.Equal(t, 201, send(t, c, "POST", goCardlessURL+"/refunds", "k2", fmt.Sprintf(refund, 10)).status)

	account := `{"customer_bank_accounts":{"iban":"GB00TEST","links":{"customer":"CU1"}}}`
	require.Equal(t, 201, send(t, c, "POST", goCardlessURL+"/customer_bank_accounts", "k3", account).status)
	exists := send(t, c, "POST", goCardlessURL+"/customer_bank_accounts", "k4", account)
	assert.Equal(t, 409, exists.status)
	assert.Equal(t, "bank_account_exists", exists.reason())
	assert.Contains(t, exists.raw, `"customer_bank_account":"BA000003"`)
	assert.Len(t, s.Effects(), 3)
}

func TestGoCardlessActions(t *testing.T) {
	s := fakes.NewGoCardless(nil)
	c := s.Client()
	retry := func(id string) reply {
		return send(t, c, "POST", goCardlessURL+"/payments/"+id+"/actions/retry", "k1", "")
	}
	send(t, c, "POST", goCardlessURL+"/payments", "k1", goPayment)
	assert.Equal(t, "retry_failed", retry("PM000001").reason(), "only a failed payment")
	for range 2 {
		s.SetState("PM000001", "failed")
		r := retry("PM000001")
		assert.Equal(t, 200, r.status)
		assert.Equal(t, "pending_submission", r.at("payments.status"))
	}
	e := s.Effects()
	require.Len(t, e, 3, "each retry is an effect, with a key or without")
	assert.Equal(t, int64(2500), e[2].Amount)
	assert.Equal(t, 200, send(t, c, "POST", goCardlessURL+"/payments/PM000001/actions/cancel", "", "").status)
	assert.Equal(t, "cancellation_failed", send(t, c, "POST", goCardlessURL+"/payments/PM000001/actions/cancel", "", "").reason())
	assert.Equal(t, 200, retry("PM9").status, "one that is older than the fake")
	assert.Equal(t, 404, send(t, c, "POST", goCardlessURL+"/payments/PM9/actions/dance", "", "").status)
}

func TestGoCardlessLists(t *testing.T) {
	s := fakes.NewGoCardless(nil)
	c := s.Client()
	for i := range 52 {
		send(t, c, "POST", goCardlessURL+"/payments", fmt.Sprint(i), goPayment)
		s.Advance(time.Hour)
	}
	first := send(t, c, "GET", goCardlessURL+"/payments?mandate=MD1", "", "")
	require.Len(t, first.at("payments"), 50)
	assert.Equal(t, "PM000052", first.at("payments").([]any)[0].(map[string]any)["id"])
	after, _ := first.at("meta.cursors.after").(string)
	second := send(t, c, "GET", goCardlessURL+"/payments?after="+after, "", "")
	assert.Len(t, second.at("payments"), 2)
	assert.Nil(t, second.at("meta.cursors.after"))
	assert.Empty(t, send(t, c, "GET", goCardlessURL+"/payments?mandate=MD2", "", "").at("payments"))
	since := s.Effects()[50].Time.UTC().Format(time.RFC3339)
	assert.Len(t, send(t, c, "GET", goCardlessURL+"/payments?created_at[gte]="+since, "", "").at("payments"), 2)
	assert.Equal(t, 404, send(t, c, "GET", goCardlessURL+"/nothing", "", "").status)
}

func TestGoCardlessNeedsAToken(t *testing.T) {
	s := fakes.NewGoCardless(nil)
	r := newRequest(t, "POST", goCardlessURL+"/payments", "k1", goPayment)
	r.Header.Del("Authorization")
	got, err := try(t, s.Client(), r)
	require.NoError(t, err)
	assert.Equal(t, 401, got.status)
	assert.Equal(t, "access_token_not_found", got.reason())
	assert.Empty(t, s.Effects())
}

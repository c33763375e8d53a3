package fakes_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/fakes"
)

const (
	squareURL     = "https://connect.squareup.com/v2"
	squarePayment = `{"idempotency_key":"k1","source_id":"cnon:card-nonce-ok","amount_money":{"amount":100,"currency":"USD"},"reference_id":"INV-1"}`
)

func squareCode(r reply) any {
	list, _ := r.body["errors"].([]any)
	if len(list) == 0 {
		return nil
	}
	return list[0].(map[string]any)["code"]
}

func TestSquareReplays(t *testing.T) {
	s := fakes.NewSquare(nil)
	c := s.Client()
	one := send(t, c, "POST", squareURL+"/payments", "", squarePayment)
	require.Equal(t, 200, one.status, one.raw)
	assert.Equal(t, "COMPLETED", one.at("payment.status"))
	s.Advance(time.Hour - time.Second)
	two := send(t, c, "POST", squareURL+"/payments", "", squarePayment)
	assert.Equal(t, one.raw, two.raw)
	assert.False(t, s.Requests()[1].Replayed, "nothing marks a repeat")
	other := send(t, c, "POST", squareURL+"/payments", "", strings.Replace(squarePayment, "100", "101", 1))
	assert.Equal(t, 400, other.status)
	assert.Equal(t, "IDEMPOTENCY_KEY_REUSED", squareCode(other))
	refund := send(t, c, "POST", squareURL+"/refunds", "", `{"idempotency_key":"k1","payment_id":"p","amount_money":{"amount":1,"currency":"USD"}}`)
	assert.Equal(t, 200, refund.status, "a key is unique among the requests of one endpoint")
	require.Len(t, s.Effects(), 2)
	e := s.Effects()[0]
	assert.Equal(t, fakes.Effect{Time: e.Time, Kind: "payment", Action: "create", Resource: one.at("payment.id").(string), Key: "k1", Method: "POST",
		Path: "/v2/payments", Amount: 100, Currency: "usd", Params: e.Params, RequestID: e.RequestID}, e)
	s.Advance(time.Second)
	send(t, c, "POST", squareURL+"/payments", "", squarePayment)
	assert.Len(t, s.Effects(), 3, "no retention is published, so this one ends")
}

func TestSquareRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		path, body, code string
		status           int
	}{
		"no key":         {"/payments", `{"source_id":"s"}`, "MISSING_REQUIRED_PARAMETER", 400},
		"a long key":     {"/payments", strings.Replace(squarePayment, "k1", strings.Repeat("k", 46), 1), "VALUE_TOO_LONG", 400},
		"a wide key":     {"/payments", strings.Replace(squarePayment, "k1", strings.Repeat("é", 23), 1), "VALUE_TOO_LONG", 400},
		"no source":      {"/payments", `{"idempotency_key":"k1"}`, "MISSING_REQUIRED_PARAMETER", 400},
		"no money":       {"/payments", `{"idempotency_key":"k1","source_id":"s"}`, "INVALID_VALUE", 400},
		"a token used":   {"/payments", strings.Replace(squarePayment, "-ok", "-already-used", 1), "CARD_TOKEN_USED", 400},
		"not JSON":       {"/orders", `{`, "EXPECTED_JSON_BODY", 400},
		"no payment":     {"/refunds", `{"idempotency_key":"k1","amount_money":{"amount":1,"currency":"USD"}}`, "MISSING_REQUIRED_PARAMETER", 400},
		"a declined one": {"/payments", strings.Replace(squarePayment, "-ok", "-declined", 1), "GENERIC_DECLINE", 402},
		"no such path":   {"/payment", squarePayment, "NOT_FOUND", 404},
	} {
		s := fakes.NewSquare(nil)
		r := send(t, s.Client(), "POST", squareURL+tt.path, "", tt.body)
		assert.Equal(t, tt.status, r.status, name)
		assert.Equal(t, tt.code, squareCode(r), name)
		assert.Empty(t, s.Effects(), name)
	}
	declined := send(t, fakes.NewSquare(nil).Client(), "POST", squareURL+"/payments", "", strings.Replace(squarePayment, "-ok", "-rejected-cvv", 1))
	assert.Equal(t, "FAILED", declined.at("payment.status"), "the payment that failed is shown")
	assert.Len(t, declined.body["errors"], 2)
}

// After an error of Square's own the same key shows what is true.
func TestSquareErrors(t *testing.T) {
	for _, tt := range []struct {
		fault  fakes.Fault
		status int
		code   string
		before int
	}{
		{fakes.SaveError(500), 500, "INTERNAL_SERVER_ERROR", 1},
		{fakes.SaveError(504), 504, "GATEWAY_TIMEOUT", 1},
		{fakes.SaveError(400), 400, "TEMPORARY_ERROR", 1},
		{fakes.SaveErrorNoEffect(400), 400, "TEMPORARY_ERROR", 0},
		{fakes.SaveErrorNoEffect(500), 500, "INTERNAL_SERVER_ERROR", 0},
		{fakes.Throttle(time.Second), 429, "RATE_LIMITED", 0},
		{fakes.Unavailable(0), 503, "SERVICE_UNAVAILABLE", 0},
	} {
		s := fakes.NewSquare(nil)
		s.Script(tt.fault)
		r := send(t, s.Client(), "POST", squareURL+"/payments", "", squarePayment)
		assert.Equal(t, tt.status, r.status, "%v", tt.fault)
		assert.Equal(t, tt.code, squareCode(r), "%v", tt.fault)
		assert.Len(t, s.Effects(), tt.before, "%v", tt.fault)
		again := send(t, s.Client(), "POST", squareURL+"/payments", "", squarePayment)
		assert.Equal(t, 200, again.status, "%v", tt.fault)
		assert.Len(t, s.Effects(), 1, "%v", tt.fault)
	}
	s := fakes.NewSquare(nil)
	s.Script(fakes.InFlight(time.Hour))
	assert.Equal(t, 200, send(t, s.Client(), "POST", squareURL+"/payments", "", squarePayment).status, "no answer in flight is documented")
}

func TestSquareDelayedCapture(t *testing.T) {
	s := fakes.NewSquare(nil)
	c := s.Client()
	approve := strings.Replace(squarePayment, `"source_id"`, `"autocomplete":false,"source_id"`, 1)
	one := send(t, c, "POST", squareURL+"/payments", "", approve)
	path := squareURL + "/payments/" + one.at("payment.id").(string)
	assert.Equal(t, "APPROVED", one.at("payment.status"))
	assert.Equal(t, "COMPLETED", send(t, c, "POST", path+"/complete", "", `{}`).at("payment.status"))
	assert.Equal(t, "DELAYED_TRANSACTION_CAPTURED", squareCode(send(t, c, "POST", path+"/complete", "", `{}`)))
	assert.Equal(t, "DELAYED_TRANSACTION_CAPTURED", squareCode(send(t, c, "POST", path+"/cancel", "", "")))
	assert.Equal(t, "COMPLETED", send(t, c, "GET", path, "", "").at("payment.status"))

	two := send(t, c, "POST", squareURL+"/payments", "", strings.Replace(approve, "k1", "k2", 1))
	path = squareURL + "/payments/" + two.at("payment.id").(string)
	cancel := `{"idempotency_key":"k2"}`
	assert.Equal(t, "{}", send(t, c, "POST", squareURL+"/payments/cancel", "", cancel).raw)
	assert.Equal(t, "{}", send(t, c, "POST", squareURL+"/payments/cancel", "", cancel).raw, "also where there is none")
	assert.Equal(t, "CANCELED", send(t, c, "GET", path, "", "").at("payment.status"))
	assert.Equal(t, "DELAYED_TRANSACTION_CANCELED", squareCode(send(t, c, "POST", path+"/complete", "", `{}`)))
	send(t, c, "POST", squareURL+"/payments", "", strings.Replace(approve, "k1", "k2", 1))
	var actions []string
	for _, e := range s.Effects() {
		actions = append(actions, e.Action)
	}
	assert.Equal(t, []string{"create", "complete", "create", "cancel", "create"}, actions, "the key may be used again")
}

func TestSquareRefunds(t *testing.T) {
	s := fakes.NewSquare(nil)
	c := s.Client()
	id := send(t, c, "POST", squareURL+"/payments", "", squarePayment).at("payment.id")
	refund := `{"idempotency_key":"%s","payment_id":"%s","amount_money":{"amount":60,"currency":"USD"}}`
	one := send(t, c, "POST", squareURL+"/refunds", "", fmt.Sprintf(refund, "r1", id))
	assert.Equal(t, "PENDING", one.at("refund.status"))
	assert.Equal(t, "REFUND_AMOUNT_INVALID", squareCode(send(t, c, "POST", squareURL+"/refunds", "", fmt.Sprintf(refund, "r2", id))))
	assert.Equal(t, one.raw, send(t, c, "GET", squareURL+"/refunds/"+one.at("refund.id").(string), "", "").raw)
	assert.True(t, s.SetState(one.at("refund.id").(string), "COMPLETED"))
	list := send(t, c, "GET", squareURL+"/refunds", "", "")
	assert.Contains(t, list.raw, `"COMPLETED"`)
}

func TestSquareLists(t *testing.T) {
	s := fakes.NewSquare(&fakes.Options{VisibilityDelay: 5 * time.Second})
	c := s.Client()
	for n := range 3 {
		send(t, c, "POST", squareURL+"/payments", "", fmt.Sprintf(`{"idempotency_key":"k%d","source_id":"s","amount_money":{"amount":%d,"currency":"USD"}}`, n, n+1))
	}
	assert.Equal(t, "{}", send(t, c, "GET", squareURL+"/payments", "", "").raw, "eventually consistent")
	s.Advance(5 * time.Second)
	amounts := func(query string) (all []any, r reply) {
		r = send(t, c, "GET", squareURL+"/payments?"+query, "", "")
		list, _ := r.body["payments"].([]any)
		for _, v := range list {
			all = append(all, v.(map[string]any)["amount_money"].(map[string]any)["amount"])
		}
		return all, r
	}
	all, _ := amounts("")
	assert.Equal(t, []any{3.0, 2.0, 1.0}, all)
	all, _ = amounts("total=2")
	assert.Equal(t, []any{2.0}, all)
	all, r := amounts("sort_order=ASC&limit=2")
	assert.Equal(t, []any{1.0, 2.0}, all)
	all, r = amounts("sort_order=ASC&limit=2&cursor=" + r.at("cursor").(string))
	assert.Equal(t, []any{3.0}, all)
	assert.Nil(t, r.at("cursor"))
	all, _ = amounts("begin_time=2100-01-01T00:00:00Z")
	assert.Empty(t, all)
}

func TestSquareOthers(t *testing.T) {
	for path, tt := range map[string]struct{ body, shows string }{
		"/orders":                         {`{"idempotency_key":"k","order":{"location_id":"L"}}`, "order.id"},
		"/orders/o1/pay":                  {`{"idempotency_key":"k","payment_ids":["p"]}`, "order.id"},
		"/terminals/checkouts":            {`{"idempotency_key":"k","checkout":{"amount_money":{"amount":1,"currency":"USD"}}}`, "checkout.id"},
		"/catalog/object":                 {`{"idempotency_key":"k","object":{"type":"ITEM","id":"#i"}}`, "catalog_object.id"},
		"/catalog/batch-upsert":           {`{"idempotency_key":"k","batches":[{"objects":[{"type":"ITEM","id":"#i"}]}]}`, "objects"},
		"/inventory/changes/batch-create": {`{"idempotency_key":"k","changes":[]}`, "counts"},
	} {
		s := fakes.NewSquare(nil)
		r := send(t, s.Client(), "POST", squareURL+path, "", tt.body)
		assert.Equal(t, 200, r.status, path)
		assert.NotNil(t, r.at(tt.shows), path)
		send(t, s.Client(), "POST", squareURL+path, "", tt.body)
		want := 1
		if strings.HasPrefix(path, "/inventory") {
			want = 2 // its key was reported to be no protection
		}
		assert.Len(t, s.Effects(), want, path)
	}
}

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
	mtURL   = "https://app.moderntreasury.com/api"
	mtOrder = `{"type":"ach","amount":100,"direction":"credit","originating_account_id":"a-1","receiving_account_id":"a-2","metadata":{"order":"7"}}`
)

func TestModernTreasuryReplays(t *testing.T) {
	s := fakes.NewModernTreasury(nil)
	c := s.Client()
	one := send(t, c, "POST", mtURL+"/payment_orders", "k1", mtOrder)
	require.Equal(t, 201, one.status, one.raw)
	assert.Equal(t, "payment_order", one.at("object"))
	s.Advance(24*time.Hour - time.Second)
	for path, body := range map[string]string{
		"/payment_orders":      mtOrder,
		"/payment_orders/":     strings.Replace(mtOrder, "100", "101", 1),
		"/counterparties":      `{"name":"n"}`,
		"/expected_payments":   `{`,
		"/returns":             `{}`,
		"/ledger_transactions": `{"ledger_entries":[]}`,
	} {
		r := send(t, c, "POST", mtURL+path, "k1", body)
		assert.Equal(t, one.raw, r.raw, "a key is independent of the route, and of what is asked: %s", path)
		assert.Equal(t, 201, r.status)
	}
	r := newRequest(t, "POST", mtURL+"/payment_orders", "k1", mtOrder)
	r.Header.Set("Authorization", "Bearer another")
	other, err := try(t, c, r)
	require.NoError(t, err)
	assert.NotEqual(t, one.raw, other.raw, "a key is of one API key")
	require.Len(t, s.Effects(), 2)
	e := s.Effects()[0]
	assert.Equal(t, fakes.Effect{Time: e.Time, Kind: "payment_order", Action: "create", Resource: one.at("id").(string), Key: "k1", Method: "POST", Path: "/api/payment_orders",
		Amount: 100, Currency: "usd", Metadata: map[string]string{"order": "7"}, Params: e.Params, RequestID: e.RequestID}, e)
	s.Advance(time.Second)
	send(t, c, "POST", mtURL+"/payment_orders", "k1", mtOrder)
	assert.Len(t, s.Effects(), 3, "after 24 hours it pays twice")
}

// Only successes are saved, and what was completed is completed once.
func TestModernTreasuryErrors(t *testing.T) {
	for _, tt := range []struct {
		fault           fakes.Fault
		status          int
		code            string
		before, outcome int
	}{
		{fakes.SaveError(500), 500, "internal_server_error", 1, 201},
		{fakes.SaveErrorNoEffect(502), 502, "internal_server_error", 0, 201},
		{fakes.Throttle(time.Second), 429, "too_many_requests", 0, 201},
		{fakes.Unavailable(0), 503, "service_unavailable", 0, 201},
		{fakes.InFlight(time.Hour), 409, "conflict", 0, 409},
	} {
		s := fakes.NewModernTreasury(nil)
		s.Script(tt.fault)
		r := send(t, s.Client(), "POST", mtURL+"/payment_orders", "k1", mtOrder)
		assert.Equal(t, tt.status, r.status, "%v", tt.fault)
		assert.Equal(t, tt.code, r.at("errors.code"), "%v", tt.fault)
		assert.Len(t, s.Effects(), tt.before, "%v", tt.fault)
		assert.Equal(t, tt.outcome, send(t, s.Client(), "POST", mtURL+"/payment_orders", "k1", mtOrder).status, "%v", tt.fault)
		s.Advance(time.Hour)
		assert.Equal(t, 201, send(t, s.Client(), "POST", mtURL+"/payment_orders", "k1", mtOrder).status, "%v", tt.fault)
		assert.Len(t, s.Effects(), 1, "%v", tt.fault)
	}
	s := fakes.NewModernTreasury(nil)
	bad := send(t, s.Client(), "POST", mtURL+"/payment_orders", "k1", `{"type":"ach"}`)
	assert.Equal(t, 422, bad.status)
	assert.Equal(t, "parameter_missing", bad.at("errors.code"))
	assert.Equal(t, 201, send(t, s.Client(), "POST", mtURL+"/payment_orders", "k1", mtOrder).status, "a refusal is not saved")
}

func TestModernTreasuryExternalIDs(t *testing.T) {
	s := fakes.NewModernTreasury(nil)
	c := s.Client()
	named := strings.Replace(mtOrder, `"metadata"`, `"external_id":"INV-1","metadata"`, 1)
	one := send(t, c, "POST", mtURL+"/payment_orders", "k1", named)
	two := send(t, c, "POST", mtURL+"/payment_orders", "k2", named)
	assert.Equal(t, 409, two.status)
	assert.Equal(t, "external_id", two.at("errors.parameter"))
	post := `{"external_id":"INV-1","ledger_entries":[{"amount":5,"direction":"debit","ledger_account_id":"l"}]}`
	assert.Equal(t, 201, send(t, c, "POST", mtURL+"/ledger_transactions", "k3", post).status)
	assert.Equal(t, 400, send(t, c, "POST", mtURL+"/ledger_transactions", "k4", post).status, "as was reported")
	send(t, c, "POST", mtURL+"/payment_orders", "k5", mtOrder)
	assert.Equal(t, "["+one.raw+"]", send(t, c, "GET", mtURL+"/payment_orders?external_id=INV-1", "", "").raw)
	assert.Equal(t, one.raw, send(t, c, "GET", mtURL+"/payment_orders/"+one.at("id").(string), "", "").raw)
	assert.Equal(t, "[]", send(t, c, "GET", mtURL+"/payment_orders?external_id=INV-2", "", "").raw)
	page := send(t, c, "GET", mtURL+"/payment_orders?per_page=1", "", "")
	rest := send(t, c, "GET", mtURL+"/payment_orders?per_page=1&after_cursor="+page.header.Get("X-After-Cursor"), "", "")
	assert.Equal(t, "["+one.raw+"]", rest.raw, "newest first")
	assert.Empty(t, rest.header.Get("X-After-Cursor"))
	assert.Equal(t, 404, send(t, c, "GET", mtURL+"/payment_orders/none", "", "").status)
	assert.Equal(t, 404, send(t, c, "GET", mtURL+"/nothing", "", "").status)
	assert.True(t, s.SetState(one.at("id").(string), "sent"))
	assert.False(t, s.SetState("none", "sent"))
}

// PATCH and DELETE are idempotent by definition, and a key means nothing to them.
func TestModernTreasuryChanges(t *testing.T) {
	s := fakes.NewModernTreasury(nil)
	c := s.Client()
	one := send(t, c, "POST", mtURL+"/payment_orders", "k1", mtOrder)
	path := mtURL + "/payment_orders/" + one.at("id").(string)
	for range 2 {
		r := send(t, c, "PATCH", path, "k1", `{"description":"d"}`)
		assert.Equal(t, 200, r.status)
		assert.Equal(t, "d", r.at("description"))
	}
	assert.Equal(t, 204, send(t, c, "DELETE", mtURL+"/counterparties/c-1", "", "").status)
	assert.Equal(t, 404, send(t, c, "DELETE", mtURL+"/counterparties/c-1", "", "").status)
	var actions []string
	for _, e := range s.Effects() {
		actions = append(actions, e.Action)
		assert.Equal(t, e.Action == "create", e.Key != "", e.Action)
	}
	assert.Equal(t, []string{"create", "update", "delete"}, actions)
	assert.Equal(t, 404, send(t, c, "PATCH", mtURL+"/nothing/n-1", "", `{}`).status)
	assert.Equal(t, 400, send(t, c, "PATCH", path, "", `{`).status)
}

func TestModernTreasuryOthers(t *testing.T) {
	for path, tt := range map[string]struct {
		body, object string
		effects      int
	}{
		"/payment_orders/po-1/reversals":     {`{"reason":"duplicate"}`, "reversal", 1},
		"/returns":                           {`{"returnable_id":"i","returnable_type":"incoming_payment_detail"}`, "return", 1},
		"/expected_payments":                 {`{"amount_upper_bound":5,"amount_lower_bound":5,"direction":"credit"}`, "expected_payment", 1},
		"/ledger_transactions":               {`{"ledger_entries":[{"amount":5,"direction":"debit","ledger_account_id":"l"}]}`, "ledger_transaction", 1},
		"/counterparties":                    {`{"name":"n"}`, "counterparty", 1},
		"/ledger_transactions/lt-1/reversal": {`{}`, "ledger_transaction", 2}, // the specification names no key
	} {
		s := fakes.NewModernTreasury(nil)
		for range 2 {
			r := send(t, s.Client(), "POST", mtURL+path, "k1", tt.body)
			assert.Equal(t, 201, r.status, "%s: %s", path, r.raw)
			assert.Equal(t, tt.object, r.at("object"), path)
		}
		assert.Len(t, s.Effects(), tt.effects, path)
	}
	s := fakes.NewModernTreasury(nil)
	for path, body := range map[string]string{"/payment_orders": `{"type":"ach","amount":"x","direction":"credit","originating_account_id":"a"}`, "/ledger_transactions": `{"ledger_entries":[]}`} {
		assert.Equal(t, "parameter_invalid", send(t, s.Client(), "POST", mtURL+path, "", body).at("errors.code"), path)
	}
	assert.Equal(t, 404, send(t, s.Client(), "POST", mtURL+"/payment_orders/a/b/reversals", "", `{}`).status)
	r := newRequest(t, "GET", mtURL+"/payment_orders", "", "")
	r.Header.Del("Authorization")
	denied, err := try(t, s.Client(), r)
	require.NoError(t, err)
	assert.Equal(t, http.StatusUnauthorized, denied.status, fmt.Sprint(denied.raw))
}

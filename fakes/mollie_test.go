package fakes_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/fakes"
)

const (
	mollieURL = "https://api.mollie.com/v2/"
	mollieTen = `{"amount":{"currency":"EUR","value":"10.00"},"description":"Order 7","metadata":{"order":"7"}}`
)

func TestMollieRemembersAnHour(t *testing.T) {
	s := fakes.NewMollie(nil)
	c := s.Client()
	one := send(t, c, "POST", mollieURL+"payments", "k1", mollieTen)
	require.Equal(t, 201, one.status, one.raw)
	assert.Equal(t, "payment", one.at("resource"))
	assert.Equal(t, "application/hal+json", one.header.Get("Content-Type"))
	assert.Empty(t, one.header.Get("Idempotent-Replayed"))
	s.Advance(time.Hour - time.Second)
	two := send(t, c, "POST", mollieURL+"payments", "k1", mollieTen)
	assert.Equal(t, one.raw, two.raw)
	assert.Equal(t, "true", two.header.Get("Idempotent-Replayed"))
	other := strings.Replace(mollieTen, "10.00", "10.01", 1)
	assert.Equal(t, 400, send(t, c, "POST", mollieURL+"payments", "k1", other).status, "other parameters")
	assert.Equal(t, 400, send(t, c, "POST", mollieURL+"payments/tr_1/captures", "k1", mollieTen).status, "another endpoint")
	s.Advance(time.Second)
	assert.Equal(t, 201, send(t, c, "POST", mollieURL+"payments", "k1", mollieTen).status)
	e := s.Effects()
	require.Len(t, e, 2, "after an hour it pays twice")
	assert.Equal(t, int64(1000), e[0].Amount)
	assert.Equal(t, "eur", e[0].Currency)
	assert.Equal(t, map[string]string{"order": "7"}, e[0].Metadata)
}

func TestMollieKeyLayer(t *testing.T) {
	s := fakes.NewMollie(nil)
	c := s.Client()
	s.Script(fakes.InFlight(time.Minute), nil, nil, fakes.SaveError(500), nil, fakes.SaveErrorNoEffect(500))
	busy := send(t, c, "POST", mollieURL+"payments", "k1", mollieTen)
	assert.Equal(t, 409, busy.status)
	assert.InDelta(t, 409, busy.at("status"), 0)
	assert.Equal(t, 409, send(t, c, "POST", mollieURL+"payments", "k1", mollieTen).status)
	assert.Empty(t, s.Effects())
	s.Advance(time.Minute)
	assert.Equal(t, 201, send(t, c, "POST", mollieURL+"payments", "k1", mollieTen).status)
	assert.Equal(t, 500, send(t, c, "POST", mollieURL+"payments", "k2", mollieTen).status)
	assert.Equal(t, 201, send(t, c, "POST", mollieURL+"payments", "k2", mollieTen).status, "the payment exists")
	assert.Len(t, s.Effects(), 2)
	assert.Equal(t, 500, send(t, c, "POST", mollieURL+"payments", "k3", mollieTen).status)
	assert.Len(t, s.Effects(), 2)
	for range 2 {
		send(t, c, "POST", mollieURL+"payments", "", mollieTen)
	}
	assert.Len(t, s.Effects(), 4, "each request without a key is an effect")
}

func TestMollieEndpoints(t *testing.T) {
	s := fakes.NewMollie(nil)
	c := s.Client()
	for path, resource := range map[string]any{
		"payments/tr_1/refunds": "refund", "payments/tr_1/captures": "capture", "customers/cst_1/payments": "payment",
		"customers/cst_1/subscriptions": "subscription", "connect/balance-transfers": "connect-balance-transfer", "payouts": "payout",
	} {
		got := send(t, c, "POST", mollieURL+path, "", mollieTen)
		assert.Equal(t, 201, got.status, path)
		assert.Equal(t, resource, got.at("resource"))
		one := mollieURL + path + "/" + got.at("id").(string)
		assert.Equal(t, got.raw, send(t, c, "GET", one, "", "").raw, one)
	}
	assert.Equal(t, 202, send(t, c, "POST", mollieURL+"payments/tr_1/release-authorization", "", "").status)
	assert.Equal(t, 404, send(t, c, "POST", mollieURL+"payments/nope/refunds", "", mollieTen).status)
	assert.Equal(t, 404, send(t, c, "POST", mollieURL+"nope", "", mollieTen).status)
	assert.Equal(t, 404, send(t, c, "GET", mollieURL+"payments/tr_nope", "", "").status)
	assert.Equal(t, 400, send(t, c, "POST", mollieURL+"payments", "", `{"amount`).status)
	assert.Equal(t, 405, send(t, c, "PUT", mollieURL+"payments/tr_1", "", "").status)
	for _, bad := range []string{`"10"`, `"10.0"`, `"-10.00"`, `"x.00"`, `10.00`, `"0.00"`} {
		got := send(t, c, "POST", mollieURL+"payments", "", strings.Replace(mollieTen, `"10.00"`, bad, 1))
		assert.Equal(t, 422, got.status, bad)
		assert.Equal(t, "amount", got.at("field"))
	}
	yen := strings.NewReplacer("EUR", "JPY", "10.00", "1000").Replace(mollieTen)
	assert.Equal(t, 201, send(t, c, "POST", mollieURL+"payments", "", yen).status)
	form := "amount[currency]=EUR&amount[value]=7.50&description=d&metadata={}"
	assert.Equal(t, 201, send(t, c, "POST", mollieURL+"payments", "", form).status)
	assert.Equal(t, int64(750), s.Effects()[len(s.Effects())-1].Amount)
}

func TestMollieRefusesEqualRefunds(t *testing.T) {
	s := fakes.NewMollie(nil)
	c := s.Client()
	refunds := mollieURL + "payments/tr_1/refunds"
	assert.Equal(t, 201, send(t, c, "POST", refunds, "k1", mollieTen).status)
	assert.Equal(t, 409, send(t, c, "POST", refunds, "k2", mollieTen).status)
	assert.Equal(t, 201, send(t, c, "POST", mollieURL+"payments/tr_2/refunds", "k3", mollieTen).status)
	assert.Equal(t, 201, send(t, c, "POST", refunds, "k4", strings.Replace(mollieTen, "10.00", "9.00", 1)).status)
	s.Advance(time.Hour)
	assert.Equal(t, 201, send(t, c, "POST", refunds, "k2", mollieTen).status)
	assert.Len(t, s.Effects(), 4)
}

func TestMollieFailsAndCancels(t *testing.T) {
	s := fakes.NewMollie(nil)
	c := s.Client()
	failed := send(t, c, "POST", mollieURL+"customers/cst_1/payments", "k1", strings.Replace(mollieTen, `{"amount"`, `{"mandateId":"mdt_declined","amount"`, 1))
	assert.Equal(t, "failed", failed.at("status"))
	assert.Equal(t, "insufficient_funds", failed.at("statusReason.code"))
	assert.Empty(t, s.Effects())
	payment := send(t, c, "POST", mollieURL+"payments", "k1-other", mollieTen).at("id").(string)
	got := send(t, c, "DELETE", mollieURL+"payments/"+payment, "k1-other", "")
	assert.Equal(t, 200, got.status, "a key counts for a POST alone")
	assert.Equal(t, "canceled", got.at("status"))
	assert.Equal(t, 422, send(t, c, "DELETE", mollieURL+"payments/"+payment, "", "").status)
	refund := send(t, c, "POST", mollieURL+"payments/tr_1/refunds", "", mollieTen).at("id").(string)
	assert.Equal(t, 204, send(t, c, "DELETE", mollieURL+"payments/tr_1/refunds/"+refund, "", "").status)
	assert.Equal(t, 404, send(t, c, "DELETE", mollieURL+"payments/tr_1/refunds/"+refund, "", "").status)
	payout := send(t, c, "POST", mollieURL+"payouts", "", mollieTen).at("id").(string)
	require.True(t, s.SetState(payout, "initiated"))
	assert.Equal(t, 409, send(t, c, "DELETE", mollieURL+"payouts/"+payout, "", "").status)
	assert.False(t, s.SetState("tr_nope", "paid"))
}

func TestMollieLists(t *testing.T) {
	s := fakes.NewMollie(&fakes.Options{VisibilityDelay: time.Minute})
	c := s.Client()
	var ids []any
	for range 3 {
		ids = append([]any{send(t, c, "POST", mollieURL+"payments", "", mollieTen).at("id")}, ids...)
	}
	listed := func(query string) (list []any, next any) {
		got := send(t, c, "GET", mollieURL+"payments"+query, "", "")
		for _, v := range got.at("_embedded.payments").([]any) {
			list = append(list, v.(map[string]any)["id"])
		}
		return list, got.at("_links.next.href")
	}
	list, _ := listed("")
	assert.Empty(t, list, "not visible yet")
	s.Advance(time.Minute)
	list, next := listed("?limit=2")
	assert.Equal(t, ids[:2], list, "newest first")
	assert.Equal(t, mollieURL+"payments?from="+ids[2].(string)+"&limit=2", next)
	list, next = listed("?limit=2&from=" + ids[2].(string))
	assert.Equal(t, ids[2:], list)
	assert.Nil(t, next)
	assert.Equal(t, 400, send(t, c, "GET", mollieURL+"payments?from=tr_nope", "", "").status)
	assert.Equal(t, []any{}, send(t, c, "GET", mollieURL+"customers/cst_2/payments", "", "").at("_embedded.payments"))
}

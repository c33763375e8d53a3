package fakes_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/fakes"
)

const (
	payments = zeptoURL + "/payments"
	payBatch = `{"description":"d","your_bank_account_id":"b-1","channels":["new_payments_platform"],` +
		`"payouts":[{"amount":100,"description":"x","recipient_contact_id":"c-1"},{"amount":23,"recipient_contact_id":"c-2"}],` +
		`"metadata":{"order":"7","n":1}}`
)

func TestZeptoConflicts(t *testing.T) {
	s := fakes.NewZepto(nil)
	c := s.Client()
	one := send(t, c, "POST", payments, "k1", payBatch)
	require.Equal(t, 201, one.status, one.raw)
	assert.Equal(t, "PB.1", one.at("data.ref"))
	assert.Equal(t, "maturing", one.at("data.payouts").([]any)[0].(map[string]any)["status"])
	two := send(t, c, "POST", payments, "k1", strings.Replace(payBatch, "100", "101", 1))
	assert.Equal(t, 409, two.status, "whatever the parameters")
	assert.Contains(t, two.raw, `"resource_ref":"PB.1"`)
	assert.Contains(t, two.raw, `"title":"Duplicate idempotency key"`)
	got := send(t, c, "GET", payments+"/PB.1", "", "")
	assert.Equal(t, one.raw, got.raw)
	e := s.Effects()
	require.Len(t, e, 1)
	assert.Equal(t, int64(123), e[0].Amount)
	assert.Equal(t, map[string]string{"order": "7", "n": "1"}, e[0].Metadata)
	assert.Equal(t, "payment", e[0].Kind)
	s.Advance(24*time.Hour - time.Minute)
	assert.Equal(t, 409, send(t, c, "POST", payments, "k1", payBatch).status)
	s.Advance(time.Minute)
	assert.Equal(t, "PB.2", send(t, c, "POST", payments, "k1", payBatch).at("data.ref"), "after 24 hours it pays twice")
	assert.Equal(t, 404, send(t, c, "GET", payments+"/PB.9", "", "").status)
}

func TestZeptoExpiryInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakes.NewZepto(nil)
		c := s.Client()
		defer c.CloseIdleConnections()
		send(t, c, "POST", payments, "k1", payBatch)
		time.Sleep(25 * time.Hour)
		assert.Equal(t, 201, send(t, c, "POST", payments, "k1", payBatch).status)
		assert.Len(t, s.Effects(), 2)
	})
}

func TestZeptoEndpoints(t *testing.T) {
	tests := []struct {
		path, body, get, ref string
		status               int
	}{
		{"/payment_requests", `{"amount":5,"authoriser_contact_id":"c","description":"d"}`, "/payment_requests/", "PR.1", 200},
		{"/credits/C.1a/refunds", `{"amount":5}`, "/refunds/", "PRF.1", 200},
		{"/transfers", `{"amount":5,"from_bank_account_id":"a","to_bank_account_id":"b"}`, "/transfers/", "T.1", 201},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			s := fakes.NewZepto(nil)
			c := s.Client()
			missing := send(t, c, "POST", zeptoURL+tt.path, "", tt.body)
			assert.Equal(t, 400, missing.status, "the key is required")
			bad := send(t, c, "POST", zeptoURL+tt.path, "k1", `{"amount":0}`)
			assert.Equal(t, 400, bad.status)
			assert.IsType(t, "", bad.at("errors"), "a sentence")
			r := send(t, c, "POST", zeptoURL+tt.path, "k1", tt.body)
			assert.Equal(t, tt.status, r.status, "a refusal is not remembered")
			assert.Equal(t, tt.ref, r.at("data.ref"))
			assert.Contains(t, send(t, c, "POST", zeptoURL+tt.path, "k1", tt.body).raw, tt.ref)
			assert.Equal(t, r.raw, send(t, c, "GET", zeptoURL+tt.get+tt.ref, "", "").raw)
			assert.Len(t, s.Effects(), 1)
		})
	}
}

func TestZeptoContactsHonourNoKey(t *testing.T) {
	s := fakes.NewZepto(nil)
	body := `{"name":"n","email":"a@example.com"}`
	one := send(t, s.Client(), "POST", zeptoURL+"/contacts/anyone", "k1", body)
	two := send(t, s.Client(), "POST", zeptoURL+"/contacts/anyone", "k1", body)
	assert.Equal(t, 201, two.status)
	assert.NotEqual(t, one.at("data.id"), two.at("data.id"))
	assert.Len(t, s.Effects(), 2)
	assert.Equal(t, 204, send(t, s.Client(), "DELETE", zeptoURL+"/contacts/"+one.at("data.id").(string), "", "").status)
}

func TestZeptoInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakes.NewZepto(nil)
		c := s.Client()
		defer c.CloseIdleConnections()
		s.Script(fakes.InFlight(2500 * time.Millisecond))
		r := send(t, c, "POST", payments, "k1", payBatch)
		assert.Equal(t, 503, r.status)
		assert.Equal(t, "3", r.header.Get("Retry-After"))
		time.Sleep(2 * time.Second)
		r = send(t, c, "POST", payments, "k1", payBatch)
		assert.Equal(t, "1", r.header.Get("Retry-After"))
		assert.Empty(t, s.Effects())
		time.Sleep(time.Second)
		r = send(t, c, "POST", payments, "k1", payBatch)
		assert.Equal(t, 409, r.status)
		assert.Contains(t, r.raw, "PB.1")
		require.Len(t, s.Effects(), 1)

		s.Script(fakes.Slow(time.Second))
		done := make(chan int)
		go func() { done <- send(t, c, "POST", payments, "k2", payBatch).status }()
		synctest.Wait()
		assert.Equal(t, 503, send(t, c, "POST", payments, "k2", payBatch).status)
		assert.Equal(t, 201, <-done)
	})
}

func TestZeptoSavedError(t *testing.T) {
	s := fakes.NewZepto(nil)
	c := s.Client()
	s.Script(fakes.SaveError(500), fakes.None, fakes.SaveErrorNoEffect(500))
	assert.Equal(t, 500, send(t, c, "POST", payments, "k1", payBatch).status)
	assert.Equal(t, 409, send(t, c, "POST", payments, "k1", payBatch).status)
	assert.Equal(t, 500, send(t, c, "POST", payments, "k2", payBatch).status)
	assert.Len(t, s.Effects(), 1)
	assert.Equal(t, 201, send(t, c, "POST", payments, "k2", payBatch).status)
}

func TestZeptoNeedsAToken(t *testing.T) {
	s := fakes.NewZepto(nil)
	r := newRequest(t, "POST", payments, "k1", payBatch)
	r.Header.Del("Authorization")
	got, err := try(t, s.Client(), r)
	require.NoError(t, err)
	assert.Equal(t, 401, got.status)
	assert.Contains(t, got.raw, "Unauthorised access token")
	assert.Empty(t, s.Effects())
}

func TestZeptoLists(t *testing.T) {
	s := fakes.NewZepto(nil)
	c := s.Client()
	for i := range 5 {
		send(t, c, "POST", payments, fmt.Sprint(i), payBatch)
		s.Advance(24 * time.Hour)
	}
	page := send(t, c, "GET", payments+"?per_page=2", "", "")
	assert.Len(t, page.at("data"), 2)
	assert.Equal(t, "2", page.header.Get("Per-Page"))
	assert.Equal(t, "PB.5", page.at("data").([]any)[0].(map[string]any)["ref"])
	link := page.header.Get("Link")
	assert.Equal(t, `<https://api.zeptopayments.com/payments?page=2&per_page=2>; rel="next"`, link)
	page = send(t, c, "GET", payments+"?page=3&per_page=2", "", "")
	assert.Len(t, page.at("data"), 1)
	assert.NotContains(t, page.header, "Link")
	assert.Empty(t, send(t, c, "GET", payments+"?page=999", "", "").at("data"))
	assert.Equal(t, "100", send(t, c, "GET", payments+"?per_page=500", "", "").header.Get("Per-Page"))

	since := s.Effects()[3].Time.UTC().Format(time.RFC3339)
	got := send(t, c, "GET", zeptoURL+"/transactions?min_created_date="+since+"&min_amount=50", "", "")
	assert.Len(t, got.at("data"), 2)
	got = send(t, c, "GET", zeptoURL+"/transactions?parent_ref=PB.5", "", "")
	assert.Len(t, got.at("data"), 2)
	s.Advance(31 * 24 * time.Hour)
	assert.Empty(t, send(t, c, "GET", zeptoURL+"/transactions", "", "").at("data"), "the last 30 days")
}

func TestZeptoPayTo(t *testing.T) {
	s := fakes.NewZepto(&fakes.Options{VisibilityDelay: time.Minute})
	c := s.Client()
	base := zeptoURL + "/payto/payments"
	body := `{"uid":"u-1","agreement_uid":"a-1","amount":2495,"priority":"attended","metadata":{"order":"7"}}`
	one := send(t, c, "POST", base, "", body)
	assert.Equal(t, 201, one.status)
	assert.Equal(t, "created", one.at("data.state"))
	two := send(t, c, "POST", base, "other", body)
	assert.Equal(t, 422, two.status)
	assert.Contains(t, two.raw, `"ZPPAY00"`)
	assert.Equal(t, 404, send(t, c, "GET", base+"/u-1", "", "").status, "not visible yet")
	s.Advance(time.Minute)
	assert.Equal(t, 200, send(t, c, "GET", base+"/u-1", "", "").status)
	s.Advance(365 * 24 * time.Hour)
	assert.Equal(t, 422, send(t, c, "POST", base, "", body).status, "for ever")
	e := s.Effects()
	require.Len(t, e, 1)
	assert.Equal(t, "u-1", e[0].Key)
	assert.Equal(t, int64(2495), e[0].Amount)
	assert.Equal(t, 400, send(t, c, "POST", base, "", strings.Replace(body, "u-1", "u 1", 1)).status)

	agreement := `{"uid":"u-1","purpose":"loan","description":"d"}`
	assert.Equal(t, 201, send(t, c, "POST", zeptoURL+"/payto/agreements", "", agreement).status)
	assert.Contains(t, send(t, c, "POST", zeptoURL+"/payto/agreements", "", agreement).raw, `"ZPAGR00"`)

	s.Script(fakes.SaveError(500))
	assert.Equal(t, 500, send(t, c, "POST", base, "", strings.Replace(body, "u-1", "u-2", 1)).status)
	assert.Equal(t, 422, send(t, c, "POST", base, "", strings.Replace(body, "u-1", "u-2", 1)).status)
	s.Advance(time.Minute)
	page := send(t, c, "GET", base+"?per_page=1", "", "")
	assert.Len(t, page.at("data"), 1)
	assert.Contains(t, page.at("links.next"), "starting_after=u-2")
}

func TestZeptoPayToRetry(t *testing.T) {
	s := fakes.NewZepto(nil)
	c := s.Client()
	base := zeptoURL + "/payto/payments"
	send(t, c, "POST", base, "", `{"uid":"u-1","agreement_uid":"a-1","amount":5}`)
	retry := func() reply { return send(t, c, "POST", base+"/u-1/retry", "", "") }
	assert.Contains(t, retry().raw, `"ZPPRY00"`, "only a failed payment")
	for range 4 {
		require.True(t, s.SetState("u-1", "failed"))
		r := retry()
		assert.Equal(t, 202, r.status)
		assert.Empty(t, r.raw)
	}
	assert.Len(t, s.Effects(), 5, "each retry is an effect")
	assert.Contains(t, retry().raw, `"ZPPRY00"`)
	s.SetState("u-1", "failed")
	assert.Contains(t, retry().raw, `"ZPPRY03"`, "five submissions in 24 hours")
	s.Advance(24 * time.Hour)
	assert.Equal(t, 202, retry().status)
	assert.False(t, s.SetState("none", "failed"))
}

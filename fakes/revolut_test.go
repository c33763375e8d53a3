package fakes_test

import (
	"encoding/json"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/fakes"
)

const (
	revolutURL  = "https://b2b.revolut.com/api/1.0"
	revolutPay  = `{"request_id":"r-1","account_id":"a-1","receiver":{"counterparty_id":"c-1"},"amount":10.5,"currency":"EUR","reference":"INV-1"}`
	revolutCard = `{"request_id":"r-1","virtual":true,"holder_id":"h-1","label":"Travel"}`
)

// transactions returns what the fake lists for a query.
func transactions(t *testing.T, s *fakes.Server, query url.Values) (list []map[string]any, r reply) {
	t.Helper()
	r = send(t, s.Client(), "GET", revolutURL+"/transactions?"+query.Encode(), "", "")
	if r.status == 200 {
		require.NoError(t, json.Unmarshal([]byte(r.raw), &list))
	}
	return list, r
}

func TestRevolutPays(t *testing.T) {
	s := fakes.NewRevolut(nil)
	one := send(t, s.Client(), "POST", revolutURL+"/pay", "", revolutPay)
	require.Equal(t, 200, one.status, one.raw)
	assert.Equal(t, "pending", one.at("state"))
	assert.NotContains(t, one.raw, "legs")
	got := send(t, s.Client(), "GET", revolutURL+"/transaction/"+one.at("id").(string), "", "")
	assert.Contains(t, got.raw, `"amount":-10.50`)
	assert.Contains(t, got.raw, `"request_id":"r-1"`)
	e := s.Effects()
	require.Len(t, e, 1)
	assert.Equal(t, int64(1050), e[0].Amount)
	assert.Equal(t, "eur", e[0].Currency)
	assert.Equal(t, "r-1", e[0].Key)
	assert.True(t, s.SetState(one.at("id").(string), "completed"))
	assert.False(t, s.SetState("none", "completed"))
}

// TestRevolutTwoWeeks: the id is taken for two weeks, whatever is asked with it, and
// then it pays again.
func TestRevolutTwoWeeks(t *testing.T) {
	s := fakes.NewRevolut(nil)
	send(t, s.Client(), "POST", revolutURL+"/pay", "", revolutPay)
	for _, body := range []string{revolutPay, `{"request_id":"r-1"}`} {
		again := send(t, s.Client(), "POST", revolutURL+"/pay", "", body)
		assert.Equal(t, 400, again.status)
		assert.InDelta(t, 3020, again.at("code"), 0)
	}
	moved := send(t, s.Client(), "POST", revolutURL+"/transfer", "", `{"request_id":"r-1","source_account_id":"a","target_account_id":"b","amount":1,"currency":"EUR"}`)
	assert.InDelta(t, 3020, moved.at("code"), 0, "an id is a transaction's")
	s.Advance(14*24*time.Hour - time.Minute)
	assert.Equal(t, 400, send(t, s.Client(), "POST", revolutURL+"/pay", "", revolutPay).status)
	s.Advance(time.Minute)
	assert.Equal(t, 200, send(t, s.Client(), "POST", revolutURL+"/pay", "", revolutPay).status)
	assert.Len(t, s.Effects(), 2)
}

func TestRevolutDeclines(t *testing.T) {
	s := fakes.NewRevolut(nil)
	body := `{"request_id":"r-1","account_id":"a-1","receiver":{"counterparty_id":"c-1"},"amount":10,"currency":"EUR","reference":"declined"}`
	assert.Equal(t, "declined", send(t, s.Client(), "POST", revolutURL+"/pay", "", body).at("state"))
	assert.InDelta(t, 3020, send(t, s.Client(), "POST", revolutURL+"/pay", "", body).at("code"), 0, "it holds its id all the same")
	assert.Empty(t, s.Effects())
}

func TestRevolutSearch(t *testing.T) {
	s := fakes.NewRevolut(&fakes.Options{VisibilityDelay: time.Minute})
	send(t, s.Client(), "POST", revolutURL+"/pay", "", revolutPay)
	now := time.Now()
	at := func(d time.Duration) string { return now.Add(d).UTC().Format(time.RFC3339) }
	query := url.Values{"request_id": {"r-1"}, "from": {at(-time.Hour)}}
	list, _ := transactions(t, s, query)
	assert.Empty(t, list, "not visible yet")
	s.Advance(2 * time.Minute)
	list, _ = transactions(t, s, query)
	assert.Len(t, list, 1)
	list, _ = transactions(t, s, url.Values{"request_id": {"r-2"}, "from": {at(-time.Hour)}})
	assert.Empty(t, list)
	list, _ = transactions(t, s, url.Values{"from": {at(time.Second)}})
	assert.Empty(t, list)
	list, _ = transactions(t, s, url.Values{})
	assert.Len(t, list, 1)
	for _, q := range []url.Values{
		{"request_id": {"r-1"}},
		{"request_id": {"r-1"}, "from": {at(-15 * 24 * time.Hour)}},
		{"request_id": {"r-1"}, "from": {at(-time.Hour)}, "to": {at(14 * 24 * time.Hour)}},
	} {
		_, r := transactions(t, s, q)
		assert.Equal(t, 400, r.status, q.Encode())
	}
	_, r := transactions(t, s, url.Values{"request_id": {"r-1"}, "from": {at(-time.Hour)}, "to": {at(14*24*time.Hour - time.Hour)}})
	assert.Equal(t, 200, r.status)
}

// TestRevolutCards: a success is shown again for a day, and a failure binds the id,
// whether or not it left a card.
func TestRevolutCards(t *testing.T) {
	s := fakes.NewRevolut(nil)
	one := send(t, s.Client(), "POST", revolutURL+"/cards", "", revolutCard)
	require.Equal(t, 200, one.status, one.raw)
	assert.Equal(t, one.raw, send(t, s.Client(), "POST", revolutURL+"/cards", "", revolutCard).raw)
	assert.Equal(t, "created", send(t, s.Client(), "POST", revolutURL+"/card-invitations", "", revolutCard).at("state"), "an id of its own")
	s.Advance(24 * time.Hour)
	assert.NotEqual(t, one.raw, send(t, s.Client(), "POST", revolutURL+"/cards", "", revolutCard).raw)
	assert.Len(t, s.Effects(), 3)
	for i, f := range []fakes.Fault{fakes.SaveError(500), fakes.SaveErrorNoEffect(500)} {
		s := fakes.NewRevolut(nil)
		s.Script(f)
		assert.Equal(t, 500, send(t, s.Client(), "POST", revolutURL+"/cards", "", revolutCard).status)
		again := send(t, s.Client(), "POST", revolutURL+"/cards", "", revolutCard)
		assert.Equal(t, 422, again.status)
		assert.InDelta(t, 33009, again.at("code"), 0)
		assert.Len(t, s.Effects(), 1-i)
	}
}

func TestRevolutFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakes.NewRevolut(nil)
		c := s.Client()
		defer c.CloseIdleConnections()
		s.Script(fakes.InFlight(time.Minute))
		r := send(t, c, "POST", revolutURL+"/cards", "", revolutCard)
		assert.Equal(t, 429, r.status)
		assert.InDelta(t, 3162, r.at("code"), 0)
		time.Sleep(time.Minute)
		assert.Equal(t, 200, send(t, c, "POST", revolutURL+"/cards", "", revolutCard).status)
		s.Script(fakes.Throttle(30*time.Second), fakes.Unavailable(0), fakes.SaveErrorNoEffect(500), fakes.SaveError(500))
		for _, want := range []struct{ status, code int }{{429, 3162}, {503, 5003}, {500, 5000}, {500, 5000}, {400, 3020}} {
			r := send(t, c, "POST", revolutURL+"/pay", "", revolutPay)
			assert.Equal(t, want.status, r.status)
			assert.InDelta(t, want.code, r.at("code"), 0)
			assert.NotEmpty(t, r.at("error_id"))
		}
		assert.Len(t, s.Effects(), 2)
	})
}

func TestRevolutRefuses(t *testing.T) {
	s := fakes.NewRevolut(nil)
	long := make([]byte, 41)
	for i := range long {
		long[i] = 'k'
	}
	for _, tt := range []struct {
		path, body string
		status     int
	}{
		{"/pay", `{`, 400},
		{"/pay", `{}`, 400},
		{"/pay", `{"request_id":"r"}`, 400},
		{"/pay", `{"request_id":"` + string(long) + `","account_id":"a","receiver":{},"amount":1,"currency":"EUR"}`, 400},
		{"/pay", `{"request_id":"r","account_id":"a","receiver":{"counterparty_id":"c"},"amount":0,"currency":"EUR"}`, 400},
		{"/pay", `{"request_id":"r","account_id":"a","receiver":{"counterparty_id":"c"},"amount":1.005,"currency":"EUR"}`, 400},
		{"/pay", `{"request_id":"r","account_id":"a","receiver":{"counterparty_id":"c"},"amount":"1","currency":"EUR"}`, 400},
		{"/transfer", `{"request_id":"r","source_account_id":"a","amount":1,"currency":"EUR"}`, 400},
		{"/exchange", `{"request_id":"r","from":{"account_id":"a","currency":"EUR"},"to":{"account_id":"b","currency":"GBP"}}`, 400},
		{"/cards", `{"request_id":"r","virtual":false,"holder_id":"h"}`, 400},
		{"/cards", `{"request_id":"r","virtual":true}`, 400},
		{"/payment-drafts", `{"title":"d"}`, 400},
		{"/payment-drafts", `{"title":"d","payments":[{"amount":0}]}`, 400},
		{"/nothing", `{"request_id":"r"}`, 404},
	} {
		r := send(t, s.Client(), "POST", revolutURL+tt.path, "", tt.body)
		assert.Equal(t, tt.status, r.status, "%s %s", tt.path, tt.body)
	}
	assert.Equal(t, 404, send(t, s.Client(), "GET", revolutURL+"/transaction/none", "", "").status)
	assert.Equal(t, 404, send(t, s.Client(), "DELETE", "https://b2b.revolut.com/pay", "", "").status)
	r := newRequest(t, "POST", revolutURL+"/pay", "", revolutPay)
	r.Header.Del("Authorization")
	got, err := try(t, s.Client(), r)
	require.NoError(t, err)
	assert.Equal(t, 401, got.status)
	assert.Empty(t, s.Effects())
	draft := `{"title":"d","payments":[{"account_id":"a","receiver":{"counterparty_id":"c"},"amount":1,"currency":"EUR"}]}`
	assert.Equal(t, 201, send(t, s.Client(), "POST", revolutURL+"/payment-drafts", "", draft).status)
	send(t, s.Client(), "POST", revolutURL+"/payment-drafts", "", draft)
	assert.Len(t, s.Effects(), 2, "without a request_id each one is its own")
}

package fakes_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/fakes"
)

const (
	ietfURL = "https://api.example.com/payments"
	ietfPay = `{"amount":2500,"currency":"usd","reference":"INV-1"}`
)

func TestIETFRepeats(t *testing.T) {
	s := fakes.NewIETF(nil)
	c := s.Client()
	first := send(t, c, http.MethodPost, ietfURL, `"k-1"`, ietfPay)
	require.Equal(t, http.StatusCreated, first.status)
	assert.Equal(t, "created", first.at("status"))

	again := send(t, c, http.MethodPost, ietfURL, `"k-1"`, ietfPay)
	assert.Equal(t, first.raw, again.raw)
	assert.Equal(t, first.status, again.status)
	log := s.Requests()
	assert.False(t, log[0].Replayed)
	assert.True(t, log[1].Replayed)

	require.Len(t, s.Effects(), 1)
	assert.EqualValues(t, 2500, s.Effects()[0].Amount)
	assert.Equal(t, "k-1", s.Effects()[0].Key, "the quotes are not of the key")

	id := first.at("id").(string)
	assert.True(t, s.SetState(id, "settled"))
	assert.Equal(t, "settled", send(t, c, http.MethodGet, ietfURL+"/"+id, "", "").at("status"))
	assert.Equal(t, "created", send(t, c, http.MethodPost, ietfURL, `"k-1"`, ietfPay).at("status"), "a repeat gets the first answer")
	assert.False(t, s.SetState("pay_none", "settled"))

	s.Advance(24 * time.Hour)
	send(t, c, http.MethodPost, ietfURL, `"k-1"`, ietfPay)
	assert.Len(t, s.Effects(), 2, "the key is forgotten")
}

func TestIETFKeys(t *testing.T) {
	s := fakes.NewIETF(nil)
	c := s.Client()
	for _, key := range []string{"", "k-1", `"`, `""`, `"k`, `k"`, `"a"b"`, `"a\b"`, `"a\"`, `"é"`, `"k-1";a=1`} {
		r := send(t, c, http.MethodPost, ietfURL, key, ietfPay)
		assert.Equal(t, http.StatusBadRequest, r.status, key)
		assert.Equal(t, "application/problem+json", r.header.Get("Content-Type"))
		assert.NotEmpty(t, r.at("title"))
	}
	two := newRequest(t, http.MethodPost, ietfURL, `"a"`, ietfPay)
	two.Header.Add("Idempotency-Key", `"b"`)
	r, err := try(t, c, two)
	require.NoError(t, err)
	assert.Equal(t, http.StatusBadRequest, r.status, "no more than one header")
	assert.Empty(t, s.Effects())

	for _, key := range []string{`"k-1"`, `"a\"b\\c"`, `"a b"`} {
		assert.Equal(t, http.StatusCreated, send(t, c, http.MethodPost, ietfURL, key, ietfPay).status, key)
	}
	assert.Equal(t, `a"b\c`, s.Effects()[1].Key)
}

func TestIETFErrors(t *testing.T) {
	s := fakes.NewIETF(nil)
	c := s.Client()
	s.Script(fakes.InFlight(time.Minute))
	assert.Equal(t, http.StatusConflict, send(t, c, http.MethodPost, ietfURL, `"k-1"`, ietfPay).status)
	assert.Equal(t, http.StatusConflict, send(t, c, http.MethodPost, ietfURL, `"k-1"`, ietfPay).status)
	assert.Equal(t, http.StatusUnprocessableEntity, send(t, c, http.MethodPost, ietfURL, `"k-1"`, `{"amount":1}`).status)
	assert.Empty(t, s.Effects())
	s.Advance(time.Minute)
	assert.Equal(t, http.StatusCreated, send(t, c, http.MethodPost, ietfURL, `"k-1"`, ietfPay).status)
	assert.Len(t, s.Effects(), 1)

	// A result is kept, "success or an error"; what was refused before it is none.
	s.Script(fakes.SaveErrorNoEffect(500))
	assert.Equal(t, 500, send(t, c, http.MethodPost, ietfURL, `"k-2"`, ietfPay).status)
	assert.Equal(t, 500, send(t, c, http.MethodPost, ietfURL, `"k-2"`, ietfPay).status)
	for _, body := range []string{`{"amount":0}`, `{"amount":1.5}`, `{`} {
		assert.Equal(t, http.StatusBadRequest, send(t, c, http.MethodPost, ietfURL, `"k-3"`, body).status)
	}
	assert.Equal(t, http.StatusCreated, send(t, c, http.MethodPost, ietfURL, `"k-3"`, ietfPay).status)
	assert.Len(t, s.Effects(), 2)

	s.Script(fakes.Throttle(3*time.Second), fakes.Unavailable(0))
	throttled := send(t, c, http.MethodPost, ietfURL, `"k-4"`, ietfPay)
	assert.Equal(t, http.StatusTooManyRequests, throttled.status)
	assert.Equal(t, "3", throttled.header.Get("Retry-After"))
	assert.Equal(t, http.StatusServiceUnavailable, send(t, c, http.MethodPost, ietfURL, `"k-4"`, ietfPay).status)

	assert.Equal(t, http.StatusNotFound, send(t, c, http.MethodGet, ietfURL+"/pay_none", "", "").status)
	assert.Equal(t, http.StatusNotFound, send(t, c, http.MethodPost, "https://api.example.com/other", `"k-5"`, ietfPay).status)
	bare := newRequest(t, http.MethodPost, ietfURL, `"k-6"`, ietfPay)
	bare.Header.Del("Authorization")
	r, err := try(t, c, bare)
	require.NoError(t, err)
	assert.Equal(t, http.StatusUnauthorized, r.status)
}

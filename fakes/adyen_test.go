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
	adyenURL  = "https://checkout-test.adyen.com/v72"
	adyenPay  = `{"merchantAccount":"M","amount":{"currency":"EUR","value":100},"reference":"ord-1","paymentMethod":{"type":"scheme"}}`
	adyenCapt = `{"merchantAccount":"M","amount":{"currency":"EUR","value":40},"reference":"cap-1"}`
)

func TestAdyenReplaysWithoutAMark(t *testing.T) {
	s := fakes.NewAdyen(nil)
	c := s.Client()
	defer c.CloseIdleConnections()
	first := send(t, c, "POST", adyenURL+"/payments", "k1", adyenPay)
	again := send(t, c, "POST", adyenURL+"/payments", "k1", adyenPay)
	assert.Equal(t, 200, first.status)
	assert.Equal(t, "Authorised", first.at("resultCode"))
	assert.Equal(t, first.raw, again.raw)
	assert.Equal(t, "k1", first.header.Get("Idempotency-Key"), "on the first answer, too")
	require.Len(t, s.Effects(), 1)
	assert.Equal(t, int64(100), s.Effects()[0].Amount)
	assert.True(t, s.Requests()[1].Replayed)
	assert.Empty(t, send(t, c, "POST", adyenURL+"/payments", "", adyenPay).header.Get("Idempotency-Key"))

	// Other parameters are not compared, since nothing is documented of it.
	assert.Equal(t, first.raw, send(t, c, "POST", adyenURL+"/payments", "k1", strings.Replace(adyenPay, "100", "200", 1)).raw)
	assert.Len(t, s.Effects(), 2)
}

func TestAdyenKeysAreOfARegion(t *testing.T) {
	s := fakes.NewAdyen(nil)
	c := s.Client()
	defer c.CloseIdleConnections()
	for _, host := range []string{"https://x-checkout-live.adyenpayments.com/checkout/v72", "https://x-checkout-live-us.adyenpayments.com/checkout/v72"} {
		for range 2 {
			assert.Equal(t, 200, send(t, c, "POST", host+"/payments", "k1", adyenPay).status)
		}
	}
	assert.Len(t, s.Effects(), 2)
}

func TestAdyenForgetsAfterSevenDays(t *testing.T) {
	s := fakes.NewAdyen(nil)
	c := s.Client()
	defer c.CloseIdleConnections()
	for _, age := range []time.Duration{0, 7*24*time.Hour - time.Second, time.Second} {
		s.Advance(age)
		send(t, c, "POST", adyenURL+"/payments", "k1", adyenPay)
	}
	assert.Len(t, s.Effects(), 2)
}

func TestAdyenDeclineIsKept(t *testing.T) {
	s := fakes.NewAdyen(nil)
	c := s.Client()
	defer c.CloseIdleConnections()
	refused := strings.Replace(adyenPay, "{", `{"additionalData":{"RequestedTestAcquirerResponseCode":"2"},`, 1)
	first := send(t, c, "POST", adyenURL+"/payments", "k1", refused)
	assert.Equal(t, 200, first.status)
	assert.Equal(t, "Refused", first.at("resultCode"))
	assert.Equal(t, first.raw, send(t, c, "POST", adyenURL+"/payments", "k1", adyenPay).raw)
	assert.Empty(t, s.Effects())
}

func TestAdyenErrors(t *testing.T) {
	s := fakes.NewAdyen(nil)
	c := s.Client()
	defer c.CloseIdleConnections()
	post := func(key string) reply { return send(t, c, "POST", adyenURL+"/payments", key, adyenPay) }

	// After the effect the error is the key's last word, and not marked.
	s.Script(fakes.SaveError(500))
	assert.Empty(t, post("after").header.Get("transient-error"))
	assert.Equal(t, 500, post("after").status)
	assert.Len(t, s.Effects(), 1)

	// Before it, it is transient, and the next request is the first.
	s.Script(fakes.SaveErrorNoEffect(500))
	assert.Equal(t, "true", post("before").header.Get("transient-error"))
	assert.Equal(t, 200, post("before").status)
	assert.Len(t, s.Effects(), 2)

	s.Script(fakes.Unavailable(0), fakes.Throttle(2*time.Second))
	away := post("away")
	assert.Equal(t, []any{503, "703", "true"}, []any{away.status, away.at("errorCode"), away.header.Get("transient-error")})
	full := post("away")
	assert.Equal(t, []any{429, "00_500", "2"}, []any{full.status, full.at("errorCode"), full.header.Get("Retry-After")})

	s.Script(fakes.InFlight(time.Minute))
	busy := post("busy")
	assert.Equal(t, []any{422, "704", "true"}, []any{busy.status, busy.at("errorCode"), busy.header.Get("transient-error")})
	assert.Equal(t, 422, post("busy").status)
	assert.Len(t, s.Effects(), 2)
	s.Advance(time.Minute)
	assert.Equal(t, 200, post("busy").status)
	assert.Len(t, s.Effects(), 3)
}

func TestAdyenEndpoints(t *testing.T) {
	s := fakes.NewAdyen(nil)
	c := s.Client()
	defer c.CloseIdleConnections()
	post := func(path, body string) reply { return send(t, c, "POST", adyenURL+path, "", body) }

	redirected := post("/payments", strings.Replace(adyenPay, "scheme", "ideal", 1))
	assert.Equal(t, "RedirectShopper", redirected.at("resultCode"))
	assert.Nil(t, redirected.at("pspReference"))
	details := `{"details":{"redirectResult":"r1"}}`
	assert.Equal(t, "Authorised", post("/payments/details", details).at("resultCode"))
	again := post("/payments/details", details)
	assert.Equal(t, []any{422, "704"}, []any{again.status, again.at("errorCode")}, "submitted before")

	for _, action := range []string{"captures", "refunds", "amountUpdates", "cancels", "reversals"} {
		r := post("/payments/PSP1/"+action, adyenCapt)
		assert.Equal(t, []any{201, "received", "PSP1", "cap-1"}, []any{r.status, r.at("status"), r.at("paymentPspReference"), r.at("reference")}, action)
	}
	assert.Equal(t, "ord-1", post("/cancels", `{"merchantAccount":"M","paymentReference":"ord-1"}`).at("paymentReference"))
	link := post("/paymentLinks", adyenPay)
	id := link.at("id").(string)
	assert.True(t, s.SetState(id, "completed"))
	assert.Equal(t, "completed", send(t, c, "GET", adyenURL+"/paymentLinks/"+id, "", "").at("status"))
	assert.Equal(t, 201, post("/sessions", adyenPay).status)
	assert.False(t, s.SetState("PSP1", "x"))

	assert.Equal(t, 404, send(t, c, "GET", adyenURL+"/payments/PSP1", "", "").status, "there is no read of a payment")
	assert.Equal(t, 404, post("/payments/PSP1/unknown", "{}").status)
	assert.Equal(t, 404, send(t, c, "POST", "https://checkout-test.adyen.com/payments", "", adyenPay).status, "no version")
	assert.Equal(t, 400, post("/payments", "{").status)
	for path, body := range map[string]string{
		"/payments": `{}`, "/payments/details": `{}`, "/payments/PSP1/captures": `{"merchantAccount":"M"}`, "/cancels": `{"merchantAccount":"M"}`, "/sessions": `{}`,
	} {
		assert.Equal(t, 422, post(path, body).status, path)
	}
	r := newRequest(t, "POST", adyenURL+"/payments", "", adyenPay)
	r.Header = http.Header{}
	unknown, err := try(t, c, r)
	require.NoError(t, err)
	assert.Equal(t, []any{401, "security"}, []any{unknown.status, unknown.at("errorType")})
}

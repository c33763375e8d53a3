package fakes_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/fakes"
)

const (
	intents = stripeURL + "/v1/payment_intents"
	paid    = "amount=1000&currency=usd&confirm=true&payment_method=pm_card_visa&metadata[order]=7"
)

func TestStripeReplaysWhatItSaved(t *testing.T) {
	s := fakes.NewStripe(nil)
	c := s.Client()
	one := send(t, c, "POST", intents, "k1", paid)
	require.Equal(t, 200, one.status, one.raw)
	assert.Empty(t, one.header.Get("Idempotent-Replayed"))
	assert.Equal(t, "succeeded", one.at("status"))

	two := send(t, c, "POST", intents, "k1", paid)
	assert.Equal(t, one.raw, two.raw)
	assert.Equal(t, "true", two.header.Get("Idempotent-Replayed"))
	assert.Equal(t, "k1", two.header.Get("Idempotency-Key"))
	assert.NotEqual(t, one.header.Get("Request-Id"), two.header.Get("Request-Id"))

	three := send(t, c, "POST", intents, "k2", paid)
	assert.NotEqual(t, one.at("id"), three.at("id"))
	effects := s.Effects()
	require.Len(t, effects, 2, "one effect a key")
	assert.Equal(t, one.at("id"), effects[0].Resource)
	assert.Equal(t, map[string]string{"order": "7"}, effects[0].Metadata)
	assert.Equal(t, int64(1000), effects[0].Amount)
	assert.Equal(t, effects[0].Params, effects[1].Params)
	assert.Len(t, s.Requests(), 3)
}

func TestStripeForgetsAKeyAfter24Hours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakes.NewStripe(nil)
		c := s.Client()
		defer c.CloseIdleConnections()
		send(t, c, "POST", intents, "k1", paid)
		time.Sleep(24*time.Hour - time.Second)
		assert.Equal(t, "true", send(t, c, "POST", intents, "k1", paid).header.Get("Idempotent-Replayed"))
		time.Sleep(time.Hour + time.Second)
		r := send(t, c, "POST", intents, "k1", paid)
		assert.Empty(t, r.header.Get("Idempotent-Replayed"))
		assert.Len(t, s.Effects(), 2, "after 25 hours the key is new")
	})
}

func TestStripeAdvance(t *testing.T) {
	s := fakes.NewStripe(nil)
	send(t, s.Client(), "POST", intents, "k1", paid)
	s.Advance(24 * time.Hour)
	send(t, s.Client(), "POST", intents, "k1", paid)
	e := s.Effects()
	require.Len(t, e, 2)
	assert.GreaterOrEqual(t, e[1].Time.Sub(e[0].Time), 24*time.Hour)
}

func TestStripeComparesParameters(t *testing.T) {
	s := fakes.NewStripe(nil)
	c := s.Client()
	send(t, c, "POST", intents, "k1", paid)
	r := send(t, c, "POST", intents, "k1", strings.Replace(paid, "1000", "1001", 1))
	assert.Equal(t, 400, r.status)
	assert.Equal(t, "idempotency_error", r.at("error.type"))
	r = send(t, c, "POST", stripeURL+"/v1/charges", "k1", "amount=1&currency=usd&source=tok_visa")
	assert.Equal(t, "idempotency_error", r.at("error.type"))
	assert.Contains(t, r.at("error.message"), "same endpoint")
	// The order of parameters is no difference.
	r = send(t, c, "POST", intents, "k1", "currency=usd&metadata%5Border%5D=7&confirm=true&payment_method=pm_card_visa&amount=1000")
	assert.Equal(t, "true", r.header.Get("Idempotent-Replayed"))
	assert.Len(t, s.Effects(), 1)
}

func TestStripeKeyScope(t *testing.T) {
	s := fakes.NewStripe(nil)
	for _, account := range []string{"", "acct_1", "acct_2"} {
		r := newRequest(t, "POST", intents, "k1", paid)
		r.Header.Set("Stripe-Account", account)
		got, err := try(t, s.Client(), r)
		require.NoError(t, err)
		assert.Empty(t, got.header.Get("Idempotent-Replayed"))
		assert.Equal(t, 404, send(t, s.Client(), "GET", intents+"/pi_none", "", "").status)
	}
	e := s.Effects()
	require.Len(t, e, 3)
	assert.Equal(t, "acct_2", e[2].Account)
}

func TestStripeBeforeTheIdempotencyLayer(t *testing.T) {
	s := fakes.NewStripe(nil)
	c := s.Client()
	r := newRequest(t, "POST", intents, "k1", paid)
	r.Header.Del("Authorization")
	got, err := try(t, c, r)
	require.NoError(t, err)
	assert.Equal(t, 401, got.status)
	assert.NotEmpty(t, got.header.Get("Request-Id"))

	bad := send(t, c, "POST", intents, "k1", "currency=usd")
	assert.Equal(t, 400, bad.status)
	assert.Equal(t, "parameter_missing", bad.at("error.code"))
	s.Script(fakes.Throttle(1500*time.Millisecond), fakes.Unavailable(0))
	limited := send(t, c, "POST", intents, "k1", paid)
	assert.Equal(t, 429, limited.status)
	assert.Equal(t, "2", limited.header.Get("Retry-After"))
	assert.Equal(t, "rate_limit", limited.at("error.code"))
	down := send(t, c, "POST", intents, "k1", paid)
	assert.Equal(t, 503, down.status)
	assert.NotContains(t, down.header, "Retry-After")
	assert.Empty(t, s.Effects())
	assert.Equal(t, 200, send(t, c, "POST", intents, "k1", paid).status, "none of them was saved")
}

func TestStripeDecline(t *testing.T) {
	s := fakes.NewStripe(nil)
	c := s.Client()
	for _, pm := range []string{"pm_card_visa_chargeDeclined", "pm_card_chargeDeclined", "tok_chargeDeclined"} {
		body := strings.Replace(paid, "pm_card_visa", pm, 1)
		one := send(t, c, "POST", intents, pm, body)
		assert.Equal(t, 402, one.status)
		assert.Equal(t, "card_error", one.at("error.type"))
		assert.Equal(t, "card_declined", one.at("error.code"))
		assert.Equal(t, "requires_payment_method", one.at("error.payment_intent.status"))
		two := send(t, c, "POST", intents, pm, body)
		assert.Equal(t, one.raw, two.raw)
		assert.Equal(t, "true", two.header.Get("Idempotent-Replayed"))
	}
	assert.Empty(t, s.Effects(), "a refusal is no effect")
	r := send(t, c, "POST", stripeURL+"/v1/charges", "c", "amount=5&currency=usd&source=tok_visa_chargeDeclinedInsufficientFunds")
	assert.Equal(t, "insufficient_funds", r.at("error.decline_code"))
}

func TestStripeIntentStates(t *testing.T) {
	s := fakes.NewStripe(nil)
	c := s.Client()
	id := send(t, c, "POST", intents, "k1", "amount=9007199254740993&currency=usd&capture_method=manual").at("id").(string)
	one := intents + "/" + id
	assert.Equal(t, "requires_capture", send(t, c, "POST", one+"/confirm", "k2", "payment_method=pm_card_visa").at("status"))
	again := send(t, c, "POST", one+"/confirm", "k3", "payment_method=pm_card_visa")
	assert.Equal(t, 400, again.status)
	assert.Equal(t, "payment_intent_unexpected_state", again.at("error.code"))
	assert.Equal(t, "requires_capture", again.at("error.payment_intent.status"))
	assert.Equal(t, again.raw, send(t, c, "POST", one+"/confirm", "k3", "payment_method=pm_card_visa").raw)
	assert.Equal(t, 400, send(t, c, "POST", one+"/capture", "k4", "amount_to_capture=9007199254740994").status)
	r := send(t, c, "POST", one+"/capture", "k5", "")
	assert.Contains(t, r.raw, `"amount_received":9007199254740993`)
	assert.Equal(t, "payment_intent_unexpected_state", send(t, c, "POST", one+"/capture", "k6", "").at("error.code"))
	assert.Equal(t, "payment_intent_unexpected_state", send(t, c, "POST", one+"/cancel", "k7", "").at("error.code"))
	var actions []string
	for _, e := range s.Effects() {
		actions = append(actions, e.Action)
	}
	assert.Equal(t, []string{"create", "confirm", "capture"}, actions)
	assert.Equal(t, int64(9007199254740993), s.Effects()[2].Amount)
}

func TestStripeRefunds(t *testing.T) {
	s := fakes.NewStripe(nil)
	c := s.Client()
	pi := send(t, c, "POST", intents, "k1", paid).at("id").(string)
	refunds := stripeURL + "/v1/refunds"
	assert.Equal(t, 200, send(t, c, "POST", refunds, "r1", "payment_intent="+pi+"&amount=400").status)
	assert.Equal(t, 400, send(t, c, "POST", refunds, "r2", "payment_intent="+pi+"&amount=601").status)
	assert.Equal(t, 200, send(t, c, "POST", refunds, "r3", "payment_intent="+pi).status)
	r := send(t, c, "POST", refunds, "r4", "payment_intent="+pi)
	assert.Equal(t, "charge_already_refunded", r.at("error.code"))
	assert.Equal(t, "resource_missing", send(t, c, "POST", refunds, "r5", "charge=ch_none").at("error.code"))
	e := s.Effects()
	require.Len(t, e, 3)
	assert.Equal(t, int64(600), e[2].Amount)
	assert.Equal(t, "refund", e[2].Kind)
}

func TestStripeGenericCollections(t *testing.T) {
	s := fakes.NewStripe(nil)
	c := s.Client()
	cus := send(t, c, "POST", stripeURL+"/v1/customers", "k1", "email=a@example.com&metadata[a]=true")
	id := cus.at("id").(string)
	assert.True(t, strings.HasPrefix(id, "cus_"))
	assert.Equal(t, "customer", cus.at("object"))
	assert.Equal(t, "true", cus.at("metadata.a"), "metadata stays text")
	send(t, c, "POST", stripeURL+"/v1/customers/"+id, "", "metadata[b]=2&metadata[a]=")
	got := send(t, c, "GET", stripeURL+"/v1/customers/"+id, "", "")
	assert.Equal(t, map[string]any{"b": "2"}, got.at("metadata"))
	send(t, c, "POST", stripeURL+"/v1/customers/"+id, "", "metadata=")
	assert.Empty(t, send(t, c, "GET", stripeURL+"/v1/customers/"+id, "", "").at("metadata"))
	inv := send(t, c, "POST", stripeURL+"/v1/invoices", "k2", "customer="+id).at("id").(string)
	assert.Equal(t, "paid", send(t, c, "POST", stripeURL+"/v1/invoices/"+inv+"/pay", "k3", "").at("status"))
	assert.Equal(t, 400, send(t, c, "POST", stripeURL+"/v1/invoices/"+inv+"/pay", "k4", "").status)
	session := send(t, c, "POST", stripeURL+"/v1/checkout/sessions", "k5", "mode=payment&line_items[0][amount]=x")
	assert.Equal(t, "checkout.session", session.at("object"))
	assert.Len(t, session.at("line_items.data"), 1)
	del := send(t, c, "DELETE", stripeURL+"/v1/customers/"+id, "", "")
	assert.Equal(t, true, del.at("deleted"))
	assert.Equal(t, 404, send(t, c, "DELETE", stripeURL+"/v1/customers/"+id, "", "").status)
	assert.Equal(t, "delete", s.Effects()[len(s.Effects())-1].Action)
}

func TestStripeLists(t *testing.T) {
	s := fakes.NewStripe(nil)
	c := s.Client()
	var ids []string
	for range 5 {
		ids = append(ids, send(t, c, "POST", intents, "", paid).at("id").(string))
		s.Advance(time.Minute)
	}
	page := send(t, c, "GET", intents+"?limit=2", "", "")
	assert.Equal(t, true, page.at("has_more"))
	data := page.at("data").([]any)
	assert.Equal(t, ids[4], data[0].(map[string]any)["id"], "newest first")
	page = send(t, c, "GET", intents+"?limit=3&starting_after="+ids[3], "", "")
	assert.Equal(t, false, page.at("has_more"))
	assert.Len(t, page.at("data"), 3)
	since := s.Effects()[3].Time.Unix()
	page = send(t, c, "GET", intents+"?created[gte]="+itoa(since), "", "")
	assert.Len(t, page.at("data"), 2)
	page = send(t, c, "GET", intents+"?created%5Blt%5D="+itoa(since), "", "")
	assert.Len(t, page.at("data"), 3)
	assert.Equal(t, 400, send(t, c, "GET", intents+"?limit=101", "", "").status)
	assert.Equal(t, 400, send(t, c, "GET", intents+"?starting_after=pi_none", "", "").status)
}

func TestStripeEvents(t *testing.T) {
	s := fakes.NewStripe(&fakes.Options{VisibilityDelay: time.Minute})
	c := s.Client()
	r := send(t, c, "POST", intents, "k1", paid)
	send(t, c, "POST", intents, "k1", paid)
	events := stripeURL + "/v1/events"
	assert.Empty(t, send(t, c, "GET", events, "", "").at("data"), "not visible yet")
	s.Advance(time.Minute)
	kinds := map[string]bool{}
	for _, e := range send(t, c, "GET", events, "", "").at("data").([]any) {
		e := reply{body: e.(map[string]any)}
		kinds[e.at("type").(string)] = true
		assert.Equal(t, "k1", e.at("request.idempotency_key"))
		assert.Equal(t, r.header.Get("Request-Id"), e.at("request.id"))
	}
	assert.Equal(t, map[string]bool{"payment_intent.created": true, "payment_intent.succeeded": true, "charge.succeeded": true}, kinds)
	one := send(t, c, "GET", events+"?type=payment_intent.succeeded", "", "").at("data").([]any)
	require.Len(t, one, 1)
	assert.Equal(t, r.at("id"), reply{body: one[0].(map[string]any)}.at("data.object.id"))
	assert.Len(t, send(t, c, "GET", events+"?types[]=charge.succeeded&types[]=payment_intent.created", "", "").at("data"), 2)
	assert.Len(t, send(t, c, "GET", events+"?type=payment_intent.*", "", "").at("data"), 2)
	s.Advance(31 * 24 * time.Hour)
	assert.Empty(t, send(t, c, "GET", events, "", "").at("data"))
}

func TestStripeSearchLags(t *testing.T) {
	s := fakes.NewStripe(&fakes.Options{SearchLag: time.Minute})
	c := s.Client()
	send(t, c, "POST", intents, "k1", paid)
	search := intents + "/search?query=metadata%5B%27order%27%5D%3A%277%27%20AND%20status%3A%22succeeded%22"
	assert.Empty(t, send(t, c, "GET", search, "", "").at("data"))
	assert.Len(t, send(t, c, "GET", intents, "", "").at("data"), 1, "lists are read-after-write")
	s.Advance(time.Minute)
	assert.Len(t, send(t, c, "GET", search, "", "").at("data"), 1)
	assert.Empty(t, send(t, c, "GET", strings.Replace(search, "%277%27", "%278%27", 1), "", "").at("data"))
}

func TestStripeSavedError(t *testing.T) {
	s := fakes.NewStripe(nil)
	c := s.Client()
	s.Script(fakes.SaveError(500))
	one := send(t, c, "POST", intents, "k1", paid)
	assert.Equal(t, 500, one.status)
	assert.Equal(t, "api_error", one.at("error.type"))
	assert.NotContains(t, one.header, "Stripe-Should-Retry")
	require.Len(t, s.Effects(), 1, "the effect happened")
	two := send(t, c, "POST", intents, "k1", paid)
	assert.Equal(t, one.raw, two.raw)
	assert.Equal(t, 500, two.status)
	assert.Equal(t, "true", two.header.Get("Idempotent-Replayed"))
	assert.Len(t, send(t, c, "GET", intents, "", "").at("data"), 1, "a look-up finds it")

	s.Script(fakes.SaveErrorNoEffect(500))
	assert.Equal(t, 500, send(t, c, "POST", intents, "k2", paid).status)
	assert.Equal(t, 500, send(t, c, "POST", intents, "k2", paid).status)
	assert.Len(t, s.Effects(), 1)
}

func TestStripeInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakes.NewStripe(nil)
		c := s.Client()
		defer c.CloseIdleConnections()
		s.Script(fakes.InFlight(10 * time.Second))
		r := send(t, c, "POST", intents, "k1", paid)
		assert.Equal(t, 409, r.status)
		assert.Equal(t, "idempotency_key_in_use", r.at("error.code"))
		time.Sleep(9 * time.Second)
		assert.Equal(t, 409, send(t, c, "POST", intents, "k1", paid).status)
		assert.Empty(t, s.Effects())
		time.Sleep(time.Second)
		require.Len(t, s.Effects(), 1, "it took effect by itself")
		r = send(t, c, "POST", intents, "k1", paid)
		assert.Equal(t, 200, r.status)
		assert.Equal(t, "true", r.header.Get("Idempotent-Replayed"))
		assert.Len(t, s.Effects(), 1)
	})
}

func TestStripeTwoAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakes.NewStripe(nil)
		c := s.Client()
		defer c.CloseIdleConnections()
		s.Script(fakes.Slow(5 * time.Second))
		done := make(chan reply)
		go func() { done <- send(t, c, "POST", intents, "k1", paid) }()
		synctest.Wait()
		assert.Equal(t, 409, send(t, c, "POST", intents, "k1", paid).status)
		start := time.Now()
		assert.Equal(t, 200, (<-done).status)
		assert.Equal(t, 5*time.Second, time.Since(start))
		assert.Equal(t, "true", send(t, c, "POST", intents, "k1", paid).header.Get("Idempotent-Replayed"))
	})
}

const (
	outbound = stripeURL + "/v2/money_management/outbound_payments"
	payout   = `{"amount":{"value":9007199254740993,"currency":"usd"},"from":{"financial_account":"fa_1"},"to":{"recipient":"acct_1"},"metadata":{"order":"7"}}`
)

func TestStripeV2(t *testing.T) {
	s := fakes.NewStripe(nil)
	c := s.Client()
	s.Script(fakes.SaveError(500))
	assert.Equal(t, 500, send(t, c, "POST", outbound, "k1", payout).status)
	require.Len(t, s.Effects(), 1)
	two := send(t, c, "POST", outbound, "k1", payout)
	assert.Equal(t, 200, two.status, "a 500 is not bound to the key")
	assert.Equal(t, s.Effects()[0].Resource, two.at("id"))
	assert.Contains(t, two.raw, `"value":9007199254740993`)
	assert.NotContains(t, two.header, "Idempotent-Replayed")
	s.SetState(two.at("id").(string), "posted")
	assert.Equal(t, "posted", send(t, c, "POST", outbound, "k1", payout).at("status"), "the answer is an updated one")
	r := send(t, c, "POST", outbound, "k1", strings.Replace(payout, "3,", "4,", 1))
	assert.Equal(t, "idempotency_error", r.at("error.type"))
	assert.Len(t, s.Effects(), 1)
	assert.Equal(t, int64(9007199254740993), s.Effects()[0].Amount)

	s.Script(fakes.SaveErrorNoEffect(500))
	assert.Equal(t, 500, send(t, c, "POST", outbound, "k2", payout).status)
	assert.Len(t, s.Effects(), 1)
	assert.Equal(t, 200, send(t, c, "POST", outbound, "k2", payout).status, "failed work is executed again")
	assert.Len(t, s.Effects(), 2)

	s.Advance(30*24*time.Hour - time.Minute)
	send(t, c, "POST", outbound, "k2", payout)
	assert.Len(t, s.Effects(), 2)
	s.Advance(time.Minute)
	send(t, c, "POST", outbound, "k2", payout)
	assert.Len(t, s.Effects(), 3)

	acct := send(t, c, "POST", stripeURL+"/v2/core/accounts", "k3", `{"contact_email":"a@example.com"}`)
	assert.Equal(t, "v2.core.account", acct.at("object"))
	page := send(t, c, "GET", outbound+"?limit=2", "", "")
	assert.Len(t, page.at("data"), 2)
	next := page.at("next_page_url").(string)
	page = send(t, c, "GET", stripeURL+next, "", "")
	assert.Len(t, page.at("data"), 1)
	assert.Nil(t, page.at("next_page_url"))
	assert.Equal(t, 400, send(t, c, "POST", outbound, "k4", `{"amount":`).status)
	assert.Equal(t, http.StatusNotFound, send(t, c, "GET", outbound+"/obp_none", "", "").status)
}

func TestStripeV2InFlightAndDelete(t *testing.T) {
	s := fakes.NewStripe(nil)
	c := s.Client()
	s.Script(fakes.InFlight(time.Minute))
	assert.Equal(t, "idempotency_key_in_use", send(t, c, "POST", outbound, "k1", payout).at("error.code"))
	s.Advance(time.Minute)
	id := send(t, c, "POST", outbound, "k1", payout).at("id").(string)
	for range 2 {
		assert.Equal(t, true, send(t, c, "DELETE", outbound+"/"+id, "k2", "").at("deleted"), "in v2 a DELETE has a key")
	}
	assert.Len(t, s.Effects(), 2)
}

func TestStripeShouldRetryWhereAsked(t *testing.T) {
	s := fakes.NewStripe(&fakes.Options{ShouldRetry: "false"})
	s.Script(fakes.SaveError(500))
	assert.Equal(t, "false", send(t, s.Client(), "POST", intents, "k1", paid).header.Get("Stripe-Should-Retry"))
	assert.NotContains(t, send(t, s.Client(), "POST", intents, "k2", paid).header, "Stripe-Should-Retry")
}

package stripe_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	provider "github.com/idempact/idempact/providers/stripe"
	"github.com/idempact/idempact/retry"
)

// Two equal refunds of one order, under two keys: the look-up for the second, of
// which nothing exists, does not take the first for it.
func TestAnEqualOperationIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakes.NewStripe(nil)
		client, err := retry.NewClient(provider.New(nil), &retry.Options{Transport: server.Transport()})
		require.NoError(t, err)
		defer client.CloseIdleConnections()
		post := func(key, path, form string) (*retry.Result, error) {
			req, err := http.NewRequestWithContext(contract.WithKey(context.Background(), key), http.MethodPost,
				"https://api.stripe.com"+path, strings.NewReader(form))
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set("Authorization", "Bearer sk_test_1")
			return client.Do(req)
		}
		paid, err := post("pay", "/v1/payment_intents", "amount=2500&currency=usd&confirm=true&payment_method=pm_card_visa")
		require.NoError(t, err)
		refund := "payment_intent=" + paid.Resource + "&amount=100&metadata[order]=7"
		_, err = post("refund 1", "/v1/refunds", refund)
		require.NoError(t, err)

		server.Script(fakes.SaveErrorNoEffect(500))
		second, err := post("refund 2", "/v1/refunds", refund)
		require.ErrorIs(t, err, contract.KeySpent)
		assert.Empty(t, second.Resource)
		assert.False(t, second.AllowsNewKey())
	})
}

// An answer about another object than was acted on is no success.
func TestAnotherObjectIsNoSuccess(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/payment_intents/pi_1/capture": `{"id":"pi_2","object":"payment_intent","status":"succeeded"}`,
		"/v1/payment_intents":              `{"id":"ch_1","object":"charge"}`,
		"/v1/refunds":                      `{"id":"x","object":"list"}`,
		"/v1/customers":                    `{"id":"x","object":"list"}`,
	} {
		req, err := http.NewRequest(http.MethodPost, "https://api.stripe.com"+path, nil)
		require.NoError(t, err)
		o := provider.New(nil).Classify(contract.Call{Request: req, Key: "k"},
			contract.Reply{StatusCode: 200, Body: []byte(body), Sent: true})
		assert.Equal(t, contract.Unknown, o.Status, path)
	}
}

package integration

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v85"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	provider "github.com/idempact/idempact/providers/stripe"
	"github.com/idempact/idempact/retry"
)

func (w *world) confirmed(ctx context.Context, key, method string, amount int64) (*stripe.PaymentIntent, error) {
	p := &stripe.PaymentIntentCreateParams{
		Amount: &amount, Currency: stripe.String("usd"), PaymentMethod: &method, Confirm: stripe.Bool(true),
	}
	if key != "" {
		p.SetIdempotencyKey(key)
	}
	return w.api.V1PaymentIntents.Create(ctx, p)
}

func TestDeclinedCard(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.server.Script(fakes.LoseReply)
		for range 2 {
			_, err := w.confirmed(t.Context(), "k", "pm_card_chargeDeclined", 2500)
			e, ok := err.(*stripe.Error)
			require.True(t, ok, "%T", err)
			assert.Equal(t, stripe.ErrorCodeCardDeclined, e.Code)
			assert.Equal(t, "true", e.LastResponse.Header.Get("Idempotent-Replayed"))
		}
		assert.Empty(t, w.server.Effects())
		assert.Len(t, w.server.Requests(), 3)
	})
}

func TestKeyOfAnotherRequest(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		_, err := w.confirmed(t.Context(), "k", "pm_card_visa", 2500)
		require.NoError(t, err)
		_, err = w.confirmed(t.Context(), "k", "pm_card_visa", 2600)
		e, ok := err.(*stripe.Error)
		require.True(t, ok, "%T", err)
		assert.Equal(t, stripe.ErrorTypeIdempotency, e.Type)
		assert.Len(t, w.server.Effects(), 1)
	})
}

// What this SDK does with keys, measured: without one of the program's it makes one
// up for each call, which the loop cannot tell from the program's. It protects the
// one call, and nothing more.
func TestKeysThatTheSDKMakesUp(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.server.Script(fakes.LoseReply)
		_, err := w.confirmed(t.Context(), "", "pm_card_visa", 2500)
		require.NoError(t, err)
		assert.Len(t, w.server.Effects(), 1, "within the call it is one key")

		_, err = w.confirmed(t.Context(), "", "pm_card_visa", 2500)
		require.NoError(t, err)
		effects := w.server.Effects()
		require.Len(t, effects, 2, "and the next call has another: give every write a key")
		assert.NotEqual(t, effects[0].Key, effects[1].Key)
	})
}

// A key in the context does not reach the SDK, whose made-up one contradicts it.
func TestKeyInTheContextAlone(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		ctx := contract.WithKey(t.Context(), "k")
		_, err := w.confirmed(ctx, "", "pm_card_visa", 2500)
		assert.ErrorIs(t, err, contract.Rejected)
		assert.True(t, retry.OutcomeOf(err).AllowsNewKey())
		assert.Empty(t, w.server.Requests(), "nothing was sent")

		_, err = w.confirmed(ctx, "k", "pm_card_visa", 2500)
		require.NoError(t, err, "the same key in both is one key")
		assert.Equal(t, "k", w.server.Effects()[0].Key)
	})
}

// The adapter's OutcomeOf reads the loop's word through any SDK. Of a refusal in a
// type that it does not know it says the safe thing.
func TestOutcomeOf(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.server.Script(fakes.SaveErrorNoEffect(500))
		_, err := w.confirmed(t.Context(), "k", "pm_card_visa", 2500)
		assert.Equal(t, contract.KeySpent, provider.OutcomeOf(err).Status)

		_, err = w.confirmed(t.Context(), "k2", "pm_card_chargeDeclined", 2500)
		assert.Equal(t, contract.Unknown, provider.OutcomeOf(err).Status)
		assert.Equal(t, contract.Unknown, retry.OutcomeOf(err).Status)
	})
}

// Deletes get a made-up key as well, which has no effect on them.
func TestDelete(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		p := &stripe.CustomerCreateParams{}
		p.SetIdempotencyKey("k")
		c, err := w.api.V1Customers.Create(t.Context(), p)
		require.NoError(t, err)
		w.server.Script(fakes.RefuseConnection)
		gone, err := w.api.V1Customers.Delete(t.Context(), c.ID, nil)
		require.NoError(t, err)
		assert.True(t, gone.Deleted)
		assert.Len(t, w.server.Effects(), 2)
		assert.NotEmpty(t, w.server.Requests()[1].Key)
	})
}

func TestReadsPassThroughOnce(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		made, err := w.confirmed(t.Context(), "k", "pm_card_visa", 2500)
		require.NoError(t, err)
		got, err := w.api.V1PaymentIntents.Retrieve(t.Context(), made.ID, nil)
		require.NoError(t, err)
		assert.Equal(t, made.ID, got.ID)
		seen := 0
		for o, err := range w.api.V1PaymentIntents.List(t.Context(), nil).All(t.Context()) {
			require.NoError(t, err)
			assert.Equal(t, made.ID, o.ID)
			seen++
		}
		assert.Equal(t, 1, seen)
		assert.Len(t, w.server.Requests(), 3)
	})
}

// The SDK retries twice by default, and its retry is a new operation to the loop,
// which has forgotten the doubt by then: a payment would be reported as not executed.
func TestTheSDKDoesNotRetry(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		reads := func(r *http.Request) bool { return r.Method == http.MethodGet }
		for range 20 { // no look-up helps
			w.server.ScriptWhen(reads, fakes.Status(http.StatusForbidden, "{}"))
		}
		w.server.Script(fakes.LoseReply)
		for range 20 {
			w.server.Script(fakes.Throttle(0))
		}
		_, err := w.confirmed(t.Context(), "k", "pm_card_visa", 2500)
		assert.Equal(t, contract.Unknown, retry.OutcomeOf(err).Status)
		assert.False(t, retry.OutcomeOf(err).AllowsNewKey())
		assert.Equal(t, 5, w.attempts)
		assert.Len(t, w.server.Effects(), 1)
	})
}

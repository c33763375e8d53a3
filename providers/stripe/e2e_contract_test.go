package stripe_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	provider "github.com/idempact/idempact/providers/stripe"
	"github.com/idempact/idempact/retry"
)

// What the loop says comes through the SDK whole: the wait as much as the status.
func TestOutcomeOfReadsTheLoop(t *testing.T) {
	for name, c := range map[string]struct {
		faults []fakes.Fault
		want   contract.Status
		wait   time.Duration
	}{
		"throttled for an hour":     {[]fakes.Fault{fakes.Throttle(time.Hour)}, contract.NotExecuted, time.Hour},
		"lost, then throttled":      {[]fakes.Fault{fakes.LoseReply, fakes.Throttle(time.Hour)}, contract.Unknown, time.Hour},
		"a saved 500, no effect":    {[]fakes.Fault{fakes.SaveErrorNoEffect(500)}, contract.KeySpent, 0},
		"throttled to the last try": {[]fakes.Fault{fakes.Throttle(0), fakes.Throttle(0), fakes.Throttle(0), fakes.Throttle(0), fakes.Throttle(0)}, contract.NotExecuted, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, fakes.Options{}, func(t *testing.T, w *world) {
				err := w.play(operations[0], "k", c.faults...)
				require.Error(t, err)
				o := provider.OutcomeOf(err)
				assert.Equal(t, c.want, o.Status)
				assert.Equal(t, c.wait, o.RetryAfter)
				assert.Equal(t, retry.OutcomeOf(err).Outcome, o)
			})
		})
	}
}

// confirmed asks for a confirmed intent, which a program may do twice.
func (w *world) confirmed(ctx context.Context, key, method string, amount int64) (*stripe.PaymentIntent, error) {
	p := &stripe.PaymentIntentParams{
		Params: stripe.Params{Context: ctx}, Amount: stripe.Int64(amount), Currency: stripe.String("usd"),
		PaymentMethod: stripe.String(method), Confirm: stripe.Bool(true),
	}
	if key != "" {
		p.SetIdempotencyKey(key)
	}
	return w.api.PaymentIntents.New(p)
}

func (w *world) requests(method string) (paths []string) {
	for _, r := range w.server.Requests() {
		if r.Method == method {
			paths = append(paths, r.Path)
		}
	}
	return paths
}

func TestDeclinedCard(t *testing.T) {
	inMemory(t, fakes.Options{}, func(t *testing.T, w *world) {
		var ids []string
		for _, replayed := range []bool{false, true} {
			_, err := w.confirmed(t.Context(), "k", "pm_card_chargeDeclined", 2500)
			e, ok := err.(*stripe.Error)
			require.True(t, ok, "%T", err)
			assert.Equal(t, stripe.ErrorCodeCardDeclined, e.Code)
			assert.IsType(t, &stripe.CardError{}, e.Err)
			o := provider.OutcomeOf(err)
			assert.Equal(t, contract.Declined, o.Status)
			assert.Equal(t, replayed, o.Replayed)
			ids = append(ids, e.PaymentIntent.ID)
		}
		assert.Equal(t, ids[0], ids[1], "the saved refusal")
		assert.Empty(t, w.server.Effects())
		assert.Len(t, w.requests("POST"), 2)

		_, err := w.confirmed(t.Context(), "k, second card", "pm_card_visa", 2500)
		require.NoError(t, err)
		assert.Len(t, w.server.Effects(), 1)
	})
}

// A decline whose answer was lost is a decline still, not a doubt and not a payment.
func TestDeclinedCardWithALostReply(t *testing.T) {
	inMemory(t, fakes.Options{}, func(t *testing.T, w *world) {
		w.server.Script(fakes.LoseReply, fakes.CutBody(20))
		_, err := w.confirmed(t.Context(), "k", "pm_card_chargeDeclined", 2500)
		assert.IsType(t, &stripe.Error{}, err)
		assert.Equal(t, contract.Declined, provider.OutcomeOf(err).Status)
		assert.True(t, provider.OutcomeOf(err).Replayed)
		assert.Empty(t, w.server.Effects())
	})
}

func TestKeyOfAnotherRequest(t *testing.T) {
	inMemory(t, fakes.Options{}, func(t *testing.T, w *world) {
		_, err := w.confirmed(t.Context(), "k", "pm_card_visa", 2500)
		require.NoError(t, err)
		_, err = w.confirmed(t.Context(), "k", "pm_card_visa", 2600)
		e, ok := err.(*stripe.Error)
		require.True(t, ok, "%T", err)
		assert.IsType(t, &stripe.IdempotencyError{}, e.Err)
		assert.Equal(t, contract.KeyReused, provider.OutcomeOf(err).Status)
		assert.Len(t, w.server.Effects(), 1)
	})
}

func TestMissingKey(t *testing.T) {
	inMemory(t, fakes.Options{}, func(t *testing.T, w *world) {
		_, err := w.confirmed(t.Context(), "", "pm_card_visa", 2500)
		var refused *provider.KeyError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, contract.Rejected, provider.OutcomeOf(err).Status)
		assert.Equal(t, contract.EffectNone, retry.OutcomeOf(err).Effect())
		assert.Empty(t, w.server.Requests())
	})
}

// Without a key, as was said: not sent again once it may have arrived.
func TestWithoutKey(t *testing.T) {
	inMemory(t, fakes.Options{}, func(t *testing.T, w *world) {
		w.server.Script(fakes.RefuseConnection, fakes.LoseReply)
		_, err := w.confirmed(contract.WithoutKey(t.Context()), "", "pm_card_visa", 2500)
		assert.Equal(t, contract.Unknown, provider.OutcomeOf(err).Status)
		assert.Len(t, w.requests("POST"), 1)
		assert.Equal(t, 1, w.server.Refused())
		assert.Len(t, w.server.Effects(), 1)
	})
}

func TestKeyInTheContext(t *testing.T) {
	inMemory(t, fakes.Options{}, func(t *testing.T, w *world) {
		ctx := contract.WithKey(t.Context(), contract.KeyFor("pay invoice", "INV-1001"))
		first, err := w.confirmed(ctx, "", "pm_card_visa", 2500)
		require.NoError(t, err)
		again, err := w.confirmed(ctx, "", "pm_card_visa", 2500)
		require.NoError(t, err)
		assert.Equal(t, first.ID, again.ID)
		assert.Len(t, w.server.Effects(), 1)
		assert.Equal(t, contract.KeyFor("pay invoice", "INV-1001"), w.server.Effects()[0].Key)
	})
}

// Within one call the age of a key is known: near its end nothing is sent, and the
// payment is looked up. A call of its own in a day's time starts a new age, since
// nothing remembers the first one; what that does is no promise, so no test has it.
func TestOldKeyIsLookedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakes.NewStripe(nil)
		w := newWorld(t, server, retry.Options{Transport: server.Transport(), MaxElapsed: 48 * time.Hour, MaxWait: 48 * time.Hour})
		server.Script(fakes.LoseReply, fakes.Throttle(22*time.Hour+50*time.Minute), fakes.Throttle(20*time.Minute))
		intent, err := w.confirmed(t.Context(), "k", "pm_card_visa", 2500)
		require.NoError(t, err)
		require.Len(t, server.Effects(), 1)
		assert.Equal(t, server.Effects()[0].Resource, intent.ID)
		assert.Len(t, w.requests("POST"), 3, "the last at 22 h 50 min; one at 23 h 10 min is not sent")
		assert.Equal(t, []string{"/v1/events", "/v1/payment_intents/" + intent.ID}, w.requests("GET"))
	})
}

// A saved 500 binds the key for good. Where the payment exists, the program gets it.
func TestSaved500WithAPayment(t *testing.T) {
	for _, advice := range []string{"", "true", "false"} {
		inMemory(t, fakes.Options{ShouldRetry: advice}, func(t *testing.T, w *world) {
			w.server.Script(fakes.SaveError(500))
			intent, err := w.confirmed(t.Context(), "k", "pm_card_visa", 2500)
			require.NoError(t, err)
			require.Len(t, w.server.Effects(), 1)
			assert.Equal(t, w.server.Effects()[0].Resource, intent.ID)
			assert.Equal(t, stripe.PaymentIntentStatusSucceeded, intent.Status)
			assert.Equal(t, []string{"/v1/events", "/v1/payment_intents/" + intent.ID}, w.requests("GET"))
			if advice == "false" {
				assert.Len(t, w.requests("POST"), 1, "the API said that no resend can help")
			}
		})
	}
}

// While the events do not show it yet, it is neither a failure nor a success.
func TestSaved500BeforeTheEvents(t *testing.T) {
	inMemory(t, fakes.Options{VisibilityDelay: time.Hour}, func(t *testing.T, w *world) {
		w.server.Script(fakes.SaveError(500))
		_, err := w.confirmed(t.Context(), "k", "pm_card_visa", 2500)
		var e *stripe.Error
		assert.NotErrorAs(t, err, &e)
		assert.ErrorIs(t, err, contract.KeySpent)
		assert.False(t, retry.OutcomeOf(err).AllowsNewKey())

		w.server.Script(fakes.SaveError(500))
		id, err := w.intent("another", "automatic", true)
		require.NoError(t, err, "its metadata is found in the list, which is up to date")
		assert.Equal(t, w.server.Effects()[1].Resource, id)
	})
}

func TestSaved500WithoutAPayment(t *testing.T) {
	inMemory(t, fakes.Options{}, func(t *testing.T, w *world) {
		w.server.Script(fakes.SaveErrorNoEffect(500))
		for range 2 { // a second call meets the saved 500 at once
			_, err := w.confirmed(t.Context(), "k", "pm_card_visa", 2500)
			var e *stripe.Error
			assert.NotErrorAs(t, err, &e)
			assert.Equal(t, contract.KeySpent, provider.OutcomeOf(err).Status)
			assert.False(t, retry.OutcomeOf(err).AllowsNewKey(), "nothing proves that there is none")
		}
		assert.Empty(t, w.server.Effects())
	})
}

// A second action on what is done already gets the object as it is.
func TestDuplicates(t *testing.T) {
	for _, c := range []struct{ name, first string }{{"confirm", "automatic"}, {"capture without a body", "manual"}} {
		t.Run(c.name, func(t *testing.T) {
			inMemory(t, fakes.Options{}, func(t *testing.T, w *world) {
				on := w.made(w.intent("first", c.first, c.first == "manual"))
				before := len(w.server.Effects())
				for _, op := range operations {
					for _, key := range []string{"k1", "k2"} {
						if op.name == c.name {
							id, err := op.run(w, on, key)
							require.NoError(t, err)
							assert.Equal(t, on, id)
						}
					}
				}
				assert.Len(t, w.server.Effects(), before+1)
			})
		})
	}
	t.Run("refund", func(t *testing.T) {
		inMemory(t, fakes.Options{}, func(t *testing.T, w *world) {
			charge := w.made(w.charge("first"))
			_, err := w.api.Refunds.New(&stripe.RefundParams{Params: w.bare("k1"), Charge: &charge})
			require.NoError(t, err)
			_, err = w.api.Refunds.New(&stripe.RefundParams{Params: w.bare("k2"), Charge: &charge})
			var e *stripe.Error
			assert.NotErrorAs(t, err, &e, "the refund exists, and Stripe does not say which one it is")
			assert.Equal(t, contract.Duplicate, provider.OutcomeOf(err).Status)
			assert.Len(t, w.server.Effects(), 2)
		})
	})
}

func TestCallersThatShareAKey(t *testing.T) {
	inMemory(t, fakes.Options{}, func(t *testing.T, w *world) {
		w.server.Script(fakes.LoseReply, fakes.Slow(time.Second))
		ids := make([]string, 8)
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() {
				o, err := w.confirmed(t.Context(), "k", "pm_card_visa", 2500)
				if assert.NoError(t, err) {
					ids[i] = o.ID
				}
			})
		}
		all.Wait()
		require.Len(t, w.server.Effects(), 1)
		for _, id := range ids {
			assert.Equal(t, w.server.Effects()[0].Resource, id)
		}
		assert.Len(t, w.requests("POST"), 2)
	})
}

func TestContextThatEnds(t *testing.T) {
	inMemory(t, fakes.Options{}, func(t *testing.T, w *world) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w.server.Script(fakes.Hang)
		_, err := w.confirmed(ctx, "k", "pm_card_visa", 2500)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, contract.Unknown, provider.OutcomeOf(err).Status)
		assert.False(t, retry.OutcomeOf(err).AllowsNewKey())
		assert.Len(t, w.server.Effects(), 1)
	})
}

func TestReadsPassThroughOnce(t *testing.T) {
	reads := func(r *http.Request) bool { return r.Method == http.MethodGet }
	inMemory(t, fakes.Options{}, func(t *testing.T, w *world) {
		made, err := w.confirmed(t.Context(), "k", "pm_card_visa", 2500)
		require.NoError(t, err)
		got, err := w.api.PaymentIntents.Get(made.ID, nil)
		require.NoError(t, err)
		assert.Equal(t, made.ID, got.ID)
		list := w.api.PaymentIntents.List(nil)
		require.True(t, list.Next())
		assert.Equal(t, made.ID, list.PaymentIntent().ID)
		assert.False(t, list.Next())
		assert.Len(t, w.requests("GET"), 2)

		w.server.ScriptWhen(reads, fakes.Unavailable(0), fakes.Throttle(0))
		for _, status := range []int{503, 429} {
			_, err = w.api.PaymentIntents.Get(made.ID, nil)
			var e *stripe.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, status, e.HTTPStatusCode)
		}
		assert.Len(t, w.requests("GET"), 4, "a refused read is the program's to repeat")
		for _, r := range w.server.Requests()[1:] {
			assert.Empty(t, r.Key)
		}
	})
}

package stripe_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/client"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/internal/bubbletest"
	"github.com/idempact/idempact/journal"
	provider "github.com/idempact/idempact/providers/stripe"
	"github.com/idempact/idempact/retry"
)

// process is a program with a journal: one of several on the same account.
type process struct {
	loop *retry.Client
	api  *client.API
}

func newProcess(t *testing.T, server *fakes.Server, s journal.Store, transport http.RoundTripper) process {
	t.Helper()
	if transport == nil {
		transport = server.Transport()
	}
	loop, err := retry.NewClient(provider.New(nil), &retry.Options{Transport: transport, Journal: s, MaxElapsed: 5 * time.Minute,
		Authorize: func(r *http.Request) error { r.Header.Set("Authorization", "Bearer sk_test_fake"); return nil }})
	require.NoError(t, err)
	t.Cleanup(loop.CloseIdleConnections)
	b := provider.Backend(loop.StandardClient())
	return process{loop, client.New("sk_test_fake", &stripe.Backends{API: b, Connect: b, Uploads: b})}
}

func (p process) pay(order string) (*stripe.PaymentIntent, error) {
	params := &stripe.PaymentIntentParams{
		Amount: stripe.Int64(2500), Currency: stripe.String("usd"),
		PaymentMethod: stripe.String("pm_card_visa"), Confirm: stripe.Bool(true),
	}
	params.AddMetadata("order", order)
	params.SetIdempotencyKey(contract.KeyFor("pay order", order))
	return p.api.PaymentIntents.New(params)
}

// journalled plays with a fake Stripe and a journal in each store, in virtual time.
func journalled(t *testing.T, play func(t *testing.T, server *fakes.Server, s journal.Store)) {
	bubbletest.OnStores(t, func(t *testing.T, s journal.Store) { play(t, fakes.NewStripe(nil), s) })
}

// TestSDKGetsTheRecord: a job that runs twice, in two processes a week apart, gets the
// same object from its SDK, and nothing is sent.
func TestSDKGetsTheRecord(t *testing.T) {
	journalled(t, func(t *testing.T, server *fakes.Server, s journal.Store) {
		first, err := newProcess(t, server, s, nil).pay("7")
		require.NoError(t, err)
		time.Sleep(7 * 24 * time.Hour)
		again, err := newProcess(t, server, s, nil).pay("7")
		require.NoError(t, err)
		assert.Equal(t, first.ID, again.ID)
		assert.Equal(t, first.Status, again.Status)
		assert.Equal(t, first.LastResponse.RequestID, again.LastResponse.RequestID)
		assert.Len(t, server.Requests(), 1)

		server.Script(fakes.Status(402, `{"error":{"type":"card_error","code":"card_declined","decline_code":"lost_card"}}`))
		for range 2 {
			_, err = newProcess(t, server, s, nil).pay("8")
			var refused *stripe.Error
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, stripe.ErrorCodeCardDeclined, refused.Code)
			assert.Equal(t, contract.Declined, provider.OutcomeOf(err).Status)
		}
		assert.Len(t, server.Requests(), 2)
	})
}

// TestOutageThenADay: the answers are lost, and the job comes again after 25 hours:
// Stripe has forgotten the key, the journal has not.
func TestOutageThenADay(t *testing.T) {
	journalled(t, func(t *testing.T, server *fakes.Server, s journal.Store) {
		post := func(r *http.Request) bool { return r.Method == http.MethodPost }
		server.ScriptWhen(post, fakes.LoseReply, fakes.LoseReply, fakes.LoseReply, fakes.LoseReply, fakes.LoseReply)
		server.ScriptWhen(func(r *http.Request) bool { return !post(r) }, fakes.Status(500, "{}"), fakes.Status(500, "{}"), fakes.Status(500, "{}"),
			fakes.Status(500, "{}"), fakes.Status(500, "{}"), fakes.Status(500, "{}"))
		_, err := newProcess(t, server, s, nil).pay("7")
		assert.Equal(t, contract.Unknown, provider.OutcomeOf(err).Status, "%v", err)
		sends := len(server.Requests())
		time.Sleep(25 * time.Hour)
		intent, err := newProcess(t, server, s, nil).pay("7")
		require.NoError(t, err)
		require.Len(t, server.Effects(), 1)
		assert.Equal(t, server.Effects()[0].Resource, intent.ID)
		for _, r := range server.Requests()[sends:] {
			assert.Equal(t, http.MethodGet, r.Method)
		}
	})
}

// TestSweepAtStripe: what a process left is settled, its key young or forgotten.
func TestSweepAtStripe(t *testing.T) {
	for name, later := range map[string]time.Duration{"young": 10 * time.Minute, "forgotten": 49 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			journalled(t, func(t *testing.T, server *fakes.Server, s journal.Store) {
				for i := range 20 {
					dead := &mortal{Store: s}
					if i%2 == 0 {
						server.Script(fakes.LoseReply)
					}
					_, err := newProcess(t, server, dead, nil).pay(fmt.Sprint(i))
					require.Error(t, err)
				}
				time.Sleep(later)
				report, err := newProcess(t, server, s, nil).loop.Sweep(t.Context(), retry.SweepOptions{})
				require.NoError(t, err)
				assert.Equal(t, 20, report.Settled, "%v", report.Operations)
				assert.Len(t, server.Effects(), 20)
				for _, op := range report.Operations {
					assert.Equal(t, contract.Succeeded, op.Verdict.Status)
				}
			})
		})
	}
}

// mortal is the journal of a process that dies before it can record a verdict.
type mortal struct{ journal.Store }

func (m *mortal) Update(context.Context, journal.Entry) (journal.Entry, error) {
	return journal.Entry{}, fmt.Errorf("died")
}

// TestKeyOfEvent reads a verified event.
func TestKeyOfEvent(t *testing.T) {
	event := func(kind, account, key string) (e stripe.Event) {
		text := fmt.Sprintf(`{"id":"evt_1","type":%q,"account":%q,"request":{"id":"req_1","idempotency_key":%q},"data":{"object":{"id":"pi_1"}}}`, kind, account, key)
		require.NoError(t, json.NewDecoder(strings.NewReader(text)).Decode(&e))
		return e
	}
	key, o, ok := provider.KeyOfEvent(event("payment_intent.succeeded", "", "k"))
	assert.True(t, ok)
	assert.Equal(t, "k", key)
	assert.Equal(t, contract.Duplicate, o.Status)
	assert.Empty(t, o.Resource, "an event is about one of several objects")
	assert.Equal(t, contract.FromOutside, o.Source)
	assert.Equal(t, "req_1", o.RequestID)

	key, _, ok = provider.KeyOfEvent(event("charge.succeeded", "acct_1", "k"))
	assert.True(t, ok)
	req, err := http.NewRequest(http.MethodPost, "https://api.stripe.com/v1/refunds", nil)
	require.NoError(t, err)
	req.Header.Set("Stripe-Account", "acct_1")
	assert.Equal(t, provider.New(nil).Terms(contract.Call{Request: req}).KeyIn(req.Header, "k"), key)

	for _, kind := range []string{"payment_intent.created", "payment_intent.payment_failed", "charge.failed", "invoice.finalized", "customer.updated"} {
		_, _, ok = provider.KeyOfEvent(event(kind, "", "k"))
		assert.False(t, ok, kind)
	}
	_, _, ok = provider.KeyOfEvent(event("payment_intent.succeeded", "", ""))
	assert.False(t, ok)
	_, _, ok = provider.KeyOfEvent(stripe.Event{Type: "payment_intent.succeeded"})
	assert.False(t, ok)
}

// TestLearnFromAnEvent: the webhook tells of a payment whose answer was lost.
func TestLearnFromAnEvent(t *testing.T) {
	journalled(t, func(t *testing.T, server *fakes.Server, s journal.Store) {
		server.Script(fakes.LoseReply)
		_, err := newProcess(t, server, &mortal{Store: s}, nil).pay("7")
		require.Error(t, err)
		p := newProcess(t, server, s, nil)
		key, o, ok := provider.KeyOfEvent(stripe.Event{ID: "evt_1", Type: "payment_intent.succeeded",
			Request: &stripe.EventRequest{IdempotencyKey: contract.KeyFor("pay order", "7")}})
		require.True(t, ok)
		v, err := p.loop.Learn(t.Context(), key, o, "stripe event evt_1")
		require.NoError(t, err)
		assert.False(t, v.AllowsNewKey())
		sends := 0
		time.Sleep(3 * time.Minute)
		report, err := p.loop.Sweep(t.Context(), retry.SweepOptions{})
		require.NoError(t, err)
		assert.Equal(t, 1, report.Settled, "%v", report.Operations)
		intent, err := p.pay("7")
		require.NoError(t, err)
		assert.Equal(t, server.Effects()[0].Resource, intent.ID)
		for _, r := range server.Requests() {
			if r.Method == http.MethodPost {
				sends++
			}
		}
		// One to pay, one of the process that died with the answer.
		assert.LessOrEqual(t, sends, 2)
	})
}

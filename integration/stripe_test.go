package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/rawrequest"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	provider "github.com/idempact/idempact/providers/stripe"
	"github.com/idempact/idempact/retry"
)

// world is a program on the newest stripe-go, the loop below it, and a Stripe with a
// ledger.
type world struct {
	t        testing.TB
	server   *fakes.Server
	api      *stripe.Client
	raw      rawrequest.Client
	attempts int
}

func newWorld(t testing.TB, server *fakes.Server, o retry.Options) *world {
	w := &world{t: t, server: server}
	o.OnAttempt = func(_ context.Context, e retry.AttemptEvent) {
		if e.Step == contract.Resend {
			w.attempts++
		}
	}
	loop, err := retry.NewClient(provider.New(nil), &o)
	require.NoError(t, err)
	t.Cleanup(loop.CloseIdleConnections)
	backends := Backends(loop.StandardClient())
	w.api = stripe.NewClient("sk_test_fake", stripe.WithBackends(backends))
	w.raw = rawrequest.Client{B: backends.API.(stripe.RawRequestBackend), Key: "sk_test_fake"}
	return w
}

func inMemory(t *testing.T, play func(*testing.T, *world)) {
	synctest.Test(t, func(t *testing.T) {
		server := fakes.NewStripe(nil)
		play(t, newWorld(t, server, retry.Options{Transport: server.Transport(), AttemptTimeout: 5 * time.Second}))
	})
}

// operation is one call of the SDK that must take effect once.
type operation struct {
	name, effect string
	before       func(w *world) (on string, err error)
	run          func(w *world, on, key string) (id string, err error)
}

func (w *world) intent(key, capture string, confirm bool) (string, error) {
	p := &stripe.PaymentIntentCreateParams{
		Amount: stripe.Int64(2500), Currency: stripe.String("usd"),
		PaymentMethod: stripe.String("pm_card_visa"), CaptureMethod: &capture,
	}
	if confirm {
		p.Confirm = stripe.Bool(true)
	}
	p.SetIdempotencyKey(key)
	p.AddMetadata("order", key)
	o, err := w.api.V1PaymentIntents.Create(w.t.Context(), p)
	return idOf(o.ID, err)
}

// idOf is for the SDK's objects, which are not nil beside an error.
func idOf(id string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return id, nil
}

func (w *world) charge(key string) (string, error) {
	p := &stripe.ChargeCreateParams{Amount: stripe.Int64(2500), Currency: stripe.String("usd")}
	if err := p.SetSource("tok_visa"); err != nil {
		return "", err
	}
	p.SetIdempotencyKey(key)
	o, err := w.api.V1Charges.Create(w.t.Context(), p)
	return idOf(o.ID, err)
}

var operations = []operation{
	{"charge", "charge create", nil,
		func(w *world, _, key string) (string, error) { return w.charge(key) }},
	{"intent", "payment_intent create", nil,
		func(w *world, _, key string) (string, error) { return w.intent(key, "automatic", true) }},
	{"confirm", "payment_intent confirm",
		func(w *world) (string, error) { return w.intent("first", "automatic", false) },
		func(w *world, on, key string) (string, error) {
			p := &stripe.PaymentIntentConfirmParams{}
			p.SetIdempotencyKey(key)
			o, err := w.api.V1PaymentIntents.Confirm(w.t.Context(), on, p)
			return idOf(o.ID, err)
		}},
	{"capture without a body", "payment_intent capture",
		func(w *world) (string, error) { return w.intent("first", "manual", true) },
		func(w *world, on, key string) (string, error) {
			p := &stripe.PaymentIntentCaptureParams{}
			p.SetIdempotencyKey(key)
			o, err := w.api.V1PaymentIntents.Capture(w.t.Context(), on, p)
			return idOf(o.ID, err)
		}},
	{"refund", "refund create",
		func(w *world) (string, error) { return w.charge("first") },
		func(w *world, on, key string) (string, error) {
			p := &stripe.RefundCreateParams{Charge: &on, Amount: stripe.Int64(500)}
			p.SetIdempotencyKey(key)
			o, err := w.api.V1Refunds.Create(w.t.Context(), p)
			return idOf(o.ID, err)
		}},
	{"v2 account", "v2.core.account create", nil,
		func(w *world, _, key string) (string, error) {
			p := &stripe.V2CoreAccountCreateParams{ContactEmail: stripe.String("jenny@example.com")}
			p.SetIdempotencyKey(key)
			o, err := w.api.V2CoreAccounts.Create(w.t.Context(), p)
			return idOf(o.ID, err)
		}},
	{"v2 raw", "v2.money_management.outbound_payment create", nil,
		func(w *world, _, key string) (string, error) {
			p := &stripe.RawParams{Params: stripe.Params{Context: w.t.Context()}}
			p.SetIdempotencyKey(key)
			r, err := w.raw.RawRequest(http.MethodPost, "/v2/money_management/outbound_payments",
				`{"from":{"financial_account":"fa_1"},"to":{"recipient":"acct_1"},"amount":{"value":2500,"currency":"usd"}}`, p)
			if err != nil {
				return "", err
			}
			var o struct{ ID string }
			err = json.Unmarshal(r.RawJSON, &o)
			return o.ID, err
		}},
}

// play runs the operation while the faults happen, and compares what the program was
// told with the ledger and the wire.
func (w *world) play(op operation, faults ...fakes.Fault) error {
	w.t.Helper()
	on := ""
	if op.before != nil {
		var err error
		on, err = op.before(w)
		require.NoError(w.t, err)
	}
	before, sent, refused := len(w.server.Effects()), len(w.server.Requests()), w.server.Refused()
	w.attempts = 0
	w.server.Script(faults...)
	got, err := op.run(w, on, "k")
	w.server.Advance(time.Hour) // what was put off has happened by now
	effects := w.server.Effects()[before:]
	require.LessOrEqual(w.t, len(effects), 1, "one action, one effect")
	var refusal *stripe.Error // the loop shows one only where nothing is in doubt
	switch none := errors.As(err, &refusal) || retry.OutcomeOf(err).Effect() == contract.EffectNone; {
	case err == nil:
		require.Len(w.t, effects, 1)
		assert.Equal(w.t, op.effect, effects[0].Kind+" "+effects[0].Action)
		assert.Equal(w.t, effects[0].Resource, got)
	case none:
		assert.Empty(w.t, effects, "told that nothing happened: %v", err)
	}
	writes := 0
	for _, r := range w.server.Requests()[sent:] {
		if r.Method != http.MethodGet {
			writes++
			assert.Equal(w.t, "k", r.Key, "one key, the program's")
		}
	}
	assert.Equal(w.t, w.attempts, writes+w.server.Refused()-refused, "one attempt, one request")
	return err
}

func TestEachOperationUnderEachFault(t *testing.T) {
	for _, op := range operations {
		for _, f := range []fakes.Fault{
			fakes.None, fakes.LoseReply, fakes.CutBody(0), fakes.CutBody(1), fakes.CutBody(20), fakes.ResetAfterSend,
			fakes.RefuseConnection, fakes.Throttle(2 * time.Second), fakes.InFlight(time.Second), fakes.SaveError(500),
			fakes.SaveErrorNoEffect(500), fakes.HTMLPage(502), fakes.HTMLPage(200), fakes.Hang, fakes.Unavailable(time.Second),
			fakes.Slow(2 * time.Second), fakes.Redirect("https://other.example/v1/charges"),
		} {
			t.Run(fmt.Sprintf("%s/%v", op.name, f), func(t *testing.T) {
				inMemory(t, func(t *testing.T, w *world) {
					err := w.play(op, f)
					if f == fakes.SaveErrorNoEffect(500) && op.name[:2] != "v2" {
						var refusal *stripe.Error
						assert.NotErrorAs(t, err, &refusal)
						assert.ErrorIs(t, err, contract.KeySpent)
						return
					}
					assert.NoError(t, err)
				})
			})
		}
	}
}

// API v2 saves no error: after a lost reply, and after a 500, the same key brings
// the object.
func TestV2AfterALostReplyAndA500(t *testing.T) {
	for _, op := range operations[5:] {
		for name, faults := range map[string][]fakes.Fault{
			"lost, 500":                 {fakes.LoseReply, fakes.SaveError(500)},
			"500, lost":                 {fakes.SaveError(500), fakes.LoseReply},
			"500 without effect, twice": {fakes.SaveErrorNoEffect(500), fakes.SaveErrorNoEffect(500)},
		} {
			t.Run(op.name+"/"+name, func(t *testing.T) {
				inMemory(t, func(t *testing.T, w *world) { assert.NoError(t, w.play(op, faults...)) })
			})
		}
	}
}

func TestOverTCP(t *testing.T) {
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			server := fakes.NewStripe(nil)
			t.Cleanup(func() { require.NoError(t, server.Close()) })
			w := newWorld(t, server, retry.Options{Transport: server.TCPTransport(), MinWait: 10 * time.Millisecond})
			assert.NoError(t, w.play(op, fakes.LoseReply, fakes.ResetAfterSend, fakes.CutBody(20), fakes.RefuseConnection))
		})
	}
}

package stripe_test

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/client"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	provider "github.com/idempact/idempact/providers/stripe"
	"github.com/idempact/idempact/retry"
)

// world is a program on stripe-go, the loop below it, and a Stripe with a ledger.
type world struct {
	t       testing.TB
	server  *fakes.Server
	backend stripe.Backend
	api     *client.API
	pass    func(time.Duration) // lets time go by, for what is still under way

	attempts      int // sends of operations that the loop reported
	effects, wire int // in the ledger and on the wire before the operation
}

func newWorld(t testing.TB, server *fakes.Server, o retry.Options) *world {
	w := &world{t: t, server: server, pass: server.Advance}
	o.OnAttempt = func(_ context.Context, e retry.AttemptEvent) {
		if e.Step == contract.Resend {
			w.attempts++
		}
	}
	loop, err := retry.NewClient(provider.New(nil), &o)
	require.NoError(t, err)
	t.Cleanup(loop.CloseIdleConnections)
	w.backend = provider.Backend(loop.StandardClient())
	w.api = client.New("sk_test_fake", &stripe.Backends{API: w.backend, Connect: w.backend, Uploads: w.backend})
	return w
}

// inMemory plays in a bubble of virtual time.
func inMemory(t *testing.T, o fakes.Options, play func(*testing.T, *world)) {
	synctest.Test(t, func(t *testing.T) {
		server := fakes.NewStripe(&o)
		w := newWorld(t, server, retry.Options{Transport: server.Transport(), AttemptTimeout: 5 * time.Second})
		w.pass = time.Sleep
		play(t, w)
	})
}

func (w *world) params(key string) stripe.Params {
	p := stripe.Params{Context: w.t.Context()}
	p.SetIdempotencyKey(key)
	p.AddMetadata("order", key)
	return p
}

// bare are parameters that make no body.
func (w *world) bare(key string) stripe.Params {
	return stripe.Params{Context: contract.WithKey(w.t.Context(), key)}
}

// operation is one call of the SDK that must take effect once.
type operation struct {
	name         string
	kind, action string // of its effect
	before       func(w *world) (on string)
	run          func(w *world, on, key string) (id string, err error)
}

// objectV2 is an object of API v2, for which v76 has no types.
type objectV2 struct {
	stripe.APIResource
	ID     string `json:"id"`
	Status string `json:"status"`
}

// postV2 sends JSON through v76, whose one way to send a body of one's own is the
// multipart call.
func (w *world) postV2(path, key, body string) (string, error) {
	p := w.bare(key)
	p.Headers = http.Header{"Content-Type": {"application/json"}}
	var o objectV2
	err := w.backend.CallMultipart(http.MethodPost, path, "sk_test_fake", "none", bytes.NewBufferString(body), &p, &o)
	return o.ID, err
}

func (w *world) intent(key string, capture string, confirm bool) (string, error) {
	p := &stripe.PaymentIntentParams{
		Params: w.params(key), Amount: stripe.Int64(2500), Currency: stripe.String("usd"),
		PaymentMethod: stripe.String("pm_card_visa"), CaptureMethod: stripe.String(capture),
	}
	if confirm {
		p.Confirm = stripe.Bool(true)
	}
	o, err := w.api.PaymentIntents.New(p)
	return idOf(o, err)
}

// idOf is for the objects of the SDK, which are not nil beside an error.
func idOf(o *stripe.PaymentIntent, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return o.ID, nil
}

func (w *world) charge(key string) (string, error) {
	p := &stripe.ChargeParams{Params: w.params(key), Amount: stripe.Int64(2500), Currency: stripe.String("usd")}
	require.NoError(w.t, p.SetSource("tok_visa"))
	o, err := w.api.Charges.New(p)
	if err != nil {
		return "", err
	}
	return o.ID, nil
}

const outboundPayment = `{"from":{"financial_account":"fa_1"},"to":{"recipient":"acct_1"},"amount":{"value":2500,"currency":"usd"}}`

// made returns the id of what an operation acts on.
func (w *world) made(id string, err error) string {
	w.t.Helper()
	require.NoError(w.t, err)
	require.NotEmpty(w.t, id)
	return id
}

var operations = []operation{
	{"charge", "charge", "create", nil,
		func(w *world, _, key string) (string, error) { return w.charge(key) }},
	{"intent", "payment_intent", "create", nil,
		func(w *world, _, key string) (string, error) { return w.intent(key, "automatic", false) }},
	{"intent, confirmed", "payment_intent", "create", nil,
		func(w *world, _, key string) (string, error) { return w.intent(key, "automatic", true) }},
	{"confirm", "payment_intent", "confirm",
		func(w *world) string { return w.made(w.intent("first", "automatic", false)) },
		func(w *world, on, key string) (string, error) {
			return idOf(w.api.PaymentIntents.Confirm(on, &stripe.PaymentIntentConfirmParams{Params: w.bare(key)}))
		}},
	{"capture without a body", "payment_intent", "capture",
		func(w *world) string { return w.made(w.intent("first", "manual", true)) },
		func(w *world, on, key string) (string, error) {
			return idOf(w.api.PaymentIntents.Capture(on, &stripe.PaymentIntentCaptureParams{Params: w.bare(key)}))
		}},
	{"refund", "refund", "create",
		func(w *world) string { return w.made(w.charge("first")) },
		func(w *world, on, key string) (string, error) {
			o, err := w.api.Refunds.New(&stripe.RefundParams{Params: w.params(key), Charge: stripe.String(on), Amount: stripe.Int64(500)})
			if err != nil {
				return "", err
			}
			return o.ID, nil
		}},
	{"delete", "customer", "delete",
		func(w *world) string {
			o, err := w.api.Customers.New(&stripe.CustomerParams{Params: w.params("first")})
			return w.made(o.ID, err)
		},
		func(w *world, on, _ string) (string, error) {
			o, err := w.api.Customers.Del(on, &stripe.CustomerParams{Params: stripe.Params{Context: w.t.Context()}})
			if err != nil {
				return "", err
			}
			return o.ID, nil
		}},
	{"v2 with JSON", "v2.money_management.outbound_payment", "create", nil,
		func(w *world, _, key string) (string, error) {
			return w.postV2("/v2/money_management/outbound_payments", key, outboundPayment)
		}},
	{"v2 without a body", "v2.money_management.outbound_payment", "cancel",
		func(w *world) string {
			return w.made(w.postV2("/v2/money_management/outbound_payments", "first", outboundPayment))
		},
		func(w *world, on, key string) (string, error) {
			p, o := w.bare(key), objectV2{}
			err := w.backend.CallRaw(http.MethodPost, "/v2/money_management/outbound_payments/"+on+"/cancel", "sk_test_fake", nil, &p, &o)
			return o.ID, err
		}},
}

// play runs the operation while the faults happen, and checks what came of it.
func (w *world) play(op operation, key string, faults ...fakes.Fault) error {
	w.t.Helper()
	on := ""
	if op.before != nil {
		on = op.before(w)
	}
	w.effects, w.wire, w.attempts = len(w.server.Effects()), len(w.server.Requests()), 0
	refused := w.server.Refused()
	w.server.Script(faults...)
	id, err := op.run(w, on, key)
	w.pass(time.Hour) // what was put off has happened by now
	w.check(op, key, id, err, w.server.Refused()-refused)
	return err
}

// check compares what the program was told with the ledger and the wire. It knows
// nothing of the loop or of the adapter.
func (w *world) check(op operation, key, id string, err error, refused int) {
	w.t.Helper()
	effects := w.server.Effects()[w.effects:]
	require.LessOrEqual(w.t, len(effects), 1, "one action, one effect")
	for _, e := range effects {
		assert.Equal(w.t, op.kind+" "+op.action, e.Kind+" "+e.Action)
	}
	if err == nil {
		require.Len(w.t, effects, 1, "told of an object, so there is an effect")
		assert.Equal(w.t, effects[0].Resource, id)
	}
	if loop := retry.OutcomeOf(err); loop.Attempts > 0 {
		assert.Equal(w.t, loop.Outcome, provider.OutcomeOf(err), "both say the same")
	}
	for _, o := range []contract.Outcome{provider.OutcomeOf(err), retry.OutcomeOf(err).Outcome} {
		switch {
		case err == nil:
		case o.Effect() == contract.EffectNone:
			assert.Empty(w.t, effects, "told that nothing happened: %v", err)
		case o.Effect() == contract.EffectApplied:
			assert.Len(w.t, effects, 1, "told that it happened: %v", err)
		}
	}
	writes, reads := 0, 0
	var first fakes.Request
	for _, r := range w.server.Requests()[w.wire:] {
		if r.Method == http.MethodGet {
			reads++
			continue
		}
		if writes++; writes == 1 {
			first = r
		}
		assert.Equal(w.t, first.Method+first.Path+first.Query, r.Method+r.Path+r.Query)
		assert.Equal(w.t, first.Body, r.Body, "the same bytes")
		if op.action == "delete" {
			assert.Empty(w.t, r.Key, "no key was made up")
		} else {
			assert.Equal(w.t, key, r.Key, "one key, the program's")
		}
	}
	assert.Equal(w.t, w.attempts, writes+refused, "one attempt, one request")
	assert.LessOrEqual(w.t, w.attempts, 5)
	assert.LessOrEqual(w.t, reads, 8)
}

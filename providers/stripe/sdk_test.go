package stripe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdk "github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/client"
	"github.com/stripe/stripe-go/v76/form"

	"github.com/idempact/idempact/contract"
)

// wire is a client's transport that answers every request alike and keeps them.
type wire struct {
	status  int
	body    string
	headers []string
	err     error
	header  http.Header // the last reply's
	seen    []*http.Request
	bodies  []string
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	w.seen, w.bodies = append(w.seen, r), append(w.bodies, string(body))
	if w.err != nil {
		return nil, w.err
	}
	p := reply(w.status, w.body, w.headers...)
	w.header = p.Header
	return &http.Response{StatusCode: w.status, Header: p.Header, Body: io.NopCloser(bytes.NewReader(p.Body)), Request: r}, nil
}

func (w *wire) keys() (keys []string) {
	for _, r := range w.seen {
		keys = append(keys, strings.Join(contract.HeaderValues(r.Header, "Idempotency-Key"), "; "))
		if len(r.Header["Idempotency-Key"]) == 0 {
			keys[len(keys)-1] = "none"
		}
	}
	return keys
}

func sdkOn(w *wire) *client.API {
	return client.New("sk_test_x", &sdk.Backends{API: Backend(&http.Client{Transport: w})})
}

func newWire() *wire {
	return &wire{status: 200, body: `{"id":"pi_1","object":"payment_intent","amount":100,"currency":"usd","status":"succeeded"}`}
}

func intentParams(ctx context.Context) *sdk.PaymentIntentParams {
	p := &sdk.PaymentIntentParams{Amount: sdk.Int64(100), Currency: sdk.String("usd")}
	p.Context = ctx
	return p
}

func TestBackendKey(t *testing.T) {
	ctx := t.Context()
	t.Run("from the parameters", func(t *testing.T) {
		w, p := newWire(), intentParams(ctx)
		p.SetIdempotencyKey("k1")
		p.SetStripeAccount("acct_1")
		got, err := sdkOn(w).PaymentIntents.New(p)
		require.NoError(t, err)
		assert.Equal(t, "pi_1", got.ID)
		assert.Equal(t, []string{"k1"}, w.keys())
		assert.Equal(t, "acct_1", w.seen[0].Header.Get("Stripe-Account"))
		assert.Equal(t, "https://api.stripe.com/v1/payment_intents", w.seen[0].URL.String())
		assert.Equal(t, "amount=100&currency=usd", w.bodies[0])
	})
	t.Run("from the context, and not kept in the caller's parameters", func(t *testing.T) {
		w := newWire()
		sc, p := sdkOn(w), intentParams(contract.WithKey(ctx, "k1"))
		_, err := sc.PaymentIntents.New(p)
		require.NoError(t, err)
		p.Context = contract.WithKey(ctx, "k2")
		_, err = sc.PaymentIntents.New(p)
		require.NoError(t, err)
		assert.Equal(t, []string{"k1", "k2"}, w.keys())
		assert.Nil(t, p.IdempotencyKey)
	})
	t.Run("from the extra headers", func(t *testing.T) {
		w, p := newWire(), intentParams(ctx)
		p.Headers = http.Header{"idempotency-key": {"k1"}}
		_, err := sdkOn(w).PaymentIntents.New(p)
		require.NoError(t, err)
		assert.Equal(t, []string{"k1"}, w.keys())
	})
	t.Run("the same from everywhere", func(t *testing.T) {
		w, p := newWire(), intentParams(contract.WithKey(ctx, "k1"))
		p.SetIdempotencyKey("k1")
		_, err := sdkOn(w).PaymentIntents.New(p)
		require.NoError(t, err)
		assert.Equal(t, []string{"k1"}, w.keys())
	})
	t.Run("without, as was said", func(t *testing.T) {
		w := newWire()
		_, err := sdkOn(w).PaymentIntents.New(intentParams(contract.WithoutKey(ctx)))
		require.NoError(t, err)
		assert.Equal(t, []string{"none"}, w.keys(), "no made-up key, and no empty one")
		assert.Equal(t, "amount=100&currency=usd", w.bodies[0])
	})
	t.Run("a delete needs none", func(t *testing.T) {
		w := newWire()
		for _, p := range []*sdk.CustomerParams{nil, {}, {Params: sdk.Params{Context: contract.WithKey(ctx, "k1")}}} {
			_, err := sdkOn(w).Customers.Del("cus_1", p)
			require.NoError(t, err)
		}
		assert.Equal(t, []string{"none", "none", "none"}, w.keys())
	})
	t.Run("a read has none", func(t *testing.T) {
		w := newWire()
		_, err := sdkOn(w).PaymentIntents.Get("pi_1", nil)
		require.NoError(t, err)
		w.body = `{"object":"list","has_more":false,"data":[]}`
		l := &sdk.PaymentIntentListParams{}
		l.Context = contract.WithKey(ctx, "k1")
		assert.False(t, sdkOn(w).PaymentIntents.List(l).Next())
		assert.Equal(t, []string{"none", "none"}, w.keys())
	})
}

// noContext is what parameters have that were given none.
var noContext context.Context

func TestBackendRefusesAWriteWithoutAKey(t *testing.T) {
	w := newWire()
	sc, b := sdkOn(w), Backend(&http.Client{Transport: w})
	twice, bad, other, empty := intentParams(contract.WithKey(t.Context(), "k1")), intentParams(noContext), intentParams(noContext), intentParams(noContext)
	twice.SetIdempotencyKey("secret-2")
	bad.SetIdempotencyKey(" secret")
	other.SetIdempotencyKey("secret-1")
	other.Headers = http.Header{"Idempotency-Key": {"secret-2"}}
	empty.SetIdempotencyKey("")
	long := &sdk.Params{Context: contract.WithKey(t.Context(), string(bytes.Repeat([]byte("k"), 256)))}
	var v sdk.PaymentIntent
	for name, send := range map[string]func() error{
		"no key":         func() error { _, err := sc.PaymentIntents.New(intentParams(t.Context())); return err },
		"no context":     func() error { _, err := sc.PaymentIntents.New(intentParams(noContext)); return err },
		"no parameters":  func() error { _, err := sc.PaymentIntents.Confirm("pi_1", nil); return err },
		"two keys":       func() error { _, err := sc.PaymentIntents.New(twice); return err },
		"malformed":      func() error { _, err := sc.PaymentIntents.New(bad); return err },
		"another header": func() error { _, err := sc.PaymentIntents.New(other); return err },
		"an empty key":   func() error { _, err := sc.PaymentIntents.New(empty); return err },
		"call, nil":      func() error { return b.Call("POST", "/v1/x", "sk", nil, &v) },
		"raw":            func() error { return b.CallRaw("POST", "/v1/x", "sk", &form.Values{}, nil, &v) },
		"raw, too long":  func() error { return b.CallRaw("POST", "/v1/x", "sk", nil, long, &v) },
		"patch":          func() error { return b.CallRaw("PATCH", "/v1/x", "sk", nil, nil, &v) },
		"multipart":      func() error { return b.CallMultipart("POST", "/v1/x", "sk", "b", &bytes.Buffer{}, nil, &v) },
		"streaming":      func() error { return b.CallStreaming("POST", "/v1/x", "sk", nil, &sdk.APIStream{}) },
	} {
		err := send()
		var typed *KeyError
		require.ErrorAs(t, err, &typed, name)
		assert.ErrorIs(t, err, contract.Rejected, name)
		assert.Equal(t, contract.Rejected, OutcomeOf(err).Status, name)
		assert.NotContains(t, err.Error(), "secret", name)
		assert.Contains(t, err.Error(), "was not sent", name)
	}
	assert.Empty(t, w.seen, "nothing was sent")
}

func TestBackendEveryEntry(t *testing.T) {
	w := newWire()
	b := Backend(&http.Client{Transport: w})
	p := &sdk.Params{Context: contract.WithKey(t.Context(), "k1")}
	var v sdk.PaymentIntent
	require.NoError(t, b.CallRaw("POST", "/v1/x", "sk", &form.Values{}, p, &v))
	require.NoError(t, b.CallMultipart("POST", "/v1/x", "sk", "b", bytes.NewBufferString("x"), p, &v))
	require.NoError(t, b.CallStreaming("POST", "/v1/x", "sk", p, &sdk.APIStream{}))
	require.NoError(t, b.Call("POST", "/v1/x", "sk", p, &v))
	require.NoError(t, b.CallRaw("DELETE", "/v2/x", "sk", nil, p, &v))
	assert.Equal(t, []string{"k1", "k1", "k1", "k1", "k1"}, w.keys())
	assert.Nil(t, p.IdempotencyKey)
	assert.PanicsWithValue(t, "stripe: Backend needs a client", func() { Backend(nil) })
}

func TestBackendSendsOnce(t *testing.T) {
	for _, status := range []int{409, 429, 500, 503} {
		w := newWire()
		w.status, w.body, w.headers = status, `{"error":{"type":"api_error","code":"lock_timeout"}}`, []string{"Stripe-Should-Retry", "true"}
		b := Backend(&http.Client{Transport: w})
		b.SetMaxNetworkRetries(5)
		sc := client.New("sk_test_x", &sdk.Backends{API: b})
		_, err := sc.PaymentIntents.New(intentParams(contract.WithKey(t.Context(), "k1")))
		require.Error(t, err)
		assert.Len(t, w.seen, 1, status)
	}
	w := newWire()
	w.err = io.ErrUnexpectedEOF
	_, err := sdkOn(w).PaymentIntents.New(intentParams(contract.WithKey(t.Context(), "k1")))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Len(t, w.seen, 1)
}

// loopError is what a retry loop below may return: a status in its chain.
type loopError struct{ status contract.Status }

func (e *loopError) Error() string { return "loop" }
func (e *loopError) Unwrap() error { return e.status }

func TestLoopErrorsComeThrough(t *testing.T) {
	for s := contract.Unknown; s.Valid(); s++ {
		w := newWire()
		w.err = &loopError{s}
		_, err := sdkOn(w).PaymentIntents.New(intentParams(contract.WithKey(t.Context(), "k1")))
		var typed *loopError
		require.ErrorAs(t, err, &typed)
		assert.ErrorIs(t, err, s)
		assert.Equal(t, s, OutcomeOf(err).Status)

		// The SDK alone would panic here.
		both := Backend(&http.Client{Transport: w})
		_, err = client.New("sk_test_x", &sdk.Backends{API: both, Uploads: both}).Quotes.PDF("qt_1", nil)
		require.ErrorAs(t, err, &typed)
		assert.ErrorIs(t, err, s)
	}
}

func TestBackendPanicsOfOthersGoOn(t *testing.T) {
	c := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { panic("mine") })}
	assert.PanicsWithValue(t, "mine", func() { _ = Backend(c).CallStreaming("GET", "/v1/x", "sk", nil, &sdk.APIStream{}) })
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Through the SDK an answer means what it means on the wire.
func TestOutcomeOfReadsAsClassify(t *testing.T) {
	for _, x := range exchanges(t) {
		if x.Reply.StatusCode < 400 {
			continue
		}
		t.Run(x.Name, func(t *testing.T) {
			call := x.Call(New(nil))
			w := &wire{status: x.Reply.StatusCode, body: string(x.Reply.Body)}
			for name := range x.Reply.Header {
				w.headers = append(w.headers, name, x.Reply.Header.Get(name))
			}
			b := Backend(&http.Client{Transport: w})
			p := &sdk.Params{Context: contract.WithKey(t.Context(), "k1")}
			err := b.CallRaw(call.Request.Method, call.Request.URL.Path, "sk", nil, p, &sdk.PaymentIntent{})
			got, want := OutcomeOf(fmt.Errorf("wrapped: %w", err)), New(nil).Classify(call, x.Reply)
			var typed *sdk.Error
			if !errors.As(err, &typed) { // the SDK keeps nothing of an answer that it cannot read
				assert.Equal(t, contract.Unknown, got.Status)
				return
			}
			assert.Equal(t, want, got)
		})
	}
}

func TestOutcomeOfFieldsAlone(t *testing.T) {
	state := &sdk.Error{HTTPStatusCode: 400, Type: sdk.ErrorTypeInvalidRequest, Code: sdk.ErrorCodePaymentIntentUnexpectedState,
		PaymentIntent: &sdk.PaymentIntent{ID: "pi_1", Status: sdk.PaymentIntentStatusSucceeded}}
	for _, tc := range []struct {
		err  error
		want contract.Status
	}{
		{nil, contract.Unknown},
		{errors.New("x"), contract.Unknown},
		{(*sdk.Error)(nil), contract.Unknown},
		{context.DeadlineExceeded, contract.Unknown},
		{&sdk.Error{}, contract.Unknown},
		{&sdk.Error{Type: sdk.ErrorTypeCard}, contract.Unknown},
		{&sdk.Error{HTTPStatusCode: 402, Type: sdk.ErrorTypeCard, Code: sdk.ErrorCodeCardDeclined}, contract.Declined},
		{&sdk.Error{HTTPStatusCode: 400, Type: sdk.ErrorTypeIdempotency}, contract.KeyReused},
		{&sdk.Error{HTTPStatusCode: 409, Code: sdk.ErrorCodeIdempotencyKeyInUse}, contract.InProgress},
		{&sdk.Error{HTTPStatusCode: 429, Code: sdk.ErrorCodeLockTimeout}, contract.NotExecuted},
		{&sdk.Error{HTTPStatusCode: 400, Type: sdk.ErrorTypeInvalidRequest}, contract.Rejected},
		{&sdk.Error{HTTPStatusCode: 500, Type: sdk.ErrorTypeAPI}, contract.Unknown},
		{state, contract.Duplicate},
		{fmt.Errorf("x: %w", contract.KeySpent), contract.KeySpent},
	} {
		assert.Equal(t, tc.want, OutcomeOf(tc.err).Status, "%v", tc.err)
	}
	got := OutcomeOf(state)
	assert.Equal(t, "pi_1", got.Resource)
	assert.Equal(t, "succeeded", got.State)
	assert.Equal(t, "req_9", OutcomeOf(&sdk.Error{HTTPStatusCode: 500, RequestID: "req_9"}).RequestID)
}

// What the error of a backend of ours answers decides what it means.
func TestOutcomeOfKnowsTheRequest(t *testing.T) {
	w := newWire()
	w.status = 400
	w.body = `{"error":{"type":"invalid_request_error","code":"payment_intent_unexpected_state","payment_intent":{"id":"pi_1","status":"succeeded"}}}`
	p := &sdk.PaymentIntentCancelParams{}
	p.Context = contract.WithKey(t.Context(), "k1")
	_, err := sdkOn(w).PaymentIntents.Cancel("pi_1", p)
	assert.Equal(t, contract.Rejected, OutcomeOf(err).Status, "a cancel that came too late")
	c := &sdk.PaymentIntentConfirmParams{}
	c.Context = p.Context
	_, err = sdkOn(w).PaymentIntents.Confirm("pi_1", c)
	assert.Equal(t, contract.Duplicate, OutcomeOf(err).Status)
	assert.Empty(t, w.seen[0].Header.Get(callHeader), "it is not sent")
	assert.Empty(t, w.header.Get(callHeader), "and not written into what others may read")
}

func TestOutcomeOfAWaitWithoutADate(t *testing.T) {
	w := newWire()
	w.status, w.body = 429, `{"error":{"type":"rate_limit_error"}}`
	w.headers = []string{"Retry-After", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)}
	_, err := sdkOn(w).PaymentIntents.New(intentParams(contract.WithKey(t.Context(), "k1")))
	assert.InDelta(t, time.Minute.Seconds(), OutcomeOf(err).RetryAfter.Seconds(), 5)
}

// The declined card of every program: the SDK's own typed error stays.
func TestBackendDeclinedCard(t *testing.T) {
	w := newWire()
	w.status, w.body = 402, `{"error":{"type":"card_error","code":"card_declined","decline_code":"insufficient_funds"}}`
	_, err := sdkOn(w).PaymentIntents.New(intentParams(contract.WithKey(t.Context(), "k1")))
	typed, ok := err.(*sdk.Error)
	require.True(t, ok, "%T", err)
	assert.Equal(t, sdk.DeclineCodeInsufficientFunds, typed.DeclineCode)
	assert.IsType(t, &sdk.CardError{}, typed.Err)
	assert.Equal(t, contract.Declined, OutcomeOf(err).Status)
}

// ourError is an error with an outcome, as the loop's is.
type ourError struct{ o contract.Outcome }

func (ourError) Error() string               { return "ours" }
func (e ourError) Outcome() contract.Outcome { return e.o }

// An error of the loop keeps all that it knows on its way through the SDK.
func TestOutcomeOfKeepsTheLoopsOutcome(t *testing.T) {
	want := contract.Outcome{Status: contract.InProgress, RetryAfter: time.Minute, Code: "x", Resource: "pi_1"}
	assert.Equal(t, want, OutcomeOf(&url.Error{Op: "Post", URL: "/", Err: ourError{want}}))
}

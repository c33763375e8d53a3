package stripe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/form"

	"github.com/idempact/idempact/contract"
)

// Backend returns a backend that runs stripe-go on the given client, as a rule
// the StandardClient of a retry.Client:
//
//	sc := client.New(apiKey, &stripe.Backends{API: providerstripe.Backend(c.StandardClient())})
//
// The SDK's own retries, telemetry and logs are off, and SetMaxNetworkRetries is
// ignored: a second retry loop would multiply the sends. The SDK makes up a random
// key for each write that has none, which protects nothing once the call is over:
// here the key comes from the parameters or from contract.WithKey in their
// context, and a write with neither is refused with a *KeyError, unless its
// context says contract.WithoutKey. Deletes need no key.
//
// It is for the API host. File uploads are multipart and belong on a backend of
// their own. The client is required: Backend panics on nil, since the SDK would
// take a client of its own instead.
func Backend(c *http.Client) stripe.Backend {
	if c == nil {
		panic("stripe: Backend needs a client")
	}
	own := *c
	own.Transport = &transport{next: c.Transport}
	return &backend{stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{
		HTTPClient:        &own,
		MaxNetworkRetries: stripe.Int64(0),
		EnableTelemetry:   stripe.Bool(false),
		LeveledLogger:     &stripe.LeveledLogger{Level: stripe.LevelNull},
	})}
}

// KeyError is the refusal of a write whose key is missing, malformed, or given
// twice in different words. Nothing was sent: errors.Is(err, contract.Rejected).
type KeyError struct {
	Method, Path string
	Err          error // what is wrong
}

// Error says what to do. It never shows a key.
func (e *KeyError) Error() string {
	return fmt.Sprintf("stripe: %s %s was not sent: %v", e.Method, e.Path, e.Err)
}

// Unwrap returns what is wrong, and contract.Rejected.
func (e *KeyError) Unwrap() []error { return []error{e.Err, contract.Rejected} }

var (
	errNoKey   = errors.New("it has no idempotency key: set params.IdempotencyKey, or put one into params.Context with contract.WithKey; contract.WithoutKey sends it without")
	errTwoKeys = errors.New("its parameters and its context carry different idempotency keys")
)

// backend puts the key into the parameters of every call and hands it on.
type backend struct{ sdk stripe.Backend }

func (b *backend) Call(method, path, key string, params stripe.ParamsContainer, v stripe.LastResponseSetter) error {
	own, common := copyParams(params)
	if err := prepare(method, path, common); err != nil {
		return err
	}
	return noteCall(method, path, b.sdk.Call(method, path, key, own, v))
}

func (b *backend) CallRaw(method, path, key string, body *form.Values, params *stripe.Params, v stripe.LastResponseSetter) error {
	own := copyOf(params)
	if err := prepare(method, path, own); err != nil {
		return err
	}
	return noteCall(method, path, b.sdk.CallRaw(method, path, key, body, own, v))
}

func (b *backend) CallMultipart(method, path, key, boundary string, body *bytes.Buffer, params *stripe.Params, v stripe.LastResponseSetter) error {
	own := copyOf(params)
	if err := prepare(method, path, own); err != nil {
		return err
	}
	return noteCall(method, path, b.sdk.CallMultipart(method, path, key, boundary, body, own, v))
}

// CallStreaming guards a fault of stripe-go v76.25.0: DoStreaming reads the
// response before it looks at the error, and panics when there is none.
func (b *backend) CallStreaming(method, path, key string, params stripe.ParamsContainer, v stripe.StreamingLastResponseSetter) (err error) {
	own, common := copyParams(params)
	if err := prepare(method, path, common); err != nil {
		return err
	}
	var failed error
	common.Context = context.WithValue(contextOf(common), failedKey{}, &failed)
	defer func() {
		if failed != nil && recover() != nil {
			err = failed
		}
	}()
	return noteCall(method, path, b.sdk.CallStreaming(method, path, key, own, v))
}

// SetMaxNetworkRetries does nothing: the client below is the one that retries.
func (b *backend) SetMaxNetworkRetries(int64) {}

// prepare sets the key of a call whose parameters are our own copy.
func prepare(method, path string, p *stripe.Params) error {
	if method == http.MethodGet || method == http.MethodHead {
		return nil
	}
	refuse := func(err error) error { return &KeyError{Method: method, Path: path, Err: err} }
	key := contract.HeaderValue(p.Headers, "Idempotency-Key")
	if given := stripe.StringValue(p.IdempotencyKey); key == "" {
		key = given
	} else if given != "" && given != key {
		return refuse(errTwoKeys)
	}
	fromContext, without := contract.KeyFrom(contextOf(p))
	switch {
	case method == http.MethodDelete && !strings.HasPrefix(path, "/v2/"):
		// A key has no effect there, and none is needed.
	case key == "":
		key = fromContext
	case fromContext != "" && fromContext != key:
		return refuse(errTwoKeys)
	}
	switch {
	case key != "":
		if err := (contract.Terms{KeyMaxLen: 255}).CheckKey(key); err != nil {
			return refuse(err)
		}
	case !without && method != http.MethodDelete:
		return refuse(errNoKey)
	}
	// An empty key keeps the SDK from making one up; the transport drops it.
	p.IdempotencyKey = &key
	return nil
}

func contextOf(p *stripe.Params) context.Context {
	if p.Context == nil {
		return context.Background()
	}
	return p.Context
}

func copyOf(p *stripe.Params) *stripe.Params {
	if p == nil {
		return &stripe.Params{}
	}
	own := *p
	return &own
}

// copyParams returns a copy of the parameters, and the common part of that copy:
// a key that was set in the caller's own would go along with the next call. Where
// there are none, it makes some, so that the SDK sends what prepare says.
func copyParams(params stripe.ParamsContainer) (stripe.ParamsContainer, *stripe.Params) {
	v := reflect.ValueOf(params)
	if v.Kind() != reflect.Pointer || v.Type().Elem().Kind() != reflect.Struct {
		none := &stripe.Params{} // the SDK ignores what is not a pointer, too
		return none, none
	}
	own := reflect.New(v.Type().Elem())
	if !v.IsNil() {
		own.Elem().Set(v.Elem())
	}
	container := own.Interface().(stripe.ParamsContainer)
	return container, container.GetParams()
}

type failedKey struct{}

// transport drops an empty key, and remembers a failure for CallStreaming.
type transport struct{ next http.RoundTripper }

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if contract.HeaderValue(r.Header, "Idempotency-Key") == "" && r.Header["Idempotency-Key"] != nil {
		r = r.Clone(r.Context())
		r.Header.Del("Idempotency-Key")
	}
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	res, err := next.RoundTrip(r)
	if slot, ok := r.Context().Value(failedKey{}).(*error); ok && err != nil {
		*slot = &url.Error{Op: r.Method, URL: r.URL.Path, Err: err}
	}
	return res, err
}

// callHeader notes, in the response that an SDK error carries, which request it
// answers: what a refusal means depends on it. It never goes over the wire.
const callHeader = "Idempact-Call"

func noteCall(method, path string, err error) error {
	var e *stripe.Error
	if errors.As(err, &e) && e.LastResponse != nil && e.LastResponse.Header != nil {
		e.LastResponse.Header = e.LastResponse.Header.Clone()
		e.LastResponse.Header.Set(callHeader, method+" "+path)
	}
	return err
}

// OutcomeOf says what an error of stripe-go means for the money: the outcome of
// ours that is in its chain, or what Classify says of the answer that a *stripe.Error
// carries. Anything else, nil too, is Unknown: of a call without an error the
// object itself is the proof.
//
// An error of a backend that is not ours does not show which request it answers.
// A payment_intent_unexpected_state is then read as that of a confirm; the
// Duplicate that it may be must be fetched before it is believed, as always.
func OutcomeOf(err error) contract.Outcome {
	var (
		e      *stripe.Error
		ours   interface{ Outcome() contract.Outcome } // the loop's error
		status contract.Status
	)
	answered := errors.As(err, &e)
	switch {
	case answered && e == nil: // and its Unwrap would panic
	case errors.As(err, &ours):
		return ours.Outcome()
	case errors.As(err, &status):
		return contract.Outcome{Status: status, Reason: "decided before the SDK saw an answer"}
	case answered:
		return classify(endpointOfError(e), replyOfError(e))
	}
	return contract.Outcome{Reason: "not an error of the API"}
}

func endpointOfError(e *stripe.Error) endpoint {
	if e.LastResponse != nil {
		method, path, _ := strings.Cut(e.LastResponse.Header.Get(callHeader), " ")
		if u, err := url.Parse(path); err == nil && method != "" {
			return endpointOf(&http.Request{Method: method, URL: u})
		}
	}
	return endpoint{version: 1, method: http.MethodPost, unseen: true}
}

// replyOfError returns the reply that the error was made of, or, where it was
// not made of one, a reply that says what its fields say.
func replyOfError(e *stripe.Error) contract.Reply {
	r := contract.Reply{StatusCode: e.HTTPStatusCode, Sent: true, At: time.Now()}
	if e.LastResponse != nil {
		r.Header = e.LastResponse.Header
		r.Body = e.LastResponse.RawJSON
	}
	if r.Header == nil && e.RequestID != "" {
		r.Header = http.Header{"Request-Id": {e.RequestID}}
	}
	if len(r.Body) == 0 {
		fault := map[string]any{"type": e.Type, "code": e.Code}
		if e.PaymentIntent != nil {
			fault["payment_intent"] = map[string]any{"id": e.PaymentIntent.ID, "status": e.PaymentIntent.Status}
		}
		r.Body, _ = json.Marshal(map[string]any{"error": fault}) // strings only
	}
	return r
}

var (
	_ stripe.Backend    = (*backend)(nil)
	_ http.RoundTripper = (*transport)(nil)
)

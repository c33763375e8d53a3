package retry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

// secrets is everything that no text may show (I9).
var secrets = []string{
	payKey, "sk_live_secret", "key_secret", "4242424242424242", payBody,
	"customer@example.test", "echoed message", "user_secret", "pass_secret", "query_secret", "transport text",
}

// secretive returns a request full of secrets.
func secretive() *http.Request {
	r := payment(context.Background())
	r.Header.Set("X-Api-Key", "key_secret")
	r.URL.User = url.UserPassword("user_secret", "pass_secret")
	r.URL.RawQuery = "token=query_secret"
	return r
}

// TestNoSecrets looks at everything that a call shows: the error in every verb, as
// JSON and in logs, its causes, the events and the log.
func TestNoSecrets(t *testing.T) {
	echo := `{"code":"card_declined","message":"echoed message for customer@example.test: ` +
		`4242424242424242 with sk_live_secret under ` + payKey + `"}`
	boom := errors.New("transport text: POST " + payBody + " Authorization: Bearer sk_live_secret")
	for name, tc := range map[string]struct {
		script    []act
		transport http.RoundTripper
		adapter   contract.Adapter
	}{
		"success":         {script: []act{respond(201, `{"id":"pay_1","message":"echoed message"}`)}},
		"declined":        {script: []act{respond(402, echo)}},
		"rejected":        {script: []act{respond(400, echo)}},
		"unknown":         {script: []act{respond(500, echo)}},
		"cut":             {script: []act{raw(false, "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n"+echo)}},
		"not HTTP":        {script: []act{raw(false, "echoed message sk_live_secret\r\n\r\n")}},
		"duplicate":       {script: []act{duplicate, respond(200, echo)}},
		"looked up":       {script: []act{respond(410, echo), respond(200, `{"found":["pay_1","pay_2"],"message":"echoed message"}`)}},
		"transport":       {transport: fails{boom}},
		"transport, url":  {transport: fails{&url.Error{Op: "Post", URL: "http://user_secret:pass_secret@pay.test?token=query_secret", Err: boom}}},
		"transport value": {transport: fails{valueError{"transport text sk_live_secret"}}},
		"adapter panics":  {script: []act{created()}, adapter: &stub{classify: func(contract.Call, contract.Reply) contract.Outcome { panic(payBody) }}},
		"no key": {script: []act{created()}, adapter: &stub{terms: with(func(t *contract.Terms) {
			t.KeyHeader, t.KeyField = "", "card.number" // not there
		})}},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				var shown bytes.Buffer
				p := newProvider(tc.script...)
				a := tc.adapter
				if a == nil {
					a = able(&stub{})
				}
				c := newClient(t, p, a, &Options{
					Transport: tc.transport,
					Logger:    slog.New(slog.NewJSONHandler(&shown, &slog.HandlerOptions{Level: slog.LevelDebug})),
					OnAttempt: func(_ context.Context, e AttemptEvent) {
						fmt.Fprintf(&shown, "%v %+v %#v\n", e, e, e)
						b, err := json.Marshal(e)
						assert.NoError(t, err)
						shown.Write(b)
					},
				})
				result, err := c.Do(secretive())
				show(t, &shown, err, result)
				_, err = c.RoundTrip(secretive())
				show(t, &shown, err, nil)
				if name != "no key" {
					assert.NotZero(t, shown.Len())
				}
				for _, s := range secrets {
					assert.NotContains(t, shown.String(), s)
					assert.NotContains(t, shown.String(), strings.Trim(strings.ReplaceAll(fmt.Sprint([]byte(s)), " ", ", "), "[]"), "as numbers")
					assert.NotContains(t, shown.String(), strings.Trim(fmt.Sprint([]byte(s)), "[]"), "as numbers")
				}
			})
		})
	}
}

type valueError struct{ text string }

func (e valueError) Error() string { return e.text }

func show(t *testing.T, w *bytes.Buffer, err error, result *Result) {
	t.Helper()
	fmt.Fprintf(w, "%v %+v %s\n", result, result, result)
	if b, fail := json.Marshal(result); assert.NoError(t, fail) {
		w.Write(b)
	}
	if err == nil {
		return
	}
	fmt.Fprintf(w, "%v %+v %#v %s %q %x %d\n", err, err, err, err, err, err, err)
	fmt.Fprintf(w, "%v %+v\n", fmt.Errorf("wrapped: %w", err), errors.Join(err))
	b, fail := json.Marshal(err)
	assert.NoError(t, fail)
	w.Write(b)
	var fields map[string]any
	assert.NoError(t, json.Unmarshal(b, &fields))
	assert.ElementsMatch(t, []string{"Verdict", "RequestID"}, slices.Collect(maps.Keys(fields)), "no body, in base64 either")
	for _, h := range []slog.Handler{slog.NewTextHandler(w, nil), slog.NewJSONHandler(w, nil)} {
		slog.New(h).Error("failed", "err", err, "result", result)
	}
	var e *Error
	if errors.As(err, &e) {
		fmt.Fprintf(w, "%v %+v %#v %s\n", *e, *e, *e, *e)
		fmt.Fprintf(w, "%v %+v %#v\n", e.Cause, e.Cause, e.Cause)
		if many, ok := e.Cause.(interface{ Unwrap() []error }); ok {
			for _, cause := range many.Unwrap() {
				fmt.Fprintf(w, "%v %+v %#v\n", cause, cause, cause)
			}
		}
		slog.New(slog.NewTextHandler(w, nil)).Error("failed", "err", *e, "verdict", e.Verdict)
	}
}

// TestEventsShowTheRequest: what a log may show is there.
func TestEventsShow(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var log bytes.Buffer
		p := newProvider(respond(500, `{"code":"oops"}`, "Request-Id: req_1"), created())
		c := newClient(t, p, nil, &Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		c.Do(payment(context.Background()))
		assert.Equal(t, 2, strings.Count(log.String(), "\n"))
		for _, want := range []string{"provider=stub", "key=" + contract.KeyTag(payKey), "attempt=1", "http_status=500", "code=oops", "request_id=req_1", "next=resend", "outcome=succeeded"} {
			assert.Contains(t, log.String(), want)
		}
	})
}

// TestProviderStrings: what a provider calls things cannot forge a line of a log,
// drive a terminal or fill a disk.
func TestProviderStrings(t *testing.T) {
	nasty := "x\r\n\x1b[2Jlevel=ERROR msg=forged\x00\u202e" + strings.Repeat("y", 1<<20)
	virtual(t, func(t *testing.T) {
		p := newProvider(created())
		a := &stub{classify: func(contract.Call, contract.Reply) contract.Outcome {
			return contract.Outcome{Status: contract.Duplicate, Resource: nasty, State: nasty, Code: nasty, RequestID: nasty, Reason: nasty}
		}}
		var log bytes.Buffer
		c := newClient(t, p, a, &Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			OnAttempt: func(_ context.Context, e AttemptEvent) { fmt.Fprintf(&log, "%+v", e) }})
		result, err := c.Do(payment(context.Background()))
		wantVerdict(t, contract.Duplicate, result, err)
		var e *Error
		require.ErrorAs(t, err, &e)
		for _, text := range []string{err.Error(), result.String(), e.RequestID, result.Resource, result.Code, result.Last.Reason, strings.ReplaceAll(log.String(), "\n", "")} {
			assert.Less(t, len(text), 20_000)
			assert.Negative(t, strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }), "%q", text)
		}
	})
}

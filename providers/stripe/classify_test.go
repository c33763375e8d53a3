package stripe

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/contract/contracttest"
)

func exchanges(t testing.TB) []contracttest.Exchange {
	t.Helper()
	all, err := contracttest.Exchanges(os.DirFS("testdata"))
	require.NoError(t, err)
	return all
}

func TestTransportErrors(t *testing.T) {
	c := call("POST", api+"/v1/payment_intents", "")
	assert.Equal(t, contract.NotExecuted, New(nil).Classify(c, contract.Reply{Err: errors.New("refused")}).Status)
	assert.Equal(t, contract.Unknown, New(nil).Classify(c, contract.Reply{Err: errors.New("reset"), Sent: true}).Status)
	assert.Equal(t, contract.Unknown, New(nil).Classify(c, contract.Reply{Sent: true}).Status)
}

func call(method, url, body string) contract.Call {
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		panic(err)
	}
	return contract.Call{Request: r, Body: []byte(body), Key: "k1", FirstSent: time.Unix(1_800_000_000, 0)}
}

func reply(status int, body string, headers ...string) contract.Reply {
	h := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return contract.Reply{StatusCode: status, Header: h, Body: []byte(body), Sent: true, At: time.Unix(1_800_000_100, 0)}
}

const api = "https://api.stripe.com"

func TestShouldRetry(t *testing.T) {
	for _, tc := range []struct {
		status   int
		body     string
		advice   string
		want     contract.Status
		noResend bool
	}{
		{500, `{"error":{"type":"api_error"}}`, "FALSE", contract.Unknown, true},
		{500, ``, "false", contract.Unknown, true},
		{503, ``, "maybe", contract.Unknown, false},
		{503, ``, "falsey", contract.Unknown, false},
		{409, `{"error":{"type":"invalid_request_error","code":"idempotency_key_in_use"}}`, "false", contract.InProgress, true},
		{409, `{"error":{"type":"invalid_request_error"}}`, "true", contract.Unknown, false},
		{424, `{"error":{"type":"api_error"}}`, "true", contract.Unknown, false},
		{429, ``, "false", contract.NotExecuted, true},
		{400, `{"error":{"type":"invalid_request_error"}}`, "False", contract.Rejected, false},
		{404, `{"error":{"type":"invalid_request_error"}}`, " True ", contract.NotExecuted, false},
		{400, `<html>`, "true", contract.Unknown, false},
		{402, `{"error":{"type":"card_error"}}`, "true", contract.Declined, false},
		{400, `{"error":{"type":"idempotency_error"}}`, "true", contract.KeyReused, false},
	} {
		got := New(nil).Classify(call("POST", api+"/v1/charges", ""), reply(tc.status, tc.body, "Stripe-Should-Retry", tc.advice))
		assert.Equal(t, tc.want, got.Status, "%d %s", tc.status, tc.advice)
		assert.Equal(t, tc.noResend, got.NoResend, "%d %s", tc.status, tc.advice)
	}
}

// The rows of the contract that have no wire form of their own, or several.
func TestDecisions(t *testing.T) {
	for _, tc := range []struct {
		path, body string
		status     int
		want       contract.Status
		resource   string
	}{
		{"/v1/charges", `{"error":{"type":"idempotency_error"}}`, 422, contract.KeyReused, ""},
		{"/v1/charges", `{"error":{"type":"idempotency_error"}}`, 200, contract.Unknown, ""},
		{"/v1/charges", `{"error":{"type":"invalid_request_error","code":"lock_timeout"}}`, 409, contract.NotExecuted, ""},
		{"/v1/charges", `{"error":{"code":"idempotency_key_in_use"}}`, 409, contract.InProgress, ""},
		{"/v1/charges", `{"error":{"type":"invalid_request_error","code":"idempotency_key_in_use"}}`, 500, contract.Unknown, ""},
		{"/v1/charges", `{"error":{"type":"card_error"}}`, 400, contract.Unknown, ""},
		{"/v1/charges", `{"error":{"type":"api_error"}}`, 402, contract.Unknown, ""},
		{"/v1/charges", `{"error":{"type":"api_error"}}`, 400, contract.Unknown, ""},
		{"/v1/charges", `{"error":{"type":"invalid_request_error"}}`, 422, contract.Unknown, ""},
		{"/v1/charges", `{"error":{"type":7}}`, 400, contract.Unknown, ""},
		{"/v1/charges", `{"error":{"type":"card_error","type":"invalid_request_error"}}`, 402, contract.Unknown, ""},
		{"/v1/payment_intents", `{"error":{"type":"card_error","payment_intent":{"id":"pi_1","status":"processing"}}}`, 402, contract.Unknown, ""},
		{"/v1/charges", `{"id":17}`, 200, contract.Unknown, ""},
		{"/v1/charges", `{"id":""}`, 200, contract.Unknown, ""},
		{"/v1/charges", `{"id":"ch_1","object":"error"}`, 200, contract.Unknown, ""},
		{"/v1/charges", `{"id":"ch_1"}`, 201, contract.Succeeded, "ch_1"},
		{"/v1/charges", `{"id":"ch_1"}`, 199, contract.Unknown, ""},
		{"/v1/payment_intents/pi_1/confirm", `{"error":{"type":"invalid_request_error","code":"payment_intent_unexpected_state"}}`, 400, contract.Unknown, ""},
		{"/v1/payment_intents/pi_1/confirm", `{"error":{"type":"invalid_request_error","code":"payment_intent_unexpected_state","payment_intent":{"status":"succeeded"}}}`, 400, contract.Duplicate, "pi_1"},
		{"/v1/payment_intents/pi_1", `{"error":{"type":"invalid_request_error","code":"payment_intent_unexpected_state","payment_intent":{"id":"pi_1","status":"succeeded"}}}`, 400, contract.Rejected, ""},
		{"/v1/payment_intents", `{"error":{"type":"invalid_request_error","code":"payment_intent_unexpected_state","payment_intent":{"id":"pi_9","status":"succeeded"}}}`, 400, contract.Duplicate, "pi_9"},
		{"/v1/refunds", `{"error":{"type":"invalid_request_error","code":"payment_intent_unexpected_state","payment_intent":{"id":"pi_1","status":"succeeded"}}}`, 400, contract.Unknown, ""},
		{"/v1/refunds", `{"error":{"type":"invalid_request_error","code":"payment_intent_unexpected_state","payment_intent":{"id":"pi_1","status":"canceled"}}}`, 400, contract.Rejected, ""},
		{"/proxy/v1/payment_intents/pi_1/cancel", `{"error":{"type":"invalid_request_error","code":"payment_intent_unexpected_state","payment_intent":{"id":"pi_1","status":"succeeded"}}}`, 400, contract.Unknown, ""},
		{"/v1/payment_intents/pi_1/confirm", `{"error":{"type":"invalid_request_error","code":"payment_intent_unexpected_state","payment_intent":{"id":"../x","status":"succeeded"}}}`, 400, contract.Unknown, ""},
		{"/v1/charges/ch_1/refund", `{"error":{"type":"invalid_request_error","code":"charge_already_refunded"}}`, 400, contract.Duplicate, ""},
	} {
		got := New(nil).Classify(call("POST", api+tc.path, ""), reply(tc.status, tc.body))
		assert.Equal(t, tc.want, got.Status, "%s %d %s: %s", tc.path, tc.status, tc.body, got.Reason)
		assert.Equal(t, tc.resource, got.Resource, "%s %s", tc.path, tc.body)
	}
}

func TestReplayMark(t *testing.T) {
	for mark, want := range map[string]contract.Status{
		"true": contract.KeySpent, "TRUE": contract.KeySpent, "false": contract.Unknown, "1": contract.Unknown, "": contract.Unknown,
	} {
		r := reply(500, `{"error":{"type":"api_error"}}`)
		r.Header["idempotent-replayed"] = []string{mark} // not canonical
		got := New(nil).Classify(call("POST", api+"/v1/charges", ""), r)
		assert.Equal(t, want, got.Status, mark)
		assert.Equal(t, want == contract.KeySpent, got.Replayed, mark)
	}
}

// A person who reads of a firewall's page must not look for a Stripe error.
func TestReasonOfAPage(t *testing.T) {
	got := New(nil).Classify(call("POST", api+"/v1/charges", ""), reply(403, "<html>"))
	assert.Contains(t, got.Reason, "without a readable Stripe error")
}

// What the provider writes cannot break a log line.
func TestWordsAreWords(t *testing.T) {
	got := New(nil).Classify(call("POST", api+"/v1/charges", ""),
		reply(400, `{"error":{"type":"invalid_request_error","code":"a\nb"}}`, "Request-Id", "req 1"))
	assert.Equal(t, contract.Rejected, got.Status)
	assert.Empty(t, got.Code)
	assert.Empty(t, got.RequestID)
}

func TestTerms(t *testing.T) {
	a := New(nil)
	v1 := a.Terms(call("POST", api+"/v1/charges", ""))
	assert.Equal(t, "Idempotency-Key", v1.KeyHeader)
	assert.Equal(t, 255, v1.KeyMaxLen)
	assert.False(t, v1.KeyRequired)
	assert.Equal(t, 24*time.Hour, v1.Retention)
	assert.Equal(t, contract.Replays, v1.Repeat)
	assert.Equal(t, contract.MismatchRefused, v1.Mismatch)
	assert.False(t, v1.Idempotent)
	assert.Contains(t, v1.AccountHeaders, "Stripe-Account")
	assert.Contains(t, v1.VersionHeaders, "Stripe-Version")

	v2 := a.Terms(call("post", api+"/v2/core/accounts", ""))
	assert.Equal(t, "Idempotency-Key", v2.KeyHeader)
	assert.Equal(t, 30*24*time.Hour, v2.Retention)
	assert.Equal(t, contract.ReturnsCurrent, v2.Repeat)
	assert.Equal(t, contract.MismatchUndocumented, v2.Mismatch)
	assert.Contains(t, v2.AccountHeaders, "Stripe-Context")

	gone := a.Terms(call("DELETE", api+"/v1/customers/cus_1", ""))
	assert.True(t, gone.Idempotent)
	assert.False(t, gone.HonoursKeys())
	gone2 := a.Terms(call("DELETE", api+"/v2/core/event_destinations/ed_1", ""))
	assert.True(t, gone2.Idempotent)
	assert.True(t, gone2.HonoursKeys())
	assert.False(t, gone2.KeyRequired)

	for _, terms := range []contract.Terms{v1, v2, gone, gone2} {
		require.NotEmpty(t, terms.Sources)
		for _, s := range terms.Sources {
			assert.Regexp(t, `^https://docs\.stripe\.com/\S+$`, s.URL)
			_, err := time.Parse(time.DateOnly, s.Date)
			assert.NoError(t, err)
		}
	}
	for _, c := range []contract.Call{
		call("GET", api+"/v1/charges", ""), call("PUT", api+"/v1/charges", ""), call("HEAD", api+"/v1/charges", ""),
		call("POST", api+"/v10/charges", ""), call("POST", api+"/v1", ""), call("POST", api+"/v1/", ""),
		call("POST", api+"/V1/charges", ""), call("POST", api+"/v1beta/charges", ""), call("POST", api+"/", ""),
		call("POST", api+"/oauth/token", ""), call("POST", api+"//v1/charges", ""), call("POST", api+"/v1//charges", ""),
		call("POST", api+"/v1/../v2/core/accounts", ""), call("POST", api+"/v1/%2e%2e/v2/core/accounts", ""),
		call("POST", api+"/v1/..%2fv2/core/accounts", ""), call("POST", api+"/v1%2fcharges", ""), {},
		call("POST", api+"/x/v1/charges", ""),
	} {
		assert.Equal(t, contract.Terms{}, a.Terms(c), "%v", c.Request)
	}
	odd := call("POST", api, "")
	odd.Request.URL.Path = "x/v1/charges"
	assert.Equal(t, contract.Terms{}, a.Terms(odd))
	assert.NotZero(t, a.Terms(call("POST", "https://files.stripe.com/v1/files", "")), "any host")
	assert.NotZero(t, a.Terms(call("POST", api+"/v1/coupons/50%25", "")), "an id of the caller's choice")
	assert.Equal(t, "stripe", a.Name())
}

// The oracle is a second reading of the body by encoding/json alone: a certain
// outcome needs the documented shape, or a status that says it by itself.
func FuzzClassify(f *testing.F) {
	for _, x := range exchanges(f) {
		r := x.Call(New(nil)).Request
		f.Add(x.Reply.StatusCode, x.Reply.Body, r.Method, r.URL.String(),
			x.Reply.Header.Get("Stripe-Should-Retry"), x.Reply.Header.Get("Idempotent-Replayed"), false)
	}
	f.Add(200, []byte(`{"id":"pi_1","id":"pi_2"}`), "POST", api+"/v1/charges", "", "", false)
	f.Add(200, []byte(`{"ID":"pi_1"}`), "POST", api+"/v1/charges", "true", "true", true)
	f.Fuzz(func(t *testing.T, status int, body []byte, method, url, advice, replayed string, cut bool) {
		r, err := http.NewRequest(method, url, nil)
		if err != nil {
			return
		}
		p := reply(status, string(body), "Stripe-Should-Retry", advice, "Idempotent-Replayed", replayed)
		if cut {
			p.Err = io.ErrUnexpectedEOF
		}
		o := New(nil).Classify(contract.Call{Request: r}, p)
		require.True(t, o.Status.Valid())
		require.GreaterOrEqual(t, o.RetryAfter, time.Duration(0))
		shape := documentedShape(body)
		alone := status == 429 || status == 425
		switch {
		case o.Status.Effect() == contract.EffectMaybe:
		case alone && o.Status == contract.NotExecuted:
		case cut:
			t.Fatalf("%v from a cut body", o)
		case o.Status == contract.Succeeded:
			require.Equal(t, "object", shape, "%v", o)
			require.Equal(t, 2, status/100)
		default:
			require.Equal(t, "error", shape, "%v", o)
			require.GreaterOrEqual(t, status, 400)
		}
		if o.Resource != "" {
			require.NoError(t, contract.CheckReference(o.Resource))
		}
		require.NotContains(t, strconv.QuoteToASCII(o.String()), `\n`)
	})
}

package ietf_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/providers/ietf"
)

// call returns a POST of a payment as an adapter sees it.
func call(t testing.TB, url, key string) contract.Call {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, nil)
	require.NoError(t, err)
	return contract.Call{Request: r, Body: []byte(`{"amount":100}`), Key: key}
}

func reply(status int, body string, header ...string) contract.Reply {
	r := contract.Reply{StatusCode: status, Body: []byte(body), Sent: true, Header: http.Header{"Content-Type": {"application/json"}}}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

const payments = "https://api.example.com/payments"

// api returns the draft with other answers, whose errors have a code.
func api(change func(*ietf.Options)) *ietf.Adapter {
	o := ietf.Draft()
	o.Code = "code"
	change(&o)
	return ietf.New(&o)
}

func TestPromisesNothingElsewhere(t *testing.T) {
	draft := ietf.New(nil)
	terms := draft.Terms(call(t, payments, ""))
	assert.True(t, terms.HonoursKeys())
	assert.True(t, terms.KeyRequired)
	assert.Zero(t, terms.Retention, "the draft has no number")
	for _, url := range []string{
		"https://api.example.org/payments", "https://api.example.com/payments/p-1", "https://api.example.com/payment",
		"https://api.example.com/a%2F..%2Fpayments", "https://api.example.com/",
	} {
		assert.Zero(t, draft.Terms(call(t, url, "")), url)
	}
	c := call(t, payments, "")
	c.Request.Method = http.MethodPatch
	assert.Zero(t, draft.Terms(c))
	assert.Zero(t, ietf.New(&ietf.Options{}).Terms(call(t, payments, "")), "what is not said is not promised")
	assert.Equal(t, "ietf", ietf.New(&ietf.Options{}).Name())
}

// Descriptions that contradict themselves, or leave out what tells two answers apart,
// settle nothing.
func TestWrongDescriptions(t *testing.T) {
	conflict := contract.Answer{Status: 409}
	for name, c := range map[string]struct {
		change func(*ietf.Options)
		code   string
		want   contract.Status
	}{
		"in flight and another payload": {func(o *ietf.Options) {
			o.Terms.InFlightAnswers, o.Terms.MismatchAnswers = []contract.Answer{conflict}, []contract.Answer{conflict}
		}, "any", contract.Unknown},
		"in flight and refused": {func(o *ietf.Options) {
			o.Answers = map[contract.Answer]contract.Status{conflict: contract.Rejected}
		}, "any", contract.Unknown},
		"exists and in flight": {func(o *ietf.Options) { o.Terms.RepeatAnswers = []contract.Answer{conflict} }, "any", contract.Unknown},
		"told apart by a code": {func(o *ietf.Options) {
			o.Terms.MismatchAnswers = []contract.Answer{{Status: 409, Code: "reused"}}
		}, "reused", contract.KeyReused},
		"told apart by a code, another one": {func(o *ietf.Options) {
			o.Terms.MismatchAnswers = []contract.Answer{{Status: 409, Code: "reused"}}
		}, "busy", contract.InProgress},
		"codes alone, and another one": {func(o *ietf.Options) {
			o.Terms.InFlightAnswers = []contract.Answer{{Status: 409, Code: "busy"}}
			o.Terms.MismatchAnswers = []contract.Answer{{Status: 409, Code: "reused"}}
		}, "new", contract.Unknown},
		"one code with two meanings": {func(o *ietf.Options) {
			o.Terms.InFlightAnswers = []contract.Answer{{Status: 409, Code: "busy"}}
			o.Terms.MismatchAnswers = []contract.Answer{{Status: 409, Code: "busy"}}
		}, "busy", contract.Unknown},
		"a throttle and in flight": {func(o *ietf.Options) {
			o.Answers = map[contract.Answer]contract.Status{conflict: contract.NotExecuted}
		}, "any", contract.Unknown},
		"an error as a success": {func(o *ietf.Options) {
			o.Terms.InFlightAnswers = nil
			o.Answers = map[contract.Answer]contract.Status{conflict: contract.Succeeded}
		}, "any", contract.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			o := api(c.change).Classify(call(t, payments, "k-1"), reply(409, `{"code":"`+c.code+`","id":"pay_1"}`))
			assert.Equal(t, c.want, o.Status, "%v", o)
			assert.Equal(t, c.code, o.Code)
			assert.Empty(t, o.Resource)
		})
	}
}

// What a key is said to mean holds for requests that carry one, where it is honoured.
func TestMeaningsOfAKey(t *testing.T) {
	a := api(func(*ietf.Options) {})
	body := `{"code":"any"}`
	assert.Equal(t, contract.InProgress, a.Classify(call(t, payments, "k-1"), reply(409, body)).Status)
	assert.Equal(t, contract.Unknown, a.Classify(call(t, payments, ""), reply(409, body)).Status)
	assert.Equal(t, contract.Unknown, a.Classify(call(t, payments+"/p-1/capture", "k-1"), reply(409, body)).Status)
	assert.Equal(t, contract.Rejected, a.Classify(call(t, payments, ""), reply(400, body)).Status)
	assert.Equal(t, contract.Unknown, a.Classify(call(t, payments, "k-1"), reply(400, body)).Status, "no key is missing")
}

func TestAnswersInNoFormOfTheAPI(t *testing.T) {
	a := api(func(o *ietf.Options) {
		o.Terms.RepeatAnswers = []contract.Answer{{Status: 410}}
		o.Answers = map[contract.Answer]contract.Status{
			{Status: 402}: contract.Declined, {Status: 403}: contract.Rejected, {Status: 429}: contract.NotExecuted, {Status: 503}: contract.NotExecuted,
		}
	})
	for status, want := range map[int]contract.Status{402: contract.Declined, 403: contract.Rejected, 410: contract.Duplicate, 422: contract.KeyReused, 503: contract.NotExecuted} {
		for _, page := range []string{"", "<html>", "{}", `{"code":""}`, `{"code":{}}`, `[{"code":"x"}]`, `{"code":"x"`} {
			assert.Equal(t, contract.Unknown, a.Classify(call(t, payments, "k-1"), reply(status, page)).Status, "%d %s", status, page)
		}
		for _, own := range []contract.Reply{
			reply(status, `{"code":"x"}`), reply(status, `{"code":7}`), reply(status, `{"code":"a sentence"}`),
			reply(status, `{"title":"An error"}`, "Content-Type", "application/problem+json; charset=utf-8"),
			reply(status, "", "Link", `<https://developer.example.com>; rel=describedby`),
		} {
			assert.Equal(t, want, a.Classify(call(t, payments, "k-1"), own).Status, "%d %s", status, own.Body)
		}
		cut := reply(status, `{"code":"x"}`)
		cut.Err = io.ErrUnexpectedEOF
		assert.Equal(t, contract.Unknown, a.Classify(call(t, payments, "k-1"), cut).Status, "cut")
	}
	codeless := api(func(o *ietf.Options) { o.Code = "" })
	assert.Equal(t, contract.Unknown, codeless.Classify(call(t, payments, "k-1"), reply(422, `{"":"x","code":"x"}`)).Status, "no path to a code shows none")

	// A throttle and "still running" are their status.
	assert.Equal(t, contract.NotExecuted, a.Classify(call(t, payments, "k-1"), reply(429, "<html>")).Status)
	assert.Equal(t, contract.InProgress, a.Classify(call(t, payments, "k-1"), reply(409, "<html>")).Status)
	busy := api(func(o *ietf.Options) { o.Terms.InFlightAnswers = []contract.Answer{{Status: 429, Code: "busy"}} })
	assert.Equal(t, contract.InProgress, busy.Classify(call(t, payments, "k-1"), reply(429, `{"code":"busy"}`)).Status)
	assert.Equal(t, contract.Unknown, busy.Classify(call(t, payments, "k-1"), reply(429, `{"code":"limit"}`)).Status)

	// Where one status means both, the code decides, and an answer without one proves nothing.
	both := api(func(o *ietf.Options) {
		o.Terms.InFlightAnswers = []contract.Answer{{Status: 429, Code: "busy"}}
		o.Answers = map[contract.Answer]contract.Status{{Status: 429}: contract.NotExecuted}
	})
	for body, want := range map[string]contract.Status{
		`{"code":"busy"}`: contract.InProgress, `{"code":"limit"}`: contract.NotExecuted, "<html>": contract.Unknown, `{"code":"busy"`: contract.Unknown,
	} {
		assert.Equal(t, want, both.Classify(call(t, payments, "k-1"), reply(429, body)).Status, body)
	}
}

func TestSuccess(t *testing.T) {
	a := api(func(o *ietf.Options) {
		o.Refused = []string{"refused"}
		o.Terms.ReplayMarker = "Replayed"
		o.Echoes = []contract.Field{{Path: "amount", Same: contract.SameAmount, Need: contract.IfAsked}}
	})
	for body, want := range map[string]contract.Status{
		`{"id":"p-1","amount":100,"status":"created"}`: contract.Succeeded,
		`{"id":"p-1","amount":"100"}`:                  contract.Succeeded,
		`{"id":"p-1","amount":100,"status":"refused"}`: contract.Declined,
		`{"id":"p-1","amount":101,"status":"refused"}`: contract.Duplicate,
		`{"id":"p-1","amount":101}`:                    contract.Duplicate,
		`{"id":"p-1"}`:                                 contract.Duplicate,
		`{"id":7,"amount":100}`:                        contract.Unknown,
		`{"id":"","amount":100}`:                       contract.Unknown,
		`{"id":"../p","amount":100}`:                   contract.Unknown,
		`{"id":"a","id":"b","amount":100}`:             contract.Unknown,
		`[]`:                                           contract.Unknown,
		``:                                             contract.Unknown,
	} {
		o := a.Classify(call(t, payments, "k-1"), reply(200, body))
		assert.Equal(t, want, o.Status, "%s: %v", body, o)
		assert.False(t, o.Replayed)
	}
	assert.True(t, a.Classify(call(t, payments, "k-1"), reply(200, `{"id":"p-1","amount":100}`, "Replayed", "True")).Replayed)
	assert.False(t, a.Classify(call(t, payments, "k-1"), reply(200, `{"id":"p-1","amount":100}`, "Replayed", "false")).Replayed)
	assert.Equal(t, contract.Unknown, a.Classify(call(t, payments, "k-1"), reply(204, "")).Status)
	shows := api(func(o *ietf.Options) { o.Resource = "" }).Classify(call(t, payments, "k-1"), reply(200, `{"":"p-1","id":"p-1"}`))
	assert.Equal(t, contract.Unknown, shows.Status, "no path to a reference shows none")
}

// Dwolla shows a transfer by a Location, and "too many" where another one of the same
// source runs. Source: github.com/Dwolla/dwolla-openapi, openapi.yml, and its page
// api-fundamentals/idempotency-key (read 2026-11-29).
var dwolla = ietf.Options{
	Name: "dwolla", Requests: []string{"POST /transfers"},
	Terms: contract.Terms{
		KeyHeader: "Idempotency-Key", Retention: 24 * time.Hour, Repeat: contract.Replays,
		InFlightAnswers: []contract.Answer{{Status: 409}},
	},
	Successes: []int{201}, Location: "Location", Code: "code",
	Answers: map[contract.Answer]contract.Status{{Status: 400, Code: "ValidationError"}: contract.Rejected},
}

func TestSuccessWithoutABody(t *testing.T) {
	const transfers = "https://api.dwolla.com/transfers"
	located, silent := ietf.New(&dwolla), dwolla
	silent.Location = ""
	for _, x := range []struct {
		status         int
		location, body string
		want           string
	}{
		{201, transfers + "/t-1", "", "t-1"},
		{201, "/transfers/t-1", "\n", "t-1"},
		{200, transfers + "/t-1", "", ""},
		{201, "", "", ""},
		{201, transfers + "/", "", ""},
		{201, transfers + "/..", "", ""},
		{201, transfers + "/t%201", "", ""},
		{201, ":", "", ""},
		{201, transfers + "/t-1", "<html>", ""},
		{201, transfers + "/t-1", `{"code":"x"}`, ""},
	} {
		r := reply(x.status, x.body, "Location", x.location)
		o := located.Classify(call(t, transfers, "k-1"), r)
		assert.Equal(t, x.want, o.Resource, "%+v", x)
		assert.Equal(t, x.want != "", o.Status == contract.Succeeded, "%+v", x)
		assert.Equal(t, contract.Unknown, ietf.New(&silent).Classify(call(t, transfers, "k-1"), r).Status, "%+v", x)
	}
	assert.Equal(t, contract.Unknown, located.Classify(call(t, transfers, "k-1"), reply(429, `{"code":"TooManyRequests"}`)).Status)
}

func TestWaitsAndAdvice(t *testing.T) {
	a := api(func(o *ietf.Options) {
		o.Terms.WaitHeaders, o.Terms.MinWait = []string{"RateLimit-Reset"}, 3*time.Second
		o.AdviceHeader, o.IDHeader = "Should-Retry", "Trace-Id"
	})
	o := a.Classify(call(t, payments, "k-1"), reply(409, `{"code":"busy"}`, "Trace-Id", "t-1"))
	assert.Equal(t, 3*time.Second, o.RetryAfter)
	assert.Equal(t, "t-1", o.RequestID)
	o = a.Classify(call(t, payments, "k-1"), reply(409, `{"code":"busy"}`, "RateLimit-Reset", "5", "Retry-After", "4"))
	assert.Equal(t, 5*time.Second, o.RetryAfter)
	o = a.Classify(call(t, payments, "k-1"), reply(500, `{"code":"busy"}`, "Retry-After", "4", "Should-Retry", "FALSE"))
	assert.Equal(t, 4*time.Second, o.RetryAfter)
	assert.True(t, o.NoResend)
	o = a.Classify(call(t, payments, "k-1"), reply(200, `{"id":"p-1"}`, "Retry-After", "4", "Should-Retry", "false"))
	assert.Zero(t, o.RetryAfter)
	assert.False(t, o.NoResend)
}

// FuzzClassify asks a second reader: what settles anything must be shown, and nothing of
// the body stands in a reason.
func FuzzClassify(f *testing.F) {
	for _, dir := range []string{"testdata", "testdata/column", "testdata/truelayer"} {
		all, err := contracttest.Exchanges(os.DirFS(dir))
		require.NoError(f, err)
		for _, x := range all {
			f.Add(uint8(0), x.Reply.StatusCode, x.Reply.Body, x.Reply.Header.Get("Content-Type"), x.Reply.Header.Get("Link"))
			f.Add(uint8(1), x.Reply.StatusCode, x.Reply.Body, x.Reply.Header.Get("Content-Type"), x.Reply.Header.Get("Link"))
		}
	}
	adapters := []*ietf.Adapter{ietf.New(nil), ietf.New(&column), ietf.New(&trueLayer)}
	calls := []contract.Call{call(f, payments, "k-1"), call(f, "https://api.column.com/transfers/book", "k-1"), call(f, "https://api.truelayer.com/v3/payments", "")}
	said := map[string]bool{}
	f.Fuzz(func(t *testing.T, which uint8, status int, body []byte, media, link string) {
		a, c := adapters[int(which)%len(adapters)], calls[int(which)%len(calls)]
		r := contract.Reply{StatusCode: status, Body: body, Sent: true, Header: http.Header{"Content-Type": {media}, "Link": {link}}}
		o := a.Classify(c, r)
		if o != a.Classify(c, r) {
			t.Fatal("two answers to one question")
		}
		if o.RetryAfter < 0 || o.Source != contract.FromReply || o.Resource != "" && contract.CheckReference(o.Resource) != nil {
			t.Fatalf("%v", o)
		}
		if said[o.Reason] = true; len(said) > 20 {
			t.Fatalf("reasons are made of bodies: %q", o.Reason)
		}
		var shown struct {
			ID any `json:"id"`
		}
		readable := json.Unmarshal(body, &shown) == nil
		switch o.Status {
		case contract.Succeeded, contract.Duplicate:
			if !readable || shown.ID != o.Resource || status != 200 && status != 201 {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.Rejected, contract.KeyReused:
			if status < 400 || status > 499 || !readable && link == "" {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.NotExecuted:
			if status != 429 {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.InProgress:
			if status != 409 {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.Declined:
			if !readable || status != 200 && status != 201 {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.Unknown:
		default:
			t.Fatalf("%d %q: %v", status, body, o)
		}
	})
}

package increase_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/internal/explore"
	"github.com/idempact/idempact/internal/explore/exploretest"
	"github.com/idempact/idempact/internal/faketest"
	"github.com/idempact/idempact/providers/increase"
	"github.com/idempact/idempact/retry"
)

var adapter = increase.New(nil)

func fake() contracttest.Fake { return faketest.Of(fakes.NewIncrease(nil)) }

// endpoint returns the example of a path.
func endpoint(t testing.TB, path string) contract.Endpoint {
	for _, e := range adapter.Endpoints() {
		if strings.HasSuffix(e.URL, ".com/"+path) {
			return e
		}
	}
	require.FailNow(t, "no endpoint "+path)
	return contract.Endpoint{}
}

// TestContract runs the suite for the endpoints that differ: an amount in cents, a
// decimal one, none, an action without a key, and a change that needs none.
func TestContract(t *testing.T) {
	for _, path := range []string{"ach_transfers", "card_push_transfers", "external_accounts", "ach_transfers/ach_transfer_1/approve", "account_numbers/account_number_1"} {
		e := endpoint(t, path)
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			contracttest.Run(t, contracttest.Spec{
				Adapter: adapter, Fake: fake, Exchanges: os.DirFS("testdata"),
				Request: func(key string, amount int64) (*http.Request, error) { return e.Request(key, amount) },
			})
		})
	}
}

func TestExplore(t *testing.T) {
	transfer := explore.Subject{
		Name: "increase", Adapter: adapter, Fake: fakes.NewIncrease, Action: "create", KeyHeader: "Idempotency-Key",
		Refusal:  fakes.Status(http.StatusUnauthorized, `{"type":"invalid_api_key_error","status":401,"title":"t","detail":null}`),
		Endpoint: endpoint(t, "ach_transfers"),
	}
	keyless := transfer
	keyless.Name, keyless.Keyless = "increase without a key", true
	exploretest.Run(t, transfer, keyless)
}

// client returns a loop on a fake.
func client(t *testing.T, server *fakes.Server, o retry.Options) *retry.Client {
	o.Transport, o.MinWait, o.MaxWait = server.Transport(), time.Millisecond, time.Millisecond
	c, err := retry.NewClient(adapter, &o)
	require.NoError(t, err)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func pay(t *testing.T, c *retry.Client, amount int64) (*retry.Result, error) {
	req, err := endpoint(t, "ach_transfers").Request("", amount)
	require.NoError(t, err)
	return c.Do(req.WithContext(contract.WithKey(t.Context(), "k-1")))
}

// A repeat is a success, marked; another request under the key is refused, and of the
// first one it says no more than its name.
func TestRepeat(t *testing.T) {
	server := fakes.NewIncrease(nil)
	c := client(t, server, retry.Options{})
	server.Script(fakes.LoseReply)
	first, err := pay(t, c, 2500)
	require.NoError(t, err)
	assert.True(t, first.Replayed)
	other, err := pay(t, c, 2600)
	assert.ErrorIs(t, err, contract.KeyReused)
	assert.Equal(t, first.Resource, other.Resource)
	assert.False(t, other.AllowsNewKey(), "it may be the same action with another amount")
	assert.Len(t, server.Effects(), 1)
}

// An answer that is lost, and cannot be asked for again, is looked up by the key.
func TestLookUp(t *testing.T) {
	server := fakes.NewIncrease(nil)
	c := client(t, server, retry.Options{MaxAttempts: 1})
	server.Script(fakes.LoseReply)
	found, err := pay(t, c, 2500)
	require.NoError(t, err, "%v", found)
	assert.Equal(t, contract.FromLookUp, found.Source)
	assert.Equal(t, "ach_transfer_000001", found.Resource)

	// Of another request it is not taken for this one's.
	server.Script(fakes.ResetAfterSend)
	other, err := pay(t, c, 2600)
	assert.ErrorIs(t, err, contract.KeyReused, "%v", other)
	assert.Len(t, server.Effects(), 1)
}

// An empty list proves nothing.
func TestEmptyListProvesNothing(t *testing.T) {
	server := fakes.NewIncrease(&fakes.Options{VisibilityDelay: time.Hour})
	c := client(t, server, retry.Options{MaxAttempts: 1})
	server.Script(fakes.LoseReply)
	result, err := pay(t, c, 2500)
	assert.ErrorIs(t, err, contract.Unknown)
	assert.False(t, result.AllowsNewKey())
}

func call(t testing.TB, path string) contract.Call {
	e := endpoint(t, path)
	req, err := e.Request("", 100)
	require.NoError(t, err)
	req.Body = nil
	body := strings.NewReplacer("{amount}", "100", "{decimal}", "1.00").Replace(e.Body)
	return contract.Call{Request: req, Body: []byte(body), Key: "k&1", FirstSent: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
}

func reply(status int, body string, headers ...string) contract.Reply {
	r := contract.Reply{StatusCode: status, Header: http.Header{}, Body: []byte(body), Sent: true}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func TestFind(t *testing.T) {
	c := call(t, "ach_transfers")
	req, _, err := adapter.Find(t.Context(), c, contract.Finding{Absent: true}, nil)
	require.NoError(t, err)
	assert.Equal(t, "/ach_transfers", req.URL.Path)
	assert.Equal(t, url.Values{"idempotency_key": {"k&1"}}, req.URL.Query(), "the key steers nothing")

	const one = `{"id":"ach_1","type":"ach_transfer","idempotency_key":"k&1"}`
	for name, l := range map[string]struct {
		reply contract.Reply
		found []string
		fails bool
	}{
		"one":                 {reply(200, `{"data":[`+one+`],"next_cursor":null}`), []string{"ach_1"}, false},
		"one, twice":          {reply(200, `{"data":[`+one+`,`+one+`]}`), []string{"ach_1"}, false},
		"two are an alarm":    {reply(200, `{"data":[`+one+`,`+strings.Replace(one, "ach_1", "ach_2", 1)+`]}`), []string{"ach_1", "ach_2"}, false},
		"none":                {reply(200, `{"data":[],"next_cursor":null}`), nil, false},
		"of another key":      {reply(200, `{"data":[`+strings.Replace(one, "k&1", "k-2", 1)+`]}`), nil, true},
		"of no key":           {reply(200, `{"data":[{"id":"ach_1","type":"ach_transfer","idempotency_key":null}]}`), nil, true},
		"of another type":     {reply(200, `{"data":[`+strings.Replace(one, "ach_transfer", "wire_transfer", 1)+`]}`), nil, true},
		"a hostile reference": {reply(200, `{"data":[`+strings.Replace(one, "ach_1", "../ach_1", 1)+`]}`), nil, true},
		"no object":           {reply(200, `{"data":["ach_1"]}`), nil, true},
		"no list":             {reply(200, `{"data":{}}`), nil, true},
		"an error":            {reply(500, `{"data":[]}`), nil, true},
		"cut":                 {contract.Reply{StatusCode: 200, Body: []byte(`{"data":[]}`), Err: http.ErrBodyReadAfterClose}, nil, true},
		"not JSON":            {reply(200, `<html>`), nil, true},
	} {
		next, so, err := adapter.Find(t.Context(), c, contract.Finding{Absent: true}, &l.reply)
		assert.Nil(t, next, name)
		assert.Equal(t, l.fails, err != nil, name)
		assert.Equal(t, l.found, so.Resources, name)
		assert.False(t, so.Absent, name)
	}
	unsent, keyless, action := c, c, call(t, "ach_transfers/ach_transfer_1/approve")
	unsent.FirstSent, keyless.Key = time.Time{}, ""
	for _, c := range []contract.Call{unsent, keyless, action, call(t, "account_numbers/account_number_1")} {
		req, so, err := adapter.Find(t.Context(), c, contract.Finding{}, nil)
		assert.NoError(t, err)
		assert.Nil(t, req)
		assert.NotEmpty(t, so.Reason)
	}
}

func TestResolve(t *testing.T) {
	const shown = `{"id":"ach_1","type":"ach_transfer","amount":100,"account_id":"account_1","external_account_id":"external_account_1","statement_descriptor":"{order}","status":"returned","idempotency_key":"k&1"}`
	ach := call(t, "ach_transfers")
	noAmount, notJSON, hook, number := ach, ach, call(t, "ach_transfers/ach_transfer_1/approve"), ach
	noAmount.Body, notJSON.Body = []byte(`{"account_id":"account_1"}`), []byte("x")
	hook.Body = ach.Body
	number.Body = []byte(`{"amount":100,"account_number":"example-1"}`)
	outside := call(t, "external_accounts")
	outside.Body = []byte("x")
	card, own := call(t, "card_push_transfers"), call(t, "account_transfers")
	const push = `{"id":"ach_1","type":"card_push_transfer","presentment_amount":{"value":"1.0","currency":"usd"},"source_account_number_id":"account_number_1","card_token_id":"card_token_1"}`
	with := func(old, new string) string { return strings.Replace(shown, old, new, 1) }
	for name, c := range map[string]struct {
		call  contract.Call
		reply contract.Reply
		want  contract.Status
	}{
		"what was asked":                   {ach, reply(200, shown), contract.Succeeded},
		"another amount":                   {ach, reply(200, with("100", "101")), contract.KeyReused},
		"the other direction":              {ach, reply(200, with("100", "-100")), contract.KeyReused},
		"another account":                  {ach, reply(200, with(`"account_1"`, `"account_2"`)), contract.KeyReused},
		"another receiver":                 {ach, reply(200, with("external_account_1", "external_account_2")), contract.KeyReused},
		"another descriptor":               {ach, reply(200, with("{order}", "x")), contract.Duplicate},
		"no amount shown":                  {ach, reply(200, with(`"amount":100,`, "")), contract.Duplicate},
		"of another key":                   {ach, reply(200, with("k&1", "k-2")), contract.Duplicate},
		"another id":                       {ach, reply(200, with("ach_1", "ach_2")), contract.Duplicate},
		"another type":                     {ach, reply(200, with("ach_transfer", "wire_transfer")), contract.Duplicate},
		"an error":                         {ach, reply(500, shown), contract.Duplicate},
		"not found":                        {ach, reply(404, `{"type":"object_not_found_error"}`), contract.Duplicate},
		"no amount asked":                  {noAmount, reply(200, shown), contract.Duplicate},
		"a request that is none":           {notJSON, reply(200, shown), contract.Duplicate},
		"no request of an account":         {outside, reply(200, `{"id":"ach_1","type":"external_account","status":"active"}`), contract.Duplicate},
		"an action":                        {hook, reply(200, shown), contract.Duplicate},
		"another account number":           {number, reply(200, with(`"amount"`, `"account_number":"example-2","amount"`)), contract.Duplicate},
		"another account within":           {own, reply(200, `{"id":"ach_1","type":"account_transfer","amount":100,"account_id":"account_1","destination_account_id":"account_3","description":"{order}"}`), contract.KeyReused},
		"another account number that pays": {card, reply(200, strings.Replace(push, "account_number_1", "account_number_2", 1)), contract.KeyReused},
		"a decimal amount":                 {card, reply(200, push), contract.Succeeded},
		"another decimal amount":           {card, reply(200, strings.Replace(push, "1.0", "1.01", 1)), contract.KeyReused},
		"another currency":                 {card, reply(200, strings.Replace(push, "usd", "eur", 1)), contract.KeyReused},
		"another card":                     {card, reply(200, strings.Replace(push, "card_token_1", "card_token_2", 1)), contract.KeyReused},
	} {
		got := adapter.ClassifyResolve(c.call, contract.Outcome{Status: contract.Duplicate, Resource: "ach_1"}, c.reply)
		assert.Equal(t, c.want, got.Status, "%s: %v", name, got)
		assert.Equal(t, contract.FromLookUp, got.Source)
	}
	assert.Equal(t, "returned", adapter.ClassifyResolve(ach, contract.Outcome{Resource: "ach_1"}, reply(200, shown)).State)
	unnamed := adapter.ClassifyResolve(ach, contract.Outcome{}, reply(200, with(`"id":"ach_1",`, "")))
	assert.Equal(t, contract.Duplicate, unnamed.Status)
	cut := reply(200, shown)
	cut.Err = http.ErrBodyReadAfterClose
	assert.Equal(t, contract.Duplicate, adapter.ClassifyResolve(ach, contract.Outcome{Resource: "ach_1"}, cut).Status)

	req, err := adapter.ResolveRequest(t.Context(), ach, contract.Outcome{Resource: "ach_1"})
	require.NoError(t, err)
	assert.Equal(t, "https://api.increase.com/ach_transfers/ach_1", req.URL.String())
	_, err = adapter.ResolveRequest(t.Context(), hook, contract.Outcome{Resource: "ach_1"})
	assert.ErrorIs(t, err, contract.ErrReference)
	_, err = adapter.ResolveRequest(t.Context(), ach, contract.Outcome{Resource: "ach_1, ach_2"})
	assert.ErrorIs(t, err, contract.ErrReference)
}

// What looks like an answer of another status or kind is none.
func TestUnknown(t *testing.T) {
	for body, statuses := range map[string][]int{
		`{"id":"ach_1","type":"ach_transfer"}`: {201 + 1, 206, 299, 400, 500},
		`{"id":"ach_1"}`:                       {200, 201},
		`{"type":"ach_transfer"}`:              {200, 201},
		`{"type":"idempotency_key_already_used_error","resource_id":"ach_1"}`: {400, 422, 500},
		`{"type":"invalid_operation_error"}`:                                  {400, 403, 422, 500},
		`{"type":"internal_server_error"}`:                                    {400, 409, 500},
		`{"status":409}`:                                                      {400, 409},
	} {
		for _, status := range statuses {
			o := adapter.Classify(call(t, "ach_transfers"), reply(status, body))
			assert.Equal(t, contract.Unknown, o.Status, "%d %s", status, body)
		}
	}
	c := call(t, "ach_transfers")
	for _, marker := range []string{"", "false", "true"} {
		o := adapter.Classify(c, reply(200, `{"id":"ach_1","type":"ach_transfer"}`, "Idempotent-Replayed", marker))
		assert.Equal(t, marker == "true", o.Replayed, marker)
	}
	// Of an endpoint that is not known an object is shown, or not.
	c.Request.URL.Path = "/cards"
	for body, want := range map[string]contract.Status{`{"id":"card_1"}`: contract.Unknown, `{"id":"card_1","type":"card"}`: contract.Succeeded} {
		assert.Equal(t, want, adapter.Classify(c, reply(200, body)).Status, body)
	}
	c.Request.URL.Path = "/cards/card_2"
	assert.Equal(t, contract.Unknown, adapter.Classify(c, reply(200, `{"id":"card_1","type":"card"}`)).Status)
	assert.Equal(t, contract.Succeeded, adapter.Classify(call(t, "ach_transfers"), reply(201, `{"id":"ach_1","type":"ach_transfer"}`)).Status)
}

func TestWait(t *testing.T) {
	c := call(t, "ach_transfers")
	for name, w := range map[string]struct {
		reply contract.Reply
		want  time.Duration
	}{
		"in the header":        {reply(429, "", "Retry-After", "7"), 7 * time.Second},
		"in the body":          {reply(429, `{"retry_after":9}`), 9 * time.Second},
		"in both":              {reply(429, `{"retry_after":9}`, "Retry-After", "7"), 7 * time.Second},
		"no number":            {reply(429, `{"retry_after":{}}`), 0},
		"a negative one":       {reply(429, `{"retry_after":-9}`), 0},
		"no date without time": {reply(429, `{"retry_after":"Sun, 29 Nov 2026 12:01:00 GMT"}`), 0},
		"of a success":         {reply(200, `{"id":"ach_1","type":"ach_transfer","retry_after":9}`), 0},
	} {
		assert.Equal(t, w.want, adapter.Classify(c, w.reply).RetryAfter, name)
	}
}

// A key counts where an object is created; a change needs none, and nothing is said of
// what is not known.
func TestTerms(t *testing.T) {
	for _, e := range adapter.Endpoints() {
		req, err := e.Request("", 1)
		require.NoError(t, err)
		terms := adapter.Terms(contract.Call{Request: req})
		action := strings.HasSuffix(e.URL, "/approve") || strings.HasSuffix(e.URL, "/cancel")
		assert.Equal(t, e.Method == http.MethodPost && !action, terms.HonoursKeys(), e.URL)
		assert.Equal(t, e.Method == http.MethodPatch, terms.Idempotent, e.URL)
		assert.Zero(t, terms.Retention, "not published")
	}
	for _, path := range []string{"/", "/simulations/ach_transfers/a_1/settle", "/ach_transfers/a_1", "/ach_transfers/../wire_transfers", "/check_transfers/c_1/stop_payment"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.increase.com"+path, nil)
		require.NoError(t, err)
		assert.Equal(t, contract.Terms{}, adapter.Terms(contract.Call{Request: req}), path)
	}
}

// FuzzClassify asks a second reader: an answer that settles anything must be JSON that
// shows, by the standard decoder, what it is taken for.
func FuzzClassify(f *testing.F) {
	all, err := contracttest.Exchanges(os.DirFS("testdata"))
	require.NoError(f, err)
	for _, x := range all {
		f.Add(uint8(len(x.Name)), x.Reply.StatusCode, x.Reply.Body, x.Reply.Header.Get("Idempotent-Replayed"))
	}
	var calls []contract.Call
	var kinds = []string{"ach_transfer", "card_push_transfer", "ach_transfer", "account_number"}
	for _, path := range []string{"ach_transfers", "card_push_transfers", "ach_transfers/ach_transfer_1/approve", "account_numbers/account_number_1"} {
		calls = append(calls, call(f, path))
	}
	f.Fuzz(func(t *testing.T, which uint8, status int, body []byte, marker string) {
		c, kind := calls[int(which)%len(calls)], kinds[int(which)%len(calls)]
		r := reply(status, string(body), "Idempotent-Replayed", marker)
		o := adapter.Classify(c, r)
		if o != adapter.Classify(c, r) || o.RetryAfter < 0 || o.Source != contract.FromReply || o.Replayed && o.Status != contract.Succeeded {
			t.Fatalf("%v", o)
		}
		if o.Resource != "" && contract.CheckReference(o.Resource) != nil || len(o.Code) > 255 || strings.ContainsAny(o.Code+o.State, " \n") {
			t.Fatalf("%v", o)
		}
		var shown map[string]any
		readable := json.Unmarshal(body, &shown) == nil && shown != nil
		switch o.Status {
		case contract.Succeeded:
			if !readable || status != 200 && status != 201 || shown["id"] != o.Resource || shown["type"] != kind {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.KeyReused:
			if !readable || status != 409 || shown["type"] != "idempotency_key_already_used_error" {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.Rejected:
			if !readable || status < 400 || status > 409 || shown["type"] != o.Code {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.NotExecuted:
			if status != 429 && status != 425 {
				t.Fatalf("%d: %v", status, o)
			}
		case contract.Unknown:
		default:
			t.Fatalf("%d %q: %v", status, body, o)
		}
	})
}

// TestAnotherAmount: a success that contradicts the request confirms nothing.
func TestAnotherAmount(t *testing.T) {
	c := call(t, "ach_transfers")
	for shown, want := range map[string]contract.Status{
		`"amount":100`: contract.Succeeded, `"amount":101`: contract.Unknown,
		`"account_id":"account_1"`: contract.Succeeded, `"account_id":"account_9"`: contract.Unknown,
	} {
		assert.Equal(t, want, adapter.Classify(c, reply(200, `{"id":"ach_1","type":"ach_transfer",`+shown+`}`)).Status, shown)
	}
}

// TestCameToNothing: a transfer that was rejected or canceled moved no money. One that
// came back had moved.
func TestCameToNothing(t *testing.T) {
	c := call(t, "ach_transfers")
	for state, want := range map[string]contract.Status{
		"rejected": contract.Declined, "canceled": contract.Declined, "returned": contract.Succeeded, "requires_attention": contract.Succeeded,
	} {
		got := adapter.Classify(c, reply(200, `{"id":"ach_1","type":"ach_transfer","amount":100,"status":"`+state+`"}`))
		assert.Equal(t, want, got.Status, state)
		assert.Equal(t, state, got.State)

		var shown contract.Object
		require.NoError(t, json.Unmarshal(c.Body, &shown))
		shown["id"], shown["type"], shown["status"], shown["idempotency_key"] = "ach_1", "ach_transfer", state, c.Key
		body, err := json.Marshal(shown)
		require.NoError(t, err)
		fetched := adapter.ClassifyResolve(c, contract.Outcome{Resource: "ach_1"}, reply(200, string(body)))
		assert.Equal(t, want == contract.Succeeded, fetched.Status == contract.Succeeded, "%s: %v", state, fetched)
		assert.False(t, fetched.AllowsNewKey(), state)
	}
	cancel := call(t, "ach_transfers/ach_transfer_1/cancel")
	assert.Equal(t, contract.Succeeded, adapter.Classify(cancel, reply(200, `{"id":"ach_transfer_1","type":"ach_transfer","status":"canceled"}`)).Status)
}

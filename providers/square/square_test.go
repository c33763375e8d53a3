package square_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"slices"
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
	"github.com/idempact/idempact/providers/square"
	"github.com/idempact/idempact/retry"
)

func fake() contracttest.Fake { return faketest.Of(fakes.NewSquare(nil)) }

func TestContract(t *testing.T) {
	differ := []string{"create a payment", "pay an order", "complete a payment", "create an order", "write many catalog objects"}
	unique := square.New(&square.Options{UniqueReference: true})
	for _, e := range unique.Endpoints() {
		if !slices.Contains(differ, e.Name) {
			continue // promised what one of those is
		}
		t.Run(e.Name, func(t *testing.T) {
			contracttest.Run(t, contracttest.Spec{Adapter: square.New(nil), Request: e.Request, Fake: fake, Exchanges: os.DirFS("testdata")})
		})
	}
	t.Run("with unique references", func(t *testing.T) {
		contracttest.Run(t, contracttest.Spec{Adapter: unique, Fake: fake, Exchanges: os.DirFS("testdata")})
	})
}

// Every example succeeds at the fake.
func TestExamples(t *testing.T) {
	for _, e := range square.New(nil).Endpoints() {
		client, err := retry.NewClient(square.New(nil), &retry.Options{Transport: fakes.NewSquare(nil).Transport()})
		require.NoError(t, err)
		r, err := e.Request("k-1", 100)
		require.NoError(t, err)
		result, err := client.Do(r.WithContext(contract.WithKey(t.Context(), "k-1")))
		assert.NoError(t, err, "%s: %v", e.Name, result)
		client.CloseIdleConnections()
	}
}

func TestExplore(t *testing.T) {
	endpoints := square.New(nil).Endpoints()
	payment := explore.Subject{
		Name: "square payment", Adapter: square.New(nil), Fake: fakes.NewSquare, Action: "create", Endpoint: endpoints[0],
		Refusal: fakes.Status(http.StatusUnauthorized, `{"errors":[{"category":"AUTHENTICATION_ERROR","code":"ACCESS_TOKEN_EXPIRED"}]}`),
	}
	declined, found := payment, payment
	declined.Name, declined.Declines = "square decline", true
	declined.Endpoint.Body = strings.Replace(payment.Endpoint.Body, "card-nonce-ok", "card-nonce-declined", 1)
	found.Name, found.Adapter = "square payment, found", square.New(&square.Options{UniqueReference: true})
	exploretest.Run(t, payment, declined, found)
}

// call returns the call of an example, under the key k-1.
func call(t testing.TB, name string, change ...string) contract.Call {
	t.Helper()
	for _, e := range square.New(nil).Endpoints() {
		if e.Name != name {
			continue
		}
		e.Body = strings.NewReplacer(append(change, "{order}", "INV-1")...).Replace(e.Body)
		r, err := e.Request("k-1", 100)
		require.NoError(t, err)
		return contract.Call{Request: r, Body: []byte(strings.NewReplacer("{key}", "k-1", "{amount}", "100").Replace(e.Body)),
			Key: "k-1", FirstSent: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	}
	t.Fatalf("no endpoint is named %q", name)
	return contract.Call{}
}

func reply(status int, body string) contract.Reply {
	return contract.Reply{StatusCode: status, Body: []byte(body), Sent: true}
}

const (
	pay      = "create a payment"
	complete = "complete a payment"
	cancel   = "cancel a payment"
)

// fault returns an answer with these errors, each a category and a code.
func fault(status int, errors ...string) contract.Reply {
	var list []string
	for _, e := range errors {
		category, code, _ := strings.Cut(e, " ")
		list = append(list, `{"category":"`+category+`","code":"`+code+`"}`)
	}
	return reply(status, `{"errors":[`+strings.Join(list, ",")+`]}`)
}

// The category of a code settles nothing, and neither does a code under a status with
// which somebody only stopped waiting.
func TestCodes(t *testing.T) {
	for _, tt := range []struct {
		want   contract.Status
		status int
		errors []string
	}{
		{contract.Declined, 402, []string{"PAYMENT_METHOD_ERROR GENERIC_DECLINE"}},
		{contract.Declined, 400, []string{"PAYMENT_METHOD_ERROR CVV_FAILURE", "PAYMENT_METHOD_ERROR GENERIC_DECLINE"}},
		{contract.Declined, 400, []string{"REFUND_ERROR REFUND_DECLINED"}},
		{contract.Unknown, 400, []string{"PAYMENT_METHOD_ERROR TEMPORARY_ERROR"}},
		{contract.Unknown, 402, []string{"PAYMENT_METHOD_ERROR GENERIC_DECLINE", "PAYMENT_METHOD_ERROR TEMPORARY_ERROR"}},
		{contract.Unknown, 402, []string{"PAYMENT_METHOD_ERROR TEMPORARY_ERROR", "PAYMENT_METHOD_ERROR GENERIC_DECLINE"}},
		{contract.Unknown, 402, []string{"PAYMENT_METHOD_ERROR CODE_OF_TOMORROW"}},
		{contract.Unknown, 402, []string{"PAYMENT_METHOD_ERROR declined"}},
		{contract.Unknown, 402, []string{" GENERIC_DECLINE"}}, // without a category
		{contract.Rejected, 400, []string{"INVALID_REQUEST_ERROR BAD_REQUEST"}},
		{contract.Rejected, 402, []string{"PAYMENT_METHOD_ERROR GENERIC_DECLINE", "INVALID_REQUEST_ERROR BAD_REQUEST"}},
		{contract.Rejected, 403, []string{"AUTHENTICATION_ERROR INSUFFICIENT_SCOPES"}},
		{contract.Unknown, 408, []string{"INVALID_REQUEST_ERROR REQUEST_TIMEOUT"}},
		{contract.Unknown, 400, []string{"INVALID_REQUEST_ERROR REQUEST_TIMEOUT"}},
		{contract.Unknown, 409, []string{"INVALID_REQUEST_ERROR CONFLICT"}},
		{contract.Unknown, 409, []string{"INVALID_REQUEST_ERROR BAD_REQUEST"}},
		{contract.Unknown, 400, []string{"API_ERROR INTERNAL_SERVER_ERROR"}},
		{contract.Unknown, 500, []string{"PAYMENT_METHOD_ERROR GENERIC_DECLINE"}},
		{contract.Unknown, 500, []string{"INVALID_REQUEST_ERROR IDEMPOTENCY_KEY_REUSED"}},
		{contract.KeyReused, 400, []string{"INVALID_REQUEST_ERROR IDEMPOTENCY_KEY_REUSED"}},
		{contract.KeyReused, 409, []string{"INVALID_REQUEST_ERROR CONFLICT", "INVALID_REQUEST_ERROR IDEMPOTENCY_KEY_REUSED"}},
		{contract.InProgress, 400, []string{"REFUND_ERROR REFUND_ALREADY_PENDING"}},
		{contract.Unknown, 400, []string{"INVALID_REQUEST_ERROR DELAYED_TRANSACTION_CAPTURED"}},
		{contract.NotExecuted, 429, []string{"RATE_LIMIT_ERROR RATE_LIMITED"}},
		{contract.Unknown, 200, []string{"PAYMENT_METHOD_ERROR GENERIC_DECLINE"}},
	} {
		got := square.New(nil).Classify(call(t, pay), fault(tt.status, tt.errors...))
		assert.Equal(t, tt.want, got.Status, "%d %q: %v", tt.status, tt.errors, got)
	}
}

// Every code of the list is documented, once, and none of those that say too little.
func TestCodeList(t *testing.T) {
	raw, err := os.ReadFile("codes.txt")
	require.NoError(t, err)
	var seen []string
	for line := range strings.Lines(string(raw)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		code := words[len(words)-1]
		assert.Contains(t, []string{"rejected", "declined", "in progress"}, strings.Join(words[:len(words)-1], " "))
		assert.NotContains(t, seen, code)
		seen = append(seen, code)
	}
	for _, code := range []string{"TEMPORARY_ERROR", "CONFLICT", "REQUEST_TIMEOUT", "DELAYED_TRANSACTION_CAPTURED", "IDEMPOTENCY_KEY_REUSED",
		"INTERNAL_SERVER_ERROR", "BAD_GATEWAY", "SERVICE_UNAVAILABLE", "GATEWAY_TIMEOUT", "NOT_IMPLEMENTED", "PLAID_ERROR", "PLAID_ERROR_RATE_LIMIT"} {
		assert.NotContains(t, seen, code)
	}
}

// A key has a length for each endpoint, and a space of its own.
func TestKeysByEndpoint(t *testing.T) {
	a, scopes := square.New(nil), []string{}
	for name, most := range map[string]int{pay: 45, "refund a payment": 45, "pay an order": 192, "create an order": 192,
		"ask a terminal for a payment": 64, "write a catalog object": 128, complete: 0, cancel: 0} {
		terms := a.Terms(call(t, name))
		assert.Equal(t, most, terms.KeyMaxLen, name)
		assert.Equal(t, most > 0, terms.HonoursKeys(), name)
		assert.Zero(t, terms.Retention, "none is published: %s", name)
		assert.Equal(t, most > 0 && name != "create an order", terms.KeyRequired, name)
		assert.Equal(t, name == pay, terms.Mismatch == contract.MismatchRefused, "elsewhere it may vary: %s", name)
		if most > 0 {
			assert.NotContains(t, scopes, terms.KeyScope)
			scopes = append(scopes, terms.KeyScope)
		}
	}
	assert.NoError(t, a.Terms(call(t, pay)).CheckKey(strings.Repeat("k", 45)))
	assert.Error(t, a.Terms(call(t, pay)).CheckKey(strings.Repeat("k", 46)))
	assert.Error(t, a.Terms(call(t, pay)).CheckKey(strings.Repeat("é", 45)), "multi-byte characters make the limit shorter")
}

// An answer that shows another amount, or another order's payment, is not a success:
// not every endpoint is said to compare parameters. But the payment exists.
func TestAnswerOfAnother(t *testing.T) {
	for body, want := range map[string]contract.Status{
		`{"payment":{"id":"p1","status":"COMPLETED","amount_money":{"amount":100,"currency":"usd"},"reference_id":"INV-1"}}`: contract.Succeeded,
		`{"payment":{"id":"p1","status":"COMPLETED"}}`:                                                contract.Succeeded,
		`{"payment":{"id":"p1","status":"COMPLETED","amount_money":{"amount":101,"currency":"USD"}}}`: contract.Duplicate,
		`{"payment":{"id":"p1","status":"COMPLETED","amount_money":{"amount":100,"currency":"CAD"}}}`: contract.Duplicate,
		`{"payment":{"id":"p1","status":"APPROVED","reference_id":"INV-2"}}`:                          contract.Duplicate,
		`{"payment":{"id":"p1","status":"FAILED","amount_money":{"amount":101,"currency":"USD"}}}`:    contract.Declined,
		`{"payment":{"id":"p1","status":"STATE_OF_TOMORROW"}}`:                                        contract.Unknown,
		`{"payment":{"id":"p1"}}`:                        contract.Unknown,
		`{"payment":[{"id":"p1","status":"COMPLETED"}]}`: contract.Unknown,
		`{"refund":{"id":"r1","status":"COMPLETED"}}`:    contract.Unknown,
		`{"payment":{"id":"p1","status":"COMPLETED"},"errors":[{"category":"API_ERROR","code":"OTHER"}]}`: contract.Unknown,
		`{"payment":{"id":"p1","status":"COMPLETED"},"errors":"none"}`:                                    contract.Unknown,
	} {
		got := square.New(nil).Classify(call(t, pay), reply(200, body))
		assert.Equal(t, want, got.Status, "%s: %v", body, got)
	}
	got := square.New(nil).Classify(call(t, pay), reply(201, `{"payment":{"id":"p1","status":"COMPLETED"}}`))
	assert.Equal(t, contract.Unknown, got.Status, "successes are 200: %v", got)
}

// A refusal that shows a payment which did not fail proves nothing.
func TestRefusalBesideAPayment(t *testing.T) {
	declined := `{"errors":[{"category":"PAYMENT_METHOD_ERROR","code":"CARD_DECLINED"}],"payment":{"id":"p1","status":"STATE"}}`
	for state, want := range map[string]contract.Status{"FAILED": contract.Declined, "APPROVED": contract.Unknown, "PENDING": contract.Unknown, "COMPLETED": contract.Unknown} {
		got := square.New(nil).Classify(call(t, pay), reply(402, strings.Replace(declined, "STATE", state, 1)))
		assert.Equal(t, want, got.Status, "%s: %v", state, got)
	}
	for _, odd := range []string{`"p1"`, `[{"id":"p1"}]`, `true`} {
		body := strings.Replace(declined, `{"id":"p1","status":"STATE"}`, odd, 1)
		got := square.New(nil).Classify(call(t, pay), reply(402, body))
		assert.Equal(t, contract.Unknown, got.Status, "%s: %v", body, got)
	}
}

// A change of inventory was applied twice under one key, and its answer does not show it.
func TestInventoryIsPromisedNothing(t *testing.T) {
	c := call(t, "write many catalog objects")
	c.Request.URL.Path = "/v2/inventory/changes/batch-create"
	assert.False(t, square.New(nil).Terms(c).HonoursKeys())
	got := square.New(nil).Classify(c, reply(200, `{"counts":[{"catalog_object_id":"I1","quantity":"1"}],"errors":[]}`))
	assert.Equal(t, contract.Unknown, got.Status, "%v", got)
}

// What is done in parts is in doubt after a throttle or an error in the middle.
func TestParts(t *testing.T) {
	batch := call(t, "write many catalog objects")
	for _, tt := range []struct {
		reply contract.Reply
		want  contract.Status
	}{
		{fault(429, "RATE_LIMIT_ERROR RATE_LIMITED"), contract.Unknown},
		{fault(400, "INVALID_REQUEST_ERROR INVALID_VALUE"), contract.Unknown},
		{fault(401, "AUTHENTICATION_ERROR UNAUTHORIZED"), contract.Rejected},
		{reply(200, `{"objects":[{"id":"I1"},{"id":"I2"}]}`), contract.Succeeded},
		{reply(200, `{"objects":[{"id":"I1"},{"type":"ITEM"}]}`), contract.Unknown},
		{reply(200, `{"objects":[]}`), contract.Unknown},
		{reply(200, `{"objects":[{"id":"I1"}],"errors":[{"category":"INVALID_REQUEST_ERROR","code":"INVALID_VALUE"}]}`), contract.Unknown},
	} {
		got := square.New(nil).Classify(batch, tt.reply)
		assert.Empty(t, got.Resource, "several are no reference to one effect")
		assert.Equal(t, tt.want, got.Status, "%s: %v", tt.reply.Body, got)
	}
}

// A payment that was completed before is fetched, and only its own state confirms it.
func TestDoneBefore(t *testing.T) {
	a := square.New(nil)
	for _, tt := range []struct {
		name, code, state string
		duplicate, solved contract.Status
	}{
		{complete, "DELAYED_TRANSACTION_CAPTURED", "COMPLETED", contract.Duplicate, contract.Succeeded},
		{complete, "DELAYED_TRANSACTION_CAPTURED", "APPROVED", contract.Duplicate, contract.Duplicate},
		{cancel, "DELAYED_TRANSACTION_CANCELED", "CANCELED", contract.Duplicate, contract.Succeeded},
		{cancel, "DELAYED_TRANSACTION_CANCELED", "COMPLETED", contract.Duplicate, contract.Duplicate},
		{complete, "DELAYED_TRANSACTION_CANCELED", "CANCELED", contract.Rejected, 0},
		{cancel, "DELAYED_TRANSACTION_CAPTURED", "COMPLETED", contract.Unknown, 0},
	} {
		c := call(t, tt.name)
		o := a.Classify(c, fault(400, "INVALID_REQUEST_ERROR "+tt.code))
		require.Equal(t, tt.duplicate, o.Status, "%v: %v", tt, o)
		if o.Status != contract.Duplicate {
			continue
		}
		req, err := a.ResolveRequest(t.Context(), c, o)
		require.NoError(t, err)
		assert.Equal(t, "https://connect.squareup.com/v2/payments/"+o.Resource, req.URL.String())
		got := a.ClassifyResolve(c, o, reply(200, `{"payment":{"id":"`+o.Resource+`","status":"`+tt.state+`"}}`))
		assert.Equal(t, tt.solved, got.Status, "%v: %v", tt, got)
		assert.Equal(t, contract.FromLookUp, got.Source)
	}
}

// find runs a look-up to its end with the replies in turn, and returns what was read.
func find(t *testing.T, a *square.Adapter, c contract.Call, replies ...string) (contract.Finding, []string) {
	t.Helper()
	var read []string
	req, so, err := a.Find(context.Background(), c, contract.Finding{}, nil)
	for req != nil {
		require.NoError(t, err)
		read = append(read, req.URL.RequestURI())
		require.LessOrEqual(t, len(read), len(replies), "read once more than there are replies: %v", read)
		last := reply(200, replies[len(read)-1])
		req, so, err = a.Find(context.Background(), c, so, &last)
	}
	require.NoError(t, err)
	assert.False(t, so.Absent, "the list is eventually consistent")
	return so, read
}

const listed = `{"id":"p1","status":"COMPLETED","amount_money":{"amount":100,"currency":"USD"},"reference_id":"INV-1"}`

// A payment is found by its reference only where that is said to be unique.
func TestFindByReference(t *testing.T) {
	unique := square.New(&square.Options{UniqueReference: true})
	_, read := find(t, square.New(nil), call(t, pay))
	assert.Empty(t, read)
	_, read = find(t, unique, call(t, pay, `,"reference_id":"{order}"`, ""))
	assert.Empty(t, read)

	so, read := find(t, unique, call(t, pay), `{"payments":[`+strings.Replace(listed, "p1", "p0", 1)+`],"cursor":"a b"}`, `{"payments":[`+listed+`]}`)
	assert.Equal(t, []string{"p0", "p1"}, so.Resources)
	assert.Equal(t, []string{"/v2/payments?begin_time=2026-11-29T11%3A00%3A00Z&sort_order=ASC", "/v2/payments?begin_time=2026-11-29T11%3A00%3A00Z&cursor=a+b&sort_order=ASC"}, read)

	for old, other := range map[string]string{`"INV-1"`: `"INV-2"`, "100": "101", "USD": "CAD", "COMPLETED": "FAILED", `"p1"`: `"../p1"`, `,"reference_id":"INV-1"`: ""} {
		so, _ = find(t, unique, call(t, pay), `{"payments":[`+strings.Replace(listed, old, other, 1)+`]}`)
		assert.Empty(t, so.Resources, "%s for %s", other, old)
	}
	so, read = find(t, unique, call(t, pay), `{"payments":[],"cursor":"1"}`, `{"payments":[],"cursor":"1"}`)
	assert.Empty(t, so.Resources)
	assert.Len(t, read, 2, "a cursor that leads to itself ends the look-up")

	c := call(t, pay, `"reference_id"`, `"location_id":"L1","reference_id"`)
	_, read = find(t, unique, c, `{}`)
	assert.Contains(t, read[0], "location_id=L1")
	c.FirstSent = time.Time{}
	_, read = find(t, unique, c)
	assert.Empty(t, read, "nothing was sent")
}

func TestFindOfOnePayment(t *testing.T) {
	c := call(t, complete)
	for state, want := range map[string][]string{"COMPLETED": {"INV-1001"}, "APPROVED": nil, "CANCELED": nil} {
		so, read := find(t, square.New(nil), c, `{"payment":{"id":"INV-1001","status":"`+state+`"},"cursor":"more"}`)
		assert.Equal(t, want, so.Resources, state)
		assert.Equal(t, []string{"/v2/payments/INV-1001"}, read)
	}
	so, _ := find(t, square.New(nil), c, `{"payment":{"id":"other","status":"COMPLETED"}}`)
	assert.Empty(t, so.Resources)
}

// FuzzClassify asks a second reader: an answer that settles anything must be JSON that
// shows, by the standard decoder, what it is taken for.
func FuzzClassify(f *testing.F) {
	all, err := contracttest.Exchanges(os.DirFS("testdata"))
	require.NoError(f, err)
	var calls []contract.Call
	for _, e := range square.New(nil).Endpoints() {
		calls = append(calls, call(f, e.Name))
	}
	for i := range calls {
		for _, x := range all {
			f.Add(uint8(i), x.Reply.StatusCode, x.Reply.Body)
		}
	}
	a := square.New(nil)
	f.Fuzz(func(t *testing.T, which uint8, status int, body []byte) {
		c := calls[int(which)%len(calls)]
		r := contract.Reply{StatusCode: status, Body: body, Sent: true}
		o := a.Classify(c, r)
		if o != a.Classify(c, r) {
			t.Fatal("two answers to one question")
		}
		var shown struct {
			Errors []struct{ Category, Code string }
		}
		readable := json.Unmarshal(body, &shown) == nil
		coded := slices.ContainsFunc(shown.Errors, func(e struct{ Category, Code string }) bool { return e.Code == o.Code && e.Category != "" })
		ok := true
		switch o.Status {
		case contract.Succeeded:
			ok = readable && status == 200 && len(shown.Errors) == 0 && (o.Resource == "" || strings.Contains(string(body), o.Resource))
		case contract.Declined, contract.Duplicate:
			ok = readable && (status == 200 && len(shown.Errors) == 0 && o.Resource != "" || status >= 400 && status < 500 && coded)
		case contract.Rejected, contract.KeyReused, contract.InProgress:
			ok = readable && status >= 400 && status < 500 && coded
		case contract.NotExecuted:
			ok = status == 429 || status == 425
		case contract.KeySpent:
			ok = false
		}
		if !ok || o.Resource != "" && contract.CheckReference(o.Resource) != nil || len(o.Reason) > 200 || o.Source != contract.FromReply {
			t.Fatalf("%s, %d %q: %v", c.Request.URL.Path, status, body, o)
		}
	})
}

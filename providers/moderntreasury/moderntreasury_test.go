package moderntreasury_test

import (
	"encoding/json"
	"io"
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
	"github.com/idempact/idempact/providers/moderntreasury"
	"github.com/idempact/idempact/retry"
)

func fake() contracttest.Fake { return faketest.Of(fakes.NewModernTreasury(nil)) }

func TestContract(t *testing.T) {
	differ := []string{"create a payment order", "reverse a payment order", "post a ledger transaction", "reverse a ledger transaction", "change a payment order", "delete a counterparty"}
	a := moderntreasury.New(nil)
	for _, e := range a.Endpoints() {
		if !slices.Contains(differ, e.Name) {
			continue // promised what one of those is
		}
		t.Run(e.Name, func(t *testing.T) {
			contracttest.Run(t, contracttest.Spec{Adapter: a, Request: e.Request, Fake: fake, Exchanges: os.DirFS("testdata")})
		})
	}
}

// Every example succeeds at the fake.
func TestExamples(t *testing.T) {
	for _, e := range moderntreasury.New(nil).Endpoints() {
		client, err := retry.NewClient(moderntreasury.New(nil), &retry.Options{Transport: fakes.NewModernTreasury(nil).Transport()})
		require.NoError(t, err)
		r, err := e.Request("k-1", 100)
		require.NoError(t, err)
		result, err := client.Do(r.WithContext(contract.WithKey(t.Context(), "k-1")))
		assert.NoError(t, err, "%s: %v", e.Name, result)
		client.CloseIdleConnections()
	}
}

func TestExplore(t *testing.T) {
	bare := explore.Subject{
		Name: "payment order", Adapter: moderntreasury.New(nil), Fake: fakes.NewModernTreasury, Action: "create",
		Endpoint: moderntreasury.New(nil).Endpoints()[0], KeyHeader: "Idempotency-Key", Retention: 24 * time.Hour,
		Refusal: fakes.Status(http.StatusUnauthorized, `{"errors":{"code":"invalid_key","message":"The API key is not valid."}}`),
	}
	named := bare
	named.Name = "payment order with an external id"
	named.Endpoint.Body = strings.Replace(named.Endpoint.Body, `"metadata"`, `"external_id":"{order}","metadata"`, 1)
	exploretest.Run(t, bare, named)
}

// call returns the call of an example, under the key k-1, with its body changed.
func call(t testing.TB, name string, change ...string) contract.Call {
	t.Helper()
	for _, e := range moderntreasury.New(nil).Endpoints() {
		if e.Name != name {
			continue
		}
		body := strings.NewReplacer(append(change, "{amount}", "100", "{order}", "INV-1")...).Replace(e.Body)
		r, err := e.Request("k-1", 100)
		require.NoError(t, err)
		return contract.Call{Request: r, Body: []byte(body), Key: "k-1", FirstSent: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	}
	t.Fatalf("no endpoint is named %q", name)
	return contract.Call{}
}

func reply(status int, body string) contract.Reply {
	return contract.Reply{StatusCode: status, Body: []byte(body), Sent: true}
}

const (
	order  = "create a payment order"
	ledger = "post a ledger transaction"
	shown  = `{"id":"po-1","object":"payment_order","type":"ach","amount":100,"direction":"credit","currency":"USD","external_id":"INV-1","status":"approved",` +
		`"originating_account_id":"11111111-1111-4111-8111-111111111111","receiving_account_id":"22222222-2222-4222-8222-222222222222","metadata":{"order":"INV-1"}}`
)

// named is a payment order with an external_id.
func named(t testing.TB) contract.Call {
	return call(t, order, `"metadata"`, `"external_id":"INV-1","metadata"`)
}

// The key ignores the route and the parameters: an answer may be another operation's.
func TestAnswerOfAnother(t *testing.T) {
	a := moderntreasury.New(nil)
	for _, tt := range []struct {
		old, other string
		want       contract.Status
	}{
		{"", "", contract.Succeeded},
		{`"amount":100`, `"amount":"100"`, contract.Succeeded},
		{`"11111111-1111-4111-8111-111111111111"`, `"11111111-1111-4111-8111-11111111111F"`, contract.KeyReused},
		{`"amount":100`, `"amount":101`, contract.KeyReused},
		{`"credit"`, `"debit"`, contract.KeyReused},
		{`"INV-1"`, `"INV-2"`, contract.KeyReused},
		{`22222222-`, `32222222-`, contract.KeyReused},
		{`"payment_order"`, `"counterparty"`, contract.KeyReused},
		{`"payment_order"`, `"expected_payment"`, contract.KeyReused},
		{`"object":"payment_order",`, ``, contract.Unknown},
		{`"id":"po-1",`, ``, contract.Unknown},
		{`"amount":100,`, ``, contract.Duplicate},
		{`"external_id":"INV-1",`, ``, contract.Duplicate},
		{`"approved"`, `"denied"`, contract.Declined},
		{`"metadata":{"order":"INV-1"}`, `"errors":{"code":"conflict"}`, contract.Unknown},
		{`"order":"INV-1"`, `"order":"INV-2"`, contract.Duplicate}, // as much, to the same account, for another order
		{`,"metadata":{"order":"INV-1"}`, ``, contract.Succeeded},
	} {
		got := a.Classify(named(t), reply(201, strings.Replace(shown, tt.old, tt.other, 1)))
		assert.Equal(t, tt.want, got.Status, "%s for %s: %v", tt.other, tt.old, got)
		assert.False(t, got.Status == contract.KeyReused && got.AllowsNewKey(), "it may be the same action, changed")
	}
	for _, status := range []int{200, 202} {
		got := a.Classify(named(t), reply(status, shown))
		assert.Equal(t, contract.Unknown, got.Status, "%d is another endpoint's: %v", status, got)
		got = a.Classify(named(t), reply(status, strings.Replace(shown, "payment_order", "invoice", 1)))
		assert.Equal(t, contract.KeyReused, got.Status, "%v", got)
	}
	c := named(t)
	c.Key = ""
	got := a.Classify(c, reply(201, strings.Replace(shown, "100", "101", 1)))
	assert.Equal(t, contract.Unknown, got.Status, "without a key it belongs to nobody else: %v", got)
	got = a.Classify(c, reply(201, strings.Replace(shown, "payment_order", "invoice", 1)))
	assert.Equal(t, contract.Unknown, got.Status, "%v", got)
	failed := strings.NewReplacer("approved", "failed", "100", "101").Replace(shown)
	assert.Equal(t, contract.KeyReused, a.Classify(named(t), reply(201, failed)).Status, "another's failure says nothing of this one")
}

// What tells two operations apart where there is no one amount.
func TestAnswerOfAnotherWithoutAnAmount(t *testing.T) {
	const expect, giveBack = "expect a payment", "return an incoming payment"
	for _, tt := range []struct {
		name, body string
		want       contract.Status
	}{
		{expect, `{"id":"e-1","object":"expected_payment","amount_lower_bound":100,"amount_upper_bound":100,"direction":"credit"}`, contract.Succeeded},
		{expect, `{"id":"e-1","object":"expected_payment","amount_lower_bound":100,"amount_upper_bound":101,"direction":"credit"}`, contract.KeyReused},
		{expect, `{"id":"e-1","object":"expected_payment","amount_lower_bound":99,"amount_upper_bound":100,"direction":"credit"}`, contract.KeyReused},
		{giveBack, `{"id":"r-1","object":"return","returnable_id":"33333333-3333-4333-8333-333333333333"}`, contract.Succeeded},
		{giveBack, `{"id":"r-1","object":"return","returnable_id":"43333333-3333-4333-8333-333333333333"}`, contract.KeyReused},
		{giveBack, `{"id":"r-1","object":"return"}`, contract.Duplicate},
		{"create a counterparty", `{"id":"c-1","object":"counterparty","name":"Test Payee "}`, contract.Succeeded},
		{"create a counterparty", `{"id":"c-1","object":"counterparty","name":"Another"}`, contract.Duplicate},
	} {
		got := moderntreasury.New(nil).Classify(call(t, tt.name), reply(201, tt.body))
		assert.Equal(t, tt.want, got.Status, "%s: %v", tt.body, got)
	}
}

// The same through the loop, with the provider's own replays.
func TestKeyOnAnotherRoute(t *testing.T) {
	s := fakes.NewModernTreasury(nil)
	client, err := retry.NewClient(moderntreasury.New(nil), &retry.Options{Transport: s.Transport()})
	require.NoError(t, err)
	defer client.CloseIdleConnections()
	do := func(name string, amount int64) (*retry.Result, error) {
		for _, e := range moderntreasury.New(nil).Endpoints() {
			if e.Name == name {
				r, err := e.Request("k-1", amount)
				require.NoError(t, err)
				return client.Do(r.WithContext(contract.WithKey(t.Context(), "k-1")))
			}
		}
		return nil, nil
	}
	first, err := do(order, 100)
	require.NoError(t, err)
	for _, name := range []string{"create a counterparty", "return an incoming payment", ledger, "reverse a payment order", "expect a payment"} {
		result, err := do(name, 100)
		require.ErrorIs(t, err, contract.KeyReused, name)
		assert.Equal(t, first.Resource, result.Resource, "the request that has the key is named")
		assert.False(t, result.AllowsNewKey())
	}
	_, err = do(order, 101)
	require.ErrorIs(t, err, contract.KeyReused)
	assert.Len(t, s.Effects(), 1)
}

func TestConflicts(t *testing.T) {
	const conflict, taken = `{"errors":{"code":"conflict","message":"-"}}`, `{"errors":{"code":"conflict","message":"-","parameter":"external_id"}}`
	keyless := named(t)
	keyless.Key = ""
	for _, tt := range []struct {
		call     contract.Call
		body     string
		want     contract.Status
		noResend bool
	}{
		{named(t), "", contract.InProgress, false},
		{named(t), "<html>", contract.InProgress, false},
		{named(t), conflict, contract.Unknown, false},
		{named(t), taken, contract.Unknown, true},
		{call(t, order), taken, contract.Unknown, false}, // no external_id was asked
		{call(t, ledger), conflict, contract.InProgress, false},
		{keyless, "", contract.Unknown, false},
		{call(t, "change a payment order"), conflict, contract.Unknown, false},
		{call(t, "reverse a ledger transaction"), conflict, contract.Unknown, false},
	} {
		got := moderntreasury.New(nil).Classify(tt.call, reply(409, tt.body))
		assert.Equal(t, tt.want, got.Status, "%s: %v", tt.body, got)
		assert.Equal(t, tt.noResend, got.NoResend, "%s: %v", tt.body, got)
	}
	for _, status := range []int{400, 422} {
		got := moderntreasury.New(nil).Classify(named(t), reply(status, strings.Replace(taken, "conflict", "parameter_invalid", 1)))
		assert.Equal(t, contract.Unknown, got.Status, "it may be taken by this very operation: %v", got)
	}
	got := moderntreasury.New(nil).Classify(named(t), reply(500, taken))
	assert.False(t, got.NoResend)
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		status int
		code   string
		want   contract.Status
	}{
		{422, "parameter_invalid", contract.Rejected},
		{404, "resource_not_found", contract.Rejected},
		{401, "expired_key", contract.Rejected},
		{422, "code_of_tomorrow", contract.Unknown},
		{422, "too_many_requests", contract.Unknown},
		{422, "conflict", contract.Unknown},
		{408, "parameter_invalid", contract.Unknown},
		{500, "parameter_invalid", contract.Unknown},
		{429, "conflict", contract.NotExecuted},
	} {
		got := moderntreasury.New(nil).Classify(call(t, order), reply(tt.status, `{"errors":{"code":"`+tt.code+`","message":"-"}}`))
		assert.Equal(t, tt.want, got.Status, "%d %s: %v", tt.status, tt.code, got)
	}
	list := `{"errors":[{"code":"parameter_invalid","message":"-"}]}`
	assert.Equal(t, contract.Unknown, moderntreasury.New(nil).Classify(call(t, order), reply(422, list)).Status, "errors is an object")
}

func TestWaits(t *testing.T) {
	r := reply(429, "")
	r.Header = http.Header{"Retry-After-Ms": {"1500"}, "Retry-After": {"1"}}
	assert.Equal(t, 1500*time.Millisecond, moderntreasury.New(nil).Classify(call(t, order), r).RetryAfter)
	r.Header.Set("Retry-After", "2")
	assert.Equal(t, 2*time.Second, moderntreasury.New(nil).Classify(call(t, order), r).RetryAfter)
}

// Entries are compared in any order, and as a whole.
func TestLedgerEntries(t *testing.T) {
	const a, b = `{"amount":100,"direction":"debit","ledger_account_id":"44444444-4444-4444-8444-444444444444"}`, `{"amount":100,"direction":"credit","ledger_account_id":"55555555-5555-4555-8555-555555555555"}`
	for entries, want := range map[string]contract.Status{
		b + "," + a:           contract.Succeeded,
		a + "," + a:           contract.KeyReused,
		a + "," + b + "," + b: contract.KeyReused,
		"":                    contract.Duplicate,
	} {
		got := moderntreasury.New(nil).Classify(call(t, ledger), reply(201, `{"id":"lt-1","object":"ledger_transaction","status":"posted","ledger_entries":[`+entries+`]}`))
		assert.Equal(t, want, got.Status, "%s: %v", entries, got)
	}
}

// A key is of some POSTs alone; PATCH and DELETE are idempotent by definition.
func TestTerms(t *testing.T) {
	for name, want := range map[string]contract.Terms{
		order:                          {KeyHeader: "Idempotency-Key", Retention: 24 * time.Hour, Repeat: contract.Replays, Mismatch: contract.MismatchIgnored, Saves: contract.SavesSuccesses, LookUp: contract.LookUpByList},
		"reverse a payment order":      {KeyHeader: "Idempotency-Key", Retention: 24 * time.Hour, Repeat: contract.Replays, Mismatch: contract.MismatchIgnored, Saves: contract.SavesSuccesses},
		"reverse a ledger transaction": {},
		"change a payment order":       {Idempotent: true},
		"delete a counterparty":        {Idempotent: true},
	} {
		got := moderntreasury.New(nil).Terms(call(t, name))
		got.Notes, got.Sources, got.WaitHeaders, got.InFlightAnswers = nil, nil, nil, nil
		assert.Equal(t, want, got, name)
	}
	for _, path := range []string{"/api/payment_orders/create_async", "/api/bulk_requests", "/api/payment_orders/po-1"} {
		c := call(t, order)
		c.Request.URL.Path = path
		assert.False(t, moderntreasury.New(nil).Terms(c).HonoursKeys(), path)
		assert.Equal(t, contract.Unknown, moderntreasury.New(nil).Classify(c, reply(202, `{"id":"po-1","object":"payment_order"}`)).Status, path)
	}
}

// A PATCH shows its own object, and what differs from it is no other request's.
func TestPatch(t *testing.T) {
	c := call(t, "change a payment order", `"paid in part"`, `"paid in part","amount":100`)
	for body, want := range map[string]contract.Status{
		`{"id":"INV-1001","object":"payment_order","amount":100}`: contract.Succeeded,
		`{"id":"INV-1001","object":"payment_order","amount":101}`: contract.Unknown,
		`{"id":"INV-1002","object":"payment_order","amount":100}`: contract.Unknown,
		`{"id":"INV-1001","object":"counterparty"}`:               contract.Unknown,
	} {
		got := moderntreasury.New(nil).Classify(c, reply(200, body))
		assert.Equal(t, want, got.Status, "%s: %v", body, got)
	}
}

// A fetched resource may have been changed: what differs stays a doubt about which it is.
func TestResolve(t *testing.T) {
	a, c, o := moderntreasury.New(nil), named(t), contract.Outcome{Status: contract.Duplicate, Resource: "po-1"}
	c.Request.URL.Path += "/"
	req, err := a.ResolveRequest(t.Context(), c, o)
	require.NoError(t, err)
	assert.Equal(t, "https://app.moderntreasury.com/api/payment_orders/po-1", req.URL.String())
	for old, want := range map[string]contract.Status{"": contract.Succeeded, `"amount":100`: contract.Duplicate, `"po-1"`: contract.Duplicate, `"payment_order"`: contract.Duplicate, `"INV-1"`: contract.Duplicate} {
		got := a.ClassifyResolve(c, o, reply(200, strings.Replace(shown, old, strings.Replace(old, "1", "2", 1), 1)))
		if old == `"payment_order"` {
			got = a.ClassifyResolve(c, o, reply(200, strings.Replace(shown, old, `"reversal"`, 1)))
		}
		assert.Equal(t, want, got.Status, "%s: %v", old, got)
		assert.False(t, got.AllowsNewKey())
	}
	_, err = a.ResolveRequest(t.Context(), call(t, "change a payment order"), o)
	assert.ErrorIs(t, err, contract.ErrReference)
}

func TestFind(t *testing.T) {
	find := func(c contract.Call, list string) (contract.Finding, string) {
		req, so, err := moderntreasury.New(nil).Find(t.Context(), c, contract.Finding{}, nil)
		require.NoError(t, err)
		if req == nil {
			return so, ""
		}
		last := reply(200, list)
		next, so, err := moderntreasury.New(nil).Find(t.Context(), c, so, &last)
		require.NoError(t, err)
		assert.Nil(t, next)
		assert.False(t, so.Absent, "when a list shows a new resource is not documented")
		return so, req.URL.RequestURI()
	}
	so, read := find(named(t), "["+shown+"]")
	assert.Equal(t, "/api/payment_orders?external_id=INV-1", read)
	assert.Equal(t, []string{"po-1"}, so.Resources)
	so, _ = find(named(t), "["+shown+","+strings.Replace(shown, "po-1", "po-2", 1)+","+shown+"]")
	assert.Equal(t, []string{"po-1", "po-2"}, so.Resources)
	for old, other := range map[string]string{`"INV-1"`: `"INV-2"`, `"amount":100`: `"amount":101`, `"po-1"`: `"../po-1"`, `"payment_order"`: `"reversal"`} {
		so, _ = find(named(t), "["+strings.Replace(shown, old, other, 1)+"]")
		assert.Empty(t, so.Resources, "%s for %s", other, old)
	}
	so, _ = find(named(t), "[]")
	assert.Empty(t, so.Resources)
	for _, last := range []contract.Reply{reply(500, "["+shown+"]"), {StatusCode: 200, Body: []byte("[" + shown + "]"), Err: io.ErrUnexpectedEOF}, reply(200, shown)} {
		_, so, err := moderntreasury.New(nil).Find(t.Context(), named(t), contract.Finding{}, &last)
		assert.Error(t, err)
		assert.Empty(t, so.Resources)
	}
	early := named(t)
	early.FirstSent = time.Time{}
	for _, c := range []contract.Call{call(t, order), call(t, "reverse a payment order", `{`, `{"external_id":"INV-1",`), early} {
		_, read = find(c, "")
		assert.Empty(t, read)
	}
}

// FuzzClassify asks a second reader: an answer that settles anything must be JSON that
// shows, by the standard decoder, what it is taken for.
func FuzzClassify(f *testing.F) {
	all, err := contracttest.Exchanges(os.DirFS("testdata"))
	require.NoError(f, err)
	var calls []contract.Call
	for _, e := range moderntreasury.New(nil).Endpoints() {
		calls = append(calls, call(f, e.Name))
	}
	calls = append(calls, named(f))
	for i := range calls {
		for _, x := range all {
			f.Add(uint8(i), x.Reply.StatusCode, x.Reply.Body)
		}
	}
	a := moderntreasury.New(nil)
	f.Fuzz(func(t *testing.T, which uint8, status int, body []byte) {
		c := calls[int(which)%len(calls)]
		r := contract.Reply{StatusCode: status, Body: body, Sent: true}
		o := a.Classify(c, r)
		if o != a.Classify(c, r) {
			t.Fatal("two answers to one question")
		}
		var shown struct {
			ID, Object any
			Errors     any
		}
		readable := json.Unmarshal(body, &shown) == nil
		fault, _ := shown.Errors.(map[string]any)
		ok := true
		switch o.Status {
		case contract.Succeeded:
			ok = status == 204 && len(strings.TrimSpace(string(body))) == 0 || readable && (status == 200 || status == 201) && shown.ID == o.Resource && shown.Errors == nil
		case contract.Declined, contract.Duplicate, contract.KeyReused:
			ok = readable && status >= 200 && status < 300 && shown.ID == o.Resource && shown.Errors == nil
		case contract.Rejected:
			ok = readable && status >= 400 && status < 500 && fault["code"] == o.Code
		case contract.InProgress:
			ok = status == 409
		case contract.NotExecuted:
			ok = status == 429 || status == 425
		case contract.KeySpent:
			ok = false
		}
		if !ok || o.Resource != "" && contract.CheckReference(o.Resource) != nil || len(o.Reason) > 500 || o.Source != contract.FromReply {
			t.Fatalf("%s, %d %q: %v", c.Request.URL.Path, status, body, o)
		}
	})
}

// A reversal whose body says nothing is still one of the payment order in its path.
func TestReversalWithoutABody(t *testing.T) {
	c := call(t, "reverse a payment order")
	c.Body = nil
	_, ref, _ := strings.Cut(strings.TrimSuffix(c.Request.URL.Path, "/reversals"), "payment_orders/")
	for of, want := range map[string]contract.Status{ref: contract.Succeeded, "po-2": contract.KeyReused} {
		got := moderntreasury.New(nil).Classify(c, reply(201, `{"id":"re-1","object":"reversal","status":"pending","payment_order_id":"`+of+`"}`))
		assert.Equal(t, want, got.Status, of)
	}
}

// A description can be changed later, so only the saved answer is held to it.
func TestDescriptionOfAnother(t *testing.T) {
	a, c := moderntreasury.New(nil), call(t, order, `"metadata"`, `"description":"June","external_id":"INV-1","metadata"`)
	other := strings.Replace(shown, `"amount"`, `"description":"July","amount"`, 1)
	assert.Equal(t, contract.Duplicate, a.Classify(c, reply(201, other)).Status)
	assert.Equal(t, contract.Succeeded, a.ClassifyResolve(c, contract.Outcome{Resource: "po-1"}, reply(200, other)).Status)
}

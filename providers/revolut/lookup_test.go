package revolut_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/providers/revolut"
	"github.com/idempact/idempact/retry"
)

const (
	own   = "11111111-1111-4111-8111-111111111111"
	party = "22222222-2222-4222-8222-222222222222"
	other = "33333333-3333-4333-8333-333333333333"
	sterl = "44444444-4444-4444-8444-444444444444"
)

// do runs one operation at a fake and returns what came of it.
func do(t *testing.T, s *fakes.Server, i int, key string, amount int64) (*retry.Result, error) {
	t.Helper()
	client, err := retry.NewClient(revolut.New(nil), &retry.Options{Transport: s.Transport()})
	require.NoError(t, err)
	defer client.CloseIdleConnections()
	r, err := endpoint(i).Request(key, amount)
	require.NoError(t, err)
	return client.Do(r)
}

// posts returns how many writes reached the fake.
func posts(s *fakes.Server) (n int) {
	for _, r := range s.Requests() {
		if r.Method == http.MethodPost {
			n++
		}
	}
	return n
}

// TestRepeat: the answer to a repeat names nothing, so it is found and compared.
func TestRepeat(t *testing.T) {
	for _, i := range []int{pay, transfer, exchange} {
		synctest.Test(t, func(t *testing.T) {
			s := fakes.NewRevolut(nil)
			s.Script(fakes.LoseReply)
			result, err := do(t, s, i, "k-1", 2500)
			require.NoError(t, err)
			assert.Equal(t, s.Effects()[0].Resource, result.Resource)
			assert.Len(t, s.Effects(), 1)
			assert.Equal(t, 2, posts(s))

			again, err := do(t, s, i, "k-1", 2500)
			require.NoError(t, err, "from another process, which knows no age of the key")
			assert.Equal(t, result.Resource, again.Resource)

			_, err = do(t, s, i, "k-1", 2501)
			assert.Error(t, err)
			if i != exchange {
				assert.ErrorIs(t, err, contract.KeyReused)
			}
			assert.Len(t, s.Effects(), 1)
		})
	}
}

// TestOlderProcess: a repeat whose first send is not known here is found, too, at any
// age that the id may have.
func TestOlderProcess(t *testing.T) {
	s := fakes.NewRevolut(nil)
	first, err := do(t, s, pay, "k-1", 2500)
	require.NoError(t, err)
	s.SetSkew(-13 * 24 * time.Hour)
	older, err := do(t, s, pay, "k-2", 2500)
	require.NoError(t, err)
	s.SetSkew(0)
	result, err := do(t, s, pay, "k-2", 2500)
	require.NoError(t, err)
	assert.Equal(t, older.Resource, result.Resource)
	assert.NotEqual(t, first.Resource, result.Resource)
}

// TestNotVisible: a duplicate that cannot be found stays one.
func TestNotVisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakes.NewRevolut(&fakes.Options{VisibilityDelay: time.Hour})
		s.Script(fakes.LoseReply)
		result, err := do(t, s, pay, "k-1", 2500)
		assert.ErrorIs(t, err, contract.Duplicate)
		assert.Empty(t, result.Resource)
		assert.False(t, result.AllowsNewKey())
	})
}

// TestDeclined: what came to nothing is a decline in its own answer; found later, it
// is still what holds the id.
func TestDeclined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakes.NewRevolut(nil)
		one, err := do(t, s, pay, "k-1", 2500)
		require.NoError(t, err)
		s.SetState(one.Resource, "failed")
		result, err := do(t, s, pay, "k-1", 2500)
		assert.ErrorIs(t, err, contract.Duplicate)
		assert.Equal(t, "failed", result.State)
		assert.False(t, result.AllowsNewKey())
	})
}

// TestFirstFailed: an id that is bound to a failure is sent no more, and proves
// nothing: here the card exists.
func TestFirstFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakes.NewRevolut(nil)
		s.Script(fakes.SaveError(500))
		result, err := do(t, s, card, "k-1", 0)
		assert.ErrorIs(t, err, contract.KeySpent)
		assert.Equal(t, "33009", result.Code)
		assert.False(t, result.AllowsNewKey())
		assert.Equal(t, 2, posts(s))
		assert.Len(t, s.Effects(), 1)
	})
}

// TestThrottledOrRunning: only its text says what a 429 with 3162 is, so with an id
// both are one that may be running.
func TestThrottledOrRunning(t *testing.T) {
	a := revolut.New(nil)
	for _, text := range []string{"Request rate limit has been reached. Try again later.", "Parallel requests conflict. Please synchronize your requests.", ""} {
		r := answer(429, fmt.Sprintf(`{"code":3162,"message":%q}`, text))
		for _, i := range []int{pay, transfer, exchange, card, invitation} {
			assert.Equal(t, contract.InProgress, a.Classify(call(t, i, "k-1"), r).Status, endpoint(i).Name)
		}
		assert.Equal(t, contract.NotExecuted, a.Classify(call(t, draft, "k-1"), r).Status)
	}
	synctest.Test(t, func(t *testing.T) {
		s := fakes.NewRevolut(nil)
		s.Script(fakes.InFlight(2 * time.Second))
		_, err := do(t, s, card, "k-1", 0)
		require.NoError(t, err)
		assert.Len(t, s.Effects(), 1)
	})
}

// TestOurCodes: the codes about an id are no refusals, under whatever status.
func TestOurCodes(t *testing.T) {
	a := revolut.New(nil)
	for _, code := range []string{"3020", "3162", "33009"} {
		for _, status := range []int{400, 401, 403, 404, 409, 422} {
			for i := range a.Endpoints() {
				o := a.Classify(call(t, i, "k-1"), answer(status, `{"code":`+code+`,"message":"m"}`))
				assert.NotEqual(t, contract.EffectNone, o.Effect(), "%s %d %s", endpoint(i).Name, status, code)
				assert.Equal(t, i <= exchange && status == 400 && code == "3020", o.Status == contract.Duplicate)
			}
		}
	}
}

// TestUndocumentedCodes: 3020 shows that a refusal may be about an effect, so a code that
// is not documented under its status proves nothing.
func TestUndocumentedCodes(t *testing.T) {
	a := revolut.New(nil)
	for _, x := range []struct {
		status  int
		message string
		want    contract.Status
	}{
		{400, `{"code":9999,"message":"m"}`, contract.Unknown}, {403, `{"code":3287,"message":"m"}`, contract.Unknown},
		{404, `{"code":9999,"message":"m"}`, contract.Unknown}, {422, `{"code":9999,"message":"m"}`, contract.Unknown},
		{401, `{"code":9999,"message":"m"}`, contract.Unknown}, {422, `{"message":"m"}`, contract.Unknown},
		{400, `{"code":3020.0,"message":"m"}`, contract.Unknown}, {401, `{"code":{},"message":"m"}`, contract.Unknown},
		{400, `{"code":3287,"message":"m"}`, contract.Rejected}, {400, `{"code":2101,"message":"m"}`, contract.Rejected},
		{401, `{"message":"m"}`, contract.Rejected}, {403, `{"code":9002,"message":"m"}`, contract.Rejected},
	} {
		assert.Equal(t, x.want, a.Classify(call(t, 0, "k-1"), answer(x.status, x.message)).Status, "%d %s", x.status, x.message)
	}
}

func TestTerms(t *testing.T) {
	a := revolut.New(nil)
	want := []time.Duration{14 * 24 * time.Hour, 0, 0, 24 * time.Hour, 24 * time.Hour, 0}
	for i := range a.Endpoints() {
		terms := a.Terms(call(t, i, "k-1"))
		assert.Equal(t, want[i], terms.Retention, endpoint(i).Name)
		assert.Equal(t, i != draft, terms.HonoursKeys())
	}
	for _, path := range []string{"/api/1.0/payout-links", "/api/1.0/pay/fields", "/api/2.0/pay", "/pay", "/api/1.0/payx"} {
		c := call(t, pay, "k-1")
		c.Request.URL.Path = path
		assert.False(t, a.Terms(c).HonoursKeys(), path)
	}
	assert.False(t, a.Terms(contract.Call{}).HonoursKeys())
}

// find runs a look-up to its end against the same answer each time, and returns what it
// found and asked.
func find(t *testing.T, c contract.Call, r contract.Reply) (found contract.Finding, asked []*http.Request, err error) {
	t.Helper()
	req, found, err := revolut.New(nil).Find(context.Background(), c, contract.Finding{}, nil)
	for req != nil && err == nil {
		asked = append(asked, req)
		req, found, err = revolut.New(nil).Find(context.Background(), c, found, &r)
	}
	return found, asked, err
}

const entry = `{"id":"%s","type":"%s","state":"completed","request_id":"%s","created_at":"2026-11-29T12:00:00Z","legs":[]%s}`

func TestFind(t *testing.T) {
	c := call(t, pay, "k-1")
	one := func(id, kind, key, more string) string { return fmt.Sprintf(entry, id, kind, key, more) }
	for name, tc := range map[string]struct {
		list string
		want []string
	}{
		"none":             {`[]`, nil},
		"ours":             {`[` + one("t-1", "transfer", "k-1", "") + `]`, []string{"t-1"}},
		"two":              {`[` + one("t-1", "transfer", "k-1", "") + `,` + one("t-2", "transfer", "k-1", "") + `]`, []string{"t-1", "t-2"}},
		"another id":       {`[` + one("t-1", "transfer", "k-2", "") + `]`, nil},
		"another type":     {`[` + one("t-1", "exchange", "k-1", "") + `]`, nil},
		"a refund of it":   {`[` + one("t-1", "transfer", "k-1", `,"related_transaction_id":"t-0"`) + `]`, nil},
		"a hostile id":     {`[` + one("../t", "transfer", "k-1", "") + `]`, nil},
		"no objects":       {`[1,"x",null,[]]`, nil},
		"a transaction on": {`[` + one("t-0", "transfer", "k-0", "") + `,` + one("t-1", "transfer", "k-1", "") + `]`, []string{"t-1"}},
	} {
		found, asked, err := find(t, c, answer(200, tc.list))
		require.NoError(t, err, name)
		assert.Equal(t, tc.want, found.Resources, name)
		assert.False(t, found.Absent, name)
		require.Len(t, asked, 2)
		for i, r := range asked {
			q := r.URL.Query()
			from, _ := time.Parse(time.RFC3339, q.Get("from"))
			to, _ := time.Parse(time.RFC3339, q.Get("to"))
			assert.Equal(t, "k-1", q.Get("request_id"))
			assert.Equal(t, 14*24*time.Hour, to.Sub(from), "a longer search is refused")
			assert.Equal(t, i == 0, from.Before(c.FirstSent) && to.After(c.FirstSent))
		}
	}
	for _, r := range []contract.Reply{answer(200, `{"code":1}`), answer(500, `[]`), answer(200, `[`), {Err: context.Canceled, StatusCode: 200, Body: []byte(`[]`), Sent: true}} {
		_, _, err := find(t, c, r)
		assert.Error(t, err)
	}
	for _, i := range []int{card, invitation, draft} {
		found, asked, err := find(t, call(t, i, "k-1"), answer(200, `[]`))
		require.NoError(t, err)
		assert.Empty(t, asked)
		assert.NotEmpty(t, found.Reason)
	}
	c.FirstSent = time.Time{}
	_, asked, err := find(t, c, answer(200, `[]`))
	require.NoError(t, err)
	assert.Empty(t, asked)
}

// TestResolve compares one transaction of each kind with what was asked, changed in
// one point at a time.
func TestResolve(t *testing.T) {
	paid := `{"id":"t-1","type":"transfer","state":"completed","request_id":"k-1","reference":"INV-1001","legs":[` +
		`{"account_id":"` + own + `","counterparty":{"id":"` + party + `","account_type":"external"},"amount":-25,"fee":0.1,"currency":"EUR"}]}`
	moved := `{"id":"t-1","type":"transfer","state":"completed","request_id":"k-1","reference":"INV-1001","legs":[` +
		`{"account_id":"` + own + `","amount":-25.00,"currency":"EUR"},{"account_id":"` + other + `","amount":25.00,"currency":"EUR"}]}`
	sold := `{"id":"t-1","type":"exchange","state":"completed","request_id":"k-1","legs":[` +
		`{"account_id":"` + own + `","amount":-25.0,"currency":"EUR","bill_amount":-21.5,"bill_currency":"GBP"},` +
		`{"account_id":"` + sterl + `","amount":21.5,"fee":0.08,"currency":"GBP"}]}`
	for _, tc := range []struct {
		name      string
		endpoint  int
		shown     string
		old, with string
		want      contract.Status
	}{
		{"paid", pay, paid, "", "", contract.Succeeded},
		{"paid, upper case", pay, paid, `"EUR"`, `"eur"`, contract.Succeeded},
		{"paid less", pay, paid, "-25,", "-24.99,", contract.KeyReused},
		{"received", pay, paid, "-25,", "25,", contract.Duplicate},
		{"an exponent", pay, paid, "-25,", "-25e0,", contract.Duplicate},
		{"in another currency", pay, paid, `"EUR"`, `"GBP"`, contract.Duplicate},
		{"billed in the currency", pay, paid, `"EUR"`, `"GBP","bill_amount":-25,"bill_currency":"EUR"`, contract.Succeeded},
		{"billed less in the currency", pay, paid, `"EUR"`, `"GBP","bill_amount":-24,"bill_currency":"EUR"`, contract.KeyReused},
		{"from another account", pay, paid, own, other, contract.Duplicate},
		{"to another counterparty", pay, paid, party, other, contract.KeyReused},
		{"to nobody", pay, paid, `"id":"` + party + `",`, "", contract.Duplicate},
		{"with another reference", pay, paid, "INV-1001", "INV-1002", contract.Duplicate},
		{"of another id", pay, paid, "k-1", "k-2", contract.Duplicate},
		{"another transaction", pay, paid, "t-1", "t-2", contract.Duplicate},
		{"another type", pay, paid, `"transfer"`, `"refund"`, contract.Duplicate},
		{"pending", pay, paid, "completed", "pending", contract.Succeeded},
		{"reverted", pay, paid, "completed", "reverted", contract.Succeeded},
		{"declined", pay, paid, "completed", "declined", contract.Duplicate},
		{"failed", pay, paid, "completed", "failed", contract.Duplicate},
		{"a new state", pay, paid, "completed", "suspended", contract.Duplicate},
		{"no legs", pay, paid, `"legs"`, `"lags"`, contract.Duplicate},
		{"two legs of the account", pay, paid, `"legs":[`, `"legs":[{"account_id":"` + own + `","amount":-0.1,"currency":"EUR"},`, contract.Duplicate},
		{"two legs of others", transfer, moved, `"legs":[`, `"legs":[{"account_id":"` + sterl + `","amount":0.1,"currency":"EUR"},`, contract.Duplicate},
		{"moved", transfer, moved, "", "", contract.Succeeded},
		{"moved more", transfer, moved, "-25.00", "-25.01", contract.KeyReused},
		{"moved elsewhere", transfer, moved, other, sterl, contract.KeyReused},
		{"moved without a sign, as in the example", transfer, moved, "-25.00", "25.00", contract.Duplicate},
		{"sold", exchange, sold, "", "", contract.Succeeded},
		{"sold more", exchange, sold, "-25.0", "-25.1", contract.Duplicate},
		{"sold for another currency", exchange, sold, `0.08,"currency":"GBP"`, `0.08,"currency":"USD"`, contract.Duplicate},
		{"sold into another account", exchange, sold, sterl, other, contract.Duplicate},
	} {
		t.Run(tc.name, func(t *testing.T) {
			shown := tc.shown
			if tc.old != "" {
				shown = strings.Replace(tc.shown, tc.old, tc.with, 1)
				require.NotEqual(t, tc.shown, shown)
			}
			known := contract.Outcome{Status: contract.Duplicate, Resource: "t-1"}
			o := revolut.New(nil).ClassifyResolve(call(t, tc.endpoint, "k-1"), known, answer(200, shown))
			assert.Equal(t, tc.want, o.Status, "%v", o)
			assert.Equal(t, contract.FromLookUp, o.Source)
		})
	}
	swapped := strings.NewReplacer(own, other, other, own).Replace(moved)
	known := contract.Outcome{Status: contract.Duplicate, Resource: "t-1"}
	o := revolut.New(nil).ClassifyResolve(call(t, transfer, "k-1"), known, answer(200, swapped))
	assert.Equal(t, contract.Duplicate, o.Status, "the other way round: %v", o)

	c := call(t, pay, "k-1")
	c.Body = []byte(strings.Replace(string(c.Body), `"counterparty_id":"`+party+`"`, `"counterparty_id":"`+party+`","account_id":"`+other+`"`, 1))
	byAccount := strings.Replace(paid, `"id":"`+party+`"`, `"account_id":"`+other+`"`, 1)
	assert.Equal(t, contract.Succeeded, revolut.New(nil).ClassifyResolve(c, known, answer(200, byAccount)).Status, "a counterparty shown by its account alone")
	both := strings.Replace(paid, `"id":"`+party+`"`, `"id":"`+sterl+`","account_id":"`+other+`"`, 1)
	assert.Equal(t, contract.KeyReused, revolut.New(nil).ClassifyResolve(c, known, answer(200, both)).Status)
	elsewhere := strings.Replace(paid, `"id":"`+party+`"`, `"account_id":"`+sterl+`"`, 1)
	assert.Equal(t, contract.Duplicate, revolut.New(nil).ClassifyResolve(c, known, answer(200, elsewhere)).Status)

	bought := call(t, exchange, "k-1")
	bought.Body = []byte(`{"request_id":"k-1","from":{"account_id":"` + own + `","currency":"EUR"},"to":{"account_id":"` + sterl + `","currency":"GBP","amount":21.50}}`)
	assert.Equal(t, contract.Succeeded, revolut.New(nil).ClassifyResolve(bought, known, answer(200, sold)).Status)
	bought.Body = []byte(strings.Replace(string(bought.Body), `,"amount":21.50`, "", 1))
	assert.Equal(t, contract.Duplicate, revolut.New(nil).ClassifyResolve(bought, known, answer(200, sold)).Status, "no amount was asked")
}

package razorpay_test

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
	"github.com/idempact/idempact/providers/razorpay"
	"github.com/idempact/idempact/retry"
)

// do runs one operation at a fake, with so many attempts at most.
func do(t *testing.T, s *fakes.Server, i int, key string, amount int64, attempts int) (*retry.Result, error) {
	t.Helper()
	client, err := retry.NewClient(razorpay.New(nil), &retry.Options{Transport: s.Transport(), MaxAttempts: attempts})
	require.NoError(t, err)
	defer client.CloseIdleConnections()
	r, err := endpoint(i).Request(key, amount)
	require.NoError(t, err)
	return client.Do(r.WithContext(contract.WithKey(t.Context(), key)))
}

// TestLatestState: a repeat shows what became of the payout, and makes no other.
func TestLatestState(t *testing.T) {
	for state, want := range map[string]contract.Status{
		"pending": contract.Succeeded, "queued": contract.Succeeded, "scheduled": contract.Succeeded, "processing": contract.Succeeded, "processed": contract.Succeeded,
		"reversed": contract.Succeeded, "rejected": contract.Declined, "cancelled": contract.Declined, "failed": contract.Declined, "on_hold": contract.Unknown,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := fakes.NewRazorpay(nil)
			first, err := do(t, s, payout, "key-1", 2500, 3)
			require.NoError(t, err)
			require.True(t, s.SetState(first.Resource, state))
			again, err := do(t, s, payout, "key-1", 2500, 1)
			if want != contract.Unknown {
				assert.Equal(t, want, again.Status, state)
				assert.Equal(t, want == contract.Declined, err != nil)
				assert.Equal(t, state, again.State)
				assert.Equal(t, first.Resource, again.Resource)
			}
			assert.Equal(t, want == contract.Declined, again.AllowsNewKey(), state)
			assert.Len(t, s.Effects(), 1)
		})
	}
}

// TestFailedPayoutKeepsItsKey: every try with the key is told that it failed, and only
// another key pays.
func TestFailedPayoutKeepsItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakes.NewRazorpay(nil)
		failing := func(key string) (*retry.Result, error) {
			client, err := retry.NewClient(razorpay.New(nil), &retry.Options{Transport: s.Transport()})
			require.NoError(t, err)
			defer client.CloseIdleConnections()
			e := endpoint(payout)
			e.Body = strings.Replace(e.Body, "{", `{"narration":"failed",`, 1)
			r, err := e.Request(key, 2500)
			require.NoError(t, err)
			return client.Do(r.WithContext(contract.WithKey(t.Context(), key)))
		}
		s.Script(fakes.LoseReply)
		for range 2 {
			result, err := failing("key-1")
			require.ErrorIs(t, err, contract.Declined)
			assert.Equal(t, "failed", result.State)
			assert.True(t, result.AllowsNewKey())
		}
		assert.Empty(t, s.Effects())
		_, err := do(t, s, payout, "key-2", 2500, 3)
		require.NoError(t, err)
		assert.Len(t, s.Effects(), 1)
	})
}

func refusal(text, reason, field string) string {
	return fmt.Sprintf(`{"error":{"code":"BAD_REQUEST_ERROR","description":%q,"source":"NA","step":"NA","reason":%q,"metadata":{},"field":%q}}`, text, reason, field)
}

// TestText: where only the text tells meanings apart, one that is not known allows no
// new key.
func TestText(t *testing.T) {
	const (
		running = "Another request with the same idempotency key is still in progress."
		other   = "Different request with the same idempotency key has already been processed."
		both    = "Different request with the same idempotency key is still in progress."
		body    = "Different request body sent for the same Idempotency Header."
		new     = "A text that nobody documents."
	)
	for _, tc := range []struct {
		endpoint, status    int
		text, reason, field string
		want                contract.Status
	}{
		{refund, 409, running, "NA", "", contract.InProgress},
		{refund, 409, other, "NA", "", contract.KeyReused},
		{refund, 409, strings.ToUpper(other), "NA", "", contract.KeyReused},
		{refund, 409, both, "NA", "", contract.InProgress},
		{refund, 409, new, "NA", "", contract.InProgress},
		{refund, 409, "", "NA", "", contract.InProgress},
		{refund, 409, new, "input_validation_failed", "amount", contract.InProgress},
		{refund, 400, other, "NA", "", contract.KeyReused},
		{refund, 400, new, "NA", "", contract.Unknown},
		{payout, 400, body, "NA", "", contract.KeyReused},
		{payout, 400, body, "input_validation_failed", "X-Payout-Idempotency", contract.KeyReused},
		{payout, 400, new, "NA", "", contract.Unknown},
		{payout, 400, new, "null", "", contract.Unknown},
		{payout, 400, new, "", "", contract.Unknown},
		{payout, 400, new, "two words", "", contract.Unknown},
		{payout, 400, new, "input_validation_failed", "X-Payout-Idempotency", contract.Unknown},
		{payout, 400, "The idempotency key has another payload", "input_validation_failed", "", contract.Unknown},
		{payout, 400, new, "input_validation_failed", "", contract.Rejected},
		{payout, 400, new, "NA", "amount", contract.Rejected},
		{payout, 403, new, "NA", "", contract.Unknown},
		{payout, 404, new, "input_validation_failed", "", contract.Rejected},
		{payout, 401, new, "NA", "", contract.Rejected},
		{payout, 402, new, "input_validation_failed", "amount", contract.Unknown},
		{payout, 409, body, "NA", "", contract.KeyReused},
		{payout, 409, running, "NA", "", contract.Unknown},
		{payout, 500, new, "input_validation_failed", "amount", contract.Unknown},
		{capture, 409, other, "NA", "", contract.Unknown},
		{capture, 400, other, "NA", "", contract.Unknown},
		{capture, 400, new, "input_validation_failed", "amount", contract.Rejected},
	} {
		o := razorpay.New(nil).Classify(call(t, tc.endpoint), answer(tc.status, refusal(tc.text, tc.reason, tc.field)))
		assert.Equal(t, tc.want, o.Status, "%d %d %q %q %q", tc.endpoint, tc.status, tc.text, tc.reason, tc.field)
		if tc.want != contract.Rejected {
			assert.False(t, o.AllowsNewKey())
		}
	}
	keyless := call(t, refund)
	keyless.Key = ""
	keyless.Request.Header.Del("X-Refund-Idempotency")
	assert.Equal(t, contract.Unknown, razorpay.New(nil).Classify(keyless, answer(409, refusal(running, "NA", ""))).Status, "no key, and so none that another has")
	server := strings.Replace(refusal(new, "input_validation_failed", "amount"), "BAD_REQUEST_ERROR", "SERVER_ERROR", 1)
	assert.Equal(t, contract.Unknown, razorpay.New(nil).Classify(call(t, payout), answer(400, server)).Status)
	assert.Equal(t, contract.Unknown, razorpay.New(nil).Classify(contract.Call{}, answer(409, refusal(other, "NA", ""))).Status)
}

// TestInProgress: a refund that runs is waited for under its key.
func TestInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakes.NewRazorpay(nil)
		s.Script(fakes.InFlight(2 * time.Second))
		result, err := do(t, s, refund, "key0000001", 2500, 5)
		require.NoError(t, err)
		assert.Equal(t, s.Effects()[0].Resource, result.Resource)
		assert.Len(t, s.Effects(), 1)
	})
}

// TestMade: a success is one only where it shows what was asked for.
func TestMade(t *testing.T) {
	made := `{"id":"pout_1","entity":"payout","fund_account_id":"fa_00000000000001","amount":2500,"currency":"INR","status":"processed","error":{"code":"NA"}}`
	for _, tc := range []struct {
		old, with string
		want      contract.Status
	}{
		{"", "", contract.Succeeded},
		{`"INR"`, `"inr"`, contract.Succeeded},
		{`"code":"NA"`, `"code":null`, contract.Succeeded},
		{`"code":"NA"`, `"code":"SERVER_ERROR"`, contract.Unknown},
		{`"payout"`, `"refund"`, contract.Unknown},
		{`"processed"`, `"on_hold"`, contract.Unknown},
		{`"processed"`, `null`, contract.Unknown},
		{`2500`, `2501`, contract.KeyReused},
		{`"INR"`, `"USD"`, contract.KeyReused},
		{`fa_00000000000001`, `fa_2`, contract.KeyReused},
		{`"pout_1"`, `"../pout_1"`, contract.Unknown},
	} {
		o := razorpay.New(nil).Classify(call(t, payout), answer(200, strings.Replace(made, tc.old, tc.with, 1)))
		assert.Equal(t, tc.want, o.Status, "%s %v", tc.with, o)
	}
}

// TestFoundByItsName: what may not be sent again is found by the name that the caller
// gave it, and compared.
func TestFoundByItsName(t *testing.T) {
	for _, i := range []int{payout, refund} {
		synctest.Test(t, func(t *testing.T) {
			s := fakes.NewRazorpay(nil)
			s.Script(fakes.LoseReply)
			result, err := do(t, s, i, "key0000001", 2500, 1)
			require.NoError(t, err)
			assert.Equal(t, s.Effects()[0].Resource, result.Resource)

			s.Script(fakes.Unavailable(0))
			result, err = do(t, s, i, "key0000002", 2600, 1)
			require.ErrorIs(t, err, contract.Unknown, "nothing of this amount is listed, and that proves nothing")
			assert.False(t, result.AllowsNewKey())
		})
	}
}

// TestNeverAbsent: also an hour later, which the documents take for a failure: when the
// request was sent last is not known.
func TestNeverAbsent(t *testing.T) {
	empty := answer(200, `{"entity":"collection","count":0,"items":[]}`)
	empty.At = empty.At.AddDate(1, 0, 0)
	for _, i := range []int{payout, refund} {
		found, asked, err := find(t, razorpay.New(nil), call(t, i), empty)
		require.NoError(t, err)
		assert.Len(t, asked, 1)
		assert.False(t, found.Absent)
		assert.Empty(t, found.Resources)
	}
}

// find runs a look-up to its end against the same answer each time.
func find(t *testing.T, a *razorpay.Adapter, c contract.Call, r contract.Reply) (found contract.Finding, asked []*http.Request, err error) {
	t.Helper()
	req, found, err := a.Find(context.Background(), c, contract.Finding{}, nil)
	for req != nil && err == nil && len(asked) < 5 {
		asked = append(asked, req)
		req, found, err = a.Find(context.Background(), c, found, &r)
	}
	return found, asked, err
}

func TestFind(t *testing.T) {
	c := call(t, payout)
	item := func(id, changes string) string {
		old, with, _ := strings.Cut(changes, "=>")
		x := fmt.Sprintf(`{"id":%q,"entity":"payout","fund_account_id":"fa_00000000000001","amount":2500,"currency":"INR","status":"processing",`+
			`"mode":"IMPS","purpose":"payout","reference_id":"INV-1001","created_at":%d}`, id, c.FirstSent.Unix())
		require.Contains(t, x, old)
		return strings.Replace(x, old, with, 1)
	}
	list := func(items ...string) contract.Reply {
		return answer(200, `{"entity":"collection","items":[`+strings.Join(items, ",")+`]}`)
	}
	for name, tc := range map[string]struct {
		reply contract.Reply
		want  []string
	}{
		"none":                  {list(), nil},
		"ours":                  {list(item("p1", "")), []string{"p1"}},
		"two":                   {list(item("p1", ""), item("p2", "")), []string{"p1", "p2"}},
		"reversed":              {list(item("p1", "processing=>reversed")), []string{"p1"}},
		"one that failed":       {list(item("p1", "processing=>failed")), nil},
		"a state that is new":   {list(item("p1", "processing=>on_hold")), nil},
		"another name":          {list(item("p1", "INV-1001=>INV-1002")), nil},
		"no name":               {list(item("p1", `"reference_id"=>"batch_id"`)), nil},
		"another amount":        {list(item("p1", "2500=>2501")), nil},
		"another account":       {list(item("p1", "fa_00000000000001=>fa_2")), nil},
		"another kind":          {list(item("p1", `"payout"=>"refund"`)), nil},
		"a hostile id":          {list(item("../p", "")), nil},
		"an hour before":        {list(item("p1", fmt.Sprintf("%d=>%d", c.FirstSent.Unix(), c.FirstSent.Unix()-3600))), []string{"p1"}},
		"more than that before": {list(item("p1", fmt.Sprintf("%d=>%d", c.FirstSent.Unix(), c.FirstSent.Unix()-3601))), nil},
		"of no date":            {list(item("p1", "created_at=>made_at")), nil},
		"no objects":            {list("1", "null", "[]"), nil},
	} {
		found, asked, err := find(t, razorpay.New(nil), c, tc.reply)
		require.NoError(t, err, name)
		assert.Equal(t, tc.want, found.Resources, name)
		assert.False(t, found.Absent)
		require.Len(t, asked, 1)
		q := asked[0].URL.Query()
		assert.Equal(t, "INV-1001", q.Get("reference_id"))
		assert.Equal(t, "1", q.Get("account_number"), "which is mandatory")
		assert.Equal(t, fmt.Sprint(c.FirstSent.Unix()-3600), q.Get("from"))
	}
	full := make([]string, 100)
	for i := range full {
		full[i] = item("p0", "INV-1001=>INV-1002")
	}
	_, asked, err := find(t, razorpay.New(nil), c, list(full...))
	require.NoError(t, err)
	require.Len(t, asked, 5, "a full page may not be the last")
	assert.Equal(t, "400", asked[4].URL.Query().Get("skip"))

	_, asked, _ = find(t, razorpay.New(nil), call(t, refund), list())
	assert.Equal(t, "/v1/payments/pay_00000000000001/refunds", asked[0].URL.Path)

	for _, r := range []contract.Reply{answer(200, `{}`), answer(200, `[]`), answer(500, `{"items":[]}`), {Err: context.Canceled, StatusCode: 200, Body: []byte(`{"items":[]}`), Sent: true}} {
		_, _, err := find(t, razorpay.New(nil), c, r)
		assert.Error(t, err)
	}
	nameless := call(t, payout)
	nameless.Body = []byte(strings.Replace(string(nameless.Body), "reference_id", "narration", 1))
	unsent := call(t, payout)
	unsent.FirstSent = time.Time{}
	for name, c := range map[string]contract.Call{"no name": nameless, "not sent": unsent, "a capture": call(t, capture)} {
		_, asked, err := find(t, razorpay.New(nil), c, list())
		require.NoError(t, err)
		assert.Empty(t, asked, name)
	}
	_, asked, err = find(t, razorpay.New(&razorpay.Options{SharedReferences: true}), c, list(item("p1", "")))
	require.NoError(t, err)
	assert.Empty(t, asked, "names that are shared tell nothing")
}

func TestResolve(t *testing.T) {
	paid := `{"id":"pout_1","entity":"payout","fund_account_id":"fa_00000000000001","amount":2500,"currency":"INR","status":"processed","reference_id":"INV-1001"}`
	refunded := `{"id":"rfnd_1","entity":"refund","payment_id":"pay_00000000000001","amount":2500,"currency":"INR","status":"processed","receipt":"INV-1001"}`
	for _, tc := range []struct {
		endpoint         int
		shown, old, with string
		want             contract.Status
	}{
		{payout, paid, "", "", contract.Succeeded},
		{payout, paid, "processed", "reversed", contract.Succeeded},
		{payout, paid, "processed", "failed", contract.Duplicate},
		{payout, paid, "processed", "on_hold", contract.Duplicate},
		{payout, paid, "2500", "2499", contract.KeyReused},
		{payout, paid, "fa_00000000000001", "fa_2", contract.KeyReused},
		{payout, paid, `"fund_account_id"`, `"fund"`, contract.Duplicate},
		{payout, paid, "INV-1001", "INV-1002", contract.Duplicate},
		{payout, paid, `"payout"`, `"refund"`, contract.Duplicate},
		{payout, paid, "pout_1", "pout_2", contract.Duplicate},
		{refund, refunded, "", "", contract.Succeeded},
		{refund, refunded, "pay_00000000000001", "pay_2", contract.KeyReused},
		{refund, refunded, "2500", "2499", contract.KeyReused},
		{refund, refunded, "processed", "failed", contract.Duplicate},
	} {
		ref := map[int]string{payout: "pout_1", refund: "rfnd_1"}[tc.endpoint]
		o := razorpay.New(nil).ClassifyResolve(call(t, tc.endpoint), contract.Outcome{Status: contract.Duplicate, Resource: ref},
			answer(200, strings.Replace(tc.shown, tc.old, tc.with, 1)))
		assert.Equal(t, tc.want, o.Status, "%q %v", tc.with, o)
		assert.Equal(t, contract.FromLookUp, o.Source)
	}
	_, err := razorpay.New(nil).ResolveRequest(context.Background(), call(t, capture), contract.Outcome{Resource: "pay_1"})
	assert.Error(t, err)
}

func TestTerms(t *testing.T) {
	a := razorpay.New(nil)
	one, two := a.Terms(call(t, payout)), a.Terms(call(t, refund))
	assert.Equal(t, 6*24*time.Hour, one.Retention, "seven calendar days, the first one perhaps included")
	assert.True(t, one.KeyRequired)
	assert.Zero(t, two.Retention, "not published")
	assert.False(t, two.KeyRequired)
	assert.NotEqual(t, one.KeyHeader, two.KeyHeader)
	for key, ok := range map[string]bool{"abc": false, "ab c": true, strings.Repeat("k", 36): true, strings.Repeat("k", 37): false, "a.bc": false} {
		assert.Equal(t, ok, one.CheckKey(key) == nil, key)
	}
	for key, ok := range map[string]bool{"key000001": false, "key0000001": true, "key 000001": false, strings.Repeat("k", 255): true} {
		assert.Equal(t, ok, two.CheckKey(key) == nil, key)
	}
	assert.NoError(t, one.CheckKey(contract.KeyFor("pay", "1")))
	assert.NoError(t, two.CheckKey(contract.KeyFor("pay", "1")))
	for _, path := range []string{"/v1/payouts/pout_1", "/v1/payouts/pout_1/cancel", "/v1/payments/pay_1/refunds", "/v2/payouts", "/v1/refunds", "/v1/payments/pay_1/capture"} {
		c := call(t, payout)
		c.Request.URL.Path = path
		assert.False(t, a.Terms(c).HonoursKeys(), path)
	}
	assert.False(t, a.Terms(contract.Call{}).HonoursKeys())
}

// TestRefundWithoutABody: a refund of all of a payment may have no body, and is still one
// of the payment in its path.
func TestRefundWithoutABody(t *testing.T) {
	c := call(t, refund)
	c.Body = nil
	for of, want := range map[string]contract.Status{"pay_00000000000001": contract.Succeeded, "pay_2": contract.KeyReused} {
		o := razorpay.New(nil).Classify(c, answer(200, `{"id":"rfnd_1","entity":"refund","amount":2500,"payment_id":"`+of+`","status":"processed"}`))
		assert.Equal(t, want, o.Status, of)
	}
}

// TestReceiptRefused: the receipt may be taken by this very refund.
func TestReceiptRefused(t *testing.T) {
	for _, rest := range []string{`"field":"receipt"`, `"reason":"input_validation_failed","description":"A refund with this Receipt exists."`} {
		o := razorpay.New(nil).Classify(call(t, refund), answer(400, `{"error":{"code":"BAD_REQUEST_ERROR",`+rest+`}}`))
		assert.Equal(t, contract.Unknown, o.Status, rest)
	}
}

// TestFailedElsewhere: what failed is no success of an endpoint that is not known.
func TestFailedElsewhere(t *testing.T) {
	c := call(t, payout)
	c.Request.URL.Path = "/v1/transfers"
	for state, want := range map[string]contract.Status{"failed": contract.Unknown, "created": contract.Succeeded} {
		assert.Equal(t, want, razorpay.New(nil).Classify(c, answer(200, `{"id":"trf_1","entity":"transfer","status":"`+state+`"}`)).Status)
	}
}

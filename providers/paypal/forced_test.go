package paypal_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/providers/paypal"
	"github.com/idempact/idempact/retry"
)

// play runs a test in virtual time, with a loop at a fake.
func play(t *testing.T, f func(*testing.T, *fakes.Server, *retry.Client)) {
	synctest.Test(t, func(t *testing.T) {
		server := fakes.NewPayPal(nil)
		client, err := retry.NewClient(paypal.New(nil), &retry.Options{Transport: server.Transport(), AttemptTimeout: 5 * time.Second})
		require.NoError(t, err)
		defer client.CloseIdleConnections()
		f(t, server, client)
	})
}

// request returns the example of an endpoint under a key.
func request(t testing.TB, name, key string, amount int64) *http.Request {
	r, err := endpoint(t, name).Request(key, amount)
	require.NoError(t, err)
	ctx := context.Background()
	if name != "pay out a batch" && key != "" {
		ctx = contract.WithKey(ctx, key)
	}
	return r.WithContext(ctx)
}

func call(t testing.TB, name, key string) contract.Call {
	r := request(t, name, key, 2500)
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		require.NoError(t, err)
		r.Body = nil
	}
	return contract.Call{Request: r, Body: body, Key: key, FirstSent: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
}

func classify(t testing.TB, name string, status int, body string) contract.Outcome {
	return paypal.New(nil).Classify(call(t, name, "key-1"), contract.Reply{StatusCode: status, Body: []byte(body), Sent: true})
}

// A repeat shows how things stand now, and that is a success of the first request.
func TestLatestState(t *testing.T) {
	play(t, func(t *testing.T, server *fakes.Server, client *retry.Client) {
		server.Script(fakes.LoseReply)
		first, err := client.Do(request(t, "capture an authorization", "key-1", 2500))
		require.NoError(t, err, first)
		require.Len(t, server.Effects(), 1)
		require.True(t, server.SetState(first.Resource, "REFUNDED"))
		again, err := client.Do(request(t, "capture an authorization", "key-1", 2500))
		require.NoError(t, err, again)
		assert.Equal(t, "REFUNDED", again.State)
		assert.Equal(t, first.Resource, again.Resource)
		require.True(t, server.SetState(first.Resource, "DECLINED"))
		declined, err := client.Do(request(t, "capture an authorization", "key-1", 2500))
		require.ErrorIs(t, err, contract.Declined, declined)
		assert.Len(t, server.Effects(), 1)
	})
}

// Each API stores its ids for a time of its own.
func TestHowLongIdsAreStored(t *testing.T) {
	a := paypal.New(nil)
	for name, want := range map[string]time.Duration{
		"create an order": 6 * time.Hour, "capture an order": 6 * time.Hour, "authorize an order": 6 * time.Hour,
		"capture an authorization": 45 * 24 * time.Hour, "refund a capture": 45 * 24 * time.Hour, "authorize again": 45 * 24 * time.Hour,
		"pay out a batch": 30 * 24 * time.Hour, "save a payment method": 3 * time.Hour, "void an authorization": 0,
	} {
		terms := a.Terms(call(t, name, "key-1"))
		assert.Equal(t, want, terms.Retention, name)
		assert.Equal(t, want > 0, terms.HonoursKeys(), name)
	}
	assert.Error(t, a.Terms(call(t, "create an order", "k")).CheckKey(strings.Repeat("k", 39)))
	single := call(t, "create an order", "key-1")
	single.Body = []byte(`{"payment_source":{"paypal":{}},"purchase_units":[]}`)
	assert.True(t, a.Terms(single).KeyRequired, "a single step needs an id")
	assert.False(t, a.Terms(call(t, "create an order", "key-1")).KeyRequired)
}

// PayPal compares nothing: a used id shows its first request, which must not pass for
// a success of the second. Where the answer is minimal, an order is fetched.
func TestUsedIdShowsAnotherRequest(t *testing.T) {
	for _, name := range []string{"create an order", "capture an authorization", "refund a capture"} {
		play(t, func(t *testing.T, server *fakes.Server, client *retry.Client) {
			first, err := client.Do(request(t, name, "key-1", 2500))
			require.NoError(t, err, first)
			other, err := client.Do(request(t, name, "key-1", 2600))
			require.ErrorIs(t, err, contract.KeyReused, other)
			assert.False(t, other.AllowsNewKey())
			assert.Equal(t, first.Resource, other.Resource)
			assert.Len(t, server.Effects(), 1)
		})
	}
	for amount, want := range map[int64]contract.Status{2500: contract.Succeeded, 2600: contract.Duplicate} {
		play(t, func(t *testing.T, server *fakes.Server, client *retry.Client) {
			minimal := func(amount int64) *http.Request {
				r := request(t, "create an order", "key-1", amount)
				r.Header.Del("Prefer")
				return r
			}
			first, err := client.Do(minimal(2500))
			require.NoError(t, err, first)
			again, _ := client.Do(minimal(amount))
			assert.Equal(t, want, again.Status, "%d: %v", amount, again)
			assert.False(t, again.AllowsNewKey())
			assert.Len(t, server.Effects(), 1)
		})
	}
}

// An id that another kind of call used shows that call's resource.
func TestIdOfAnotherCall(t *testing.T) {
	play(t, func(t *testing.T, server *fakes.Server, client *retry.Client) {
		_, err := client.Do(request(t, "refund a capture", "key-1", 2500))
		require.NoError(t, err)
		result, err := client.Do(request(t, "capture an authorization", "key-1", 2500))
		require.ErrorIs(t, err, contract.Unknown, result)
		assert.Len(t, server.Effects(), 1)
	})
}

// An order can be captured once, so "already captured" is this action, once it is seen.
func TestAlreadyDone(t *testing.T) {
	for name, effects := range map[string]int{"capture an order": 1, "authorize an order": 1} {
		play(t, func(t *testing.T, server *fakes.Server, client *retry.Client) {
			_, err := client.Do(request(t, name, "key-1", 0))
			require.NoError(t, err)
			again, err := client.Do(request(t, name, "key-2", 0))
			require.NoError(t, err, again)
			assert.Equal(t, "EXAMPLE1", again.Resource)
			assert.Len(t, server.Effects(), effects)
		})
	}
	const refused = `{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"%"}]}`
	for issue, want := range map[string]contract.Status{
		"DUPLICATE_INVOICE_ID": contract.Duplicate, "CAPTURE_FULLY_REFUNDED": contract.Duplicate, "INSTRUMENT_DECLINED": contract.Declined,
		"ORDER_ALREADY_CAPTURED": contract.Unknown, // not at a refund
		"SOMETHING_ALREADY_DONE": contract.Unknown, "DUPLICATE_TRANSACTION": contract.Unknown, "REFUND_NOT_ALLOWED": contract.Rejected,
	} {
		o := classify(t, "refund a capture", 422, strings.Replace(refused, "%", issue, 1))
		assert.Equal(t, want, o.Status, issue)
		assert.Equal(t, issue, o.Code)
		assert.Empty(t, o.Resource, "it is not said which refund")
	}
}

// A completed order may hold a payment that was declined.
func TestCompletedIsNotPaid(t *testing.T) {
	order := func(payments ...string) string {
		var units []string
		for _, p := range payments {
			units = append(units, `{"payments":{`+p+`}}`)
		}
		return `{"id":"EXAMPLE1","status":"COMPLETED","purchase_units":[` + strings.Join(units, ",") + `]}`
	}
	const paid, declined, failed = `"captures":[{"status":"PENDING"}]`, `"captures":[{"status":"DECLINED"}]`, `"captures":[{"status":"FAILED"}]`
	for _, c := range []struct {
		body string
		want contract.Status
	}{
		{order(), contract.Succeeded},
		{order(paid, paid), contract.Succeeded},
		{order(declined), contract.Declined},
		{order(declined, declined), contract.Declined},
		{order(`"authorizations":[{"status":"DENIED"}]`), contract.Declined},
		{order(`"captures":[{"status":"DECLINED"},{"status":"COMPLETED"}]`), contract.Succeeded},
		{order(paid, declined), contract.Unknown},
		{order(failed), contract.Unknown},
		{order(declined, failed), contract.Unknown},
		{order(`"captures":[{"status":"A_NEW_STATE"}]`), contract.Unknown},
		{`{"id":"EXAMPLE1","status":"APPROVED"}`, contract.Unknown},
		{`{"id":"EXAMPLE2","status":"COMPLETED"}`, contract.Unknown},
	} {
		assert.Equal(t, c.want, classify(t, "capture an order", 201, c.body).Status, c.body)
	}
}

// An answer that says two things says nothing.
func TestAnswersThatContradictThemselves(t *testing.T) {
	const errorBeside = `,"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"INSTRUMENT_DECLINED"}]}`
	for body, status := range map[string]int{
		`{"id":"EXAMPLE1","status":"COMPLETED"` + errorBeside:                                                          201,
		`{"id":"EXAMPLE1","status":"CREATED"` + errorBeside:                                                            422,
		`{"name":"UNPROCESSABLE_ENTITY","details":{"issue":"ORDER_ALREADY_CAPTURED"}}`:                                 422,
		`{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"order_already_captured"}]}`:                               422,
		`{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"INSTRUMENT_DECLINED"},{"issue":"ORDER_ALREADY_VOIDED"}]}`: 422,
		`{"name":"INTERNAL_SERVER_ERROR"}`:                                                                             400,
		`{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"USER_BUSINESS_ERROR"}]}`:                                  422,
	} {
		assert.Equal(t, contract.Unknown, classify(t, "capture an order", status, body).Status, body)
	}
}

// A used sender_batch_id is the success path of a lost batch, and the trap of another.
func TestPayoutsGoByTheirBatchId(t *testing.T) {
	play(t, func(t *testing.T, server *fakes.Server, client *retry.Client) {
		server.Script(fakes.LoseReply)
		first, err := client.Do(request(t, "pay out a batch", "batch-1", 2500))
		require.NoError(t, err, first)
		assert.Equal(t, 2, first.Attempts)
		require.Len(t, server.Effects(), 1)
		other, err := client.Do(request(t, "pay out a batch", "batch-1", 2600))
		require.ErrorIs(t, err, contract.KeyReused, other)
		require.True(t, server.SetState(first.Resource, "DENIED"))
		denied, err := client.Do(request(t, "pay out a batch", "batch-1", 2500))
		require.ErrorIs(t, err, contract.Duplicate, denied)
		assert.Equal(t, "DENIED", denied.State)
		assert.Len(t, server.Effects(), 1)
	})
	assert.Equal(t, contract.KeySpent, classify(t, "pay out a batch", 400,
		`{"name":"USER_BUSINESS_ERROR","details":[{"field":"SENDER_BATCH_ID","issue":"Duplicate batch request"}]}`).Status)
	hostile := classify(t, "pay out a batch", 400, `{"name":"USER_BUSINESS_ERROR","links":[{"href":"https://evil.example/v1/payments/payouts/../x"}]}`)
	assert.Equal(t, contract.Unknown, hostile.Status, "%v", hostile)
}

// What a fetch does not show whole is not confirmed: a page of a batch, a bare order.
func TestFetchShowsAll(t *testing.T) {
	a := paypal.New(nil)
	resolve := func(name, ref, body string) contract.Status {
		c := call(t, name, "key-1")
		if name == "pay out a batch" {
			c.Body = []byte(strings.Replace(string(c.Body), `"items":[`, `"items":[{"receiver":"OTHER","amount":{"currency":"USD","value":"1.00"}},`, 1))
		}
		return a.ClassifyResolve(c, contract.Outcome{Status: contract.Duplicate, Resource: ref}, contract.Reply{StatusCode: 200, Body: []byte(body), Sent: true}).Status
	}
	const (
		head  = `{"batch_header":{"payout_batch_id":"PB1","batch_status":"SUCCESS","sender_batch_header":{"sender_batch_id":"key-1"}},"items":[`
		one   = `{"payout_item":{"receiver":"EXAMPLE","amount":{"currency":"USD","value":"25.00"}}}`
		other = `{"payout_item":{"receiver":"OTHER","amount":{"currency":"USD","value":"1.00"}}}`
	)
	assert.Equal(t, contract.Succeeded, resolve("pay out a batch", "PB1", head+one+`,`+other+`]}`))
	assert.Equal(t, contract.Succeeded, resolve("pay out a batch", "PB1",
		head+one+`,`+other+`],"links":[{"rel":"self","href":"https://api-m.paypal.com/v1/payments/payouts/PB1?page=1"}]}`))
	assert.Equal(t, contract.Duplicate, resolve("pay out a batch", "PB1", head+strings.Replace(one, "EXAMPLE", "example", 1)+`,`+other+`]}`), "in another spelling")
	assert.Equal(t, contract.Duplicate, resolve("pay out a batch", "PB1", head+one+`]}`))
	assert.Equal(t, contract.Duplicate, resolve("pay out a batch", "PB1", head+`]}`))
	assert.Equal(t, contract.KeyReused, resolve("pay out a batch", "PB1", head+one+`,`+one+`,`+other+`]}`))
	assert.Equal(t, contract.Duplicate, resolve("create an order", "O1", `{"id":"O1","status":"CREATED"}`))
	assert.Equal(t, contract.Duplicate, resolve("create an order", "O1", `{"id":"O2","status":"CREATED"}`))
}

// A void honours no id: it is sent once, and what was voided before is seen.
func TestVoidIsKeyless(t *testing.T) {
	play(t, func(t *testing.T, server *fakes.Server, client *retry.Client) {
		server.Script(fakes.LoseReply)
		lost, err := client.Do(request(t, "void an authorization", "", 0).WithContext(contract.WithoutKey(context.Background())))
		require.ErrorIs(t, err, contract.Unknown, lost)
		assert.Equal(t, 1, lost.Attempts)
		again, err := client.Do(request(t, "void an authorization", "", 0))
		require.NoError(t, err, again)
		assert.Equal(t, "VOIDED", again.State)
		assert.Len(t, server.Effects(), 1)
	})
}

// FuzzClassify asks a second reader: what settles anything is JSON that says so, by the
// standard decoder too.
func FuzzClassify(f *testing.F) {
	names := []string{"create an order", "capture an order", "refund a capture", "pay out a batch", "void an authorization"}
	all, err := contracttest.Exchanges(os.DirFS("testdata"))
	require.NoError(f, err)
	for _, x := range all {
		for which := range names {
			f.Add(uint8(which), x.Reply.StatusCode, x.Reply.Body)
		}
	}
	a := paypal.New(nil)
	var calls []contract.Call
	for _, name := range names {
		calls = append(calls, call(f, name, "key-1"))
	}
	f.Fuzz(func(t *testing.T, which uint8, status int, body []byte) {
		c := calls[int(which)%len(calls)]
		r := contract.Reply{StatusCode: status, Body: body, Sent: true}
		o := a.Classify(c, r)
		if o != a.Classify(c, r) || o.RetryAfter < 0 || o.Source != contract.FromReply || o.Replayed {
			t.Fatalf("%v", o)
		}
		if o.Resource != "" && contract.CheckReference(o.Resource) != nil {
			t.Fatalf("resource %q", o.Resource)
		}
		if len(body) > 20 && strings.Contains(o.Reason, string(body)) {
			t.Fatal("the reason shows the body")
		}
		var shown struct {
			ID          any
			BatchHeader struct {
				ID any `json:"payout_batch_id"`
			} `json:"batch_header"`
			Name, Error any
		}
		readable := json.Unmarshal(body, &shown) == nil
		success := readable && (status == 200 || status == 201) && (shown.ID == o.Resource || shown.BatchHeader.ID == o.Resource)
		refusal := readable && status >= 400 && status < 500 && (shown.Name != nil || shown.Error != nil)
		switch o.Status {
		case contract.Succeeded:
			bare := status == 204 && int(which)%len(calls) == 4 && strings.TrimSpace(string(body)) == ""
			assert.True(t, bare || success, "%d %q: %v", status, body, o)
		case contract.Declined, contract.KeyReused, contract.Duplicate:
			assert.True(t, success || refusal, "%d %q: %v", status, body, o)
		case contract.Rejected, contract.InProgress, contract.KeySpent:
			assert.True(t, refusal, "%d %q: %v", status, body, o)
		case contract.NotExecuted:
			assert.Equal(t, 429, status)
		case contract.Unknown:
		default:
			t.Fatalf("%d %q: %v", status, body, o)
		}
	})
}

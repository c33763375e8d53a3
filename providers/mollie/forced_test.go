package mollie_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
	"github.com/idempact/idempact/providers/mollie"
	"github.com/idempact/idempact/retry"
)

// play runs a test in virtual time, with a loop at a fake.
func play(t *testing.T, f func(*testing.T, *fakes.Server, *retry.Client)) {
	synctest.Test(t, func(t *testing.T) {
		server := fakes.NewMollie(nil)
		client, err := retry.NewClient(mollie.New(nil), &retry.Options{
			Transport: server.Transport(), AttemptTimeout: 5 * time.Second, MaxElapsed: 24 * time.Hour, MaxWait: 24 * time.Hour,
		})
		require.NoError(t, err)
		defer client.CloseIdleConnections()
		f(t, server, client)
	})
}

// request returns the example of an endpoint for an order, under a key.
func request(t testing.TB, name, key, order string) *http.Request {
	e := endpoint(t, name)
	e.Body = strings.ReplaceAll(e.Body, "{order}", order)
	r, err := e.Request(key, 2500)
	require.NoError(t, err)
	return r.WithContext(contract.WithKey(context.Background(), key))
}

// An hour is short: a throttle may outlive the key. What was sent is then looked up,
// and told from an equal payment by its metadata alone.
func TestAnHourIsShort(t *testing.T) {
	play(t, func(t *testing.T, server *fakes.Server, client *retry.Client) {
		_, err := client.Do(request(t, "create a payment", "key-other", "another order"))
		require.NoError(t, err)
		server.Script(fakes.LoseReply, fakes.Throttle(61*time.Minute))
		result, err := client.Do(request(t, "create a payment", "key-1", "order-1"))
		require.NoError(t, err, result)
		effects := server.Effects()
		require.Len(t, effects, 2)
		assert.Equal(t, effects[1].Resource, result.Resource)
		assert.Equal(t, "open", result.State)
	})
}

func TestReplayIsMarked(t *testing.T) {
	play(t, func(t *testing.T, server *fakes.Server, client *retry.Client) {
		server.Script(fakes.LoseReply)
		result, err := client.Do(request(t, "refund a payment", "key-1", "order-1"))
		require.NoError(t, err, result)
		assert.True(t, result.Replayed)
		assert.Len(t, server.Effects(), 1)
	})
}

// A 409 at a refund may be about an equal refund, which may be this action's or not.
func TestEqualRefund(t *testing.T) {
	for order, want := range map[string]contract.Status{"order-1": contract.Succeeded, "order-2": contract.Unknown} {
		play(t, func(t *testing.T, server *fakes.Server, client *retry.Client) {
			_, err := client.Do(request(t, "refund a payment", "key-1", "order-1"))
			require.NoError(t, err)
			result, _ := client.Do(request(t, "refund a payment", "key-2", order))
			assert.Equal(t, want, result.Status, "%s: %v", order, result)
			assert.False(t, result.AllowsNewKey(), order)
			assert.Len(t, server.Effects(), 1)
			assert.Equal(t, 1, result.Attempts, "sending again does not help")
		})
	}
}

func call(t testing.TB, name, key string) contract.Call {
	r := request(t, name, key, "INV-1001")
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		require.NoError(t, err)
		r.Body = nil
	}
	return contract.Call{Request: r, Body: body, Key: key, FirstSent: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
}

// entry returns an entry of a list that is what the example asks for.
func entry(id string, change ...string) string {
	return strings.NewReplacer(append(change, "", "")...).Replace(`{"resource":"payment","id":"` + id + `","status":"open",
		"createdAt":"2026-11-29T12:00:00+00:00","amount":{"value":"25.00","currency":"EUR"},"description":"Order INV-1001",
		"metadata":{"order":"INV-1001"},"redirectUrl":"https://shop.example/r"}`)
}

func list(next string, entries ...string) *contract.Reply {
	body := fmt.Sprintf(`{"count":%d,"_embedded":{"payments":[%s]},"_links":{"next":{"href":%q}}}`, len(entries), strings.Join(entries, ","), next)
	return &contract.Reply{StatusCode: http.StatusOK, Body: []byte(body), Sent: true}
}

func TestWhatIsFoundInAList(t *testing.T) {
	a, c := mollie.New(nil), call(t, "create a payment", "key-1")
	c.Body = bytes.Replace(c.Body, []byte(`"value":"25.00"`), []byte(`"value":"25.0"`), 1)
	find := func(c contract.Call, last *contract.Reply) ([]string, *http.Request) {
		req, found, err := a.Find(context.Background(), c, contract.Finding{}, last)
		require.NoError(t, err)
		assert.False(t, found.Absent)
		return found.Resources, req
	}
	found := func(entries ...string) []string { refs, _ := find(c, list("", entries...)); return refs }
	assert.Equal(t, []string{"tr_1", "tr_2"}, found(entry("tr_1"), entry("tr_2"), entry("tr_1")), "two are an alarm")
	assert.Empty(t, found(entry("tr_1", `"25.00"`, `"25.01"`)))
	assert.Empty(t, found(entry("tr_1", "EUR", "USD")))
	assert.Empty(t, found(entry("tr_1", `"order":"INV-1001"`, `"order":"INV-1002"`)), "an equal payment of another order")
	assert.Empty(t, found(entry("tr_1", `"metadata":{"order":"INV-1001"},`, "")))
	assert.Empty(t, found(entry("tr_1", "12:00:00", "10:59:59")), "older than the operation")
	assert.Empty(t, found(entry("tr_1", "createdAt", "paidAt")), "of no known time")
	assert.Empty(t, found(entry("../tr_1")))

	bare := c
	bare.Body = bytes.Replace(c.Body, []byte(`{"order":"INV-1001"}`), []byte(`{}`), 1)
	refs, req := find(bare, nil)
	assert.Empty(t, refs)
	assert.Nil(t, req, "nothing tells it from an equal one")

	_, req = find(c, nil)
	assert.Equal(t, "https://api.mollie.com/v2/payments?limit=250", req.URL.String())
	_, req = find(c, list("https://evil.example/v2/payments?from=tr_9&limit=5", entry("tr_1")))
	assert.Equal(t, "https://api.mollie.com/v2/payments?from=tr_9&limit=250", req.URL.String(), "the link is not followed")
	_, req = find(c, list("https://api.mollie.com/v2/payments?from=tr_9", entry("tr_1", "12:00:00", "10:59:59")))
	assert.Nil(t, req, "the rest is older still")
	_, req = find(c, list("https://api.mollie.com/v2/payments?from=../x", entry("tr_1")))
	assert.Nil(t, req)

	_, found1, err := a.Find(context.Background(), c, contract.Finding{Cursor: "tr_9"}, list("https://api.mollie.com/v2/payments?from=tr_9", entry("tr_1")))
	require.NoError(t, err)
	assert.Equal(t, "tr_9", found1.Cursor)
	again, _, err := a.Find(context.Background(), c, found1, list("https://api.mollie.com/v2/payments?from=tr_9", entry("tr_1")))
	require.NoError(t, err)
	assert.Nil(t, again, "a page that leads to itself is the last one")

	oauth := c
	oauth.Body = bytes.Replace(c.Body, []byte(`{"amount"`), []byte(`{"testmode":true,"profileId":"pfl_1","amount"`), 1)
	_, req = find(oauth, nil)
	assert.Equal(t, "limit=250&profileId=pfl_1&testmode=true", req.URL.RawQuery)
}

func TestWhatIsFetched(t *testing.T) {
	a, c := mollie.New(nil), call(t, "create a payment", "key-1")
	o := contract.Outcome{Status: contract.Duplicate, Resource: "tr_1"}
	resolve := func(body string) contract.Status {
		return a.ClassifyResolve(c, o, contract.Reply{StatusCode: http.StatusOK, Body: []byte(body), Sent: true}).Status
	}
	assert.Equal(t, contract.Succeeded, resolve(entry("tr_1")))
	for _, change := range [][2]string{
		{`"25.00"`, `"25.01"`}, {`"order":"INV-1001"`, `"order":"INV-1002"`}, {"Order INV", "Bestelling INV"},
		{`"open"`, `"failed"`}, {`"open"`, `"expired"`}, {`"open"`, `"canceled"`}, {`"tr_1"`, `"tr_2"`}, {`"payment"`, `"order"`},
	} {
		assert.Equal(t, contract.Duplicate, resolve(entry("tr_1", change[0], change[1])),
			"%v: a list binds no key, so nothing shows that the key is another's", change)
	}
	for name, want := range map[string]string{
		"create a payment":          "https://api.mollie.com/v2/payments/tr_1",
		"charge a customer":         "https://api.mollie.com/v2/payments/tr_1",
		"refund a payment":          "https://api.mollie.com/v2/payments/tr_1/refunds/tr_1",
		"transfer between balances": "https://api.mollie.com/v2/connect/balance-transfers/tr_1",
	} {
		req, err := a.ResolveRequest(context.Background(), call(t, name, "key-1"), o)
		require.NoError(t, err)
		assert.Equal(t, want, req.URL.String())
	}
}

// A 400 for a used key must never pass for a refusal after which a new key is safe.
func TestBadRequestAllowsNoNewKey(t *testing.T) {
	play(t, func(t *testing.T, server *fakes.Server, client *retry.Client) {
		_, err := client.Do(request(t, "create a payment", "key-1", "order-1"))
		require.NoError(t, err)
		result, err := client.Do(request(t, "create a payment", "key-1", "order-2"))
		require.ErrorIs(t, err, contract.KeyReused)
		assert.False(t, result.AllowsNewKey())
		assert.Len(t, server.Effects(), 1)
	})
}

// What another request would get confirms nothing, nor does an error that shows a resource.
func TestAnswersOfAnother(t *testing.T) {
	for body, status := range map[string]int{
		`{"resource":"refund","id":"re_1","status":"pending","paymentId":"tr_2"}`:                          201,
		`{"resource":"refund","id":"re_1","status":"pending","amount":{"currency":"EUR","value":"99.00"}}`: 201,
		`{"resource":"refund","id":"re_1","status":"pending","amount":{"currency":"XXX"}}`:                 201,
		`{"status":422,"title":"Unprocessable Entity","id":"re_1"}`:                                        422,
		`{"status":500,"title":"Internal Server Error"}`:                                                   422,
		`{"status":422,"title":"Unprocessable Entity","resource":"refund"}`:                                422,
	} {
		o := mollie.New(nil).Classify(call(t, "refund a payment", "key-1"), contract.Reply{StatusCode: status, Body: []byte(body), Sent: true})
		assert.Equal(t, contract.Unknown, o.Status, body)
		assert.Equal(t, status == 201, o.NoResend, body)
	}
}

// FuzzClassify asks a second reader: what settles anything is JSON that says so, by the
// standard decoder too.
func FuzzClassify(f *testing.F) {
	all, err := contracttest.Exchanges(os.DirFS("testdata"))
	require.NoError(f, err)
	for _, x := range all {
		for which := range uint8(4) {
			f.Add(which, x.Reply.StatusCode, x.Reply.Body, x.Reply.Header.Get("Idempotent-Replayed"))
		}
	}
	a := mollie.New(nil)
	calls := []contract.Call{
		call(f, "create a payment", "key-1"), call(f, "refund a payment", "key-1"),
		call(f, "create a payment", ""), call(f, "cancel a refund", ""),
	}
	f.Fuzz(func(t *testing.T, which uint8, status int, body []byte, marker string) {
		c := calls[int(which)%len(calls)]
		r := contract.Reply{StatusCode: status, Body: body, Sent: true, Header: http.Header{"Idempotent-Replayed": {marker}}}
		o := a.Classify(c, r)
		if o != a.Classify(c, r) || o.RetryAfter < 0 || o.Source != contract.FromReply {
			t.Fatalf("%v", o)
		}
		if len(body) > 20 && strings.Contains(o.Reason, string(body)) {
			t.Fatal("the reason shows the body")
		}
		var shown struct {
			Resource, ID any
			Status       any
			Title        string
		}
		readable := json.Unmarshal(body, &shown) == nil
		error4xx := readable && status >= 400 && status < 500 && fmt.Sprint(shown.Status) == fmt.Sprint(status) && shown.Title != ""
		switch o.Status {
		case contract.Succeeded:
			bare := status == 204 && which%4 == 3 && strings.TrimSpace(string(body)) == ""
			ok := bare || readable && status == 201 && shown.ID == o.Resource && contract.CheckReference(o.Resource) == nil
			assert.True(t, ok, "%d %q: %v", status, body, o)
		case contract.Declined:
			assert.True(t, readable && status == 201 && shown.Status == "failed", "%d %q: %v", status, body, o)
		case contract.Rejected, contract.KeyReused, contract.InProgress:
			assert.True(t, error4xx, "%d %q: %v", status, body, o)
			assert.False(t, status == 400 && c.Key != "" && o.Status == contract.Rejected, "a new key might pay twice")
		case contract.NotExecuted:
			assert.Equal(t, 429, status)
		case contract.KeySpent:
			assert.True(t, status >= 500 && c.Key != "")
		case contract.Unknown:
		default:
			t.Fatalf("%d %q: %v", status, body, o)
		}
	})
}

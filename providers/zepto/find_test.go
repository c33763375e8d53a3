package zepto

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

var sent = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

// entry is a payment of 100 to "c" as a list shows it.
func entry(ref string, created time.Time, metadata string) string {
	return fmt.Sprintf(`{"ref":%q,"metadata":%s,"payouts":[{"amount":100,"recipient_contact_id":"c","created_at":%q}]}`,
		ref, metadata, created.UTC().Format(time.RFC3339))
}

func paymentOf(t *testing.T, metadata string) contract.Call {
	c := keyed(t, "/payments", `{"payouts":[{"amount":100,"recipient_contact_id":"c"}],"metadata":`+metadata+`}`)
	c.FirstSent = sent
	return c
}

// walk runs a look-up against pages, as the loop would, and returns what was read.
func walk(t *testing.T, a *Adapter, c contract.Call, pages func(n int) contract.Reply) ([]string, contract.Finding, error) {
	t.Helper()
	var (
		read []string
		so   contract.Finding
		last *contract.Reply
	)
	for {
		require.Less(t, len(read), 100, "no end")
		r, next, err := a.Find(t.Context(), c, so, last)
		assert.False(t, next.Absent, "an absence is never claimed")
		assert.False(t, next.Applied)
		so = next
		if err != nil || r == nil {
			return read, so, err
		}
		require.Equal(t, http.MethodGet, r.Method)
		require.Equal(t, "api.zeptopayments.com", r.URL.Host)
		require.Empty(t, r.Header.Get("Idempotency-Key"))
		read = append(read, r.URL.RequestURI())
		n, _ := strconv.Atoi(r.URL.Query().Get("page"))
		reply := pages(n)
		last = &reply
	}
}

func list(entries ...string) string { return `{"data":[` + strings.Join(entries, ",") + `]}` }

const next = `<http://elsewhere.example/payments?page=2>; rel="next"`

func TestFindPagesBackToTheFirstSend(t *testing.T) {
	later := sent.Add(time.Minute)
	pages := func(n int) contract.Reply {
		switch n {
		case 1:
			return answer(200, list(entry("PB.9", later.Add(time.Hour), `{"order_id":"o-9"}`), entry("PB.8", later.Add(time.Minute), `{}`)), "Link", next)
		case 2:
			return answer(200, list(entry("PB.7", later, `{"order_id":"o-1"}`), entry("PB.6", sent.Add(-30*time.Minute), `{"order_id":"o-6"}`)), "Link", next)
		case 3:
			return answer(200, list(entry("PB.5", sent.Add(-2*time.Hour), `{"order_id":"o-1"}`)), "Link", next)
		default:
			t.Errorf("page %d is before the first send", n)
			return answer(500, "")
		}
	}
	read, so, err := walk(t, New(nil), paymentOf(t, `{"order_id":"o-1"}`), pages)
	require.NoError(t, err)
	assert.Equal(t, []string{"PB.7"}, so.Resources)
	assert.Equal(t, []string{"/payments?page=1&per_page=100", "/payments?page=2&per_page=100", "/payments?page=3&per_page=100"}, read)

	// Our clock may be up to an hour ahead of Zepto's.
	skewed := func(int) contract.Reply {
		return answer(200, list(entry("PB.1", sent.Add(-59*time.Minute), `{"order_id":"o-1"}`)))
	}
	_, so, err = walk(t, New(nil), paymentOf(t, `{"order_id":"o-1"}`), skewed)
	require.NoError(t, err)
	assert.Equal(t, []string{"PB.1"}, so.Resources)
}

func TestFindTellsOperationsApart(t *testing.T) {
	one := func(metadata string) func(int) contract.Reply {
		return func(int) contract.Reply { return answer(200, list(entry("PB.1", sent, metadata))) }
	}
	for _, tc := range []struct {
		name            string
		options         *Options
		asked, shown    string
		read            int
		found           []string
		reasonMustState string
	}{
		{"same metadata", nil, `{"order_id":"o-1"}`, `{"order_id":"o-1"}`, 1, []string{"PB.1"}, "found"},
		{"other metadata", nil, `{"order_id":"o-1"}`, `{"order_id":"o-2"}`, 1, nil, "proves nothing"},
		{"no metadata shown", nil, `{"order_id":"o-1"}`, `null`, 1, nil, "proves nothing"},
		{"none asked", nil, `{}`, `{}`, 0, nil, "no metadata"},
		{"null asked", nil, `{"order_id":null}`, `{}`, 0, nil, "no metadata"},
		{"only a remitter", nil, `{"remitter":"Test"}`, `{"remitter":"Test"}`, 0, nil, "no metadata"},
		{"named key", &Options{OperationMetadata: []string{"order_id"}}, `{"order_id":"o-1","team":"x"}`, `{"order_id":"o-1","team":"x"}`, 1, []string{"PB.1"}, "found"},
		{"named key, other pair differs", &Options{OperationMetadata: []string{"order_id"}}, `{"order_id":"o-1","team":"x"}`, `{"order_id":"o-1","team":"y"}`, 1, nil, "proves nothing"},
		{"one of two named keys", &Options{OperationMetadata: []string{"order_id", "part"}}, `{"order_id":"o-1"}`, `{"order_id":"o-1"}`, 0, nil, "no metadata"},
		{"turned off", &Options{OperationMetadata: []string{}}, `{"order_id":"o-1"}`, `{"order_id":"o-1"}`, 0, nil, "no metadata"},
		{"named key not carried", &Options{OperationMetadata: []string{"order_id"}}, `{"team":"x"}`, `{"team":"x"}`, 0, nil, "no metadata"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			read, so, err := walk(t, New(tc.options), paymentOf(t, tc.asked), one(tc.shown))
			require.NoError(t, err)
			assert.Len(t, read, tc.read)
			assert.Equal(t, tc.found, so.Resources)
			assert.Contains(t, so.Reason, tc.reasonMustState)
		})
	}

	// Metadata may stand at the payout instead.
	c := keyed(t, "/payments", `{"payouts":[{"amount":100,"recipient_contact_id":"c","metadata":{"order_id":"o-1"}}]}`)
	c.FirstSent = sent
	_, so, err := walk(t, New(nil), c, func(int) contract.Reply {
		return answer(200, list(
			`{"ref":"PB.2","payouts":[{"amount":100,"recipient_contact_id":"c","metadata":{"order_id":"o-2"},"created_at":"2026-11-29T10:00:01"}]}`,
			`{"ref":"PB.1","payouts":[{"amount":100,"recipient_contact_id":"c","metadata":{"order_id":"o-1"},"created_at":"2026-11-29T10:00:00"}]}`))
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"PB.1"}, so.Resources)

	// A time without a zone is UTC, and old is old in that form, too.
	_, so, err = walk(t, New(nil), c, func(int) contract.Reply {
		return answer(200, list(`{"ref":"PB.1","payouts":[{"amount":100,"recipient_contact_id":"c","metadata":{"order_id":"o-1"},"created_at":"2026-11-29T08:59:59"}]}`))
	})
	require.NoError(t, err)
	assert.Empty(t, so.Resources)

	// A payment is as young as its youngest payout.
	at, dated := createdAt(contract.Object{"payouts": []any{
		contract.Object{"created_at": "2026-11-29T10:00:00Z"}, contract.Object{"created_at": "2026-11-28T10:00:00Z"},
	}})
	assert.True(t, dated)
	assert.Equal(t, sent, at)
}

func TestFindAlarm(t *testing.T) {
	m := `{"order_id":"o-1"}`
	_, so, err := walk(t, New(nil), paymentOf(t, m), func(int) contract.Reply {
		return answer(200, list(entry("PB.2", sent.Add(time.Hour), m), entry("PB.1", sent, m), entry("PB.1", sent, m)))
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"PB.2", "PB.1"}, so.Resources, "each once, and both")

	// Another amount under the same metadata is not what was asked.
	_, so, err = walk(t, New(nil), paymentOf(t, m), func(int) contract.Reply {
		return answer(200, list(strings.Replace(entry("PB.2", sent, m), `"amount":100`, `"amount":200`, 1), entry("PR.1", sent, m), entry("../PB.1", sent, m)))
	})
	require.NoError(t, err)
	assert.Empty(t, so.Resources)
}

func TestFindEndOfList(t *testing.T) {
	c := paymentOf(t, `{"order_id":"o-1"}`)
	full := make([]string, 100)
	for i := range full {
		full[i] = entry(fmt.Sprintf("PB.%d", i), sent.Add(time.Hour), `{}`)
	}
	small := full[:3]
	old := entry("PB.0", sent.Add(-3*time.Hour), `{}`)
	for _, tc := range []struct {
		name  string
		first contract.Reply
		read  int
	}{
		{"full page without a link", answer(200, list(full...)), 2},
		{"full by its own measure", answer(200, list(small...), "Per-Page", "3"), 2},
		{"short page", answer(200, list(small...)), 1},
		{"short page with a link", answer(200, list(small...), "link", next), 2},
		{"link without quotes", answer(200, list(small...), "Link", "<x>; rel=next"), 2},
		{"another link", answer(200, list(small...), "Link", `<x>; rel="last"`), 1},
		{"empty page", answer(200, list(), "Link", next), 1},
		{"old, newest first", answer(200, list(small[0], old), "Link", next), 1},
		{"oldest first", answer(200, list(old, small[0]), "Link", next), 2},
		{"oldest first, all old", answer(200, list(entry("PB.1", sent.Add(-4*time.Hour), `{}`), old), "Link", next), 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			read, _, err := walk(t, New(nil), c, func(n int) contract.Reply {
				if n == 1 {
					return tc.first
				}
				return answer(200, list())
			})
			require.NoError(t, err)
			assert.Len(t, read, tc.read)
		})
	}
}

func TestFindUnreadable(t *testing.T) {
	c := paymentOf(t, `{"order_id":"o-1"}`)
	for _, r := range []contract.Reply{
		{}, answer(500, list()), answer(404, `{"errors":"s"}`), answer(200, "<html>"), answer(200, `{"data":{}}`),
		answer(200, `{"data":["x"]}`), answer(200, `{"data":[],"errors":"s"}`), answer(200, `{}`),
		{StatusCode: 200, Body: []byte(list()), Err: http.ErrBodyReadAfterClose, Sent: true},
	} {
		_, so, err := walk(t, New(nil), c, func(int) contract.Reply { return r })
		assert.Error(t, err, "%d %s", r.StatusCode, r.Body)
		assert.Empty(t, so.Resources)
	}
	// What was found stays found.
	_, so, err := walk(t, New(nil), c, func(n int) contract.Reply {
		if n == 1 {
			return answer(200, list(entry("PB.1", sent, `{"order_id":"o-1"}`)), "Link", next)
		}
		return answer(500, "")
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"PB.1"}, so.Resources)
}

func TestFindHostileCursor(t *testing.T) {
	c := paymentOf(t, `{"order_id":"o-1"}`)
	reply := answer(200, list(entry("PB.1", sent, `{}`)), "Link", next)
	for _, cursor := range []string{"", "0", "-1", "+1", "01", "1&page=2", "../1", "x", "99999999999999999999", "10001", " 1"} {
		r, so, err := New(nil).Find(t.Context(), c, contract.Finding{Stage: 1, Cursor: cursor}, &reply)
		assert.Error(t, err, "%q", cursor)
		assert.Nil(t, r)
		assert.False(t, so.Absent)
	}
	r, so, err := New(nil).Find(t.Context(), c, contract.Finding{Stage: 1, Cursor: "10000"}, &reply)
	assert.NoError(t, err)
	assert.Nil(t, r, "there is a last page")
	assert.False(t, so.Absent)

	// A claim that somebody else wrote into the finding does not survive.
	_, so, _ = New(nil).Find(t.Context(), c, contract.Finding{Absent: true}, nil)
	assert.False(t, so.Absent)

	// The finding that was handed in is not changed.
	in := contract.Finding{Cursor: "1", Resources: make([]string, 1, 8)}
	in.Resources[0] = "PB.0"
	found := answer(200, list(entry("PB.1", sent, `{"order_id":"o-1"}`), entry("PB.2", sent, `{"order_id":"o-1"}`)))
	_, so, _ = New(nil).Find(t.Context(), c, in, &found)
	assert.Equal(t, []string{"PB.0", "PB.1", "PB.2"}, so.Resources)
	assert.Equal(t, []string{"PB.0", "", ""}, in.Resources[:3])
}

func TestFindOtherLists(t *testing.T) {
	for _, tc := range []struct{ path, body, list, entry, ref string }{
		{"/payment_requests", `{"amount":100,"authoriser_contact_id":"c","metadata":{"n":"1"}}`, "/payment_requests/collections",
			`{"ref":"PR.1","authoriser_contact_id":"c","payout":{"amount":100},"metadata":{"n":"1"},"created_at":"2026-11-29T10:00:00Z"}`, "PR.1"},
		{"/credits/C.1a/refunds", `{"amount":100,"metadata":{"n":"1"}}`, "/refunds/outgoing",
			`{"ref":"PRF.1","for_ref":"C.1a","amount":100,"metadata":{"n":"1"},"created_at":"2026-11-29T10:00:00Z"}`, "PRF.1"},
		{"/transfers", `{"amount":100,"to_bank_account_id":"b","metadata":{"n":"1"}}`, "/transfers",
			`{"ref":"T.1","amount":100,"to_bank_account_id":"b","metadata":{"n":"1"}}`, "T.1"},
	} {
		c := keyed(t, tc.path, tc.body)
		c.FirstSent = sent
		read, so, err := walk(t, New(nil), c, func(int) contract.Reply { return answer(200, list(tc.entry)) })
		require.NoError(t, err)
		assert.Equal(t, []string{tc.list + "?page=1&per_page=100"}, read)
		assert.Equal(t, []string{tc.ref}, so.Resources)
	}
}

func TestFindByUID(t *testing.T) {
	c := call(t, "POST", "/payto/payments", `{"uid":"u-1","agreement_uid":"a-1","amount":100}`)
	c.FirstSent = sent
	for _, tc := range []struct {
		reply contract.Reply
		found []string
		fails bool
	}{
		{answer(200, `{"data":{"uid":"u-1","state":"settled"}}`), []string{"u-1"}, false},
		{answer(200, `{"data":{"uid":"u-2"}}`), nil, true},
		{answer(200, "<html>"), nil, true},
		{answer(404, ""), nil, false},
		{answer(500, ""), nil, true},
		{contract.Reply{}, nil, true},
	} {
		read, so, err := walk(t, New(nil), c, func(int) contract.Reply { return tc.reply })
		assert.Equal(t, tc.fails, err != nil)
		assert.Equal(t, tc.found, so.Resources)
		assert.Equal(t, []string{"/payto/payments/u-1"}, read)
	}
	c.Body = []byte(`{"uid":"../u"}`)
	_, _, err := walk(t, New(nil), c, nil)
	assert.ErrorIs(t, err, contract.ErrReference)
}

func TestFindNothingToRead(t *testing.T) {
	c := paymentOf(t, `{"order_id":"o-1"}`)
	c.FirstSent = time.Time{}
	retry := call(t, "POST", "/payto/payments/u-1/retry", `{}`)
	retry.FirstSent = sent
	contact := call(t, "POST", "/contacts/anyone", `{}`)
	contact.FirstSent = sent
	notJSON := keyed(t, "/payments", "x")
	notJSON.FirstSent = sent
	for _, c := range []contract.Call{c, retry, contact, notJSON, {}} {
		read, so, err := walk(t, New(nil), c, nil)
		assert.NoError(t, err)
		assert.Empty(t, read)
		assert.NotEmpty(t, so.Reason)
		assert.Empty(t, so.Resources)
	}
}

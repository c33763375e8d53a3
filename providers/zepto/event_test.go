package zepto_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/internal/bubbletest"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/providers/zepto"
	"github.com/idempact/idempact/retry"
)

const secret = "1234"

// signed returns the headers of a delivery that Zepto signed at the given time.
func signed(at time.Time, body string) http.Header {
	stamp := fmt.Sprint(at.Unix())
	h := http.Header{}
	h.Set("Split-Signature", stamp+"."+macOf(secret, stamp+"."+body))
	h.Set("Split-Request-ID", "07f4e8c1-846b-5ec0-8a25-24c3bc5582b5")
	return h
}

func readEvent(t *testing.T, body string) zepto.Event {
	t.Helper()
	e, err := zepto.ReadEvent(signed(time.Now(), body), []byte(body), secret, time.Now(), time.Minute)
	require.NoError(t, err)
	return e
}

// TestEventSignature: the example of the documents, and what must not pass for it.
func TestEventSignature(t *testing.T) {
	const message, mac = "full payload of the request", "f04cb05adb985b29d84616fbf3868e8e58403ff819cdc47ad8fc47e6acbce29f"
	made := time.Unix(1514772000, 0)
	for name, c := range map[string]struct {
		signature, body, secret string
		now                     time.Time
		signed                  bool
	}{
		"the documents' own":  {"1514772000." + mac, message, secret, made, true},
		"the second of two":   {"1514772000.abc." + mac, message, secret, made, true},
		"and something else":  {"1514772000." + mac + ".v9", message, secret, made, true},
		"within tolerance":    {"1514772000." + mac, message, secret, made.Add(5 * time.Minute), true},
		"too old":             {"1514772000." + mac, message, secret, made.Add(5*time.Minute + time.Second), false},
		"of the future":       {"1514772000." + mac, message, secret, made.Add(-5*time.Minute - time.Second), false},
		"with another time":   {"1514772001." + mac, message, secret, made, false},
		"another body":        {"1514772000." + mac, message + " ", secret, made, false},
		"another secret":      {"1514772000." + mac, message, "12345", made, false},
		"no secret":           {"1514772000." + macOf("", "1514772000."+message), message, "", made, false},
		"a time that is none": {"x." + macOf(secret, "x."+message), message, secret, time.Unix(0, 0), false},
		"upper case":          {"1514772000." + strings.ToUpper(mac), message, secret, made, false},
		"cut":                 {"1514772000." + mac[:63], message, secret, made, false},
		"without a time":      {mac, message, secret, made, false},
		"without a signature": {"1514772000", message, secret, made, false},
		"none":                {"", message, secret, made, false},
	} {
		_, err := zepto.ReadEvent(http.Header{"Split-Signature": {c.signature}}, []byte(c.body), c.secret, c.now, 5*time.Minute)
		require.Error(t, err, "it is no event")
		if c.signed {
			assert.NotErrorIs(t, err, zepto.ErrSignature, name)
		} else {
			assert.ErrorIs(t, err, zepto.ErrSignature, name)
		}
	}
}

func macOf(secret, text string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(text))
	return hex.EncodeToString(m.Sum(nil))
}

// TestReadEvent: which events tell of a resource of ours, and what they tell.
func TestReadEvent(t *testing.T) {
	core := func(kind, data string) string {
		return `{"event":{"type":"` + kind + `","at":"2026-11-29T00:00:00Z","who":{"account_id":"x","bank_account_id":"x"}},"data":[` + data + `]}`
	}
	payTo := func(kind, resource string) string {
		return `{"data":{"id":"1","type":"` + kind + `","resource_uid":"u-1","resource_type":"` + resource + `","body":null,"resource_metadata":{"invoice":"7"}}}`
	}
	for _, c := range []struct {
		body, resource, state, key string
	}{
		{core("payment.created", `{"ref":"PB.1","payouts":[{"ref":"D.1","status":"maturing"}],"metadata":{"invoice":"7"}}`), "PB.1", "maturing", ""},
		{core("debit.cleared", `{"ref":"D.1","parent_ref":"PB.1","status":"cleared","metadata":{"invoice":7,"nested":{"a":1}}}`), "PB.1", "cleared", ""},
		{core("debtor_credit.returned", `{"ref":"C.1","parent_ref":"PB.1","status":"returned","metadata":{"invoice":"7"}}`), "PB.1", "returned", ""},
		{core("payment_request.added", `{"ref":"PR.1","status":"approved","metadata":{"invoice":"7"}}`), "PR.1", "approved", ""},
		{core("creditor_debit.cleared", `{"ref":"D.1","parent_ref":"PR.1","status":"cleared","metadata":{"invoice":"7"}}`), "PR.1", "cleared", ""},
		{core("credit.cleared", `{"ref":"C.1","parent_ref":"PR.1","status":"cleared","metadata":{"invoice":"7"}}`), "PR.1", "cleared", ""},
		{payTo("payto_payment.settled", "payto_payment"), "u-1", "", contract.Terms{KeyScope: "payto/payments"}.KeyIn(nil, "u-1")},
		{payTo("payto_agreement.activated", "payto_agreement"), "u-1", "", contract.Terms{KeyScope: "payto/agreements"}.KeyIn(nil, "u-1")},
		// Money that another account pays, or asks for, and what is no operation.
		{core("credit.cleared", `{"ref":"C.1","parent_ref":"PB.1","metadata":{"invoice":"7"}}`), "", "", ""},
		{core("debit.cleared", `{"ref":"D.1","parent_ref":"PR.1","metadata":{"invoice":"7"}}`), "", "", ""},
		{core("debit.cleared", `{"ref":"D.1","parent_ref":null,"metadata":{"invoice":"7"}}`), "", "", ""},
		{core("debit.cleared", `{"ref":"D.1","parent_ref":"PB./../x"}`), "", "", ""},
		{core("contact.added", `{"id":"1"}`), "", "", ""},
		{core("agreement.approved", `{"ref":"A.1"}`), "", "", ""},
		{payTo("payto_refund.processed", "payto_refund"), "", "", ""},
	} {
		e := readEvent(t, c.body)
		assert.Equal(t, "07f4e8c1-846b-5ec0-8a25-24c3bc5582b5", e.ID)
		if c.resource == "" {
			assert.Empty(t, e.Told, c.body)
			continue
		}
		require.Len(t, e.Told, 1, c.body)
		told := e.Told[0]
		assert.Equal(t, c.key, told.Key)
		assert.Equal(t, map[string]string{"invoice": "7"}, told.Metadata)
		assert.Equal(t, contract.Duplicate, told.Outcome.Status)
		assert.Equal(t, contract.FromOutside, told.Outcome.Source)
		assert.Equal(t, c.resource, told.Outcome.Resource)
		assert.Equal(t, c.state, told.Outcome.State)
	}
	two := core("debit.cleared", `{"ref":"D.1","parent_ref":"PB.1"},{"ref":"D.2","parent_ref":"PB.2"}`)
	assert.Len(t, readEvent(t, two).Told, 2, "one delivery, two transactions")
	assert.Nil(t, readEvent(t, two).Told[0].Metadata)
	for _, body := range []string{`{}`, `[]`, `{"data":[]}`, `{"event":{"type":"debit.cleared"}}`, `{"data":{"type":"a.b"}}`, core("a sentence", "")} {
		_, err := zepto.ReadEvent(signed(time.Now(), body), []byte(body), secret, time.Now(), time.Minute)
		require.Error(t, err, body)
		assert.NotErrorIs(t, err, zepto.ErrSignature)
	}
}

// shop is a program with a journal that pays at Zepto and hears of its webhooks.
type shop struct {
	*testing.T
	server *fakes.Server
	loop   *retry.Client
}

func newShop(t *testing.T, server *fakes.Server, s journal.Store) shop {
	loop, err := retry.NewClient(zepto.New(nil), &retry.Options{
		Transport: server.Transport(), Journal: s, MinWait: time.Minute, MaxWait: time.Minute, MaxElapsed: 10 * time.Minute,
		Authorize: func(r *http.Request) error { r.Header.Set("Authorization", "Bearer fake"); return nil },
	})
	require.NoError(t, err)
	t.Cleanup(loop.CloseIdleConnections)
	return shop{t, server, loop}
}

func (s shop) pay(invoice string) (*retry.Result, error) {
	ctx := contract.WithKey(context.Background(), contract.KeyFor("pay invoice", invoice))
	body := strings.ReplaceAll(operations[0].body, "INV-1001", invoice)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.zeptopayments.com/payments", strings.NewReader(body))
	require.NoError(s, err)
	req.Header.Set("Content-Type", "application/json")
	return s.loop.Do(req)
}

// webhook delivers what Zepto has to say of the only payment, and returns what is
// known of the operation since.
func (s shop) webhook() contract.Verdict {
	require.Len(s, s.server.Effects(), 1)
	get, err := http.NewRequest(http.MethodGet, "https://api.zeptopayments.com/payments/"+s.server.Effects()[0].Resource, nil)
	require.NoError(s, err)
	get.Header.Set("Authorization", "Bearer fake")
	resp, err := s.server.Client().Do(get)
	require.NoError(s, err)
	defer resp.Body.Close()
	shown, err := io.ReadAll(resp.Body)
	require.NoError(s, err)
	var data struct{ Data json.RawMessage }
	require.NoError(s, json.Unmarshal(shown, &data))
	body := fmt.Sprintf(`{"event":{"type":"payment.added","at":"2026-11-29T00:00:00Z","who":{"account_id":"x","bank_account_id":"x"}},"data":[%s]}`, data.Data)

	e, err := zepto.ReadEvent(signed(time.Now(), body), []byte(body), secret, time.Now(), 5*time.Minute)
	require.NoError(s, err)
	require.Len(s, e.Told, 1)
	key := contract.KeyFor("pay invoice", e.Told[0].Metadata["invoice"])
	v, err := s.loop.Learn(context.Background(), key, e.Told[0].Outcome, "zepto event "+e.ID)
	require.NoError(s, err)
	return v
}

// paid checks that one payment exists and was asked for once, and that everybody
// is told of it.
func (s shop) paid(result *retry.Result, err error) {
	require.NoError(s, err)
	require.Len(s, s.server.Effects(), 1)
	assert.Equal(s, s.server.Effects()[0].Resource, result.Resource)
	posts := 0
	for _, r := range s.server.Requests() {
		if r.Method == http.MethodPost {
			posts++
		}
	}
	assert.Equal(s, 1, posts, "what the webhook told is fetched, and not sent again")
}

func atZepto(t *testing.T, play func(s shop, store journal.Store)) {
	bubbletest.OnStores(t, func(t *testing.T, store journal.Store) {
		play(newShop(t, fakes.NewZepto(nil), store), store)
	})
}

// TestWebhookFirst: the answer is lost, and the webhook comes while the caller waits
// for its next attempt: it is woken, and what exists is fetched and compared.
func TestWebhookFirst(t *testing.T) {
	atZepto(t, func(s shop, _ journal.Store) {
		s.server.Script(fakes.LoseReply)
		go func() {
			time.Sleep(10 * time.Second)
			assert.Equal(s, contract.Duplicate, s.webhook().Status, "not compared yet")
		}()
		began := time.Now()
		s.paid(s.pay("INV-7"))
		assert.Equal(s, 10*time.Second, time.Since(began))
	})
}

// TestWebhookWhileSending: the webhook overtakes the answer.
func TestWebhookWhileSending(t *testing.T) {
	atZepto(t, func(s shop, _ journal.Store) {
		s.server.Script(fakes.Slow(20 * time.Second))
		go func() {
			time.Sleep(10 * time.Second)
			s.webhook()
		}()
		result, err := s.pay("INV-7")
		s.paid(result, err)
		assert.Len(s, result.Resources, 1, "one effect, told twice")
	})
}

// TestAnswerFirst: the webhook comes to what is known, at any time and twice.
func TestAnswerFirst(t *testing.T) {
	atZepto(t, func(s shop, _ journal.Store) {
		s.paid(s.pay("INV-7"))
		for range 2 {
			time.Sleep(30 * time.Hour)
			v := s.webhook()
			assert.Equal(s, contract.Succeeded, v.Status)
			assert.Nil(s, v.DuplicateEffect())
		}
		result, err := s.pay("INV-7")
		s.paid(result, err)
		assert.True(s, result.Recorded)
	})
}

// TestWebhookOfTheDead: a process died with the answer; the webhook tells of the
// payment, and a sweep settles it without sending again, though the key is forgotten.
func TestWebhookOfTheDead(t *testing.T) {
	atZepto(t, func(s shop, store journal.Store) {
		_, err := newShop(s.T, s.server, &mortal{store}).pay("INV-7")
		require.ErrorIs(s, err, contract.Unknown)
		time.Sleep(30 * time.Hour)
		s.webhook()
		report, err := s.loop.Sweep(context.Background(), retry.SweepOptions{})
		require.NoError(s, err)
		assert.Equal(s, 1, report.Settled, "%v", report.Operations)
		s.paid(s.pay("INV-7"))
	})
}

// TestPayToWebhook: PayTo's events name the key itself. In both orders.
func TestPayToWebhook(t *testing.T) {
	atZepto(t, func(s shop, _ journal.Store) {
		pay := func() (*retry.Result, error) {
			req, err := http.NewRequest(http.MethodPost, "https://api.zeptopayments.com/payto/payments", strings.NewReader(strings.ReplaceAll(paysTo, "UID", "u-1")))
			require.NoError(s, err)
			req.Header.Set("Content-Type", "application/json")
			return s.loop.Do(req)
		}
		learn := func() contract.Status {
			body := `{"data":{"id":"1","type":"payto_payment.settled","resource_uid":"u-1","resource_type":"payto_payment","body":null}}`
			told := readEvent(s.T, body).Told[0]
			v, err := s.loop.Learn(context.Background(), told.Key, told.Outcome, "zepto event 1")
			assert.NoError(s, err)
			return v.Status
		}
		s.server.Script(fakes.LoseReply)
		go func() {
			time.Sleep(10 * time.Second)
			assert.Equal(s, contract.Duplicate, learn(), "not compared yet")
		}()
		s.paid(pay())
		assert.Equal(s, contract.Succeeded, learn())
		s.paid(pay())
	})
}

// mortal is the journal of a process that dies before it can record a verdict.
type mortal struct{ journal.Store }

func (m *mortal) Update(context.Context, journal.Entry) (journal.Entry, error) {
	return journal.Entry{}, fmt.Errorf("died")
}

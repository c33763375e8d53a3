package zepto

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

const host = "https://api.zeptopayments.com"

func call(t testing.TB, method, path, body string) contract.Call {
	r, err := http.NewRequest(method, host+path, nil)
	require.NoError(t, err)
	return contract.Call{Request: r, Body: []byte(body)}
}

func keyed(t testing.TB, path, body string) contract.Call {
	c := call(t, "POST", path, body)
	c.Key = "k-1"
	c.Request.Header.Set("Idempotency-Key", "k-1")
	return c
}

func answer(status int, body string, header ...string) contract.Reply {
	r := contract.Reply{StatusCode: status, Header: http.Header{}, Body: []byte(body), Sent: true}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func TestTerms(t *testing.T) {
	a := New(nil)
	assert.Equal(t, "zepto", a.Name())
	for _, path := range []string{"/payments", "/payment_requests", "/credits/C.1a/refunds", "/transfers", "/payments/", "/credits/C%2E1a/refunds"} {
		terms := a.Terms(call(t, "POST", path, ""))
		assert.Equal(t, "Idempotency-Key", terms.KeyHeader, path)
		assert.Equal(t, 256, terms.KeyMaxLen)
		assert.Equal(t, 24*time.Hour, terms.Retention)
		assert.Equal(t, contract.Conflicts, terms.Repeat)
		assert.Equal(t, contract.MismatchIgnored, terms.Mismatch)
		assert.True(t, terms.KeyRequired)
		assert.Empty(t, terms.KeyField+terms.KeyScope)
		assert.NoError(t, terms.CheckKey(strings.Repeat("k", 256)))
		assert.ErrorIs(t, terms.CheckKey(strings.Repeat("k", 257)), contract.ErrKey)
	}
	for _, path := range []string{"/payto/payments", "/payto/agreements"} {
		terms := a.Terms(call(t, "POST", path, ""))
		assert.Equal(t, "uid", terms.KeyField, path)
		assert.Equal(t, path, "/"+terms.KeyScope)
		assert.Equal(t, contract.RetentionForever, terms.Retention)
		assert.Equal(t, contract.Conflicts, terms.Repeat)
		assert.True(t, terms.KeyRequired)
		assert.Empty(t, terms.KeyHeader)
		assert.NoError(t, terms.CheckKey("aZ0_~.-"))
		assert.NoError(t, terms.CheckKey(strings.Repeat("u", 64)))
		assert.ErrorIs(t, terms.CheckKey(strings.Repeat("u", 65)), contract.ErrKey)
		assert.ErrorIs(t, terms.CheckKey("a/b"), contract.ErrKey)
	}
	for _, request := range []string{
		"POST /contacts/anyone", "POST /payto/payments/u-1/retry", "POST /payto/refunds", "GET /payments",
		"PUT /payments", "POST /payments/PB.1", "POST /v1/payments", "POST //payments", "POST /payments//",
		"POST /PAYMENTS", "POST /credits//refunds", "POST /credits/a%2Fb/refunds", "POST /credits/../refunds",
		"POST /credits/C.1a/refunds/x", "POST /payments%2F", "POST /payments.json", "POST /", "POST /payto/payment",
	} {
		method, path, _ := strings.Cut(request, " ")
		terms := a.Terms(call(t, method, path, ""))
		assert.False(t, terms.HonoursKeys(), request)
		assert.Equal(t, contract.RepeatsNothing, terms.Repeat, request)
		assert.Zero(t, terms.Retention, request)
		assert.False(t, terms.Idempotent, request)
		assert.Equal(t, []string{"Zepto-API-Version"}, terms.ContractHeaders())
		assert.NotEmpty(t, terms.Sources)
	}
	for _, path := range []string{"/payouts/D.1", "/payment_requests/PR.1", "/contacts/c-1", "/agreements/A.1"} {
		terms := a.Terms(call(t, "DELETE", path, ""))
		assert.True(t, terms.Idempotent, path)
		assert.False(t, terms.HonoursKeys(), path)
	}
	assert.False(t, a.Terms(contract.Call{}).HonoursKeys())
	bare := call(t, "POST", "/payments", "")
	bare.Request.URL.Path = "payments"
	assert.False(t, a.Terms(bare).HonoursKeys())
}

// TestClassifyEdges holds what no document shows.
func TestClassifyEdges(t *testing.T) {
	const (
		payBody = `{"payouts":[{"amount":100,"recipient_contact_id":"c"}]}`
		dup     = `{"errors":[{"title":"t","meta":{"resource_ref":"PB.1"}}]}`
		page    = "<html>upstream</html>"
	)
	pay := keyed(t, "/payments", payBody)
	payTo := call(t, "POST", "/payto/payments", `{"uid":"u-1","agreement_uid":"a-1","amount":100}`)
	retry := call(t, "POST", "/payto/payments/u-1/retry", `{}`)
	contact := keyed(t, "/contacts/anyone", `{}`)
	keyless := call(t, "POST", "/payments", payBody)
	for _, tc := range []struct {
		name     string
		call     contract.Call
		reply    contract.Reply
		status   contract.Status
		resource string
		code     string
	}{
		{"nothing sent", pay, contract.Reply{Err: errors.New("refused")}, contract.NotExecuted, "", ""},
		{"nothing back", pay, contract.Reply{Sent: true, Err: io.EOF}, contract.Unknown, "", ""},
		{"no call at all", contract.Call{}, answer(503, "", "Retry-After", "1"), contract.Unknown, "", ""},

		{"201 empty", pay, answer(201, ""), contract.Unknown, "", ""},
		{"201 page", pay, answer(201, page), contract.Unknown, "", ""},
		{"204", pay, answer(204, ""), contract.Unknown, "", ""},
		{"202 bare elsewhere", pay, answer(202, ""), contract.Unknown, "", ""},
		{"202 with a resource", pay, answer(202, `{"data":{"ref":"PB.1"}}`), contract.Unknown, "", ""},
		{"206", pay, answer(206, `{"data":{"ref":"PB.1"}}`), contract.Unknown, "", ""},
		{"201 list", pay, answer(201, `{"data":[{"ref":"PB.1"}]}`), contract.Unknown, "", ""},
		{"201 number", pay, answer(201, `{"data":{"ref":1}}`), contract.Unknown, "", ""},
		{"201 no ref", pay, answer(201, `{"data":{"id":"x"}}`), contract.Unknown, "", ""},
		{"201 other kind", pay, answer(201, `{"data":{"ref":"PR.1"}}`), contract.Unknown, "", ""},
		{"201 steering ref", pay, answer(201, `{"data":{"ref":"../PB.1"}}`), contract.Unknown, "", ""},
		{"201 and errors", pay, answer(201, `{"data":{"ref":"PB.1"},"errors":"s"}`), contract.Unknown, "", ""},
		{"201 twice", pay, answer(201, `{"data":{"ref":"PB.1"}}{}`), contract.Unknown, "", ""},
		{"201 ambiguous", pay, answer(201, `{"data":{"ref":"PB.1","ref":"PB.2"}}`), contract.Unknown, "", ""},
		{"200", pay, answer(200, `{"data":{"ref":"PB.1"}}`), contract.Succeeded, "PB.1", ""},
		{"PayTo other uid", payTo, answer(201, `{"data":{"uid":"u-2"}}`), contract.Unknown, "", ""},
		{"PayTo no uid", payTo, answer(201, `{"data":{"ref":"PB.1"}}`), contract.Unknown, "", ""},
		{"PayTo uid of another case", payTo, answer(201, `{"data":{"uid":"U-1"}}`), contract.Unknown, "", ""},
		{"retry with a page", retry, answer(202, page), contract.Unknown, "", ""},
		{"retry with 200", retry, answer(200, `{"data":{"uid":"u-1"}}`), contract.Unknown, "", ""},
		{"retry with 204", retry, answer(204, ""), contract.Unknown, "", ""},
		{"contact of a steering id", contact, answer(201, `{"data":{"id":"../c"}}`), contract.Unknown, "", ""},
		{"retry cut", retry, contract.Reply{StatusCode: 202, Sent: true, Err: io.ErrUnexpectedEOF}, contract.Unknown, "", ""},

		{"409 with a wait", pay, answer(409, dup, "Retry-After", "5"), contract.Duplicate, "PB.1", ""},
		{"409 without a key", keyless, answer(409, dup), contract.Unknown, "", ""},
		{"409 at a contact", contact, answer(409, dup), contract.Unknown, "", ""},
		{"409 at PayTo", payTo, answer(409, dup), contract.Unknown, "", ""},
		{"409 page", pay, answer(409, page), contract.Unknown, "", ""},
		{"409 null", pay, answer(409, `{"errors":[{"title":"t","meta":{"resource_ref":null}}]}`), contract.Unknown, "", ""},
		{"409 empty ref", pay, answer(409, `{"errors":[{"title":"t","meta":{"resource_ref":""}}]}`), contract.Unknown, "", ""},
		{"409 object", pay, answer(409, `{"errors":[{"title":"t","meta":{"resource_ref":{}}}]}`), contract.Unknown, "", ""},
		{"409 number", pay, answer(409, `{"errors":[{"title":"t","meta":{"resource_ref":14}}]}`), contract.Duplicate, "", ""},
		{"409 steering", pay, answer(409, `{"errors":[{"title":"t","meta":{"resource_ref":"../../user?x=1"}}]}`), contract.Duplicate, "", ""},
		{"409 twice the same", pay, answer(409, `{"errors":[{"title":"t","meta":{"resource_ref":"PB.1"}},{"title":"t","meta":{"resource_ref":"PB.1"}}]}`), contract.Duplicate, "PB.1", ""},
		{"409 two", pay, answer(409, `{"errors":[{"title":"t","meta":{"resource_ref":"PB.1"}},{"title":"t","meta":{"resource_ref":"PB.2"}}]}`), contract.Duplicate, "PB.1, PB.2", ""},
		{"409 one and a half", pay, answer(409, `{"errors":[{"title":"t","meta":{"resource_ref":"PB.1"}},{"title":"t","meta":{"resource_ref":2}}]}`), contract.Duplicate, "PB.1, an unusable reference", ""},
		{"409 title only", pay, answer(409, `{"errors":[{"title":"Duplicate idempotency key"}]}`), contract.Unknown, "", ""},

		{"503 -1", pay, answer(503, "", "Retry-After", "-1"), contract.InProgress, "", ""},
		{"503 empty wait", pay, answer(503, "", "Retry-After", " "), contract.Unknown, "", ""},
		{"503 page with a wait", pay, answer(503, page, "Retry-After", "1"), contract.InProgress, "", ""},
		{"503 second of two", pay, answer(503, "", "Retry-After", "", "Retry-After", "2"), contract.InProgress, "", ""},
		{"503 without a key", keyless, answer(503, "", "Retry-After", "1"), contract.Unknown, "", ""},
		{"502 with a wait", pay, answer(502, "", "Retry-After", "1"), contract.Unknown, "", ""},
		{"429", pay, answer(429, page), contract.NotExecuted, "", ""},
		{"429 cut", pay, contract.Reply{StatusCode: 429, Sent: true, Err: io.ErrUnexpectedEOF}, contract.NotExecuted, "", ""},
		{"425", pay, answer(425, ""), contract.NotExecuted, "", ""},

		{"404 page", pay, answer(404, page), contract.Unknown, "", ""},
		{"403 empty", pay, answer(403, ""), contract.Unknown, "", ""},
		{"404 empty at PayTo", payTo, answer(404, ""), contract.Unknown, "", ""},
		{"403 page at PayTo", payTo, answer(403, page), contract.Unknown, "", ""},
		{"422 empty list", pay, answer(422, `{"errors":[]}`), contract.Unknown, "", ""},
		{"422 list of text", pay, answer(422, `{"errors":["s"]}`), contract.Unknown, "", ""},
		{"422 empty object", pay, answer(422, `{"errors":[{}]}`), contract.Unknown, "", ""},
		{"422 empty sentence", pay, answer(422, `{"errors":" "}`), contract.Unknown, "", ""},
		{"422 another shape", pay, answer(422, `{"message":"s"}`), contract.Unknown, "", ""},
		{"422 and data", pay, answer(422, `{"errors":"s","data":{"ref":"PB.1"}}`), contract.Unknown, "", ""},
		{"422 naming a resource", pay, answer(422, dup), contract.Unknown, "", ""},
		{"422 a sentence for a code", payTo, answer(422, `{"errors":[{"title":"t","code":"not a code"}]}`), contract.Rejected, "", ""},
		{"422 second of two codes", payTo, answer(422, `{"errors":[{"title":"t","code":"ZPUNP00"},{"title":"t","code":"ZPPAY00"}]}`), contract.Duplicate, "u-1", "ZPPAY00"},
		{"422 about another uid", payTo, answer(422, `{"errors":[{"title":"t","code":"ZPPAY00","meta":{"resource_uid":"u-2"}}]}`), contract.Unknown, "", "ZPPAY00"},
		{"422 about this uid", payTo, answer(422, `{"errors":[{"title":"t","code":"ZPPAY00","meta":{"resource_uid":"u-1"}}]}`), contract.Duplicate, "u-1", "ZPPAY00"},
		{"422 that names the agreement", payTo, answer(422, `{"errors":[{"title":"t","code":"ZPPAY12","meta":{"resource_ref":"P.1"}}]}`), contract.Rejected, "", "ZPPAY12"},
		{"422 for a steering uid", call(t, "POST", "/payto/payments", `{"uid":"../u"}`), answer(422, `{"errors":[{"title":"t","code":"ZPPAY00"}]}`), contract.Duplicate, "", "ZPPAY00"},
		{"422 code of an agreement", payTo, answer(422, `{"errors":[{"title":"t","code":"ZPAGR00"}]}`), contract.Unknown, "", "ZPAGR00"},
		{"400 with the code", payTo, answer(400, `{"errors":[{"title":"t","code":"ZPPAY00"}]}`), contract.Unknown, "", "ZPPAY00"},
		{"the code at a retry", retry, answer(422, `{"errors":[{"title":"t","code":"ZPPAY00"}]}`), contract.Unknown, "", "ZPPAY00"},
		{"the code on the core API", pay, answer(422, `{"errors":[{"title":"t","code":"ZPPAY00"}]}`), contract.Unknown, "", "ZPPAY00"},
		{"409 with the code", payTo, answer(409, `{"errors":[{"title":"t","code":"ZPPAY00"}]}`), contract.Unknown, "", ""},

		{"405", pay, answer(405, `{"errors":"s"}`), contract.Unknown, "", ""},
		{"408", pay, answer(408, `{"errors":"s"}`), contract.Unknown, "", ""},
		{"410", pay, answer(410, `{"errors":"s"}`), contract.Unknown, "", ""},
		{"500", pay, answer(500, `{"errors":"s"}`), contract.Unknown, "", ""},
		{"302", pay, answer(302, ""), contract.Unknown, "", ""},
		{"100", pay, answer(100, ""), contract.Unknown, "", ""},
		{"999", pay, answer(999, `{"data":{"ref":"PB.1"}}`), contract.Unknown, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := New(nil).Classify(tc.call, tc.reply)
			assert.Equal(t, tc.status, o.Status, "%v", o)
			assert.Equal(t, tc.resource, o.Resource)
			assert.Equal(t, tc.code, o.Code)
			assert.False(t, o.Replayed)
			assert.GreaterOrEqual(t, o.RetryAfter, time.Duration(0))
		})
	}
}

func TestStateOfPayouts(t *testing.T) {
	c := keyed(t, "/payments", "{}")
	o := New(nil).Classify(c, answer(201, `{"data":{"ref":"PB.1","payouts":[{"status":"cleared"},{"status":"voided"}]}}`))
	assert.Equal(t, contract.Succeeded, o.Status)
	assert.Empty(t, o.State, "one payout's state is not the payment's")
}

func TestWaitIsKept(t *testing.T) {
	a := New(nil)
	pay := keyed(t, "/payments", "{}")
	for _, status := range []int{425, 429, 500, 502, 503} {
		assert.Equal(t, 7*time.Second, a.Classify(pay, answer(status, "", "Retry-After", "7")).RetryAfter, "%d", status)
	}
	cut := answer(500, "", "Retry-After", "7")
	cut.Err = io.ErrUnexpectedEOF
	assert.Equal(t, 7*time.Second, a.Classify(pay, cut).RetryAfter)
	assert.Zero(t, a.Classify(pay, answer(400, `{"errors":"s"}`, "Retry-After", "7")).RetryAfter)
}

// TestNothingLeaks: no text of the provider and nothing of the request is in an
// outcome.
func TestNothingLeaks(t *testing.T) {
	a := New(nil)
	c := keyed(t, "/payments", `{"payouts":[{"amount":1,"recipient_contact_id":"c","description":"secret request"}]}`)
	c.Key = "secret-key"
	for _, body := range []string{
		`{"errors":"secret sentence"}`,
		`{"errors":[{"title":"secret title","detail":"secret detail","code":"secret code"}]}`,
		`{"errors":[{"title":"secret title","meta":{"resource_ref":"secret ref"}}]}`,
		`{"data":{"ref":"PB.1","status":"secret state"}}`,
		"secret page",
	} {
		for _, status := range []int{200, 400, 409, 422, 500} {
			o := a.Classify(c, answer(status, body, "X-Request-Id", "secret id"))
			assert.NotContains(t, o.String()+o.RequestID, "secret", "%d %s", status, body)
		}
	}
	assert.Equal(t, "req-1", a.Classify(c, answer(500, "", "X-Request-Id", "req-1")).RequestID)
}

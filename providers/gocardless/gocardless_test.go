package gocardless_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/internal/explore"
	"github.com/idempact/idempact/internal/explore/exploretest"
	"github.com/idempact/idempact/internal/faketest"
	"github.com/idempact/idempact/providers/gocardless"
	"github.com/idempact/idempact/retry"
)

var adapter = gocardless.New(nil)

func fake() contracttest.Fake { return faketest.Of(fakes.NewGoCardless(nil)) }

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

// TestContract runs the suite for the endpoints that differ: what is compared by its
// amount and links, what a sum guards as well, what also says where the money goes, what
// is never shown whole, and an action, which has no key.
func TestContract(t *testing.T) {
	for _, path := range []string{"payments", "refunds", "outbound_payments/withdrawal", "customer_bank_accounts", "payments/EX123/actions/retry"} {
		e := endpoint(t, path)
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			contracttest.Run(t, contracttest.Spec{
				Adapter: adapter, Fake: fake, Exchanges: os.DirFS("testdata"),
				Request: func(key string, amount int64) (*http.Request, error) {
					e := e // each refund is one of its own payment, whose sum it must confirm
					e.Body = strings.Replace(e.Body, "PM123", "PM"+contract.KeyTag(key), 1)
					return e.Request(key, amount)
				},
			})
		})
	}
}

func TestExplore(t *testing.T) {
	payment := explore.Subject{
		Name: "gocardless", Adapter: adapter, Fake: fakes.NewGoCardless, Action: "create", KeyHeader: "Idempotency-Key",
		Refusal:  fakes.Status(http.StatusUnauthorized, `{"error":{"type":"invalid_api_usage","code":401,"errors":[{"reason":"access_token_not_found"}]}}`),
		Endpoint: endpoint(t, "payments"),
	}
	keyless := payment
	keyless.Name, keyless.Keyless = "gocardless without a key", true
	exploretest.Run(t, payment, keyless)
}

// do pays once at a fake, after the faults.
func do(t *testing.T, prepare func(*fakes.Server), order string) (*retry.Result, *fakes.Server) {
	server := fakes.NewGoCardless(nil)
	client, err := retry.NewClient(adapter, &retry.Options{Transport: server.Transport(), MinWait: 1, MaxWait: 1})
	require.NoError(t, err)
	defer client.CloseIdleConnections()
	prepare(server)
	req, err := endpoint(t, "payments").Request("", 2500)
	require.NoError(t, err)
	result, _ := client.Do(req.WithContext(contract.WithKey(t.Context(), contract.KeyFor("pay", order))))
	return result, server
}

// The conflict is the success path, also where the payment has failed since.
func TestRepeatOfAFailedPayment(t *testing.T) {
	server := fakes.NewGoCardless(nil)
	client, err := retry.NewClient(adapter, &retry.Options{Transport: server.Transport(), MaxAttempts: 1})
	require.NoError(t, err)
	defer client.CloseIdleConnections()
	pay := func(amount int64) (*retry.Result, error) {
		req, err := endpoint(t, "payments").Request("", amount)
		require.NoError(t, err)
		return client.Do(req.WithContext(contract.WithKey(t.Context(), "k-1")))
	}
	first, err := pay(2500)
	require.NoError(t, err)
	require.True(t, server.SetState(first.Resource, "failed"))
	again, err := pay(2500)
	require.NoError(t, err)
	assert.Equal(t, first.Resource, again.Resource)
	assert.Equal(t, "failed", again.State, "what became of it is told")
	other, err := pay(2600)
	assert.ErrorIs(t, err, contract.KeyReused)
	assert.Equal(t, first.Resource, other.Resource)
	assert.Len(t, server.Effects(), 1)
}

func TestLostAnswer(t *testing.T) {
	result, server := do(t, func(s *fakes.Server) { s.Script(fakes.LoseReply) }, "INV-1")
	assert.Equal(t, contract.Succeeded, result.Status)
	assert.Equal(t, "PM000001", result.Resource)
	assert.Len(t, server.Effects(), 1)
}

// reply returns an answer to a payment.
func reply(status int, body string, headers ...string) contract.Reply {
	r := contract.Reply{StatusCode: status, Header: http.Header{}, Body: []byte(body), Sent: true}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func call(t testing.TB, path string) contract.Call {
	e := endpoint(t, path)
	req, err := e.Request("", 100)
	require.NoError(t, err)
	req.Body = nil
	return contract.Call{Request: req, Body: []byte(strings.ReplaceAll(e.Body, "{amount}", "100")), Key: "k-1"}
}

// A date asks for a wait, measured from the answer's own; one of an answer that has
// requests left asks for none.
func TestWait(t *testing.T) {
	const date, reset = "Sun, 29 Nov 2026 12:00:50 GMT", "Sun, 29 Nov 2026 12:01:00 GMT"
	for name, c := range map[string]struct {
		reply contract.Reply
		want  string
	}{
		"a throttle":                  {reply(429, "", "Date", date, "RateLimit-Reset", reset), "10s"},
		"a throttle by both":          {reply(429, "", "Date", date, "RateLimit-Reset", reset, "Retry-After", "12"), "12s"},
		"a throttle that is over":     {reply(429, "", "Date", reset, "RateLimit-Reset", date), "0s"},
		"an error":                    {reply(500, "", "Date", date, "RateLimit-Remaining", "5", "RateLimit-Reset", reset), "0s"},
		"an error, and the last one":  {reply(500, "", "Date", date, "RateLimit-Remaining", " 0 ", "RateLimit-Reset", reset), "10s"},
		"a success, and the last one": {reply(201, `{"payments":{"id":"PM1"}}`, "Date", date, "RateLimit-Remaining", "0", "RateLimit-Reset", reset), "0s"},
	} {
		assert.Equal(t, c.want, adapter.Classify(call(t, "payments"), c.reply).RetryAfter.String(), name)
	}
}

// The error may be a bare string: a refusal by its status, and no word of it is told.
func TestBareString(t *testing.T) {
	for status, want := range map[int]contract.Status{
		400: contract.Rejected, 401: contract.Rejected, 403: contract.Rejected, 404: contract.Rejected, 422: contract.Rejected,
		408: contract.Unknown, 409: contract.Unknown, 418: contract.Unknown, 429: contract.NotExecuted, 500: contract.Unknown, 503: contract.Unknown,
	} {
		o := adapter.Classify(call(t, "payments"), reply(status, `{"error":"no such thing"}`))
		assert.Equal(t, want, o.Status, status)
		assert.NotContains(t, o.String(), "such")
		assert.Empty(t, o.Code)
	}
	assert.Equal(t, contract.Unknown, adapter.Classify(call(t, "payments"), reply(401, `{"error":" "}`)).Status)
}

// What looks like an answer of another status or kind is none.
func TestUnknown(t *testing.T) {
	for body, statuses := range map[string][]int{
		`{"payments":{"id":"PM1","status":"submitted"}}`:                                        {202, 203, 206, 299, 400, 500},
		`{"payments":{"id":"PM1"},"error":{"type":"gocardless"}}`:                               {200, 201},
		`{"error":{"type":"gocardless","errors":[{"reason":"internal_server_error"}]}}`:         {400, 422, 500},
		`{"error":{"type":"validation_failed"},"payments":{"id":"PM1"}}`:                        {200, 422},
		`{"error":{"type":"invalid_state","code":409}}`:                                         {400, 422},
		`{"error":{"type":"invalid_state","errors":{"reason":"idempotent_creation_conflict"}}}`: {409, 422},
		`{"error":{"type":"a_new_type","errors":[{"reason":"idempotency_key_too_long"}]}}`:      {400, 422},
	} {
		for _, status := range statuses {
			o := adapter.Classify(call(t, "payments"), reply(status, body))
			assert.Equal(t, contract.Unknown, o.Status, "%d %s", status, body)
		}
	}
}

// Two references in one conflict are an alarm, and neither is fetched.
func TestTwoReferences(t *testing.T) {
	const item = `{"reason":"idempotent_creation_conflict","links":{"conflicting_resource_id":"PM%d"}}`
	c := call(t, "payments")
	o := adapter.Classify(c, reply(409, fmt.Sprintf(`{"error":{"type":"invalid_state","errors":[`+item+`,"x",`+item+`,`+item+`]}}`, 1, 2, 1)))
	assert.Equal(t, "PM1, PM2", o.Resource)
	assert.NotNil(t, contract.Fold(contract.Verdict{}, o).DuplicateEffect())
	_, err := adapter.ResolveRequest(t.Context(), c, o)
	assert.ErrorIs(t, err, contract.ErrReference)
}

// What cannot be compared is never confirmed, nor is it another request's.
func TestResolveProvesNothing(t *testing.T) {
	payment := `{"payments":{"id":"PM1","amount":100,"currency":"GBP","links":{"mandate":"MD123"},"metadata":{"order":"{order}"}}}`
	o := contract.Outcome{Status: contract.Duplicate, Resource: "PM1"}
	whole := call(t, "payments")
	require.Equal(t, contract.Succeeded, adapter.ClassifyResolve(whole, o, reply(200, payment)).Status)

	unreadable := whole
	unreadable.Body = []byte("not JSON")
	otherName := whole
	otherName.Body = []byte(`{"refunds":{"amount":100}}`)
	acted, mandate := call(t, "payments/EX123/actions/retry"), call(t, "mandates")
	acted.Body, mandate.Body = []byte(`{"payments":{"amount":100}}`), []byte(`{"amount":100}`)
	for name, c := range map[string]struct {
		call  contract.Call
		ref   string
		reply contract.Reply
	}{
		"a request that is not JSON":      {unreadable, "PM1", reply(200, payment)},
		"a request in another envelope":   {otherName, "PM1", reply(200, payment)},
		"no currency":                     {whole, "PM1", reply(200, strings.Replace(payment, `"currency":"GBP",`, "", 1))},
		"no amount":                       {whole, "PM1", reply(200, strings.Replace(payment, `"amount":100,`, "", 1))},
		"an error beside it":              {whole, "PM1", reply(200, strings.Replace(payment, `{"p`, `{"error":{},"p`, 1))},
		"another id":                      {whole, "PM2", reply(200, payment)},
		"no reference":                    {whole, "", reply(200, payment)},
		"an action":                       {call(t, "payments/EX123/actions/retry"), "PM1", reply(200, payment)},
		"a bank account, never whole":     {call(t, "customer_bank_accounts"), "BA1", reply(200, `{"customer_bank_accounts":{"id":"BA1","links":{}}}`)},
		"a subscription's other amount":   {call(t, "subscriptions"), "SB1", reply(200, `{"subscriptions":{"id":"SB1","amount":200,"currency":"GBP","interval_unit":"monthly","links":{"mandate":"MD123"}}}`)},
		"a refund that cannot be fetched": {whole, "RF1", reply(404, `{}`)},
		"an action with a body":           {acted, "PM1", reply(200, payment)},
		"no reference and no id":          {whole, "", reply(200, strings.Replace(payment, `"id":"PM1",`, "", 1))},
		"a mandate that was not asked":    {mandate, "MD1", reply(200, `{"mandates":{"id":"MD1","links":{"customer_bank_account":"BA1"}}}`)},
	} {
		got := adapter.ClassifyResolve(c.call, contract.Outcome{Status: contract.Duplicate, Resource: c.ref}, c.reply)
		assert.Equal(t, contract.Duplicate, got.Status, "%s: %v", name, got)
	}
}

// No promise of a key without a creation that is known, and whole paths only.
func TestTermsOfOtherPaths(t *testing.T) {
	for _, path := range []string{"/billing_request_flows", "/payments/PM1", "/payments/../refunds", "/payments%2F", "/creditors", "/"} {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "https://api.gocardless.com"+path, nil)
		require.NoError(t, err)
		assert.Equal(t, contract.Terms{}, adapter.Terms(contract.Call{Request: req}), path)
	}
	for _, e := range adapter.Endpoints() {
		req, err := e.Request("", 1)
		require.NoError(t, err)
		terms := adapter.Terms(contract.Call{Request: req})
		assert.Equal(t, e.Body != "", terms.HonoursKeys(), e.Name)
		assert.Zero(t, terms.Retention, "not published")
		assert.Contains(t, terms.CredentialHeaders, "Gc-Signature", "a signature is stored nowhere")
	}
}

// FuzzClassify asks a second reader: an answer that settles anything must be JSON that
// shows, by the standard decoder, what it is taken for.
func FuzzClassify(f *testing.F) {
	all, err := contracttest.Exchanges(os.DirFS("testdata"))
	require.NoError(f, err)
	for _, x := range all {
		f.Add(uint8(len(x.Name)), x.Reply.StatusCode, x.Reply.Body, x.Reply.Header.Get("RateLimit-Reset"))
	}
	var calls []contract.Call
	for _, path := range []string{"payments", "refunds", "outbound_payments", "customer_bank_accounts", "payments/EX123/actions/retry"} {
		calls = append(calls, call(f, path))
	}
	f.Fuzz(func(t *testing.T, which uint8, status int, body []byte, reset string) {
		c := calls[int(which)%len(calls)]
		r := reply(status, string(body), "RateLimit-Reset", reset)
		o := adapter.Classify(c, r)
		if o != adapter.Classify(c, r) || o.RetryAfter < 0 || o.Source != contract.FromReply || o.Replayed {
			t.Fatalf("%v", o)
		}
		for ref := range strings.SplitSeq(o.Resource, ", ") {
			if o.Resource != "" && contract.CheckReference(ref) != nil || len(o.Code) > 255 || strings.ContainsAny(o.Code+o.State, " \n") {
				t.Fatalf("%v", o)
			}
		}
		var shown map[string]any
		readable := json.Unmarshal(body, &shown) == nil && shown != nil
		name, _, _ := strings.Cut(strings.TrimPrefix(c.Request.URL.Path, "/"), "/")
		made, _ := shown[name].(map[string]any)
		switch o.Status {
		case contract.Succeeded:
			if !readable || status != 200 && status != 201 || made["id"] != o.Resource || shown["error"] != nil {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.Duplicate:
			if !readable || status != 409 || !strings.Contains(string(body), "error") || o.Code != "idempotent_creation_conflict" && o.Code != "bank_account_exists" {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.Rejected:
			if !readable || status < 400 || status > 422 || status == 409 || shown["error"] == nil {
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

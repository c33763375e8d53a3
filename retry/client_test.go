package retry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

// TestRoundTrip: an SDK sees a response only where nothing is in doubt.
func TestRoundTrip(t *testing.T) {
	for name, tc := range map[string]struct {
		script []act
		status int             // of the response that the SDK sees, or
		err    contract.Status // of the error
	}{
		"success":             {[]act{created()}, 201, 0},
		"doubt, success":      {[]act{drop(), created()}, 201, 0},
		"declined":            {[]act{respond(402, `{}`)}, 402, 0},
		"doubt, declined":     {[]act{drop(), respond(402, `{}`)}, 402, 0},
		"rejected":            {[]act{respond(400, `{}`)}, 400, 0},
		"throttled, rejected": {[]act{respond(429, `{}`), respond(400, `{}`)}, 400, 0},
		"reused":              {[]act{respond(412, `{}`)}, 412, 0},
		"unknown":             {[]act{respond(500, `{}`)}, 0, contract.Unknown},
		"doubt, rejected":     {[]act{drop(), respond(400, `{}`)}, 0, contract.Unknown},
		"doubt, reused":       {[]act{drop(), respond(412, `{}`)}, 0, contract.Unknown},
		"busy":                {[]act{respond(423, `{}`)}, 0, contract.InProgress},
		"spent":               {[]act{respond(410, `{}`)}, 0, contract.KeySpent},
		"throttled":           {[]act{respond(429, `{}`, "Retry-After: 60")}, 0, contract.NotExecuted},
		"duplicate":           {[]act{duplicate}, 0, contract.Duplicate},
		"a cut success":       {[]act{raw(false, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"id\":\"pay_1\"}")}, 0, contract.Unknown},
		"an HTML success":     {[]act{respond(200, `<html>`)}, 0, contract.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				for _, direct := range []bool{true, false} {
					c := newClient(t, newProvider(tc.script...), nil, nil)
					var resp *http.Response
					var err error
					if r := payment(context.Background()); direct {
						resp, err = c.RoundTrip(r)
					} else {
						resp, err = c.StandardClient().Do(r)
						var wrapped *url.Error
						assert.Equal(t, err != nil, errors.As(err, &wrapped), "as http.Client does")
					}
					if tc.status != 0 {
						require.NoError(t, err)
						assert.Equal(t, tc.status, resp.StatusCode)
						body, err := io.ReadAll(resp.Body)
						assert.NoError(t, err)
						assert.Equal(t, resp.ContentLength, int64(len(body)))
						continue
					}
					assert.Nil(t, resp)
					assert.ErrorIs(t, err, tc.err)
					v := OutcomeOf(fmt.Errorf("sdk: %w", err))
					assert.Equal(t, tc.err, v.Status)
					if tc.err == contract.NotExecuted {
						assert.Equal(t, time.Minute, v.RetryAfter)
					}
				}
			})
		})
	}
}

// TestAnothersSuccess: the answer of another request that comes with 2xx is no response
// to an SDK, which would take it for its own success; a decline says that it is none.
func TestAnothersSuccess(t *testing.T) {
	for _, says := range []contract.Status{contract.Declined, contract.Rejected, contract.KeyReused} {
		virtual(t, func(t *testing.T) {
			a := &stub{classify: func(contract.Call, contract.Reply) contract.Outcome { return contract.Outcome{Status: says} }}
			c := newClient(t, newProvider(respond(200, `{"state":"refused"}`)), a, nil)
			resp, err := c.StandardClient().Do(payment(context.Background()))
			if says == contract.Declined {
				require.NoError(t, err)
				assert.Equal(t, 200, resp.StatusCode)
				return
			}
			assert.Nil(t, resp)
			require.ErrorIs(t, err, says)
			var e *Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, `{"state":"refused"}`, string(e.Body), "for those who know the provider's shape")
		})
	}
}

// TestRedirects: a redirect of a write is never followed, whatever the adapter
// makes of it and whoever is on top.
func TestRedirects(t *testing.T) {
	for _, status := range []int{300, 301, 302, 303, 305, 307, 308} {
		for _, location := range []string{"http://evil.test/v1/payments", "http://pay.test/v2/payments", "/v2/payments"} {
			for _, says := range []contract.Status{contract.Unknown, contract.Rejected, contract.Declined, contract.Succeeded, contract.KeyReused} {
				for _, body := range []string{"", payBody} {
					virtual(t, func(t *testing.T) {
						a := &stub{classify: func(contract.Call, contract.Reply) contract.Outcome { return contract.Outcome{Status: says} }}
						script := respond(status, `{}`, "Location: "+location)
						o := &Options{MaxAttempts: 1}
						p := newProvider(script)
						c := newClient(t, p, a, o)
						for i, send := range []func(*http.Request) (*http.Response, error){
							func(r *http.Request) (*http.Response, error) { _, err := c.Do(r); return nil, err },
							c.RoundTrip,
							c.StandardClient().Do,
							(&http.Client{Transport: c}).Do, // an SDK's own
						} {
							resp, err := send(post(contract.WithKey(context.Background(), payKey), body))
							assert.Error(t, err)
							assert.Nil(t, resp)
							assert.Equal(t, i+1, p.count())
						}
						for _, r := range p.requests() {
							assert.Equal(t, "pay.test/v1/payments", r.Host+r.URL.Path)
						}
					})
				}
			}
		}
	}
}

// TestStandardClientStops: also where the transport gave it a redirect of a write.
func TestStandardClientStops(t *testing.T) {
	c, err := NewClient(&stub{}, nil)
	require.NoError(t, err)
	check := c.StandardClient().CheckRedirect
	get := func(raw string) *http.Request { r, _ := http.NewRequest("GET", raw, nil); return r }
	assert.NoError(t, check(get("http://pay.test/2"), []*http.Request{get("http://pay.test/1")}))
	assert.Equal(t, http.ErrUseLastResponse, check(get("http://evil.test/2"), []*http.Request{get("http://pay.test/1")}))
	assert.Equal(t, http.ErrUseLastResponse, check(get("https://pay.test/2"), []*http.Request{get("http://pay.test/1")}))
	assert.Equal(t, http.ErrUseLastResponse, check(get("http://pay.test/2"), []*http.Request{payment(context.Background())}))
	assert.Equal(t, http.ErrUseLastResponse, check(get("http://pay.test/2"), make10(get("http://pay.test/1"))))
}

func make10(r *http.Request) (all []*http.Request) {
	for range 10 {
		all = append(all, r)
	}
	return all
}

// TestReadRedirects: a read's redirect on its own host is the http.Client's affair.
func TestReadRedirects(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(302, ``, "Location: /v2"), respond(302, ``, "Location: http://evil.test/"))
		c := newClient(t, p, nil, nil)
		resp, err := c.StandardClient().Get("http://pay.test/v1")
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, 302, resp.StatusCode)
		assert.Equal(t, 2, p.count())
		assert.Equal(t, "/v2", p.requests()[1].URL.Path)
	})
}

// TestHTTPClientOnTop: an SDK's http.Client with a time limit and cookies.
func TestHTTPClientOnTop(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(500, `{}`, "Set-Cookie: a=1"), respond(201, `{"id":"pay_1"}`, "Set-Cookie: b=2"), hang())
		c := newClient(t, p, nil, nil)
		jar, _ := cookiejar.New(nil)
		sdk := &http.Client{Transport: c, Timeout: 20 * time.Second, Jar: jar}
		resp, err := sdk.Do(payment(context.Background()))
		require.NoError(t, err)
		_, err = io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.Equal(t, p.requests()[0].Raw, p.requests()[1].Raw, "no cookie in between")

		start := time.Now()
		_, err = sdk.Do(payment(context.Background()))
		require.Error(t, err)
		assert.Equal(t, 20*time.Second, time.Since(start))
		assert.Equal(t, contract.EffectMaybe, OutcomeOf(err).Effect())
		assert.Equal(t, 3, p.count())
	})
}

// TestOutcomeOf reads errors of all kinds.
func TestOutcomeOf(t *testing.T) {
	e := &Error{Verdict: contract.Verdict{Outcome: contract.Outcome{Status: contract.Declined, Code: "x"}, Attempts: 2}}
	assert.Equal(t, e.Verdict, OutcomeOf(e))
	assert.Equal(t, e.Verdict, OutcomeOf(fmt.Errorf("a: %w", errors.Join(io.EOF, &url.Error{Op: "Post", Err: e}))))
	assert.Equal(t, contract.Declined, OutcomeOf(fmt.Errorf("a: %w", contract.Declined)).Status)
	assert.Equal(t, contract.Verdict{}, OutcomeOf(nil))
	assert.Equal(t, contract.Verdict{}, OutcomeOf(io.EOF))
	assert.False(t, OutcomeOf(io.EOF).AllowsNewKey())
	for s := range contract.KeySpent + 1 {
		e := &Error{Verdict: contract.Verdict{Outcome: contract.Outcome{Status: s}}}
		for other := range contract.KeySpent + 1 {
			assert.Equal(t, s == other, errors.Is(e, other))
		}
	}
}

func zipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

// TestGzip: a compressed answer is read as it was meant, and a broken one is cut.
func TestGzip(t *testing.T) {
	whole := zipped(`{"id":"pay_1"}`)
	bomb := zipped(`{"id":"` + string(bytes.Repeat([]byte("x"), 3<<20)) + `"}`)
	require.Less(t, len(bomb), 10_000)
	for name, tc := range map[string]struct {
		body   string
		want   contract.Status
		asking string
	}{
		"whole":           {whole, contract.Succeeded, ""},
		"asked by caller": {whole, contract.Succeeded, "gzip"},
		"another coding":  {whole, contract.Succeeded, "br"},
		"not gzip":        {`{"id":"pay_1"}`, contract.Unknown, ""},
		"cut":             {whole[:len(whole)-1], contract.Unknown, ""},
		"empty":           {"", contract.Unknown, ""},
		"bomb":            {bomb, contract.Unknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				p := newProvider(respond(200, tc.body, "Content-Encoding: gzip"))
				c := newClient(t, p, nil, &Options{MaxAttempts: 1, MaxBodyBytes: 1 << 20})
				r := payment(context.Background())
				if tc.asking != "" {
					r.Header["accept-encoding"] = []string{tc.asking}
				}
				result, err := c.Do(r)
				wantVerdict(t, tc.want, result, err)
				assert.Equal(t, []string{"gzip"}, p.requests()[0].Header["Accept-Encoding"])
				if tc.want == contract.Succeeded {
					body, _ := io.ReadAll(result.Response.Body)
					assert.Equal(t, `{"id":"pay_1"}`, string(body))
					assert.Equal(t, int64(len(body)), result.Response.ContentLength)
				}
			})
		})
	}
}

package retry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

var duplicate = respond(409, `{"existing":"pay_1"}`)

// TestResolve: what a duplicate refers to is fetched and compared.
func TestResolve(t *testing.T) {
	ours, others := respond(200, `{"id":"pay_1","amount":100}`), respond(200, `{"id":"pay_1","amount":999}`)
	for name, tc := range map[string]struct {
		script   []act
		want     contract.Status
		requests int
	}{
		"ours":                     {[]act{duplicate, ours}, contract.Succeeded, 2},
		"ours, after a doubt":      {[]act{drop(), duplicate, ours}, contract.Succeeded, 3},
		"another's":                {[]act{duplicate, others}, contract.KeyReused, 2},
		"another's, after a doubt": {[]act{drop(), duplicate, others}, contract.KeyReused, 3},
		"not found":                {[]act{duplicate, respond(404, `{}`)}, contract.Duplicate, 2},
		"forbidden":                {[]act{duplicate, respond(401, `{}`)}, contract.Duplicate, 2},
		"nonsense":                 {[]act{duplicate, respond(200, `<html>`)}, contract.Duplicate, 2},
		"cut":                      {[]act{duplicate, raw(false, "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{\"id\":\"pay_1\",\"amount\":100}")}, contract.Duplicate, 4},
		"no answer":                {[]act{duplicate, drop()}, contract.Duplicate, 5}, // net/http itself repeats a GET once
		"passing fault":            {[]act{duplicate, respond(503, ``), drop(), ours}, contract.Succeeded, 4},
		"throttled for a year":     {[]act{duplicate, respond(429, ``, "Retry-After: 31536000")}, contract.Duplicate, 2},
		"a redirect":               {[]act{duplicate, respond(302, ``, "Location: http://evil.test/")}, contract.Duplicate, 2},
		"no reference":             {[]act{respond(409, `{}`)}, contract.Duplicate, 1},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				p := newProvider(tc.script...)
				c := newClient(t, p, resolving{stub: &stub{}}, nil)
				result, err := c.Do(payment(context.Background()))
				wantVerdict(t, tc.want, result, err)
				assert.Equal(t, tc.requests, p.count())
				assert.Equal(t, tc.want == contract.KeyReused, result.AllowsNewKey())
				if tc.want != contract.KeyReused && name != "no reference" {
					assert.Equal(t, "pay_1", result.Resource)
				}
				seen := p.requests()
				for _, s := range seen {
					if s.Method == http.MethodGet {
						assert.Equal(t, "/v1/payments/pay_1", s.URL.Path)
					}
				}
			})
		})
	}
}

// TestResolvedResponse: the fetched resource is the response.
func TestResolvedResponse(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(duplicate, respond(200, `{"id":"pay_1","amount":100}`))
		c := newClient(t, p, resolving{stub: &stub{}}, nil)
		resp, err := c.RoundTrip(payment(context.Background()))
		require.NoError(t, err)
		assert.Equal(t, 200, resp.StatusCode)
		body, _ := io.ReadAll(resp.Body)
		assert.Equal(t, `{"id":"pay_1","amount":100}`, string(body))
		assert.Equal(t, http.MethodPost, resp.Request.Method)
	})
}

// TestReused: a key that proved to be another's is an error, never a 200 for the
// SDK.
func TestReused(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(duplicate, respond(200, `{"id":"pay_1","amount":999}`))
		c := newClient(t, p, resolving{stub: &stub{}}, nil)
		resp, err := c.RoundTrip(payment(context.Background()))
		assert.Nil(t, resp)
		assert.IsType(t, &Error{}, err)
		assert.ErrorIs(t, err, contract.KeyReused)
		assert.ErrorContains(t, err, "the amounts differ")
	})
}

// TestReadsCarry: a read carries the account, the version and the credentials of
// the operation, and not its key.
func TestReadsCarry(t *testing.T) {
	for _, authorized := range []bool{false, true} {
		virtual(t, func(t *testing.T) {
			p := newProvider(respond(410, `{}`), respond(200, `{"found":["pay_1"]}`), respond(200, `{"id":"pay_1","amount":100}`))
			o, n := &Options{}, 0
			if authorized {
				o.Authorize = func(r *http.Request) error {
					n++
					r.Header.Set("Authorization", fmt.Sprint("Bearer ", n))
					return nil
				}
			}
			c := newClient(t, p, able(&stub{}), o)
			r := payment(context.Background())
			r.Header["x-account"] = []string{"acct_1"}
			r.Header.Set("X-Version", "2026-01-01")
			r.Header.Set("X-Api-Key", "secret")
			r.Header.Set("X-Other", "1")
			r.Host = "virtual.test"
			result, err := c.Do(r)
			wantVerdict(t, contract.Succeeded, result, err)
			seen := p.requests()
			require.Len(t, seen, 3)
			for i, s := range seen[1:] {
				assert.Equal(t, http.MethodGet, s.Method)
				assert.Equal(t, "acct_1", s.Header.Get("X-Account"))
				assert.Equal(t, "2026-01-01", s.Header.Get("X-Version"))
				assert.Equal(t, "virtual.test", s.Host)
				assert.Empty(t, s.Header.Get("Idempotency-Key"))
				assert.Empty(t, s.Header.Get("X-Other"))
				assert.Empty(t, s.Body)
				if authorized {
					assert.Equal(t, fmt.Sprint("Bearer ", i+2), s.Header.Get("Authorization"))
				} else {
					assert.Equal(t, "Bearer sk_live_secret", s.Header.Get("Authorization"))
					assert.Equal(t, "secret", s.Header.Get("X-Api-Key"))
				}
			}
		})
	}
}

// TestReadsStayHome: whatever an adapter asks for, nothing but a GET on the
// operation's own host is sent.
func TestReadsStayHome(t *testing.T) {
	at := func(raw string) *http.Request {
		r, err := http.NewRequest(http.MethodGet, raw, nil)
		if err != nil {
			panic(err)
		}
		return r
	}
	changed := func(f func(*http.Request)) *http.Request {
		r := at("http://pay.test/v1/payments/pay_1")
		f(r)
		return r
	}
	for name, r := range map[string]*http.Request{
		"nil":              nil,
		"empty":            {},
		"no URL":           {Method: "GET"},
		"another host":     at("http://evil.test/v1/payments/pay_1"),
		"a longer host":    at("http://pay.test.evil.test/v1/payments/pay_1"),
		"another port":     at("http://pay.test:8080/v1/payments/pay_1"),
		"another scheme":   at("https://pay.test/v1/payments/pay_1"),
		"a user":           at("http://pay.test@evil.test/v1/payments/pay_1"),
		"POST":             changed(func(r *http.Request) { r.Method = "POST" }),
		"DELETE":           changed(func(r *http.Request) { r.Method = "DELETE" }),
		"opaque":           changed(func(r *http.Request) { r.URL.Opaque = "//evil.test/x" }),
		"up":               at("http://pay.test/v1/payments/../refunds"),
		"up, escaped":      at("http://pay.test/v1/payments/%2e%2e/refunds"),
		"up, at the end":   at("http://pay.test/v1/payments/.."),
		"up, raw path":     changed(func(r *http.Request) { r.URL.Path, r.URL.RawPath = "/v1/..", "" }),
		"up, after slash":  at("http://pay.test/v1/payments/x%2F..%2Frefunds"),
		"up, backslashes":  at(`http://pay.test/v1/payments/x\..\refunds`),
		"a dot":            at("http://pay.test/v1/./payments"),
		"a line break":     at("http://pay.test/v1/payments/pay_1%0d%0aHost:%20x"),
		"query line break": changed(func(r *http.Request) { r.URL.RawQuery = "a=b\r\nX: y" }),
		"bad header":       changed(func(r *http.Request) { r.Header.Set("X-A", "a\r\nb") }),
		"bad name":         changed(func(r *http.Request) { r.Header["a b"] = []string{"x"} }),
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				for _, first := range []act{duplicate, respond(410, `{}`)} {
					p := newProvider(first, respond(200, `{"id":"pay_1","amount":100}`))
					tr := p.transport()
					var dialled []string
					dial := tr.DialContext
					tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
						dialled = append(dialled, addr)
						return dial(ctx, network, addr)
					}
					a := able(&stub{})
					a.request = func(context.Context, contract.Call, contract.Outcome) (*http.Request, error) { return r, nil }
					a.find = func(_ context.Context, _ contract.Call, so contract.Finding, last *contract.Reply) (*http.Request, contract.Finding, error) {
						assert.Nil(t, last)
						return r, contract.Finding{Absent: r != nil}, nil
					}
					c := newClient(t, p, a, &Options{Transport: tr})
					result, err := c.Do(payment(context.Background()))
					assert.Contains(t, []contract.Status{contract.Duplicate, contract.KeySpent}, result.Status)
					assert.Error(t, err)
					assert.False(t, result.AllowsNewKey())
					assert.Equal(t, 1, p.count())
					assert.Equal(t, []string{"pay.test:80"}, dialled)
				}
			})
		})
	}
}

// TestReadsAreBare: a body and other extras of an adapter's request are dropped.
func TestReadsAreBare(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(duplicate, respond(200, `{"id":"pay_1","amount":100}`))
		a := resolving{stub: &stub{}}
		a.request = func(context.Context, contract.Call, contract.Outcome) (*http.Request, error) {
			u, _ := url.Parse("http://pay.test/v1/payments/pay_1")
			return &http.Request{Method: "GET", URL: u, Host: "evil.test", Body: io.NopCloser(strings.NewReader("x")), ContentLength: 1,
				Trailer: http.Header{"X": nil}, TransferEncoding: []string{"chunked"}}, nil
		}
		c := newClient(t, p, a, nil)
		result, err := c.Do(payment(context.Background()))
		wantVerdict(t, contract.Succeeded, result, err)
		got := p.requests()[1]
		assert.Empty(t, got.Body)
		assert.Empty(t, got.TransferEncoding)
		assert.Equal(t, "pay.test", got.Host)
	})
}

// TestReferences: a reference that would steer a naive adapter's fetch is not
// fetched at all, and stays in the verdict as what the provider said.
func TestReferences(t *testing.T) {
	for _, ref := range []string{
		"../refunds/re_1", "pay_1/../../refunds", "..", ".", "pay_1?expand=all", "pay_1#x", "pay_1%2f..", `pay_1\..\x`,
		"pay_1\r\nHost: evil", "pay_1\x00", "pay_1\x1b[2J", "//evil.test/x", "http://evil.test/x", "pay_1\u202e",
	} {
		t.Run(fmt.Sprintf("%.20q", ref), func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				p := newProvider(respond(409, `{}`), respond(200, `{"id":"pay_1","amount":100}`))
				a := resolving{stub: &stub{}}
				a.classify = func(contract.Call, contract.Reply) contract.Outcome {
					return contract.Outcome{Status: contract.Duplicate, Resource: ref}
				}
				a.request = func(_ context.Context, c contract.Call, o contract.Outcome) (*http.Request, error) {
					u := *c.Request.URL
					full, err := url.Parse(u.String() + "/" + o.Resource) // as naive as can be
					return &http.Request{Method: "GET", URL: full}, err
				}
				a.compare = func(contract.Call, contract.Outcome, contract.Reply) contract.Outcome {
					return contract.Outcome{Status: contract.Succeeded}
				}
				c := newClient(t, p, a, nil)
				result, err := c.Do(payment(context.Background()))
				wantVerdict(t, contract.Duplicate, result, err)
				assert.NotEmpty(t, result.Resource)
				assert.Equal(t, 1, p.count())
			})
		})
	}
}

// TestLookUp: a doubt is looked up when sending cannot help any more.
func TestLookUp(t *testing.T) {
	one, none, two := respond(200, `{"found":["pay_1"]}`), respond(200, `{"found":[]}`), respond(200, `{"found":["pay_1","pay_2"]}`)
	ours := respond(200, `{"id":"pay_1","amount":100}`)
	spent, doubt := respond(410, `{}`), respond(500, `{}`, "Should-Retry: false")
	for name, tc := range map[string]struct {
		script   []act
		want     contract.Status
		requests int
		newKey   bool
	}{
		"spent, one":                {[]act{spent, one, ours}, contract.Succeeded, 3, false},
		"spent, none":               {[]act{spent, none}, contract.NotExecuted, 2, true},
		"spent, two":                {[]act{spent, two}, contract.Duplicate, 2, false},
		"doubt, one":                {[]act{doubt, one, ours}, contract.Succeeded, 3, false},
		"doubt, one of others":      {[]act{doubt, one, respond(200, `{"id":"pay_1","amount":7}`)}, contract.KeyReused, 3, true},
		"doubt, none":               {[]act{doubt, none}, contract.NotExecuted, 2, true},
		"doubt, one, fetch fails":   {[]act{doubt, one, respond(404, `{}`)}, contract.Duplicate, 3, false},
		"doubt, look-up fails":      {[]act{doubt, respond(403, `{}`)}, contract.Unknown, 2, false},
		"doubt, look-up passes":     {[]act{doubt, respond(503, ``), one, ours}, contract.Succeeded, 4, false},
		"doubt, look-up never ends": {[]act{doubt, respond(500, `{"found":[]}`)}, contract.Unknown, 4, false},
		"doubt, look-up cut":        {[]act{doubt, raw(false, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"found\":[]}")}, contract.Unknown, 4, false},
		"duplicate, no reference":   {[]act{respond(409, `{}`), one, ours}, contract.Succeeded, 3, false},
		"busy, no more":             {[]act{respond(423, `{}`, "Should-Retry: false"), none}, contract.NotExecuted, 2, true},
		"doubt, refused, none":      {[]act{drop(), respond(400, `{}`), none}, contract.NotExecuted, 3, true},
		"doubt, 401, none":          {[]act{drop(), respond(401, `{}`), none}, contract.NotExecuted, 3, true},
		"budget, none":              {[]act{drop(), drop(), drop(), drop(), drop(), none}, contract.NotExecuted, 6, true},
		"refused: no look-up":       {[]act{respond(400, `{}`)}, contract.Rejected, 1, true},
		"declined: no look-up":      {[]act{respond(402, `{}`)}, contract.Declined, 1, true},
		"throttled: no look-up":     {[]act{respond(429, `{}`)}, contract.NotExecuted, 5, true},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				p := newProvider(tc.script...)
				c := newClient(t, p, able(&stub{}), nil)
				result, err := c.Do(payment(context.Background()))
				wantVerdict(t, tc.want, result, err)
				assert.Equal(t, tc.requests, p.count())
				assert.Equal(t, tc.newKey, result.AllowsNewKey())
			})
		})
	}
}

// TestAlarm: two references for one operation are never silent, not even after a
// success.
func TestAlarm(t *testing.T) {
	for name, script := range map[string][]act{
		"found two":                 {respond(410, `{}`), respond(200, `{"found":["pay_1","pay_2"]}`)},
		"fetched another":           {respond(409, `{"existing":"pay_1"}`), respond(200, `{"id":"pay_2","amount":100}`)},
		"found two after a refusal": {drop(), respond(400, `{}`), respond(200, `{"found":["pay_1","pay_2"]}`)},
	} {
		virtual(t, func(t *testing.T) {
			a := able(&stub{})
			a.compare = func(_ contract.Call, _ contract.Outcome, r contract.Reply) contract.Outcome {
				got, _ := contract.DecodeObject(r.Body)
				return contract.Outcome{Status: contract.Succeeded, Resource: got.Text("id")}
			}
			result, err := newClient(t, newProvider(script...), a, nil).Do(payment(context.Background()))
			wantVerdict(t, contract.Duplicate, result, err)
			var alarm *contract.DuplicateEffectError
			require.ErrorAs(t, err, &alarm, name)
			assert.ElementsMatch(t, []string{"pay_1", "pay_2"}, alarm.Resources)
			assert.ErrorContains(t, err, "pay_2")
			assert.False(t, result.AllowsNewKey())
			resp, err := newClient(t, newProvider(script...), a, nil).RoundTrip(payment(context.Background()))
			assert.Nil(t, resp)
			assert.ErrorAs(t, err, &alarm)
		})
	}
}

// TestFinderWithoutEnd: 100 requests, and what was found until then counts.
func TestFinderWithoutEnd(t *testing.T) {
	for _, found := range []bool{false, true} {
		virtual(t, func(t *testing.T) {
			p := newProvider(respond(410, `{}`), respond(200, `{}`))
			a := finding{stub: &stub{}}
			a.find = func(ctx context.Context, c contract.Call, so contract.Finding, last *contract.Reply) (*http.Request, contract.Finding, error) {
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pay.test/v1/payments", nil)
				so.Absent, so.Cursor = true, so.Cursor+"x"
				if found {
					so.Resources = []string{"pay_1"}
				}
				return r, so, err
			}
			c := newClient(t, p, a, nil)
			result, err := c.Do(payment(context.Background()))
			assert.Equal(t, 101, p.count())
			if found {
				wantVerdict(t, contract.Duplicate, result, err)
			} else {
				wantVerdict(t, contract.KeySpent, result, err)
			}
		})
	}
}

// TestFinderFails: an error or a panic in the middle proves nothing, least of all
// an absence.
func TestFinderFails(t *testing.T) {
	for name, end := range map[string]func() (*http.Request, contract.Finding, error){
		"error": func() (*http.Request, contract.Finding, error) {
			return nil, contract.Finding{Absent: true, Resources: []string{"made_up"}, Applied: true}, errors.New("sk_live_secret")
		},
		"panic": func() (*http.Request, contract.Finding, error) { panic("sk_live_secret") },
	} {
		for _, step := range []int{0, 1} {
			virtual(t, func(t *testing.T) {
				p := newProvider(respond(410, `{}`), respond(200, `{}`))
				a := finding{stub: &stub{}}
				n := 0
				a.find = func(ctx context.Context, c contract.Call, so contract.Finding, last *contract.Reply) (*http.Request, contract.Finding, error) {
					if n++; n > step {
						return end()
					}
					r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pay.test/v1/payments", nil)
					return r, contract.Finding{Absent: true}, err
				}
				c := newClient(t, p, a, nil)
				result, err := c.Do(payment(context.Background()))
				wantVerdict(t, contract.KeySpent, result, err)
				assert.NotContains(t, fmt.Sprintf("%+v %#v", err, err), "sk_live", name)
			})
		}
	}
}

// TestResolverFails: the verdict stays a duplicate.
func TestResolverFails(t *testing.T) {
	for name, change := range map[string]func(*resolving){
		"request panics": func(a *resolving) {
			a.request = func(context.Context, contract.Call, contract.Outcome) (*http.Request, error) { panic("x") }
		},
		"request error": func(a *resolving) {
			a.request = func(context.Context, contract.Call, contract.Outcome) (*http.Request, error) {
				return nil, errors.New("x")
			}
		},
		"compare panics": func(a *resolving) {
			a.compare = func(contract.Call, contract.Outcome, contract.Reply) contract.Outcome { panic("x") }
		},
		"compare says nonsense": func(a *resolving) {
			a.compare = func(contract.Call, contract.Outcome, contract.Reply) contract.Outcome {
				return contract.Outcome{Status: 99, Resource: "pay_2"}
			}
		},
		"compare says another": func(a *resolving) {
			a.compare = func(contract.Call, contract.Outcome, contract.Reply) contract.Outcome {
				return contract.Outcome{Status: contract.Duplicate, Resource: "pay_2"}
			}
		},
		"compare says not executed": func(a *resolving) {
			a.compare = func(contract.Call, contract.Outcome, contract.Reply) contract.Outcome {
				return contract.Outcome{Status: contract.NotExecuted}
			}
		},
	} {
		virtual(t, func(t *testing.T) {
			p := newProvider(duplicate, respond(200, `{"id":"pay_1","amount":100}`))
			a := resolving{stub: &stub{}}
			change(&a)
			c := newClient(t, p, a, nil)
			result, err := c.Do(payment(context.Background()))
			wantVerdict(t, contract.Duplicate, result, err)
			assert.Equal(t, "pay_1", result.Resource, name)
			assert.Equal(t, []string{"pay_1"}, result.Resources)
		})
	}
}

// TestResolveNeedsAnAnswer: only a whole 2xx shows what the key belongs to.
func TestResolveNeedsAnAnswer(t *testing.T) {
	for _, says := range []contract.Status{contract.Succeeded, contract.KeyReused} {
		for _, fetched := range []act{respond(404, `{}`), respond(500, `{}`), respond(302, `{}`), raw(false, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}")} {
			virtual(t, func(t *testing.T) {
				p := newProvider(drop(), duplicate, fetched)
				a := resolving{stub: &stub{}}
				a.compare = func(contract.Call, contract.Outcome, contract.Reply) contract.Outcome {
					return contract.Outcome{Status: says}
				}
				c := newClient(t, p, a, nil)
				result, err := c.Do(payment(context.Background()))
				wantVerdict(t, contract.Duplicate, result, err)
				assert.False(t, result.AllowsNewKey())
			})
		}
	}
}

// TestLookUpTime: look-ups end with the caller's context; a short MaxElapsed is a
// limit on sends and leaves them room.
func TestLookUpTime(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(410, `{}`), hang())
		c := newClient(t, p, able(&stub{}), nil)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		start := time.Now()
		result, err := c.Do(payment(ctx))
		wantVerdict(t, contract.KeySpent, result, err)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 5*time.Second, time.Since(start))
	})
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(410, `{}`), after(time.Second, respond(200, `{"found":[]}`)))
		c := newClient(t, p, able(&stub{}), &Options{MaxElapsed: time.Millisecond})
		result, err := c.Do(payment(context.Background()))
		wantVerdict(t, contract.NotExecuted, result, err)
	})
}

// TestFirstSent: an adapter searches from the first send.
func TestFirstSent(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(500, `{}`), respond(410, `{}`), respond(200, `{"found":[]}`))
		start := time.Now()
		var firsts []time.Time
		a := able(&stub{terms: func(c contract.Call) contract.Terms {
			assert.Zero(t, c.FirstSent)
			return keyed()
		}})
		a.find = func(ctx context.Context, c contract.Call, so contract.Finding, last *contract.Reply) (*http.Request, contract.Finding, error) {
			firsts = append(firsts, c.FirstSent)
			assert.Equal(t, payKey, c.Key)
			assert.Equal(t, payBody, string(c.Body))
			assert.Nil(t, c.Request.Body)
			return list(ctx, c, so, last)
		}
		c := newClient(t, p, a, nil)
		c.Do(payment(context.Background()))
		require.Len(t, firsts, 2)
		assert.True(t, firsts[0].Equal(start))
	})
}

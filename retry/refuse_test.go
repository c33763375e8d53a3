package retry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

// counted is a transport that counts and never answers.
type counted struct{ n atomic.Int32 }

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	if r.Body != nil {
		r.Body.Close()
	}
	return nil, errors.New("not here")
}

func change(f func(r *http.Request)) *http.Request {
	r := payment(context.Background())
	f(r)
	return r
}

// TestRefused gives everything that must not be sent to Do and to RoundTrip.
func TestRefused(t *testing.T) {
	ctx := context.Background()
	long := strings.Repeat("k", 256)
	field := with(func(t *contract.Terms) { t.KeyHeader, t.KeyField = "", "uid" })
	quoted := with(func(t *contract.Terms) { t.KeyQuoted = true })
	for name, tc := range map[string]struct {
		terms func(contract.Call) contract.Terms
		make  func() *http.Request
		says  string // what to do
	}{
		"nil request":  {make: func() *http.Request { return nil }, says: "NewRequest"},
		"no URL":       {make: func() *http.Request { return &http.Request{Method: "POST"} }, says: "absolute URL"},
		"relative URL": {make: func() *http.Request { return change(func(r *http.Request) { r.URL = &url.URL{Path: "/x"} }) }, says: "absolute URL"},
		"scheme":       {make: func() *http.Request { return change(func(r *http.Request) { r.URL.Scheme = "ftp" }) }, says: "scheme"},
		"opaque URL":   {make: func() *http.Request { return change(func(r *http.Request) { r.URL.Opaque = "//other.test/pay" }) }, says: "opaque"},
		"method case":  {make: func() *http.Request { return change(func(r *http.Request) { r.Method = "post" }) }, says: "upper case"},
		"method":       {make: func() *http.Request { return change(func(r *http.Request) { r.Method = "PO ST" }) }, says: "method"},
		"header name":  {make: func() *http.Request { return change(func(r *http.Request) { r.Header["X Y"] = []string{"1"} }) }, says: "header"},
		"header value": {make: func() *http.Request { return change(func(r *http.Request) { r.Header.Set("X-Trace", "a\r\nb: c") }) }, says: "X-Trace"},
		"newline in token": {make: func() *http.Request {
			return change(func(r *http.Request) { r.Header.Set("Authorization", "Bearer sk\n") })
		}, says: "Authorization"},
		"host":            {make: func() *http.Request { return change(func(r *http.Request) { r.Host = "a b" }) }, says: "host"},
		"query":           {make: func() *http.Request { return change(func(r *http.Request) { r.URL.RawQuery = "a=\n" }) }, says: "query"},
		"trailers":        {make: func() *http.Request { return change(func(r *http.Request) { r.Trailer = http.Header{"X": nil} }) }, says: "trailers"},
		"length, no body": {make: func() *http.Request { return change(func(r *http.Request) { r.Body = nil }) }, says: "length"},
		"read before":     {make: func() *http.Request { return change(func(r *http.Request) { io.ReadAll(r.Body) }) }, says: "body of its own"},
		"too short":       {make: func() *http.Request { return change(func(r *http.Request) { r.ContentLength = 5 }) }, says: "body of its own"},
		"unreadable": {make: func() *http.Request {
			return change(func(r *http.Request) { r.Body = io.NopCloser(iotest.ErrReader(io.ErrClosedPipe)) })
		}, says: "could not be read"},
		"oversized": {make: func() *http.Request { return post(contract.WithKey(ctx, "k"), strings.Repeat("x", 2000)) }, says: "MaxRequestBytes"},
		"oversized, length unknown": {make: func() *http.Request {
			return change(func(r *http.Request) {
				r.Body, r.ContentLength = io.NopCloser(io.LimitReader(zeros{}, 1<<40)), -1
			})
		}, says: "MaxRequestBytes"},
		"multipart": {make: func() *http.Request {
			return change(func(r *http.Request) { r.Header.Set("Content-Type", "multipart/form-data; boundary=x") })
		}, says: "multipart"},

		"no key":              {make: func() *http.Request { return post(ctx, payBody) }, says: "contract.KeyFor"},
		"empty key":           {make: func() *http.Request { return post(contract.WithKey(ctx, ""), payBody) }, says: "contract.KeyFor"},
		"empty header":        {make: func() *http.Request { return keyHeader(ctx, "") }, says: "contract.KeyFor"},
		"no key, required":    {terms: with(func(t *contract.Terms) { t.KeyRequired = true }), make: func() *http.Request { return post(contract.WithoutKey(ctx), payBody) }, says: "requires"},
		"long key":            {make: func() *http.Request { return post(contract.WithKey(ctx, long), payBody) }, says: "at most 255"},
		"short key":           {terms: with(func(t *contract.Terms) { t.KeyMinLen = 16 }), make: func() *http.Request { return payment15(ctx) }, says: "at least 16"},
		"key with line break": {make: func() *http.Request { return post(contract.WithKey(ctx, "k\r\nX-Evil: 1"), payBody) }, says: "line break"},
		"key with space":      {make: func() *http.Request { return post(contract.WithKey(ctx, " k"), payBody) }, says: "white space"},
		"key not ASCII":       {make: func() *http.Request { return post(contract.WithKey(ctx, "clé"), payBody) }, says: "not ASCII"},
		"two keys": {make: func() *http.Request {
			return keyHeader(contract.WithKey(ctx, "a"), "b")
		}, says: "one key"},
		"two headers": {make: func() *http.Request {
			return keyHeader(ctx, "a", "b")
		}, says: "one"},
		"two headers in two cases": {make: func() *http.Request {
			r := keyHeader(ctx, "a")
			r.Header["idempotency-key"] = []string{"b"}
			return r
		}, says: "one"},
		"a broken quoted key":       {terms: quoted, make: func() *http.Request { return keyHeader(ctx, `"sk_1`) }, says: "closing quote"},
		"two quoted keys":           {terms: quoted, make: func() *http.Request { return keyHeader(ctx, `"a"`, "b") }, says: "one"},
		"a quoted key and another":  {terms: quoted, make: func() *http.Request { return keyHeader(contract.WithKey(ctx, "a"), `"b"`) }, says: "one key"},
		"no quoted key":             {terms: quoted, make: func() *http.Request { return keyHeader(ctx, `""`) }, says: "no idempotency key"},
		"key belongs into the body": {terms: field, make: func() *http.Request { return payment(ctx) }, says: "put it there"},
		"no key in the body":        {terms: field, make: func() *http.Request { return post(ctx, payBody) }, says: `"uid"`},
		"key in the body not text":  {terms: field, make: func() *http.Request { return post(ctx, `{"uid":7}`) }, says: "not a string"},
		"key in a broken body":      {terms: field, make: func() *http.Request { return post(ctx, `{"uid":"x"`) }, says: `"uid"`},
		"two keys in the body":      {terms: field, make: func() *http.Request { return post(ctx, `{"uid":"x","uid":"y"}`) }, says: `"uid"`},
		"body key and another":      {terms: field, make: func() *http.Request { return post(contract.WithKey(ctx, "a"), `{"uid":"b"}`) }, says: "one key"},

		"Terms panics":       {terms: func(contract.Call) contract.Terms { panic("sk_live_secret") }, make: func() *http.Request { return payment(ctx) }, says: "adapter"},
		"Terms with a nasty": {terms: with(func(t *contract.Terms) { t.KeyHeader = "X Y" }), make: func() *http.Request { return payment(ctx) }, says: "header"},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				wire := &counted{}
				c, err := NewClient(&stub{terms: tc.terms}, &Options{Transport: wire, MaxRequestBytes: 1000})
				require.NoError(t, err)
				result, err := c.Do(tc.make())
				wantVerdict(t, contract.Rejected, result, err)
				assert.Nil(t, result.Response)
				assert.Zero(t, result.Attempts)
				assert.Contains(t, err.Error(), tc.says)
				assert.NotContains(t, fmt.Sprintf("%v %+v %#v", err, err, err), "sk")
				assert.NotContains(t, err.Error(), "k\r")
				assert.True(t, result.AllowsNewKey())

				resp, err2 := c.RoundTrip(tc.make())
				assert.Nil(t, resp)
				require.Error(t, err2)
				assert.Equal(t, err.Error(), err2.Error(), "RoundTrip says the same")
				assert.IsType(t, &Error{}, err2)
				assert.Zero(t, wire.n.Load(), "nothing may be sent")
			})
		})
	}
}

func payment15(ctx context.Context) *http.Request {
	return post(contract.WithKey(ctx, strings.Repeat("k", 15)), payBody)
}

func keyHeader(ctx context.Context, keys ...string) *http.Request {
	r := post(ctx, payBody)
	r.Header["Idempotency-Key"] = keys
	return r
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// closing counts how often a body is closed.
type closing struct {
	io.Reader
	n atomic.Int32
}

func (c *closing) Close() error { c.n.Add(1); return nil }

// TestBodyIsClosed: RoundTrip must close the body, also of what it refuses.
func TestBodyIsClosed(t *testing.T) {
	c, err := NewClient(&stub{}, &Options{Transport: &counted{}, MaxAttempts: 1})
	require.NoError(t, err)
	for name, r := range map[string]*http.Request{
		"sent":    payment(context.Background()),
		"no key":  post(context.Background(), payBody),
		"bad URL": change(func(r *http.Request) { r.URL.Scheme = "ftp" }),
		"read":    change(func(r *http.Request) { r.Method = "GET" }),
	} {
		body := &closing{Reader: strings.NewReader(payBody)}
		r.Body = body
		c.Do(r)
		assert.NotZero(t, body.n.Load(), name)
	}
}

// TestAccepted: what must not be refused.
func TestAccepted(t *testing.T) {
	ctx := context.Background()
	quoted := with(func(t *contract.Terms) { t.KeyQuoted, t.KeyMaxLen = true, 4 })
	for name, tc := range map[string]struct {
		terms func(contract.Call) contract.Terms
		make  func() *http.Request
		key   string // on the wire, in the header
	}{
		"to be quoted":          {terms: quoted, make: func() *http.Request { return post(contract.WithKey(ctx, `k"\1`), payBody) }, key: `"k\"\\1"`},
		"quoted by its caller":  {terms: quoted, make: func() *http.Request { return keyHeader(contract.WithKey(ctx, "k1"), `"k1"`) }, key: `"k1"`},
		"quoted and not":        {terms: quoted, make: func() *http.Request { return keyHeader(ctx, `"k1"`, "k1") }, key: `"k1"`},
		"key in the context":    {make: func() *http.Request { return post(contract.WithKey(ctx, "k1"), payBody) }, key: "k1"},
		"key in the header":     {make: func() *http.Request { return keyHeader(ctx, "k1") }, key: "k1"},
		"the same in both":      {make: func() *http.Request { return keyHeader(contract.WithKey(ctx, "k1"), "k1") }, key: "k1"},
		"the same twice":        {make: func() *http.Request { return keyHeader(ctx, "k1", "k1") }, key: "k1"},
		"lower case":            {make: func() *http.Request { r := post(ctx, payBody); r.Header["idempotency-key"] = []string{"k1"}; return r }, key: "k1"},
		"without a key":         {make: func() *http.Request { return post(contract.WithoutKey(ctx), payBody) }},
		"without, but carried":  {make: func() *http.Request { return keyHeader(contract.WithoutKey(ctx), "k1") }, key: "k1"},
		"without, empty header": {make: func() *http.Request { return keyHeader(contract.WithoutKey(ctx), "") }},
		"keyless endpoint":      {terms: keyless, make: func() *http.Request { return post(ctx, payBody) }},
		"idempotent endpoint":   {terms: with(func(t *contract.Terms) { t.Idempotent, t.KeyRequired = true, true }), make: func() *http.Request { return post(ctx, payBody) }},
		"key in the body":       {terms: with(func(t *contract.Terms) { t.KeyHeader, t.KeyField = "", "a.uid" }), make: func() *http.Request { return post(ctx, `{"a":{"uid":"k1"}}`) }},
		"longest key":           {make: func() *http.Request { return post(contract.WithKey(ctx, strings.Repeat("k", 255)), payBody) }, key: strings.Repeat("k", 255)},
		"no body":               {make: func() *http.Request { return change(func(r *http.Request) { r.Body, r.ContentLength = nil, 0 }) }, key: payKey},
		"http.NoBody": {make: func() *http.Request {
			return change(func(r *http.Request) { r.Body, r.ContentLength = http.NoBody, 0 })
		}, key: payKey},
		"once-only body": {make: func() *http.Request {
			return change(func(r *http.Request) { r.Body, r.GetBody, r.ContentLength = onceOnly(), nil, -1 })
		}, key: payKey},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				p := newProvider(created())
				c := newClient(t, p, &stub{terms: tc.terms}, nil)
				result, err := c.Do(tc.make())
				wantVerdict(t, contract.Succeeded, result, err)
				require.Equal(t, 1, p.count())
				var want []string
				if tc.key != "" {
					want = []string{tc.key}
				}
				assert.Equal(t, want, p.requests()[0].Header["Idempotency-Key"])
			})
		})
	}
}

func onceOnly() io.ReadCloser { return io.NopCloser(io.MultiReader(strings.NewReader(payBody))) }

func TestOptions(t *testing.T) {
	_, err := NewClient(nil, nil)
	require.ErrorContains(t, err, "needs an adapter")
	_, err = NewClient(&stub{name: func() string { panic("x") }}, nil)
	require.ErrorContains(t, err, "adapter", "a Name that panics is found before money is moved")
	for _, o := range []Options{
		{MaxAttempts: -1}, {MaxElapsed: -1}, {MinWait: -1}, {MaxWait: -1}, {AttemptTimeout: -1}, {KeyMargin: -1},
		{UnpublishedRetention: -1}, {MaxRequestBytes: -1}, {MaxBodyBytes: -1}, {MaxErrorBytes: -1},
		{MinWait: 2, MaxWait: 1},
	} {
		_, err := NewClient(&stub{}, &o)
		assert.ErrorContains(t, err, "retry: ", "%+v", o)
	}
	given := &Options{MaxAttempts: 3}
	c, err := NewClient(&stub{}, given)
	require.NoError(t, err)
	assert.Equal(t, &Options{MaxAttempts: 3}, given, "the caller's options stay as they are")
	d := c.options
	assert.Equal(t, 3, d.MaxAttempts)
	assert.Equal(t, []time.Duration{2 * time.Minute, 500 * time.Millisecond, 30 * time.Second, 80 * time.Second, time.Hour, time.Hour},
		[]time.Duration{d.MaxElapsed, d.MinWait, d.MaxWait, d.AttemptTimeout, d.KeyMargin, d.UnpublishedRetention})
	assert.Equal(t, []int64{8 << 20, 8 << 20, 1 << 20}, []int64{d.MaxRequestBytes, d.MaxBodyBytes, d.MaxErrorBytes})

	d, err = (*Options)(nil).withDefaults()
	require.NoError(t, err)
	assert.Equal(t, 5, d.MaxAttempts)

	// One of two bounds alone moves the other's default.
	d, err = (&Options{MaxWait: time.Millisecond}).withDefaults()
	require.NoError(t, err)
	assert.Equal(t, time.Millisecond, d.MinWait)
	d, err = (&Options{MinWait: time.Hour}).withDefaults()
	require.NoError(t, err)
	assert.Equal(t, time.Hour, d.MaxWait)
}

// TestHugeLimits: a limit at the end of its type must not turn into none.
func TestHugeLimits(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(created())
		c := newClient(t, p, nil, &Options{
			MaxRequestBytes: math.MaxInt64, MaxBodyBytes: math.MaxInt64, MaxErrorBytes: math.MaxInt64,
			MaxAttempts: math.MaxInt, MaxElapsed: math.MaxInt64, MinWait: 1, MaxWait: math.MaxInt64,
			AttemptTimeout: math.MaxInt64, KeyMargin: math.MaxInt64, UnpublishedRetention: math.MaxInt64,
		})
		r := payment(context.Background())
		r.Body, r.ContentLength = onceOnly(), -1
		result, err := c.Do(r)
		wantVerdict(t, contract.Succeeded, result, err)
		assert.Equal(t, payBody, string(p.requests()[0].Body))
	})
}

// TestFrozen: every attempt sends the same bytes (I1), whatever the caller does
// to its request meanwhile.
func TestFrozen(t *testing.T) {
	virtual(t, func(t *testing.T) {
		ctx := context.Background()
		p := newProvider(respond(500, `{}`), drop(), respond(500, `{}`), created())
		var r *http.Request
		a := &stub{}
		a.classify = func(c contract.Call, reply contract.Reply) contract.Outcome {
			// An adapter that takes liberties with what it was lent.
			c.Request.Header.Set("X-Seen", "1")
			c.Request.URL.Path = "/elsewhere"
			c.Request.URL.Host = "evil.test"
			c.Request.Method = "DELETE"
			_ = append(c.Body, "more"...)
			r.Header.Set("X-Trace", "changed")
			r.URL.Path = "/changed"
			return classify(c, reply)
		}
		c := newClient(t, p, a, nil)
		r = payment(ctx)
		r.Header["x-odd"] = []string{"1"}
		r.Header["X-ODD"] = []string{"2"}
		r.Header.Set("X-Trace", "t-1")
		result, err := c.Do(r)
		wantVerdict(t, contract.Succeeded, result, err)
		assert.Equal(t, 4, result.Attempts)
		seen := p.requests()
		require.Len(t, seen, 4)
		for _, s := range seen {
			assert.Equal(t, seen[0].Raw, s.Raw, "byte for byte")
		}
		assert.Contains(t, seen[0].Raw, "POST /v1/payments HTTP/1.1\r\n")
		assert.True(t, strings.HasSuffix(seen[0].Raw, "\r\n\r\n"+payBody))
		assert.Equal(t, "t-1", seen[3].Header.Get("X-Trace"))
	})
}

// TestFrozenKeylessHeaders: one name in several cases is one order on the wire.
func TestFrozenKeylessHeaders(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(429, `{}`))
		c := newClient(t, p, &stub{terms: keyless}, &Options{MaxAttempts: 12})
		r := post(context.Background(), "")
		for _, name := range []string{"Idempotency-Key", "IDEMPOTENCY-KEY", "idempotency-key", "iDempotency-key"} {
			r.Header[name] = []string{name}
		}
		c.Do(r)
		seen := p.requests()
		require.Greater(t, len(seen), 4)
		for _, s := range seen {
			assert.Equal(t, seen[0].Raw, s.Raw)
			assert.Len(t, s.Header["Idempotency-Key"], 4)
		}
	})
}

// TestAuthorize: credentials are fresh for every send; nothing else can change.
func TestAuthorize(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(500, `{}`), respond(500, `{}`), created())
		n := 0
		c := newClient(t, p, nil, &Options{Authorize: func(r *http.Request) error {
			n++
			body, err := io.ReadAll(r.Body) // a signature needs it
			assert.NoError(t, err)
			assert.Equal(t, payBody, string(body))
			again, err := r.GetBody()
			assert.NoError(t, err)
			body, _ = io.ReadAll(again)
			assert.Equal(t, payBody, string(body))
			r.Header.Set("Authorization", fmt.Sprint("Bearer ", n))
			r.Header.Del("Idempotency-Key")
			r.Header["idempotency-key"] = []string{"other"}
			r.Header.Set("X-Account", "other")
			r.Header.Set("Content-Type", "text/plain")
			r.Header.Set("Accept-Encoding", "br")
			r.Method, r.Host, r.URL.Path, r.URL.Host = "PUT", "evil.test", "/evil", "evil.test"
			r.URL.RawQuery = "evil"
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader("evil")), 4
			r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("evil")), nil }
			r.TransferEncoding, r.Trailer, r.Close = []string{"chunked"}, http.Header{"X-T": {"1"}}, true
			return nil
		}})
		r := payment(context.Background())
		r.Header.Set("X-Account", "acct_1")
		r.Header.Del("Authorization")
		result, err := c.Do(r)
		wantVerdict(t, contract.Succeeded, result, err)
		require.Equal(t, 3, p.count())
		first := p.requests()[0]
		for i, s := range p.requests() {
			assert.Equal(t, fmt.Sprint("Bearer ", i+1), s.Header.Get("Authorization"))
			assert.Equal(t, strings.ReplaceAll(first.Raw, "Bearer 1", s.Header.Get("Authorization")), s.Raw)
			assert.Equal(t, []string{payKey}, s.Header["Idempotency-Key"])
			assert.Equal(t, []string{"acct_1"}, s.Header["X-Account"])
			assert.Equal(t, payBody, string(s.Body))
			assert.Equal(t, "pay.test", s.Host)
			assert.Equal(t, []string{"gzip"}, s.Header["Accept-Encoding"], "or no adapter can read the answer")
		}
		assert.Empty(t, r.Header.Get("Authorization"), "the caller's request stays as it is")
	})
}

// TestAuthorizeFails: nothing was sent, and it is tried again.
func TestAuthorizeFails(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(created())
		cause, n := errors.New("token sk_live_secret expired"), 0
		o := &Options{Authorize: func(r *http.Request) error { n++; return cause }}
		c := newClient(t, p, nil, o)
		result, err := c.Do(payment(context.Background()))
		wantVerdict(t, contract.NotExecuted, result, err)
		assert.ErrorIs(t, err, cause)
		assert.ErrorContains(t, err, "Authorize")
		assert.NotContains(t, fmt.Sprintf("%+v %#v", err, err), "sk_live")
		assert.Zero(t, p.count())
		assert.Equal(t, 5, n)
	})
}

// TestAuthorizeMalformed: a credential that cannot be sent is not a doubt.
func TestAuthorizeMalformed(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(created())
		c := newClient(t, p, nil, &Options{Authorize: func(r *http.Request) error {
			r.Header.Set("Authorization", "Bearer sk_live_secret\n")
			return nil
		}})
		result, err := c.Do(payment(context.Background()))
		wantVerdict(t, contract.NotExecuted, result, err)
		assert.ErrorContains(t, err, "Authorization")
		assert.NotContains(t, fmt.Sprintf("%+v %#v", err, err), "sk_live")
		assert.Zero(t, p.count())
	})
}

// TestAuthorizeHeaderless: a hostile Authorize takes the header away.
func TestAuthorizeHeaderless(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(created())
		c := newClient(t, p, nil, &Options{Authorize: func(r *http.Request) error { *r = http.Request{}; return nil }})
		result, err := c.Do(payment(context.Background()))
		wantVerdict(t, contract.Succeeded, result, err)
		assert.Equal(t, []string{payKey}, p.requests()[0].Header["Idempotency-Key"])
	})
}

// TestUserInfo: credentials in the URL travel as http.Client sends them.
func TestUserInfo(t *testing.T) {
	virtual(t, func(t *testing.T) {
		for _, method := range []string{"POST", "GET"} {
			p := newProvider(created())
			c := newClient(t, p, nil, nil)
			r := payment(context.Background())
			r.Method, r.Body, r.ContentLength = method, nil, 0
			r.Header.Del("Authorization")
			r.URL.User = url.UserPassword("sk_live", "")
			resp, err := c.RoundTrip(r)
			require.NoError(t, err)
			resp.Body.Close()
			user, _, ok := p.requests()[0].BasicAuth()
			assert.True(t, ok, method)
			assert.Equal(t, "sk_live", user)
			assert.NotNil(t, r.URL.User, "the caller's URL stays")
		}
	})
}

// TestReadsPass: reads are no operations: once, unclassified, unchanged.
func TestReadsPass(t *testing.T) {
	virtual(t, func(t *testing.T) {
		for _, method := range []string{"GET", "HEAD", "OPTIONS", ""} {
			p := newProvider(respond(500, ``, "Location: /x"))
			a := &stub{
				terms:    func(contract.Call) contract.Terms { panic("asked") },
				classify: func(contract.Call, contract.Reply) contract.Outcome { panic("asked") },
			}
			c := newClient(t, p, a, &Options{OnAttempt: func(context.Context, AttemptEvent) { t.Error("told") }})
			r := change(func(r *http.Request) { r.Method, r.Body, r.ContentLength = method, nil, 0 })
			result, err := c.Do(r)
			require.NoError(t, err)
			assert.Equal(t, 500, result.Response.StatusCode)
			assert.Equal(t, contract.Verdict{}, result.Verdict)
			io.Copy(io.Discard, result.Response.Body)
			result.Response.Body.Close()
			assert.Equal(t, 1, p.count())
		}
	})
}

// TestReadsAuthorize: also on a request without a header map.
func TestReadsAuthorize(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(200, `{}`))
		fail := false
		c := newClient(t, p, nil, &Options{Authorize: func(r *http.Request) error {
			if fail {
				return io.ErrNoProgress
			}
			r.Header.Set("Authorization", "Bearer x")
			return nil
		}})
		u, _ := url.Parse("http://pay.test/v1/payments")
		resp, err := c.RoundTrip(&http.Request{Method: "GET", URL: u})
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, "Bearer x", p.requests()[0].Header.Get("Authorization"))
		assert.Empty(t, resp.Request.Header, "the response shows no credential")
		fail = true
		_, err = c.RoundTrip(&http.Request{Method: "GET", URL: u})
		assert.ErrorIs(t, err, io.ErrNoProgress)
	})
}

// TestReadLimit: a read without end ends at the limit.
func TestReadLimit(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(endless("HTTP/1.1 200 OK\r\n\r\n", strings.Repeat("x", 100)))
		c := newClient(t, p, nil, &Options{MaxBodyBytes: 1000})
		resp, err := c.RoundTrip(change(func(r *http.Request) { r.Method, r.Body, r.ContentLength = "GET", nil, 0 }))
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		var over *http.MaxBytesError
		assert.ErrorAs(t, err, &over)
		assert.Len(t, body, 1000)
		resp.Body.Close()
	})
}

// TestRequestsAreReusable: the caller may send its request again with a new body.
func TestRequestsAreReusable(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(created())
		c := newClient(t, p, nil, nil)
		r := payment(context.Background())
		for range 3 {
			r.Body = io.NopCloser(bytes.NewReader([]byte(payBody)))
			result, err := c.Do(r)
			wantVerdict(t, contract.Succeeded, result, err)
		}
		assert.Equal(t, p.requests()[0].Raw, p.requests()[2].Raw)
	})
}

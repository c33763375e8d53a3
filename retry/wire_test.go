package retry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

// sendTo points a request at another server.
func sendTo(t *testing.T, base string, r *http.Request) *http.Request {
	t.Helper()
	u, err := url.Parse(base)
	require.NoError(t, err)
	r.URL.Scheme, r.URL.Host, r.Host = u.Scheme, u.Host, u.Host
	return r
}

var keyNames = []string{"Idempotency-Key", "X-Idempotency-Key", "idempotency-key", "IDEMPOTENCY-KEY", "x-idempotency-KEY"}

// TestOneRequestHTTP1 proves I6 over real HTTP/1.1: a reused connection dies after
// the request was read, and the request is on the wire once.
func TestOneRequestHTTP1(t *testing.T) {
	for _, death := range []struct {
		name string
		act  act
	}{{"EOF", drop()}, {"RST", reset()}} {
		for _, body := range []string{"", payBody} {
			for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
				for _, honoured := range []bool{true, false} {
					for _, name := range keyNames {
						t.Run(fmt.Sprintf("%s/body=%t/%s/honoured=%t/%s", death.name, body != "", method, honoured, name), func(t *testing.T) {
							p := newProvider(created(), death.act)
							a := &stub{terms: keyless}
							if honoured {
								a.terms = with(func(t *contract.Terms) { t.KeyHeader = http.CanonicalHeaderKey(name) })
							}
							tr := newTransport()
							c, err := NewClient(a, &Options{Transport: tr, MaxAttempts: 1})
							require.NoError(t, err)
							t.Cleanup(c.CloseIdleConnections)
							base := p.listen(t)
							send := func() (*Result, error) {
								r := sendTo(t, base, post(context.Background(), body))
								r.Method = method
								r.Header[name] = []string{payKey}
								return c.Do(r)
							}
							result, err := send()
							wantVerdict(t, contract.Succeeded, result, err)
							result, err = send()
							wantVerdict(t, contract.Unknown, result, err)
							assert.Equal(t, 1, result.Attempts)

							seen := p.requests()
							require.Len(t, seen, 2, "one attempt is one request on the wire")
							assert.Equal(t, 1, seen[1].Conn, "the connection was reused")
							assert.Equal(t, []string{payKey}, seen[1].Header[http.CanonicalHeaderKey(name)], "the key is on the wire")
						})
					}
				}
			}
		}
	}
}

// TestNetHTTPReplays is the control: what net/http does without our care. If it
// ever stops, the tests above prove nothing any more.
func TestNetHTTPReplays(t *testing.T) {
	for _, body := range []string{"", payBody} {
		p := newProvider(created(), drop(), created())
		base := p.listen(t)
		tr := newTransport()
		t.Cleanup(tr.CloseIdleConnections)
		for range 2 {
			r := sendTo(t, base, post(context.Background(), body))
			r.Header.Set("Idempotency-Key", payKey)
			resp, err := tr.RoundTrip(r)
			require.NoError(t, err)
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		assert.Equal(t, 3, p.count(), "net/http repeated the second one by itself, body %q", body)
	}
}

// TestOneRequestHTTP2 proves I6 over HTTP/2, with TLS and in the clear: the server
// refuses the stream in each of the ways that net/http repeats by itself.
func TestOneRequestHTTP2(t *testing.T) {
	for name, fault := range map[string]func(io.Writer, uint32) bool{
		"REFUSED_STREAM": refuseStream, "PROTOCOL_ERROR": protocolError,
		"GOAWAY": goAway, "GOAWAY and close": goAwayAndClose, "close": closeConn,
	} {
		for _, secure := range []bool{true, false} {
			for _, warm := range []int{0, 1} {
				for _, body := range []string{"", payBody} {
					for _, expect := range []bool{false, true} {
						t.Run(fmt.Sprintf("%s/tls=%t/reused=%d/body=%t/expect=%t", name, secure, warm, body != "", expect), func(t *testing.T) {
							p := &h2provider{warm: warm, fault: fault}
							tr, base := p.listen(t, secure)
							tr.ExpectContinueTimeout = 50 * time.Millisecond
							c, err := NewClient(&stub{}, &Options{Transport: tr, MaxAttempts: 1})
							require.NoError(t, err)
							send := func() (*Result, error) {
								r := sendTo(t, base, post(contract.WithKey(context.Background(), payKey), body))
								if expect {
									r.Header.Set("Expect", "100-continue")
								}
								return c.Do(r)
							}
							for range warm {
								result, err := send()
								wantVerdict(t, contract.Succeeded, result, err)
							}
							result, err := send()
							wantVerdict(t, contract.Unknown, result, err)
							assert.NotErrorIs(t, err, context.Canceled, "the caller did not cancel")
							assert.Equal(t, warm+1, p.count(), "one attempt is one request on the wire")
						})
					}
				}
			}
		}
	}
}

// TestNetHTTPReplaysHTTP2 is the control of the test above.
func TestNetHTTPReplaysHTTP2(t *testing.T) {
	for _, secure := range []bool{true, false} {
		for name, fault := range map[string]func(io.Writer, uint32) bool{"REFUSED_STREAM": refuseStream, "GOAWAY": goAway} {
			p := &h2provider{fault: fault}
			tr, base := p.listen(t, secure)
			ctx, cancel := context.WithCancel(context.Background())
			var conns atomic.Int32
			ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
				if conns.Add(1) == 3 {
					cancel() // enough
				}
			}})
			_, err := tr.RoundTrip(sendTo(t, base, post(ctx, "")))
			require.Error(t, err)
			assert.Equal(t, 2, p.count(), "net/http repeated it by itself: %s", name)
			cancel()
		}
	}
}

// TestResendHTTP2: the loop's own resend is a new attempt and works.
func TestResendHTTP2(t *testing.T) {
	p := &h2provider{}
	p.fault = func(w io.Writer, stream uint32) bool {
		if p.count() == 1 {
			p.mu.Lock()
			p.warm = 100
			p.mu.Unlock()
			return refuseStream(w, stream)
		}
		return true
	}
	tr, base := p.listen(t, true)
	c, err := NewClient(&stub{}, &Options{Transport: tr, MinWait: 1, MaxWait: 1})
	require.NoError(t, err)
	result, err := c.Do(sendTo(t, base, payment(context.Background())))
	wantVerdict(t, contract.Succeeded, result, err)
	assert.Equal(t, 2, result.Attempts)
	assert.Equal(t, 2, p.count())
	assert.Equal(t, 2, result.Response.ProtoMajor)
}

// TestNothingLeft: where no byte can have left, the verdict is NotExecuted.
func TestNothingLeft(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed.Close()
	p := newProvider(created())
	plain := p.listen(t)
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("arrived") }))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	mute, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	require.NoError(t, err)
	t.Cleanup(func() { mute.Close() })

	noDNS := newTransport()
	noDNS.DialContext = (&net.Dialer{Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no network")
	}}}).DialContext
	slow := newTransport()
	slow.TLSHandshakeTimeout = 20 * time.Millisecond
	proxied := newTransport()
	proxied.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: closed.Addr().String()})

	for name, tc := range map[string]struct {
		transport http.RoundTripper
		base      string
		says      string
	}{
		"refused":           {newTransport(), "http://" + closed.Addr().String(), "connection refused"},
		"DNS":               {noDNS, "http://pay.example.invalid", "name lookup failed"},
		"not TLS":           {newTransport(), strings.Replace(plain, "http:", "https:", 1), ""},
		"certificate":       {newTransport(), secure.URL, "TLS handshake failed"},
		"handshake timeout": {slow, "https://" + mute.Addr().String(), ""},
		"proxy refused":     {proxied, "http://pay.test", "connection refused"},

		"unwatched dial": {fails{&net.OpError{Op: "dial", Err: errors.New("x")}}, "http://pay.test", "connection failed"},
		"unwatched DNS":  {fails{&url.Error{Err: &net.DNSError{Err: "x"}}}, "http://pay.test", "name lookup failed"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := NewClient(&stub{}, &Options{Transport: tc.transport, MaxAttempts: 1})
			require.NoError(t, err)
			t.Cleanup(c.CloseIdleConnections)
			result, err := c.Do(sendTo(t, tc.base, payment(context.Background())))
			wantVerdict(t, contract.NotExecuted, result, err)
			assert.ErrorContains(t, err, tc.says)
			assert.True(t, result.AllowsNewKey())
		})
	}
	assert.Zero(t, p.count())
}

// fails is a transport that is not net/http's.
type fails struct{ err error }

func (f fails) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// TestMaybeLeft: after a byte may have left there is doubt, whatever broke.
func TestMaybeLeft(t *testing.T) {
	for name, tc := range map[string]struct {
		script act
		o      Options
		says   string
	}{
		"EOF":          {script: drop(), says: "connection closed"},
		"RST":          {script: reset()},
		"half a head":  {script: raw(false, "HTTP/1.1 200 O")},
		"not HTTP":     {script: raw(false, "SSH-2.0-OpenSSH\r\n\r\n")},
		"timeout":      {script: hang(), o: Options{AttemptTimeout: 30 * time.Millisecond}, says: "timed out"},
		"unwatched":    {o: Options{Transport: fails{errors.New("x")}}},
		"read failed":  {o: Options{Transport: fails{&net.OpError{Op: "read", Err: errors.New("x")}}}},
		"no response":  {o: Options{Transport: fails{nil}}},
		"write failed": {o: Options{Transport: fails{&net.OpError{Op: "write", Err: errors.New("x")}}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(tc.script)
			base := p.listen(t)
			o := tc.o
			o.MaxAttempts = 1
			if o.Transport == nil {
				o.Transport = newTransport()
			}
			c, err := NewClient(&stub{}, &o)
			require.NoError(t, err)
			t.Cleanup(c.CloseIdleConnections)
			result, err := c.Do(sendTo(t, base, payment(context.Background())))
			wantVerdict(t, contract.Unknown, result, err)
			assert.ErrorContains(t, err, tc.says)
			assert.NotErrorIs(t, err, context.DeadlineExceeded, "it was not the caller's deadline")
			assert.False(t, result.AllowsNewKey())
		})
	}
}

// TestKeylessDoubtIsNotResent: nothing would stop a second effect.
func TestKeylessDoubtIsNotResent(t *testing.T) {
	virtual(t, func(t *testing.T) {
		for name, tc := range map[string]struct {
			terms func(contract.Call) contract.Terms
			ctx   context.Context
			sends int
		}{
			"endpoint without keys": {keyless, context.Background(), 1},
			"the same, with a key":  {keyless, contract.WithKey(context.Background(), payKey), 1},
			"WithoutKey":            {nil, contract.WithoutKey(context.Background()), 1},
			"with a key":            {nil, contract.WithKey(context.Background(), payKey), 5},
			"idempotent":            {with(func(t *contract.Terms) { t.Idempotent = true }), context.Background(), 5},
		} {
			for _, broken := range []act{drop(), respond(500, `{}`), respond(200, ``)} {
				p := newProvider(broken)
				c := newClient(t, p, &stub{terms: tc.terms}, nil)
				result, err := c.Do(post(tc.ctx, payBody))
				wantVerdict(t, contract.Unknown, result, err)
				assert.Equal(t, tc.sends, p.count(), name)
			}
		}
	})
}

// TestKeylessRefusedDialIsResent: nothing left, so it is safe.
func TestKeylessRefusedDialIsResent(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(created())
		tr, dials := p.transport(), 0
		dial := tr.DialContext
		tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dials++; dials < 3 {
				return nil, errors.New("refused")
			}
			return dial(ctx, network, addr)
		}
		c := newClient(t, p, &stub{terms: keyless}, &Options{Transport: tr})
		result, err := c.Do(post(context.Background(), payBody))
		wantVerdict(t, contract.Succeeded, result, err)
		assert.Equal(t, 3, result.Attempts)
		assert.Equal(t, 1, p.count())
	})
}

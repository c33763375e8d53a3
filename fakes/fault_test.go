package fakes_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/fakes"
)

// ways are the three ways to reach a server.
var ways = map[string]func(*testing.T, *fakes.Server) *http.Client{
	"memory": func(t *testing.T, s *fakes.Server) *http.Client {
		t.Cleanup(s.Client().CloseIdleConnections)
		return s.Client()
	},
	"tcp": func(t *testing.T, s *fakes.Server) *http.Client {
		t.Cleanup(func() { _ = s.Close() })
		return &http.Client{Transport: s.TCPTransport()}
	},
	"httpmock": func(_ *testing.T, s *fakes.Server) *http.Client {
		m := httpmock.NewMockTransport()
		s.Register(m)
		return &http.Client{Transport: m}
	},
}

func TestFaults(t *testing.T) {
	isEOF := func(err error) bool { return errors.Is(err, io.EOF) }
	isCut := func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }
	isReset := func(err error) bool { return errors.Is(err, syscall.ECONNRESET) }
	isRefused := func(err error) bool {
		op := (*net.OpError)(nil)
		return errors.As(err, &op) && op.Op == "dial" && errors.Is(err, syscall.ECONNREFUSED)
	}
	isTimeout := func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
	tests := []struct {
		fault   fakes.Fault
		fails   func(error) bool
		status  int
		effects int
		wire    int
	}{
		{fakes.None, nil, 200, 1, 1},
		{nil, nil, 200, 1, 1},
		{fakes.LoseReply, isEOF, 0, 1, 1},
		{fakes.CutBody(7), isCut, 0, 1, 1},
		{fakes.CutBody(-1), isCut, 0, 1, 1},
		{fakes.Hang, isTimeout, 0, 1, 1},
		{fakes.RefuseConnection, isRefused, 0, 0, 0},
		{fakes.ResetAfterSend, isReset, 0, 1, 1},
		{fakes.SaveError(502), nil, 502, 1, 1},
		{fakes.SaveErrorNoEffect(500), nil, 500, 0, 1},
		{fakes.Throttle(0), nil, 429, 0, 1},
		{fakes.Unavailable(time.Second), nil, 503, 0, 1},
		{fakes.Status(418, "tea"), nil, 418, 0, 1},
		{fakes.Slow(time.Hour), isTimeout, 0, 1, 1},
		{fakes.HTMLPage(200), nil, 200, 1, 1},
		{fakes.InFlight(time.Hour), nil, 409, 0, 1},
	}
	for way, client := range ways {
		for _, tt := range tests {
			name := "nil"
			if tt.fault != nil {
				name = tt.fault.String()
			}
			t.Run(way+"/"+name, func(t *testing.T) {
				s := fakes.NewStripe(nil)
				c := client(t, s)
				c.Timeout = 10 * time.Second
				send(t, c, "GET", intents, "", "") // a connection is open
				if tt.fails != nil && tt.fails(context.DeadlineExceeded) {
					c.Timeout = 50 * time.Millisecond
				}
				s.Script(tt.fault)
				// A header name that net/http does not know keeps it from resending.
				r := newRequest(t, "POST", intents, "", paid)
				r.Header["idempotency-key"] = []string{"k1"}
				r.GetBody = nil
				if way == "httpmock" {
					r.Header.Set("Idempotency-Key", "k1")
				}
				got, err := try(t, c, r)
				if tt.fails == nil {
					require.NoError(t, err)
					assert.Equal(t, tt.status, got.status)
				} else {
					require.Error(t, err)
					assert.True(t, tt.fails(err), "%v", err)
				}
				assert.Len(t, s.Effects(), tt.effects)
				require.Len(t, s.Requests(), 1+tt.wire)
				if tt.wire == 0 {
					assert.Equal(t, 1, s.Refused())
					return
				}
				if tt.fault != nil {
					assert.Equal(t, tt.fault, s.Requests()[1].Fault)
				}
			})
		}
	}
}

func TestRedirectIsNotFollowedByTheFake(t *testing.T) {
	s := fakes.NewStripe(nil)
	c := s.Client()
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.Script(fakes.Redirect(stripeURL + "/v1/elsewhere"))
	r := send(t, c, "POST", intents, "k1", paid)
	assert.Equal(t, 307, r.status)
	assert.Equal(t, stripeURL+"/v1/elsewhere", r.header.Get("Location"))
	assert.Empty(t, s.Effects())
}

func TestCutBodyAnnouncesTheWhole(t *testing.T) {
	s := fakes.NewStripe(nil)
	s.Script(fakes.CutBody(10))
	resp, err := s.Client().Do(newRequest(t, "POST", intents, "k1", paid))
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Len(t, b, 10)
	whole := send(t, s.Client(), "POST", intents, "k1", paid)
	assert.Equal(t, int64(len(whole.raw)), resp.ContentLength)
	assert.Equal(t, "true", whole.header.Get("Idempotent-Replayed"))
}

// net/http resends a keyed request on a dead reused connection by itself; the log
// of requests shows it, which is what the fake is for.
func TestLostReplyOnAReusedConnection(t *testing.T) {
	s := fakes.NewStripe(nil)
	c := s.Client()
	send(t, c, "GET", intents, "", "")
	s.Script(fakes.LoseReply)
	r := send(t, c, "POST", intents, "k1", paid)
	assert.Equal(t, "true", r.header.Get("Idempotent-Replayed"))
	assert.Len(t, s.Requests(), 3)
	assert.Len(t, s.Effects(), 1)
}

func TestScriptOrder(t *testing.T) {
	s := fakes.NewStripe(nil)
	c := s.Client()
	s.Script(nil, fakes.Status(501, ""), fakes.None, fakes.Status(502, `{"a":1}`))
	s.ScriptWhen(func(r *http.Request) bool {
		b, _ := io.ReadAll(r.Body)
		return r.Method == "GET" || strings.Contains(string(b), "amount=3")
	}, fakes.Status(599, ""), fakes.RefuseConnection)
	var got []int
	for _, body := range []string{"amount=1&currency=usd", "amount=2&currency=usd", "amount=3&currency=usd"} {
		got = append(got, send(t, c, "POST", intents, "", body).status)
	}
	_, err := try(t, c, newRequest(t, "GET", intents, "", ""))
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
	assert.Equal(t, 200, send(t, c, "GET", intents, "", "").status, "reads do not use up Script")
	got = append(got, send(t, c, "POST", intents, "", paid).status)
	last := send(t, c, "POST", intents, "", paid)
	assert.Equal(t, []int{200, 501, 599, 200, 502}, append(got, last.status))
	assert.Equal(t, "application/json", last.header.Get("Content-Type"))
}

// Nothing of the bubble outlives CloseIdleConnections, whatever was scripted; the
// bubble itself fails the test if a goroutine stays.
func TestEveryGoroutineEnds(t *testing.T) {
	for _, f := range []fakes.Fault{
		fakes.None, fakes.LoseReply, fakes.CutBody(3), fakes.Hang, fakes.RefuseConnection, fakes.ResetAfterSend,
		fakes.Slow(time.Hour), fakes.Slow(time.Second), fakes.InFlight(time.Hour), fakes.SaveError(500),
	} {
		t.Run(f.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := fakes.NewStripe(nil)
				c := s.Client()
				c.Timeout = 30 * time.Second
				send(t, c, "GET", intents, "", "")
				s.Script(f)
				_, _ = try(t, c, newRequest(t, "POST", intents, "k1", paid))
				s.Transport().(interface{ CloseIdleConnections() }).CloseIdleConnections()
			})
		})
	}
}

func TestTraceFiresAsWithNetHTTP(t *testing.T) {
	for _, way := range []string{"memory", "tcp"} {
		t.Run(way, func(t *testing.T) {
			s := fakes.NewStripe(nil)
			c := ways[way](t, s)
			var mu sync.Mutex
			var seen []string
			add := func(what string) { mu.Lock(); defer mu.Unlock(); seen = append(seen, what) }
			traced := func() *http.Request {
				seen = nil
				r := newRequest(t, "POST", intents, "k1", paid)
				return r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
					GetConn: func(string) { add("get") },
					GotConn: func(i httptrace.GotConnInfo) {
						add("got")
						if i.Reused {
							add("reused")
						}
					},
					WroteHeaders: func() { add("headers") },
					WroteRequest: func(httptrace.WroteRequestInfo) { add("wrote") },
				}))
			}
			_, err := try(t, c, traced())
			require.NoError(t, err)
			assert.Equal(t, []string{"get", "got", "headers", "wrote"}, seen)
			_, err = try(t, c, traced())
			require.NoError(t, err)
			assert.Equal(t, []string{"get", "got", "reused", "headers", "wrote"}, seen)
			s.Script(fakes.RefuseConnection)
			_, err = try(t, c, traced())
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
			assert.Equal(t, []string{"get"}, seen, "an idle connection is not used")
		})
	}
}

func TestHTTPSTravelsInMemory(t *testing.T) {
	s := fakes.NewStripe(nil)
	r := newRequest(t, "GET", "https://api.stripe.com/v1/payment_intents", "", "")
	resp, err := s.Client().Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	assert.Equal(t, "https", resp.Request.URL.Scheme)
	assert.Equal(t, "https", r.URL.Scheme)
}

func TestURLAndClose(t *testing.T) {
	s := fakes.NewStripe(nil)
	base := s.URL()
	c := &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
	assert.Equal(t, 200, send(t, c, "POST", base+"/v1/payment_intents", "k1", paid).status)
	// A foreign transport has connected already: nothing executes all the same.
	s.Script(fakes.RefuseConnection)
	r := newRequest(t, "POST", base+"/v1/payment_intents", "", paid)
	r.GetBody = nil
	_, err := try(t, c, r)
	assert.Error(t, err)
	assert.Len(t, s.Effects(), 1)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, err = try(t, c, newRequest(t, "GET", base+"/v1/payment_intents", "", ""))
	assert.Error(t, err)
	assert.Len(t, s.Effects(), 1, "the ledger stays")
}

func TestHalfARequestExecutesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakes.NewStripe(nil)
		defer s.Client().CloseIdleConnections()
		// More than net/http buffers, so that the start of it is sent.
		r := newRequest(t, "POST", intents, "k1", paid+"&description="+strings.Repeat("x", 1<<16))
		r.ContentLength += 5
		_, err := try(t, s.Client(), r)
		assert.Error(t, err)
		synctest.Wait()
		assert.Empty(t, s.Requests())
		big := newRequest(t, "POST", intents, "k1", "a="+strings.Repeat("x", 2<<20))
		got, err := try(t, s.Client(), big)
		require.NoError(t, err)
		assert.Equal(t, 413, got.status)
		assert.Empty(t, s.Effects())
	})
}

// Two requests may both have asked before either arrived: one that has connected
// is not refused any more, the next dial is.
func TestARefusalIsForTheDial(t *testing.T) {
	s := fakes.NewStripe(nil)
	asked := 0
	s.ScriptWhen(func(*http.Request) bool { asked++; return asked > 1 }, fakes.RefuseConnection, fakes.Status(501, ""))
	assert.Equal(t, 501, send(t, s.Client(), "POST", intents, "", paid).status)
	_, err := try(t, s.Client(), newRequest(t, "POST", intents, "", paid))
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
	assert.Equal(t, 1, s.Refused())
}

func TestRequestsAreKeptWhole(t *testing.T) {
	s := fakes.NewStripe(&fakes.Options{Seed: 7})
	r := send(t, s.Client(), "POST", intents+"?x=1", "k1", paid)
	q := s.Requests()[0]
	assert.Equal(t, "/v1/payment_intents", q.Path)
	assert.Equal(t, "x=1", q.Query)
	assert.Equal(t, paid, string(q.Body))
	assert.Equal(t, "k1", q.Key)
	assert.Equal(t, r.header.Get("Request-Id"), q.ID)
	assert.Equal(t, 200, q.Status)
	q.Body[0] = 'X'
	s.Effects()[0].Metadata["order"] = "changed"
	assert.Equal(t, paid, string(s.Requests()[0].Body))
	assert.Equal(t, "7", s.Effects()[0].Metadata["order"])
	twin := fakes.NewStripe(&fakes.Options{Seed: 7})
	assert.Equal(t, r.at("id"), send(t, twin.Client(), "POST", intents+"?x=1", "k1", paid).at("id"))
}

func TestConcurrentUse(t *testing.T) {
	s := fakes.NewStripe(nil)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			key := itoa(int64(i % 10))
			s.Script(fakes.None)
			send(t, s.Client(), "POST", intents, key, paid)
			_, _ = s.Effects(), s.Requests()
			s.Advance(time.Nanosecond)
		})
	}
	wg.Wait()
	assert.Len(t, s.Effects(), 10)
	s.Client().CloseIdleConnections()
}

func TestARefusalMayDependOnTheBody(t *testing.T) {
	for way, client := range ways {
		t.Run(way, func(t *testing.T) {
			s := fakes.NewStripe(nil)
			c := client(t, s)
			s.ScriptWhen(func(r *http.Request) bool {
				b, _ := io.ReadAll(r.Body)
				return strings.Contains(string(b), "amount=2&")
			}, fakes.RefuseConnection)
			assert.Equal(t, 200, send(t, c, "POST", intents, "", "amount=1&currency=usd").status)
			_, err := try(t, c, newRequest(t, "POST", intents, "", "amount=2&currency=usd"))
			assert.ErrorIs(t, err, syscall.ECONNREFUSED)
			r := send(t, c, "POST", intents, "", "amount=2&currency=usd")
			assert.Contains(t, r.raw, `"amount":2`, "the body has not been used up")
		})
	}
}

// A clock that is set back makes a key younger, and hides nothing that exists.
func TestSetSkew(t *testing.T) {
	s := fakes.NewZepto(nil)
	c := s.Client()
	payment := `{"uid":"u1","agreement_uid":"a","amount":1}`
	before := time.Now()
	send(t, c, "POST", zeptoURL+"/payto/payments", "", payment)
	s.SetSkew(-time.Hour)
	assert.Equal(t, 200, send(t, c, "GET", zeptoURL+"/payto/payments/u1", "", "").status)
	send(t, c, "POST", zeptoURL+"/payto/payments", "", strings.Replace(payment, "u1", "u2", 1))
	s.SetSkew(time.Hour)
	send(t, c, "POST", zeptoURL+"/payto/payments", "", strings.Replace(payment, "u1", "u3", 1))
	effects := s.Effects()
	require.Len(t, effects, 3)
	assert.WithinRange(t, effects[0].Time, before, before.Add(time.Minute))
	assert.WithinRange(t, effects[1].Time, before.Add(-time.Hour), before.Add(-time.Hour+time.Minute))
	assert.WithinRange(t, effects[2].Time, before.Add(time.Hour), before.Add(time.Hour+time.Minute))
	c.CloseIdleConnections()
}

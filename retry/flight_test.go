package retry

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

// landing is what a call in a goroutine of its own came to.
type landing struct {
	result *Result
	err    error
	panic  any
	at     time.Time
	done   chan struct{}
}

func (l *landing) wait() *landing { <-l.done; return l }

// start calls Do in a goroutine and returns when it is under way.
func start(c *Client, r *http.Request) *landing {
	l := &landing{done: make(chan struct{})}
	go func() {
		defer close(l.done)
		defer func() { l.panic, l.at = recover(), time.Now() }()
		l.result, l.err = c.Do(r)
	}()
	synctest.Wait()
	return l
}

// TestOneFlight: callers with one key share one run and its verdict, and each has
// a response of its own.
func TestOneFlight(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(after(time.Second, respond(500, `{}`)), after(time.Second, created()))
		c := newClient(t, p, nil, nil)
		var all []*landing
		for range 10 {
			all = append(all, start(c, payment(context.Background())))
		}
		for i, l := range all {
			wantVerdict(t, contract.Succeeded, l.wait().result, l.err)
			assert.Equal(t, 2, l.result.Attempts)
			l.result.Response.Header.Set("X-Mine", "1")
			body, err := io.ReadAll(l.result.Response.Body)
			assert.NoError(t, err)
			assert.Equal(t, `{"id":"pay_1","state":"pending"}`, string(body), "caller %d", i)
			clear(body)
			l.result.Resources[0] = "mine"
		}
		assert.Equal(t, "mine", all[3].result.Resources[0])
		assert.Equal(t, 2, p.count())

		// Afterwards the key is free, and the provider replays.
		result, err := c.Do(payment(context.Background()))
		wantVerdict(t, contract.Succeeded, result, err)
		assert.Equal(t, 3, p.count())
	})
}

// TestErrorsAreApart: callers that share a flight share no memory of its error.
func TestErrorsAreApart(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(after(time.Second, respond(410, `{"a":1}`)), respond(200, `{"found":["pay_1","pay_2"]}`))
		c := newClient(t, p, able(&stub{}), nil)
		a, b := start(c, payment(context.Background())), start(c, payment(context.Background()))
		var one, two *Error
		require.ErrorAs(t, a.wait().err, &one)
		require.ErrorAs(t, b.wait().err, &two)
		assert.NotSame(t, one, two)
		clear(one.Body)
		one.Response.Header.Set("X", "1")
		one.Verdict.Resources[0] = "changed"
		assert.Equal(t, `{"a":1}`, string(two.Body))
		assert.Empty(t, two.Response.Header.Get("X"))
		assert.Equal(t, []string{"pay_1", "pay_2"}, two.Verdict.Resources)
		assert.Equal(t, []string{"pay_1", "pay_2"}, b.result.Resources)
		body, _ := io.ReadAll(two.Response.Body)
		assert.Equal(t, `{"a":1}`, string(body))
	})
}

// TestScope: what shares a flight, what does not, and what is refused.
func TestScope(t *testing.T) {
	ctx := context.Background()
	keyedCtx := contract.WithKey(ctx, payKey)
	account := func(id string) *http.Request {
		r := payment(ctx)
		r.Header.Set("X-Account", id)
		return r
	}
	path := func(p string) *http.Request {
		r := payment(ctx)
		r.URL.Path = p
		return r
	}
	for name, tc := range map[string]struct {
		terms         func(contract.Call) contract.Terms
		first, second func() *http.Request
		sends         int
		reused        bool
	}{
		"the same":                      {nil, func() *http.Request { return payment(ctx) }, func() *http.Request { return payment(ctx) }, 1, false},
		"the same, in other words":      {nil, func() *http.Request { return payment(ctx) }, func() *http.Request { return post(keyedCtx, `{"card":"4242424242424242", "amount":100}`) }, 1, false},
		"key in header and context":     {nil, func() *http.Request { return payment(ctx) }, func() *http.Request { return keyHeader(ctx, payKey) }, 1, false},
		"another key":                   {nil, func() *http.Request { return payment(ctx) }, func() *http.Request { return post(contract.WithKey(ctx, "k2"), payBody) }, 2, false},
		"another amount":                {nil, func() *http.Request { return payment(ctx) }, func() *http.Request { return post(keyedCtx, `{"amount":999}`) }, 1, true},
		"another path":                  {nil, func() *http.Request { return payment(ctx) }, func() *http.Request { return path("/v1/refunds") }, 1, true},
		"another account":               {nil, func() *http.Request { return account("a") }, func() *http.Request { return account("b") }, 2, false},
		"no key":                        {keyless, func() *http.Request { return post(ctx, payBody) }, func() *http.Request { return post(ctx, payBody) }, 2, false},
		"keyless endpoint, key":         {keyless, func() *http.Request { return payment(ctx) }, func() *http.Request { return payment(ctx) }, 1, false},
		"keyless endpoint, other":       {keyless, func() *http.Request { return payment(ctx) }, func() *http.Request { return post(keyedCtx, `{}`) }, 1, true},
		"accounts that look like joins": {nil, func() *http.Request { return account(`a","b`) }, func() *http.Request { return account("a") }, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				p := newProvider(after(time.Second, created()))
				c := newClient(t, p, &stub{terms: tc.terms}, nil)
				a, b := start(c, tc.first()), start(c, tc.second())
				wantVerdict(t, contract.Succeeded, a.wait().result, a.err)
				if b.wait(); tc.reused {
					wantVerdict(t, contract.KeyReused, b.result, b.err)
					assert.Zero(t, b.result.Attempts)
					assert.True(t, b.at.Before(a.at), "at once")
					assert.ErrorContains(t, b.err, "a key of its own")
				} else {
					wantVerdict(t, contract.Succeeded, b.result, b.err)
				}
				assert.Equal(t, tc.sends, p.count())
			})
		})
	}
}

// TestFollowerLeaves: a follower's own deadline ends its wait, and it says that
// the effect may come.
func TestFollowerLeaves(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(after(10*time.Second, created()))
		c := newClient(t, p, nil, nil)
		a := start(c, payment(context.Background()))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		began := time.Now()
		b := start(c, payment(ctx)).wait()
		assert.Equal(t, time.Second, b.at.Sub(began))
		wantVerdict(t, contract.InProgress, b.result, b.err)
		assert.ErrorIs(t, b.err, context.DeadlineExceeded)
		assert.False(t, b.result.AllowsNewKey())
		wantVerdict(t, contract.Succeeded, a.wait().result, a.err)
		assert.Equal(t, 1, p.count())
	})
}

// TestTakeOver: a leader whose context ends leaves a doubt, and a follower goes on
// with it: the wait, the age and the doubt are kept.
func TestTakeOver(t *testing.T) {
	t.Run("in a send", func(t *testing.T) {
		virtual(t, func(t *testing.T) {
			p := newProvider(hang(), created())
			c := newClient(t, p, nil, nil)
			ctx, cancel := context.WithCancel(context.Background())
			a, b := start(c, payment(ctx)), start(c, payment(context.Background()))
			cancel()
			wantVerdict(t, contract.Unknown, a.wait().result, a.err)
			wantVerdict(t, contract.Succeeded, b.wait().result, b.err)
			assert.Equal(t, 2, b.result.Attempts)
			assert.Equal(t, 2, p.count())
		})
	})
	t.Run("in a wait", func(t *testing.T) {
		virtual(t, func(t *testing.T) {
			p := newProvider(respond(423, `{}`, "Retry-After: 20"), created())
			c := newClient(t, p, nil, nil)
			ctx, cancel := context.WithCancel(context.Background())
			a, b := start(c, payment(ctx)), start(c, payment(context.Background()))
			cancel()
			wantVerdict(t, contract.InProgress, a.wait().result, a.err)
			wantVerdict(t, contract.Succeeded, b.wait().result, b.err)
			assert.GreaterOrEqual(t, p.gaps()[0], 20*time.Second, "the wait is still a floor")
		})
	})
	t.Run("the doubt is kept", func(t *testing.T) {
		virtual(t, func(t *testing.T) {
			p := newProvider(hang(), respond(400, `{}`))
			c := newClient(t, p, nil, nil)
			ctx, cancel := context.WithCancel(context.Background())
			a, b := start(c, payment(ctx)), start(c, payment(context.Background()))
			cancel()
			a.wait()
			wantVerdict(t, contract.Unknown, b.wait().result, b.err)
		})
	})
	t.Run("the age is kept", func(t *testing.T) {
		virtual(t, func(t *testing.T) {
			p := newProvider(hang(), created())
			terms := with(func(t *contract.Terms) { t.Retention = time.Minute })
			c := newClient(t, p, &stub{terms: terms}, nil)
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
			defer cancel()
			a, b := start(c, payment(ctx)), start(c, payment(context.Background()))
			a.wait()
			wantVerdict(t, contract.Unknown, b.wait().result, b.err)
			assert.Equal(t, 1, p.count(), "45 seconds is all that the key may live")
		})
	})
	t.Run("no key, no resend", func(t *testing.T) {
		virtual(t, func(t *testing.T) {
			p := newProvider(hang(), created())
			c := newClient(t, p, &stub{terms: keyless}, nil)
			ctx, cancel := context.WithCancel(context.Background())
			a, b := start(c, payment(ctx)), start(c, payment(context.Background()))
			cancel()
			a.wait()
			wantVerdict(t, contract.Unknown, b.wait().result, b.err)
			assert.Equal(t, 1, p.count())
		})
	})
	t.Run("before the fetch", func(t *testing.T) {
		virtual(t, func(t *testing.T) {
			p := newProvider(duplicate, hang(), respond(200, `{"id":"pay_1","amount":100}`))
			c := newClient(t, p, able(&stub{}), nil)
			ctx, cancel := context.WithCancel(context.Background())
			a, b := start(c, payment(ctx)), start(c, payment(context.Background()))
			cancel()
			wantVerdict(t, contract.Duplicate, a.wait().result, a.err)
			wantVerdict(t, contract.Succeeded, b.wait().result, b.err)
			assert.Equal(t, 3, p.count())
		})
	})
	t.Run("one after another", func(t *testing.T) {
		virtual(t, func(t *testing.T) {
			p := newProvider(hang())
			c := newClient(t, p, nil, &Options{MaxElapsed: time.Hour})
			var all []*landing
			for i := range 5 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i+1)*10*time.Second)
				defer cancel()
				all = append(all, start(c, payment(ctx)))
			}
			for _, l := range all {
				assert.ErrorIs(t, l.wait().err, context.DeadlineExceeded)
				assert.False(t, l.result.AllowsNewKey())
			}
			assert.GreaterOrEqual(t, p.count(), 2)
		})
	})
}

// TestTakeOverAnswer: the answer travels with the verdict.
func TestTakeOverAnswer(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(after(time.Second, created()))
		c := newClient(t, p, nil, &Options{OnAttempt: func(context.Context, AttemptEvent) { panic("callback") }})
		a, b := start(c, payment(context.Background())), start(c, payment(context.Background()))
		assert.Equal(t, "callback", a.wait().panic)
		wantVerdict(t, contract.Succeeded, b.wait().result, b.err)
		require.NotNil(t, b.result.Response, "a success without a response breaks http.Client")
		assert.Equal(t, 1, p.count())
	})
}

// panics is a transport that sends and then panics.
type panics struct {
	http.RoundTripper
	n atomic.Int32
}

func (p *panics) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.RoundTripper.RoundTrip(r)
	if p.n.Add(1) == 1 {
		if resp != nil {
			resp.Body.Close()
		}
		panic("transport")
	}
	return resp, err
}

// TestPanicIsADoubt: a panic in the middle of a send leaves a doubt to whoever
// takes over, and hangs nobody.
func TestPanicIsADoubt(t *testing.T) {
	for _, honoured := range []bool{true, false} {
		virtual(t, func(t *testing.T) {
			p := newProvider(after(time.Second, created()))
			a := &stub{}
			if !honoured {
				a.terms = keyless
			}
			c := newClient(t, p, a, &Options{Transport: &panics{RoundTripper: p.transport()}})
			defer c.options.Transport.(*panics).RoundTripper.(*http.Transport).CloseIdleConnections()
			first, second := start(c, payment(context.Background())), start(c, payment(context.Background()))
			assert.Equal(t, "transport", first.wait().panic)
			second.wait()
			if honoured {
				wantVerdict(t, contract.Succeeded, second.result, second.err)
				assert.Equal(t, 2, second.result.Attempts)
			} else {
				wantVerdict(t, contract.Unknown, second.result, second.err)
				assert.Equal(t, 1, p.count(), "nothing would stop a second effect")
			}
		})
	}
}

// TestGoexit: runtime.Goexit in a callback (a test's FailNow) hangs nobody.
func TestGoexit(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(after(time.Second, created()))
		var n atomic.Int32
		c := newClient(t, p, nil, &Options{Authorize: func(*http.Request) error {
			if n.Add(1) == 1 {
				time.Sleep(time.Second)
				runtime.Goexit()
			}
			return nil
		}})
		start(c, payment(context.Background()))
		b := start(c, payment(context.Background())).wait()
		wantVerdict(t, contract.Succeeded, b.result, b.err)
	})
}

// TestNothingIsLeft: 1,000 calls over real TCP, half of them retried, some
// cancelled: no goroutine, no connection and no key is left behind, and every
// effect took place once.
func TestNothingIsLeft(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	before := runtime.NumGoroutine()

	ledger := &ledger{effects: map[string]int{}, seen: map[string]int{}}
	p := newProvider(ledger.answer)
	base := p.listen(t)
	c, err := NewClient(&stub{}, &Options{MinWait: time.Microsecond, MaxWait: time.Microsecond})
	require.NoError(t, err)

	const calls = 1000
	cancelled := map[int]bool{}
	for i := range calls {
		cancelled[i] = random.IntN(20) == 0
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, 50)
	var succeeded atomic.Int32
	for i := range calls {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			key := contract.KeyFor("call", string(rune(i)))
			r := sendTo(t, base, post(contract.WithKey(ctx, key), payBody))
			if cancelled[i] {
				go cancel()
			}
			result, err := c.Do(r)
			if err == nil {
				succeeded.Add(1)
			} else if !cancelled[i] || result.Status == contract.Succeeded {
				t.Errorf("call %d: %v", i, err)
			}
		})
	}
	all.Wait()
	assert.GreaterOrEqual(t, int(succeeded.Load()), calls*8/10)
	assert.Empty(t, c.flights.m)
	ledger.mu.Lock()
	for key, n := range ledger.effects {
		assert.Equal(t, 1, n, key)
	}
	ledger.mu.Unlock()

	c.CloseIdleConnections()
	settled := func() bool { return p.open() == 0 && runtime.NumGoroutine() <= before+2 } // the listener's
	for range 400 {
		if settled() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	buf := make([]byte, 1<<20)
	t.Fatalf("%d connections, %d goroutines (%d before)\n%s", p.open(), runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
}

// ledger is a provider with an effect for each key, which breaks the first answer
// to every second key after the effect.
type ledger struct {
	mu      sync.Mutex
	effects map[string]int
	seen    map[string]int
}

func (l *ledger) answer(conn net.Conn, r request) bool {
	key := r.Header.Get("Idempotency-Key")
	l.mu.Lock()
	l.seen[key]++
	n := l.seen[key]
	if n == 1 {
		l.effects[key]++
	}
	broken := n == 1 && key[len(key)-1]%2 == 0
	l.mu.Unlock()
	if broken {
		return []act{reset(), drop(), respond(500, `{}`), raw(false, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")}[key[0]%4](conn, r)
	}
	return created()(conn, r)
}

// TestConcurrentUse mixes everything on few keys; the race detector watches.
func TestConcurrentUse(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	p := newProvider((&ledger{effects: map[string]int{}, seen: map[string]int{}}).answer)
	base := p.listen(t)
	c, err := NewClient(able(&stub{}), &Options{MinWait: 1, MaxWait: 1, OnAttempt: func(_ context.Context, e AttemptEvent) {
		for i := range e.Verdict.Resources {
			e.Verdict.Resources[i] = "mine"
		}
	}})
	require.NoError(t, err)
	t.Cleanup(c.CloseIdleConnections)
	var all sync.WaitGroup
	for worker := range 16 {
		random := rand.New(rand.NewPCG(seed, uint64(worker)))
		all.Go(func() {
			for range 40 {
				ctx, cancel := context.WithCancel(context.Background())
				key := []string{"k0", "k1", "k2", "k3"}[random.IntN(4)]
				r := sendTo(t, base, post(contract.WithKey(ctx, key), payBody))
				if random.IntN(4) == 0 {
					go cancel()
				}
				if resp, err := c.RoundTrip(r); err == nil {
					resp.Header.Set("X", "1")
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				} else {
					var e *Error
					if !errors.As(err, &e) {
						t.Errorf("%T", err)
					}
				}
				r.Header.Set("X", "2") // the request is the caller's again
				cancel()
			}
		})
	}
	all.Wait()
	assert.Empty(t, c.flights.m)
}

// TestKeyIsFree: the key is free as soon as its flight has landed, while callers
// still read the verdict; and their leaving frees nobody else's.
func TestKeyIsFree(t *testing.T) {
	c, err := NewClient(&stub{}, &Options{Transport: &counted{}})
	require.NoError(t, err)
	op, refused := c.prepare(payment(context.Background()))
	require.Nil(t, refused)
	fs := &c.flights
	old, _ := fs.enter(op)
	_, _ = fs.enter(op)
	f, leads := fs.board(c, old)
	require.True(t, leads)
	fs.land(old, f)
	next, _ := fs.enter(op)
	assert.NotSame(t, old, next)
	fs.leave(old)
	fs.leave(old)
	again, _ := fs.enter(op)
	assert.Same(t, next, again)
	fs.leave(next)
	assert.NotEmpty(t, fs.m)
	fs.leave(next)
	assert.Empty(t, fs.m)
}

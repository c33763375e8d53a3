package fakes

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// maxBody is the largest request body that a server reads: 1 MiB.
const maxBody = 1 << 20

// Options configures a fake. The zero value is a provider without delays.
type Options struct {
	// Seed makes ids and tokens of two servers with the same requests equal.
	Seed uint64

	// VisibilityDelay is how long after its creation a resource stays hidden from
	// the look-ups that promise no read-after-write: Stripe's GET /v1/events,
	// Zepto's GET of PayTo agreements and payments.
	VisibilityDelay time.Duration

	// SearchLag is how far Stripe's search endpoints are behind.
	SearchLag time.Duration

	// ShouldRetry is the value of Stripe-Should-Retry on an error that SaveError
	// makes: "true", "false" or, by default, no header.
	ShouldRetry string
}

// Server is a fake provider. It is an http.Handler and safe for concurrent use.
// Its clock is time.Now plus what Advance and SetSkew have added, so that it lives
// in virtual time inside testing/synctest.
type Server struct {
	opts     Options
	provider provider
	memory   *transport

	mu       sync.Mutex
	advanced time.Duration // ahead of time.Now; behind if negative
	rng      *rand.Rand
	writes   queue
	rules    []*queue
	later    []deferred
	ledger   []Effect
	log      []Request
	refused  int
	tcp      *loopback
	conns    map[net.Conn]bool
}

// provider is one provider's contract. The server calls it under its lock, so a
// request executes as a whole or not at all.
type provider interface {
	// identify sets the call's key and fingerprint, whatever becomes of it.
	identify(c *call)
	// handle executes the call as c.plan says and records effects.
	handle(c *call) answer
	// throttled and unavailable are the answers of a gate before the endpoint.
	throttled(c *call) answer
	unavailable(c *call) answer
	// finish adds the headers that every answer of the provider carries.
	finish(c *call, a *answer)
	// setState sets the state of a resource, and reports whether it exists.
	setState(id, state string) bool
}

// call is one request as a provider sees it.
type call struct {
	method, path string
	query        url.Values
	header       http.Header
	base         string // scheme and host, for links
	body         []byte
	at           time.Time
	requestID    string
	key          string
	print        string
	plan         plan
}

// deferred is an execution whose time comes later.
type deferred struct {
	at  time.Time
	run func()
}

func newServer(o *Options) *Server {
	s := &Server{conns: map[net.Conn]bool{}}
	if o != nil {
		s.opts = *o
	}
	s.rng = rand.New(rand.NewPCG(s.opts.Seed, 0))
	s.writes.match = func(*http.Request) bool { return true }
	s.memory = newTransport(s, s.dialMemory)
	return s
}

// Advance moves the server's clock ahead by d, beside the flow of time: a key can
// expire without a wait. It wakes nothing that sleeps. A negative d counts as 0.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advanced += max(d, 0)
	s.settle()
}

// SetSkew sets how far the server's clock is ahead of time.Now, or behind it if d
// is negative, in place of what Advance has added: a clock that is set jumps either
// way. What is due only then happens.
func (s *Server) SetSkew(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advanced = d
	s.settle()
}

// SetState sets the state of a resource to the provider's word for it ("failed"
// for a Zepto PayTo payment, "succeeded" for a Stripe payment intent), as if it had
// come about by itself. It reports whether the resource exists.
func (s *Server) SetState(id, state string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	return s.provider.setState(id, state)
}

// ServeHTTP answers one request as the provider would, faults included. A fault
// that ends the connection panics with http.ErrAbortHandler, as net/http expects.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err == nil && len(body) > maxBody {
		// What is left must be read: net/http sleeps half a second on a connection
		// that it closes early, and a bubble would be left with that goroutine.
		if _, err = io.Copy(io.Discard, r.Body); err == nil {
			http.Error(w, http.StatusText(http.StatusRequestEntityTooLarge), http.StatusRequestEntityTooLarge)
			return
		}
	}
	if err != nil {
		panic(http.ErrAbortHandler) // half a request executes nothing
	}
	scheme, dialled := r.Context().Value(schemeKey{}).(string)
	if !dialled {
		scheme = "http"
	}
	a, p := s.exchange(r, body, scheme+"://"+r.Host, dialled)
	deliver(w, r, a, p)
}

// exchange executes one request that has arrived whole.
func (s *Server) exchange(r *http.Request, body []byte, base string, dialled bool) (answer, plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.settle()
	r = r.WithContext(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	f := s.take(r, dialled)
	c := &call{
		method: r.Method, path: r.URL.Path, query: r.URL.Query(), header: r.Header.Clone(),
		base: base, body: body, at: at, plan: f.plan(),
	}
	c.requestID = s.newID("req", 14)
	s.provider.identify(c)
	var a answer
	switch {
	case c.plan.refuse:
		c.plan.delivery = deliverNothing
	case c.plan.instead != nil:
		a = c.plan.instead(s.provider, c)
	default:
		a = s.provider.handle(c)
	}
	if a.status != 0 {
		if a.header == nil {
			a.header = http.Header{}
		}
		s.provider.finish(c, &a)
	}
	if c.plan.page != 0 {
		a = proxyPage(c.plan.page)
	}
	if a.status != 0 {
		a.header.Set("Date", c.at.UTC().Format(http.TimeFormat))
	}
	s.log = append(s.log, Request{
		Time: c.at, Method: c.method, Path: c.path, Query: r.URL.RawQuery, Header: c.header,
		Body: body, Key: c.key, ID: c.requestID, Fault: f, Status: a.status, Replayed: a.replayed,
	})
	return a, c.plan
}

// now is the server's clock. Callers hold s.mu.
func (s *Server) now() time.Time { return time.Now().Add(s.advanced) }

// visible reports whether look-ups show at a time what was created at another. A
// clock that was set back hides nothing where there is no delay.
func (s *Server) visible(at, created time.Time) bool {
	delay := s.opts.VisibilityDelay
	return delay <= 0 || at.Sub(created) >= delay
}

// deferUntil runs f once the server's clock has reached at. Callers hold s.mu.
func (s *Server) deferUntil(at time.Time, f func()) {
	s.later = append(s.later, deferred{at, f})
	slices.SortStableFunc(s.later, func(a, b deferred) int { return a.at.Compare(b.at) })
}

// settle runs what has come due, in order, and returns the time up to which it did.
// It is called before anything is read or executed, so nobody can tell it from a
// process of its own; a request executes at that very time, or what comes due in
// between would still be to come for it. Callers hold s.mu.
func (s *Server) settle() (now time.Time) {
	now = s.now()
	for len(s.later) > 0 && !s.later[0].at.After(now) {
		d := s.later[0]
		s.later = s.later[1:]
		d.run()
	}
	return now
}

// newID returns a random id. Callers hold s.mu.
func (s *Server) newID(prefix string, n int) string {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	b := []byte(prefix + "_")
	for range n {
		b = append(b, alphabet[s.rng.IntN(len(alphabet))])
	}
	return string(b)
}

// newUUID returns a random version 4 UUID. Callers hold s.mu.
func (s *Server) newUUID() string {
	var b [16]byte
	for i := range b {
		b[i] = byte(s.rng.UintN(256))
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}

var _ http.Handler = (*Server)(nil)

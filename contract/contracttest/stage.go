package contracttest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/idempact/idempact/contract"
)

// stage is a provider behind the suite's faults: real net/http over net.Pipe, every
// host and scheme leading to it. Faults come to writes alone, in the order of
// arrival; then every write gets rest.
type stage struct {
	fake    Fake
	replica http.Handler // answers reads in place of the fake, where set
	pool    *http.Transport
	refuse  *http.Transport

	mu      sync.Mutex
	faults  []fault
	rest    fault
	arrived []arrival
	reads   []arrival
	last    *answer // of the fake to a write, whatever of it arrived
}

// arrival is one request that reached the provider, whole.
type arrival struct {
	method, uri, host string
	header            http.Header
	body              []byte
	reused            bool // its connection had served a request before
	at                time.Time
}

func newStage(f Fake) *stage {
	s := &stage{fake: f}
	s.pool = &http.Transport{DialContext: s.dial, MaxIdleConnsPerHost: 16, MaxIdleConns: 64}
	s.refuse = &http.Transport{
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return nil, errRefused },
		DisableKeepAlives: true,
	}
	return s
}

var errRefused error = &net.OpError{
	Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1},
	Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
}

var errReset error = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}

// script sets the faults for the next writes.
func (s *stage) script(f ...fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f...)
}

// always sets the fault of every write that has none of its own.
func (s *stage) always(f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = f
}

// next takes the fault of the next write, if it is to be played where the caller is:
// at the client's side of the connection or at the provider's.
func (s *stage) next(client bool) fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.faults) == 0 && s.rest.atClient() == client:
		return s.rest
	case len(s.faults) == 0 || s.faults[0].atClient() != client:
		return fault{}
	}
	f := s.faults[0]
	s.faults = s.faults[1:]
	return f
}

// writes returns the writes that reached the provider.
func (s *stage) writes() []arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.arrived)
}

// lastAnswer returns what the fake last said to a write.
func (s *stage) lastAnswer() contract.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return contract.Reply{}
	}
	return s.last.reply()
}

// lastSize returns the length of that answer on the wire.
func (s *stage) lastSize() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return 0
	}
	return len(s.last.wire())
}

// effects returns the ledger, and whether there is one.
func (s *stage) effects() ([]int64, bool) {
	if s.fake.Effects == nil {
		return nil, false
	}
	return s.fake.Effects(), true
}

// RoundTrip sends a request to the provider, or refuses the connection.
func (s *stage) RoundTrip(r *http.Request) (*http.Response, error) {
	pool := s.pool
	if isWrite(r.Method) {
		f := s.next(true)
		if f.err != nil {
			if r.Body != nil {
				r.Body.Close()
			}
			return nil, f.err
		}
		if f.refuse {
			pool = s.refuse
		}
	}
	out := r.WithContext(r.Context())
	u := *r.URL
	u.Scheme = "http"
	out.URL = &u
	resp, err := pool.RoundTrip(out)
	if resp != nil {
		resp.Request = r
	}
	return resp, err
}

// CloseIdleConnections closes the connections that no request is using.
func (s *stage) CloseIdleConnections() { s.close() }

func (s *stage) close() { s.pool.CloseIdleConnections() }

func isWrite(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != ""
}

// dial makes a pipe, and serves its one connection.
func (s *stage) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	link := &link{}
	end := &providerEnd{far, link}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	srv := &http.Server{
		Handler:     http.HandlerFunc(s.serve),
		Protocols:   protocols,
		ErrorLog:    log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context { return context.WithValue(ctx, linkKey{}, link) },
	}
	go func() { _ = srv.Serve(&single{conn: end}) }()
	return &clientEnd{near, link}, nil
}

// link is what both ends of a connection share.
type link struct {
	reset  atomic.Bool
	served atomic.Int32
}

type linkKey struct{}

type providerEnd struct {
	net.Conn
	link *link
}

type clientEnd struct {
	net.Conn
	link *link
}

// Read reads a reset as TCP would show it.
func (c *clientEnd) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == io.EOF && c.link.reset.Load() {
		err = errReset
	}
	return n, err
}

// single is a listener with one connection.
type single struct {
	once sync.Once
	conn net.Conn
}

func (l *single) Accept() (conn net.Conn, err error) {
	err = errors.New("contracttest: one connection only")
	l.once.Do(func() { conn, err = l.conn, nil })
	return conn, err
}

func (l *single) Close() error   { return nil }
func (l *single) Addr() net.Addr { return l.conn.LocalAddr() }

// serve answers one request that has arrived.
func (s *stage) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // half a request executes nothing
	}
	link, _ := r.Context().Value(linkKey{}).(*link)
	seen := arrival{
		method: r.Method, uri: r.RequestURI, host: r.Host, header: r.Header.Clone(), body: body,
		reused: link.served.Add(1) > 1, at: time.Now(),
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !isWrite(r.Method) {
		s.mu.Lock()
		s.reads = append(s.reads, seen)
		s.mu.Unlock()
		handler := s.fake.Handler
		if s.replica != nil {
			handler = s.replica
		}
		handler.ServeHTTP(w, r)
		return
	}
	s.mu.Lock()
	s.arrived = append(s.arrived, seen)
	s.mu.Unlock()
	s.next(false).deliver(s, link, w, r)
}

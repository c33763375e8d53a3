package fakes

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// idleTimeout is how long an unused connection stays open, as in
// http.DefaultTransport.
const idleTimeout = 90 * time.Second

// Client returns a client that reaches the server in memory. Every host and both
// http and https lead to it; net/http runs unchanged over net.Pipe.
func (s *Server) Client() *http.Client { return &http.Client{Transport: s.memory} }

// Transport returns the one in-memory transport that all Clients share. It has
// CloseIdleConnections; after it, every goroutine of an idle connection ends by
// itself, on both sides.
func (s *Server) Transport() http.RoundTripper { return s.memory }

// schemeKey is the context key for the scheme that a connection was dialled for.
type schemeKey struct{}

// transport brings requests to the server whatever their host and scheme, and
// knows how to refuse a dial. Schemes have pools of their own, as with real TLS.
type transport struct {
	server *Server
	pools  map[string]*http.Transport
	refuse *http.Transport
}

func newTransport(s *Server, dial func(ctx context.Context, scheme string) (net.Conn, error)) *transport {
	pool := func(scheme string) *http.Transport {
		return &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return dial(ctx, scheme)
			},
			MaxIdleConnsPerHost: 100,
			IdleConnTimeout:     idleTimeout,
		}
	}
	return &transport{
		server: s,
		pools:  map[string]*http.Transport{"http": pool("http"), "https": pool("https")},
		refuse: &http.Transport{
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				return nil, refused()
			},
			DisableKeepAlives: true,
		},
	}
}

// RoundTrip sends the request. An https request travels as plain HTTP: what is
// faked is the provider, not its certificate.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	pool := t.pools[r.URL.Scheme]
	if pool == nil {
		return t.pools["http"].RoundTrip(r) // net/http has the right error
	}
	if t.server.refuses(r) {
		pool = t.refuse
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
func (t *transport) CloseIdleConnections() {
	for _, p := range t.pools {
		p.CloseIdleConnections()
	}
}

// peek returns a copy of r that a match function may read without using r up.
func peek(r *http.Request) *http.Request {
	c := r.WithContext(r.Context())
	c.Body = http.NoBody
	if r.GetBody != nil {
		if b, err := r.GetBody(); err == nil {
			all, _ := io.ReadAll(io.LimitReader(b, maxBody)) // a body in memory
			_ = b.Close()
			c.Body = io.NopCloser(bytes.NewReader(all))
		}
	}
	return c
}

// refused is the error of a refused dial, as package net makes it.
func refused() error {
	return &net.OpError{
		Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1},
		Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
	}
}

// dialMemory makes a pipe and serves exactly its one connection: no goroutine
// waits for a next one.
func (s *Server) dialMemory(ctx context.Context, scheme string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	broken := new(atomic.Bool)
	end := &serverEnd{far, broken}
	srv := s.httpServer()
	srv.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, schemeKey{}, scheme)
	}
	go func() { _ = srv.Serve(&single{conn: end}) }()
	return &clientEnd{near, broken}, nil
}

// httpServer returns a server for this fake that remembers its connections.
func (s *Server) httpServer() *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:   s,
		Protocols: protocols,
		ErrorLog:  log.New(io.Discard, "", 0),
		ConnState: func(c net.Conn, state http.ConnState) {
			s.mu.Lock()
			defer s.mu.Unlock()
			switch state {
			case http.StateNew:
				s.conns[c] = true
			case http.StateClosed, http.StateHijacked:
				delete(s.conns, c)
			}
		},
	}
}

// single is a listener with one connection.
type single struct {
	once sync.Once
	conn net.Conn
}

var errNoMore = errors.New("fakes: one connection only")

func (l *single) Accept() (conn net.Conn, err error) {
	err = errNoMore
	l.once.Do(func() { conn, err = l.conn, nil })
	return conn, err
}

func (l *single) Close() error   { return nil }
func (l *single) Addr() net.Addr { return l.conn.LocalAddr() }

// serverEnd is the provider's end of a pipe; broken says that it was reset.
type serverEnd struct {
	net.Conn
	broken *atomic.Bool
}

// clientEnd is the client's end: it reads a reset as TCP would show it.
type clientEnd struct {
	net.Conn
	broken *atomic.Bool
}

func (c *clientEnd) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == io.EOF && c.broken.Load() {
		err = connectionReset()
	}
	return n, err
}

func connectionReset() error {
	return &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
}

var _ interface {
	http.RoundTripper
	CloseIdleConnections()
} = (*transport)(nil)

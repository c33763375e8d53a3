package fakes

import (
	"context"
	"fmt"
	"net"
	"net/http"
)

// loopback is a TCP listener on 127.0.0.1 with its server and a transport to it.
type loopback struct {
	url    string
	server *http.Server
	client *transport
}

// URL returns the base URL of a loopback listener, "http://127.0.0.1:port", which
// the first call starts and Close ends. It panics if the machine has no loopback.
func (s *Server) URL() string { return s.loopback().url }

// TCPTransport returns the one transport that brings every request, whatever its
// host, to the listener of URL, https as plain HTTP. RefuseConnection makes it dial
// a closed port. It has CloseIdleConnections.
func (s *Server) TCPTransport() http.RoundTripper { return s.loopback().client }

// Close ends the TCP listener and every open connection, in memory too. The
// ledger stays readable, and a later request starts anew.
func (s *Server) Close() error {
	s.mu.Lock()
	tcp := s.tcp
	s.tcp = nil
	conns := s.conns
	s.conns = map[net.Conn]bool{}
	s.mu.Unlock()
	s.memory.CloseIdleConnections()
	for c := range conns {
		_ = c.Close()
	}
	if tcp == nil {
		return nil
	}
	tcp.client.CloseIdleConnections()
	return tcp.server.Close()
}

func (s *Server) loopback() *loopback {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tcp != nil {
		return s.tcp
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(fmt.Sprintf("fakes: no loopback listener: %v", err))
	}
	addr := l.Addr().String()
	var d net.Dialer
	t := newTransport(s, func(ctx context.Context, _ string) (net.Conn, error) {
		return d.DialContext(ctx, "tcp", addr)
	})
	t.refuse.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialClosed(ctx, &d)
	}
	s.tcp = &loopback{url: "http://" + addr, server: s.httpServer(), client: t}
	go func(srv *http.Server) { _ = srv.Serve(l) }(s.tcp.server)
	return s.tcp
}

// dialClosed dials a port that was free a moment ago, to be refused by the kernel.
func dialClosed(ctx context.Context, d *net.Dialer) (net.Conn, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if err := l.Close(); err != nil {
		return nil, err
	}
	return d.DialContext(ctx, "tcp", l.Addr().String())
}

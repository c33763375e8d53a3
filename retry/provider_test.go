package retry

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// provider is a raw HTTP/1.1 server with a script. It parses requests and writes
// bytes, so that a test can break everything after the first byte; and it counts
// what arrives on the wire, so that a test can see every send.
type provider struct {
	mu     sync.Mutex
	script []act
	seen   []request
	conns  int
	live   int // connections that are open now
}

// request is one request as it was read from the wire.
type request struct {
	*http.Request
	Body []byte
	Raw  string // every byte of it
	At   time.Time
	Conn int // which connection it came on, from 1
}

// act answers one request on its connection and reports whether the connection
// may carry another one.
type act func(conn net.Conn, r request) (keep bool)

// newProvider returns a provider that answers each request with the next act, and
// all further ones with the last.
func newProvider(script ...act) *provider { return &provider{script: script} }

func (p *provider) serve(conn net.Conn) {
	p.mu.Lock()
	p.conns++
	p.live++
	id := p.conns
	p.mu.Unlock()
	defer func() {
		conn.Close()
		p.mu.Lock()
		p.live--
		p.mu.Unlock()
	}()
	var raw bytes.Buffer
	in := bufio.NewReader(io.TeeReader(conn, &raw))
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, _ := io.ReadAll(r.Body)
		got := request{Request: r, Body: body, Raw: raw.String(), At: time.Now(), Conn: id}
		raw.Reset()
		if next := p.arrived(got); next == nil || !next(conn, got) {
			return
		}
	}
}

func (p *provider) arrived(r request) act {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, r)
	if len(p.script) == 0 {
		return nil
	}
	return p.script[min(len(p.seen), len(p.script))-1]
}

// requests returns what has arrived so far.
func (p *provider) requests() []request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]request(nil), p.seen...)
}

func (p *provider) count() int { return len(p.requests()) }

// gaps returns the times between the requests.
func (p *provider) gaps() (gaps []time.Duration) {
	seen := p.requests()
	for i := 1; i < len(seen); i++ {
		gaps = append(gaps, seen[i].At.Sub(seen[i-1].At))
	}
	return gaps
}

// open returns how many connections are open.
func (p *provider) open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live
}

// transport returns real net/http over in-memory connections to the provider. It
// works in virtual time.
func (p *provider) transport() *http.Transport {
	return &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go p.serve(far)
			return near, nil
		},
		MaxResponseHeaderBytes: 256 << 10, // as the client's own transport
	}
}

// listen serves the provider on the loopback interface and returns its URL.
func (p *provider) listen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(serveAll(l, p.serve))
	return "http://" + l.Addr().String()
}

// serveAll serves what the listener accepts until stop is called, which closes
// everything and waits for the end of it.
func serveAll(l net.Listener, serve func(net.Conn)) (stop func()) {
	var all sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	var stopped bool
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			if stopped {
				conn.Close()
			}
			mu.Unlock()
			all.Go(func() { serve(conn) })
		}
	})
	return func() {
		l.Close()
		mu.Lock()
		stopped = true
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		all.Wait()
	}
}

// The acts.

// respond sends a framed answer; headers are "Name: value" lines.
func respond(status int, body string, headers ...string) act {
	return raw(true, fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s",
		status, http.StatusText(status), len(body), lines(headers), body))
}

// created is the provider's success.
func created() act { return respond(201, `{"id":"pay_1","state":"pending"}`) }

func lines(headers []string) string {
	if len(headers) == 0 {
		return ""
	}
	return strings.Join(headers, "\r\n") + "\r\n"
}

// raw sends exactly these bytes.
func raw(keep bool, bytes string) act {
	return func(conn net.Conn, _ request) bool {
		_, err := io.WriteString(conn, bytes)
		return keep && err == nil
	}
}

// drop reads the request and closes the connection.
func drop() act { return func(net.Conn, request) bool { return false } }

// reset reads the request and resets the connection.
func reset() act {
	return func(conn net.Conn, _ request) bool {
		if tcp, ok := conn.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		return false
	}
}

// hang never answers, until the client goes away.
func hang() act {
	return func(conn net.Conn, _ request) bool {
		io.Copy(io.Discard, conn)
		return false
	}
}

// after waits before the act. The request has been read and its effect is taken.
func after(d time.Duration, next act) act {
	return func(conn net.Conn, r request) bool {
		time.Sleep(d) // virtual
		return next(conn, r)
	}
}

// endless sends the head and then the same bytes for as long as they are taken.
func endless(head, chunk string) act {
	return func(conn net.Conn, _ request) bool {
		io.WriteString(conn, head)
		for {
			if _, err := io.WriteString(conn, chunk); err != nil {
				return false
			}
		}
	}
}

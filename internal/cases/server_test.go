package cases_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// framing is how a server says where a body ends.
type framing string

const (
	byLength framing = "length"  // Content-Length
	byChunks framing = "chunked" // the last chunk
	byClose  framing = "close"   // the end of the connection
)

// server plays the replies of one case, byte by byte, on the connections that it
// hands out, and counts.
type server struct {
	c       acceptanceCase
	framing framing
	cancel  context.CancelFunc // ends the caller's context

	mu     sync.Mutex
	conns  map[net.Conn]bool
	dials  int
	sends  []send   // of the case's own request, dials that failed included
	reads  []string // URIs of GETs since the first send
	shown  int      // how many of them were of the wanted resource
	faults []string // what must not come to a server
}

// send is one send of the case's request.
type send struct {
	at         time.Time
	dialFailed bool
	conn       int    // on which connection it came, from 1
	head       string // raw
	header     http.Header
	body       []byte
}

// ownRequest marks the context of the case's own request, so that a dial knows
// whom it is for.
type ownRequest struct{}

// transport returns a net/http transport of which the server is the other end.
// Its connections take the place of TLS ones.
func (s *server) transport() http.RoundTripper {
	t := &http.Transport{DialTLSContext: s.dial}
	return roundTripper{
		roundTrip: func(r *http.Request) (*http.Response, error) {
			if s.isOwn(r.Method, r.URL.RequestURI()) {
				r = r.WithContext(context.WithValue(r.Context(), ownRequest{}, true))
			}
			return t.RoundTrip(r)
		},
		closeIdle: t.CloseIdleConnections,
	}
}

type roundTripper struct {
	roundTrip func(*http.Request) (*http.Response, error)
	closeIdle func()
}

func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return t.roundTrip(r) }
func (t roundTripper) CloseIdleConnections()                             { t.closeIdle() }

func (s *server) isOwn(method, uri string) bool {
	u, err := http.NewRequest(s.c.method(), s.c.url(), nil)
	return err == nil && method == s.c.method() && uri == u.URL.RequestURI()
}

func (s *server) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if next := s.c.reply(len(s.sends)); ctx.Value(ownRequest{}) != nil && next.noConnection() {
		s.sends = append(s.sends, send{at: time.Now(), dialFailed: true})
		return nil, dialError(next.transport)
	}
	client, own := net.Pipe()
	c := &pipe{Conn: client}
	s.conns[own] = true
	s.dials++
	n := s.dials
	go func() {
		defer s.hangUp(own)
		s.serve(own, c, n)
	}()
	return c, nil
}

// dialError returns the error of a connection that did not come about.
func dialError(transport string) error {
	op := &net.OpError{Op: "dial", Net: "tcp"}
	switch transport {
	case "refused":
		op.Err = os.NewSyscallError("connect", syscall.ECONNREFUSED)
	case "dns":
		op.Err = &net.DNSError{Err: "no such host", Name: "provider.invalid", IsNotFound: true}
	default: // tls: it is the handshake that fails, on a connection that exists
		return x509.UnknownAuthorityError{}
	}
	return op
}

// pipe is the client's end of a connection. It can end in a reset, which a plain
// net.Pipe cannot.
type pipe struct {
	net.Conn
	mu    sync.Mutex
	reset bool
}

func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == io.EOF && p.reset {
		err = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	}
	return n, err
}

func (s *server) hangUp(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	c.Close()
}

// hangUpAll closes every connection.
func (s *server) hangUpAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
}

// serve answers the requests of one connection until one of them ends it.
func (s *server) serve(own net.Conn, client *pipe, conn int) {
	in := bufio.NewReader(own)
	for {
		req, got, err := readRequest(in)
		if err != nil {
			return
		}
		got.at, got.conn = time.Now(), conn
		if !s.isOwn(req.Method, req.RequestURI) {
			if s.answerOther(own, req) != nil {
				return
			}
			continue
		}
		s.mu.Lock()
		n := len(s.sends)
		s.sends = append(s.sends, got)
		r := s.c.reply(n)
		if r.noConnection() {
			s.faults = append(s.faults, fmt.Sprintf("send %d came on a connection where none was to come about", n+1))
		}
		s.mu.Unlock()
		if !s.answer(own, client, r) || s.c.reply(n+1).noConnection() {
			return
		}
	}
}

// readRequest reads one request and keeps it as it was on the wire.
func readRequest(in *bufio.Reader) (*http.Request, send, error) {
	var head strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, send{}, err
		}
		head.WriteString(line)
		if line == "\r\n" {
			break
		}
	}
	req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head.String())))
	if err != nil {
		return nil, send{}, err
	}
	if req.ContentLength < 0 {
		return nil, send{}, fmt.Errorf("a request of unknown length")
	}
	got := send{head: head.String(), header: req.Header, body: make([]byte, req.ContentLength)}
	_, err = io.ReadFull(in, got.body)
	return req, got, err
}

// answer plays a reply and reports whether the connection lives on.
func (s *server) answer(own net.Conn, client *pipe, r reply) bool {
	switch r.transport {
	case "reset":
		client.mu.Lock()
		client.reset = true
		client.mu.Unlock()
		return false
	case "timeout", "cancel":
		if r.transport == "cancel" {
			s.cancel()
		}
		io.Copy(io.Discard, own) // until the client hangs up
		return false
	case "", "truncated":
		_, err := own.Write(r.wire(s.framing))
		return err == nil && r.transport == "" && s.framing != byClose
	default: // eof, and what should not have come
		return false
	}
}

// wire returns the bytes of an answer.
func (r reply) wire(f framing) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "HTTP/1.1 %d %s\r\n", r.code, http.StatusText(r.code))
	for _, h := range r.header {
		fmt.Fprintf(&out, "%s: %s\r\n", h.name, h.value)
	}
	cut := r.transport == "truncated"
	switch {
	case r.code == http.StatusNoContent || r.code == http.StatusNotModified:
		fmt.Fprintf(&out, "\r\n")
	case f == byLength:
		length := len(r.body)
		if cut {
			length += 20
		}
		fmt.Fprintf(&out, "Content-Length: %d\r\n\r\n%s", length, r.body)
	case f == byChunks:
		fmt.Fprintf(&out, "Transfer-Encoding: chunked\r\n\r\n")
		if len(r.body) > 0 {
			fmt.Fprintf(&out, "%x\r\n%s\r\n", len(r.body), r.body)
		}
		if !cut {
			fmt.Fprintf(&out, "0\r\n\r\n")
		}
	case f == byClose:
		fmt.Fprintf(&out, "Connection: close\r\n\r\n%s", r.body)
	}
	return out.Bytes()
}

// answerOther answers what is not the case's own request: 503, except where the
// resource of a Duplicate is read, which is shown as it was asked for.
func (s *server) answerOther(own net.Conn, req *http.Request) error {
	s.mu.Lock()
	r := reply{code: http.StatusServiceUnavailable}
	switch {
	case req.Method != http.MethodGet:
		s.faults = append(s.faults, "unexpected "+req.Method+" "+req.RequestURI)
	case len(s.sends) == 0: // opens the connection
		r.code = http.StatusOK
	default:
		s.reads = append(s.reads, req.RequestURI)
		if shown := shown(s.c, req); shown.code != 0 {
			s.shown++
			r = shown
		}
	}
	s.mu.Unlock()
	_, err := own.Write(r.wire(byLength))
	return err
}

// log returns the sends in one line, for messages.
func (s *server) log() string {
	var list []string
	for n, x := range s.sends {
		list = append(list, strconv.Itoa(n+1)+" at "+x.at.Sub(s.sends[0].at).String())
	}
	return strings.Join(list, ", ")
}

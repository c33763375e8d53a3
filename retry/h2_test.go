package retry

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// The frames of HTTP/2 that the raw server uses: RFC 9113, section 6.
const (
	frameData, frameHeaders, frameRST, frameSettings, framePing, frameGoAway = 0, 1, 3, 4, 6, 7

	flagEndStream, flagAck, flagEndHeaders = 1, 1, 4

	errProtocol, errRefusedStream = 1, 7
)

// h2provider is a raw HTTP/2 server that counts requests on the wire: one HEADERS
// frame each. It answers the first warm ones with 200 and breaks all others.
type h2provider struct {
	warm  int
	fault func(w io.Writer, stream uint32) (keep bool)

	mu      sync.Mutex
	headers int
	conns   int
}

func (p *h2provider) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.headers
}

func writeFrame(w io.Writer, kind, flags byte, stream uint32, payload ...byte) error {
	head := make([]byte, 9, 9+len(payload))
	binary.BigEndian.PutUint32(head, uint32(len(payload))<<8)
	head[3], head[4] = kind, flags
	binary.BigEndian.PutUint32(head[5:], stream)
	_, err := w.Write(append(head, payload...))
	return err
}

func number(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// The faults.

func refuseStream(w io.Writer, stream uint32) bool {
	return writeFrame(w, frameRST, 0, stream, number(errRefusedStream)...) == nil
}

func protocolError(w io.Writer, stream uint32) bool {
	return writeFrame(w, frameRST, 0, stream, number(errProtocol)...) == nil
}

// goAway says that no stream of this connection was processed.
func goAway(w io.Writer, _ uint32) bool {
	return writeFrame(w, frameGoAway, 0, 0, append(number(0), number(0)...)...) == nil
}

func goAwayAndClose(w io.Writer, stream uint32) bool { goAway(w, stream); return false }

func closeConn(io.Writer, uint32) bool { return false }

func (p *h2provider) serve(conn net.Conn) {
	defer conn.Close()
	if _, err := io.CopyN(io.Discard, conn, 24); err != nil { // the preface
		return
	}
	p.mu.Lock()
	p.conns++
	p.mu.Unlock()
	writeFrame(conn, frameSettings, 0, 0)
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(conn, head); err != nil {
			return
		}
		payload := make([]byte, binary.BigEndian.Uint32(head)>>8)
		if _, err := io.ReadFull(conn, payload); err != nil {
			return
		}
		kind, flags, stream := head[3], head[4], binary.BigEndian.Uint32(head[5:])
		switch {
		case kind == frameSettings && flags&flagAck == 0:
			writeFrame(conn, frameSettings, flagAck, 0)
		case kind == framePing && flags&flagAck == 0:
			writeFrame(conn, framePing, flagAck, 0, payload...)
		case kind == frameHeaders:
			if !p.arrived(conn, stream) {
				return
			}
		}
	}
}

func (p *h2provider) arrived(conn net.Conn, stream uint32) bool {
	p.mu.Lock()
	p.headers++
	warm := p.headers <= p.warm
	p.mu.Unlock()
	if !warm {
		return p.fault(conn, stream)
	}
	writeFrame(conn, frameHeaders, flagEndHeaders, stream, 0x88) // ":status: 200"
	return writeFrame(conn, frameData, flagEndStream, stream, []byte(`{"id":"pay_1"}`)...) == nil
}

// listen serves HTTP/2 over TLS or in the clear, and returns a transport and a URL.
func (p *h2provider) listen(t *testing.T, secure bool) (*http.Transport, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tr, url := &http.Transport{Protocols: new(http.Protocols)}, "http://"+l.Addr().String()
	tr.Protocols.SetUnencryptedHTTP2(true)
	if secure {
		certs := httptest.NewTLSServer(nil) // for its certificate
		certs.Close()
		l = tls.NewListener(l, &tls.Config{Certificates: certs.TLS.Certificates, NextProtos: []string{"h2"}})
		tr = certs.Client().Transport.(*http.Transport).Clone()
		tr.ForceAttemptHTTP2, tr.Protocols = true, nil
		tr.TLSClientConfig.NextProtos = nil
		url = "https://" + l.Addr().String()
	}
	stop := serveAll(l, p.serve)
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		stop()
	})
	return tr, url
}

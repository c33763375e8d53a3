package contract_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

// secret stands in every error text of these tests and must stand in no words.
const secret = "sk_live_4242"

// secretError wraps err in a text that quotes what was sent.
func secretError(err error) error { return fmt.Errorf("POST %s: %w", secret, err) }

// timeout is how net/http tells a TLS handshake or a header that took too long.
type timeout struct{}

func (timeout) Error() string   { return secret }
func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }

func TestDescribeError(t *testing.T) {
	op := func(name string, err error) error {
		return &net.OpError{Op: name, Net: "tcp", Err: os.NewSyscallError(secret, err)}
	}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"none", nil, "no error given"},
		{"lookup", &net.DNSError{Err: secret, Name: secret}, "name lookup failed"},
		{"lookup, within a dial", &net.OpError{Op: "dial", Err: &net.DNSError{Err: secret}}, "name lookup failed"},
		{"lookup that timed out", &net.DNSError{Err: secret, IsTimeout: true}, "name lookup failed"},
		{"cancelled", context.Canceled, "cancelled"},
		{"deadline", context.DeadlineExceeded, "timed out"},
		{"deadline of a connection", os.ErrDeadlineExceeded, "timed out"},
		{"deadline within a read", op("read", os.ErrDeadlineExceeded), "timed out"},
		{"deadline within a dial", op("dial", os.ErrDeadlineExceeded), "timed out"},
		{"deadline that url.Error does not see", &url.Error{Op: "Post", URL: secret, Err: secretError(context.DeadlineExceeded)}, "timed out"},
		{"deadline of a connection that url.Error does not see", &url.Error{Op: "Post", URL: secret, Err: secretError(os.ErrDeadlineExceeded)}, "timed out"},
		{"a timeout of another type", timeout{}, "timed out"},
		{"the system's timeout", op("dial", syscall.ETIMEDOUT), "timed out"},
		{"refused", op("dial", syscall.ECONNREFUSED), "connection refused"},
		{"reset", op("read", syscall.ECONNRESET), "connection reset"},
		{"broken pipe", op("write", syscall.EPIPE), "connection reset"},
		{"unreachable", op("dial", syscall.EHOSTUNREACH), "connection failed"},
		{"a read that failed otherwise", op("read", syscall.EIO), "transport error"},
		{"a certificate that is not trusted", &tls.CertificateVerificationError{Err: errors.New(secret)}, "TLS handshake failed"},
		{"an authority that is not known", x509.UnknownAuthorityError{}, "TLS handshake failed"},
		{"another host's certificate", x509.HostnameError{Host: secret, Certificate: &x509.Certificate{}}, "TLS handshake failed"},
		{"no TLS", tls.RecordHeaderError{Msg: secret}, "TLS handshake failed"},
		{"an alert", tls.AlertError(40), "TLS handshake failed"},
		{"the peer's alert", &net.OpError{Op: "remote error", Err: errors.New(secret)}, "TLS alert"},
		{"an alert of ours", &net.OpError{Op: "local error", Err: errors.New(secret)}, "TLS alert"},
		{"plain HTTP where TLS was meant", http.ErrSchemeMismatch, "TLS handshake failed"},
		{"cut", io.ErrUnexpectedEOF, "cut off"},
		{"closed", io.EOF, "connection closed"},
		{"anything else", errors.New(secret), "transport error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, contract.DescribeError(c.err))
			if c.err == nil {
				return
			}
			for _, wrapped := range []error{
				secretError(c.err),
				&url.Error{Op: "Post", URL: "https://" + secret, Err: c.err},
				errors.Join(errors.New(secret), c.err),
			} {
				got := contract.DescribeError(wrapped)
				assert.Equal(t, c.want, got)
				assert.NotContains(t, got, secret)
			}
		})
	}
}

// What net/http really returns.
func TestDescribeErrorOfRealExchanges(t *testing.T) {
	hang := make(chan struct{})
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hang":
			<-hang
		case "/close":
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Close()
		case "/cut":
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "{")
		}
	}))
	defer plain.Close()
	defer close(hang) // before plain waits for its handlers
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	mutual := httptest.NewUnstartedServer(http.NotFoundHandler())
	mutual.Config.ErrorLog = secure.Config.ErrorLog
	mutual.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}
	mutual.StartTLS()
	defer mutual.Close()
	trusted := mutual.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()

	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name, url string
		ctx       context.Context
		timeout   time.Duration
		want      string
	}{
		{"refused", gone.URL, context.Background(), 0, "connection refused"},
		{"the client's timeout", plain.URL + "/hang", context.Background(), 50 * time.Millisecond, "timed out"},
		{"cancelled", plain.URL, cancelled, 0, "cancelled"},
		{"closed", plain.URL + "/close", context.Background(), 0, "connection closed"},
		{"cut", plain.URL + "/cut", context.Background(), 0, "cut off"},
		{"not trusted", secure.URL, context.Background(), 0, "TLS handshake failed"},
		{"no certificate of ours", mutual.URL, context.Background(), 0, "TLS alert"},
		{"no TLS", strings.Replace(plain.URL, "http:", "https:", 1), context.Background(), 0, "TLS handshake failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			transport := &http.Transport{}
			if c.url == mutual.URL {
				transport.TLSClientConfig = &tls.Config{RootCAs: trusted}
			}
			defer transport.CloseIdleConnections()
			req, err := http.NewRequestWithContext(c.ctx, http.MethodPost, c.url, nil)
			require.NoError(t, err)
			resp, err := (&http.Client{Transport: transport, Timeout: c.timeout}).Do(req)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			require.Error(t, err)
			assert.Equal(t, c.want, contract.DescribeError(err), "%v", err)
		})
	}
}

func TestNoAnswer(t *testing.T) {
	reset := secretError(syscall.ECONNRESET)
	for _, c := range []struct {
		name  string
		reply contract.Reply
		want  contract.Outcome
		none  bool
	}{
		{"not sent", contract.Reply{Err: secretError(syscall.ECONNREFUSED)}, contract.Outcome{Status: contract.NotExecuted, Reason: "nothing was sent: connection refused"}, true},
		{"sent, no answer", contract.Reply{Sent: true, Err: reset}, contract.Outcome{Reason: "no answer came: connection reset"}, true},
		{"sent, no answer, no error", contract.Reply{Sent: true}, contract.Outcome{Reason: "no answer came: no error given"}, true},
		{"cut", contract.Reply{Sent: true, StatusCode: 200, Body: []byte("{}"), Err: io.ErrUnexpectedEOF}, contract.Outcome{Reason: "the answer was cut: cut off"}, true},
		{"cut, and said to be not sent", contract.Reply{StatusCode: 500, Err: reset}, contract.Outcome{Reason: "the answer was cut: connection reset"}, true},
		{"whole", contract.Reply{Sent: true, StatusCode: 500}, contract.Outcome{}, false},
		{"whole, before all was sent", contract.Reply{StatusCode: 413}, contract.Outcome{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, none := contract.NoAnswer(c.reply)
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.none, none)
		})
	}
}

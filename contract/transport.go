package contract

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
)

// NoAnswer classifies what every adapter reads alike: an attempt that brought no
// response, or one whose body did not arrive whole. Nothing sent is NotExecuted;
// anything else is Unknown. The second result is false when there is a whole
// answer to read.
//
// An adapter that can read a proof from the status alone (a throttle) asks for
// that first.
func NoAnswer(r Reply) (Outcome, bool) {
	switch {
	case r.StatusCode == 0 && !r.Sent:
		return Outcome{Status: NotExecuted, Reason: "nothing was sent: " + DescribeError(r.Err)}, true
	case r.StatusCode == 0:
		return Outcome{Reason: "no answer came: " + DescribeError(r.Err)}, true
	case r.Err != nil:
		return Outcome{Reason: "the answer was cut: " + DescribeError(r.Err)}, true
	default:
		return Outcome{}, false
	}
}

// DescribeError says in a few words of our own what kind of transport error err
// is. The text of the error itself may quote what was sent or received, and
// belongs in no log.
func DescribeError(err error) string {
	var (
		dns       *net.DNSError
		op        *net.OpError
		verify    *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		slow      net.Error
	)
	switch {
	case err == nil:
		return "no error given"
	case errors.As(err, &dns):
		return "name lookup failed"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "timed out"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.As(err, &verify), errors.As(err, &authority), errors.As(err, &hostname),
		errors.As(err, &record), errors.As(err, &alert), errors.Is(err, http.ErrSchemeMismatch):
		return "TLS handshake failed"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "cut off"
	case errors.Is(err, io.EOF):
		return "connection closed"
	case errors.As(err, &slow) && slow.Timeout():
		return "timed out"
	case errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error"):
		return "TLS alert" // crypto/tls names its operations so, and its alerts not at all
	case errors.As(err, &op) && op.Op == "dial":
		return "connection failed"
	default:
		return "transport error"
	}
}

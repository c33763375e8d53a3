package cases_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/idempact/idempact/contract"
)

// given returns a reply as Classify sees it, in every form that it can come in.
func (r reply) given() map[string]contract.Reply {
	base := contract.Reply{StatusCode: r.code, Body: r.body, Sent: !r.noConnection(), At: r.arrival()}
	switch r.transport {
	case "":
	case "truncated":
		base.Err = io.ErrUnexpectedEOF
	case "refused", "dns", "tls":
		base.Err = dialError(r.transport)
	case "reset":
		base.Err = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	case "eof":
		base.Err = io.EOF
	case "timeout":
		base.Err = os.ErrDeadlineExceeded
	case "cancel":
		base.Err = context.Canceled
	}
	if r.code == 0 {
		return map[string]contract.Reply{"without an answer": base}
	}
	forms := map[string]contract.Reply{}
	for name, rename := range map[string]func(string) string{
		"headers as they stand": nil, "canonical headers": http.CanonicalHeaderKey,
		"lower-case headers": strings.ToLower, "upper-case headers": strings.ToUpper,
	} {
		form := base
		form.Header = r.httpHeader(rename)
		forms[name] = form
	}
	if len(r.values("Content-Encoding")) > 0 {
		form := base
		form.Header = r.httpHeader(http.CanonicalHeaderKey)
		form.Header.Del("Content-Encoding")
		form.Body, form.Err = unzip(r.body)
		if forms["decoded"] = form; form.Err == nil {
			return map[string]contract.Reply{"decoded": form} // what is packed shows nothing
		}
	}
	return forms
}

// decoded returns the body as a caller sees it.
func (r reply) decoded() []byte {
	if len(r.values("Content-Encoding")) > 0 {
		if body, err := unzip(r.body); err == nil {
			return body
		}
	}
	return r.body
}

// unzip makes of a body what net/http does.
func unzip(body []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// arrival returns when the reply came by our clock, which is ahead of its Date.
func (r reply) arrival() time.Time {
	for _, v := range r.values("Date") {
		if date, err := http.ParseTime(v); err == nil {
			return date.Add(ahead)
		}
	}
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // where virtual time begins
}

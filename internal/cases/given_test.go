package cases_test

import (
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
		// What net/http makes of a body that is not in the encoding that it says.
		form := base
		form.Header = r.httpHeader(http.CanonicalHeaderKey)
		form.Header.Del("Content-Encoding")
		form.Body, form.Err = nil, gzip.ErrHeader
		forms["not decoded"] = form
	}
	return forms
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

package retry

import (
	"net/http"
	"strings"

	"github.com/idempact/idempact/contract"
)

// freezeHead copies everything of a request but its body.
func freezeHead(req *http.Request) *http.Request {
	r := req.Clone(req.Context())
	r.Body, r.GetBody, r.ContentLength = nil, nil, 0
	r.TransferEncoding, r.Trailer, r.Response = nil, nil, nil
	//lint:ignore SA1019 a copy must not keep it: the context is what ends a request here
	r.Cancel = nil
	if r.Header == nil {
		r.Header = http.Header{}
	}
	// The transport must decode the answer, or no adapter can read it.
	setHeader(r.Header, "Accept-Encoding", "")
	basicAuth(r)
	return r
}

// basicAuth makes credentials in the URL basic authentication, as http.Client
// does.
func basicAuth(r *http.Request) {
	u := r.URL.User
	if u == nil {
		return
	}
	if contract.HeaderValue(r.Header, "Authorization") == "" {
		password, _ := u.Password()
		r.SetBasicAuth(u.Username(), password)
	}
	r.URL.User = nil
}

// setHeader sets a header to one value, or removes it, whatever the case of the
// names it stands under.
func setHeader(h http.Header, name, value string) {
	for k := range h {
		if strings.EqualFold(k, name) {
			delete(h, k)
		}
	}
	if value != "" {
		h.Set(name, value)
	}
}

// restored returns the head of one attempt: the frozen one with the header that
// Authorize left, in which what identifies the operation is put back.
func restored(head *http.Request, h http.Header, terms contract.Terms) *http.Request {
	r := head.WithContext(head.Context())
	r.Header = h.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	for _, name := range append(terms.ContractHeaders(), "Content-Type", "Accept-Encoding", terms.KeyHeader) {
		if name == "" {
			continue
		}
		setHeader(r.Header, name, "")
		if values := contract.HeaderValues(head.Header, name); len(values) > 0 {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	return r
}

// keyHeaders are the headers that make net/http repeat a request by itself.
//
// Source: net/http, Request.isReplayable, Go 1.26 (read 2026-11-29).
var keyHeaders = []string{"Idempotency-Key", "X-Idempotency-Key"}

// hideKey stores the key header under a name that net/http does not recognise.
// It would otherwise repeat a request without a body by itself when a reused
// connection dies. On the wire names are the same in any case.
func hideKey(h http.Header) {
	for _, name := range keyHeaders {
		if values := contract.HeaderValues(h, name); len(values) > 0 {
			setHeader(h, name, "")
			h[strings.ToLower(name)] = values
		}
	}
}

// malformed says what of a request's head net/http would refuse to send, or ""
// if nothing. It refuses some of it late, when nothing can prove any more that no
// byte has left.
func malformed(r *http.Request) string {
	switch {
	case strings.ContainsFunc(r.Method, notToken):
		return "the method has a character that no method has"
	case strings.ContainsFunc(r.Host+r.URL.Host, func(c rune) bool { return c <= ' ' || c == 0x7f }):
		return "the host has a space or a control character"
	case strings.ContainsFunc(r.URL.RawQuery, isControl):
		return "the query has a control character; escape it"
	}
	for name, values := range r.Header {
		if name == "" || strings.ContainsFunc(name, notToken) {
			return "a header has a name that no header has"
		}
		for _, v := range values {
			if strings.ContainsFunc(v, func(c rune) bool { return isControl(c) && c != '\t' }) {
				return "the header " + name + " has a control character, such as a line break at its end"
			}
		}
	}
	return ""
}

func isControl(c rune) bool { return c < ' ' || c == 0x7f }

// notToken reports whether a character may not stand in a method or header name.
//
// Source: RFC 9110, section 5.6.2 (read 2026-11-29).
func notToken(c rune) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return false
	default:
		return !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	}
}

package retry

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal"
)

// kept are the headers of a request that the journal keeps: what the provider's
// contract needs, and what says how to read the body and its answer; nothing that could
// be a credential.
func kept(t contract.Terms) []string {
	names := append(t.ContractHeaders(), "Content-Type", "Content-Encoding", "Accept")
	if t.KeyHeader != "" {
		names = append(names, t.KeyHeader)
	}
	return names
}

// stored returns what the journal keeps of an operation's request.
func stored(op *operation) journal.Request {
	head := op.call.Request
	u := *head.URL
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	h := http.Header{}
	if head.Host != "" && head.Host != u.Host {
		h.Set("Host", head.Host)
	}
	carry(h, head.Header, kept(op.terms))
	return journal.Request{Method: head.Method, URL: u.String(), Header: h, Body: op.call.Body}
}

// carry replaces the named headers of h by those of from.
func carry(h, from http.Header, names []string) {
	for _, name := range names {
		setHeader(h, name, "")
		if values := contract.HeaderValues(from, name); len(values) > 0 {
			h[http.CanonicalHeaderKey(name)] = values
		}
	}
}

var (
	errOmitted = errors.New("the journal keeps no bodies, so that the operation can be gone on with only by a call with the same request")
	errChanged = errors.New("the request that the journal holds is not the one that its fingerprint says, and is not sent")
)

// restore makes an operation of its entry: the stored bytes and headers. Credentials
// are not stored: they are those of the request at hand, if there is one, and
// Authorize adds them otherwise.
func (c *Client) restore(ctx context.Context, e journal.Entry, asked *operation) (*operation, error) {
	same := asked != nil && asked.fingerprint == e.Fingerprint
	body := e.Request.Body
	switch {
	case e.Request.Omitted && !same:
		return nil, errOmitted
	case e.Request.Omitted:
		body = asked.call.Body
	}
	req, err := http.NewRequestWithContext(contract.WithoutKey(ctx), e.Request.Method, e.Request.URL, bytes.NewReader(body))
	if err != nil {
		return nil, errChanged
	}
	req.Header = e.Request.Header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
		req.Header.Del("Host")
	}
	op, refused := c.prepare(req)
	if refused != nil {
		return nil, refused
	}
	if op.fingerprint != e.Fingerprint {
		return nil, errChanged
	}
	op.scope, op.flight = e.Key, ""
	if asked != nil {
		op.lend(asked, same)
	}
	return op, nil
}

// lend gives the operation the credentials of the request at hand: all that is not
// the operation's own where both are the same, otherwise what is known to be one.
func (op *operation) lend(asked *operation, same bool) {
	h, from := op.call.Request.Header, asked.call.Request.Header
	if !same {
		carry(h, from, append([]string{"Authorization"}, op.terms.CredentialHeaders...))
		return
	}
	own := kept(op.terms)
	for name, values := range from {
		if !containsFold(own, name) {
			h[name] = values
		}
	}
}

func containsFold(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

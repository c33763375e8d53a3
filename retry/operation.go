package retry

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/idempact/idempact/contract"
)

// operation is one request, frozen: what it is made of never changes again.
type operation struct {
	call        contract.Call
	terms       contract.Terms
	fingerprint string
	scope       string // its key among those of the account, contract.Terms.KeyIn; "" for none
	flight      string // what callers must share to share a flight; "" for nothing
}

// prepare freezes a request and refuses what must not be sent. It always closes
// the request's body.
func (c *Client) prepare(req *http.Request) (*operation, *Error) {
	body, refused := c.freezeBody(req)
	if refused != nil {
		return nil, refused
	}
	op := &operation{call: contract.Call{Request: freezeHead(req), Body: body}}
	seen := contract.Call{Request: freezeHead(req), Body: bytes.Clone(body)}
	terms, err := guard("Terms", func() contract.Terms { return c.adapter.Terms(seen) })
	if err != nil {
		return nil, refusal(contract.Rejected, err, "%v; mend the adapter", err)
	}
	op.terms = terms
	if refused := op.resolveKey(req); refused != nil {
		return nil, refused
	}
	if wrong := malformed(op.call.Request); wrong != "" {
		return nil, refusal(contract.Rejected, nil, "%s", wrong)
	}
	op.fingerprint, err = contract.Fingerprint(op.call, op.terms)
	if err != nil {
		return nil, refusal(contract.Rejected, err, "%v", err)
	}
	if op.scope != "" {
		op.flight = op.scope + op.credentials()
	}
	if c.options.Journal != nil && op.flight != "" {
		// The journal knows whose the key is, not who came first just now.
		op.flight += " " + op.fingerprint
	}
	return op, nil
}

// checkRequest refuses what cannot be a request at all.
func checkRequest(req *http.Request) *Error {
	switch {
	case req == nil:
		return refusal(contract.Rejected, nil, "the request is nil; make one with http.NewRequestWithContext")
	case req.URL == nil || req.URL.Host == "":
		return refusal(contract.Rejected, nil, "the request has no absolute URL; give it scheme and host")
	case req.URL.Scheme != "https" && req.URL.Scheme != "http":
		return refusal(contract.Rejected, nil, "the URL's scheme is neither https nor http")
	case req.URL.Opaque != "":
		return refusal(contract.Rejected, nil, "the URL is opaque, so that its path cannot be told; give it scheme, host and path")
	case req.Method != strings.ToUpper(req.Method):
		return refusal(contract.Rejected, nil, "methods are case-sensitive; write it in upper case")
	case len(req.Trailer) > 0:
		return refusal(contract.Rejected, nil, "the request has trailers, which cannot be repeated; send them as headers")
	default:
		return nil
	}
}

// isRead reports whether the request is no operation: a method that is safe by
// RFC 9110, section 9.2.1 (read 2026-11-29).
func isRead(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	default:
		return false
	}
}

// freezeBody reads the request's body, once, so that every attempt sends the same
// bytes whatever the body can or cannot do again.
func (c *Client) freezeBody(req *http.Request) ([]byte, *Error) {
	if req.Body == nil || req.Body == http.NoBody {
		if req.ContentLength > 0 {
			return nil, refusal(contract.Rejected, nil, "the request has no body, but a length of %d bytes; set both or none", req.ContentLength)
		}
		return nil, nil
	}
	defer req.Body.Close()
	limit := c.options.MaxRequestBytes
	body, err := io.ReadAll(io.LimitReader(req.Body, limit+1))
	switch {
	case err != nil:
		return nil, refusal(contract.Rejected, err, "the request's body could not be read; was it read before? Give each request a body of its own")
	case int64(len(body)) > limit:
		return nil, refusal(contract.Rejected, nil, "the request's body is longer than %d bytes; raise Options.MaxRequestBytes if it must be", limit)
	case req.ContentLength > 0 && req.ContentLength != int64(len(body)):
		return nil, refusal(contract.Rejected, nil, "the request's body has %d bytes, but its length says %d; was it read before? Give each request a body of its own", len(body), req.ContentLength)
	default:
		return slices.Clip(body), nil // who appends to it gets a copy
	}
}

// resolveKey finds the operation's key, validates it, and puts it where the
// endpoint wants it, once.
func (op *operation) resolveKey(req *http.Request) *Error {
	given, without := contract.KeyFrom(req.Context())
	if !op.terms.HonoursKeys() {
		op.setScope(given)
		return nil
	}
	carried, err := op.carriedKey()
	switch {
	case err != nil:
		return refusal(contract.Rejected, err, "%v", err)
	case carried != "" && given != "" && carried != given:
		return refusal(contract.Rejected, nil, "the request carries one key and its context another; give one key")
	case carried == "" && given != "" && op.terms.KeyField != "":
		return refusal(contract.Rejected, nil, "the key belongs into the body field %q, and a body is never rewritten; put it there", op.terms.KeyField)
	case carried == "" && given == "":
		setHeader(op.call.Request.Header, op.terms.KeyHeader, "") // an empty one is none
		return op.keyless(without)
	}
	key := carried
	if key == "" {
		key = given
	}
	if err := op.terms.CheckKey(key); err != nil {
		return refusal(contract.Rejected, err, "%v; contract.KeyFor makes a good key", err)
	}
	op.call.Key = key
	if op.terms.KeyHeader != "" {
		setHeader(op.call.Request.Header, op.terms.KeyHeader, op.terms.FormatKey(key))
	}
	op.setScope(key)
	return nil
}

// keyless decides about a request without a key on an endpoint that honours keys.
func (op *operation) keyless(without bool) *Error {
	switch {
	case op.terms.Idempotent:
		return nil
	case op.terms.KeyRequired:
		return refusal(contract.Rejected, nil, "the endpoint requires an idempotency key%s; contract.KeyFor makes one of the business action", op.keyPlace())
	case !without:
		return refusal(contract.Rejected, nil, "the request has no idempotency key%s, and without one it could never be repeated; contract.KeyFor makes one of the business action, contract.WithoutKey says that none is wanted", op.keyPlace())
	default:
		return nil
	}
}

func (op *operation) keyPlace() string {
	if op.terms.KeyField != "" {
		return fmt.Sprintf(" in the body field %q", op.terms.KeyField)
	}
	return fmt.Sprintf(" in the header %s or in contract.WithKey", op.terms.KeyHeader)
}

// carriedKey returns the key that the request itself carries, "" if none.
func (op *operation) carriedKey() (string, error) {
	if op.terms.KeyField != "" {
		return bodyKey(op.call.Body, op.terms.KeyField)
	}
	var key string
	for _, v := range contract.HeaderValues(op.call.Request.Header, op.terms.KeyHeader) {
		v, err := op.terms.ParseKey(v)
		if err != nil {
			return "", fmt.Errorf("the header %s: %w", op.terms.KeyHeader, err)
		}
		if key != "" && v != key {
			return "", fmt.Errorf("the request carries two different keys in the header %s; give one", op.terms.KeyHeader)
		}
		key = v
	}
	return key, nil
}

func bodyKey(body []byte, field string) (string, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return "", nil
	}
	o, err := contract.DecodeObject(body)
	if err != nil {
		return "", fmt.Errorf("the key belongs into the body field %q, but the body is %w", field, err)
	}
	switch v := o.At(field).(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	default:
		return "", fmt.Errorf("the body field %q, which is the key, is not a string", field)
	}
}

// setScope names the operation: one key, in one space of keys, of one account.
func (op *operation) setScope(key string) {
	if key != "" {
		op.scope = op.terms.KeyIn(op.call.Request.Header, key)
	}
}

// credentials returns a hash of the credentials that the request itself carries:
// they may be another account's, whose operation is another one.
func (op *operation) credentials() string {
	h := sha256.New()
	for _, name := range append([]string{"Authorization"}, op.terms.CredentialHeaders...) {
		for _, v := range contract.HeaderValues(op.call.Request.Header, name) {
			fmt.Fprintf(h, "%q", v)
		}
	}
	return string(h.Sum(nil))
}

// repeatable reports whether the provider's contract lets the request be sent
// again after it may have arrived.
func (op *operation) repeatable() bool { return op.call.Key != "" || op.terms.Idempotent }

// guard calls an adapter, whose panic must not cost a verdict.
func guard[T any](what string, call func() T) (result T, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the adapter panicked in " + what)
		}
	}()
	return call(), nil
}

package retry

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/idempact/idempact/contract"
)

// Client sends payment requests to one provider so that each takes effect at most
// once while the provider's contract can see to it, and says truthfully what
// happened. It is safe for concurrent use. Make one for each account and keep it.
type Client struct {
	adapter contract.Adapter
	name    string // of the adapter
	options Options
	flights flights
}

// NewClient returns a client for the adapter's provider. Nil options are safe
// defaults; the error says which option is wrong.
func NewClient(a contract.Adapter, o *Options) (*Client, error) {
	if a == nil {
		return nil, errors.New("retry: NewClient needs an adapter, such as stripe.New(nil)")
	}
	options, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	name, err := guard("Name", a.Name)
	if err != nil {
		return nil, fmt.Errorf("retry: %w", err)
	}
	return &Client{adapter: a, name: name, options: options}, nil
}

// Do runs one operation and returns what it came to. The error is nil only when
// the verdict is Succeeded; otherwise it is an *Error with the same verdict. The
// result is never nil.
//
// Callers that use one key at the same time share one run of it, and each get a
// response of their own. The request's body is read and closed; the request may
// be used again afterwards, with a new body.
//
// A read (GET, HEAD, OPTIONS, TRACE) is no operation. It is sent once and not
// classified: its verdict is the zero one, and its error the transport's.
func (c *Client) Do(req *http.Request) (*Result, error) {
	if refused := checkRequest(req); refused != nil {
		closeBody(req)
		return &Result{Verdict: refused.Verdict}, refused
	}
	if isRead(req) {
		resp, err := c.pass(req)
		return &Result{Response: resp}, err
	}
	f, refused := c.operate(req)
	if refused != nil {
		return &Result{Verdict: refused.Verdict}, refused
	}
	result := &Result{Verdict: own(f.verdict), Response: f.last.response(req), Recorded: f.recorded}
	if err := f.err(); err != nil {
		return result, err
	}
	return result, nil
}

// RoundTrip runs one operation for an SDK. It returns a response only where
// nothing is in doubt: the provider's own for Succeeded, Declined, Rejected and
// KeyReused, and the fetched resource for a duplicate that proved to be this
// operation. Everything else is an *Error, so that no SDK takes a doubt for a
// failure, or another request's success for its own; so is a request that is refused
// before it is sent.
//
// A read passes through once, as in Do.
func (c *Client) RoundTrip(req *http.Request) (*http.Response, error) {
	if refused := checkRequest(req); refused != nil {
		closeBody(req)
		return nil, refused
	}
	if isRead(req) {
		return c.pass(req)
	}
	f, refused := c.operate(req)
	if refused != nil {
		return nil, refused
	}
	switch err := f.err(); {
	case err == nil:
		return f.shown(req)
	case f.showable():
		return f.last.response(req), nil
	default:
		return nil, err
	}
}

// shown returns the answer that shows a success. Where the journal has none, since
// the success was learned from outside, or since it keeps no bodies, the resource
// is fetched; an empty answer would be a failure to an SDK.
func (f *flight) shown(req *http.Request) (*http.Response, error) {
	got := f.last
	if !got.whole() {
		r := &reader{flight: f, left: triesOfRead}
		known := f.verdict.Outcome
		known.Status = contract.Duplicate // to be compared, like any other
		var o contract.Outcome
		if o, got = r.fetch(req.Context(), known); o.Status != contract.Succeeded {
			got = nil
		}
	}
	if got == nil {
		return nil, &Error{Verdict: own(f.verdict), Cause: errNotKept, RequestID: f.requestID}
	}
	return got.response(req), nil
}

var errNotKept = errors.New("the payment succeeded, and its answer was not kept: fetch the resource that the verdict names")

// StandardClient returns an http.Client that runs on c, for SDKs that take one.
// Turn the SDK's own retries off. It follows no redirect of a write, and none to
// another host.
func (c *Client) StandardClient() *http.Client {
	return &http.Client{
		Transport: c,
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			// Of a write there is one request. And to another host Authorize
			// would send the credentials along.
			if len(via) >= 10 || !isRead(via[0]) || req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

// CloseIdleConnections closes the idle connections of the client's transport.
func (c *Client) CloseIdleConnections() {
	if t, ok := c.options.Transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// operate runs the operation that the request asks for.
func (c *Client) operate(req *http.Request) (*flight, *Error) {
	op, refused := c.prepare(req)
	if refused != nil {
		return nil, refused
	}
	return c.fly(req.Context(), op)
}

// pass sends a read, once.
func (c *Client) pass(req *http.Request) (*http.Response, error) {
	r := req.Clone(req.Context())
	if r.Header == nil {
		r.Header = http.Header{}
	}
	basicAuth(r)
	if c.options.Authorize != nil {
		if err := c.options.Authorize(r); err != nil {
			closeBody(req)
			return nil, err
		}
	}
	resp, err := c.options.Transport.RoundTrip(r)
	if err == nil && resp == nil {
		err = errNoResponse
	}
	if err != nil {
		return nil, err
	}
	resp.Request = req // the caller's own, which Authorize has not seen
	if resp.Body != nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, c.options.MaxBodyBytes)
	}
	return resp, nil
}

func closeBody(req *http.Request) {
	if req != nil && req.Body != nil {
		req.Body.Close()
	}
}

// own returns a verdict that shares no memory with others.
func own(v contract.Verdict) contract.Verdict {
	v.Resources = slices.Clone(v.Resources)
	return v
}

// err returns the error of a flight that did not end in proven success.
func (f *flight) err() error {
	if f.verdict.Status == contract.Succeeded {
		return nil
	}
	causes := f.causes
	if alarm := f.verdict.DuplicateEffect(); alarm != nil {
		causes = append([]error{alarm}, causes...)
	}
	e := &Error{Verdict: own(f.verdict), Cause: errors.Join(causes...), Response: f.last.response(nil)}
	if f.last != nil {
		e.Body = bytes.Clone(f.last.body)
	}
	e.RequestID = f.requestID
	e.Original = f.original
	return e
}

// showable reports whether an SDK may decode the provider's own refusal: a reply
// settled it, the last one, and no earlier one left a doubt. A redirect it may not
// see: an http.Client would follow it with the payment. Nor the answer of another
// request that comes with 2xx, which says of itself that it is a success; a decline
// that does says that it is none.
func (f *flight) showable() bool {
	if f.verdict.Source != contract.FromReply || !f.last.whole() {
		return false
	}
	switch f.verdict.Status {
	case contract.Declined:
		return !redirects(f.last.head.StatusCode)
	case contract.Rejected, contract.KeyReused:
		return f.last.head.StatusCode >= 400
	default:
		return false
	}
}

func redirects(status int) bool { return status >= 300 && status < 400 }

var _ http.RoundTripper = (*Client)(nil)

package retry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/idempact/idempact/contract"
)

// exchange sends one request, at most once, and reads its whole answer.
//
// Just before it is handed over, ready may still refuse: Authorize may have taken
// its time.
func (c *Client) exchange(ctx context.Context, head *http.Request, body []byte, terms contract.Terms, ready func() error) (contract.Reply, *answer) {
	attempt, cancel := context.WithTimeout(ctx, c.options.AttemptTimeout)
	defer cancel()
	w := &wire{cancel: cancel}
	req, err := c.wireRequest(httptrace.WithClientTrace(attempt, w.trace()), head, body, terms)
	if err == nil {
		err = inTime(ctx, attempt, ready)
	}
	if err != nil {
		return contract.Reply{Err: err, At: time.Now()}, nil
	}
	resp, err := c.options.Transport.RoundTrip(req)
	if err == nil && resp == nil {
		err = errNoResponse
	}
	if err != nil {
		return contract.Reply{Err: w.whose(err, ctx, attempt), Sent: w.sent(err), At: time.Now()}, nil
	}
	a := &answer{head: *resp}
	a.head.Body, a.head.Request = nil, nil
	a.body, err = c.readBody(resp)
	return contract.Reply{
		StatusCode: resp.StatusCode,
		Header:     resp.Header,
		Body:       a.body,
		Err:        w.whose(err, ctx, attempt),
		Sent:       true,
		At:         time.Now(),
	}, a
}

// wireRequest builds the request of one attempt: the frozen bytes, fresh
// credentials, and nothing that lets net/http send it a second time.
func (c *Client) wireRequest(ctx context.Context, head *http.Request, body []byte, terms contract.Terms) (*http.Request, error) {
	r := head.Clone(ctx)
	if c.options.Authorize != nil {
		setBody(r, body)
		// A signing Authorize may read the body.
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		if err := c.options.Authorize(r); err != nil {
			return nil, &unsent{"Authorize returned an error", err}
		}
		r = restored(head.Clone(ctx), r.Header, terms)
		if wrong := malformed(r); wrong != "" {
			return nil, &unsent{"after Authorize " + wrong, nil}
		}
	}
	setBody(r, body)
	if len(body) == 0 && !isRead(r) {
		hideKey(r.Header)
	}
	return r, nil
}

// inTime reports whether a request may still be sent. After the transport has it
// an end of the context is a doubt; here it is none.
func inTime(caller, attempt context.Context, ready func() error) error {
	if err := caller.Err(); err != nil {
		return &unsent{"the context had ended", err}
	}
	if attempt.Err() != nil {
		return &unsent{"Authorize took all the time of the attempt", errAttemptTimeout}
	}
	if err := ready(); err != nil {
		return &unsent{err.Error(), err}
	}
	return nil
}

// setBody gives the request the frozen bytes without a way to rewind them:
// net/http repeats what it can rewind.
func setBody(r *http.Request, body []byte) {
	r.Body, r.GetBody, r.ContentLength = nil, nil, int64(len(body))
	if len(body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
}

// readBody reads an answer's whole body, up to the limit, and says if it was cut.
func (c *Client) readBody(resp *http.Response) ([]byte, error) {
	if resp.Body == nil {
		return nil, nil
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return nil, errNotHTTP // what follows is no body
	}
	limit := c.options.MaxErrorBytes
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		limit = c.options.MaxBodyBytes
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return body, err
	case int64(len(body)) > limit:
		return body[:limit], io.ErrUnexpectedEOF
	case unframed(resp) && !json.Valid(body):
		// It ended with its connection, so nothing says that this is all of it.
		return body, io.ErrUnexpectedEOF
	default:
		return body, nil
	}
}

// unframed reports whether only the end of the connection ended the body.
func unframed(resp *http.Response) bool {
	return resp.ProtoMajor == 1 && resp.Close && resp.ContentLength < 0 &&
		len(resp.TransferEncoding) == 0 && !resp.Uncompressed
}

// whose tells the caller's end of the context from the attempt's own time limit:
// only the first may look to the caller like a context that ended.
func (w *wire) whose(err error, caller, attempt context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		return nil
	case caller.Err() != nil:
		return caller.Err()
	case w.stopped:
		return errStreamRefused
	case errors.Is(attempt.Err(), context.DeadlineExceeded):
		return errAttemptTimeout
	default:
		return err
	}
}

// unsent is why a request was not handed to the transport.
type unsent struct {
	reason string
	cause  error
}

func (e *unsent) Error() string { return e.reason }
func (e *unsent) Unwrap() error { return e.cause }

var (
	errNotHTTP    = errors.New("the server switched to another protocol")
	errNoResponse = errors.New("the transport returned neither a response nor an error")
)

// errStreamRefused is what an attempt ends with whose second send was stopped.
var errStreamRefused = errors.New("the server refused the HTTP/2 stream")

type attemptTimeout struct{}

var errAttemptTimeout error = attemptTimeout{}

func (attemptTimeout) Error() string        { return "the attempt timed out" }
func (attemptTimeout) Timeout() bool        { return true }
func (attemptTimeout) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// wire watches one request on its way out.
type wire struct {
	cancel context.CancelFunc

	mu       sync.Mutex
	asked    bool // the transport looked for a connection
	got      bool // and has one: a byte may leave from now on
	streamed bool // an HTTP/2 header has been written
	stopped  bool // a second send of it was stopped
}

func (w *wire) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { w.note(func() { w.asked = true }) },
		GotConn: func(httptrace.GotConnInfo) {
			w.note(func() {
				w.got = true
				if w.streamed {
					// HTTP/2 is about to repeat a refused stream by itself.
					// It looks at the context before it writes.
					w.stopped = true
					w.cancel()
				}
			})
		},
		WroteHeaderField: func(name string, _ []string) {
			if strings.HasPrefix(name, ":") { // only HTTP/2 has such fields
				w.note(func() { w.streamed = true })
			}
		},
	}
}

func (w *wire) note(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// sent reports whether any byte of the request may have left, given the error
// that the transport returned. Only a transport that asked for a connection and
// never had one has proven that none did; of one that cannot be watched, only a
// failed dial or name lookup.
func (w *wire) sent(err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked || w.got {
		return w.got
	}
	var op *net.OpError
	var dns *net.DNSError
	return !errors.As(err, &dns) && !(errors.As(err, &op) && op.Op == "dial")
}

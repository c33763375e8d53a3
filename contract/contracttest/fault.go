package contracttest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/idempact/idempact/contract"
)

// fault is one thing that goes wrong with one write. The zero value is none.
type fault struct {
	refuse bool  // the dial is refused
	err    error // the transport has this error, and sent nothing

	instead *answer            // the provider says this, and executes nothing
	page    *answer            // the write is executed, and this is said in place of its answer
	cut     func(size int) int // the write is executed, and this many bytes of its answer arrive
	reset   bool               // then the connection is reset and not closed
	end     func()             // the write is executed; then this is called, and nothing is said
}

func (f fault) atClient() bool { return f.refuse || f.err != nil }

// loseReply executes the write and closes the connection without a byte of answer.
var loseReply = fault{cut: func(int) int { return 0 }}

// resetAfter executes the write and resets the connection.
var resetAfter = fault{cut: func(int) int { return 0 }, reset: true}

var refuseDial = fault{refuse: true}

// cutAt cuts the answer, head and body, after n bytes, and never lets it arrive whole.
func cutAt(n int) fault { return fault{cut: func(size int) int { return min(n, size-1) }} }

func instead(r contract.Reply) fault { return fault{instead: answerOf(r)} }

func pageAfter(status int, body string, headers ...string) fault {
	return fault{page: answerOf(reply(status, body, headers...))}
}

// reply makes a whole reply of a status, a body, and names and values of headers.
func reply(status int, body string, headers ...string) contract.Reply {
	r := contract.Reply{StatusCode: status, Header: http.Header{}, Body: []byte(body), Sent: true, At: repliedAt}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// answer is what a handler said. It is an http.ResponseWriter.
type answer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func answerOf(r contract.Reply) *answer {
	a := &answer{status: r.StatusCode, header: r.Header.Clone()}
	a.body.Write(r.Body)
	return a
}

// Header returns the headers to send.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader keeps the first status.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write keeps the body.
func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

// ask lets a handler answer a request.
func ask(h http.Handler, r *http.Request) *answer {
	a := &answer{header: http.Header{}}
	h.ServeHTTP(a, r)
	a.WriteHeader(http.StatusOK)
	return a
}

// reply returns the answer as the loop would hand it to an adapter.
func (a *answer) reply() contract.Reply {
	return contract.Reply{StatusCode: a.status, Header: a.header.Clone(), Body: bytes.Clone(a.body.Bytes()), Sent: true, At: repliedAt}
}

// wire returns the answer as bytes on a connection.
func (a *answer) wire() []byte {
	resp := http.Response{
		StatusCode: a.status, ProtoMajor: 1, ProtoMinor: 1, Header: a.header.Clone(),
		Body: io.NopCloser(bytes.NewReader(a.body.Bytes())), ContentLength: int64(a.body.Len()),
	}
	resp.Header.Del("Content-Length")
	var out bytes.Buffer
	_ = resp.Write(&out) // a buffer has no error
	return out.Bytes()
}

// deliver answers a write as the fault says.
func (f fault) deliver(s *stage, l *link, w http.ResponseWriter, r *http.Request) {
	if f.instead != nil {
		f.instead.send(w)
		return
	}
	a := ask(s.fake.Handler, r)
	s.mu.Lock()
	s.last = a
	s.mu.Unlock()
	switch {
	case f.page != nil:
		f.page.send(w)
	case f.end != nil:
		f.end()
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case f.reset:
		l.reset.Store(true)
		panic(http.ErrAbortHandler)
	case f.cut != nil:
		wire := a.wire()
		sendPart(w, wire[:f.cut(len(wire))])
	default:
		a.send(w)
	}
}

// send answers with a, and with nothing that net/http would add.
func (a *answer) send(w http.ResponseWriter) {
	for _, name := range []string{"Date", "Content-Type"} {
		w.Header()[name] = nil
	}
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // the client may be gone: that is its right
}

// sendPart sends a part of an answer and closes the connection.
func sendPart(w http.ResponseWriter, wire []byte) {
	if len(wire) == 0 {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	_, _ = conn.Write(wire)
}

// ending is a context that ends when the provider has executed, with an error of our
// choice: no timer decides what is tested.
type ending struct {
	context.Context
	done chan struct{}
	err  error
}

func newEnding(err error) *ending {
	return &ending{Context: context.Background(), done: make(chan struct{}), err: err}
}

func (e *ending) end() { close(e.done) }

// Done is closed by end.
func (e *ending) Done() <-chan struct{} { return e.done }

// Err returns the chosen error once the context has ended.
func (e *ending) Err() error {
	select {
	case <-e.done:
		return e.err
	default:
		return nil
	}
}

// Deadline has none: a deadline that is never reached tests nothing.
func (e *ending) Deadline() (time.Time, bool) { return time.Time{}, false }

package fakes

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/jarcoal/httpmock"
)

// Register makes the server answer every request to m for which m has no other
// responder. Without a connection there is nothing to cut, so faults of the
// transport become the errors that net/http would give: a dial error for
// RefuseConnection, io.EOF for LoseReply, a connection reset for ResetAfterSend,
// io.ErrUnexpectedEOF while the body is read for CutBody; Hang and Slow end with
// the request's context. httptrace hooks do not fire.
func (s *Server) Register(m *httpmock.MockTransport) {
	m.RegisterNoResponder(s.respond)
}

func (s *Server) respond(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	seen := r.WithContext(r.Context())
	seen.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	if s.refuses(seen) {
		return nil, refused()
	}
	if len(body) > maxBody {
		return respond(r, answer{status: http.StatusRequestEntityTooLarge}, nil), nil
	}
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	a, p := s.exchange(r, body, r.URL.Scheme+"://"+host, true)
	if !waitFor(r.Context().Done(), p.slow) {
		return nil, r.Context().Err()
	}
	switch p.delivery {
	case deliverNothing:
		return nil, io.EOF
	case deliverReset:
		return nil, connectionReset()
	case deliverNever:
		<-r.Context().Done()
		return nil, r.Context().Err()
	case deliverCut:
		if p.cut < len(a.body) {
			cut := io.MultiReader(bytes.NewReader(a.body[:p.cut]), failing{io.ErrUnexpectedEOF})
			return respond(r, a, cut), nil
		}
	}
	return respond(r, a, nil), nil
}

func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	return body, errors.Join(err, r.Body.Close())
}

// respond builds a response; a nil body stands for the answer's own.
func respond(r *http.Request, a answer, body io.Reader) *http.Response {
	if body == nil {
		body = bytes.NewReader(a.body)
	}
	h := a.header.Clone()
	if h == nil {
		h = http.Header{}
	}
	return &http.Response{
		Status: strconv.Itoa(a.status) + " " + http.StatusText(a.status), StatusCode: a.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(body), ContentLength: int64(len(a.body)), Request: r,
	}
}

// failing is a reader that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

package cases_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"testing/synctest"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/retry"
)

// The client of every story.
const (
	maxAttempts    = 4
	attemptTimeout = 10 * time.Second
	maxWait        = 5 * time.Minute
	minWait        = 500 * time.Millisecond
	ahead          = 7 * time.Minute // of our clock, before the Date of the replies
)

// variant is a way to play a story.
type variant struct {
	via     string // Do, or StandardClient
	framing framing
}

// variants returns the ways to play a case. A whole answer arrives whole under
// either framing; one that is cut must be seen as cut under any, save that the end
// of a connection cuts nothing that can be seen off a whole JSON value.
func variants(c acceptanceCase) []variant {
	framings := []framing{byLength, byChunks}
	for _, r := range c.replies {
		if r.transport == "truncated" && !json.Valid(r.body) {
			framings = []framing{byLength, byChunks, byClose}
		}
	}
	var all []variant
	for _, f := range framings {
		all = append(all, variant{"Do", f}, variant{"StandardClient", f})
	}
	return all
}

// told is what a story came to.
type told struct {
	*server
	via     string
	terms   contract.Terms
	verdict contract.Verdict // by Do, or by the error
	events  []retry.AttemptEvent
	resp    *http.Response // nil if there was none
	body    []byte
	err     error
}

// rig is what a story is played on: an adapter, and what lies between the client
// and the wire.
type rig struct {
	adapter contract.Adapter
	wire    func(http.RoundTripper) http.RoundTripper // nil is nothing
}

// play tells the whole story of a case. It runs in a synctest bubble.
func play(c acceptanceCase, v variant, g rig) *told {
	waitForClock(c)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &server{c: c, framing: v.framing, cancel: cancel, conns: map[net.Conn]bool{}}
	transport := s.transport()
	if g.wire != nil {
		transport = g.wire(transport)
	}
	out := &told{server: s, via: v.via}
	client, err := retry.NewClient(g.adapter, &retry.Options{
		Transport: transport, MaxAttempts: maxAttempts, AttemptTimeout: attemptTimeout,
		MinWait: minWait, MaxWait: maxWait, MaxElapsed: 10 * 365 * 24 * time.Hour,
		OnAttempt: func(_ context.Context, e retry.AttemptEvent) { out.events = append(out.events, e) },
	})
	if err != nil {
		out.err = err
		return out
	}
	s.open(client)
	req := newRequest(ctx, c, g.adapter)
	out.terms = g.adapter.Terms(contract.Call{Request: req, Body: c.request.body})
	if v.via == "Do" {
		var result *retry.Result
		result, out.err = client.Do(req)
		out.verdict, out.resp = result.Verdict, result.Response
	} else {
		out.resp, out.err = client.StandardClient().Do(req)
		out.verdict = retry.OutcomeOf(out.err)
	}
	if out.resp != nil {
		out.body, _ = io.ReadAll(out.resp.Body)
		out.resp.Body.Close()
	}
	client.CloseIdleConnections()
	s.hangUpAll()
	synctest.Wait()
	return out
}

// waitForClock lets our clock come to where it stands when the story begins.
func waitForClock(c acceptanceCase) {
	for _, r := range c.replies {
		for _, v := range r.values("Date") {
			if date, err := http.ParseTime(v); err == nil {
				time.Sleep(time.Until(date.Add(ahead)))
				return
			}
		}
	}
}

// open lets one connection be open before the first send, which is a dead one if
// the story begins with none.
func (s *server) open(client *retry.Client) {
	warm, err := http.NewRequest(http.MethodGet, s.c.url(), nil)
	if err != nil {
		panic(err)
	}
	warm.URL.Path, warm.URL.RawPath = "/open", ""
	result, err := client.Do(warm)
	if err != nil {
		panic(err)
	}
	io.Copy(io.Discard, result.Response.Body)
	result.Response.Body.Close()
	synctest.Wait()
	if s.c.reply(0).noConnection() {
		s.hangUpAll()
		synctest.Wait()
	}
}

// newRequest returns the case's request as a caller writes it. One without a key,
// where keys are honoured, says that it is meant.
func newRequest(ctx context.Context, c acceptanceCase, a contract.Adapter) *http.Request {
	var body io.Reader
	if len(c.request.body) > 0 {
		body = bytes.NewReader(c.request.body)
	}
	req, err := http.NewRequestWithContext(ctx, c.method(), c.url(), body)
	if err != nil {
		panic(err)
	}
	req.Header = c.request.httpHeader(nil)
	if call := newCall(c, a); call.Key == "" && a.Terms(call).HonoursKeys() {
		req = req.WithContext(contract.WithoutKey(req.Context()))
	}
	return req
}

// newCall returns the case's request as an adapter sees it.
func newCall(c acceptanceCase, a contract.Adapter) contract.Call {
	req, err := http.NewRequest(c.method(), c.url(), nil)
	if err != nil {
		panic(err)
	}
	req.Header = c.request.httpHeader(http.CanonicalHeaderKey)
	call := contract.Call{Request: req, Body: c.request.body}
	switch t := a.Terms(call); {
	case t.KeyHeader != "":
		call.Key, err = t.ParseKey(contract.HeaderValue(req.Header, t.KeyHeader))
		if err != nil {
			panic(err)
		}
	case t.KeyField != "":
		o, _ := contract.DecodeObject(c.request.body)
		call.Key = o.Text(t.KeyField)
	}
	return call
}

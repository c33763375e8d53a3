// Package fakeserver serves a fake provider to programs in any language: the provider
// itself, a small control API below /_fake/, and a log of the requests that came.
package fakeserver

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
)

// Server is an http.Handler. It is safe for concurrent use.
type Server struct {
	new func() *fakes.Server
	log func(Line)
	mux *http.ServeMux

	mu     sync.Mutex
	spaces map[string]*space
}

// SpaceHeader names the space that a request is for: a provider of its own, that shares
// nothing with the others, so that tests can run side by side. Without it there is one
// space for all.
const SpaceHeader = "X-Fake-Space"

// maxSpaces is how many spaces there can be until some are reset.
const maxSpaces = 1000

// space is one provider.
type space struct {
	fake *fakes.Server

	mu    sync.Mutex
	ahead time.Duration // of our clock
	came  int           // requests so far
}

// Line is one line of the log: a request, and what became of it. Nothing in it is a
// credential, a whole key or a body.
type Line struct {
	Time     time.Time `json:"time"` // by the fake's clock
	Method   string    `json:"method"`
	Path     string    `json:"path"`
	Key      string    `json:"key,omitempty"`   // shortened
	Fault    string    `json:"fault,omitempty"` // what was scripted for it
	Status   int       `json:"status"`          // of the answer, lost or not; 0 is none
	Replayed bool      `json:"replayed,omitempty"`
	Effects  []string  `json:"effects,omitempty"` // that it had: "create payment_intent pi_1"
}

// String returns the line for people.
func (l Line) String() string {
	s := fmt.Sprintf("%s %-6s %s", l.Time.UTC().Format(time.DateTime), l.Method, l.Path)
	if l.Key != "" {
		s += " key " + l.Key
	}
	if l.Fault != "" {
		s += " ! " + l.Fault
	}
	switch {
	case l.Status == 0:
		s += " -> no answer"
	default:
		s += fmt.Sprintf(" -> %d", l.Status)
	}
	if l.Replayed {
		s += " replayed"
	}
	for _, e := range l.Effects {
		s += " = " + e
	}
	return s
}

// New returns a server of fakes that newFake makes, one now and one for each reset. log
// is called for each request when it is done with, and by many at a time; nil is no log.
func New(newFake func() *fakes.Server, log func(Line)) *Server {
	if log == nil {
		log = func(Line) {}
	}
	s := &Server{new: newFake, log: log, spaces: map[string]*space{}, mux: http.NewServeMux()}
	s.routes()
	return s
}

// Script sets faults for the next writes in the space that has no name.
func (s *Server) Script(faults ...fakes.Fault) { s.space("").fake.Script(faults...) }

// space returns the space of a name, nil where there are too many.
func (s *Server) space(name string) *space {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.spaces[name]
	if one == nil && (len(s.spaces) < maxSpaces || name == "") {
		one = &space{fake: s.new()}
		s.spaces[name] = one
	}
	return one
}

// reset forgets a space.
func (s *Server) reset(name string) {
	s.mu.Lock()
	one := s.spaces[name]
	delete(s.spaces, name)
	s.mu.Unlock()
	if one != nil {
		_ = one.fake.Close() // it has no listener
	}
}

// ServeHTTP answers the control API, and as the provider everything else.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/_fake" || strings.HasPrefix(r.URL.Path, "/_fake/") {
		s.mux.ServeHTTP(w, r)
		return
	}
	one := s.space(r.Header.Get(SpaceHeader))
	if one == nil {
		refuse(w, http.StatusTooManyRequests, errSpaces)
		return
	}
	r, mark := one.mark(r)
	defer one.report(s.log, mark) // also where a fault ends the connection by a panic
	one.fake.ServeHTTP(w, r)
}

// markHeader tells a request from those that come at the same time. It is not sent on,
// and not logged.
const markHeader = "X-Fake-Mark"

// mark returns the request with a mark that no other one has.
func (one *space) mark(r *http.Request) (*http.Request, string) {
	one.mu.Lock()
	one.came++
	mark := strconv.Itoa(one.came)
	one.mu.Unlock()
	r = r.Clone(r.Context())
	r.Header.Set(markHeader, mark)
	return r, mark
}

// report logs a request that is done with.
func (one *space) report(log func(Line), mark string) {
	for _, r := range slices.Backward(one.fake.Requests()) {
		if r.Header.Get(markHeader) == mark {
			log(lineOf(r, one.fake.Effects()))
			return
		}
	}
}

func lineOf(r fakes.Request, effects []fakes.Effect) Line {
	l := Line{Time: r.Time, Method: r.Method, Path: (&url.URL{Path: r.Path}).EscapedPath(), Status: r.Status, Replayed: r.Replayed}
	if r.Key != "" {
		l.Key = contract.KeyTag(r.Key)
	}
	if r.Fault != nil && r.Fault != fakes.None {
		l.Fault = r.Fault.String()
	}
	for _, e := range effects {
		if e.RequestID == r.ID {
			l.Effects = append(l.Effects, fmt.Sprintf("%s %s %s", e.Action, e.Kind, url.PathEscape(e.Resource))) // which a client may have named
		}
	}
	return l
}

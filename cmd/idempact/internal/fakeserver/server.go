// Package fakeserver serves a fake provider to programs in any language: the provider
// itself, a small control API below /_fake/, and a log of the requests that came.
package fakeserver

import (
	"fmt"
	"net/http"
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
	fake   *fakes.Server
	ahead  time.Duration // of our clock
	logged int           // requests of the fake
	ledger int           // effects of the fake that were logged
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
// is called for each request in turn; nil is no log.
func New(newFake func() *fakes.Server, log func(Line)) *Server {
	if log == nil {
		log = func(Line) {}
	}
	s := &Server{new: newFake, log: log, fake: newFake(), mux: http.NewServeMux()}
	s.routes()
	return s
}

// Current returns the fake as it is until the next reset.
func (s *Server) Current() *fakes.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fake
}

// ServeHTTP answers the control API, and as the provider everything else.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/_fake" || strings.HasPrefix(r.URL.Path, "/_fake/") {
		s.mux.ServeHTTP(w, r)
		return
	}
	fake := s.Current()
	defer s.report(fake) // also where a fault ends the connection by a panic
	fake.ServeHTTP(w, r)
}

// report logs what the fake has seen and is not logged yet.
func (s *Server) report(fake *fakes.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fake != s.fake {
		return // it was reset
	}
	requests, effects := fake.Requests(), fake.Effects()
	fresh := effects[s.ledger:]
	for _, r := range requests[s.logged:] {
		s.log(lineOf(r, fresh))
	}
	s.logged, s.ledger = len(requests), len(effects)
}

func lineOf(r fakes.Request, effects []fakes.Effect) Line {
	l := Line{Time: r.Time, Method: r.Method, Path: r.Path, Status: r.Status, Replayed: r.Replayed}
	if r.Key != "" {
		l.Key = contract.KeyTag(r.Key)
	}
	if r.Fault != nil && r.Fault != fakes.None {
		l.Fault = r.Fault.String()
	}
	for _, e := range effects {
		if e.RequestID == r.ID {
			l.Effects = append(l.Effects, fmt.Sprintf("%s %s %s", e.Action, e.Kind, e.Resource))
		}
	}
	return l
}

package fakes

import (
	"net/http"
	"slices"
)

// queue holds the faults of one Script or ScriptWhen rule.
type queue struct {
	match  func(*http.Request) bool
	faults []Fault
}

// Script sets faults for the next write requests (every method but GET, HEAD and
// OPTIONS), one each, in the order of arrival. Look-ups do not use them up. A nil
// fault is None. More calls add to the end.
func (s *Server) Script(f ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes.faults = append(s.writes.faults, named(f)...)
}

// ScriptWhen sets faults for the next requests that match, reads included, before
// those of Script. The first rule that matches and still has faults counts. match
// may read the request and its body; it runs under the server's lock and must not
// call the server.
func (s *Server) ScriptWhen(match func(*http.Request) bool, f ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, &queue{match, named(f)})
}

func named(f []Fault) []Fault {
	out := make([]Fault, len(f))
	for i := range f {
		if out[i] = f[i]; f[i] == nil {
			out[i] = None
		}
	}
	return out
}

// pending returns the rule whose faults are for r, or nil. Callers hold s.mu.
func (s *Server) pending(r *http.Request) *queue {
	for _, q := range s.rules {
		if len(q.faults) > 0 && q.match(r) {
			return q
		}
	}
	if isWrite(r.Method) && len(s.writes.faults) > 0 {
		return &s.writes
	}
	return nil
}

// refuses reports whether the dial for r is to be refused, and uses that fault up.
// It reads the body of r only where a refusal may be due.
func (s *Server) refuses(r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(append(s.rules, &s.writes), (*queue).refusesNext) {
		return false
	}
	q := s.pending(peek(r))
	if q == nil || !q.refusesNext() {
		return false
	}
	q.faults = q.faults[1:]
	s.refused++
	return true
}

func (q *queue) refusesNext() bool {
	if len(q.faults) == 0 {
		return false
	}
	_, ok := q.faults[0].(refuseConnection)
	return ok
}

// take returns the fault for a request that has arrived. With dialled, a refusal
// stays for the next dial: two requests at once may both have asked before either
// arrived. Callers hold s.mu.
func (s *Server) take(r *http.Request, dialled bool) Fault {
	q := s.pending(r)
	if q == nil {
		return None
	}
	for i, f := range q.faults {
		if _, ok := f.(refuseConnection); ok && dialled {
			continue
		}
		q.faults = append(append([]Fault{}, q.faults[:i]...), q.faults[i+1:]...)
		return f
	}
	return None
}

func isWrite(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, "":
		return false
	}
	return true
}

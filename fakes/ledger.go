package fakes

import (
	"maps"
	"net/http"
	"slices"
	"time"
)

// Effect is one thing that really happened at the provider: a write that took
// effect. A refusal (a declined card, a validation error) has none.
type Effect struct {
	Time      time.Time         // the server's clock
	Kind      string            // the provider's word for the resource: "payment_intent", "refund", "payment"
	Action    string            // "create", "confirm", "capture", "cancel", "pay", "update", "delete", "retry"
	Resource  string            // its id or reference
	Key       string            // idempotency key or uid of the request; "" if it had none
	Method    string            // of the request
	Path      string            // of the request, without the query
	Account   string            // connected account; "" for the caller's own
	Amount    int64             // smallest unit of the currency; 0 where the effect moves none
	Currency  string            // lower case; "" where the provider names none
	Metadata  map[string]string // as the request gave it; nil if it gave none
	Params    string            // fingerprint of method, path and parameters
	RequestID string            // the provider's id of the request that executed
}

// Effects returns a copy of the ledger: what really happened, in order. An effect
// that an InFlight fault put off is in it once its time has come.
func (s *Server) Effects() []Effect {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	out := slices.Clone(s.ledger)
	for i := range out {
		out[i].Metadata = maps.Clone(out[i].Metadata)
	}
	return out
}

// record adds to the ledger. Callers hold s.mu.
func (s *Server) record(c *call, e Effect) {
	e.Time, e.Key, e.Method, e.Path = c.at, c.key, c.method, c.path
	e.Params, e.RequestID = c.print, c.requestID
	s.ledger = append(s.ledger, e)
}

// Request is one request that reached the server, whole.
type Request struct {
	Time     time.Time   // arrival, by the server's clock
	Method   string      // of the request
	Path     string      // without the query
	Query    string      // raw
	Header   http.Header // as sent, credentials included
	Body     []byte      // as sent
	Key      string      // idempotency key or uid; "" if it had none
	ID       string      // the provider's id of this exchange
	Fault    Fault       // what was scripted for it; None if nothing
	Status   int         // the server's answer, lost or not; 0 where there was none
	Replayed bool        // the answer was a stored one
}

// Requests returns a copy of the log of requests that reached the server, in the
// order of arrival: what really went over the wire.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.log)
	for i := range out {
		out[i].Header, out[i].Body = out[i].Header.Clone(), slices.Clone(out[i].Body)
	}
	return out
}

// Refused returns how many dials RefuseConnection has refused. They are not among
// the Requests.
func (s *Server) Refused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

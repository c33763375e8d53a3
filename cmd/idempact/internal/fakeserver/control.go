package fakeserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
)

// maxControl is the largest body that the control API reads: 1 MiB.
const maxControl = 1 << 20

// help is what GET /_fake says.
const help = `A fake provider. Beside the provider's own API:

POST /_fake/faults    {"faults": ["LoseReply", "Throttle(3s)"]}: for the next writes, in order;
                      with "method", "path" or "reads": true for the requests that match.
                      Plain text works too: a fault a line
GET  /_fake/effects   what really happened, in order
GET  /_fake/requests  what came over the wire, without keys, credentials and bodies
POST /_fake/clock     {"advance": "25h"}: moves its clock ahead
POST /_fake/reset     forgets everything: resources, keys, faults, clock

The header ` + SpaceHeader + ` on any of these and on the provider's own requests names a
provider apart, so that tests can run side by side.
`

var errSpaces = fmt.Errorf("there are %d spaces: reset those that are done with", maxSpaces)

// in returns the space of a control request, and answers where there is none.
func (s *Server) in(w http.ResponseWriter, r *http.Request) *space {
	one := s.space(r.Header.Get(SpaceHeader))
	if one == nil {
		refuse(w, http.StatusTooManyRequests, errSpaces)
	}
	return one
}

func (s *Server) routes() {
	s.mux.HandleFunc("GET /_fake", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, help) })
	s.mux.HandleFunc("GET /_fake/{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, help) })
	s.mux.HandleFunc("POST /_fake/faults", s.postFaults)
	s.mux.HandleFunc("GET /_fake/effects", s.getEffects)
	s.mux.HandleFunc("GET /_fake/requests", s.getRequests)
	s.mux.HandleFunc("POST /_fake/clock", s.postClock)
	s.mux.HandleFunc("POST /_fake/reset", s.postReset)
	s.mux.HandleFunc("/_fake/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, errors.New("GET /_fake lists what there is"))
	})
}

// script is the body of POST /_fake/faults. Without a condition the faults are for
// writes.
type script struct {
	Faults []string `json:"faults"`
	Method string   `json:"method"`
	Path   string   `json:"path"` // a prefix
	Reads  bool     `json:"reads"`
}

func (s *Server) postFaults(w http.ResponseWriter, r *http.Request) {
	var in script
	if err := read(w, r, &in, func(text string) { in.Faults = Lines(text) }); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	faults, err := ParseFaults(in.Faults)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	one := s.in(w, r)
	switch {
	case one == nil:
		return
	case in.Method == "" && in.Path == "" && !in.Reads:
		one.fake.Script(faults...)
	default:
		one.fake.ScriptWhen(in.matches, faults...)
	}
	answer(w, map[string]int{"added": len(faults)})
}

func (in script) matches(r *http.Request) bool {
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	return (in.Method == "" && (in.Reads || !read) || strings.EqualFold(in.Method, r.Method)) && strings.HasPrefix(r.URL.Path, in.Path)
}

// ParseFaults reads faults as fakes.ParseFault does.
func ParseFaults(list []string) ([]fakes.Fault, error) {
	var all []fakes.Fault
	for _, text := range list {
		f, err := fakes.ParseFault(text)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// Lines returns the lines of a script that are neither empty nor a # comment.
func Lines(text string) (all []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}

// effect is an entry of the ledger for other languages.
type effect struct {
	Time     time.Time         `json:"time"`
	Kind     string            `json:"kind"`
	Action   string            `json:"action"`
	Resource string            `json:"resource"`
	Key      string            `json:"key,omitempty"` // shortened
	Path     string            `json:"path"`
	Amount   int64             `json:"amount"` // in the smallest unit
	Currency string            `json:"currency,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

func (s *Server) getEffects(w http.ResponseWriter, r *http.Request) {
	one := s.in(w, r)
	if one == nil {
		return
	}
	all := []effect{}
	for _, e := range one.fake.Effects() {
		x := effect{e.Time, e.Kind, e.Action, e.Resource, "", e.Path, e.Amount, e.Currency, e.Metadata}
		if e.Key != "" {
			x.Key = contract.KeyTag(e.Key)
		}
		all = append(all, x)
	}
	answer(w, all)
}

func (s *Server) getRequests(w http.ResponseWriter, r *http.Request) {
	one := s.in(w, r)
	if one == nil {
		return
	}
	effects := one.fake.Effects()
	all := []Line{}
	for _, r := range one.fake.Requests() {
		all = append(all, lineOf(r, effects))
	}
	answer(w, all)
}

func (s *Server) postClock(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Advance string `json:"advance"`
	}
	err := read(w, r, &in, func(text string) { in.Advance = strings.TrimSpace(text) })
	d, bad := time.ParseDuration(in.Advance)
	switch {
	case err != nil:
		refuse(w, http.StatusBadRequest, err)
	case bad != nil || d < 0:
		refuse(w, http.StatusBadRequest, errors.New(`advance is a duration such as "25h"`))
	default:
		one := s.in(w, r)
		if one == nil {
			return
		}
		now, err := one.advance(d)
		if err != nil {
			refuse(w, http.StatusBadRequest, err)
			return
		}
		answer(w, map[string]time.Time{"now": now})
	}
}

// maxAhead is how far a clock can be moved in all: a century.
const maxAhead = 100 * 365 * 24 * time.Hour

// advance moves the space's clock and returns its time.
func (one *space) advance(d time.Duration) (time.Time, error) {
	one.mu.Lock()
	defer one.mu.Unlock()
	if d > maxAhead-one.ahead {
		return time.Time{}, errors.New("the clock is moved by a century at most; POST /_fake/reset sets it back")
	}
	one.fake.Advance(d)
	one.ahead += d
	return time.Now().Add(one.ahead).UTC(), nil
}

func (s *Server) postReset(w http.ResponseWriter, r *http.Request) {
	s.reset(r.Header.Get(SpaceHeader))
	answer(w, map[string]bool{"reset": true})
}

// read reads a body that is JSON, or else plain text.
func read(w http.ResponseWriter, r *http.Request, in any, text func(string)) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxControl))
	if err != nil {
		return errors.New("the body cannot be read, or is larger than 1 MiB")
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "application/json" && !strings.HasPrefix(strings.TrimSpace(string(body)), "{") {
		text(string(body))
		return nil
	}
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	if err := d.Decode(in); err != nil {
		return fmt.Errorf("the body is not the JSON that is expected: %w", err)
	}
	if d.More() {
		return errors.New("the body is more than one JSON object")
	}
	return nil
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // the client is gone
}

func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()})
}

// Package record writes the parts of an entry as text that people and databases can
// read, and reads back exactly what was written, byte by byte.
package record

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/idempact/idempact/contract"
)

// oddPrefix starts a text that stands for bytes which are no text.
const oddPrefix = `\x`

// Text returns s as valid UTF-8 without NUL, which every database takes: s itself,
// or \x and its bytes in hexadecimal. Two strings have one text only if they are
// equal.
func Text(s string) string {
	if utf8.ValidString(s) && !strings.ContainsRune(s, 0) && !strings.HasPrefix(s, oddPrefix) {
		return s
	}
	return oddPrefix + hex.EncodeToString([]byte(s))
}

// FromText returns the string that Text was given.
func FromText(t string) (string, error) {
	digits, odd := strings.CutPrefix(t, oddPrefix)
	if !odd {
		return t, nil
	}
	s, err := hex.DecodeString(digits)
	if err != nil {
		return "", fmt.Errorf("text that starts with %s and is not hexadecimal", oddPrefix)
	}
	return string(s), nil
}

// text is a string that is Text in JSON.
type text string

func (t text) MarshalJSON() ([]byte, error) { return json.Marshal(Text(string(t))) }

func (t *text) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	s, err := FromText(s)
	*t = text(s)
	return err
}

// Header returns h as a JSON list of lists, a name and its values each, in the
// order of the names; "" if h is empty.
func Header(h http.Header) (string, error) {
	if len(h) == 0 {
		return "", nil
	}
	var list [][]text
	for _, name := range slices.Sorted(maps.Keys(h)) {
		line := []text{text(name)}
		for _, v := range h[name] {
			line = append(line, text(v))
		}
		list = append(list, line)
	}
	out, err := json.Marshal(list)
	return string(out), err
}

// FromHeader returns the header that Header was given, nil for an empty one.
func FromHeader(s string) (http.Header, error) {
	if s == "" {
		return nil, nil
	}
	var list [][]text
	if err := json.Unmarshal([]byte(s), &list); err != nil {
		return nil, err
	}
	h := http.Header{}
	for _, line := range list {
		if len(line) == 0 {
			return nil, fmt.Errorf("a header without a name")
		}
		values := make([]string, 0, len(line)-1)
		for _, v := range line[1:] {
			values = append(values, string(v))
		}
		h[string(line[0])] = values
	}
	return h, nil
}

// outcome is contract.Outcome in JSON. Statuses and sources are words, so that
// their numbers may change.
type outcome struct {
	Status     string        `json:"status"`
	NoResend   bool          `json:"no_resend,omitempty"`
	Replayed   bool          `json:"replayed,omitempty"`
	Resource   text          `json:"resource,omitempty"`
	State      text          `json:"state,omitempty"`
	Code       text          `json:"code,omitempty"`
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
	RequestID  text          `json:"request_id,omitempty"`
	Reason     text          `json:"reason,omitempty"`
	Source     string        `json:"source"`
}

// verdict is contract.Verdict in JSON.
type verdict struct {
	outcome
	Last      outcome `json:"last"`
	Attempts  int     `json:"attempts"`
	Resources []text  `json:"resources,omitempty"`
	Confirmed bool    `json:"confirmed,omitempty"`
}

// Verdict returns v as JSON.
func Verdict(v contract.Verdict) (string, error) {
	if !v.Status.Valid() || !v.Last.Status.Valid() {
		return "", fmt.Errorf("a verdict with a status that does not exist")
	}
	doc := verdict{outcome: fromOutcome(v.Outcome), Last: fromOutcome(v.Last), Attempts: v.Attempts, Confirmed: v.Confirmed}
	for _, r := range v.Resources {
		doc.Resources = append(doc.Resources, text(r))
	}
	out, err := json.Marshal(doc)
	return string(out), err
}

// FromVerdict returns the verdict that Verdict was given. A word that it does not
// know is an error: the zero status would say less than was known.
func FromVerdict(s string) (v contract.Verdict, err error) {
	var doc verdict
	if err := json.Unmarshal([]byte(s), &doc); err != nil {
		return contract.Verdict{}, err
	}
	if v.Outcome, err = doc.outcome.outcome(); err != nil {
		return contract.Verdict{}, err
	}
	if v.Last, err = doc.Last.outcome(); err != nil {
		return contract.Verdict{}, err
	}
	v.Attempts, v.Confirmed = doc.Attempts, doc.Confirmed
	for _, r := range doc.Resources {
		v.Resources = append(v.Resources, string(r))
	}
	return v, nil
}

// event is journal.Event in JSON. It has the fields of that type, which imports no
// JSON of its own.
type event struct {
	At         int64         `json:"at_us"` // microseconds since 1970
	Took       time.Duration `json:"took_ns,omitempty"`
	Kind       text          `json:"kind"`
	Attempt    int           `json:"attempt,omitempty"`
	StatusCode int           `json:"http_status,omitempty"`
	Status     string        `json:"status"`
	Code       text          `json:"code,omitempty"`
	Resource   text          `json:"resource,omitempty"`
	RequestID  text          `json:"request_id,omitempty"`
	Reason     text          `json:"reason,omitempty"`
}

// Event is a journal.Event, which this package cannot import.
type Event struct {
	At                                time.Time
	Took                              time.Duration
	Kind                              string
	Attempt, StatusCode               int
	Status                            contract.Status
	Code, Resource, RequestID, Reason string
}

// History returns events as a JSON list, "" for none.
func History(events []Event) (string, error) {
	if len(events) == 0 {
		return "", nil
	}
	list := make([]event, len(events))
	for i, e := range events {
		if !e.Status.Valid() {
			return "", fmt.Errorf("an event with a status that does not exist")
		}
		list[i] = event{e.At.UnixMicro(), e.Took, text(e.Kind), e.Attempt, e.StatusCode, e.Status.String(),
			text(e.Code), text(e.Resource), text(e.RequestID), text(e.Reason)}
	}
	out, err := json.Marshal(list)
	return string(out), err
}

// FromHistory returns the events that History was given.
func FromHistory(s string) ([]Event, error) {
	if s == "" {
		return nil, nil
	}
	var list []event
	if err := json.Unmarshal([]byte(s), &list); err != nil {
		return nil, err
	}
	events := make([]Event, len(list))
	for i, e := range list {
		status, err := named[contract.Status](e.Status)
		if err != nil {
			return nil, err
		}
		events[i] = Event{time.UnixMicro(e.At).UTC(), e.Took, string(e.Kind), e.Attempt, e.StatusCode, status,
			string(e.Code), string(e.Resource), string(e.RequestID), string(e.Reason)}
	}
	return events, nil
}

func fromOutcome(o contract.Outcome) outcome {
	return outcome{
		Status: o.Status.String(), NoResend: o.NoResend, Replayed: o.Replayed,
		Resource: text(o.Resource), State: text(o.State), Code: text(o.Code), RetryAfter: o.RetryAfter,
		RequestID: text(o.RequestID), Reason: text(o.Reason), Source: o.Source.String(),
	}
}

func (o outcome) outcome() (contract.Outcome, error) {
	status, err := named[contract.Status](o.Status)
	if err != nil {
		return contract.Outcome{}, err
	}
	source, err := named[contract.Evidence](o.Source)
	if err != nil {
		return contract.Outcome{}, err
	}
	return contract.Outcome{
		Status: status, NoResend: o.NoResend, Replayed: o.Replayed,
		Resource: string(o.Resource), State: string(o.State), Code: string(o.Code), RetryAfter: o.RetryAfter,
		RequestID: string(o.RequestID), Reason: string(o.Reason), Source: source,
	}, nil
}

// named returns the value with the given name.
func named[T interface {
	~uint8
	String() string
}](word string) (T, error) {
	for i := range 256 {
		if T(i).String() == word {
			return T(i), nil
		}
	}
	return 0, fmt.Errorf("%q, which this version does not know", word)
}

// Package explain says what an answer means for the money: its status, the next step,
// and the documented rule behind it.
package explain

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/cmd/idempact/internal/answer"
	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/internal/catalog"
)

// Explanation is what one answer means.
type Explanation struct {
	Provider string `json:"provider"`
	Guess    string `json:"guess,omitempty"` // why this provider
	Format   string `json:"format"`
	Request  string `json:"request"`           // "POST /payments"
	Assumed  string `json:"assumed,omitempty"` // what was taken for granted of the request

	Status     string `json:"status"`
	Effect     string `json:"effect"` // applied, none or maybe
	Meaning    string `json:"meaning"`
	Next       string `json:"next"` // finish, resend, resolve, look up or correct
	Advice     string `json:"advice"`
	NewKey     bool   `json:"new_key_allowed"`
	Wait       string `json:"wait,omitempty"`
	WaitMillis int64  `json:"wait_ms,omitempty"`

	Answer    int    `json:"answer"` // HTTP status
	Code      string `json:"code,omitempty"`
	Resource  string `json:"resource,omitempty"`
	State     string `json:"state,omitempty"`
	Replayed  bool   `json:"replayed,omitempty"`
	NoResend  bool   `json:"no_resend,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	Reason    string `json:"reason"`

	Rule    string   `json:"rule,omitempty"` // a documented exchange that it is like
	Sources []Source `json:"sources"`
	Else    []Other  `json:"otherwise,omitempty"` // what it would mean as the answer to other requests
}

// Other is what the answer would mean to other requests.
type Other struct {
	Status   string   `json:"status"`
	Requests []string `json:"requests"`
}

// Source is where the rule, or else the provider's contract, was read.
type Source struct {
	URL  string `json:"url"`
	Read string `json:"read"`
}

// reading is what the answer is to one request.
type reading struct {
	name    string // "POST /payments"
	call    contract.Call
	terms   contract.Terms
	outcome contract.Outcome
}

// Explain reads the answer as the provider's. Where the input does not show the request,
// it is read as the answer to each kind of request that the adapter knows, and the
// likeliest is taken: that is said.
func Explain(p catalog.Provider, a *answer.Answer) (*Explanation, error) {
	adapter := p.New()
	readings, err := readAll(adapter, a)
	if err != nil {
		return nil, err
	}
	best, others, sure := choose(readings)
	x := describe(adapter, best, a)
	x.Provider = p.Name
	switch {
	case a.Method != "":
	case sure:
		x.Assumed = "the request is not shown; " + best.name + " is assumed, with a key where one is honoured"
	default:
		x.Assumed = "the request is not shown, and what the answer means depends on it"
	}
	for _, r := range others {
		if r.outcome.Status != best.outcome.Status {
			x.otherwise(r)
		}
	}
	rule(p, x, best, a)
	return x, nil
}

func (x *Explanation) otherwise(r reading) {
	status := r.outcome.Status.String()
	i := slices.IndexFunc(x.Else, func(o Other) bool { return o.Status == status })
	if i < 0 {
		i, x.Else = len(x.Else), append(x.Else, Other{Status: status})
	}
	x.Else[i].Requests = append(x.Else[i].Requests, r.name)
}

// readAll reads the answer to its request, or to one of each endpoint.
func readAll(adapter contract.Adapter, a *answer.Answer) ([]reading, error) {
	list, ok := adapter.(contract.Catalog)
	if !ok || len(list.Endpoints()) == 0 {
		return nil, fmt.Errorf("%s lists no endpoint", adapter.Name())
	}
	endpoints := list.Endpoints()
	if a.Method != "" {
		endpoints = endpoints[:1]
	}
	var all []reading
	for _, e := range endpoints {
		r, err := read(adapter, e, a)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func read(adapter contract.Adapter, e contract.Endpoint, a *answer.Answer) (reading, error) {
	key := exampleKey(a)
	req, err := e.Request(key, 100)
	if err != nil {
		return reading{}, err
	}
	var body []byte
	if req.Body != nil {
		if body, err = io.ReadAll(req.Body); err != nil {
			return reading{}, err
		}
	}
	c := a.Call(req, body)
	t := adapter.Terms(c)
	if a.Method == "" && t.KeyHeader != "" {
		c.Request.Header.Set(t.KeyHeader, t.FormatKey(key))
	}
	c.Key = carried(t, c)
	c.FirstSent = time.Now()
	reply := a.Reply()
	reply.At = time.Now()
	o := adapter.Classify(c, reply)
	if !o.Status.Valid() {
		o.Status = contract.Unknown
	}
	return reading{c.Request.Method + " " + c.Request.URL.EscapedPath(), c, t, o}, nil
}

// exampleKey is the key of a request that is not shown. Where the answer names an id
// that may be the caller's own, that is it.
func exampleKey(a *answer.Answer) string {
	if o, err := contract.DecodeObject(a.Body); err == nil {
		for _, path := range []string{"data.uid", "request_id", "idempotency_key"} {
			if s := contract.Word(o.Text(path)); s != "" {
				return s
			}
		}
	}
	return contract.KeyFor("example")
}

// carried returns the key that a request carries.
func carried(t contract.Terms, c contract.Call) string {
	if t.KeyField == "" {
		if t.KeyHeader == "" {
			return ""
		}
		key, _ := t.ParseKey(contract.HeaderValue(c.Request.Header, t.KeyHeader)) // a malformed one is none
		return key
	}
	o, err := contract.DecodeObject(c.Body)
	if err != nil {
		return ""
	}
	return o.Text(t.KeyField)
}

// choose takes the first reading that is not Unknown. Where two such readings disagree
// the answer by itself proves nothing, and what it proves for whom is listed.
func choose(all []reading) (best reading, others []reading, sure bool) {
	i := max(0, slices.IndexFunc(all, func(r reading) bool { return r.outcome.Status != contract.Unknown }))
	best, sure = all[i], true
	for j, r := range all {
		if j != i {
			others = append(others, r)
		}
		if r.outcome.Status != contract.Unknown && r.outcome.Effect() != best.outcome.Effect() {
			sure = false
		}
	}
	if !sure {
		others = append([]reading{best}, others...)
		best.outcome = contract.Outcome{Reason: "the answer means one thing to one request and another to another: show the request with --request or --to",
			RetryAfter: best.outcome.RetryAfter, RequestID: best.outcome.RequestID, Code: best.outcome.Code}
	}
	return best, others, sure
}

func describe(adapter contract.Adapter, r reading, a *answer.Answer) *Explanation {
	o := r.outcome
	step := catalog.NextStep(r.terms, o)
	x := &Explanation{
		Format: a.Format, Request: r.name, Answer: a.Status,
		Status: o.Status.String(), Effect: o.Effect().String(), Meaning: meanings[o.Status],
		Next: step.String(), NewKey: o.AllowsNewKey(),
		Code: contract.Word(o.Code), Resource: words(o.Resource), State: contract.Word(o.State), Replayed: o.Replayed, NoResend: o.NoResend,
		RequestID: contract.Word(o.RequestID), Reason: o.Reason,
	}
	if o.RetryAfter > 0 {
		x.Wait, x.WaitMillis = o.RetryAfter.String(), o.RetryAfter.Milliseconds()
	}
	x.Advice = advice(adapter, r, step)
	return x
}

// words keeps references that are words each; several are joined by a comma.
func words(s string) string {
	for part := range strings.SplitSeq(s, ", ") {
		if part != "an unusable reference" && contract.Word(part) == "" {
			return ""
		}
	}
	return s
}

// meanings say what a status means for the money.
var meanings = [...]string{
	contract.Unknown:     "The money may have moved or not: this answer does not tell. It is no failure.",
	contract.Succeeded:   "It took effect: the provider shows it.",
	contract.Duplicate:   "It has taken effect already: an earlier request did it. It is no failure.",
	contract.InProgress:  "It may be taking effect: an earlier request is still being worked on.",
	contract.NotExecuted: "This attempt moved nothing. Of an earlier attempt it says nothing.",
	contract.Declined:    "No money moved: the provider carried it out and refused it, for good.",
	contract.Rejected:    "This attempt moved nothing: it was refused before it was carried out. Of an earlier attempt it says nothing.",
	contract.KeyReused:   "This attempt moved nothing: its key belongs to another request. Of that other one it says nothing.",
	contract.KeySpent:    "The money may have moved or not, and this key can no longer tell.",
}

// advice says the next step in words.
func advice(adapter contract.Adapter, r reading, step contract.Step) string {
	o := r.outcome
	after := ""
	if o.RetryAfter > 0 {
		after = ", not before " + o.RetryAfter.String() + " are over"
	}
	switch step {
	case contract.Finish:
		if o.Status == contract.Declined {
			return "Nothing more to do under this key. Another try is a new operation with a new key."
		}
		if o.Status == contract.NotExecuted {
			return "The provider says that sending it again cannot help."
		}
		return "Nothing more to do: keep the reference with the order."
	case contract.Resend:
		s := "Send the same bytes with the same key again" + after
		if r.terms.HonoursKeys() && o.Effect() == contract.EffectMaybe {
			s += freshness(r.terms)
		}
		if !r.terms.HonoursKeys() && o.Effect() == contract.EffectNone {
			s = "It may be sent again" + after
		}
		return s + newKey(o)
	case contract.Resolve:
		s := "Fetch what exists and compare it with what was asked"
		if resolver, ok := adapter.(contract.Resolver); ok {
			if req, err := resolver.ResolveRequest(context.Background(), r.call, o); err == nil && req != nil {
				s += ": GET " + req.URL.EscapedPath()
			}
		}
		return s + newKey(o)
	case contract.Correct:
		if o.Status == contract.KeyReused {
			return "Find out which request has the key before anything else is sent" + newKey(o)
		}
		return "Correct the request; sending it again as it is cannot help."
	default:
		s := "Look it up, and do not send it again"
		if _, ok := adapter.(contract.Finder); ok {
			s += ": the client's Sweep does so, where it has a journal"
		}
		return s + newKey(o)
	}
}

func newKey(o contract.Outcome) string {
	if o.AllowsNewKey() {
		return "."
	}
	return ". Never under a new key: that may pay twice."
}

// freshness says for how long a key may be used.
func freshness(t contract.Terms) string {
	switch t.Retention {
	case contract.RetentionForever:
		return ""
	case 0:
		return " while the key is young: for how long it is remembered is not published"
	default:
		return fmt.Sprintf(" while the key is younger than %v (it is remembered for %v)",
			short(t.Retention-min(time.Hour, t.Retention/4)), short(t.Retention))
	}
}

func short(d time.Duration) string {
	s := strings.TrimSuffix(d.String(), "0s")
	return strings.TrimSuffix(s, "0m")
}

// ExitCode returns the effect as an exit status: 0 applied, and else what it is given.
func (x *Explanation) ExitCode(maybe, none int) int {
	switch x.Effect {
	case contract.EffectApplied.String():
		return 0
	case contract.EffectNone.String():
		return none
	default:
		return maybe
	}
}

package ietf

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

// Classify says what one reply revealed.
func (a *Adapter) Classify(c contract.Call, r contract.Reply) contract.Outcome {
	o := a.decide(c, r)
	o.RequestID = contract.Word(contract.HeaderValue(r.Header, a.api.IDHeader))
	switch o.Status {
	case contract.Unknown, contract.InProgress, contract.NotExecuted:
		o.RetryAfter = a.wait(o.Status, r)
		o.NoResend = strings.EqualFold(contract.HeaderValue(r.Header, a.api.AdviceHeader), "false")
	}
	return o
}

// wait returns the longest wait that any header asks for, Retry-After among them.
func (a *Adapter) wait(s contract.Status, r contract.Reply) time.Duration {
	longest := r.Wait()
	for _, name := range a.api.Terms.WaitHeaders {
		longest = max(longest, r.WaitIn(name, time.Second))
	}
	if s == contract.InProgress {
		longest = max(longest, a.api.Terms.MinWait)
	}
	return longest
}

func (a *Adapter) decide(c contract.Call, r contract.Reply) contract.Outcome {
	body, _ := contract.DecodeObject(r.Body)
	code := codeOf(body, a.api.Code)
	bare, _ := a.meaning(c, contract.Answer{Status: r.StatusCode})
	if r.StatusCode == http.StatusTooManyRequests && bare == contract.NotExecuted && !a.coded(r.StatusCode) {
		// A limiter stands before execution, where the API says so and has nothing else to
		// say with it, and its status is the whole message. RFC 6585, section 4 (read 2026-11-29).
		return contract.Outcome{Status: bare, Reason: reasons[bare]}
	}
	if o, none := contract.NoAnswer(r); none {
		return o
	}
	if slices.Contains(a.api.Successes, r.StatusCode) {
		return a.success(c, r, body)
	}
	status, one := a.meaning(c, contract.Answer{Status: r.StatusCode, Code: contract.Word(code)})
	o := contract.Outcome{Code: contract.Word(code), Replayed: a.marked(r)}
	switch {
	case !one:
		o.Reason = "the API is described with two meanings of this answer"
	case status != contract.InProgress && code == "" && !problem(r, body):
		// A proxy on the way has pages with these statuses, too.
		o.Reason = "no error in the API's own form"
	default:
		o.Status, o.Reason = status, reasons[status]
	}
	return o
}

// reasons say what an answer is taken for.
var reasons = map[contract.Status]string{
	contract.Unknown:     "not an answer that the API is described with",
	contract.Duplicate:   "an earlier request with this key took effect",
	contract.InProgress:  "an earlier request with this key is being worked on",
	contract.NotExecuted: "turned away before execution",
	contract.Declined:    "executed and refused",
	contract.Rejected:    "refused before execution",
	contract.KeyReused:   "the key belongs to another request",
	contract.KeySpent:    "the API keeps an error under its key, and this one does not tell what took effect",
}

// success reads an answer that should show the resource.
func (a *Adapter) success(c contract.Call, r contract.Reply, body contract.Object) contract.Outcome {
	o := contract.Outcome{Resource: a.reference(r, body), State: contract.Word(body.Text(a.api.State)), Replayed: a.marked(r)}
	asked, _ := contract.DecodeObject(c.Body) // a form has nothing to compare
	switch {
	case o.Resource == "":
		return contract.Outcome{Reason: "a success that shows no resource"}
	case !contract.Compare(a.api.Echoes, asked, body).Equal():
		// It may be the answer to another request with this key.
		o.Status, o.Reason = contract.Duplicate, "a resource is shown that is not confirmed to be what was asked"
	case slices.Contains(a.api.Refused, o.State):
		o.Status, o.Reason = contract.Declined, "executed and refused; the resource says so"
	default:
		o.Status, o.Reason = contract.Succeeded, "the resource is shown"
	}
	return o
}

// reference returns what a success calls its resource, or "".
func (a *Adapter) reference(r contract.Reply, body contract.Object) (ref string) {
	if a.api.Resource != "" {
		ref = contract.Word(body.Text(a.api.Resource))
	}
	if ref == "" && len(bytes.TrimSpace(r.Body)) == 0 { // a page is no success, whatever its headers say
		if u, err := url.Parse(contract.HeaderValue(r.Header, a.api.Location)); err == nil {
			ref = contract.Word(u.Path[strings.LastIndex(u.Path, "/")+1:])
		}
	}
	return ref
}

// marked reports whether the answer is marked as a stored one.
func (a *Adapter) marked(r contract.Reply) bool {
	return strings.EqualFold(contract.HeaderValue(r.Header, a.api.Terms.ReplayMarker), "true")
}

// meaning returns what the API is described to mean by an answer, and whether that is
// one meaning. An answer with its code holds before one without.
func (a *Adapter) meaning(c contract.Call, got contract.Answer) (contract.Status, bool) {
	for _, want := range []contract.Answer{got, {Status: got.Status}} {
		var all []contract.Status
		add := func(answers []contract.Answer, s contract.Status) {
			if slices.Contains(answers, want) && !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
		if c.Key == "" {
			add(a.api.Missing, contract.Rejected)
		} else if a.knows(c.Request) {
			add(a.api.Terms.RepeatAnswers, contract.Duplicate)
			add(a.api.Terms.InFlightAnswers, contract.InProgress)
			add(a.api.Terms.MismatchAnswers, contract.KeyReused)
		}
		switch s := a.api.Answers[want]; s {
		case contract.NotExecuted, contract.Declined, contract.Rejected, contract.KeySpent:
			add([]contract.Answer{want}, s)
		}
		if len(all) > 0 {
			return all[0], len(all) == 1
		}
	}
	return contract.Unknown, true
}

// coded reports whether the API is described to tell answers of a status apart by code.
func (a *Adapter) coded(status int) bool {
	known := slices.Concat(a.api.Missing, a.api.Terms.RepeatAnswers, a.api.Terms.InFlightAnswers, a.api.Terms.MismatchAnswers, slices.Collect(maps.Keys(a.api.Answers)))
	return slices.ContainsFunc(known, func(x contract.Answer) bool { return x.Status == status && x.Code != "" })
}

// problem reports whether the answer is an error as RFC 9457 has it, or leads to the
// documentation of one, which the draft lets stand for a body.
func problem(r contract.Reply, body contract.Object) bool {
	media, _, _ := strings.Cut(contract.HeaderValue(r.Header, "Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/problem+json") && body.Text("title") != "" ||
		slices.ContainsFunc(contract.HeaderValues(r.Header, "Link"), func(v string) bool {
			return strings.Contains(strings.ReplaceAll(v, `"`, ""), "rel=describedby")
		})
}

// codeOf returns an error's code; of a URL, as a problem's type is one, what follows its
// last # or /.
func codeOf(body contract.Object, path string) string {
	if path == "" {
		return ""
	}
	code, _ := contract.Scalar(body.At(path))
	return code[strings.LastIndexAny(code, "#/")+1:]
}

package cases_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/retry"
)

// problems collects what is wrong, so that a story can be judged outside a test.
type problems []string

func (p *problems) add(bad bool, format string, args ...any) {
	if bad {
		*p = append(*p, fmt.Sprintf(format, args...))
	}
}

// check says what of a story is not as the case wants it.
func (s *told) check() []string {
	var p problems
	for _, f := range s.faults {
		p.add(true, "%s", f)
	}
	s.checkStatus(&p)
	s.checkResponse(&p)
	s.checkSends(&p)
	s.checkWaits(&p)
	for i, x := range p {
		p[i] = fmt.Sprintf("%s, %s: %s", s.via, s.framing, x)
	}
	return p
}

// checkStatus judges the verdict and the error.
func (s *told) checkStatus(p *problems) {
	w, v := s.c.want, s.verdict
	resolved := s.resolved()
	p.add(s.status() != w.status && !resolved, "the operation is %v, want %v: %v", s.status(), w.status, v.Reason)
	p.add(resolved && s.shown == 0, "called a success, and nothing was fetched to compare")
	p.add(s.status() == contract.Duplicate && s.shown > 0 && len(s.c.shows) == 0,
		"the resource was shown as it was asked for, and is not confirmed: %s", v.Reason)
	if s.via == "Do" {
		p.add((s.err == nil) != (v.Status == contract.Succeeded), "verdict %v with error %v", v.Status, s.err)
	}
	if s.err != nil {
		p.add(!errors.Is(s.err, v.Status), "errors.Is does not find %v in %v", v.Status, s.err)
		p.add(s.via == "Do" && retry.OutcomeOf(s.err).Status != v.Status, "the error says %v", retry.OutcomeOf(s.err).Status)
	}
	cancelled := slices.ContainsFunc(s.c.replies[:min(len(s.sends), len(s.c.replies))], func(r reply) bool { return r.transport == "cancel" })
	p.add(cancelled != errors.Is(s.err, context.Canceled), "cancelled %v, and the error says %v", cancelled, s.err)
	p.add(errors.Is(s.err, context.DeadlineExceeded), "an attempt's own limit looks like the caller's deadline: %v", s.err)
	p.add(v.RetryAfter < 0, "a negative wait: %v", v.RetryAfter)
	if s.via != "Do" && s.err == nil {
		return // an http.Client gives no outcome
	}
	told := v.Outcome
	if resolved { // the code is that of the reply that named the resource
		told.Code = s.lastOutcome().Code
	}
	p.add(w.resource != nil && told.Resource != *w.resource, "resource %q, want %q", told.Resource, deref(w.resource))
	p.add(w.code != nil && told.Code != *w.code, "code %q, want %q", told.Code, deref(w.code))
	p.add(w.replayed != nil && told.Replayed != *w.replayed, "replayed %v, want %v", told.Replayed, !told.Replayed)
}

// resolved reports whether a Duplicate was told to be a success, which is as good
// where the case leaves it to the client what a fetch shows.
func (s *told) resolved() bool {
	return s.c.want.status == contract.Duplicate && s.status() == contract.Succeeded && len(s.c.shows) == 0
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// status returns what the caller was told: through an http.Client, a response
// stands for what the case wants, and checkResponse sees whether it may.
func (s *told) status() contract.Status {
	if s.via == "Do" || s.err != nil {
		return s.verdict.Status
	}
	switch s.c.want.status {
	case contract.Declined, contract.Rejected, contract.KeyReused:
		// A decline may be a 2xx that says so in its body (Adyen, Square).
		if s.resp.StatusCode >= 400 || s.lastOutcome().Status == s.c.want.status {
			return s.c.want.status
		}
	}
	if s.resp.StatusCode >= 400 { // of a status that no SDK may see as a response
		return s.lastOutcome().Status
	}
	return contract.Succeeded
}

func (s *told) lastOutcome() contract.Outcome {
	for _, e := range slices.Backward(s.events) {
		if e.Step == contract.Resend {
			return e.Outcome
		}
	}
	return contract.Outcome{}
}

// checkResponse sees that an http.Client was given a response only where nothing
// is in doubt, and that a response is the provider's own.
func (s *told) checkResponse(p *problems) {
	if s.via == "Do" && s.err != nil || s.resp == nil {
		return
	}
	last := s.c.reply(len(s.sends) - 1)
	same := s.resp.StatusCode == last.code && bytes.Equal(s.body, last.decoded())
	p.add(!same && (s.shown == 0 || s.resp.StatusCode != http.StatusOK),
		"the response %d %q is not the last reply", s.resp.StatusCode, s.body)
	switch s.c.want.status {
	case contract.Succeeded, contract.Duplicate, contract.Declined, contract.Rejected, contract.KeyReused:
		p.add(s.via != "Do" && s.resp.StatusCode >= 400 && last.each != s.c.want.status,
			"an SDK sees a response, %d, which does not say %v by itself", s.resp.StatusCode, s.c.want.status)
	default:
		p.add(s.via != "Do", "an SDK sees a response, %d, where the operation is %v", s.resp.StatusCode, s.c.want.status)
	}
}

// checkSends judges what came to the server: how often, and that it was one
// request every time, under the one key that the caller gave.
func (s *told) checkSends(p *problems) {
	w, n := s.c.want, len(s.sends)
	p.add(n > w.maxSends || n < w.minSends, "%d sends (%s), want %d to %d", n, s.log(), w.minSends, w.maxSends)
	attempts := 0
	for _, e := range s.events {
		if e.Step == contract.Resend {
			attempts++
		}
	}
	p.add(attempts != n, "the client told of %d attempts, and there were %d sends", attempts, n)
	p.add(s.via == "Do" && s.verdict.Attempts != n, "the verdict counts %d attempts of %d", s.verdict.Attempts, n)
	var first *send
	for i := range s.sends {
		got := &s.sends[i]
		if got.dialFailed {
			continue
		}
		if first == nil {
			first = got
		}
		p.add(i == 0 && got.conn != 1, "the first send did not take the open connection")
		p.add(!bytes.Equal(got.body, s.c.request.body), "send %d has another body: %q", i+1, got.body)
		p.add(got.head != first.head, "send %d has another head:\n%s", i+1, got.head)
		for _, f := range s.c.request.header {
			if strings.EqualFold(f.name, "Accept-Encoding") {
				continue // the transport's own: it must be able to decode the answer
			}
			want, have := s.c.request.values(f.name), contract.HeaderValues(got.header, f.name)
			p.add(!slices.Equal(want, have), "send %d carries %s %q, and %q was asked", i+1, f.name, have, want)
		}
		key := "Idempotency-Key"
		if s.terms.KeyHeader != "" {
			key = s.terms.KeyHeader
		}
		keys := contract.HeaderValues(got.header, key)
		p.add(len(keys) > 1, "send %d carries %d keys", i+1, len(keys))
		p.add(len(keys) == 1 && len(s.c.request.values(key)) == 0, "send %d carries a key that the caller did not give", i+1)
		p.add(w.keyKept && s.terms.KeyHeader != "" && len(keys) == 0, "send %d carries no key", i+1)
	}
}

// checkWaits sees that the provider's wait is a floor and is handed back if it is
// not sat out, and that our own wait is there.
func (s *told) checkWaits(p *problems) {
	for i := 1; i < len(s.sends); i++ {
		gap := s.sends[i].at.Sub(s.sends[i-1].at)
		least, most := minWait, maxWait
		if before := s.c.reply(i - 1); !before.asksToWait(s.terms) {
			most = minWait << i // our own back-off
			if before.transport == "timeout" {
				least, most = least+attemptTimeout, most+attemptTimeout
			}
		}
		p.add(gap < least || gap > most, "send %d came %v after the one before, and not between %v and %v", i+1, gap, least, most)
	}
	asking := slices.IndexFunc(s.c.replies, func(r reply) bool { return r.asksToWait(s.terms) })
	if !s.c.want.waits || asking < 0 {
		return
	}
	if asking+1 < len(s.sends) {
		gap := s.sends[asking+1].at.Sub(s.sends[asking].at)
		p.add(gap < s.c.want.wait, "sent again after %v, asked were %v", gap, s.c.want.wait)
		return
	}
	p.add(!s.verdict.Settled() && s.verdict.RetryAfter < s.c.want.wait,
		"stopped and handed back a wait of %v, asked were %v", s.verdict.RetryAfter, s.c.want.wait)
}

// asksToWait reports whether the reply has a header that may ask for a wait, or is an
// answer in flight for which the documents do.
func (r reply) asksToWait(t contract.Terms) bool {
	return len(r.waits(t)) > 0 || t.MinWait > 0 && r.each == contract.InProgress
}

// waits returns the values of all headers that may ask for a wait.
func (r reply) waits(t contract.Terms) (all []string) {
	for _, name := range append([]string{"Retry-After"}, t.WaitHeaders...) {
		all = append(all, r.values(name)...)
	}
	return all
}

// checkReplies asks the adapter about each reply by itself, with headers as they
// stand and in other spellings.
func checkReplies(c acceptanceCase, a contract.Adapter) []string {
	var p problems
	asked := false
	for i, r := range c.replies {
		floor := time.Duration(0)
		if !asked && r.asksToWait(a.Terms(newCall(c, a))) {
			asked, floor = true, c.want.wait
		}
		for name, given := range r.given() {
			call := newCall(c, a)
			call.FirstSent = given.At.Add(-time.Minute)
			o := a.Classify(call, given)
			p.add(o.Status != r.each, "reply %d, %s: %v, want %v (%s)", i+1, name, o.Status, r.each, o.Reason)
			p.add(o.RetryAfter < 0, "reply %d, %s: a negative wait: %v", i+1, name, o.RetryAfter)
			p.add(o.RetryAfter < floor, "reply %d, %s: wait %v, asked were %v", i+1, name, o.RetryAfter, floor)
		}
	}
	return p
}

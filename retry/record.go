package retry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal"
)

const (
	storeTime   = 10 * time.Second       // for storing a verdict, after the caller's context too
	storeTries  = 5                      // of which the journal's errors may take so many
	storeWait   = 100 * time.Millisecond // before the second; each further wait is twice as long
	ignoredSkew = 2 * time.Second        // clocks differ by so much
)

// hold is a flight's lease on its entry.
type hold struct {
	holder string
	entry  journal.Entry // as it was stored last, by us
	lost   error         // why nothing more may be sent
	swept  bool          // it is a sweep's
}

func (h *hold) isLost() bool { return h != nil && h.lost != nil }

// clear is asked just before a send: the key is young, and the lease covers what
// is to come.
func (f *flight) clear(ctx context.Context) error {
	if err := f.fresh(); err != nil || f.hold == nil {
		return err
	}
	h := f.hold
	now := time.Now()
	if h.lost != nil || h.entry.Lease.Until.Sub(now) >= f.client.options.AttemptTimeout+leaseRest {
		return h.lost
	}
	next := h.entry
	next.Lease.Until = now.Add(leaseTime)
	next.Due, next.Updated = next.Lease.Until, now
	next.Verdict, next.Skew = f.verdict, f.skew
	renewed, err := f.client.options.Journal.Update(ctx, next)
	if err != nil {
		h.lost = fmt.Errorf("the lease could not be renewed: %w", err)
		f.causes = append(f.causes, h.lost)
		return h.lost
	}
	h.entry = renewed
	return nil
}

// noteSkew compares the provider's clock with ours: the age of a key is what both
// make of it.
func (f *flight) noteSkew(started time.Time, r contract.Reply) {
	date, err := http.ParseTime(contract.HeaderValue(r.Header, "Date"))
	if err != nil {
		return
	}
	if off := max(started.Sub(date), date.Sub(r.At)); off >= ignoredSkew {
		f.skew = max(f.skew, off)
	}
}

// conclude stores what the run came to, durably, before anybody is told. Where that
// fails, nobody is told more than that it is not known.
func (f *flight) conclude(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	if unknown(f.verdict) {
		f.verdict = contract.Fold(f.verdict, contract.Outcome{Reason: "the run ended before it could tell what came of it"})
	}
	store, base := f.client.options.Journal, f.hold.entry
	for try := 1; ; try++ {
		next, told, write := f.merged(base)
		var err error
		if write {
			_, err = store.Update(ctx, next)
		}
		if err == nil {
			f.follow(told, next.Response)
			return
		}
		// Somebody else wrote; or it was we, and only the answer was lost.
		now, unreadable := store.Get(ctx, base.ID)
		if unreadable == nil {
			base = now
		}
		if unreadable == nil && errors.Is(err, journal.ErrConflict) {
			continue
		}
		if try >= storeTries || !sleep(ctx, storeWait<<(try-1)) {
			f.unrecorded(err)
			return
		}
	}
}

// follow makes the verdict the flight's, and the answer the one that it rests on: what
// this run was answered does not show what somebody else found out.
func (f *flight) follow(v contract.Verdict, r journal.Response) {
	if final(v) && v.Outcome != f.verdict.Outcome && !f.verdict.Confirmed {
		f.last = answerOf(r)
	}
	f.verdict = v
}

// unrecorded takes back what the journal does not know, but for the wait that the
// provider asked for: nobody else can tell it.
func (f *flight) unrecorded(err error) {
	f.causes = append([]error{&UnrecordedError{Verdict: own(f.verdict), Err: err}}, f.causes...)
	f.verdict = contract.Verdict{Attempts: f.verdict.Attempts, Outcome: contract.Outcome{
		RetryAfter: max(f.verdict.RetryAfter, time.Until(f.floor)),
		Reason:     "what came of it could not be recorded in the journal; the cause has it",
	}}
}

// merged returns what the stored entry becomes, what the caller is told, and whether
// there is anything to write: the one place that decides what of two writers holds.
func (f *flight) merged(base journal.Entry) (next journal.Entry, told contract.Verdict, write bool) {
	now := time.Now()
	next = base
	next.Skew, next.Updated = max(base.Skew, f.skew), now
	next.Remember(f.events...)
	if base.Lease.Holder != f.hold.holder {
		return f.mergedLate(next, now)
	}
	next.Verdict = f.verdict
	if base.Version != f.hold.entry.Version {
		next.Verdict = combined(base.Verdict, f.verdict)
	}
	f.keepAnswer(&next, base)
	next.Settled, next.Lease = settled(next.Verdict), journal.Lease{}
	if f.hold.swept {
		next.Sweeps++
	}
	next.Due = due(now, next.Sweeps, next.Verdict)
	return next, next.Verdict, true
}

// mergedLate is merged for a lease that has passed to somebody else, or was given
// back. An effect that is learned late is recorded, and so is the doubt that a late
// send leaves; nothing else, since they know more, or will.
func (f *flight) mergedLate(next journal.Entry, now time.Time) (journal.Entry, contract.Verdict, bool) {
	base, told := next, next.Verdict
	switch ours := f.verdict; {
	case ours.Effect() == contract.EffectApplied, ours.Status == contract.Declined:
		told = combined(told, ours)
		next.Verdict = told
	case ours.Effect() == contract.EffectMaybe:
		told = combined(told, ours)
		if f.hold.lost == nil {
			next.Verdict = told
		}
	}
	write := proves(next.Verdict) != proves(base.Verdict)
	open := base.Lease.Holder != "" && !base.Settled
	next.Settled = settled(next.Verdict) && (base.Settled || !open || final(next.Verdict))
	f.keepAnswer(&next, base)
	if open {
		told = contract.Fold(told, contract.Outcome{
			Status: contract.InProgress, RetryAfter: max(base.Lease.Until.Sub(now), 0),
			Reason: "another process has taken the operation over",
		})
	}
	told.Attempts = max(base.Verdict.Attempts, f.verdict.Attempts)
	return next, told, write
}

// proof is what two verdicts are compared by.
type proof struct {
	status    contract.Status
	confirmed bool
	resources string
}

func proves(v contract.Verdict) proof {
	return proof{v.Status, v.Confirmed, strings.Join(v.Resources, "\x00")}
}

// combined folds what we know into what somebody else wrote.
func combined(theirs, ours contract.Verdict) contract.Verdict {
	switch {
	case unknown(theirs):
		return ours
	case unknown(ours):
		return theirs
	}
	v := theirs
	for _, ref := range ours.Resources {
		if ref != ours.Resource {
			v = contract.Fold(v, contract.Outcome{Status: contract.Duplicate, Resource: ref, Source: contract.FromLookUp})
		}
	}
	o := ours.Outcome
	if ours.Confirmed {
		o.Status = contract.Succeeded // an alarm hides it
	}
	v = contract.Fold(v, o)
	v.Attempts = max(theirs.Attempts, ours.Attempts)
	v.Last = ours.Last
	return v
}

// settled reports whether nothing is left to find out: not of what did nothing
// either, although it may be tried again.
func settled(v contract.Verdict) bool {
	if v.Status == contract.Duplicate {
		return v.DuplicateEffect() != nil // a person must look; else it is yet to be compared
	}
	return v.Effect() != contract.EffectMaybe
}

// final reports whether no run of the operation can change a settled verdict.
func final(v contract.Verdict) bool {
	switch v.Status {
	case contract.NotExecuted, contract.Rejected:
		return false
	case contract.KeyReused:
		return v.Source == contract.FromLookUp
	default:
		return settled(v)
	}
}

// due returns when a sweep is to look at what is not settled.
func due(now time.Time, sweeps int, v contract.Verdict) time.Time {
	wait := 24*time.Hour + rand.N(2*time.Hour)
	if first := []time.Duration{time.Minute, 5 * time.Minute, time.Hour}; sweeps < len(first) {
		wait = first[sweeps]
	}
	return now.Add(max(wait, v.RetryAfter))
}

// keepAnswer puts the answer into the entry, if this run brought one and the
// verdict is this run's, or it shows the success that was known without an answer.
func (f *flight) keepAnswer(next *journal.Entry, base journal.Entry) {
	if f.last == nil || f.last.kept {
		return
	}
	shows := f.verdict.Confirmed && (!base.Verdict.Confirmed || base.Response.StatusCode == 0)
	if shows || next.Verdict.Outcome == f.verdict.Outcome {
		next.Response = journal.Response{
			StatusCode: f.last.head.StatusCode,
			Header:     keptHeader(f.last.head.Header, f.op.terms),
			Body:       bytes.Clone(f.last.body),
		}
	}
}

// unkept are the headers of an answer that concern the connection, or could be a
// secret.
//
// Source: RFC 9110, section 7.6.1 (read 2026-11-29).
var unkept = []string{
	"Authorization", "Cookie", "Set-Cookie", "Set-Cookie2", "Www-Authenticate", "Proxy-Authenticate", "Authentication-Info", "Proxy-Authentication-Info",
	"Connection", "Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// keptHeader returns the headers of an answer that the journal keeps. An answer may
// echo the credentials of its request.
func keptHeader(h http.Header, t contract.Terms) http.Header {
	drop := slices.Concat(unkept, t.CredentialHeaders)
	for _, v := range contract.HeaderValues(h, "Connection") {
		for name := range strings.SplitSeq(v, ",") {
			drop = append(drop, strings.TrimSpace(name))
		}
	}
	out := http.Header{}
	for name, values := range h {
		if !containsFold(drop, name) {
			out[name] = slices.Clone(values)
		}
	}
	return out
}

// answerOf returns a recorded answer, nil if there is none.
func answerOf(r journal.Response) *answer {
	if r.StatusCode == 0 {
		return nil
	}
	return &answer{
		head: http.Response{
			Status: fmt.Sprintf("%d %s", r.StatusCode, http.StatusText(r.StatusCode)), StatusCode: r.StatusCode,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: r.Header,
		},
		body: r.Body, omitted: r.Omitted, kept: true,
	}
}

package retry

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal"
)

const (
	leaseTime        = 2 * time.Minute  // how long a lease lasts
	leaseRest        = 10 * time.Second // what must be left of it after an attempt
	maxLeasedAttempt = 100 * time.Second

	// How often a flight looks whether another one's lease has ended.
	minPoll = 50 * time.Millisecond
	maxPoll = 2 * time.Second
)

// execute runs the operation, through the journal where there is one.
func (f *flight) execute(ctx context.Context) {
	if f.client.options.Journal == nil {
		f.run(ctx)
		return
	}
	f.started = time.Now()
	f.memory = memory{} // what an earlier flight left, the journal knows
	if f.claim(ctx) {
		f.runHeld(ctx)
	}
	if err := ctx.Err(); err != nil && len(f.causes) == 0 {
		f.causes = append(f.causes, err)
	}
}

// runHeld runs the operation under its lease and stores what it came to, also if a
// panic goes through.
func (f *flight) runHeld(ctx context.Context) {
	defer f.conclude(ctx)
	f.run(ctx)
}

// claim writes the operation ahead, or finds it written and decides about it: the
// one place that does. It reports whether the operation is this flight's to run;
// otherwise the verdict is there already.
func (f *flight) claim(ctx context.Context) (ours bool) {
	e, inserted, err := f.begin(ctx)
	for poll := minPoll; ; poll = min(2*poll, maxPoll) {
		switch {
		case err != nil:
			f.unread(err)
			return false
		case inserted:
			f.hold.entry = e
			return true
		case e.Fingerprint != f.op.fingerprint:
			f.refuse(ctx, e)
			return false
		}
		f.adopt(e)
		switch {
		case f.finished(e):
			f.replay()
			return false
		case e.Lease.Free(time.Now()):
			ours, err = f.resume(ctx, e)
			if ours || err == nil {
				return ours
			}
		case !f.await(ctx, e.Lease, poll):
			f.busy(e)
			return false
		}
		if err == nil || errors.Is(err, journal.ErrConflict) {
			e, err = f.client.options.Journal.Get(ctx, f.id())
		}
	}
}

// id names the operation in the journal.
func (f *flight) id() journal.ID {
	if f.op.scope == "" {
		f.op.scope = contract.NewKey() // it has no key: nobody will ask for it again
	}
	return f.client.journalID(f.op.scope)
}

func (c *Client) journalID(scope string) journal.ID {
	return journal.ID{Provider: c.name, Account: c.options.Account, Key: scope}
}

// begin is the write-ahead.
func (f *flight) begin(ctx context.Context) (e journal.Entry, inserted bool, err error) {
	store := f.client.options.Journal
	f.hold = &hold{holder: contract.NewKey()}
	f.firstSent = time.Now()
	e = f.newEntry(ctx)
	stored, inserted, err := store.Begin(ctx, e)
	if err == nil || ctx.Err() != nil {
		return stored, inserted, err
	}
	// It may have taken place all the same.
	stored, again := store.Get(ctx, e.ID)
	if again != nil {
		return stored, false, err
	}
	return stored, stored.Lease.Holder == f.hold.holder, nil
}

// newEntry returns the entry of an operation whose first send is about to begin.
func (f *flight) newEntry(ctx context.Context) journal.Entry {
	now := f.firstSent
	lease := journal.Lease{Holder: f.hold.holder, Until: now.Add(leaseTime)}
	return journal.Entry{
		ID: f.id(), Action: contract.ActionFrom(ctx), Fingerprint: f.op.fingerprint,
		Request:   stored(f.op),
		FirstSent: now, Retain: f.retain(now),
		Lease: lease, Due: lease.Until,
		Created: now, Updated: now,
	}
}

// retain returns until when the provider may still know the key.
func (f *flight) retain(firstSent time.Time) time.Time {
	if f.op.call.Key == "" {
		return time.Time{}
	}
	return firstSent.Add(f.client.options.retention(f.op.terms))
}

// adopt makes the entry what the flight knows of the operation.
func (f *flight) adopt(e journal.Entry) {
	f.memory = memory{verdict: e.Verdict, firstSent: e.FirstSent, skew: e.Skew}
	now := time.Now()
	for _, past := range []time.Time{e.FirstSent, e.Updated} {
		if ahead := past.Sub(now); ahead >= ignoredSkew {
			f.skew = max(f.skew, ahead) // another host's clock
		}
	}
	f.last = answerOf(e.Response)
	f.requestID = e.Verdict.Last.RequestID
}

// finished reports whether the recorded verdict is the answer. What proved to have
// done nothing may run again under its key: the credentials may be mended and the
// throttle past. Once the provider may have forgotten the key, sending under it is
// what sending under a new one is, and needs what that needs.
func (f *flight) finished(e journal.Entry) bool {
	return e.Settled && (final(e.Verdict) || f.fresh() != nil && !e.Verdict.AllowsNewKey())
}

// replay makes the recorded verdict the flight's.
func (f *flight) replay() {
	f.recorded = true
	f.hold = nil
}

// resume takes the lease of an entry that nobody holds and prepares the flight to
// go on with it. An error is the journal's; without one and without the lease the
// verdict is there.
func (f *flight) resume(ctx context.Context, e journal.Entry) (ours bool, err error) {
	op, wrong := f.client.restore(ctx, e, f.op)
	if wrong != nil {
		f.verdict = provisional(e)
		f.causes = append(f.causes, wrong)
		f.hold = nil
		return false, nil
	}
	f.op = op
	return f.take(ctx, e)
}

// take writes the lease into the entry, and whatever must be known there before
// another send.
func (f *flight) take(ctx context.Context, e journal.Entry) (ours bool, err error) {
	now := time.Now()
	f.again = e.Settled
	f.verdict = doubted(e)
	f.resumeWait(now.Sub(e.Updated))
	if f.again && f.fresh() != nil {
		// Nothing was ever done under the key, and a new one is allowed: its age
		// begins again.
		f.firstSent, f.skew = now, 0
	}
	next := e
	next.Verdict, next.Settled, next.Skew = f.verdict, false, f.skew
	next.FirstSent, next.Retain = f.firstSent, f.retain(f.firstSent)
	next.Lease = journal.Lease{Holder: f.hold.holder, Until: now.Add(leaseTime)}
	next.Due, next.Updated = next.Lease.Until, now
	f.hold.entry, err = f.client.options.Journal.Update(ctx, next)
	if err != nil && ctx.Err() == nil && !errors.Is(err, journal.ErrConflict) {
		// It may have taken place all the same.
		if e, again := f.client.options.Journal.Get(ctx, e.ID); again == nil && e.Lease.Holder == f.hold.holder {
			f.hold.entry, err = e, nil
		}
	}
	return err == nil, err
}

// died reports whether the one who held the entry last ended without a word: it may
// have sent, whatever the verdict says.
func died(e journal.Entry) bool {
	return !e.Settled && (e.Lease.Holder != "" || unknown(e.Verdict))
}

// doubted returns the verdict to go on with: who died may have sent once more.
func doubted(e journal.Entry) contract.Verdict {
	if !died(e) {
		return e.Verdict
	}
	return contract.Fold(e.Verdict, contract.Outcome{Reason: "a process ended before it recorded what came of its attempt"})
}

// unknown reports whether a verdict is the zero one: nothing was recorded yet.
func unknown(v contract.Verdict) bool { return v.Attempts == 0 && v.Outcome == contract.Outcome{} }

// provisional returns the verdict of an entry that somebody is at work on, or was.
func provisional(e journal.Entry) contract.Verdict {
	if !died(e) {
		return e.Verdict
	}
	return contract.Fold(e.Verdict, contract.Outcome{Status: contract.InProgress, Reason: "the operation was under way when the journal was last written"})
}

// resumeWait takes from the wait that the provider asked for what has passed of it.
func (f *flight) resumeWait(passed time.Duration) {
	rest := max(f.verdict.RetryAfter-max(passed, 0), 0)
	f.verdict.RetryAfter, f.verdict.Last.RetryAfter = rest, rest
	f.verdict.Last.NoResend = f.verdict.Last.NoResend || f.verdict.NoResend
}

// await waits for a lease to end, or for the next look at it, and reports whether
// there was time for it.
func (f *flight) await(ctx context.Context, l journal.Lease, poll time.Duration) bool {
	wait := min(poll+rand.N(poll), max(time.Until(l.Until), time.Millisecond))
	if f.client.options.ReturnInProgress || wait > f.client.options.MaxElapsed-time.Since(f.started) {
		return false
	}
	waiting, stop := f.news.cut(ctx)
	defer stop()
	return sleep(waiting, wait) || ctx.Err() == nil && f.news.heard()
}

// busy is what a flight comes to that waited for another in vain.
func (f *flight) busy(e journal.Entry) {
	f.hold = nil
	f.memory = memory{verdict: contract.Verdict{Outcome: contract.Outcome{
		Status: contract.InProgress, RetryAfter: max(time.Until(e.Lease.Until), 0),
		Reason: "another process is at work on the operation",
	}}}
}

// unread is what a flight comes to that could not use the journal. It sent nothing;
// but an earlier one may have, and nobody can know.
func (f *flight) unread(err error) {
	f.hold = nil
	f.memory = memory{verdict: contract.Verdict{Outcome: contract.Outcome{
		Reason: "nothing was sent by this call: the journal could not be read or written, and what it says of earlier calls is not known",
	}}}
	f.causes = append(f.causes, err)
}

// refuse is what a request comes to whose key is another's. That other one is gone
// on with, if nobody does, so that its verdict can be told.
func (f *flight) refuse(ctx context.Context, e journal.Entry) {
	v, causes := f.client.original(ctx, e, f.op)
	v = own(v)
	f.original, f.causes = &v, append(f.causes, causes...)
	f.hold = nil
	f.memory = memory{verdict: refusal(contract.KeyReused, nil, "the journal holds another request under this key; give each business action a key of its own").Verdict}
}

// original returns the verdict of the operation that holds a key.
func (c *Client) original(ctx context.Context, e journal.Entry, asked *operation) (contract.Verdict, []error) {
	if e.Settled || !e.Lease.Free(time.Now()) {
		return provisional(e), nil
	}
	op, err := c.restore(ctx, e, asked)
	if err != nil {
		return provisional(e), []error{err}
	}
	f := c.newFlight(op, memory{})
	f.started = time.Now()
	f.hold = &hold{holder: contract.NewKey()}
	f.adopt(e)
	if ours, err := f.take(ctx, e); !ours {
		return provisional(e), []error{err}
	}
	f.runHeld(ctx)
	return f.verdict, f.causes
}

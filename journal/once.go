package journal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/idempact/idempact/contract"
)

const (
	onceLease = 2 * time.Minute  // how long one run of a message has the right to it
	onceRest  = 10 * time.Second // of which so much is kept for storing the result
)

// InProgressError says that somebody else is at work on a message: come back after
// RetryAfter. It is contract.InProgress.
type InProgressError struct{ RetryAfter time.Duration }

// Error says when to come back.
func (e *InProgressError) Error() string {
	return fmt.Sprintf("journal: another is at work on it; come back in %v", e.RetryAfter)
}

// Is reports whether target is contract.InProgress.
func (e *InProgressError) Is(target error) bool { return target == error(contract.InProgress) }

// Once runs do for a message that may be delivered more than once, and returns its
// result: that of the first run that succeeded, however often the message comes. It
// is for the effects of your own program; payments go through package retry, inside
// do or elsewhere.
//
// A message that is being worked on elsewhere is an *InProgressError. One whose do
// returned an error may run again: the error is returned as it is. Another
// fingerprint under the same id is an error that is contract.KeyReused; use the hash
// of what must not differ, or "". An id's Provider is a name of your own ("orders
// queue"), never that of an adapter.
//
// The record and the effects of do are two writes, so that a process that dies
// between them runs do again: at least once. They are one, and do takes effect once,
// where the store is the Tx of the transaction that do writes with: an error of Once
// is then for a rollback, nil for a commit. A message that another transaction is working
// on is then waited for, and no *InProgressError.
//
// The context of do ends before the lease does, which others wait for: two minutes.
func Once(ctx context.Context, s Store, id ID, fingerprint string, do func(context.Context) (result []byte, err error)) ([]byte, error) {
	mine, err := claim(ctx, s, id, fingerprint)
	if err != nil || mine.Settled {
		return mine.Response.Body, err
	}
	result, err := runOnce(ctx, mine, do)
	// The result is kept, or the right to the message given back, also where the
	// context has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), onceRest)
	defer cancel()
	now := time.Now()
	mine.Lease, mine.Updated, mine.Due = Lease{}, now, now
	mine.Verdict.Attempts++
	mine.Verdict.Outcome = contract.Outcome{Reason: "the run failed; it may run again"}
	if err == nil {
		mine.Settled, mine.Response.Body = true, result
		mine.Verdict.Outcome = contract.Outcome{Status: contract.Succeeded, Reason: "done"}
	}
	if _, storing := s.Update(ctx, mine); storing != nil {
		return nil, errors.Join(err, fmt.Errorf("journal: the result of a message could not be stored: %w", storing))
	}
	return result, err
}

// claim returns the message's entry: settled, or ours to run.
func claim(ctx context.Context, s Store, id ID, fingerprint string) (Entry, error) {
	now := time.Now()
	lease := Lease{Holder: rand.Text(), Until: now.Add(onceLease)}
	e, inserted, err := s.Begin(ctx, Entry{
		ID: id, Fingerprint: fingerprint, FirstSent: now, Lease: lease, Due: lease.Until, Created: now, Updated: now,
	})
	switch {
	case err != nil || inserted:
		return e, err
	case e.Fingerprint != fingerprint:
		return Entry{}, fmt.Errorf("journal: another message has the id: %w", contract.KeyReused)
	case e.Settled:
		return e, nil
	case !e.Lease.Free(now):
		return Entry{}, &InProgressError{RetryAfter: e.Lease.Until.Sub(now)}
	}
	e.Lease, e.Due, e.Updated = lease, lease.Until, now
	e, err = s.Update(ctx, e)
	if errors.Is(err, ErrConflict) {
		return Entry{}, &InProgressError{RetryAfter: onceLease} // another was quicker
	}
	return e, err
}

func runOnce(ctx context.Context, mine Entry, do func(context.Context) ([]byte, error)) ([]byte, error) {
	ctx, cancel := context.WithDeadline(ctx, mine.Lease.Until.Add(-onceRest))
	defer cancel()
	return do(ctx)
}

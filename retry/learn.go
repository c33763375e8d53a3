package retry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal"
)

var errNoJournal = errors.New("retry: the client has no journal; set Options.Journal")

// Learn folds what is known from outside into the journal's entry of an operation:
// a webhook, a line of a statement, a person's word. It returns the verdict that
// holds since, and a journal.ErrNotFound where this program has no such operation.
//
// The key is the one that the request carried. Where it lives in a space of its own
// (a connected account, one of Zepto's PayTo collections), it is its
// contract.Terms.KeyIn; a provider's helper returns that. The source says where the
// evidence comes from, in a few words for people ("stripe event evt_1", "statement of
// 3 May, Ann"), and is kept in the verdict's Reason.
//
// The rules are those of every other evidence: a success is never overturned, two
// different references are the alarm, and nothing from outside proves an absence. A
// caller of this client who waits for the operation is woken; the API's own answer
// that comes later is folded too.
//
// Evidence must be authentic: verify a webhook before you believe it.
func (c *Client) Learn(ctx context.Context, key string, o contract.Outcome, source string) (contract.Verdict, error) {
	store := c.options.Journal
	if store == nil {
		return contract.Verdict{}, errNoJournal
	}
	for {
		stored, err := c.learn(ctx, store, key, o, source)
		switch {
		case err == nil:
			if final(stored.Verdict) || stored.Verdict.Effect() == contract.EffectApplied {
				c.flights.tell(key)
			}
			return provisional(stored), nil
		case !errors.Is(err, journal.ErrConflict):
			return contract.Verdict{}, err
		}
	}
}

// Settle is Learn in the caller's own transaction, of which s is the journal's part
// (the Tx or SQLTx of a store): what is known of the operation since, and the caller's
// rows, commit together or not at all. Book by the verdict that it returns, which may
// be another than the outcome, and only where the transaction commits.
//
// An error means that nothing was learned, and that the transaction is to be rolled
// back. It is a journal.ErrConflict where somebody wrote the entry meanwhile: what the
// transaction has read may no longer hold, so do all of it again. Nobody is woken; who
// waits for the operation sees it in the journal.
//
// The verdict of Do is in the journal before Do returns. To book in the transaction
// that stores it, see the examples of the stores.
func (c *Client) Settle(ctx context.Context, s journal.Store, key string, o contract.Outcome, source string) (contract.Verdict, error) {
	stored, err := c.learn(ctx, s, key, o, source)
	if err != nil {
		return contract.Verdict{}, err
	}
	return provisional(stored), nil
}

// learn is one try to fold the evidence into the entry.
func (c *Client) learn(ctx context.Context, s journal.Store, key string, o contract.Outcome, source string) (journal.Entry, error) {
	o.Source, o.RetryAfter, o.NoResend, o.Replayed = contract.FromOutside, 0, false, false
	o.Reason = joinReason(source, o.Reason)
	e, err := s.Get(ctx, c.journalID(key))
	if err == nil {
		e, err = s.Update(ctx, learned(e, o, time.Now()))
	}
	if err != nil {
		return journal.Entry{}, fmt.Errorf("retry: learn of key %s: %w", contract.KeyTag(key), err)
	}
	return e, nil
}

func joinReason(source, reason string) string {
	switch {
	case source == "":
		return reason
	case reason == "":
		return source
	default:
		return source + ": " + reason
	}
}

// learned returns the entry with the evidence. While a run is open, only what no run
// can change settles it: what the run sends meanwhile is not known yet.
func learned(e journal.Entry, o contract.Outcome, now time.Time) journal.Entry {
	open := died(e)
	if unknown(e.Verdict) && o.Effect() != contract.EffectApplied && o.Status != contract.Declined {
		// It was sent, or may have been: the least that is known.
		e.Verdict = contract.Fold(e.Verdict, contract.Outcome{Status: contract.InProgress, Reason: "the operation was under way"})
	}
	before := e.Verdict
	e.Verdict = contract.Fold(before, o)
	if e.Verdict.Confirmed && !before.Confirmed {
		e.Response = journal.Response{} // it does not show the success, and an SDK would be given it
	}
	e.Remember(journal.Event{
		At: now, Kind: "evidence", Status: o.Status, Code: o.Code, Resource: o.Resource, RequestID: o.RequestID, Reason: o.Reason,
	})
	if open {
		e.Settled = final(e.Verdict)
	} else {
		e.Settled = settled(e.Verdict)
		if !e.Settled && !e.Due.After(now) {
			e.Due = now
		}
	}
	e.Updated = now
	return e
}

// news wakes a flight that waits: there is something new in the journal.
type news struct {
	mu   sync.Mutex
	come bool
	stop context.CancelFunc
}

// cut returns a context for waits, which ends when news come.
func (n *news) cut(ctx context.Context) (waiting context.Context, stop context.CancelFunc) {
	waiting, stop = context.WithCancel(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stop = stop
	if n.come {
		stop()
	}
	return waiting, stop
}

func (n *news) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.come = true
	if n.stop != nil {
		n.stop()
	}
}

// heard reports whether news have come since it was asked last.
func (n *news) heard() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	come := n.come
	n.come = false
	return come
}

// tell wakes the flights of one key.
func (fs *flights) tell(scope string) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, place := range fs.m {
		if place.op.scope == scope && place.current != nil {
			place.current.news.tell()
		}
	}
}

// hear takes in what was learned from outside while the flight was at work.
func (f *flight) hear(ctx context.Context) {
	if f.hold == nil || !f.news.heard() {
		return
	}
	e, err := f.client.options.Journal.Get(ctx, f.hold.entry.ID)
	if err != nil || e.Lease.Holder != f.hold.holder {
		return // storing the verdict will meet it
	}
	f.follow(combined(e.Verdict, f.verdict), e.Response)
	f.hold.entry = e
}

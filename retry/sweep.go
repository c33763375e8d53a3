package retry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal"
)

// SweepOptions are the settings of one sweep. A zero field means its default.
type SweepOptions struct {
	Limit       int           // operations at most; 100
	Concurrency int           // of them at a time; 4
	Interval    time.Duration // shortest time from the start of one to that of the next; none
}

// SweepReport says what one sweep did.
type SweepReport struct {
	Found   int // operations that were due
	Settled int // of them are settled now
	Open    int // of them are not, and are looked at again later
	Skipped int // of them were another's by the time, or the sweep ended before

	Operations []Swept // those that were handled, the longest due first
}

// Swept is one operation that a sweep handled.
type Swept struct {
	ID      journal.ID `json:"-"`
	KeyTag  string     // a short hash of the key, contract.KeyTag
	Action  string     // what the caller called it
	Verdict contract.Verdict
	Settled bool
	Reason  string // why it is not settled, for the person who must look
	Err     error  `json:"-"` // what stood in the way, if anything did
}

// String returns the operation in one line, its key as a short hash.
func (s Swept) String() string {
	text := fmt.Sprintf("%s %s", s.ID.Provider, s.KeyTag)
	if s.Action != "" {
		text += fmt.Sprintf(" %q", s.Action)
	}
	text += ": " + s.Verdict.Status.String()
	if s.Verdict.Resource != "" {
		text += ", resource " + s.Verdict.Resource
	}
	if !s.Settled && s.Reason != "" {
		text += ", not settled: " + s.Reason
	}
	return text
}

// Format writes the text of String for every verb.
func (s Swept) Format(f fmt.State, verb rune) { io.WriteString(f, s.String()) }

var errNoAuthorize = errors.New("retry: a sweep needs Options.Authorize: the journal keeps no credentials, and there is no caller's request to take them from")

// Sweep settles operations of this client's provider and account that a process
// left open: it died, or it could not find out. Each is sent again while its key is
// young and the endpoint honours it, or looked up, or left as it is for a person,
// with the reason. What is another's at the moment is skipped, so that any number of
// sweepers may run.
//
// What stays open is due again 1 minute after the call that left it, then after 5
// minutes, an hour, and every day. Call Sweep every minute or so, and again at once
// while it finds as many as its limit. The error says that the journal could not be
// used or that the context ended, not that an operation stays open.
func (c *Client) Sweep(ctx context.Context, o SweepOptions) (SweepReport, error) {
	switch {
	case c.options.Journal == nil:
		return SweepReport{}, errNoJournal
	case c.options.Authorize == nil:
		return SweepReport{}, errNoAuthorize
	case o.Limit < 0 || o.Concurrency < 0 || o.Interval < 0:
		return SweepReport{}, errors.New("retry: an option of the sweep is negative")
	}
	o.Limit, o.Concurrency = orDefault(o.Limit, 100), orDefault(o.Concurrency, 4)
	found, err := c.options.Journal.Unsettled(ctx, c.name, c.options.Account, time.Now(), o.Limit)
	if err != nil {
		err = fmt.Errorf("retry: sweep: %w", err)
	}
	results := c.sweepAll(ctx, found, o)
	report := SweepReport{Found: len(found)}
	for _, r := range results {
		switch {
		case r == nil:
			report.Skipped++
			continue
		case r.Settled:
			report.Settled++
		default:
			report.Open++
		}
		report.Operations = append(report.Operations, *r)
	}
	return report, errors.Join(err, ctx.Err())
}

// sweepAll handles the entries, a few at a time; nil is one that was skipped.
func (c *Client) sweepAll(ctx context.Context, found []journal.Entry, o SweepOptions) []*Swept {
	results := make([]*Swept, len(found))
	slots := make(chan struct{}, min(o.Concurrency, len(found)))
	var all sync.WaitGroup
	defer all.Wait()
	for i, e := range found {
		if i > 0 && o.Interval > 0 && !sleep(ctx, o.Interval) {
			break
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-slots }()
			results[i] = c.sweep(ctx, e)
		})
	}
	all.Wait()
	return results
}

// sweep handles one operation; nil if another has it.
func (c *Client) sweep(ctx context.Context, e journal.Entry) *Swept {
	op, err := c.restore(ctx, e, nil)
	if err != nil {
		return c.putOff(ctx, e, err)
	}
	f := c.newFlight(op, memory{})
	f.started = time.Now()
	f.hold = &hold{holder: contract.NewKey(), swept: true}
	f.adopt(e)
	ours, err := f.take(ctx, e)
	switch {
	case errors.Is(err, journal.ErrConflict):
		return nil
	case !ours:
		return swept(e, provisional(e), "the journal could not be written", err)
	}
	f.runHeld(ctx)
	return swept(e, f.verdict, f.whyOpen(), errors.Join(f.causes...))
}

// putOff leaves an operation as it is that cannot be gone on with here.
func (c *Client) putOff(ctx context.Context, e journal.Entry, why error) *Swept {
	now := time.Now()
	next := e
	next.Verdict = doubted(e)
	next.Lease, next.Updated = journal.Lease{}, now
	next.Sweeps++
	next.Due = due(now, next.Sweeps, next.Verdict)
	_, err := c.options.Journal.Update(ctx, next)
	if errors.Is(err, journal.ErrConflict) {
		return nil
	}
	return swept(e, next.Verdict, why.Error(), errors.Join(err, why))
}

func swept(e journal.Entry, v contract.Verdict, why string, err error) *Swept {
	s := &Swept{
		ID: e.ID, KeyTag: contract.KeyTag(e.Key), Action: e.Action,
		Verdict: own(v), Settled: settled(v), Err: err,
	}
	if !s.Settled {
		s.Reason = why
	}
	return s
}

// whyOpen says why the operation could not be settled, and what came of the last
// attempt: a sweep's credentials may be the wrong ones.
func (f *flight) whyOpen() string {
	why, last := f.whyNotSent(), f.verdict.Last.Reason
	if f.sends > 0 && last != "" && last != why {
		why += "; the last attempt: " + last
	}
	for _, cause := range f.causes {
		if u := (*unsent)(nil); errors.As(cause, &u) && !strings.Contains(why, u.reason) {
			why += "; " + u.reason
		}
	}
	return why
}

func (f *flight) whyNotSent() string {
	_, finds := f.client.adapter.(contract.Finder)
	lookUp := "a look-up did not settle it"
	if !finds {
		lookUp = "the provider cannot be asked for it"
	}
	switch v := f.verdict; {
	case v.Status == contract.Duplicate:
		return "what exists could not be fetched and compared"
	case f.later:
		return "the provider asks to wait"
	case !f.op.repeatable():
		return "the endpoint honours no key, so it is not sent again; " + lookUp
	case f.fresh() != nil:
		return "the key is too old to be sent again; " + lookUp
	default:
		return v.Reason
	}
}

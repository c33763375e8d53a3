package demo

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/idempact/idempact/journal"
)

// process is what one process has of the world: the network and its journal.
//
// It may die: the request during which it does still arrives, and nothing that it
// does afterwards reaches the network or the journal.
//
// It may be late. Its clock is the machine's, which the demo cannot move, so it is
// the journal's times that move: everything reads as if it had been written so
// much earlier. To the process that is the same as a pause that has passed; the
// fake's clock is moved by as much.
type process struct {
	journal.Store
	transport http.RoundTripper
	kill      context.CancelFunc
	left      atomic.Int64 // requests until it dies; none for 0
	dead      atomic.Bool
	late      time.Duration
}

var errDead = errors.New("the process is dead")

// RoundTrip sends a request, and dies if it is the one.
func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.dead.Load() {
		return nil, errDead
	}
	resp, err := p.transport.RoundTrip(r)
	if p.left.Add(-1) == 0 {
		p.dead.Store(true)
		p.kill()
	}
	if !p.dead.Load() {
		return resp, err
	}
	if err == nil {
		resp.Body.Close()
	}
	return nil, errDead
}

// CloseIdleConnections leaves the connections to the next process.
func (p *process) CloseIdleConnections() {}

func (p *process) Begin(ctx context.Context, e journal.Entry) (journal.Entry, bool, error) {
	if p.dead.Load() {
		return journal.Entry{}, false, errDead
	}
	e, inserted, err := p.Store.Begin(ctx, moved(e, p.late))
	return moved(e, -p.late), inserted, err
}

func (p *process) Get(ctx context.Context, id journal.ID) (journal.Entry, error) {
	if p.dead.Load() {
		return journal.Entry{}, errDead
	}
	e, err := p.Store.Get(ctx, id)
	return moved(e, -p.late), err
}

func (p *process) Update(ctx context.Context, e journal.Entry) (journal.Entry, error) {
	if p.dead.Load() {
		return journal.Entry{}, errDead
	}
	e, err := p.Store.Update(ctx, moved(e, p.late))
	return moved(e, -p.late), err
}

func (p *process) Unsettled(ctx context.Context, provider, account string, now time.Time, limit int) ([]journal.Entry, error) {
	found, err := p.Store.Unsettled(ctx, provider, account, now.Add(p.late), limit)
	for i := range found {
		found[i] = moved(found[i], -p.late)
	}
	return found, err
}

// moved returns the entry with all its times moved by d; zero stays "no time".
func moved(e journal.Entry, d time.Duration) journal.Entry {
	for _, t := range []*time.Time{&e.FirstSent, &e.Lease.Until, &e.Due, &e.Retain, &e.Created, &e.Updated} {
		if !t.IsZero() {
			*t = t.Add(d)
		}
	}
	return e
}

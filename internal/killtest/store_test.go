package killtest

import (
	"context"
	"fmt"
	"time"

	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/postgres"
	"github.com/idempact/idempact/journal/sqlite"
)

// place is where a journal is.
type place struct {
	File   string // of SQLite
	URL    string // of PostgreSQL
	Schema string
}

// open opens the journal, in the view of a process that was born just now.
func (p place) open(ctx context.Context) (*view, error) {
	v := &view{born: time.Now()}
	var err error
	if p.File != "" {
		v.Store, err = sqlite.Open(ctx, p.File, nil)
	} else {
		v.Store, err = postgres.Open(ctx, p.URL, &postgres.Options{Schema: p.Schema})
	}
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	return v, nil
}

// view shows a journal to a process as it will be when the leases of those that
// died before its birth have ended. It changes nothing that is written.
type view struct {
	journal.Store
	born  time.Time
	ahead time.Duration // by how much sooner a sweep finds what is due
}

func (v *view) seen(e journal.Entry) journal.Entry {
	if e.Lease.Holder != "" && e.Updated.Before(v.born) && e.Lease.Until.After(v.born) {
		e.Lease.Until = v.born
	}
	return e
}

func (v *view) Begin(ctx context.Context, e journal.Entry) (journal.Entry, bool, error) {
	stored, inserted, err := v.Store.Begin(ctx, e)
	return v.seen(stored), inserted, err
}

func (v *view) Get(ctx context.Context, id journal.ID) (journal.Entry, error) {
	e, err := v.Store.Get(ctx, id)
	return v.seen(e), err
}

func (v *view) Unsettled(ctx context.Context, provider, account string, now time.Time, limit int) ([]journal.Entry, error) {
	found, err := v.Store.Unsettled(ctx, provider, account, now.Add(v.ahead), limit)
	for i, e := range found {
		found[i] = v.seen(e)
	}
	return found, err
}

package killtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
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

// open opens the journal, in the view of a process of the given name.
func (p place) open(ctx context.Context, name, graves string) (*view, error) {
	v := &view{name: name, graves: graves}
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

// view shows a journal to a process as it will be when the leases of the dead have
// ended. The dead are those in the folder of graves; a lease says whose it is by the
// name before its holder.
type view struct {
	journal.Store
	name   string        // of this process
	graves string        // a file for each process that is dead, with its name
	ahead  time.Duration // by how much sooner a sweep finds what is due
}

// signed returns an entry as it is written, seen one as it is read.
func (v *view) signed(e journal.Entry) journal.Entry {
	if e.Lease.Holder != "" && !strings.Contains(e.Lease.Holder, "/") {
		e.Lease.Holder = v.name + "/" + e.Lease.Holder
	}
	return e
}

func (v *view) seen(e journal.Entry) journal.Entry {
	owner, holder, _ := strings.Cut(e.Lease.Holder, "/")
	switch {
	case owner == v.name:
		e.Lease.Holder = holder
	case holder != "" && v.dead(owner):
		e.Lease.Until = e.Updated
	}
	return e
}

func (v *view) dead(process string) bool {
	_, err := os.Stat(filepath.Join(v.graves, process))
	return err == nil
}

// lastAsked is when a call last asked the journal or wrote to it: what it was told then
// was so, since until then a lease, or its verdict, kept all others from sending.
type lastAsked struct{ at atomic.Int64 }

type lastAskedKey struct{}

// watched returns a context for one call, and where its view leaves the time.
func watched(ctx context.Context) (context.Context, *lastAsked) {
	last := &lastAsked{}
	return context.WithValue(ctx, lastAskedKey{}, last), last
}

func (l *lastAsked) time() time.Time { return time.Unix(0, l.at.Load()) }

func note(ctx context.Context) {
	if last, ok := ctx.Value(lastAskedKey{}).(*lastAsked); ok {
		last.at.Store(time.Now().UnixNano())
	}
}

func (v *view) Begin(ctx context.Context, e journal.Entry) (journal.Entry, bool, error) {
	note(ctx)
	stored, inserted, err := v.Store.Begin(ctx, v.signed(e))
	return v.seen(stored), inserted, err
}

func (v *view) Update(ctx context.Context, e journal.Entry) (journal.Entry, error) {
	note(ctx)
	stored, err := v.Store.Update(ctx, v.signed(e))
	return v.seen(stored), err
}

func (v *view) Get(ctx context.Context, id journal.ID) (journal.Entry, error) {
	note(ctx)
	e, err := v.Store.Get(ctx, id)
	return v.seen(e), err
}

// Unsettled looks ahead, and leaves out the leases of the living, which it then finds too.
func (v *view) Unsettled(ctx context.Context, provider, account string, now time.Time, limit int) ([]journal.Entry, error) {
	found, err := v.Store.Unsettled(ctx, provider, account, now.Add(v.ahead), limit)
	for i, e := range found {
		found[i] = v.seen(e)
	}
	return slices.DeleteFunc(found, func(e journal.Entry) bool { return !e.Lease.Free(now) }), err
}

package journal

import (
	"context"
	"errors"
	"io"
	"time"
)

// Store keeps entries. All methods are safe for concurrent use by many goroutines
// and, where the store is shared, by many processes. A context that ends makes a
// method return soon with its error; whether a write then took place is unknown.
//
// A write is durable before the method returns nil: it survives the death of the
// process and, in a durable store, of the machine. That is what makes Begin a
// write-ahead. An error of a write means that it may or may not have taken place
// (a commit whose answer was lost), unless it is one of the errors named here.
// Callers settle that by reading again, and until then say no more than they know.
//
// Entries go in and come out as copies: neither side sees the other's later
// changes. Times keep at least microseconds, and come back in UTC; byte slices and
// headers come back as they went in (an empty one may come back nil).
type Store interface {
	// Begin inserts e, with Version 1, unless an entry with its ID exists: one atomic
	// step, under a unique constraint. It returns the entry that is stored now, and
	// whether it is the one given.
	Begin(ctx context.Context, e Entry) (stored Entry, inserted bool, err error)

	// Get returns the entry, or ErrNotFound.
	Get(ctx context.Context, id ID) (Entry, error)

	// Update replaces the entry whose Version is e.Version, and adds one to it: one
	// atomic compare-and-swap. It returns the entry that is stored now. ErrConflict
	// means that the version is another by now and nothing was written, ErrNotFound
	// that there is no such entry.
	Update(ctx context.Context, e Entry) (stored Entry, err error)

	// Unsettled returns up to limit entries of one provider and account that are not
	// settled, due at or before now and without a lease at that time, the longest due
	// first; none for a limit below 1. Others that are due neither hide them nor cost
	// a sweep anything: its cost follows the number that is found, not that of all
	// entries. An entry that cannot be read does not hide the others: they come beside
	// the error.
	Unsettled(ctx context.Context, provider, account string, now time.Time, limit int) ([]Entry, error)

	// Prune removes up to limit settled entries that were last updated, and were to
	// be retained (Entry.Retain), until before the given time, and returns how many:
	// call it until it returns fewer than limit. Unsettled entries are never removed,
	// nor, whatever the given time, those that are to be retained beyond now. An entry
	// that is gone is an operation that was never done: the given time is the caller's
	// retention, counted back from now.
	Prune(ctx context.Context, before time.Time, limit int) (removed int, err error)

	io.Closer
}

var (
	// ErrNotFound: there is no entry with this ID.
	ErrNotFound = errors.New("journal: no such entry")
	// ErrConflict: the entry was written by somebody else since it was read.
	ErrConflict = errors.New("journal: the entry has changed since it was read")
	// ErrSchema: the store was made by a newer version of this package than the one
	// that opens it, or by something else.
	ErrSchema = errors.New("journal: the store's schema is not one that this version knows")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("journal: the store is closed")
)

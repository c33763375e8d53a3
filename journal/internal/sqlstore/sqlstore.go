// Package sqlstore is what the SQL stores share: the statements of a journal, on a
// small interface that database/sql and pgx both fit.
package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/internal/record"
)

// Conn is a database, or a transaction of the caller's.
type Conn interface {
	// Exec runs statements, and returns how many rows the last one touched.
	Exec(ctx context.Context, query string, args ...any) (affected int64, err error)
	// Query calls row for every row.
	Query(ctx context.Context, query string, row func(scan func(dest ...any) error) error, args ...any) error
}

// Dialect is in what the databases differ.
type Dialect struct {
	Entries    string                                                      // the table of entries, as it stands in a statement
	Migrations string                                                      // the table of migrations
	Exists     string                                                      // the query, of a table's name, for 1 or 0
	Parameter  string                                                      // what a parameter's number follows: "$", "?"
	Time       func(t time.Time) any                                       // a time as a parameter
	ScanTime   func(t *time.Time) any                                      // where to scan one to
	Explain    func(err error) error                                       // puts a name on an error of the driver; may be nil
	Around     func(ctx context.Context, write bool, f func() error) error // runs a method outside a transaction; may be nil
}

// Store is a journal.Store in one table of an SQL database.
type Store struct {
	conn    Conn
	dialect Dialect
	inTx    bool
	closed  *atomic.Bool
}

// New returns the store on conn.
func New(conn Conn, d Dialect) *Store {
	return &Store{conn: conn, dialect: d, closed: new(atomic.Bool)}
}

// InTx returns the same store, whose statements take part in the transaction tx.
// Its Close does nothing.
func (s *Store) InTx(tx Conn) *Store {
	return &Store{conn: tx, dialect: s.dialect, inTx: true, closed: s.closed}
}

// Close marks the store as closed; the database is another's to close.
func (s *Store) Close() error {
	if !s.inTx {
		s.closed.Store(true)
	}
	return nil
}

// query fills in the table's name and the way to write parameters.
func (s *Store) query(q string) string {
	return strings.NewReplacer("{entries}", s.dialect.Entries, "$", s.dialect.Parameter).Replace(q)
}

// do runs one method of the store, and says which one failed. The error of a
// context that has ended stands before the driver's, which may call it anything.
func (s *Store) do(ctx context.Context, method string, write bool, f func() error) error {
	err := ctx.Err()
	switch {
	case s.closed.Load():
		return journal.ErrClosed
	case err != nil:
	case s.dialect.Around == nil || s.inTx:
		err = f()
	default:
		err = s.dialect.Around(ctx, write, f)
	}
	switch {
	case err == nil, errors.Is(err, journal.ErrNotFound), errors.Is(err, journal.ErrConflict):
		return err
	case s.closed.Load():
		return fmt.Errorf("%w: it was closed during %s: %w", journal.ErrClosed, method, err)
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	case s.dialect.Explain != nil:
		err = s.dialect.Explain(err)
	}
	return fmt.Errorf("journal: %s: %w", method, err)
}

// Begin inserts e unless there is an entry with its ID: one statement.
func (s *Store) Begin(ctx context.Context, e journal.Entry) (stored journal.Entry, inserted bool, err error) {
	e = e.Clone()
	e.Version = 1
	args, err := s.args(e)
	if err != nil {
		return journal.Entry{}, false, fmt.Errorf("journal: begin: %w", err)
	}
	err = s.do(ctx, "begin", true, func() error {
		for range 10 {
			n, err := s.conn.Exec(ctx, s.query(insert), args...)
			if err != nil {
				return err
			}
			if inserted = n == 1; inserted {
				stored = e
				return nil
			}
			stored, err = s.get(ctx, e.ID)
			if !errors.Is(err, journal.ErrNotFound) {
				return err
			}
			// It was pruned between the two statements.
		}
		return errors.New("an entry is in the way that cannot be read")
	})
	if err != nil {
		return journal.Entry{}, false, err
	}
	return stored, inserted, nil
}

// Get returns the entry, or journal.ErrNotFound.
func (s *Store) Get(ctx context.Context, id journal.ID) (e journal.Entry, err error) {
	err = s.do(ctx, "get", false, func() error {
		e, err = s.get(ctx, id)
		return err
	})
	if err != nil {
		return journal.Entry{}, err
	}
	return e, nil
}

func (s *Store) get(ctx context.Context, id journal.ID) (journal.Entry, error) {
	found, err := s.read(ctx, selectOne, record.Text(id.Provider), record.Text(id.Account), record.Text(id.Key))
	switch {
	case err != nil:
		return journal.Entry{}, err
	case len(found) == 0:
		return journal.Entry{}, journal.ErrNotFound
	default:
		return found[0], nil
	}
}

// Update replaces the entry whose version is e's: one statement.
func (s *Store) Update(ctx context.Context, e journal.Entry) (stored journal.Entry, err error) {
	e = e.Clone()
	based := e.Version
	e.Version++
	args, err := s.args(e)
	if err != nil {
		return journal.Entry{}, fmt.Errorf("journal: update: %w", err)
	}
	err = s.do(ctx, "update", true, func() error {
		n, err := s.conn.Exec(ctx, s.query(replace), append(args, based)...)
		if err != nil || n == 1 {
			return err
		}
		if _, err = s.get(ctx, e.ID); err == nil {
			err = journal.ErrConflict
		}
		return err
	})
	if err != nil {
		return journal.Entry{}, err
	}
	return e, nil
}

// Unsettled returns up to limit entries of one account that are due and free, the
// longest due first.
func (s *Store) Unsettled(ctx context.Context, provider, account string, now time.Time, limit int) (found []journal.Entry, err error) {
	var unreadable error
	err = s.do(ctx, "unsettled", false, func() error {
		if limit < 1 {
			return nil
		}
		// What cannot be read comes out of the limit, so ask for more in its place.
		for ask, bad := limit, 0; ; {
			found, err = s.read(ctx, selectUnsettled, record.Text(provider), record.Text(account), s.dialect.Time(now), ask)
			broken, ok := errors.AsType[*unreadableError](err)
			if err != nil && !ok {
				return err
			}
			if unreadable = err; !ok || len(broken.errs) == bad || len(found) >= limit {
				return nil
			}
			bad = len(broken.errs)
			ask = limit + bad
		}
	})
	if err == nil && unreadable != nil {
		err = fmt.Errorf("journal: unsettled: %w", unreadable)
	}
	return found[:min(len(found), max(limit, 0))], err
}

// List returns the entries that fit, in the order of their IDs as text.
func (s *Store) List(ctx context.Context, f journal.Filter) (found []journal.Entry, err error) {
	query, args := listing(f)
	var unreadable error
	err = s.do(ctx, "list", false, func() error {
		if f.Limit < 1 {
			return nil
		}
		found, err = s.read(ctx, query, args...)
		if _, ok := errors.AsType[*unreadableError](err); ok {
			unreadable = err
			return nil
		}
		return err
	})
	if err == nil && unreadable != nil {
		err = fmt.Errorf("journal: list: %w", unreadable)
	}
	return found, err
}

// listing returns the query of a filter.
func listing(f journal.Filter) (query string, args []any) {
	var conditions []string
	add := func(condition string, values ...string) {
		for _, v := range values {
			args = append(args, record.Text(v))
			condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(args)), 1)
		}
		conditions = append(conditions, condition)
	}
	if f.Provider != "" {
		add("provider = ?", f.Provider)
	}
	if f.Account != "" {
		add("account = ?", f.Account)
	}
	if f.Unsettled {
		add("NOT settled")
	}
	if f.After != (journal.ID{}) {
		add("(provider, account, idempotency_key) > (?, ?, ?)", f.After.Provider, f.After.Account, f.After.Key)
	}
	query = "SELECT " + fields + " FROM {entries}"
	if len(conditions) > 0 {
		query += " WHERE " + strings.Join(conditions, " AND ")
	}
	return query + fmt.Sprintf(" ORDER BY provider, account, idempotency_key LIMIT %d", max(f.Limit, 0)), args
}

// Prune removes up to limit settled entries that are older than before.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	err = s.do(ctx, "prune", true, func() error {
		if limit < 1 {
			return nil
		}
		known := before // keys that the provider may still know
		if now := time.Now(); known.After(now) {
			known = now
		}
		n, err := s.conn.Exec(ctx, s.query(prune), s.dialect.Time(before), limit, s.dialect.Time(known))
		removed = int(n)
		return err
	})
	return removed, err
}

// unreadableError lists the entries that could not be read, beside others.
type unreadableError struct{ errs []error }

func (e *unreadableError) Error() string   { return errors.Join(e.errs...).Error() }
func (e *unreadableError) Unwrap() []error { return e.errs }

// read returns the entries of a query, those that can be read beside the error.
func (s *Store) read(ctx context.Context, query string, args ...any) ([]journal.Entry, error) {
	var found []journal.Entry
	var unreadable []error
	err := s.conn.Query(ctx, s.query(query), func(scan func(...any) error) error {
		var r row
		if err := scan(r.dest(s.dialect)...); err != nil {
			return err
		}
		e, err := r.entry()
		if err != nil {
			unreadable = append(unreadable, fmt.Errorf("%w: key %s at %s: %w",
				journal.ErrSchema, contract.KeyTag(r.e.Key), r.e.Provider, err))
			return nil
		}
		found = append(found, e)
		return nil
	}, args...)
	if err == nil && len(unreadable) > 0 {
		err = &unreadableError{unreadable}
	}
	return found, err
}

var (
	_ journal.Store  = (*Store)(nil)
	_ journal.Lister = (*Store)(nil)
)

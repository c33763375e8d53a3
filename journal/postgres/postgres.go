// Package postgres keeps a journal in PostgreSQL: durable, and shared by as many
// processes and hosts as there are.
//
// It needs PostgreSQL 13 or newer with the encoding UTF8. What a method has written
// when it returns is committed, and as durable as synchronous_commit says, which
// must not be off. A connection that is lost in the middle of a write leaves open
// whether it took place: the error says no more, and reading again tells.
//
// A sweep (Unsettled) goes through a partial index, so that its cost follows the
// number of unsettled entries. With 10,000 of them alone and among 1,000,000 entries
// it took 149 ms and 240 ms to read all of them, a ratio of 1.61, where that of all entries is 100:
//
//	go test ./journal/postgres -run TestSweepCost -sweep -v
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/internal/sqlstore"
)

// Options are the settings of a store; the zero value is the default.
type Options struct {
	// Schema is where the tables are; it is made if there is none. "" is idempact.
	Schema string

	// MustExist opens a journal that is there, and makes none: a database without one
	// is journal.ErrSchema, and nothing of it is changed. An older journal is still
	// brought up to date.
	MustExist bool
}

// schema returns the name of the schema.
func (o *Options) schema() string {
	if o == nil || o.Schema == "" {
		return "idempact"
	}
	return o.Schema
}

// Store is a journal in PostgreSQL. Beside the methods of journal.Store it offers
// Tx and SQLTx, for entries that commit together with the caller's own rows.
type Store struct {
	*sqlstore.Store
	pool *pgxpool.Pool // ours to close; nil if it is the caller's
}

// Open opens the journal in the database at url (or connection string, as pgx reads
// it), with a pool of its own, and brings its schema up to date. A newer schema is
// journal.ErrSchema.
func Open(ctx context.Context, url string, o *Options) (*Store, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("postgres: open: %w", err)
	}
	s, err := New(ctx, pool, o)
	if err != nil {
		pool.Close()
		return nil, err
	}
	s.pool = pool
	return s, nil
}

// New is Open on the caller's own pool, which Close leaves open.
func New(ctx context.Context, pool *pgxpool.Pool, o *Options) (*Store, error) {
	return open(ctx, native{pool}, o, func() (transaction, error) {
		tx, err := pool.Begin(ctx)
		return transaction{
			Conn:     native{tx},
			commit:   func() error { return tx.Commit(ctx) },
			rollback: func() error { return tx.Rollback(context.WithoutCancel(ctx)) },
		}, err
	})
}

// OpenDB is Open on the caller's own database/sql, of the driver pgx or another one
// for PostgreSQL. Close leaves it open.
func OpenDB(ctx context.Context, db *sql.DB, o *Options) (*Store, error) {
	return open(ctx, sqlstore.OnDatabase(db), o, func() (transaction, error) {
		tx, err := db.BeginTx(ctx, nil)
		return transaction{Conn: sqlstore.OnDatabase(tx), commit: tx.Commit, rollback: tx.Rollback}, err
	})
}

// Tx returns the journal as a part of the caller's transaction: what Begin, Update
// and Prune write is there when the transaction commits, and not before. Another
// Begin of the same entry waits for that. Close does nothing.
//
// Do not call a provider in a transaction: it may have to be repeated.
func (s *Store) Tx(tx pgx.Tx) journal.Store { return s.InTx(native{tx}) }

// SQLTx is Tx for a transaction of database/sql.
func (s *Store) SQLTx(tx *sql.Tx) journal.Store { return s.InTx(sqlstore.OnDatabase(tx)) }

// Close closes the store; of what Open opened it waits for the methods that run.
func (s *Store) Close() error {
	err := s.Store.Close()
	if s.pool != nil {
		s.pool.Close()
	}
	return err
}

// native is a pool or a transaction of pgx.
type native struct {
	db interface {
		Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
		Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	}
}

func (n native) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := n.db.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

func (n native) Query(ctx context.Context, query string, row func(func(...any) error) error, args ...any) error {
	rows, err := n.db.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// dialectOf is PostgreSQL with the tables in a schema.
func dialectOf(schema string) sqlstore.Dialect {
	return sqlstore.Dialect{
		Entries:    pgx.Identifier{schema, "idempact_entries"}.Sanitize(),
		Migrations: pgx.Identifier{schema, "idempact_migrations"}.Sanitize(),
		Exists:     "SELECT count(to_regclass($1))",
		Parameter:  "$",
		Time:       func(t time.Time) any { return t.UTC() },
		ScanTime:   func(t *time.Time) any { return t },
		Around:     around,
	}
}

// around runs f again where the driver knows that nothing was sent: the server had
// closed an idle connection.
func around(ctx context.Context, _ bool, f func() error) error {
	err := f()
	for range 3 {
		if err == nil || ctx.Err() != nil || !pgconn.SafeToRetry(err) {
			break
		}
		err = f()
	}
	return err
}

// errSettings: the database is not set up for a journal.
var errSettings = errors.New("postgres: the database cannot keep a journal")

var _ journal.Store = (*Store)(nil)

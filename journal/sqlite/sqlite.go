// Package sqlite keeps a journal in an SQLite file: durable, in the process, and
// without a server. Several processes of one machine may share the file; a network
// file system has no place for it.
//
// The file is in WAL mode with synchronous=FULL: what a method has written when it
// returns survives a crash of the process and of the machine. Beside the file stand
// its -wal and -shm while it is open; they belong to it, in a backup too.
//
// A sweep (Unsettled) goes through a partial index, so that its cost follows the
// number of unsettled entries. With 10,000 of them alone and among 1,000,000 entries
// it took 207 ms and 219 ms to read all of them, a ratio of 1.06:
//
//	go test ./journal/sqlite -run TestSweepCost -sweep -v
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/internal/sqlstore"
)

// Options are the settings of a store; the zero value is the default.
type Options struct {
	// BusyTimeout is how long to wait for another process that is writing, if the
	// context lasts as long. 0 is 30 seconds.
	BusyTimeout time.Duration

	// MustExist opens a journal that is there, and makes none: a file without one is
	// journal.ErrSchema, and nothing of it is changed. An older journal is still
	// brought up to date.
	MustExist bool
}

// Store is a journal in an SQLite file. Beside the methods of journal.Store it
// offers Tx, for entries that commit together with the caller's own rows.
type Store struct {
	*sqlstore.Store
	db    *sql.DB
	gate  *gate
	owned bool // the database is ours to close
}

// Open opens the journal in the file at path, makes it if there is none (readable
// by its owner only), and brings its schema up to date. A file of a newer schema is
// journal.ErrSchema, a damaged one ErrCorrupt.
func Open(ctx context.Context, path string, o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	timeout := 30 * time.Second
	if o.BusyTimeout > 0 {
		timeout = o.BusyTimeout
	}
	if path == "" || path == ":memory:" {
		return nil, errors.New("sqlite: a journal needs a file; journal.NewMemory is one without")
	}
	if o.MustExist {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("sqlite: open: %w", err)
		}
	} else if err := create(path); err != nil {
		return nil, fmt.Errorf("sqlite: open: %w", err)
	}
	db, err := sql.Open("sqlite", source(path, timeout))
	if err != nil {
		return nil, fmt.Errorf("sqlite: open: %w", err)
	}
	connections := max(4, runtime.GOMAXPROCS(0))
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	s, err := open(ctx, db, timeout, func(ctx context.Context, c *sql.Conn) error {
		if o.MustExist {
			if err := dialect.MustExist(ctx, sqlstore.OnDatabase(c)); err != nil {
				return err
			}
		}
		return enterWAL(ctx, c, timeout)
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.owned = true
	if err := s.watch(path); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenDB is Open on the caller's own database, in which the journal has tables
// that start with idempact_. The caller sets it up: with synchronous=FULL or EXTRA,
// a busy timeout, and preferably in WAL mode. Close leaves it open.
func OpenDB(ctx context.Context, db *sql.DB, o *Options) (*Store, error) {
	if o == nil || !o.MustExist {
		return open(ctx, db, 30*time.Second, nil)
	}
	return open(ctx, db, 30*time.Second, func(ctx context.Context, c *sql.Conn) error {
		return dialect.MustExist(ctx, sqlstore.OnDatabase(c))
	})
}

// open sets the database up on one connection, and returns the store.
func open(ctx context.Context, db *sql.DB, timeout time.Duration, prepare func(context.Context, *sql.Conn) error) (*Store, error) {
	s := &Store{db: db, gate: &gate{writer: make(chan struct{}, 1)}}
	d := dialect
	d.Around = s.gate.around
	err := func() error {
		c, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }() // goes back to the pool
		if prepare != nil {
			if err := prepare(ctx, c); err != nil {
				return err
			}
		}
		if err := checkDurable(ctx, c); err != nil {
			return err
		}
		return migrate(ctx, c, d, timeout)
	}()
	if err != nil {
		return nil, fmt.Errorf("sqlite: open: %w", explain(err))
	}
	s.Store = sqlstore.New(sqlstore.OnDatabase(db), d)
	return s, nil
}

// Tx returns the journal as a part of the caller's transaction: what Begin, Update
// and Prune write is there when the transaction commits, and not before. The
// transaction must be of the journal's own file (DB, or OpenDB). Close does nothing.
//
// A transaction holds SQLite's only right to write from its first write on: do not
// call a provider in it, and do not call the store itself, which would wait for it.
func (s *Store) Tx(tx *sql.Tx) journal.Store { return s.InTx(sqlstore.OnDatabase(tx)) }

// DB returns the database, for the caller's own tables and transactions. Those that
// it begins take the right to write at once (BEGIN IMMEDIATE), unless the journal
// is on a database of the caller's.
func (s *Store) DB() *sql.DB { return s.db }

// Close closes the store; of what Open opened it waits for the methods that run.
func (s *Store) Close() error {
	err := s.Store.Close()
	if s.owned {
		err = errors.Join(err, s.db.Close())
	}
	return err
}

// create makes an empty file that only its owner can read, unless there is one.
// It gets its name after it was closed: closing a file of that name would take
// the locks of every connection that this process has on it.
func create(path string) error {
	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil // a file system without links: SQLite makes the file itself
	}
	return nil
}

// source names the file and the settings of every connection.
func source(path string, timeout time.Duration) string {
	slash := filepath.ToSlash(path)
	if filepath.VolumeName(path) != "" {
		slash = "/" + slash
	}
	settings := url.Values{
		"_busy_timeout": {fmt.Sprint(timeout.Milliseconds())},
		"_pragma":       {"synchronous(FULL)", "fullfsync(1)", "checkpoint_fullfsync(1)"},
		"_txlock":       {"immediate"},
	}
	return "file:" + strings.ReplaceAll(url.PathEscape(slash), "%2F", "/") + "?" + settings.Encode()
}

// enterWAL puts the file into WAL mode. SQLite does not wait for others there, so
// this does.
func enterWAL(ctx context.Context, c *sql.Conn, timeout time.Duration) error {
	return untilFree(ctx, timeout, func() error {
		var mode string
		if err := c.QueryRowContext(ctx, "PRAGMA journal_mode=WAL").Scan(&mode); err != nil {
			return err
		}
		if mode != "wal" {
			return fmt.Errorf("the file does not enter WAL mode, and stays in mode %s", mode)
		}
		return nil
	})
}

// checkDurable refuses settings under which a commit may be lost.
func checkDurable(ctx context.Context, c *sql.Conn) error {
	var mode string
	if err := c.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return err
	}
	var synchronous int
	if err := c.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&synchronous); err != nil {
		return err
	}
	if mode == "off" || mode == "memory" || synchronous < 2 {
		return fmt.Errorf("a journal must be durable: journal_mode is %s and synchronous %d, and it takes WAL and 2 (FULL)", mode, synchronous)
	}
	return nil
}

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrate brings the schema up to date, in a transaction that is the only writer.
func migrate(ctx context.Context, c *sql.Conn, d sqlstore.Dialect, timeout time.Duration) error {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return err
	}
	on := sqlstore.OnDatabase(c)
	if current, err := d.Current(ctx, on, files); err != nil || current {
		return err
	}
	begin := func() error {
		_, err := on.Exec(ctx, "BEGIN IMMEDIATE")
		return err
	}
	if err := untilFree(ctx, timeout, begin); err != nil {
		return err
	}
	err = d.Migrate(ctx, on, files)
	if err == nil {
		_, err = on.Exec(ctx, "COMMIT")
	}
	if err != nil {
		_, rollback := c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		err = errors.Join(err, rollback)
	}
	return err
}

// untilFree repeats f, which does nothing while another has the right to write.
func untilFree(ctx context.Context, timeout time.Duration, f func() error) error {
	for end := time.Now().Add(timeout); ; {
		err := f()
		if !errors.Is(explain(err), ErrBusy) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

var _ journal.Store = (*Store)(nil)

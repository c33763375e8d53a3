package sqlite_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/internal/storetest"
	"github.com/idempact/idempact/journal/journaltest"
	"github.com/idempact/idempact/journal/sqlite"
)

var sweep = flag.Bool("sweep", false, "measure a sweep among 1,000,000 entries")

func TestMain(m *testing.M) {
	storetest.Main(m, map[string]func(io.Writer, []string) error{
		"open": func(_ io.Writer, args []string) error {
			s, err := sqlite.Open(context.Background(), args[0], nil)
			if err != nil {
				return err
			}
			return s.Close()
		},
		"work": func(out io.Writer, args []string) error {
			s, err := sqlite.Open(context.Background(), args[0], nil)
			if err != nil {
				return err
			}
			if err := storetest.Work(context.Background(), out, s, 25); err != nil {
				return err
			}
			return s.Close()
		},
		// It dies as soon as Begin has returned.
		"die": func(_ io.Writer, args []string) error {
			s, err := sqlite.Open(context.Background(), args[0], nil)
			if err != nil {
				return err
			}
			if _, _, err := s.Begin(context.Background(), entry("written ahead")); err != nil {
				return err
			}
			os.Exit(0)
			return nil
		},
	})
}

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "journal.db") }

func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func entry(key string) journal.Entry {
	return journal.Entry{ID: journal.ID{Provider: "acme", Key: key}}
}

// reopener is a store that journaltest can open once more.
type reopener struct {
	journal.Store
	reopen func() (journal.Store, error)
}

func (r reopener) Reopen() (journal.Store, error) {
	s, err := r.reopen()
	return reopener{s, r.reopen}, err
}

func TestStore(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) journal.Store {
		path := newPath(t)
		return reopener{open(t, path), func() (journal.Store, error) {
			return sqlite.Open(context.Background(), path, nil)
		}}
	})
}

// database is one of the caller's own.
func database(t testing.TB, path, settings string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_busy_timeout=30000&"+settings)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// On the caller's own database, in SQLite's default mode.
func TestOnDatabaseSQL(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) journal.Store {
		db := database(t, newPath(t), "")
		reopen := func() (journal.Store, error) { return sqlite.OpenDB(context.Background(), db, nil) }
		s, err := reopen()
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, db.Ping(), "Close left the caller's database open") })
		return reopener{s, reopen}
	})
}

// A journal that forgets is none.
func TestRefusesWhatIsNotDurable(t *testing.T) {
	for _, settings := range []string{"_journal_mode=WAL&_synchronous=NORMAL", "_synchronous=OFF", "_journal_mode=MEMORY", "_journal_mode=OFF"} {
		_, err := sqlite.OpenDB(t.Context(), database(t, newPath(t), settings), nil)
		assert.ErrorContains(t, err, "durable", settings)
	}
	_, err := sqlite.Open(t.Context(), ":memory:", nil)
	assert.Error(t, err)
	_, err = sqlite.OpenDB(t.Context(), database(t, ":memory:", ""), nil)
	assert.Error(t, err)
}

func TestSettings(t *testing.T) {
	db := open(t, newPath(t)).DB()
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "30000", "fullfsync": "1"} {
		var got string
		require.NoError(t, db.QueryRow("PRAGMA "+pragma).Scan(&got))
		assert.Equal(t, want, got, pragma)
	}
}

// It holds what people paid for: others of the machine do not read it.
func TestFileMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such modes there")
	}
	path := newPath(t)
	s := open(t, path)
	_, _, err := s.Begin(t.Context(), entry("k"))
	require.NoError(t, err)
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
	left, err := filepath.Glob(path + ".new*")
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestOddPaths(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"with space.db", "per%20cent.db", "question?mark.db", "hash#.db", "é&=+.db"} {
		if runtime.GOOS == "windows" && name == "question?mark.db" {
			continue
		}
		s := open(t, filepath.Join(dir, name))
		_, _, err := s.Begin(t.Context(), entry("k"))
		require.NoError(t, err)
		assert.FileExists(t, filepath.Join(dir, name))
	}
	t.Chdir(dir)
	s := open(t, "with space.db")
	_, err := s.Get(t.Context(), entry("k").ID)
	require.NoError(t, err, "the same file by a relative path")
}

// "The payment is settled" and "the invoice is paid" commit together, or neither.
func TestTransaction(t *testing.T) {
	s := open(t, newPath(t))
	db := s.DB()
	_, err := db.Exec("CREATE TABLE invoices (id TEXT, paid INTEGER)")
	require.NoError(t, err)
	e, _, err := s.Begin(t.Context(), entry("k"))
	require.NoError(t, err)
	e.Settled = true
	for _, committed := range []bool{false, true} {
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		inTx := s.Tx(tx)
		_, inserted, err := inTx.Begin(t.Context(), entry("k"))
		require.NoError(t, err)
		assert.False(t, inserted)
		_, inserted, err = inTx.Begin(t.Context(), entry("new"))
		require.NoError(t, err)
		assert.True(t, inserted)
		_, err = inTx.Update(t.Context(), e)
		require.NoError(t, err)
		_, err = inTx.Update(t.Context(), e)
		require.ErrorIs(t, err, journal.ErrConflict)
		_, err = tx.Exec("INSERT INTO invoices VALUES ('INV-1', 1)")
		require.NoError(t, err)
		require.NoError(t, inTx.Close())
		now, err := s.Get(t.Context(), e.ID)
		require.NoError(t, err)
		assert.False(t, now.Settled, "before the commit")
		if committed {
			require.NoError(t, tx.Commit())
		} else {
			require.NoError(t, tx.Rollback())
		}
		now, err = s.Get(t.Context(), e.ID)
		require.NoError(t, err)
		assert.Equal(t, committed, now.Settled)
		_, err = s.Get(t.Context(), entry("new").ID)
		assert.Equal(t, committed, err == nil, "%v", err)
		var paid int
		require.NoError(t, db.QueryRow("SELECT count(*) FROM invoices").Scan(&paid))
		assert.Equal(t, committed, paid == 1)
	}
}

// A writer that waits for another gives up with its context, not with the timeout.
func TestContextEndsTheWait(t *testing.T) {
	path := newPath(t)
	s, other := open(t, path), open(t, path)
	tx, err := other.DB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	start := time.Now()
	impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err = s.Begin(impatient, entry("k"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Less(t, time.Since(start), 10*time.Second)
	_, err = s.Get(t.Context(), entry("k").ID)
	require.ErrorIs(t, err, journal.ErrNotFound, "reading does not wait")
	require.NoError(t, tx.Rollback())
	_, _, err = s.Begin(t.Context(), entry("k"))
	require.NoError(t, err)
}

func TestBusy(t *testing.T) {
	path := newPath(t)
	holder := open(t, path)
	s, err := sqlite.Open(t.Context(), path, &sqlite.Options{BusyTimeout: 20 * time.Millisecond})
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close()) }()
	tx, err := holder.DB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, _, err = s.Begin(t.Context(), entry("k"))
	require.ErrorIs(t, err, sqlite.ErrBusy)
	require.NoError(t, tx.Rollback())
}

// The store starts no clock of its own: in a bubble the entries have its time.
func TestVirtualTime(t *testing.T) {
	path := newPath(t)
	synctest.Test(t, func(t *testing.T) {
		s, err := sqlite.Open(t.Context(), path, nil)
		require.NoError(t, err)
		e := entry("k")
		e.FirstSent, e.Due = time.Now(), time.Now().Add(24*time.Hour)
		_, _, err = s.Begin(t.Context(), e)
		require.NoError(t, err)
		found, err := s.Unsettled(t.Context(), e.Provider, e.Account, time.Now(), 10)
		require.NoError(t, err)
		assert.Empty(t, found)
		time.Sleep(24 * time.Hour)
		found, err = s.Unsettled(t.Context(), e.Provider, e.Account, time.Now(), 10)
		require.NoError(t, err)
		require.Len(t, found, 1)
		assert.Equal(t, 24*time.Hour, time.Since(found[0].FirstSent))
		require.NoError(t, s.Close())
	})
}

func TestManyProcesses(t *testing.T) {
	path := newPath(t)
	sent := storetest.Spawn(t, 2, "work", path)
	slices.Sort(sent)
	assert.Len(t, sent, storetest.Operations)
	assert.Equal(t, sent, slices.Compact(slices.Clone(sent)), "each operation is sent once")
}

func TestManyMigrationsAtOnce(t *testing.T) {
	path := newPath(t)
	storetest.Spawn(t, 4, "open", path)
	var n int
	require.NoError(t, open(t, path).DB().QueryRow("SELECT count(*) FROM idempact_migrations").Scan(&n))
	assert.Equal(t, 2, n)
}

func TestWrittenAheadOfDeath(t *testing.T) {
	path := newPath(t)
	storetest.Spawn(t, 1, "die", path)
	_, err := open(t, path).Get(t.Context(), entry("written ahead").ID)
	require.NoError(t, err)
}

func fill(t *testing.T) func(journal.Store, bool, int) {
	return func(s journal.Store, settled bool, n int) {
		_, _, err := s.Begin(t.Context(), storetest.Template())
		require.NoError(t, err)
		_, err = s.(*sqlite.Store).DB().Exec("WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < " + fmt.Sprint(n) + ") " +
			storetest.Copy("idempact_entries", "hex(randomblob(16))", fmt.Sprint(settled), "many"))
		require.NoError(t, err)
	}
}

// plan returns how SQLite goes about a query.
func plan(t *testing.T, db *sql.DB, query string) (plan string) {
	t.Helper()
	rows, err := db.Query("EXPLAIN QUERY PLAN " + query)
	require.NoError(t, err)
	defer func() { assert.NoError(t, rows.Close()) }()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
		plan += detail + "\n"
	}
	require.NoError(t, rows.Err())
	return plan
}

func TestPlans(t *testing.T) {
	s := open(t, newPath(t))
	got := plan(t, s.DB(), "SELECT * FROM idempact_entries WHERE NOT settled AND provider = 'acme' AND account = '' AND due <= 5 AND (lease_holder = '' OR lease_until <= 5) ORDER BY due LIMIT 10")
	assert.Equal(t, "SEARCH idempact_entries USING INDEX idempact_unsettled (provider=? AND account=? AND due<?)\n", got)
	got = plan(t, s.DB(), "SELECT id FROM idempact_entries WHERE settled AND updated < 5 AND retain < 5 ORDER BY updated LIMIT 10")
	assert.Equal(t, "SEARCH idempact_entries USING INDEX idempact_settled (updated<?)\n", got)
}

func TestSweepCost(t *testing.T) {
	if !*sweep {
		t.Skip("it takes minutes: go test -run TestSweepCost -sweep")
	}
	storetest.SweepCost(t, func() journal.Store { return open(t, newPath(t)) }, fill(t))
}

// Who only wants to look changes nothing of a file that is no journal.
func TestMustExist(t *testing.T) {
	path := newPath(t)
	_, err := sqlite.Open(t.Context(), path, &sqlite.Options{MustExist: true})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoFileExists(t, path)

	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err = sqlite.Open(t.Context(), path, &sqlite.Options{MustExist: true})
	require.ErrorIs(t, err, journal.ErrSchema)
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Empty(t, raw)

	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer func() { assert.NoError(t, db.Close()) }()
	_, err = db.ExecContext(t.Context(), "CREATE TABLE own (a); PRAGMA synchronous = FULL")
	require.NoError(t, err)
	_, err = sqlite.OpenDB(t.Context(), db, &sqlite.Options{MustExist: true})
	require.ErrorIs(t, err, journal.ErrSchema)
	var mode string
	require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&mode))
	assert.Equal(t, "delete", mode)

	made, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	require.NoError(t, made.Close())
	s, err := sqlite.Open(t.Context(), path, &sqlite.Options{MustExist: true})
	require.NoError(t, err)
	assert.NoError(t, s.Close())
}

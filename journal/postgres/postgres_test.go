package postgres_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/internal/pgtest"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/internal/storetest"
	"github.com/idempact/idempact/journal/journaltest"
	"github.com/idempact/idempact/journal/postgres"
)

var sweep = flag.Bool("sweep", false, "measure a sweep among 1,000,000 entries")

func TestMain(m *testing.M) {
	storetest.Main(m, map[string]func(io.Writer, []string) error{
		"open": func(_ io.Writer, args []string) error {
			s, err := postgres.Open(context.Background(), args[0], &postgres.Options{Schema: args[1]})
			if err != nil {
				return err
			}
			return s.Close()
		},
		"work": func(out io.Writer, args []string) error {
			s, err := postgres.Open(context.Background(), args[0], &postgres.Options{Schema: args[1]})
			if err != nil {
				return err
			}
			if err := storetest.Work(context.Background(), out, s, 25); err != nil {
				return err
			}
			return s.Close()
		},
	})
}

// place is a server, and a schema of the test's own on it.
type place struct{ url, schema string }

func newPlace(t testing.TB) place {
	t.Helper()
	p := place{pgtest.URL(t), `Test "` + rand.Text()[:8] + `"`}
	t.Cleanup(func() { p.exec(t, "DROP SCHEMA IF EXISTS "+p.quoted()+" CASCADE") })
	return p
}

func (p place) quoted() string { return pgx.Identifier{p.schema}.Sanitize() }

func (p place) options() *postgres.Options { return &postgres.Options{Schema: p.schema} }

// exec runs statements beside the store.
func (p place) exec(t testing.TB, statements string) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), p.url)
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Close(context.Background())) }()
	_, err = c.Exec(context.Background(), statements)
	require.NoError(t, err)
}

func (p place) open(t testing.TB) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), p.url, p.options())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
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

// reopening returns a store that reopen makes.
func reopening(t *testing.T, reopen func() (journal.Store, error)) journal.Store {
	t.Helper()
	s, err := reopen()
	require.NoError(t, err)
	return reopener{s, reopen}
}

func entry(key string) journal.Entry {
	return journal.Entry{ID: journal.ID{Provider: "acme", Key: key}}
}

func TestStore(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) journal.Store {
		p := newPlace(t)
		return reopening(t, func() (journal.Store, error) {
			return postgres.Open(context.Background(), p.url, p.options())
		})
	})
}

// On the caller's own pool; behind a pooler of connections nothing may be prepared,
// so pgx's other modes must do as well.
func TestOnPool(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			config, err := pgxpool.ParseConfig(pgtest.URL(t))
			require.NoError(t, err)
			config.ConnConfig.DefaultQueryExecMode = mode
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			require.NoError(t, err)
			defer pool.Close()
			journaltest.Run(t, func(t *testing.T) journal.Store {
				p := newPlace(t)
				return reopening(t, func() (journal.Store, error) {
					return postgres.New(context.Background(), pool, p.options())
				})
			})
			require.NoError(t, pool.Ping(t.Context()), "Close left the caller's pool open")
		})
	}
}

func TestOnDatabaseSQL(t *testing.T) {
	db, err := sql.Open("pgx", pgtest.URL(t))
	require.NoError(t, err)
	defer func() { assert.NoError(t, db.Close()) }()
	db.SetMaxOpenConns(20)
	journaltest.Run(t, func(t *testing.T) journal.Store {
		p := newPlace(t)
		return reopening(t, func() (journal.Store, error) {
			return postgres.OpenDB(context.Background(), db, p.options())
		})
	})
	require.NoError(t, db.Ping(), "Close left the caller's database open")
}

// "The payment is settled" and "the invoice is paid" commit together, or neither.
func TestTransaction(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	p.exec(t, "CREATE TABLE "+p.quoted()+".invoices (id text, paid boolean)")
	pay := "INSERT INTO " + p.quoted() + ".invoices VALUES ('INV-1', true)"
	pool, err := pgxpool.New(t.Context(), p.url)
	require.NoError(t, err)
	defer pool.Close()
	db, err := sql.Open("pgx", p.url)
	require.NoError(t, err)
	defer func() { assert.NoError(t, db.Close()) }()
	for _, c := range []struct {
		name  string
		begin func() (tx journal.Store, pay, commit, rollback func() error)
	}{
		{"pgx", func() (journal.Store, func() error, func() error, func() error) {
			tx, err := pool.Begin(t.Context())
			require.NoError(t, err)
			return s.Tx(tx), func() error { _, err := tx.Exec(t.Context(), pay); return err },
				func() error { return tx.Commit(t.Context()) }, func() error { return tx.Rollback(t.Context()) }
		}},
		{"database/sql", func() (journal.Store, func() error, func() error, func() error) {
			tx, err := db.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			return s.SQLTx(tx), func() error { _, err := tx.Exec(pay); return err }, tx.Commit, tx.Rollback
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			invoices := func() (n int) {
				require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM "+p.quoted()+".invoices").Scan(&n))
				return n
			}
			before := invoices()
			e, _, err := s.Begin(t.Context(), entry(c.name))
			require.NoError(t, err)
			e.Settled = true
			for _, committed := range []bool{false, true} {
				tx, pay, commit, rollback := c.begin()
				known, inserted, err := tx.Begin(t.Context(), e)
				require.NoError(t, err)
				assert.False(t, inserted)
				assert.Equal(t, int64(1), known.Version)
				_, inserted, err = tx.Begin(t.Context(), entry(c.name+", in the transaction"))
				require.NoError(t, err)
				assert.True(t, inserted)
				_, err = tx.Update(t.Context(), e)
				require.NoError(t, err)
				_, err = tx.Update(t.Context(), e)
				require.ErrorIs(t, err, journal.ErrConflict, "a conflict does not end the transaction")
				require.NoError(t, pay())
				require.NoError(t, tx.Close())
				now, err := s.Get(t.Context(), e.ID)
				require.NoError(t, err)
				assert.False(t, now.Settled, "before the commit")
				if !committed {
					require.NoError(t, rollback())
				} else {
					require.NoError(t, commit())
				}
				now, err = s.Get(t.Context(), e.ID)
				require.NoError(t, err)
				assert.Equal(t, committed, now.Settled)
				_, err = s.Get(t.Context(), entry(c.name+", in the transaction").ID)
				assert.Equal(t, committed, err == nil, "%v", err)
				assert.Equal(t, committed, invoices() == before+1)
			}
		})
	}
}

// A Begin that meets one in an open transaction waits for what comes of it.
func TestBeginWaitsForATransaction(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	pool, err := pgxpool.New(t.Context(), p.url)
	require.NoError(t, err)
	defer pool.Close()
	for _, committed := range []bool{false, true} {
		tx, err := pool.Begin(t.Context())
		require.NoError(t, err)
		e := entry(fmt.Sprint(committed))
		e.Action = "in the transaction"
		_, inserted, err := s.Tx(tx).Begin(t.Context(), e)
		require.NoError(t, err)
		require.True(t, inserted)
		other := entry(e.Key + ", the impatient one")
		_, _, err = s.Tx(tx).Begin(t.Context(), other)
		require.NoError(t, err)
		impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, _, err = s.Begin(impatient, other) // and whether it took place is unknown
		require.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
		type answer struct {
			stored   journal.Entry
			inserted bool
			err      error
		}
		answers := make(chan answer)
		go func() {
			stored, inserted, err := s.Begin(t.Context(), entry(e.Key))
			answers <- answer{stored, inserted, err}
		}()
		if committed {
			require.NoError(t, tx.Commit(t.Context()))
		} else {
			require.NoError(t, tx.Rollback(t.Context()))
		}
		got := <-answers
		require.NoError(t, got.err)
		assert.Equal(t, !committed, got.inserted)
		assert.Equal(t, committed, got.stored.Action != "")
	}
}

func TestManyProcesses(t *testing.T) {
	p := newPlace(t)
	// The first thing that they meet is an empty database: all migrate at once.
	sent := storetest.Spawn(t, 2, "work", p.url, p.schema)
	slices.Sort(sent)
	assert.Len(t, sent, storetest.Operations)
	assert.Equal(t, sent, slices.Compact(slices.Clone(sent)), "each operation is sent once")
}

func TestManyMigrationsAtOnce(t *testing.T) {
	p := newPlace(t)
	storetest.Spawn(t, 4, "open", p.url, p.schema)
	var n int
	c, err := pgx.Connect(t.Context(), p.url)
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Close(t.Context())) }()
	require.NoError(t, c.QueryRow(t.Context(), "SELECT count(*) FROM "+p.quoted()+".idempact_migrations").Scan(&n))
	assert.Equal(t, 2, n)
}

// explain returns the plan of a query on the entries.
func (p place) explain(t *testing.T, query string) (plan string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), p.url)
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Close(t.Context())) }()
	rows, err := c.Query(t.Context(), "EXPLAIN "+query)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return fmt.Sprint(lines)
}

func (p place) fill(t *testing.T) func(journal.Store, bool, int) {
	return func(s journal.Store, settled bool, n int) {
		_, _, err := s.Begin(t.Context(), storetest.Template())
		require.NoError(t, err)
		p.exec(t, storetest.Copy(p.quoted()+".idempact_entries", "gen_random_uuid()::text", fmt.Sprint(settled),
			fmt.Sprintf("generate_series(1, %d)", n)))
	}
}

func TestPlans(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	p.fill(t)(s, true, 20_000)
	p.fill(t)(s, false, 200)
	p.exec(t, "ANALYZE "+p.quoted()+".idempact_entries")
	assert.Contains(t, p.explain(t, "SELECT * FROM "+p.quoted()+".idempact_entries WHERE NOT settled AND provider = 'acme' AND account = '' AND due <= now()"+
		" AND (lease_holder = '' OR lease_until <= now()) ORDER BY due LIMIT 100"), "idempact_unsettled")
}

func TestSweepCost(t *testing.T) {
	if !*sweep {
		t.Skip("it takes minutes: go test -run TestSweepCost -sweep")
	}
	var p place
	storetest.SweepCost(t, func() journal.Store {
		p = newPlace(t)
		return p.open(t)
	}, func(s journal.Store, settled bool, n int) { p.fill(t)(s, settled, n) })
}

// Who only wants to look makes no schema in a database without a journal.
func TestMustExist(t *testing.T) {
	p := newPlace(t)
	_, err := postgres.Open(t.Context(), p.url, &postgres.Options{Schema: p.schema, MustExist: true})
	require.ErrorIs(t, err, journal.ErrSchema)
	made, err := postgres.Open(t.Context(), p.url, &postgres.Options{Schema: p.schema})
	require.NoError(t, err)
	require.NoError(t, made.Close())
	s, err := postgres.Open(t.Context(), p.url, &postgres.Options{Schema: p.schema, MustExist: true})
	require.NoError(t, err)
	assert.NoError(t, s.Close())
}

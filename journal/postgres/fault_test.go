package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/internal/pgtest"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/postgres"
	"github.com/idempact/idempact/providers/stripe"
	"github.com/idempact/idempact/retry"
)

// cutter is a pool whose connections lose the answer to a chosen write: the server
// gets the bytes, and the client an error.
type cutter struct {
	armed atomic.Bool
	pool  *pgxpool.Pool
}

func newCutter(t *testing.T, url string) *cutter {
	t.Helper()
	c := &cutter{}
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	config.MaxConns = 1
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return &cut{Conn: conn, of: c}, err
	}
	c.pool, err = pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(c.pool.Close)
	return c
}

type cut struct {
	net.Conn
	of   *cutter
	lost bool
}

func (c *cut) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if c.of.armed.CompareAndSwap(true, false) {
		c.lost = true
	}
	return n, err
}

func (c *cut) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.lost { // the answer has come, so what was asked has been done
		return 0, errors.Join(errors.New("the connection was lost"), c.Close())
	}
	return n, err
}

// The commit took place and its answer was lost: an error, after which reading
// shows the entry, and who wrote it.
func TestAmbiguousCommit(t *testing.T) {
	p := newPlace(t)
	c := newCutter(t, p.url)
	s, err := postgres.New(t.Context(), c.pool, p.options())
	require.NoError(t, err)
	_, _, err = s.Begin(t.Context(), entry("warm")) // the statement is prepared
	require.NoError(t, err)

	e := entry("begin")
	e.Lease.Holder = "me"
	c.armed.Store(true)
	_, inserted, err := s.Begin(t.Context(), e)
	require.Error(t, err)
	assert.False(t, inserted)
	require.NotErrorIs(t, err, journal.ErrNotFound)
	require.NotErrorIs(t, err, journal.ErrConflict)
	require.False(t, c.armed.Load(), "the answer was lost")
	stored, inserted, err := s.Begin(t.Context(), e)
	require.NoError(t, err)
	assert.False(t, inserted, "it took place the first time")
	assert.Equal(t, "me", stored.Lease.Holder)

	stored.Settled = true
	_, err = s.Update(t.Context(), entry("warm"))
	require.ErrorIs(t, err, journal.ErrConflict)
	c.armed.Store(true)
	_, err = s.Update(t.Context(), stored)
	require.Error(t, err)
	require.NotErrorIs(t, err, journal.ErrConflict)
	now, err := s.Get(t.Context(), e.ID)
	require.NoError(t, err)
	assert.True(t, now.Settled)
	assert.Equal(t, stored.Version+1, now.Version)
	_, err = s.Update(t.Context(), stored)
	require.ErrorIs(t, err, journal.ErrConflict, "the same write again says that it was done, or another's")

	tx, err := c.pool.Begin(t.Context())
	require.NoError(t, err)
	_, _, err = s.Tx(tx).Begin(t.Context(), entry("in a transaction"))
	require.NoError(t, err)
	c.armed.Store(true)
	require.Error(t, tx.Commit(t.Context()))
	_, err = s.Get(t.Context(), entry("in a transaction").ID)
	require.NoError(t, err, "the caller's commit took place as well")
}

// The server kills the connection while it commits: nothing is there afterwards.
func TestKilledDuringCommit(t *testing.T) {
	p := newPlace(t)
	s := p.open(t)
	p.exec(t, fmt.Sprintf(`CREATE FUNCTION %[1]s.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON %[1]s.idempact_entries DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION %[1]s.slow()`, p.quoted()))
	failed := make(chan error)
	go func() {
		_, _, err := s.Begin(t.Context(), entry("k"))
		failed <- err
	}()
	c, err := pgx.Connect(t.Context(), p.url)
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Close(t.Context())) }()
	for killed := int64(0); killed == 0; {
		tag, err := c.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE '%'||$1||'%'", p.schema[6:14])
		require.NoError(t, err)
		killed = tag.RowsAffected()
	}
	err = <-failed
	var said *pgconn.PgError
	require.ErrorAs(t, err, &said)
	assert.Equal(t, "57P01", said.Code)
	_, err = s.Get(t.Context(), entry("k").ID)
	require.ErrorIs(t, err, journal.ErrNotFound)
}

func TestServerGone(t *testing.T) {
	cluster := pgtest.Start(t)
	s, err := postgres.Open(t.Context(), cluster.URL(), nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close()) }()
	first, _, err := s.Begin(t.Context(), entry("k"))
	require.NoError(t, err)
	cluster.Stop() // as a crash would
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, _, err = s.Begin(ctx, entry("new"))
	require.Error(t, err)
	_, err = s.Get(ctx, first.ID)
	require.Error(t, err)
	require.NotErrorIs(t, err, journal.ErrNotFound, "what cannot be read is not absent")
	_, err = postgres.Open(ctx, cluster.URL(), nil)
	require.Error(t, err)
	cluster.Restart(t)
	read, err := s.Get(t.Context(), first.ID)
	require.NoError(t, err)
	assert.Equal(t, first, read)
	_, err = s.Get(t.Context(), entry("new").ID)
	require.ErrorIs(t, err, journal.ErrNotFound)
}

// What the driver knows was never sent is sent again: the server had closed the
// connection while nobody used it.
func TestIdleConnectionsEnd(t *testing.T) {
	p := newPlace(t)
	c := newCutter(t, p.url)
	s, err := postgres.New(t.Context(), c.pool, p.options())
	require.NoError(t, err)
	conn, err := c.pool.Acquire(t.Context())
	require.NoError(t, err)
	require.NoError(t, conn.Conn().PgConn().Conn().Close())
	conn.Release()
	_, inserted, err := s.Begin(t.Context(), entry("k"))
	require.NoError(t, err)
	assert.True(t, inserted)
}

func TestReadOnly(t *testing.T) {
	p := newPlace(t)
	e, _, err := p.open(t).Begin(t.Context(), entry("k"))
	require.NoError(t, err)
	config, err := pgxpool.ParseConfig(p.url)
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer pool.Close()
	s, err := postgres.New(t.Context(), pool, p.options())
	require.NoError(t, err)
	var said *pgconn.PgError
	_, _, err = s.Begin(t.Context(), entry("new"))
	require.ErrorAs(t, err, &said)
	assert.Equal(t, "25006", said.Code)
	_, err = s.Update(t.Context(), e)
	require.ErrorAs(t, err, &said)
	_, err = s.Get(t.Context(), e.ID)
	require.NoError(t, err)
	_, err = postgres.New(t.Context(), pool, &postgres.Options{Schema: p.schema + " none"})
	require.ErrorAs(t, err, &said)
}

// A journal that forgets is none, and one that cannot hold every key neither.
func TestRefusesSettings(t *testing.T) {
	p := newPlace(t)
	config, err := pgxpool.ParseConfig(p.url)
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer pool.Close()
	_, err = postgres.New(t.Context(), pool, p.options())
	require.ErrorContains(t, err, "synchronous_commit")
}

func TestRefusesEncodings(t *testing.T) {
	if os.Getenv("IDEMPACT_POSTGRES_URL") != "" {
		t.Skip("it makes a database")
	}
	p := newPlace(t)
	p.exec(t, "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
	config, err := pgxpool.ParseConfig(p.url)
	require.NoError(t, err)
	config.ConnConfig.Database = "latin"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	_, err = postgres.New(t.Context(), pool, p.options())
	require.ErrorContains(t, err, "LATIN1")
	pool.Close()
	p.exec(t, "DROP DATABASE latin")
}

// A program that may not make tables opens a journal that is up to date.
func TestWithoutTheRightToMakeTables(t *testing.T) {
	p := newPlace(t)
	p.open(t)
	q := p.quoted()
	role := "idempact_writer_" + p.schema[6:14]
	role = pgx.Identifier{role}.Sanitize()
	p.exec(t, "CREATE ROLE "+role+"; GRANT USAGE ON SCHEMA "+q+" TO "+role+"; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "+q+" TO "+role)
	t.Cleanup(func() { p.exec(t, "DROP OWNED BY "+role+"; DROP ROLE "+role) })
	config, err := pgxpool.ParseConfig(p.url)
	require.NoError(t, err)
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "SET ROLE "+role)
		return err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	s, err := postgres.New(t.Context(), pool, p.options())
	require.NoError(t, err)
	e, _, err := s.Begin(t.Context(), entry("k"))
	require.NoError(t, err)
	_, err = s.Update(t.Context(), e)
	require.NoError(t, err)
}

func TestNewerSchema(t *testing.T) {
	p := newPlace(t)
	p.open(t)
	p.exec(t, "INSERT INTO "+p.quoted()+".idempact_migrations VALUES (7, '0007_future.sql', '')")
	_, err := postgres.Open(t.Context(), p.url, p.options())
	require.ErrorIs(t, err, journal.ErrSchema)
	assert.ErrorContains(t, err, "version 7")
	assert.ErrorContains(t, err, "up to 2")
}

func TestTableOfAnother(t *testing.T) {
	p := newPlace(t)
	p.exec(t, "CREATE SCHEMA "+p.quoted()+"; CREATE TABLE "+p.quoted()+".idempact_entries (id int)")
	_, err := postgres.Open(t.Context(), p.url, p.options())
	require.ErrorIs(t, err, journal.ErrSchema)
}

// The database is gone between the write-ahead and the verdict: the money has moved,
// and what is told is not known, with the verdict in the error. When the database is
// back, the next call finds it out.
func TestServerGoneBetweenBeginAndSettle(t *testing.T) {
	c := pgtest.Start(t)
	s, err := postgres.Open(t.Context(), c.URL(), nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close()) }()
	server := fakes.NewStripe(nil)
	gone := server.Transport()
	payments, err := retry.NewClient(stripe.New(nil), &retry.Options{
		Journal: s, MaxElapsed: 5 * time.Minute,
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := gone.RoundTrip(r)
			if r.Method == http.MethodPost && len(server.Requests()) == 1 {
				c.Stop()
			}
			return resp, err
		}),
	})
	require.NoError(t, err)
	pay := func() (*retry.Result, error) {
		req, err := http.NewRequestWithContext(contract.WithKey(t.Context(), "k"), http.MethodPost, "https://api.stripe.com/v1/payment_intents",
			strings.NewReader("amount=2500&currency=usd&confirm=true&payment_method=pm_card_visa"))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Authorization", "Bearer sk_test_fake")
		return payments.Do(req)
	}
	result, err := pay()
	require.ErrorIs(t, err, contract.Unknown)
	assert.False(t, result.AllowsNewKey())
	var unrecorded *retry.UnrecordedError
	require.ErrorAs(t, err, &unrecorded)
	assert.Equal(t, contract.Succeeded, unrecorded.Verdict.Status)

	c.Restart(t)
	e, err := s.Get(t.Context(), journal.ID{Provider: "stripe", Key: "k"})
	require.NoError(t, err)
	assert.False(t, e.Settled)
	e.Lease.Until = e.Updated // two minutes later
	_, err = s.Update(t.Context(), e)
	require.NoError(t, err)
	result, err = pay()
	require.NoError(t, err)
	assert.Equal(t, unrecorded.Verdict.Resource, result.Resource)
	assert.Len(t, server.Effects(), 1)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

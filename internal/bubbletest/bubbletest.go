// Package bubbletest plays a test on every store of this module, in virtual time:
// in memory, on SQLite and on PostgreSQL.
package bubbletest

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/idempact/idempact/internal/pgtest"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/postgres"
	"github.com/idempact/idempact/journal/sqlite"
)

// OnStores plays on each store as a subtest with its name, in a bubble of
// testing/synctest. The stores are empty, and closed when the play is over.
func OnStores(t *testing.T, play func(t *testing.T, s journal.Store)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { inBubble(t, func(testing.TB) journal.Store { return journal.NewMemory() }, play) })
	t.Run("sqlite", func(t *testing.T) { inBubble(t, openSQLite, play) })
	t.Run("postgres", func(t *testing.T) {
		s := openPostgres(t)
		inBubble(t, func(testing.TB) journal.Store { return s }, play)
	})
}

func inBubble(t *testing.T, open func(testing.TB) journal.Store, play func(*testing.T, journal.Store)) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		t.Cleanup(func() { closeStore(t, s) })
		play(t, s)
	})
}

func closeStore(t testing.TB, s journal.Store) {
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func openSQLite(t testing.TB) journal.Store {
	s, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "journal.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openPostgres opens a journal in a schema of its own. Its connections are real ones,
// and a goroutine that waits for one keeps the time of its bubble still only if the
// connection is not of the bubble: so it is opened, and used, outside.
func openPostgres(t testing.TB) journal.Store {
	s, err := postgres.Open(context.Background(), pgtest.URL(t), &postgres.Options{Schema: "bubble_" + rand.Text()})
	if err != nil {
		t.Fatal(err)
	}
	return outside(t, s)
}

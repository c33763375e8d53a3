package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/journaltest"
	"github.com/idempact/idempact/journal/sqlite"
)

// reopener is a store that journaltest can open once more.
type reopener struct {
	*sqlite.Store
	path string
}

func (r reopener) Reopen() (journal.Store, error) {
	s, err := sqlite.Open(context.Background(), r.path, nil)
	return reopener{s, r.path}, err
}

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

func TestStore(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) journal.Store {
		path := filepath.Join(t.TempDir(), "journal.db")
		return reopener{open(t, path), path}
	})
}

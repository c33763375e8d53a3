package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/internal/sqlstore"
)

// A journal is brought from any version to the newest, a file at a time, and a
// program that knows fewer files refuses it.
func TestMigrations(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "journal.db"))
	require.NoError(t, err)
	defer func() { assert.NoError(t, db.Close()) }()
	on := sqlstore.OnDatabase(db)
	file := func(statements string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(statements)} }
	one := fstest.MapFS{"0001_a.sql": file("CREATE TABLE idempact_entries (a); CREATE TABLE one (a);")}
	two := fstest.MapFS{"0001_a.sql": one["0001_a.sql"], "0002_b.sql": file("CREATE TABLE two (a);")}
	for range 2 { // the second time there is nothing to do
		require.NoError(t, dialect.Migrate(t.Context(), on, one))
	}
	current, err := dialect.Current(t.Context(), on, two)
	require.NoError(t, err)
	assert.False(t, current)
	require.NoError(t, dialect.Migrate(t.Context(), on, two))
	current, err = dialect.Current(t.Context(), on, two)
	require.NoError(t, err)
	assert.True(t, current)
	require.ErrorIs(t, dialect.Migrate(t.Context(), on, one), journal.ErrSchema)
	for name, broken := range map[string]fstest.MapFS{
		"a gap":                  {"0001_a.sql": one["0001_a.sql"], "0002_b.sql": two["0002_b.sql"], "0004_d.sql": file("")},
		"a statement that fails": {"0001_a.sql": one["0001_a.sql"], "0002_b.sql": two["0002_b.sql"], "0003_c.sql": file("CREATE TABLE two (a);")},
	} {
		assert.Error(t, dialect.Migrate(t.Context(), on, broken), name)
	}
}

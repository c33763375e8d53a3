package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/sqlite"
)

// fillUp begins entries until one fails, and returns the keys that were begun.
func fillUp(t *testing.T, s journal.Store) (keys []string, err error) {
	t.Helper()
	for i := range 10_000 {
		e := entry(fmt.Sprint(i))
		e.Request.Body = make([]byte, 10_000)
		if _, _, err := s.Begin(t.Context(), e); err != nil {
			return keys, err
		}
		keys = append(keys, e.Key)
	}
	t.Fatal("the disk has no end")
	return nil, nil
}

// have requires that these entries and no others are there.
func have(t *testing.T, s journal.Store, keys []string) {
	t.Helper()
	found, err := s.Unsettled(t.Context(), entry("").Provider, entry("").Account, entry("").Due, 100_000)
	require.NoError(t, err)
	assert.Len(t, found, len(keys))
	for _, k := range keys {
		_, err := s.Get(t.Context(), entry(k).ID)
		assert.NoError(t, err)
	}
}

func TestDiskFull(t *testing.T) {
	path := newPath(t)
	s, err := sqlite.OpenDB(t.Context(), database(t, path, "_pragma=max_page_count(60)"), nil)
	require.NoError(t, err)
	old := entry("old")
	old.Settled, old.Request.Body = true, make([]byte, 20_000)
	_, _, err = s.Begin(t.Context(), old)
	require.NoError(t, err)
	keys, err := fillUp(t, s)
	require.ErrorIs(t, err, sqlite.ErrFull)
	require.NotEmpty(t, keys)
	have(t, s, keys)
	n, err := s.Prune(t.Context(), old.Updated.AddDate(1, 0, 0), 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, _, err = s.Begin(t.Context(), entry("again"))
	require.NoError(t, err, "once there is room")
	require.NoError(t, s.Close())
	have(t, open(t, path), append(keys, "again"))
}

// On a file system that is really full.
func TestFileSystemFull(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "idempact-test", dir).CombinedOutput(); err != nil {
		t.Skipf("it takes the right to mount: %s", out)
	}
	defer func() { assert.NoError(t, exec.Command("umount", dir).Run()) }()
	path := filepath.Join(dir, "journal.db")
	s, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	keys, err := fillUp(t, s)
	require.ErrorIs(t, err, sqlite.ErrFull)
	have(t, s, keys)
	require.NoError(t, exec.Command("mount", "-o", "remount,size=8m", dir).Run())
	_, _, err = s.Begin(t.Context(), entry("again"))
	require.NoError(t, err, "once there is room")
	require.NoError(t, s.Close())
	s, err = sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	have(t, s, append(keys, "again"))
	require.NoError(t, s.Close())
	_, err = sqlite.Open(t.Context(), filepath.Join(dir, "none", "journal.db"), nil)
	require.Error(t, err)
}

func TestReadOnly(t *testing.T) {
	path := newPath(t)
	first := open(t, path)
	e, _, err := first.Begin(t.Context(), entry("k"))
	require.NoError(t, err)
	for _, settings := range []string{"mode=ro", "_query_only=1"} {
		s, err := sqlite.OpenDB(t.Context(), database(t, path, settings), nil)
		require.NoError(t, err, "a journal of the newest schema can be read")
		_, _, err = s.Begin(t.Context(), entry("new"))
		require.ErrorIs(t, err, sqlite.ErrReadOnly)
		_, err = s.Update(t.Context(), e)
		require.ErrorIs(t, err, sqlite.ErrReadOnly)
		_, err = s.Prune(t.Context(), e.Updated.AddDate(1, 0, 0), 1)
		require.ErrorIs(t, err, sqlite.ErrReadOnly)
		_, err = s.Get(t.Context(), e.ID)
		require.NoError(t, err)
	}
	empty := newPath(t)
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	_, err = sqlite.OpenDB(t.Context(), database(t, empty, "mode=ro"), nil)
	require.ErrorIs(t, err, sqlite.ErrReadOnly, "one that is yet to be made cannot")
	if os.Geteuid() != 0 { // root may write whatever the mode says
		require.NoError(t, first.Close())
		require.NoError(t, os.Chmod(path, 0o400))
		s, err := sqlite.Open(t.Context(), path, nil)
		if err == nil {
			_, _, err = s.Begin(t.Context(), entry("new"))
		}
		require.ErrorIs(t, err, sqlite.ErrReadOnly)
	}
}

// SQLite goes on writing into a file that was removed: money would move on the word
// of a journal that nobody ever reads.
func TestFileGone(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"removed":  os.Remove,
		"moved":    func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			s := open(t, path)
			e, _, err := s.Begin(t.Context(), entry("k"))
			require.NoError(t, err)
			require.NoError(t, lose(path))
			_, _, err = s.Begin(t.Context(), entry("new"))
			require.ErrorIs(t, err, sqlite.ErrGone)
			_, err = s.Update(t.Context(), e)
			require.ErrorIs(t, err, sqlite.ErrGone)
			_, err = s.Get(t.Context(), e.ID)
			require.ErrorIs(t, err, sqlite.ErrGone)
		})
	}
}

// damaged returns the path of a journal of which a part was overwritten.
func damaged(t *testing.T, damage func(file []byte)) string {
	t.Helper()
	path := newPath(t)
	s, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	for i := range 200 {
		e := entry(fmt.Sprint(i))
		e.Request.Body = []byte(strings.Repeat("x", 1000))
		_, _, err := s.Begin(t.Context(), e)
		require.NoError(t, err)
	}
	require.NoError(t, s.Close())
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	damage(file)
	require.NoError(t, os.WriteFile(path, file, 0o600))
	return path
}

func TestCorruptedFile(t *testing.T) {
	for name, damage := range map[string]func([]byte){
		"no header":             func(f []byte) { copy(f, strings.Repeat("\x5a", 100)) },
		"no schema":             func(f []byte) { copy(f[100:], strings.Repeat("\x5a", 3996)) },
		"everything but page 1": func(f []byte) { copy(f[4096:], strings.Repeat("\x5a", len(f))) },
	} {
		t.Run(name, func(t *testing.T) {
			path := damaged(t, damage)
			s, err := sqlite.Open(t.Context(), path, nil)
			if err == nil {
				defer func() { assert.NoError(t, s.Close()) }()
				_, err = s.Get(t.Context(), entry("1").ID)
			}
			require.ErrorIs(t, err, sqlite.ErrCorrupt)
			require.NotErrorIs(t, err, journal.ErrNotFound, "what cannot be read is not absent")
		})
	}
}

// One row that cannot be read does not stop the sweeps of all others.
func TestUnreadableEntry(t *testing.T) {
	s := open(t, newPath(t))
	for i := range 20 {
		_, _, err := s.Begin(t.Context(), entry(fmt.Sprint(i)))
		require.NoError(t, err)
	}
	for _, set := range []string{`verdict = '{"status":"paid twice"}'`, `verdict = 'x'`, `request_header = '{}'`, `response_header = '-'`, `url = '\xq'`} {
		_, err := s.DB().Exec("UPDATE idempact_entries SET " + set + " WHERE id <= 9")
		require.NoError(t, err)
		for _, limit := range []int{1, 5, 11, 12, 100} {
			found, err := s.Unsettled(t.Context(), entry("").Provider, entry("").Account, entry("").Due, limit)
			assert.Len(t, found, min(limit, 11))
			require.ErrorIs(t, err, journal.ErrSchema)
		}
		_, err = s.Get(t.Context(), entry("3").ID)
		require.ErrorIs(t, err, journal.ErrSchema)
		assert.NotContains(t, err.Error(), "x-request", "no text of the entry")
		_, inserted, err := s.Begin(t.Context(), entry("3"))
		require.ErrorIs(t, err, journal.ErrSchema, "it is there, whatever it says")
		assert.False(t, inserted)
	}
}

func TestNewerSchema(t *testing.T) {
	path := newPath(t)
	s := open(t, path)
	_, err := s.DB().Exec("INSERT INTO idempact_migrations VALUES (7, '0007_future.sql', '')")
	require.NoError(t, err)
	_, err = sqlite.Open(t.Context(), path, nil)
	require.ErrorIs(t, err, journal.ErrSchema)
	assert.ErrorContains(t, err, "version 7")
	assert.ErrorContains(t, err, "up to 2")
}

func TestTableOfAnother(t *testing.T) {
	path := newPath(t)
	_, err := database(t, path, "").Exec("CREATE TABLE idempact_entries (id INTEGER)")
	require.NoError(t, err)
	_, err = sqlite.Open(t.Context(), path, nil)
	require.ErrorIs(t, err, journal.ErrSchema)
	var n int
	require.NoError(t, database(t, path, "").QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&n))
	assert.Equal(t, 1, n, "nothing of a migration that failed is left")
}

// The process lost its context in the middle: what it is told is that it does not
// know, and reading tells.
func TestContextEndsDuringWrites(t *testing.T) {
	s := open(t, newPath(t))
	known := 0
	for i := range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		e := entry(fmt.Sprint(i))
		_, inserted, err := s.Begin(ctx, e)
		switch _, read := s.Get(t.Context(), e.ID); {
		case err == nil:
			require.True(t, inserted)
			require.NoError(t, read, "Begin returned, and the entry is not there")
			known++
		default:
			require.ErrorIs(t, err, context.Canceled)
		}
		cancel()
	}
	t.Logf("%d of 200 were written before the context ended", known)
}

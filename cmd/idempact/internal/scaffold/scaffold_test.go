package scaffold

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckName(t *testing.T) {
	for _, name := range []string{"acme", "acmepay", "pay2", "http", "test", "ab"} {
		assert.NoError(t, CheckName(name), name)
	}
	for _, name := range []string{"", "a", "Acme", "2pay", "acme-pay", "acme_pay", "../acme", "acme/pay", "acmé", "func", "range", "main", "internal",
		"vendor", "testdata", "acme\n", "\x1b[2J", "abcdefghijklmnopqrstuvwxyzabcdefghijklmno"} {
		assert.ErrorIs(t, CheckName(name), ErrName, "%q", name)
	}
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "acme")
	names, err := Write(dir, "acme", "2026-11-29")
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "acme.go"), filepath.Join(dir, "acme_test.go"), filepath.Join(dir, "testdata", "created.txtar")}, names)
	for _, name := range names {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Contains(t, string(raw), "TODO", name)
		assert.NotContains(t, string(raw), "{{", name)
	}
}

// Where a part exists already, or cannot be made, nothing is written.
func TestWriteChangesNothing(t *testing.T) {
	for _, name := range []string{"acme.go", "acme_test.go", filepath.Join("testdata", "created.txtar")} {
		dir := t.TempDir()
		kept := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(kept), 0o755))
		require.NoError(t, os.WriteFile(kept, []byte("mine"), 0o600))
		names, err := Write(dir, "acme", "2026-11-29")
		assert.ErrorContains(t, err, "exists, and nothing was written")
		assert.Empty(t, names)
		assert.Equal(t, []string{kept}, filesIn(t, dir))
		raw, err := os.ReadFile(kept)
		require.NoError(t, err)
		assert.Equal(t, "mine", string(raw))
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := Write(filepath.Join(file, "acme"), "acme", "2026-11-29")
	var path *fs.PathError
	require.True(t, errors.As(err, &path), "%v", err)
	_, err = Write(dir, "Acme", "2026-11-29")
	assert.ErrorIs(t, err, ErrName)
	assert.Equal(t, []string{file}, filesIn(t, dir))
}

func filesIn(t *testing.T, dir string) (all []string) {
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, name)
		}
		return err
	}))
	return all
}

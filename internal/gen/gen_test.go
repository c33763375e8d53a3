package gen_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/internal/gen"
)

func TestTree(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	write("docs/p/same.md", "same")
	write("docs/p/old.md", "old")
	write("docs/p/left.md", "of a provider that is gone")
	write("docs/other.md", "not of this tree")
	tree := gen.Tree{Own: "docs/p/*.md", Files: map[string][]byte{
		"docs/p/same.md": []byte("same"), "docs/p/old.md": []byte("new"), "docs/new.md": []byte("new"),
	}}

	stale, err := tree.Stale(root)
	require.NoError(t, err)
	assert.Equal(t, []string{"docs/new.md", "docs/p/left.md", "docs/p/old.md"}, stale)

	require.NoError(t, tree.Write(root))
	stale, err = tree.Stale(root)
	require.NoError(t, err)
	assert.Empty(t, stale)
	assert.NoFileExists(t, filepath.Join(root, "docs/p/left.md"))
	assert.FileExists(t, filepath.Join(root, "docs/other.md"))
}

func TestRootIsTheModule(t *testing.T) {
	root, err := gen.Root()
	require.NoError(t, err)
	assert.FileExists(t, filepath.Join(root, "internal", "gen", "gen.go"))
}

func TestParse(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n\nfunc New() {}\n\ntype T int\n\nfunc (T) Method() {}\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.go"), []byte("// Package a is a test.\npackage a\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a_test.go"), []byte("package a\n\nfunc OfTest() {}\n"), 0o644))
	files, err := gen.Parse(dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"New"}, gen.Functions(files))
	assert.Equal(t, "Package a is a test.\n", gen.Doc(files))
}

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/internal/gen"
)

func TestCommitted(t *testing.T) {
	root, err := gen.Root()
	require.NoError(t, err)
	tree, err := generate(root)
	require.NoError(t, err)
	stale, err := tree.Stale(root)
	require.NoError(t, err)
	assert.Empty(t, stale, "run: go generate ./...")
	page := string(tree.Files["docs/cli.md"])
	for _, c := range []string{"explain", "providers", "send", "journal ls", "journal show", "journal sweep", "journal export", "fake", "check", "new", "demo", "version"} {
		assert.Contains(t, page, "\n### idempact "+c+"\n")
	}
}

func TestParagraphs(t *testing.T) {
	assert.Equal(t, "Text:\n\n    curl -d 1\n    curl -d 2\n\nMore.", paragraphs("Text:\n\n  curl -d 1\n  curl -d 2\n\nMore."))
	assert.Equal(t, "Text:\n\n    A   one", paragraphs("Text:\n  A   one"))
}

package main

import (
	"os"
	"path/filepath"
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
}

// module writes a module of files and returns its root.
func moduleOf(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	return root
}

func TestProviders(t *testing.T) {
	root := moduleOf(t, map[string]string{
		"fakes/a.go":                      "package fakes\n\nfunc NewAcmePay() {}\n\nfunc newBeta() {}\n\nfunc Renewal() {}\n",
		"fakes/a_test.go":                 "package fakes\n\nfunc NewBeta() {}\n",
		"providers/beta/beta.go":          "// Package beta has no fake. It has more to say.\npackage beta\n\nfunc New() {}\n",
		"providers/acmepay/terms.go":      "package acmepay\n\nfunc New() {}\n",
		"providers/acmepay/doc.go":        "// Package acmepay is one.\npackage acmepay\n",
		"providers/internal/acme/acme.go": "package acme\n\nfunc New() {}\n",
		"providers/empty/testdata/a.txt":  "",
		"providers/helper/helper.go":      "package helper\n\ntype T int\n\nfunc (T) New() {}\n",
	})
	all, err := providers(root)
	require.NoError(t, err)
	assert.Equal(t, []provider{
		{Name: "acmepay", Synopsis: "Package acmepay is one.", Fake: "NewAcmePay"},
		{Name: "beta", Synopsis: "Package beta has no fake."},
	}, all)

	first, err := generate(root)
	require.NoError(t, err)
	second, err := generate(root)
	require.NoError(t, err)
	assert.Equal(t, first, second)
	assert.Contains(t, string(first.Files[output]), "fakes.NewAcmePay,")
}

func TestAFolderHasTheNameOfItsPackage(t *testing.T) {
	_, err := providers(moduleOf(t, map[string]string{
		"fakes/a.go":            "package fakes\n",
		"providers/acme/pay.go": "package pay\n\nfunc New() {}\n",
	}))
	assert.ErrorContains(t, err, "providers/acme holds package pay")
}

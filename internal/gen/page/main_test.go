package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/internal/catalog"
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

	again, err := generate(root)
	require.NoError(t, err)
	assert.Equal(t, tree, again)
}

func TestEveryProviderHasAPage(t *testing.T) {
	root, err := gen.Root()
	require.NoError(t, err)
	tree, err := generate(root)
	require.NoError(t, err)
	for _, p := range catalog.Providers {
		assert.Contains(t, tree.Files, "docs/providers/"+p.Name+".md")
		assert.Contains(t, string(tree.Files["docs/providers.md"]), "("+"providers/"+p.Name+".md)")
	}
}

func TestCell(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb | c":       `a b \| c`,
		"`a|b` <c> *d*":  "`a\\|b` &lt;c> \\*d\\*",
		"`<*` stays":     "`<*` stays",
		"one ` and <":    "one ` and &lt;",
		"[a](b)":         `\[a\](b)`,
		`back\slash`:     `back\\slash`,
		"payment_intent": "payment_intent",
	} {
		assert.Equal(t, want, cell(in))
	}
}

func TestMarkdownOfAPackageComment(t *testing.T) {
	assert.Equal(t, "Package a is one.\n\n### More\n\n\tcode", markdown("Package a is one.\n\n# More\n\n\tcode\n"))
}

func TestStep(t *testing.T) {
	keyed := contract.Terms{KeyHeader: "Idempotency-Key"}
	for _, c := range []struct {
		terms contract.Terms
		o     contract.Outcome
		want  string
	}{
		{keyed, contract.Outcome{}, "resend; never a new key"},
		{keyed, contract.Outcome{NoResend: true}, "look up; never a new key"},
		{contract.Terms{}, contract.Outcome{}, "look up; never a new key"},
		{contract.Terms{Idempotent: true}, contract.Outcome{}, "resend; never a new key"},
		{contract.Terms{}, contract.Outcome{Status: contract.NotExecuted}, "resend"},
		{keyed, contract.Outcome{Status: contract.Succeeded}, "finish"},
		{keyed, contract.Outcome{Status: contract.Declined}, "finish"},
		{keyed, contract.Outcome{Status: contract.KeyReused}, "correct; never a new key"},
		{keyed, contract.Outcome{Status: contract.KeyReused, Source: contract.FromLookUp}, "correct"},
	} {
		assert.Equal(t, c.want, step(c.terms, c.o), "%v", c.o)
	}
}

func TestOpen(t *testing.T) {
	a := contract.Endpoint{Name: "a", Method: "POST", URL: "https://api.example/a"}
	b := contract.Endpoint{Name: "b", Method: "POST", URL: "https://api.example/b"}
	v := &provider{Groups: []group{
		{Group: catalog.Group{Endpoints: []contract.Endpoint{a}, Terms: contract.Terms{Notes: []string{"Only of a."}}},
			Facts: []catalog.Fact{{Open: "of both"}, {Open: "of a"}}},
		{Group: catalog.Group{Endpoints: []contract.Endpoint{b}}, Facts: []catalog.Fact{{Open: "of both"}, {}}},
	}}
	assert.Equal(t, []open{
		{What: "of both"},
		{What: "of a", Where: []string{"`POST /a`"}},
		{What: "Only of a", Where: []string{"`POST /a`"}},
	}, v.findOpen())
}

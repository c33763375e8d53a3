package cli

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/internal/catalog"
)

// providerView is one provider's contract.
type providerView struct {
	Name      string      `json:"name"`
	Synopsis  string      `json:"synopsis"`
	Fake      bool        `json:"fake"`
	Resolves  bool        `json:"resolves"` // fetches what an answer refers to
	Finds     bool        `json:"finds"`    // looks operations up
	Contracts []termsView `json:"contracts"`
}

// termsView is what is promised of some endpoints.
type termsView struct {
	Endpoints []endpointView    `json:"endpoints"`
	Promises  map[string]string `json:"promises"`
	Open      []string          `json:"undocumented"`
	Sources   []sourceView      `json:"sources"`

	facts []catalog.Fact
}

type endpointView struct {
	Name   string `json:"name"`
	Method string `json:"method"`
	URL    string `json:"url"`
}

type sourceView struct {
	URL  string `json:"url"`
	Read string `json:"read"`
}

func newProviders(c *console) *cobra.Command {
	return &cobra.Command{
		Use: "providers [NAME]", Short: "Show what providers promise about repeated requests",
		Long: `Show the contracts: of all providers as a table, or of one as a page. What a
provider's documents leave open is said to be undocumented.`,
		Example:           "  idempact providers\n  idempact providers zepto\n  idempact providers stripe --json",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeProvider,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				v, err := viewProvider(args[0])
				if err != nil {
					return err
				}
				return c.show(v)
			}
			var all providersView
			for _, p := range catalog.Providers {
				v, err := viewProvider(p.Name)
				if err != nil {
					return err
				}
				all = append(all, v)
			}
			return c.show(all)
		},
	}
}

func viewProvider(name string) (providerView, error) {
	p, err := findProvider(name)
	if err != nil {
		return providerView{}, err
	}
	groups, err := p.Groups()
	if err != nil {
		return providerView{}, err
	}
	a := p.New()
	v := providerView{Name: p.Name, Synopsis: p.Synopsis, Fake: p.Fake != nil}
	_, v.Resolves = a.(contract.Resolver)
	_, v.Finds = a.(contract.Finder)
	for _, g := range groups {
		v.Contracts = append(v.Contracts, viewTerms(g))
	}
	return v, nil
}

func viewTerms(g catalog.Group) termsView {
	t := termsView{Promises: map[string]string{}, facts: g.Facts(), Open: []string{}}
	for _, e := range g.Endpoints {
		t.Endpoints = append(t.Endpoints, endpointView{e.Name, e.Method, e.URL})
	}
	for _, f := range t.facts {
		t.Promises[f.Name] = plain(f.Value)
		if f.Open != "" {
			t.Open = append(t.Open, f.Open)
		}
	}
	for _, n := range g.Terms.Notes {
		t.Open = append(t.Open, strings.TrimSuffix(n, "."))
	}
	for _, s := range g.Terms.Sources {
		t.Sources = append(t.Sources, sourceView{s.URL, s.Date})
	}
	return t
}

// plain drops the backquotes of Markdown.
func plain(s string) string { return strings.ReplaceAll(s, "`", "") }

func (v providerView) text(c *console) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", c.paint(v.Name, text.Bold), wrap(v.Synopsis, 0))
	for _, t := range v.Contracts {
		b.WriteString("\n")
		for _, e := range t.Endpoints {
			fmt.Fprintf(&b, "%s %s\n  %s\n", e.Method, e.URL, e.Name)
		}
		list := make([][2]string, 0, len(t.facts)+1)
		for _, f := range t.facts {
			if f.Value != "–" {
				list = append(list, [2]string{"  " + f.Name, plain(f.Value)})
			}
		}
		b.WriteString(facts(c, list))
		if len(t.Open) > 0 {
			b.WriteString("  Not documented:\n")
			for _, o := range t.Open {
				fmt.Fprintf(&b, "  - %s\n", wrap(o, 4))
			}
		}
		for _, s := range t.Sources {
			fmt.Fprintf(&b, "  %s (read %s)\n", s.URL, s.Read)
		}
	}
	return b.String()
}

// providersView is all of them.
type providersView []providerView

func (v providersView) text(*console) string {
	var rows [][]string
	for _, p := range v {
		for i, t := range p.Contracts {
			name := p.Name
			if i > 0 {
				name = ""
			}
			e := t.Endpoints[0]
			of := e.Method + " " + path(e.URL)
			if n := len(t.Endpoints) - 1; n > 0 {
				of += fmt.Sprintf(" and %d more", n)
			}
			rows = append(rows, []string{name, of, short(t.Promises["Key"]), t.Promises["Remembered"], t.Promises["A repeat"], t.Promises["While the first runs"]})
		}
	}
	return grid([]string{"PROVIDER", "ENDPOINT", "KEY", "REMEMBERED", "A REPEAT", "WHILE THE FIRST RUNS"}, rows) +
		"\nidempact providers NAME shows all that is promised, and where it was read.\n"
}

// short returns the first clause.
func short(s string) string {
	s, _, _ = strings.Cut(s, ",")
	s, _, _ = strings.Cut(s, ":")
	return s
}

// path returns the path of a URL.
func path(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if i := strings.IndexByte(rest, '/'); ok && i >= 0 {
		return rest[i:]
	}
	return url
}

// findProvider returns a provider, or an error that suggests the nearest name.
func findProvider(name string) (catalog.Provider, error) {
	p, ok := catalog.Find(name)
	if ok {
		return p, nil
	}
	hint := "idempact providers lists them"
	if near := nearest(name); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return p, hinted(fmt.Errorf("no provider is named %q", name), hint)
}

// nearest returns the names that are like another one, as cobra suggests commands.
func nearest(name string) []string {
	names := &cobra.Command{SuggestionsMinimumDistance: 3}
	for _, p := range catalog.Providers {
		names.AddCommand(&cobra.Command{Use: p.Name, Run: func(*cobra.Command, []string) {}})
	}
	return names.SuggestionsFor(name)
}

func completeProvider(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	for _, p := range catalog.Providers {
		names = append(names, cobra.CompletionWithDesc(p.Name, p.Synopsis))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

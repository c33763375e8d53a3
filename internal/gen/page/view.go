package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/internal/catalog"
)

// provider is what the pages say of one provider.
type provider struct {
	catalog.Provider
	About     string // the package comment, as Markdown
	Resolves  bool
	Finds     bool
	Groups    []group
	Exchanges []exchange
	Open      []open
	Sources   []contract.Source // of everything, each once
}

// group is a catalog.Group with its facts in words.
type group struct {
	catalog.Group
	Facts []catalog.Fact
	Cites []int // numbers among the provider's sources, from 1
}

// exchange is a documented exchange and what the adapter makes of it.
type exchange struct {
	About   string
	Request string // "POST /v1/payments"
	Answer  string // "409 in_use"
	Outcome string
	Next    string
	Cites   []int
}

// open is what the documents leave open, and where.
type open struct {
	What  string
	Where []string // endpoints; nil is all
}

func newProvider(p catalog.Provider, about string, groups []catalog.Group, exchanges []contracttest.Exchange) *provider {
	a := p.New()
	v := &provider{Provider: p, About: about}
	_, v.Resolves = a.(contract.Resolver)
	_, v.Finds = a.(contract.Finder)
	for _, g := range groups {
		v.Groups = append(v.Groups, group{Group: g, Facts: g.Facts(), Cites: v.cite(g.Terms.Sources)})
	}
	for _, x := range exchanges {
		v.Exchanges = append(v.Exchanges, v.exchange(a, x))
	}
	slices.SortStableFunc(v.Exchanges, func(a, b exchange) int {
		return cmp.Or(strings.Compare(a.Request, b.Request), strings.Compare(a.Answer, b.Answer))
	})
	v.Open = v.findOpen()
	return v
}

// cite returns the numbers of sources, and keeps those that are new.
func (v *provider) cite(sources []contract.Source) (numbers []int) {
	for _, s := range sources {
		i := slices.Index(v.Sources, s)
		if i < 0 {
			i, v.Sources = len(v.Sources), append(v.Sources, s)
		}
		numbers = append(numbers, i+1)
	}
	return numbers
}

func (v *provider) exchange(a contract.Adapter, x contracttest.Exchange) exchange {
	c := x.Call(a)
	o := a.Classify(c, x.Reply)
	e := exchange{
		About:   x.About,
		Request: code(c.Request.Method + " " + c.Request.URL.Path),
		Answer:  code(contract.Answer{Status: x.Reply.StatusCode, Code: o.Code}.String()),
		Outcome: words(o),
		Next:    step(a.Terms(c), o),
		Cites:   v.cite(x.Sources),
	}
	r, ok := a.(contract.Resolver)
	if !ok || x.Fetch == "" {
		return e
	}
	if _, err := r.ResolveRequest(context.Background(), c, o); err != nil {
		return e
	}
	shown := r.ClassifyResolve(c, o, x.Shown)
	shown.Source = contract.FromLookUp
	e.Outcome += "; fetched and compared: " + words(shown)
	if shown.Status != o.Status {
		e.Next = "resolve, then " + step(a.Terms(c), shown)
	}
	return e
}

// step returns what comes next, as the loop has it: a doubt is resent only where that
// is safe.
func step(t contract.Terms, o contract.Outcome) string {
	next := catalog.NextStep(t, o)
	if o.Status == contract.Succeeded || o.AllowsNewKey() {
		return next.String()
	}
	return next.String() + "; never a new key"
}

// words returns an outcome without what is of this one exchange alone.
func words(o contract.Outcome) string {
	s := o.Status.String()
	if o.State != "" {
		s += " (" + code(o.State) + ")"
	}
	if o.Replayed {
		s += ", replayed"
	}
	if o.NoResend {
		s += ", resending cannot help"
	}
	if o.RetryAfter > 0 {
		s += ", wait " + o.RetryAfter.String()
	}
	return s
}

// findOpen returns what is open for one endpoint or more, in the order of the groups,
// and then the notes.
func (v *provider) findOpen() (all []open) {
	add := func(what string, g group) {
		i := slices.IndexFunc(all, func(o open) bool { return o.What == what })
		if i < 0 {
			i, all = len(all), append(all, open{What: what})
		}
		for _, e := range g.Endpoints {
			all[i].Where = append(all[i].Where, label(e))
		}
	}
	for _, g := range v.Groups {
		for _, f := range g.Facts {
			if f.Open != "" {
				add(f.Open, g)
			}
		}
	}
	for _, g := range v.Groups {
		for _, n := range g.Terms.Notes {
			add(strings.TrimSuffix(n, "."), g)
		}
	}
	for i := range all {
		if len(all[i].Where) == v.Count() {
			all[i].Where = nil
		}
	}
	return all
}

// URL returns the address of a source by its number.
func (v *provider) URL(number int) string { return v.Sources[number-1].URL }

// Count returns how many endpoints are known.
func (v *provider) Count() (n int) {
	for _, g := range v.Groups {
		n += len(g.Endpoints)
	}
	return n
}

// label returns an endpoint as "POST /v1/payments".
func label(e contract.Endpoint) string {
	if r, err := e.Request("KEY", 100); err == nil {
		return code(r.Method + " " + r.URL.Path)
	}
	return code(e.Method + " " + e.URL)
}

// Package catalog is every provider that the toolkit has, and what each promises, in
// words: the ground of the pages in docs, of the command, and of tests that are about
// all providers. A folder in providers is all that it takes to be in it.
package catalog

import (
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
)

//go:generate go run ../gen/catalog
//go:generate go run ../gen/page

// Provider is one provider.
type Provider struct {
	Name     string
	Synopsis string                               // one sentence: what it is
	New      func() contract.Adapter              // with the default options
	Fake     func(o *fakes.Options) *fakes.Server // nil if there is none

	Exchanges fs.FS // the documented ones, as contracttest reads them; nil if there are none
}

// Find returns the provider of a name, and whether there is one.
func Find(name string) (Provider, bool) {
	i := slices.IndexFunc(Providers, func(p Provider) bool { return p.Name == name })
	if i < 0 {
		return Provider{}, false
	}
	return Providers[i], true
}

// Group is endpoints to which one and the same is promised.
type Group struct {
	Endpoints []contract.Endpoint
	Terms     contract.Terms
}

// Groups returns the endpoints that the provider's adapter knows by what is promised
// of them, in the order in which it lists them.
func (p Provider) Groups() ([]Group, error) { return groups(p.New()) }

func groups(a contract.Adapter) ([]Group, error) {
	list, ok := a.(contract.Catalog)
	if !ok {
		return nil, fmt.Errorf("%s: the adapter is no contract.Catalog", a.Name())
	}
	var all []Group
	for _, e := range list.Endpoints() {
		terms, err := termsOf(a, e)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Name(), err)
		}
		i := slices.IndexFunc(all, func(g Group) bool { return reflect.DeepEqual(g.Terms, terms) })
		if i < 0 {
			i, all = len(all), append(all, Group{Terms: terms})
		}
		all[i].Endpoints = append(all[i].Endpoints, e)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: the adapter lists no endpoint", a.Name())
	}
	return all, nil
}

// termsOf asks for the terms of an endpoint's example.
func termsOf(a contract.Adapter, e contract.Endpoint) (contract.Terms, error) {
	req, err := e.Request(contract.KeyFor("example"), 100)
	if err != nil {
		return contract.Terms{}, err
	}
	c := contract.Call{Request: req}
	if req.Body != nil {
		if c.Body, err = io.ReadAll(req.Body); err != nil {
			return contract.Terms{}, err
		}
		req.Body, req.GetBody, req.ContentLength = nil, nil, 0
	}
	return a.Terms(c), nil
}

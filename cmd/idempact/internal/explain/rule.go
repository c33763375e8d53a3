package explain

import (
	"sync"

	"github.com/idempact/idempact/cmd/idempact/internal/answer"
	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/internal/catalog"
)

// rule names the documented exchange that the answer is like, and where it was read: of
// those that came to the same status and code, the one with the same request and a body
// of the most similar shape. Without one the sources are those of the contract.
func rule(p catalog.Provider, x *Explanation, r reading, a *answer.Answer) {
	x.Sources = sources(r.terms.Sources)
	adapter := p.New()
	shape := shapeOf(a.Body)
	best := 0.0
	for _, e := range exchanges(p) {
		c := e.Call(adapter)
		o := adapter.Classify(c, e.Reply)
		if e.Reply.StatusCode != a.Status || o.Status != r.outcome.Status || o.Code != r.outcome.Code {
			continue
		}
		score := 0.1 + similarity(shape, e.shape)
		if c.Request.Method == r.call.Request.Method && c.Request.URL.Path == r.call.Request.URL.Path {
			score++
		}
		if e.Fetch == "" || e.Resolved["status"] == contract.Succeeded.String() {
			score += 0.05 // what is particular of another one's fetch says less of the answer
		}
		if score > best {
			best = score
			x.Rule, x.Sources = e.About, sources(e.Sources)
		}
	}
}

func sources(list []contract.Source) []Source {
	all := make([]Source, 0, len(list))
	for _, s := range list {
		all = append(all, Source{s.URL, s.Date})
	}
	return all
}

// example is a documented exchange, and the shape of its answer.
type example struct {
	contracttest.Exchange
	shape map[string]bool
}

// documented are the examples of every provider by its name, read once.
var documented = sync.OnceValue(func() map[string][]example {
	all := map[string][]example{}
	for _, p := range catalog.Providers {
		if p.Exchanges == nil {
			continue
		}
		list, err := contracttest.Exchanges(p.Exchanges)
		if err != nil {
			panic(err) // they are in the binary, and were tested
		}
		for _, e := range list {
			all[p.Name] = append(all[p.Name], example{e, shapeOf(e.Reply.Body)})
		}
	}
	return all
})

// exchanges returns the documented ones.
func exchanges(p catalog.Provider) []example { return documented()[p.Name] }

// kinds are members whose values are names that a provider gave to its kinds of objects.
var kinds = []string{"object", "entity", "resource"}

// shapeOf returns the dotted paths of a JSON body, with the kind of the object; nil if it
// is none.
func shapeOf(body []byte) map[string]bool {
	o, err := contract.DecodeObject(body)
	if err != nil {
		return nil
	}
	shape := map[string]bool{}
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		switch v := v.(type) {
		case contract.Object:
			for name, inner := range v {
				walk(prefix+"."+name, inner)
			}
		case []any:
			for _, inner := range v {
				walk(prefix+"[]", inner)
			}
		default:
			shape[prefix] = true
		}
	}
	for name, v := range o {
		walk(name, v)
	}
	for _, name := range kinds {
		if kind := contract.Word(o.Text(name)); kind != "" {
			shape[name+" "+kind] = true
		}
	}
	return shape
}

// similarity is how much two shapes have in common, 0 to 1.
func similarity(a, b map[string]bool) float64 {
	common := 0
	for path := range a {
		if b[path] {
			common++
		}
	}
	if all := len(a) + len(b) - common; all > 0 {
		return float64(common) / float64(all)
	}
	return 0
}

package contracttest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/retry"
)

// maxFound is how many findings a failure lists.
const maxFound = 5

// probe is one run of one rule.
type probe struct {
	spec      Spec
	rule      string
	exchanges []Exchange
	terms     contract.Terms // of the Spec's request
	stages    []*stage
	keys      int

	found   []string
	skipped string
}

// stop ends a check early.
type stop struct{}

// failf adds a finding.
func (p *probe) failf(format string, args ...any) {
	switch n := len(p.found); {
	case n < maxFound:
		p.found = append(p.found, fmt.Sprintf(format, args...))
	case n == maxFound:
		p.found = append(p.found, "and more of the kind")
	}
}

// fatalf adds a finding and ends the check.
func (p *probe) fatalf(format string, args ...any) {
	p.failf(format, args...)
	panic(stop{})
}

// skipf ends the check of a rule that cannot be checked here.
func (p *probe) skipf(format string, args ...any) {
	p.skipped = fmt.Sprintf(format, args...)
	panic(stop{})
}

// end takes a panic for what it is and closes what the check opened.
func (p *probe) end() {
	switch v := recover().(type) {
	case nil, stop:
	default:
		p.failf("panic: %v", v)
	}
	for _, s := range p.stages {
		s.close()
	}
}

// prepare reads the Spec, and skips the rule where it lacks something. What no rule
// can do without is a finding of the first rule, spec, alone.
func (p *probe) prepare(needs need) {
	if err := p.spec.incomplete(); err != nil {
		if p.rule == "spec" {
			p.fatalf("%v", err)
		}
		p.skipf("the Spec is not whole, see rule spec")
	}
	p.exchanges, _ = Exchanges(p.spec.Exchanges) // incomplete has read them
	p.terms = p.spec.Adapter.Terms(p.head("", 1))
	var reasons []string
	for _, n := range p.needed() {
		if needs&n.need != 0 && n.missing {
			reasons = append(reasons, n.reason)
		}
	}
	if len(reasons) > 0 {
		p.skipf("%s", strings.Join(reasons, "; "))
	}
}

type missing struct {
	need    need
	missing bool
	reason  string
}

func (p *probe) needed() []missing {
	_, resolves := p.spec.Adapter.(contract.Resolver)
	_, finds := p.spec.Adapter.(contract.Finder)
	var fake Fake
	if p.spec.Fake != nil {
		fake = p.spec.Fake()
	}
	amount := !reflect.DeepEqual(p.call("k", 100).Body, p.call("k", 101).Body)
	return []missing{
		{needKey, !p.terms.HonoursKeys(), "the endpoint honours no key"},
		{needRepeat, !p.terms.HonoursKeys() && !p.terms.Idempotent, "the endpoint's request may not be repeated"},
		{needFake, p.spec.Fake == nil, "it needs Spec.Fake: a sandbox cannot be made anew"},
		{needLedger, fake.Effects == nil, "it needs Fake.Effects"},
		{needClock, fake.Advance == nil, "it needs Fake.Advance"},
		{needAmount, !amount, "the request has no amount"},
		{needChanged, !amount && p.spec.Changed == nil, "the request has no amount, and there is no Spec.Changed"},
		{needResolver, !resolves, "the adapter is no contract.Resolver"},
		{needFinder, !finds, "the adapter is no contract.Finder"},
	}
}

// inOrder ranges over a table by its names, so that a failure reads the same twice.
func inOrder[V any](table map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			if !yield(name, table[name]) {
				return
			}
		}
	}
}

// newFake returns a new provider.
func (p *probe) newFake() Fake {
	if p.spec.Fake != nil {
		return p.spec.Fake()
	}
	return p.spec.Sandbox.fake()
}

// key returns a new key that the terms allow.
func (p *probe) key() string {
	p.keys++
	key := contract.KeyFor("contracttest", p.rule, fmt.Sprint(p.keys))
	if p.spec.Fake == nil {
		key = contract.NewKey() // a sandbox remembers
	}
	if p.terms.CheckKey(key) == nil {
		return key
	}
	return p.keyOf(key, max(p.terms.KeyMinLen, min(24, p.terms.KeyMaxLen)))
}

// keyOf returns a key of n characters of the terms' alphabet, made of seed.
func (p *probe) keyOf(seed string, n int) string {
	alphabet := []rune(p.terms.KeyAlphabet)
	if len(alphabet) == 0 {
		alphabet = []rune("0123456789abcdefghijklmnopqrstuvwxyz")
	}
	sum := sha256.Sum256([]byte(seed))
	key := make([]rune, n)
	for i := range key {
		key[i] = alphabet[(int(sum[i%len(sum)])+i/len(sum))%len(alphabet)]
	}
	return string(key)
}

// request returns the Spec's request under a key; "" stands for a request that is
// meant to have none.
func (p *probe) request(ctx context.Context, key string, amount int64) *http.Request {
	return p.keyed(ctx, key, func() (*http.Request, error) { return p.spec.Request(key, amount) })
}

// changed returns another request under the same key.
func (p *probe) changed(ctx context.Context, key string, amount int64) *http.Request {
	if p.spec.Changed != nil {
		return p.keyed(ctx, key, func() (*http.Request, error) { return p.spec.Changed(key) })
	}
	return p.request(ctx, key, amount+1)
}

func (p *probe) keyed(ctx context.Context, key string, make func() (*http.Request, error)) *http.Request {
	req, err := make()
	if err != nil {
		p.fatalf("the Spec's request: %v", err)
	}
	if key == "" {
		if p.terms.KeyHeader != "" {
			req.Header.Del(p.terms.KeyHeader)
		}
		return req.WithContext(contract.WithoutKey(ctx))
	}
	return req.WithContext(contract.WithKey(ctx, key))
}

// head returns the Spec's request as Terms is asked about it.
func (p *probe) head(key string, amount int64) contract.Call {
	req, err := p.spec.Request(key, amount)
	if err != nil {
		p.fatalf("the Spec's request: %v", err)
	}
	return p.freeze(req)
}

// freeze takes a request's body out of it.
func (p *probe) freeze(req *http.Request) contract.Call {
	c := contract.Call{Request: req}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			p.fatalf("the Spec's request: %v", err)
		}
		if len(body) > 0 {
			c.Body = body
		}
	}
	req.Body, req.GetBody, req.ContentLength = nil, nil, 0
	if req.Header == nil {
		req.Header = http.Header{}
	}
	return c
}

// call returns the Spec's request as Classify sees it.
func (p *probe) call(key string, amount int64) contract.Call {
	return p.sent(p.head(key, amount), key)
}

// sent adds what is known once a call is sent.
func (p *probe) sent(c contract.Call, key string) contract.Call {
	c.Key, c.FirstSent = key, sentAt
	if p.terms.KeyHeader != "" && key != "" {
		c.Request.Header.Set(p.terms.KeyHeader, p.terms.FormatKey(key))
	}
	return c
}

// calls returns the Spec's request, and one of each endpoint that the exchanges show.
func (p *probe) calls() []contract.Call {
	all := []contract.Call{p.call(p.keyOrNone(), 100)}
	for _, x := range p.exchanges {
		if !slices.ContainsFunc(all, func(c contract.Call) bool { return similar(c.Request, x.request) }) {
			all = append(all, x.Call(p.spec.Adapter))
		}
	}
	return all
}

// similar reports whether two requests are of one endpoint, as far as can be told
// from outside: one method, and paths that differ in references alone.
func similar(a, b *http.Request) bool {
	pa, pb := strings.Split(a.URL.Path, "/"), strings.Split(b.URL.Path, "/")
	return a.Method == b.Method && slices.EqualFunc(pa, pb, func(x, y string) bool {
		return x == y || isReference(x) && isReference(y)
	})
}

var version = regexp.MustCompile(`^v\d+$`)

// isReference reports whether a segment looks like a reference: it has a digit and
// is no version.
func isReference(segment string) bool {
	return strings.ContainsAny(segment, "0123456789") && !version.MatchString(segment)
}

// documented returns the exchanges of the call's endpoint that match.
func (p *probe) documented(c contract.Call, match func(Exchange) bool) []Exchange {
	var all []Exchange
	for _, x := range p.exchanges {
		if similar(x.request, c.Request) && match(x) {
			all = append(all, x)
		}
	}
	return all
}

// states reports whether an exchange states one of the statuses.
func (x Exchange) states(any ...contract.Status) bool {
	for _, s := range any {
		if x.Outcome["status"] == s.String() {
			return true
		}
	}
	return false
}

// stage returns a new provider behind the suite's faults.
func (p *probe) stage() *stage {
	s := newStage(p.newFake())
	p.stages = append(p.stages, s)
	return s
}

// client returns a loop on the stage: three attempts, a millisecond apart.
func (p *probe) client(a contract.Adapter, s *stage, set ...func(*retry.Options)) Doer {
	o := &retry.Options{Transport: s, MaxAttempts: 3, MinWait: time.Millisecond, MaxWait: time.Millisecond}
	for _, f := range set {
		f(o)
	}
	if p.spec.Client != nil {
		d, err := p.spec.Client(a, o)
		if err != nil {
			p.fatalf("Spec.Client: %v", err)
		}
		return d
	}
	d, err := retry.NewClient(a, o)
	if err != nil {
		p.fatalf("retry.NewClient: %v", err)
	}
	return d
}

// once lets a client send one time.
func once(o *retry.Options) { o.MaxAttempts = 1 }

// do runs an operation. A nil result is a finding: there is nothing to read.
func (p *probe) do(d Doer, req *http.Request) (*retry.Result, error) {
	result, err := d.Do(req)
	if result == nil {
		p.fatalf("the loop returned no result: %v", err)
	}
	return result, err
}

// plain is an adapter that only classifies: what sending shows is then all there is.
type plain struct{ contract.Adapter }

// reworded is an adapter with other terms.
type reworded struct {
	contract.Adapter
	change func(*contract.Terms)
}

// Terms returns the changed terms.
func (r reworded) Terms(c contract.Call) contract.Terms {
	t := r.Adapter.Terms(c)
	r.change(&t)
	return t
}

// withTerms returns the adapter with other terms, and all that it can do beside.
func withTerms(a contract.Adapter, change func(*contract.Terms)) contract.Adapter {
	r := reworded{a, change}
	resolver, resolves := a.(contract.Resolver)
	finder, finds := a.(contract.Finder)
	switch {
	case resolves && finds:
		return struct {
			reworded
			contract.Resolver
			contract.Finder
		}{r, resolver, finder}
	case resolves:
		return struct {
			reworded
			contract.Resolver
		}{r, resolver}
	case finds:
		return struct {
			reworded
			contract.Finder
		}{r, finder}
	default:
		return r
	}
}

// keyless is what the terms say where no key is honoured.
func keyless(t *contract.Terms) {
	t.KeyHeader, t.KeyField, t.KeyScope, t.KeyAlphabet = "", "", "", ""
	t.KeyQuoted, t.KeyMinLen, t.KeyMaxLen, t.Retention = false, 0, 0, 0
	t.KeyRequired, t.Idempotent = false, false
	t.Repeat, t.Mismatch = contract.RepeatsNothing, contract.MismatchUndocumented
}

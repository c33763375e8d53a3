// Package contracttest checks an adapter against the rules of idempact: run through
// the real loop over real net/http, against a fake of the provider, while the suite
// loses replies, cuts them and refuses connections.
//
//	func TestContract(t *testing.T) {
//		contracttest.Run(t, contracttest.Spec{…})
//	}
//
// Each failure names its rule and the line where the rule stands. Nothing here needs
// an account or the network. Time is real, and short: no rule waits for more than a
// few milliseconds, since a key is aged by the fake's clock or by a retention that
// is shorter than the shortest wait, which a sound loop then does not sit out.
// In a bubble of testing/synctest it is virtual.
package contracttest

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// rule is one thing that an adapter must do.
type rule struct {
	name   string
	doc    string // why, in a sentence
	needs  need
	check  func(*probe)
	source string // file:line
}

// need is what a rule cannot do without; where it is missing the rule is skipped.
type need uint16

const (
	needKey      need = 1 << iota // an endpoint that honours keys
	needRepeat                    // one whose request may be repeated: by its key, or by definition
	needLedger                    // a fake that tells its effects
	needClock                     // a fake whose clock can be moved
	needFake                      // a fake that can be made anew
	needAmount                    // a request with an amount
	needChanged                   // a second request under the key
	needResolver                  // an adapter that is a contract.Resolver
	needFinder                    // or a contract.Finder
)

// newRule remembers the line it is called from.
func newRule(name, doc string, needs need, check func(*probe)) rule {
	_, file, line, _ := runtime.Caller(1)
	return rule{name, doc, needs, check, fmt.Sprintf("%s:%d", file, line)}
}

// rules are all rules, the basic ones first.
func rules() []rule {
	var all []rule
	for _, theme := range [][]rule{specRules, termsRules, keyRules, classifyRules, proofRules, clientRules, repeatRules, lookupRules, secretRules} {
		all = append(all, theme...)
	}
	return all
}

// Result is what one rule found.
type Result struct {
	Rule    string // its name
	Doc     string // what it demands
	Source  string // file and line where it stands
	Skipped string // why it could not be checked, "" if it was
	Err     error  // a *Failure, or nil
}

// Failure says how an adapter breaks a rule.
type Failure struct {
	Rule   string
	Source string // file:line of the rule
	Doc    string
	Found  []string
}

// Error names the rule, its source, and what was found.
func (f *Failure) Error() string {
	return fmt.Sprintf("%s (%s): %s:\n\t%s", f.Rule, f.Source, f.Doc, strings.Join(f.Found, "\n\t"))
}

// Report checks every rule and returns what each found, those that were skipped
// included.
func Report(s Spec) []Result {
	var results []Result
	for _, r := range rules() {
		results = append(results, r.run(s))
	}
	return results
}

// Check checks every rule and joins the failures, a *Failure each. A rule that had
// to be skipped is no failure: Report and Run tell of it.
func Check(s Spec) error {
	var all []error
	for _, r := range Report(s) {
		all = append(all, r.Err)
	}
	return errors.Join(all...)
}

// Run checks every rule in a subtest of its own.
func Run(t *testing.T, s Spec) {
	t.Helper()
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			result := r.run(s)
			switch {
			case result.Err != nil:
				t.Error(result.Err)
			case result.Skipped != "":
				t.Skip(result.Skipped)
			}
		})
	}
}

// run checks one rule. A panic, of the adapter for one, is a failure.
func (r rule) run(s Spec) Result {
	result := Result{Rule: r.name, Doc: r.doc, Source: r.source}
	p := &probe{spec: s.complete(), rule: r.name}
	func() {
		defer p.end()
		p.prepare(r.needs)
		r.check(p)
	}()
	result.Skipped = p.skipped
	if len(p.found) > 0 {
		result.Err = &Failure{Rule: r.name, Source: r.source, Doc: r.doc, Found: p.found}
	}
	return result
}

package cases_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/internal/catalog"
)

// adapters are the providers whose cases are played.
var adapters = func() map[string]contract.Adapter {
	all := map[string]contract.Adapter{}
	for _, p := range catalog.Providers {
		all[p.Name] = p.New()
	}
	return all
}()

func adapterOf(t *testing.T, c acceptanceCase) contract.Adapter {
	t.Helper()
	a := adapters[c.provider]
	if a == nil {
		t.Fatalf("case %s is of %s, which has no adapter in this test", c.id, c.provider)
	}
	return a
}

func TestReplies(t *testing.T) {
	score := score{}
	for _, c := range loadCases(t) {
		t.Run(c.id, func(t *testing.T) {
			found := checkReplies(c, adapterOf(t, c))
			score.count(c, found)
			report(t, c, found)
		})
	}
	t.Log(score)
}

func TestStories(t *testing.T) {
	score := score{}
	for _, c := range loadCases(t) {
		t.Run(c.id, func(t *testing.T) {
			found := playAll(t, c, rig{adapter: adapterOf(t, c)})
			score.count(c, found)
			report(t, c, found)
		})
	}
	t.Log(score)
}

// playAll plays every variant of a case and returns what is wrong.
func playAll(t *testing.T, c acceptanceCase, g rig) (found []string) {
	t.Helper()
	for _, v := range variants(c) {
		synctest.Test(t, func(*testing.T) {
			found = append(found, play(c, v, g).check()...)
		})
	}
	return found
}

func report(t *testing.T, c acceptanceCase, found []string) {
	t.Helper()
	say := t.Errorf
	if c.open != "" {
		say = t.Logf
		t.Logf("open: %s", c.open)
	}
	if len(found) > 0 {
		say("%s, %s: %s\n%s\n\t%s", c.provider, c.kind, c.title, c.source, strings.Join(found, "\n\t"))
	}
}

// score is which cases pass, by provider and kind.
type score map[string]*tally

type tally struct {
	passed, all int
	failed      []string
}

func (s score) count(c acceptanceCase, found []string) {
	key := c.provider + " " + c.kind
	if s[key] == nil {
		s[key] = &tally{}
	}
	s[key].all++
	if len(found) == 0 {
		s[key].passed++
	} else {
		id := c.id
		if c.open != "" {
			id += " (open)"
		}
		s[key].failed = append(s[key].failed, id)
	}
}

// String returns a line for each provider and kind.
func (s score) String() string {
	var b strings.Builder
	var total tally
	for _, key := range slices.Sorted(maps.Keys(s)) {
		x := s[key]
		fmt.Fprintf(&b, "\n%-12s %3d of %3d %s", key, x.passed, x.all, strings.Join(x.failed, " "))
		total.passed, total.all = total.passed+x.passed, total.all+x.all
	}
	fmt.Fprintf(&b, "\n%-12s %3d of %3d", "all", total.passed, total.all)
	return b.String()
}

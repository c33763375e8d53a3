// Package exploretest explores a provider from the provider's own tests: every
// schedule of up to three faults, through the real loop.
package exploretest

import (
	"flag"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idempact/idempact/internal/explore"
)

var depth = flag.Int("explore.depth", 3, "how many faults a schedule may have; with -short it is one less")

// Run explores the subjects of a provider, a subtest for each scenario, and fails
// with the shortest schedule that breaks a rule. With the race detector it is skipped:
// adapters share nothing, and what runs them is explored with it in internal/explore.
func Run(t *testing.T, subjects ...explore.Subject) {
	t.Helper()
	if raceEnabled {
		t.Skip("the race detector sees the same in internal/explore")
	}
	most := *depth
	if testing.Short() {
		most--
	}
	for _, subject := range subjects {
		for _, s := range explore.ScenariosOf(subject) {
			t.Run(s.String(), func(t *testing.T) {
				t.Parallel()
				started := time.Now()
				r := explore.Explore(s, max(1, most-s.Less), func(f func()) { synctest.Test(t, func(*testing.T) { f() }) })
				t.Logf("%v: %d schedules in %v", s, r.Schedules, time.Since(started).Round(time.Millisecond))
				if r.Failure != nil {
					t.Errorf("counterexample: %v", r.Failure)
				}
			})
		}
	}
}

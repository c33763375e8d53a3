package explore

import (
	"flag"
	"os"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	depth    = flag.Int("explore.depth", 0, "how many faults a schedule may have; 0 is what a test run has time for")
	seed     = flag.Uint64("explore.seed", 1, "of the simulation")
	payments = flag.Int("explore.payments", 1000, "that are simulated at each provider")
)

// failureMark stands before a counterexample, for TestTeeth to find it.
const failureMark = "counterexample: "

// A schedule is little work and much garbage.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1000)
	os.Exit(m.Run())
}

func bubble(t *testing.T) Bubble {
	return func(f func()) { synctest.Test(t, func(*testing.T) { f() }) }
}

// The race detector makes a schedule ten times as slow: with it, and with -short,
// a fault less.
func TestExplore(t *testing.T) {
	most := *depth
	if most == 0 {
		most = 2
		if raceEnabled || testing.Short() {
			most = 1
		}
	}
	var total atomic.Int64
	t.Cleanup(func() { t.Logf("%d schedules with up to %d faults", total.Load(), most) })
	for _, s := range Scenarios() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			started := time.Now()
			r := Explore(s, max(1, most-s.Less), bubble(t))
			total.Add(int64(r.Schedules))
			t.Logf("%v: %d schedules in %v", s, r.Schedules, time.Since(started).Round(time.Millisecond))
			if r.Failure != nil {
				t.Errorf("%s%v", failureMark, r.Failure)
			}
		})
	}
}

func TestSimulate(t *testing.T) {
	for name, subjects := range map[string][]Subject{
		"stripe": {StripeV1, StripeV2, StripeDecline, StripeKeyless},
		"zepto":  {ZeptoCore, PayTo},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started := time.Now()
			r := Simulate(subjects, *seed, *payments, bubble(t))
			t.Logf("%s: %d payments with seed %d in %v", name, r.Schedules, *seed, time.Since(started).Round(time.Millisecond))
			if r.Failure != nil {
				t.Errorf("%s%v", failureMark, r.Failure)
			}
		})
	}
}

package explore

import (
	"flag"
	"testing"
	"testing/synctest"
	"time"
)

var depth = flag.Int("explore.depth", 2, "how many faults a schedule may have")

// failureMark stands before a counterexample, for TestTeeth to find it.
const failureMark = "counterexample: "

func bubble(t *testing.T) Bubble {
	return func(f func()) { synctest.Test(t, func(*testing.T) { f() }) }
}

func TestExplore(t *testing.T) {
	for _, s := range Scenarios() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			started := time.Now()
			r := Explore(s, *depth-s.Less, bubble(t))
			t.Logf("%d schedules in %v", r.Schedules, time.Since(started))
			if r.Failure != nil {
				t.Errorf("%s%v", failureMark, r.Failure)
			}
		})
	}
}

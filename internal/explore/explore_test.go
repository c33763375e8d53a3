package explore

import (
	"flag"
	"testing"
	"testing/synctest"
	"time"
)

var depth = flag.Int("explore.depth", 2, "")

func bubble(t *testing.T) Bubble {
	return func(f func()) { synctest.Test(t, func(*testing.T) { f() }) }
}

func TestExplore(t *testing.T) {
	for _, s := range []Scenario{
		{Subject: StripeV1}, {Subject: StripeV2}, {Subject: ZeptoCore}, {Subject: PayTo},
		{Subject: StripeDecline}, {Subject: StripeCapture}, {Subject: StripeKeyless}, {Subject: StripeForgotten}, {Subject: PayToRetry},
		{Subject: StripeV1, Hasty: true},
	} {
		s.Callers = 1
		t.Run(s.String(), func(t *testing.T) {
			started := time.Now()
			r := Explore(s, *depth, bubble(t))
			t.Logf("%d schedules in %v", r.Schedules, time.Since(started))
			if r.Failure != nil {
				t.Errorf("%v", r.Failure)
			}
		})
	}
}

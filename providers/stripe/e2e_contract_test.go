package stripe_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	provider "github.com/idempact/idempact/providers/stripe"
	"github.com/idempact/idempact/retry"
)

// What the loop says comes through the SDK whole: the wait as much as the status.
func TestOutcomeOfReadsTheLoop(t *testing.T) {
	for name, c := range map[string]struct {
		faults []fakes.Fault
		want   contract.Status
		wait   time.Duration
	}{
		"throttled for an hour":     {[]fakes.Fault{fakes.Throttle(time.Hour)}, contract.NotExecuted, time.Hour},
		"lost, then throttled":      {[]fakes.Fault{fakes.LoseReply, fakes.Throttle(time.Hour)}, contract.Unknown, time.Hour},
		"a saved 500, no effect":    {[]fakes.Fault{fakes.SaveErrorNoEffect(500)}, contract.KeySpent, 0},
		"throttled to the last try": {[]fakes.Fault{fakes.Throttle(0), fakes.Throttle(0), fakes.Throttle(0), fakes.Throttle(0), fakes.Throttle(0)}, contract.NotExecuted, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, fakes.Options{}, func(w *world) {
				err := w.play(operations[0], "k", c.faults...)
				require.Error(t, err)
				o := provider.OutcomeOf(err)
				assert.Equal(t, c.want, o.Status)
				assert.Equal(t, c.wait, o.RetryAfter)
				assert.Equal(t, retry.OutcomeOf(err).Outcome, o)
			})
		})
	}
}

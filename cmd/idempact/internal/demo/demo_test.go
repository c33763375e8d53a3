package demo

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the demo shows is not luck: no seed of 50 gives idempact a duplicate or a
// false report.
func TestFiftySeeds(t *testing.T) {
	const payments = 20
	for seed := uint64(1); seed <= 50; seed++ {
		synctest.Test(t, func(t *testing.T) {
			report, err := Run(t.Context(), Config{Seed: seed, Payments: payments, Memory: true, Only: idempactName})
			require.NoError(t, err)
			require.Len(t, report.Rows, 2)
			for _, row := range report.Rows {
				assert.Zero(t, row.Duplicates, "seed %d at %s", seed, row.Provider)
				assert.Zero(t, row.FailedThoughMoved, "seed %d at %s", seed, row.Provider)
				assert.Zero(t, row.SucceededThoughNot, "seed %d at %s", seed, row.Provider)
				assert.LessOrEqual(t, row.Unknown, payments/4, "seed %d at %s", seed, row.Provider)
				assert.Equal(t, payments, row.Payments)
				assert.GreaterOrEqual(t, row.Effects+row.Unknown, payments, "seed %d at %s", seed, row.Provider)
			}
			assert.True(t, report.Truthful())
		})
	}
}

// The faults bite: the other clients pay twice, or call paid what is not known.
func TestPeersFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		report, err := Run(t.Context(), Config{Seed: 1, Payments: 60, Memory: true})
		require.NoError(t, err)
		require.Len(t, report.Rows, 6)
		for _, row := range report.Rows {
			switch row.Client {
			case naiveName:
				assert.Positive(t, row.Duplicates, row.Provider)
			case retryableName:
				assert.Zero(t, row.Duplicates, row.Provider)
				assert.Positive(t, row.FailedThoughMoved, row.Provider)
			}
		}
	})
}

// The same seed gives every client the same faults, every time.
func TestScheduleIsSeeded(t *testing.T) {
	assert.Equal(t, schedule(7, "stripe", 50), schedule(7, "stripe", 50))
	assert.NotEqual(t, schedule(7, "stripe", 50), schedule(8, "stripe", 50))
	assert.NotEqual(t, schedule(7, "stripe", 50), schedule(7, "zepto", 50))
}

func TestRowCounts(t *testing.T) {
	r := run{
		payments: make([]payment, 6),
		told:     []told{toldSucceeded, toldSucceeded, toldFailed, toldFailed, toldUnknown, toldSucceeded},
		effects:  []int{1, 0, 1, 0, 1, 3},
		requests: 9,
	}
	assert.Equal(t, Row{
		Payments: 6, Effects: 6, Duplicates: 2, FailedThoughMoved: 1, SucceededThoughNot: 1, Unknown: 1,
		RequestsPerPayment: 1.5,
	}, r.row())
}

func TestTruthful(t *testing.T) {
	assert.True(t, (&Report{Rows: []Row{{Client: idempactName, Unknown: 5}, {Client: naiveName, Duplicates: 3}}}).Truthful())
	for _, bad := range []Row{{Duplicates: 1}, {FailedThoughMoved: 1}, {SucceededThoughNot: 1}} {
		bad.Client = idempactName
		assert.False(t, (&Report{Rows: []Row{bad}}).Truthful(), "%+v", bad)
	}
}

func TestText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		report, err := Run(t.Context(), Config{Seed: 1, Payments: 30, Memory: true})
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, report.WriteText(&b))
		for _, word := range []string{"stripe", "zepto", naiveName, retryableName, idempactName, "attempt 1", "Verdict: "} {
			assert.Contains(t, b.String(), word)
		}
		require.NotNil(t, report.Timeline)
		assert.Greater(t, len(report.Timeline.Steps), 2)
	})
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	synctest.Test(t, func(t *testing.T) {
		_, err := Run(ctx, Config{Seed: 1, Payments: 5, Memory: true, Only: idempactName})
		assert.ErrorIs(t, err, context.Canceled)
	})
}

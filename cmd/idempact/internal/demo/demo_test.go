package demo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/journal"
)

// What the demo shows is not luck: no seed of 50 gives idempact a duplicate or a
// false report.
func TestFiftySeeds(t *testing.T) {
	const payments = 20
	for seed := uint64(1); seed <= 50; seed++ {
		synctest.Test(t, func(t *testing.T) {
			report, err := Run(t.Context(), Config{Seed: seed, Payments: payments, Memory: true, Only: idempactName})
			require.NoError(t, err)
			require.Len(t, report.Rows, 6)
			for _, row := range report.Rows {
				where := fmt.Sprintf("seed %d at %s, %q", seed, row.Provider, row.Scenario)
				assert.Zero(t, row.Duplicates, where)
				assert.Zero(t, row.FailedThoughMoved, where)
				assert.Zero(t, row.SucceededThoughNot, where)
				if row.Scenario == "" {
					assert.Equal(t, payments, row.Payments)
					assert.LessOrEqual(t, row.Unknown, payments/4, where)
					assert.GreaterOrEqual(t, row.Effects+row.Unknown, payments, where)
				} else {
					// The journal and the provider together know everything.
					assert.Equal(t, payments/4, row.Payments)
					assert.Zero(t, row.Unknown, where)
					assert.Equal(t, row.Payments, row.Effects, where)
				}
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
		require.Len(t, report.Rows, 14)
		for _, row := range report.Rows {
			switch {
			case row.Client == naiveName:
				assert.Positive(t, row.Duplicates, row.Provider)
			case row.Client != retryableName:
			case row.Scenario == scenarios()[0].name:
				assert.Positive(t, row.Duplicates, "%s: a stable key that the provider has forgotten", row.Provider)
			default:
				assert.Zero(t, row.Duplicates, row.Provider)
				// A restart is what a stable key is for, where its replay is a 2xx.
				fine := row.Scenario != "" && row.Provider == "stripe"
				assert.Equal(t, !fine, row.FailedThoughMoved > 0, "%s, %q", row.Provider, row.Scenario)
			}
		}
	})
}

// As people run it: over TCP, in real time, and on files that are gone afterwards.
func TestOnFiles(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	report, err := Run(t.Context(), Config{Seed: 1, Payments: 24, Only: idempactName})
	require.NoError(t, err)
	require.Len(t, report.Rows, 6)
	assert.True(t, report.Truthful())
	for _, row := range report.Rows[2:] {
		assert.Equal(t, 6, row.Effects, "%s, %q", row.Provider, row.Scenario)
		assert.Zero(t, row.Unknown, "%s, %q", row.Provider, row.Scenario)
	}
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// A dead process does nothing more, and a late one reads older entries; nothing but
// their times changes on the way.
func TestProcess(t *testing.T) {
	ctx := t.Context()
	store, now := journal.NewMemory(), time.Now()
	id := journal.ID{Provider: "acme", Key: "k"}
	first := &process{Store: store}
	e, inserted, err := first.Begin(ctx, journal.Entry{ID: id, FirstSent: now, Due: now.Add(time.Hour)})
	require.NoError(t, err)
	require.True(t, inserted)
	first.dead.Store(true)
	_, err = first.Update(ctx, e)
	assert.ErrorIs(t, err, errDead)

	later := &process{Store: store, late: 25 * time.Hour}
	got, err := later.Get(ctx, id)
	require.NoError(t, err)
	assert.WithinDuration(t, now.Add(-25*time.Hour), got.FirstSent, time.Millisecond)
	assert.True(t, got.Retain.IsZero())
	found, err := later.Unsettled(ctx, "acme", "", now, 1)
	require.NoError(t, err)
	require.Equal(t, []journal.Entry{got}, found, "due by now")
	got.Settled = true
	_, err = later.Update(ctx, got)
	require.NoError(t, err)
	stored, err := store.Get(ctx, id)
	require.NoError(t, err)
	assert.Equal(t, e.FirstSent, stored.FirstSent)
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
		for _, word := range []string{"stripe", "zepto", naiveName, retryableName, idempactName, "after 25 hours", "dies in the middle", "attempt 1", "Verdict: "} {
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

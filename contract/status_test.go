package contract_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

// statusTable is the design's table of statuses, written down a second time.
var statusTable = []struct {
	status contract.Status
	number uint8
	name   string
	effect contract.Effect
	next   contract.Step
}{
	{contract.Unknown, 0, "unknown", contract.EffectMaybe, contract.Resend},
	{contract.Succeeded, 1, "succeeded", contract.EffectApplied, contract.Finish},
	{contract.Duplicate, 2, "duplicate", contract.EffectApplied, contract.Resolve},
	{contract.InProgress, 3, "in progress", contract.EffectMaybe, contract.Resend},
	{contract.NotExecuted, 4, "not executed", contract.EffectNone, contract.Resend},
	{contract.Declined, 5, "declined", contract.EffectNone, contract.Finish},
	{contract.Rejected, 6, "rejected", contract.EffectNone, contract.Correct},
	{contract.KeyReused, 7, "key reused", contract.EffectNone, contract.Correct},
	{contract.KeySpent, 8, "key spent", contract.EffectMaybe, contract.LookUp},
}

func TestStatusTable(t *testing.T) {
	for _, c := range statusTable {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.number, uint8(c.status), "a journal may hold the number")
			assert.True(t, c.status.Valid())
			assert.Equal(t, c.name, c.status.String())
			assert.Equal(t, c.name, c.status.Error())
			assert.Equal(t, c.effect, c.status.Effect())
			assert.Equal(t, c.next, c.status.Next())
		})
	}
}

func TestStatusIsTotal(t *testing.T) {
	for n := len(statusTable); n <= 255; n++ {
		s := contract.Status(n)
		assert.False(t, s.Valid(), n)
		assert.Equal(t, fmt.Sprintf("invalid status %d", n), s.String())
		assert.Equal(t, s.String(), s.Error())
		assert.Equal(t, contract.EffectMaybe, s.Effect(), n)
		assert.Equal(t, contract.LookUp, s.Next(), n)
	}
}

func TestZeroValuesAreTheSafeOnes(t *testing.T) {
	var (
		status contract.Status
		effect contract.Effect
		step   contract.Step
		source contract.Evidence
	)
	assert.Equal(t, contract.Unknown, status)
	assert.Equal(t, contract.EffectMaybe, effect)
	assert.Equal(t, contract.LookUp, step)
	assert.Equal(t, contract.FromReply, source)
	assert.False(t, contract.Verdict{}.AllowsNewKey())
	assert.False(t, contract.Verdict{}.Settled())
	assert.False(t, contract.Terms{}.HonoursKeys())
	assert.False(t, contract.Finding{}.Absent)
	assert.False(t, contract.Finding{}.Applied)
}

func TestStatusIsAnError(t *testing.T) {
	err := fmt.Errorf("pay invoice 7: %w", contract.Declined)
	require.ErrorIs(t, err, contract.Declined)
	assert.NotErrorIs(t, err, contract.Rejected)
	var s contract.Status
	require.True(t, errors.As(err, &s))
	assert.Equal(t, contract.Declined, s)
}

func TestEffectAndStepNames(t *testing.T) {
	effects := []string{"maybe", "none", "applied"}
	steps := []string{"look up", "resend", "resolve", "finish", "correct"}
	sources := []string{"reply", "look-up", "outside"}
	for n := range 256 {
		name := func(known []string, kind string) string {
			if n < len(known) {
				return known[n]
			}
			return fmt.Sprintf("invalid %s %d", kind, n)
		}
		assert.Equal(t, name(effects, "effect"), contract.Effect(n).String())
		assert.Equal(t, name(steps, "step"), contract.Step(n).String())
		assert.Equal(t, name(sources, "evidence"), contract.Evidence(n).String())
	}
}

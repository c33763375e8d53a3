package contract_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/idempact/idempact/contract"
)

func TestOutcomeNextIsTheStatusTable(t *testing.T) {
	for n := range 256 {
		o := contract.Outcome{Status: contract.Status(n)}
		assert.Equal(t, o.Status.Next(), o.Next(), n)
		assert.Equal(t, o.Status.Effect(), o.Effect(), n)
	}
}

func TestOutcomeNextHeedsNoResend(t *testing.T) {
	changed := map[contract.Status]contract.Step{
		contract.Unknown:     contract.LookUp,
		contract.InProgress:  contract.LookUp,
		contract.NotExecuted: contract.Finish,
	}
	for n := range 256 {
		o := contract.Outcome{Status: contract.Status(n), NoResend: true}
		want, ok := changed[o.Status]
		if !ok {
			want = o.Status.Next()
		}
		assert.Equal(t, want, o.Next(), n)
		assert.NotEqual(t, contract.Resend, o.Next(), "NoResend never resends: %d", n)
	}
}

func TestOutcomeString(t *testing.T) {
	for _, c := range []struct {
		o    contract.Outcome
		want string
	}{
		{contract.Outcome{}, "unknown"},
		{contract.Outcome{Status: 99}, "invalid status 99"},
		{
			contract.Outcome{Status: contract.Succeeded, Replayed: true, Resource: "pi_1", State: "processing"},
			"succeeded, replayed, resource pi_1 (processing)",
		},
		{
			contract.Outcome{Status: contract.Declined, Code: "card_declined", Reason: "the card was declined"},
			"declined, code card_declined: the card was declined",
		},
		{contract.Outcome{Status: contract.NotExecuted, RetryAfter: 2 * time.Second}, "not executed, wait 2s"},
		{contract.Outcome{Status: contract.NotExecuted, RetryAfter: -time.Second}, "not executed"},
	} {
		assert.Equal(t, c.want, c.o.String())
	}
}

// Codes, states and references are the provider's, and may hold anything.
func TestOutcomeStringIsOneLine(t *testing.T) {
	evil := "a\nlevel=INFO msg=paid\r\u2028\u2029\u0085\x00\x1b[2J"
	o := contract.Outcome{Resource: evil, State: evil, Code: evil, Reason: evil}
	assert.False(t, strings.ContainsAny(o.String(), "\n\r\u2028\u2029\u0085\x00\x1b"), "%q", o.String())
}

func TestDuplicateEffectErrorIsOneLine(t *testing.T) {
	err := &contract.DuplicateEffectError{Resources: []string{"pi_1\npi_2", "pi_3"}}
	assert.EqualError(t, err, "duplicate effect: one operation shows 2 resources: pi_1\ufffdpi_2, pi_3")
}

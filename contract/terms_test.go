package contract_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/idempact/idempact/contract"
)

func TestTermsHonourKeys(t *testing.T) {
	assert.False(t, contract.Terms{KeyRequired: true, KeyMaxLen: 9, Repeat: contract.Replays}.HonoursKeys())
	assert.True(t, contract.Terms{KeyHeader: "Idempotency-Key"}.HonoursKeys())
	assert.True(t, contract.Terms{KeyField: "uid"}.HonoursKeys())
}

func TestContractHeadersShareNothing(t *testing.T) {
	terms := contract.Terms{
		AccountHeaders:    append(make([]string, 0, 4), "Account"),
		VersionHeaders:    []string{"Version"},
		CredentialHeaders: []string{"Secret"},
	}
	names := terms.ContractHeaders()
	assert.Equal(t, []string{"Account", "Version"}, names, "and no credentials")
	names[0] = "changed"
	assert.Equal(t, []string{"Account", "", "", ""}, terms.AccountHeaders[:4])
	assert.Empty(t, contract.Terms{}.ContractHeaders())
}

func TestPromisesInWords(t *testing.T) {
	repeats := []string{"nothing promised", "replays the first answer", "returns the current state", "conflicts"}
	mismatches := []string{"undocumented", "refused", "not compared"}
	for n := range 256 {
		name := func(known []string) string {
			if n < len(known) {
				return known[n]
			}
			return known[0] // what is not known promises nothing
		}
		assert.Equal(t, name(repeats), contract.Repeat(n).String())
		assert.Equal(t, name(mismatches), contract.Mismatch(n).String())
	}
	assert.Equal(t, contract.RepeatsNothing, contract.Terms{}.Repeat)
	assert.Equal(t, contract.MismatchUndocumented, contract.Terms{}.Mismatch)
	assert.Positive(t, contract.RetentionForever)
}

package catalog_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/internal/catalog"
)

// Each answer that the terms of a provider name is shown by one of its documented
// exchanges.
func TestAnswersAreShown(t *testing.T) {
	for _, p := range catalog.Providers {
		t.Run(p.Name, func(t *testing.T) {
			exchanges, err := contracttest.Exchanges(p.Exchanges)
			require.NoError(t, err)
			groups, err := p.Groups()
			require.NoError(t, err)
			for _, g := range groups {
				for _, a := range slices.Concat(g.Terms.RepeatAnswers, g.Terms.MismatchAnswers, g.Terms.InFlightAnswers) {
					shows := func(x contracttest.Exchange) bool { return x.Answers(a) }
					assert.True(t, slices.ContainsFunc(exchanges, shows), "no exchange shows %v, which %s may get", a, g.Endpoints[0].Name)
				}
			}
		})
	}
	assert.False(t, contracttest.Exchange{}.Answers(contract.Answer{Status: 409}))
}

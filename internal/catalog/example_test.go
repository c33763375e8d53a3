package catalog

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/retry"
)

// The first example of every provider is a request that its fake executes, with nothing
// there before it.
func TestFirstExampleSucceeds(t *testing.T) {
	for _, p := range Providers {
		if p.Fake == nil {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				groups, err := p.Groups()
				require.NoError(t, err)
				fake, first := p.Fake(nil), groups[0]
				client, err := retry.NewClient(p.New(), &retry.Options{Transport: fake.Transport()})
				require.NoError(t, err)
				defer client.CloseIdleConnections()

				key := contract.KeyFor("example", p.Name)
				if limit := first.Terms.KeyMaxLen; limit > 0 && limit < len(key) {
					key = key[:limit]
				}
				req, err := first.Endpoints[0].Request(key, 2500)
				require.NoError(t, err)
				ctx := t.Context()
				if first.Terms.KeyHeader != "" {
					ctx = contract.WithKey(ctx, key)
				}
				_, err = client.Do(req.WithContext(ctx))
				require.NoError(t, err)
				require.Len(t, fake.Effects(), 1)
			})
		})
	}
}

package bubbletest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/internal/bubbletest"
	"github.com/idempact/idempact/journal"
)

// A store takes no virtual time, is empty, and knows when a context has ended.
func TestOnStores(t *testing.T) {
	plays := 0
	for range 2 {
		bubbletest.OnStores(t, func(t *testing.T, s journal.Store) {
			plays++
			began := time.Now()
			e := journal.Entry{ID: journal.ID{Provider: "acme", Key: "k"}, FirstSent: began}
			var all sync.WaitGroup
			for range 30 {
				all.Go(func() {
					stored, _, err := s.Begin(context.Background(), e)
					assert.NoError(t, err)
					assert.Equal(t, int64(1), stored.Version)
					assert.WithinDuration(t, began, stored.FirstSent, time.Microsecond)
				})
			}
			all.Wait()
			found, err := s.Unsettled(context.Background(), "acme", "", began, 10)
			require.NoError(t, err)
			assert.Len(t, found, 1)
			assert.Zero(t, time.Since(began))

			ended, cancel := context.WithCancel(context.Background())
			cancel()
			_, err = s.Get(ended, e.ID)
			assert.ErrorIs(t, err, context.Canceled)
		})
	}
	assert.GreaterOrEqual(t, plays, 4, "two stores twice, and PostgreSQL where there is one")
}

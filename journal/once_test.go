package journal_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal"
)

var message = journal.ID{Provider: "orders queue", Key: "message 7"}

// inTime plays in virtual time.
func inTime(t *testing.T, play func(t *testing.T, s journal.Store)) {
	synctest.Test(t, func(t *testing.T) { play(t, journal.NewMemory()) })
}

func TestOnce(t *testing.T) {
	inTime(t, func(t *testing.T, s journal.Store) {
		runs := 0
		do := func(context.Context) ([]byte, error) { runs++; return []byte("invoice 7"), nil }
		for range 3 {
			result, err := journal.Once(t.Context(), s, message, "print", do)
			require.NoError(t, err)
			assert.Equal(t, "invoice 7", string(result))
			time.Sleep(24 * time.Hour)
		}
		assert.Equal(t, 1, runs)
		_, err := journal.Once(t.Context(), s, message, "another print", do)
		assert.ErrorIs(t, err, contract.KeyReused)
		assert.Equal(t, 1, runs)
	})
}

func TestOnceFails(t *testing.T) {
	inTime(t, func(t *testing.T, s journal.Store) {
		broken := errors.New("broken")
		fails := true
		do := func(context.Context) ([]byte, error) {
			if fails {
				return nil, broken
			}
			return []byte("done"), nil
		}
		_, err := journal.Once(t.Context(), s, message, "", do)
		assert.ErrorIs(t, err, broken)
		e, err := s.Get(t.Context(), message)
		require.NoError(t, err)
		assert.False(t, e.Settled)
		fails = false
		result, err := journal.Once(t.Context(), s, message, "", do)
		require.NoError(t, err)
		assert.Equal(t, "done", string(result))
	})
}

// What was done is kept, and what failed given back, although the consumer is told to stop
// meanwhile.
func TestOnceAfterTheContext(t *testing.T) {
	for _, fails := range []error{nil, errors.New("broken")} {
		inTime(t, func(t *testing.T, s journal.Store) {
			ctx, stop := context.WithCancel(t.Context())
			_, err := journal.Once(ctx, s, message, "", func(context.Context) ([]byte, error) { stop(); return nil, fails })
			assert.Equal(t, fails, err)
			e, err := s.Get(t.Context(), message)
			require.NoError(t, err)
			assert.Equal(t, fails == nil, e.Settled)
			assert.Empty(t, e.Lease.Holder)
		})
	}
}

// Who is overtaken while taking a failed message is told when to come back.
func TestOnceOvertaken(t *testing.T) {
	inTime(t, func(t *testing.T, s journal.Store) {
		_, err := journal.Once(t.Context(), s, message, "", func(context.Context) ([]byte, error) { return nil, errors.New("broken") })
		require.Error(t, err)
		_, err = journal.Once(t.Context(), overtaken{s}, message, "", func(context.Context) ([]byte, error) {
			t.Error("it runs")
			return nil, nil
		})
		var busy *journal.InProgressError
		require.ErrorAs(t, err, &busy)
		assert.Positive(t, busy.RetryAfter)
	})
}

type overtaken struct{ journal.Store }

func (overtaken) Update(context.Context, journal.Entry) (journal.Entry, error) {
	return journal.Entry{}, journal.ErrConflict
}

// A panic gives nothing back: whoever comes after the lease runs it again.
func TestOnceDies(t *testing.T) {
	inTime(t, func(t *testing.T, s journal.Store) {
		assert.Panics(t, func() {
			_, _ = journal.Once(t.Context(), s, message, "", func(context.Context) ([]byte, error) { panic("died") })
		})
		done := func(context.Context) ([]byte, error) { return []byte("done"), nil }
		_, err := journal.Once(t.Context(), s, message, "", done)
		var busy *journal.InProgressError
		require.ErrorAs(t, err, &busy)
		assert.ErrorIs(t, err, contract.InProgress)
		assert.Equal(t, 2*time.Minute, busy.RetryAfter)
		time.Sleep(busy.RetryAfter)
		result, err := journal.Once(t.Context(), s, message, "", done)
		require.NoError(t, err)
		assert.Equal(t, "done", string(result))
	})
}

// The one who has the message must be done before another may have it.
func TestOnceEndsWithItsLease(t *testing.T) {
	inTime(t, func(t *testing.T, s journal.Store) {
		began := time.Now()
		_, err := journal.Once(t.Context(), s, message, "", func(ctx context.Context) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Less(t, time.Since(began), 2*time.Minute)
	})
}

// A result that was not stored was not given: the message comes again.
func TestOnceUnstored(t *testing.T) {
	inTime(t, func(t *testing.T, s journal.Store) {
		result, err := journal.Once(t.Context(), s, message, "", func(context.Context) ([]byte, error) {
			e, err := s.Get(t.Context(), message)
			require.NoError(t, err)
			_, err = s.Update(t.Context(), e) // another has taken it over
			require.NoError(t, err)
			return []byte("mine"), nil
		})
		assert.ErrorIs(t, err, journal.ErrConflict)
		assert.Nil(t, result)
	})
}

func TestOnceRaces(t *testing.T) {
	inTime(t, func(t *testing.T, s journal.Store) {
		var runs atomic.Int32
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				for {
					result, err := journal.Once(t.Context(), s, message, "", func(context.Context) ([]byte, error) {
						time.Sleep(time.Second)
						if runs.Add(1) < 3 {
							return nil, errors.New("not yet")
						}
						return []byte("done"), nil
					})
					if err == nil {
						assert.Equal(t, "done", string(result))
						return
					}
					time.Sleep(time.Second)
				}
			})
		}
		all.Wait()
		assert.EqualValues(t, 3, runs.Load())
	})
}

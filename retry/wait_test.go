package retry

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

// TestWaitIsAFloor: no resend before the provider's wait is over (I5).
func TestWaitIsAFloor(t *testing.T) {
	for _, header := range []string{"Retry-After: 20", "Retry-After: 20.5", "Retry-After: Sat, 01 Jan 2000 00:00:20 GMT"} {
		for _, status := range []int{423, 429, 503} {
			virtual(t, func(t *testing.T) { // which starts at midnight UTC, 2000-01-01
				p := newProvider(respond(status, `{}`, header), created())
				c := newClient(t, p, nil, nil)
				result, err := c.Do(payment(context.Background()))
				wantVerdict(t, contract.Succeeded, result, err)
				assert.GreaterOrEqual(t, p.gaps()[0], 20*time.Second, "%s", header)
				assert.Less(t, p.gaps()[0], 31*time.Second)
			})
		}
	}
}

// TestBackOff: our own waits are random, between MinWait and a bound that doubles.
func TestBackOff(t *testing.T) {
	different := map[time.Duration]bool{}
	for range 40 {
		virtual(t, func(t *testing.T) {
			p := newProvider(respond(500, `{}`))
			c := newClient(t, p, nil, &Options{MaxAttempts: 9, MaxElapsed: time.Hour})
			c.Do(payment(context.Background()))
			gaps := p.gaps()
			require.Len(t, gaps, 8)
			bound := 500 * time.Millisecond
			for i, gap := range gaps {
				bound = min(bound*2, 30*time.Second)
				assert.GreaterOrEqual(t, gap, 500*time.Millisecond, "wait %d", i)
				assert.LessOrEqual(t, gap, bound, "wait %d", i)
			}
			different[gaps[7]] = true
		})
	}
	assert.Greater(t, len(different), 30, "random")
}

// TestBackOffIsFull: the jitter uses its whole range.
func TestBackOffIsFull(t *testing.T) {
	options, err := (&Options{MinWait: 1, MaxWait: time.Hour}).withDefaults()
	require.NoError(t, err)
	f := &flight{client: &Client{options: options}, sends: 60}
	var low, high int
	for range 400 {
		switch w := f.backoff(); {
		case w < time.Hour/4:
			low++
		case w > 3*time.Hour/4:
			high++
		}
	}
	assert.Greater(t, low, 30)
	assert.Greater(t, high, 30)
}

// TestWaitDoesNotFit: the loop stops at once and says when to come again.
func TestWaitDoesNotFit(t *testing.T) {
	year := 365 * 24 * 3600
	for name, tc := range map[string]struct {
		wait     string
		o        Options
		deadline time.Duration
		want     time.Duration
	}{
		"longer than MaxWait":    {wait: "31", want: 31 * time.Second},
		"a year":                 {wait: fmt.Sprint(year), want: time.Duration(year) * time.Second},
		"longer than any time":   {wait: "99999999999999999999", want: math.MaxInt64},
		"past the deadline":      {wait: "20", deadline: 19 * time.Second, want: 20 * time.Second},
		"at the deadline":        {wait: "20", deadline: 20 * time.Second, want: 20 * time.Second},
		"past MaxElapsed":        {wait: "20", o: Options{MaxElapsed: 10 * time.Second}, want: 20 * time.Second},
		"longer, last attempt":   {wait: "31", o: Options{MaxAttempts: 1}, want: 31 * time.Second},
		"would fit, no attempts": {wait: "3", o: Options{MaxAttempts: 1}, want: 3 * time.Second},
	} {
		for _, status := range []int{423, 429} { // in doubt, and not
			t.Run(fmt.Sprint(name, status), func(t *testing.T) {
				virtual(t, func(t *testing.T) {
					p := newProvider(respond(status, `{}`, "Retry-After: "+tc.wait))
					c := newClient(t, p, nil, &tc.o)
					ctx, cancel := context.WithCancel(context.Background())
					if tc.deadline > 0 {
						ctx, cancel = context.WithTimeout(ctx, tc.deadline)
					}
					defer cancel()
					start := time.Now()
					result, err := c.Do(payment(ctx))
					assert.Zero(t, time.Since(start), "at once")
					wantVerdict(t, map[int]contract.Status{423: contract.InProgress, 429: contract.NotExecuted}[status], result, err)
					assert.Equal(t, tc.want, result.RetryAfter)
					if tc.want > 24*time.Hour && status == 423 {
						// By then the key is forgotten, and a second send may pay twice.
						assert.NotContains(t, err.Error(), "come again")
						assert.Equal(t, contract.LookUp, result.Next())
					} else {
						assert.ErrorContains(t, err, "come again in")
						assert.Equal(t, contract.Resend, result.Next())
					}
					assert.Equal(t, 1, p.count())

					_, err = c.RoundTrip(payment(ctx))
					assert.Equal(t, tc.want, OutcomeOf(err).RetryAfter, "RoundTrip too hands the wait back")
				})
			})
		}
	}
}

// TestWaitAfterDoubt: the wait of the latest answer is handed back with the doubt
// of an earlier one.
func TestWaitAfterDoubt(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(drop(), respond(503, `{}`, "Retry-After: 3600"))
		c := newClient(t, p, nil, nil)
		result, err := c.Do(payment(context.Background()))
		wantVerdict(t, contract.Unknown, result, err)
		assert.Equal(t, time.Hour, result.RetryAfter)
		assert.Equal(t, 2, p.count())
	})
}

// TestWaitOutlivesKey: who would come again after the wait could not use the key
// any more, so a doubt is looked up now.
func TestWaitOutlivesKey(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(423, `{}`, "Retry-After: 90000"), respond(200, `{"found":["pay_1"]}`))
		c := newClient(t, p, finding{stub: &stub{}}, nil)
		result, err := c.Do(payment(context.Background()))
		wantVerdict(t, contract.Duplicate, result, err)
		assert.Equal(t, "pay_1", result.Resource)
	})
}

// TestShortDeadline: a deadline that ends before our own wait ends the loop now.
func TestShortDeadline(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(500, `{}`))
		c := newClient(t, p, nil, nil)
		ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond)
		defer cancel()
		start := time.Now()
		result, err := c.Do(payment(ctx))
		wantVerdict(t, contract.Unknown, result, err)
		assert.Zero(t, time.Since(start))
		assert.Equal(t, 1, p.count())
	})
}

// TestWaitFitsWithoutJitter: where the provider's wait fits and our longer one
// does not, the provider's is enough.
func TestWaitFitsWithoutJitter(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(429, `{}`, "Retry-After: 1"), created())
		c := newClient(t, p, nil, &Options{MinWait: 20 * time.Second})
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		result, err := c.Do(payment(ctx))
		wantVerdict(t, contract.Succeeded, result, err)
		assert.Equal(t, time.Second, p.gaps()[0])
	})
}

// TestClockSetBack: an age is never negative, and a machine that slept counts.
func TestAge(t *testing.T) {
	virtual(t, func(t *testing.T) {
		now := time.Now()
		for name, tc := range map[string]struct {
			first time.Time
			wait  time.Duration
			want  time.Duration
		}{
			"now":              {now, 0, 0},
			"ahead of us":      {now.Add(time.Hour).Round(0), 0, 0},
			"an hour ago":      {now.Add(-time.Hour), time.Minute, time.Hour + time.Minute},
			"by the wall only": {now.Add(-time.Hour).Round(0), 0, time.Hour},
			"a wait for ever":  {now.Add(-time.Hour), math.MaxInt64, contract.RetentionForever},
		} {
			f := &flight{memory: memory{firstSent: tc.first}}
			assert.Equal(t, tc.want, f.age(tc.wait), name)
		}
	})
}

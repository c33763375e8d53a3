package retry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal"
)

// left leaves an operation open: a process sends it, gets no answer, and dies.
func left(t *testing.T, s *tapped, p *provider, key string) {
	t.Helper()
	dead := s.other()
	dead.fault = func(n int, _ string) failure {
		if n > 1 {
			return dies
		}
		return works
	}
	c := newClient(t, p, nil, &Options{Journal: dead, MaxAttempts: 1})
	_, err := c.Do(post(contract.WithKey(context.Background(), key), payBody))
	require.ErrorIs(t, err, contract.Unknown)
}

func sweep(t *testing.T, c *Client, o SweepOptions) SweepReport {
	t.Helper()
	report, err := c.Sweep(context.Background(), o)
	require.NoError(t, err)
	assert.Equal(t, report.Found, report.Settled+report.Open+report.Skipped)
	assert.Len(t, report.Operations, report.Settled+report.Open)
	return report
}

// TestSweep: what a process left is settled without a caller: sent again while the
// key is young, looked up when it is not, left to a person where neither is possible.
func TestSweep(t *testing.T) {
	for name, tc := range map[string]struct {
		adapter contract.Adapter
		after   time.Duration
		faults  []act
		want    contract.Status
		settled bool
		sends   int
		reason  string
	}{
		"young: sent again":        {&stub{}, 2 * time.Minute, []act{drop()}, contract.Succeeded, true, 2, ""},
		"old: looked up":           {able(&stub{}), 25 * time.Hour, []act{drop()}, contract.Succeeded, true, 1, ""},
		"old: nobody can":          {&stub{}, 25 * time.Hour, []act{drop()}, contract.Unknown, false, 1, "too old"},
		"young, and no answer":     {&stub{}, 2 * time.Minute, []act{drop(), drop(), drop(), drop(), drop(), drop()}, contract.Unknown, false, 6, "no answer"},
		"young, and a throttle":    {&stub{}, 2 * time.Minute, []act{drop(), respond(429, `{}`, "Retry-After: 600")}, contract.Unknown, false, 2, "wait"},
		"young, and wrong secrets": {&stub{}, 2 * time.Minute, []act{drop(), respond(401, `{}`)}, contract.Unknown, false, 2, "refused before execution"},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, s *tapped) {
				b := newBank(tc.faults...)
				left(t, s, b.provider, payKey)
				c := newClient(t, b.provider, tc.adapter, &Options{Journal: s, Authorize: signed})
				time.Sleep(time.Minute)
				assert.Zero(t, sweep(t, c, SweepOptions{}).Found, "the lease has not ended")
				time.Sleep(tc.after - time.Minute)
				report := sweep(t, c, SweepOptions{})
				require.Equal(t, 1, report.Found)
				op := report.Operations[0]
				assert.Equal(t, tc.want, op.Verdict.Status)
				assert.Equal(t, tc.settled, op.Settled)
				assert.Equal(t, contract.KeyTag(payKey), op.KeyTag)
				assert.Contains(t, op.Reason, tc.reason)
				require.Len(t, b.sends(), tc.sends)
				for _, r := range b.sends()[1:] {
					assert.Equal(t, payBody, string(r.Body))
					assert.Equal(t, "Bearer sk_live_mended", r.Header.Get("Authorization"))
				}
				e := s.entry(t)
				assert.Equal(t, tc.want, e.Verdict.Status)
				assert.Equal(t, tc.settled, e.Settled)
				assert.Equal(t, 1, e.Sweeps)
				assert.Zero(t, sweep(t, c, SweepOptions{}).Found, "not due")
				for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d"} {
					assert.NotContains(t, fmt.Sprintf(verb, report), payKey)
				}
			})
		})
	}
}

// TestSweepUnauthorized: a person is told that it was Authorize that failed, also where
// the operation would only be looked up.
func TestSweepUnauthorized(t *testing.T) {
	for _, after := range []time.Duration{2 * time.Minute, 25 * time.Hour} {
		virtual(t, func(t *testing.T) {
			s := &tapped{Store: journal.NewMemory()}
			b := newBank(drop())
			left(t, s, b.provider, payKey)
			time.Sleep(after)
			errVault := errors.New("the vault's text")
			c := newClient(t, b.provider, able(&stub{}), &Options{Journal: s, Authorize: func(*http.Request) error { return errVault }})
			op := sweep(t, c, SweepOptions{}).Operations[0]
			assert.Equal(t, contract.Unknown, op.Verdict.Status)
			assert.Contains(t, op.Reason, "Authorize returned an error")
			assert.NotContains(t, op.Reason+op.Err.Error(), "vault")
			assert.ErrorIs(t, op.Err, errVault)
			assert.False(t, s.entry(t).Settled)
			assert.Equal(t, 1, b.count())
		})
	}
}

// TestPutOffKeepsTheDoubt: what a sweep cannot go on with stays in doubt, although it had
// done nothing before the process died that tried again.
func TestPutOffKeepsTheDoubt(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := &tapped{Store: journal.WithoutBodies(journal.NewMemory())}
		b := newBank()
		b.faults = []act{b.refuse(respond(401, `{}`)), drop()}
		result, err := pay(newClient(t, b.provider, nil, &Options{Journal: s}))
		wantVerdict(t, contract.Rejected, result, err)
		dead := s.other()
		dead.fault = func(n int, _ string) failure {
			if n > 2 { // after Begin, which finds it, and the lease
				return dies
			}
			return works
		}
		_, err = pay(newClient(t, b.provider, nil, &Options{Journal: dead, MaxAttempts: 1}))
		require.ErrorIs(t, err, contract.Unknown)
		time.Sleep(3 * time.Minute)
		op := sweep(t, newClient(t, b.provider, nil, &Options{Journal: s, Authorize: signed}), SweepOptions{}).Operations[0]
		assert.False(t, op.Settled)
		assert.Equal(t, contract.Unknown, op.Verdict.Status)
		assert.Equal(t, contract.EffectMaybe, s.entry(t).Verdict.Effect())
		assert.Equal(t, 1, s.entry(t).Sweeps)
		assert.Equal(t, map[string]int{payKey: 1}, b.paid)
	})
}

// TestSweepSchedule: 1 minute, 5 minutes, an hour, then daily.
func TestSweepSchedule(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		b := newBank(drop())
		result, err := pay(newClient(t, b.provider, nil, &Options{Journal: s, MaxAttempts: 1}))
		wantVerdict(t, contract.Unknown, result, err)
		assert.WithinDuration(t, time.Now().Add(time.Minute), s.entry(t).Due, 0)
		// The provider is gone, and says nothing.
		c := newClient(t, b.provider, nil, &Options{Journal: s, Authorize: signed, MaxAttempts: 1,
			Transport: fails{&net.OpError{Op: "dial", Err: net.ErrClosed}}})
		for i, want := range []time.Duration{5 * time.Minute, time.Hour, 24 * time.Hour, 24 * time.Hour, 24 * time.Hour} {
			time.Sleep(time.Until(s.entry(t).Due) - time.Second)
			assert.Zero(t, sweep(t, c, SweepOptions{}).Found)
			time.Sleep(time.Second)
			report := sweep(t, c, SweepOptions{})
			assert.Equal(t, 1, report.Open)
			wait := time.Until(s.entry(t).Due)
			assert.GreaterOrEqual(t, wait, want)
			assert.LessOrEqual(t, wait, want+2*time.Hour)
			assert.Equal(t, i+1, s.entry(t).Sweeps)
			assert.Equal(t, contract.Unknown, s.entry(t).Verdict.Status, "a sweep that finds nothing out weakens nothing")
		}
	})
}

// TestSweepDuplicate: what is known to exist, but was not compared, is not settled.
func TestSweepDuplicate(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		p := newProvider(duplicate, respond(500, `{}`), respond(500, `{}`), respond(500, `{}`), respond(200, `{"id":"pay_1","amount":100}`))
		result, err := pay(newClient(t, p, able(&stub{}), &Options{Journal: s}))
		wantVerdict(t, contract.Duplicate, result, err)
		assert.False(t, s.entry(t).Settled)
		time.Sleep(time.Minute)
		report := sweep(t, newClient(t, p, able(&stub{}), &Options{Journal: s, Authorize: signed}), SweepOptions{})
		assert.Equal(t, 1, report.Settled)
		assert.Equal(t, contract.Succeeded, s.entry(t).Verdict.Status)
		assert.Equal(t, 5, p.count())
	})
}

// TestSweepsAtOnce: many sweepers, each entry handled by one; bounded, and at a rate.
func TestSweepsAtOnce(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		b := newBank()
		for range 20 {
			b.faults = append(b.faults, drop())
		}
		for i := range 20 {
			left(t, s, b.provider, fmt.Sprintf("op-%02d", i))
		}
		b.mu.Lock()
		for range 20 {
			b.faults = append(b.faults, after(time.Second, created()))
		}
		b.mu.Unlock()
		time.Sleep(3 * time.Minute)
		var all sync.WaitGroup
		var mu sync.Mutex
		settled := 0
		for range 4 {
			all.Go(func() {
				c := newClient(t, b.provider, nil, &Options{Journal: s, Authorize: signed})
				report, err := c.Sweep(context.Background(), SweepOptions{Concurrency: 2})
				assert.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				settled += report.Settled
				assert.Zero(t, report.Open)
			})
		}
		all.Wait()
		assert.Equal(t, 20, settled)
		assert.Len(t, b.sends(), 40)
	})
}

// TestSweepLimits: how many, how many at a time, and how fast.
func TestSweepLimits(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := &tapped{Store: journal.NewMemory()}
		b := newBank()
		for range 12 {
			b.faults = append(b.faults, drop())
		}
		for i := range 12 {
			left(t, s, b.provider, fmt.Sprintf("op-%02d", i))
		}
		time.Sleep(3 * time.Minute)
		c := newClient(t, b.provider, nil, &Options{Journal: s, Authorize: signed})
		began := time.Now()
		assert.Equal(t, 5, sweep(t, c, SweepOptions{Limit: 5, Interval: time.Second}).Settled)
		assert.Equal(t, 4*time.Second, time.Since(began))

		b.mu.Lock()
		for range 7 {
			b.faults = append(b.faults, after(time.Second, created()))
		}
		b.mu.Unlock()
		began = time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 2500*time.Millisecond)
		defer cancel()
		report, err := c.Sweep(ctx, SweepOptions{Concurrency: 2})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 4, report.Settled)
		assert.Equal(t, 7, report.Found)
		assert.Equal(t, 2500*time.Millisecond, time.Since(began))
	})
}

// TestSweepOwn: a sweep handles its client's provider and account, and no other's.
func TestSweepOwn(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		b := newBank(drop(), drop())
		left(t, s, b.provider, payKey)
		time.Sleep(3 * time.Minute)
		other := newClient(t, b.provider, nil, &Options{Journal: s, Authorize: signed, Account: "theirs"})
		assert.Zero(t, sweep(t, other, SweepOptions{}).Found)
		elsewhere := newClient(t, b.provider, &stub{name: func() string { return "elsewhere" }}, &Options{Journal: s, Authorize: signed})
		assert.Zero(t, sweep(t, elsewhere, SweepOptions{}).Found)
	})
}

// TestSweepNeeds: a journal and credentials.
func TestSweepNeeds(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider()
		_, err := newClient(t, p, nil, &Options{Authorize: signed}).Sweep(context.Background(), SweepOptions{})
		assert.ErrorContains(t, err, "journal")
		_, err = newClient(t, p, nil, &Options{Journal: journal.NewMemory()}).Sweep(context.Background(), SweepOptions{})
		assert.ErrorContains(t, err, "Authorize")
		_, err = newClient(t, p, nil, &Options{Journal: journal.NewMemory(), Authorize: signed}).Sweep(context.Background(), SweepOptions{Limit: -1})
		assert.ErrorContains(t, err, "negative")
		closed := journal.NewMemory()
		require.NoError(t, closed.Close())
		_, err = newClient(t, p, nil, &Options{Journal: closed, Authorize: signed}).Sweep(context.Background(), SweepOptions{})
		assert.ErrorIs(t, err, journal.ErrClosed)
		_, err = newClient(t, p, nil, nil).Learn(context.Background(), payKey, contract.Outcome{}, "")
		assert.ErrorContains(t, err, "journal")
	})
}

// TestSweepKeepsCallersOut: a call meets a sweep, and waits for it.
func TestSweepKeepsCallersOut(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		b := newBank(drop(), after(5*time.Second, created()))
		left(t, s, b.provider, payKey)
		time.Sleep(3 * time.Minute)
		c := newClient(t, b.provider, nil, &Options{Journal: s, Authorize: signed})
		done := make(chan SweepReport)
		go func() {
			report, _ := c.Sweep(context.Background(), SweepOptions{})
			done <- report
		}()
		time.Sleep(time.Second)
		result, err := pay(c)
		wantVerdict(t, contract.Succeeded, result, err)
		assert.True(t, result.Recorded)
		assert.Equal(t, 1, (<-done).Settled)
		assert.Len(t, b.sends(), 2)
	})
}

var seen = contract.Outcome{Status: contract.Succeeded, Resource: "pay_1", State: "paid"}

// TestLearnFirst: the webhook comes before the answer, while a caller waits for the
// next attempt: it is woken, and told.
func TestLearnFirst(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		p := newProvider(drop(), created())
		c := newClient(t, p, nil, &Options{Journal: s, MinWait: time.Minute, MaxWait: time.Minute})
		one := start(c, payment(context.Background()))
		time.Sleep(10 * time.Second)
		v, err := c.Learn(context.Background(), payKey, seen, "event evt_1")
		require.NoError(t, err)
		assert.Equal(t, contract.Succeeded, v.Status)
		learnedAt := time.Now()
		wantVerdict(t, contract.Succeeded, one.wait().result, one.err)
		assert.Zero(t, one.at.Sub(learnedAt))
		assert.Equal(t, 1, p.count(), "nothing more is sent")
		assert.Equal(t, contract.FromOutside, one.result.Source)
		assert.Equal(t, "event evt_1", one.result.Reason)
		e := s.entry(t)
		assert.True(t, e.Settled)
		assert.Empty(t, e.Lease.Holder)
		assert.Equal(t, contract.FromOutside, e.Verdict.Source)
	})
}

// TestLearnWhileSending: the webhook overtakes the answer, which is folded in when it
// comes.
func TestLearnWhileSending(t *testing.T) {
	for name, tc := range map[string]struct {
		answer act
		want   contract.Status
		conf   bool
	}{
		"the same":       {created(), contract.Succeeded, true},
		"lost":           {drop(), contract.Succeeded, true},
		"a throttle":     {respond(429, `{}`), contract.Succeeded, true},
		"a refusal":      {respond(401, `{}`), contract.Succeeded, true},
		"a decline":      {respond(402, `{}`), contract.Succeeded, true},
		"another effect": {respond(201, `{"id":"pay_2"}`), contract.Duplicate, true},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, s *tapped) {
				p := newProvider(after(20*time.Second, tc.answer), created())
				c := newClient(t, p, nil, &Options{Journal: s})
				one := start(c, payment(context.Background()))
				time.Sleep(10 * time.Second)
				_, err := c.Learn(context.Background(), payKey, seen, "event evt_1")
				require.NoError(t, err)
				// Who comes now need not wait.
				result, err := pay(newClient(t, p, nil, &Options{Journal: s.other()}))
				wantVerdict(t, contract.Succeeded, result, err)
				wantVerdict(t, tc.want, one.wait().result, one.err)
				assert.Equal(t, 1, p.count())
				e := s.entry(t)
				assert.Equal(t, tc.want, e.Verdict.Status)
				assert.True(t, e.Settled)
				assert.Empty(t, e.Lease.Holder)
				if name == "the same" {
					assert.Equal(t, 201, e.Response.StatusCode, "the answer is kept")
					assert.Equal(t, 201, one.result.Response.StatusCode)
				}
			})
		})
	}
}

// TestLearnLater: the answer comes first, or none, and the webhook later.
func TestLearnLater(t *testing.T) {
	for name, tc := range map[string]struct {
		answer  act
		learn   contract.Outcome
		want    contract.Status
		settled bool
	}{
		"the same":                 {created(), seen, contract.Succeeded, true},
		"after a doubt":            {drop(), seen, contract.Succeeded, true},
		"after a refusal":          {respond(401, `{}`), seen, contract.Succeeded, true},
		"a decline, after a doubt": {drop(), contract.Outcome{Status: contract.Declined}, contract.Declined, true},
		"no overturn":              {created(), contract.Outcome{Status: contract.Declined}, contract.Succeeded, true},
		"nothing is no proof":      {drop(), contract.Outcome{Status: contract.NotExecuted}, contract.Unknown, false},
		"another effect":           {created(), contract.Outcome{Status: contract.Succeeded, Resource: "pay_2"}, contract.Duplicate, true},
		"exists, not compared":     {drop(), contract.Outcome{Status: contract.Duplicate}, contract.Duplicate, false},
		"a doubt opens":            {respond(401, `{}`), contract.Outcome{Status: contract.Unknown}, contract.Unknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, s *tapped) {
				p := newProvider(tc.answer)
				c := newClient(t, p, nil, &Options{Journal: s, MaxAttempts: 1})
				_, _ = pay(c)
				time.Sleep(time.Hour)
				v, err := c.Learn(context.Background(), payKey, tc.learn, "statement, Ann")
				require.NoError(t, err)
				assert.Equal(t, tc.want, v.Status)
				e := s.entry(t)
				assert.Equal(t, tc.want, e.Verdict.Status)
				assert.Equal(t, tc.settled, e.Settled)
				assert.Equal(t, contract.FromOutside, e.Verdict.Last.Source)
				assert.True(t, strings.HasPrefix(e.Verdict.Last.Reason, "statement, Ann"))
			})
		})
	}
}

// TestLearnOfTheDead: evidence about what a process left open settles it if it is an
// effect; if not, the next run still takes it for a doubt.
func TestLearnOfTheDead(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		b := newBank(drop(), drop())
		left(t, s, b.provider, payKey)
		c := newClient(t, b.provider, nil, &Options{Journal: s, Authorize: signed})
		for _, weak := range []contract.Status{contract.NotExecuted, contract.Rejected, contract.KeyReused} {
			v, err := c.Learn(context.Background(), payKey, contract.Outcome{Status: weak}, "hearsay")
			require.NoError(t, err)
			assert.Equal(t, contract.EffectMaybe, v.Effect())
			assert.False(t, s.entry(t).Settled)
			assert.Equal(t, contract.EffectMaybe, s.entry(t).Verdict.Effect(), "for who reads the journal")
		}
		time.Sleep(3 * time.Minute)
		assert.Equal(t, 1, sweep(t, c, SweepOptions{}).Settled)

		left(t, s, b.provider, "another")
		v, err := c.Learn(context.Background(), "another", seen, "event evt_1")
		require.NoError(t, err)
		assert.Equal(t, contract.Succeeded, v.Status)
		time.Sleep(3 * time.Minute)
		assert.Zero(t, sweep(t, c, SweepOptions{}).Found)
		result, err := c.Do(post(contract.WithKey(context.Background(), "another"), payBody))
		wantVerdict(t, contract.Succeeded, result, err)
		assert.True(t, result.Recorded)
		assert.Nil(t, result.Response)
	})
}

// TestLearnedForAnSDK: what the API answered before a success was learned, or while, does
// not show the success, and no SDK is given it: the payment is fetched.
func TestLearnedForAnSDK(t *testing.T) {
	for name, tc := range map[string]struct {
		answer act
		learn  time.Duration // after the call; it is answered after 20 s
	}{
		"a server error before":  {respond(500, `{}`), time.Minute},
		"a server error later":   {respond(500, `{}`), 10 * time.Second},
		"a cut answer before":    {respond(201, `{"id":"pay_1","padding":"`+strings.Repeat("-", 100)+`"}`), time.Minute},
		"an unresolved conflict": {respond(409, `{"existing":"pay_1"}`), time.Minute},
		"a refusal later":        {respond(401, `{}`), 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, s *tapped) {
				options := func() *Options { return &Options{Journal: s, MaxAttempts: 1, MaxBodyBytes: 99} }
				c := newClient(t, newProvider(after(20*time.Second, tc.answer)), nil, options())
				one := start(c, payment(context.Background()))
				time.Sleep(tc.learn)
				_, err := c.Learn(context.Background(), payKey, seen, "event evt_1")
				require.NoError(t, err)
				one.wait()
				if tc.learn < 20*time.Second {
					wantVerdict(t, contract.Succeeded, one.result, one.err)
					assert.Nil(t, one.result.Response)
				}
				assert.Zero(t, s.entry(t).Response)

				fetched := `{"id":"pay_1","amount":100}`
				c = newClient(t, newProvider(respond(200, fetched)), resolving{stub: &stub{}}, options())
				resp, err := c.RoundTrip(payment(context.Background()))
				require.NoError(t, err)
				assert.Equal(t, fetched, body(t, resp))
			})
		})
	}
}

// TestLearnWakesWhoWaitsForAnother: also a caller that only polls.
func TestLearnWakesWhoWaitsForAnother(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		p := newProvider(hang())
		a := start(newClient(t, p, nil, &Options{Journal: s, MaxAttempts: 1}), payment(context.Background()))
		c := newClient(t, p, nil, &Options{Journal: s.other()})
		b := start(c, payment(context.Background()))
		time.Sleep(20 * time.Second)
		_, err := c.Learn(context.Background(), payKey, seen, "event evt_1")
		require.NoError(t, err)
		now := time.Now()
		wantVerdict(t, contract.Succeeded, b.wait().result, b.err)
		assert.Zero(t, b.at.Sub(now))
		wantVerdict(t, contract.Succeeded, a.wait().result, a.err)
	})
}

// TestLearnNothing: an event of an operation that this program has not.
func TestLearnNothing(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := &tapped{Store: journal.NewMemory()}
		c := newClient(t, newProvider(), nil, &Options{Journal: s})
		_, err := c.Learn(context.Background(), payKey, seen, "event evt_1")
		assert.ErrorIs(t, err, journal.ErrNotFound)
		assert.NotContains(t, err.Error(), payKey)
		assert.Zero(t, s.count())
	})
}

// TestSettle: Learn in a transaction of the caller's, by the same rules; and a write
// of somebody else is an error, not one more try, since the caller's rows rest on what
// was read.
func TestSettle(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		c := newClient(t, newBank(drop()).provider, nil, &Options{Journal: s, MaxAttempts: 1})
		settle := func(s journal.Store, o contract.Outcome) (contract.Verdict, error) {
			return c.Settle(context.Background(), s, payKey, o, "statement, Ann")
		}
		_, err := settle(s, seen)
		require.ErrorIs(t, err, journal.ErrNotFound)
		_, err = pay(c)
		require.ErrorIs(t, err, contract.Unknown)

		_, err = settle(raced{s, func() { s.edit(t, func(e *journal.Entry) { e.Sweeps++ }) }}, seen)
		require.ErrorIs(t, err, journal.ErrConflict)
		assert.NotContains(t, err.Error(), payKey)
		assert.Equal(t, contract.Unknown, s.entry(t).Verdict.Status)

		v, err := settle(s, contract.Outcome{Status: contract.NotExecuted})
		require.NoError(t, err)
		assert.Equal(t, contract.Unknown, v.Status, "hearsay is no proof")
		for _, o := range []contract.Outcome{seen, {Status: contract.Declined}, {Status: contract.NotExecuted}} {
			v, err = settle(s, o)
			require.NoError(t, err)
			assert.Equal(t, contract.Succeeded, v.Status, "a success is never overturned")
		}
		e := s.entry(t)
		assert.True(t, e.Settled)
		assert.Equal(t, contract.FromOutside, e.Verdict.Source)
		assert.Equal(t, "statement, Ann", e.Verdict.Reason)
	})
}

// raced is a store whose entries somebody else writes after they are read.
type raced struct {
	*tapped
	write func()
}

func (r raced) Get(ctx context.Context, id journal.ID) (journal.Entry, error) {
	e, err := r.tapped.Get(ctx, id)
	r.write()
	return e, err
}

// TestLearnRaces: many sources at once, and runs among them.
func TestLearnRaces(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		b := newBank(drop(), drop(), nil)
		c := newClient(t, b.provider, nil, &Options{Journal: s, Authorize: signed})
		one := start(c, payment(context.Background()))
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				_, err := c.Learn(context.Background(), payKey, seen, "event evt_1")
				assert.NoError(t, err)
			})
			all.Go(func() {
				result, err := pay(newClient(t, b.provider, nil, &Options{Journal: s}))
				wantVerdict(t, contract.Succeeded, result, err)
			})
		}
		all.Wait()
		wantVerdict(t, contract.Succeeded, one.wait().result, one.err)
		assert.Empty(t, s.entry(t).Lease.Holder)
	})
}

// TestLearnedDuplicate: a waiting caller that learns of an effect that is yet to be
// compared does so at once.
func TestLearnedDuplicate(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		b := newBank(drop(), created())
		c := newClient(t, b.provider, resolving{stub: &stub{}}, &Options{Journal: s, MinWait: time.Minute, MaxWait: time.Minute})
		one := start(c, payment(context.Background()))
		time.Sleep(10 * time.Second)
		_, err := c.Learn(context.Background(), payKey, contract.Outcome{Status: contract.Duplicate, Resource: "pay_1", Reason: "money moved"}, "event evt_1")
		require.NoError(t, err)
		wantVerdict(t, contract.Succeeded, one.wait().result, one.err)
		assert.Equal(t, "pay_1", one.result.Resource)
		assert.Len(t, b.sends(), 1)
		for _, r := range b.requests()[1:] {
			assert.Equal(t, http.MethodGet, r.Method)
		}
	})
}

// TestLearnNoAdvice: when and whether to send again is the provider's to say, in a reply.
func TestLearnNoAdvice(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := &tapped{Store: journal.NewMemory()}
		p := newProvider(drop(), created())
		c := newClient(t, p, nil, &Options{Journal: s, MaxAttempts: 1})
		_, _ = pay(c)
		v, err := c.Learn(context.Background(), payKey, contract.Outcome{Source: contract.FromLookUp, RetryAfter: time.Hour, NoResend: true, Replayed: true}, "Ann")
		require.NoError(t, err)
		assert.Equal(t, contract.Outcome{Source: contract.FromOutside, Reason: "Ann"}, v.Last)
		result, err := pay(c)
		wantVerdict(t, contract.Succeeded, result, err)
	})
}

// TestLearnDuringAnotherTry: hearsay does not settle what a run may just be sending.
func TestLearnDuringAnotherTry(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		p := newProvider(respond(401, `{}`), after(30*time.Second, drop()), created())
		result, err := pay(newClient(t, p, nil, &Options{Journal: s}))
		wantVerdict(t, contract.Rejected, result, err)
		dead := s.other()
		one := start(newClient(t, p, nil, &Options{Journal: dead, MaxAttempts: 1}), payment(context.Background()))
		c := newClient(t, p, nil, &Options{Journal: s})
		v, err := c.Learn(context.Background(), payKey, contract.Outcome{Status: contract.NotExecuted}, "hearsay")
		require.NoError(t, err)
		assert.Equal(t, contract.EffectMaybe, v.Effect())
		assert.False(t, s.entry(t).Settled)
		dead.mu.Lock()
		dead.fault = func(int, string) failure { return fails0 } // and the process dies
		dead.mu.Unlock()
		one.wait()
		time.Sleep(3 * time.Minute)
		result, err = pay(c)
		wantVerdict(t, contract.Succeeded, result, err)
		assert.Equal(t, 3, p.count())
	})
}

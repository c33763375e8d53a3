package retry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/internal/bubbletest"
	"github.com/idempact/idempact/journal"
)

// onStores plays on every store, in virtual time.
func onStores(t *testing.T, play func(t *testing.T, s *tapped)) {
	t.Helper()
	bubbletest.OnStores(t, func(t *testing.T, s journal.Store) {
		t.Cleanup(afterwards)
		play(t, &tapped{Store: s})
	})
}

var errDisk = errors.New("the disk is gone")

// tapped is a store that counts and may fail: fault is asked before every write and
// says what becomes of it.
type tapped struct {
	journal.Store
	mu     sync.Mutex
	writes []string
	fault  func(n int, method string) failure
}

type failure int

const (
	works  failure = iota
	fails0         // nothing is written
	loses          // it is written, and an error comes all the same
	// dies: nothing is written from now on, as by a process that ended.
	dies
)

func (s *tapped) write(method string, do func() error) error {
	s.mu.Lock()
	s.writes = append(s.writes, method)
	kind := works
	if s.fault != nil {
		kind = s.fault(len(s.writes), method)
	}
	if kind == dies {
		s.fault = func(int, string) failure { return fails0 }
		kind = fails0
	}
	s.mu.Unlock()
	switch kind {
	case fails0:
		return errDisk
	case loses:
		return errors.Join(do(), errDisk)
	default:
		return do()
	}
}

func (s *tapped) Begin(ctx context.Context, e journal.Entry) (stored journal.Entry, inserted bool, err error) {
	err = s.write("begin", func() error { stored, inserted, err = s.Store.Begin(ctx, e); return err })
	if err != nil {
		return journal.Entry{}, false, err
	}
	return stored, inserted, nil
}

func (s *tapped) Update(ctx context.Context, e journal.Entry) (stored journal.Entry, err error) {
	err = s.write("update", func() error { stored, err = s.Store.Update(ctx, e); return err })
	if errors.Is(err, journal.ErrConflict) {
		return journal.Entry{}, journal.ErrConflict
	}
	if err != nil {
		return journal.Entry{}, err
	}
	return stored, nil
}

func (s *tapped) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.writes)
}

// other is the same journal in another process.
func (s *tapped) other() *tapped { return &tapped{Store: s.Store} }

// entry returns the entry of the usual payment.
func (s *tapped) entry(t *testing.T) journal.Entry {
	t.Helper()
	e, err := s.Store.Get(context.Background(), journal.ID{Provider: "stub", Key: payKey})
	require.NoError(t, err)
	return e
}

// edit changes the entry of the usual payment behind everybody's back.
func (s *tapped) edit(t *testing.T, change func(*journal.Entry)) {
	t.Helper()
	e := s.entry(t)
	change(&e)
	_, err := s.Store.Update(context.Background(), e)
	require.NoError(t, err)
}

func signed(r *http.Request) error {
	r.Header.Set("Authorization", "Bearer sk_live_mended")
	return nil
}

// pay calls Do with the usual payment.
func pay(c *Client) (*Result, error) { return c.Do(payment(context.Background())) }

// bank is a provider with a memory: a payment for each key, which it answers with
// as often as it is asked. Faults are acts that come after the effect.
type bank struct {
	*provider
	mu     sync.Mutex
	paid   map[string]int // effects by key
	faults []act          // for the next sends, nil for none
}

func newBank(faults ...act) *bank {
	b := &bank{paid: map[string]int{}, faults: faults}
	b.provider = newProvider(b.answer)
	return b
}

func (b *bank) answer(conn net.Conn, r request) bool {
	if r.Method == http.MethodGet {
		return b.find(conn, r)
	}
	b.mu.Lock()
	key := r.Header.Get("Idempotency-Key")
	if b.paid[key] == 0 {
		b.paid[key] = 1
	}
	var fault act
	if len(b.faults) > 0 {
		fault, b.faults = b.faults[0], b.faults[1:]
	}
	b.mu.Unlock()
	if fault != nil {
		return fault(conn, r)
	}
	return created()(conn, r)
}

// find answers a look-up and a fetch.
func (b *bank) find(conn net.Conn, r request) bool {
	b.mu.Lock()
	found := `{"found":[]}`
	if len(b.paid) > 0 {
		found = `{"found":["pay_1"]}`
	}
	b.mu.Unlock()
	if r.URL.RawQuery == "" {
		found = `{"id":"pay_1","amount":100}`
	}
	return respond(200, found)(conn, r)
}

// sends returns the writes that arrived.
func (b *bank) sends() (all []request) {
	for _, r := range b.requests() {
		if r.Method == http.MethodPost {
			all = append(all, r)
		}
	}
	return all
}

// refused is a bank's gate: nothing is executed.
func (b *bank) refuse(answer act) act {
	return func(conn net.Conn, r request) bool {
		b.mu.Lock()
		delete(b.paid, r.Header.Get("Idempotency-Key"))
		b.mu.Unlock()
		return answer(conn, r)
	}
}

// TestTwoWrites: one durable write before the first send and one for the verdict;
// the first before any byte leaves, the second before the caller is told (I7).
func TestTwoWrites(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		b := newBank()
		var order []string
		s.fault = func(_ int, method string) failure {
			order = append(order, method)
			return works
		}
		b.faults = []act{func(conn net.Conn, r request) bool {
			e := s.entry(t)
			assert.False(t, e.Settled)
			assert.True(t, unknown(e.Verdict))
			assert.False(t, e.FirstSent.IsZero())
			assert.Equal(t, payBody, string(e.Request.Body))
			order = append(order, "wire")
			return created()(conn, r)
		}}
		c := newClient(t, b.provider, nil, &Options{Journal: s, Account: ""})
		result, err := c.Do(payment(contract.WithAction(context.Background(), "pay invoice 7")))
		wantVerdict(t, contract.Succeeded, result, err)
		assert.False(t, result.Recorded)
		assert.Equal(t, []string{"begin", "wire", "update"}, order)
		e := s.entry(t)
		assert.True(t, e.Settled)
		assert.Equal(t, "pay invoice 7", e.Action)
		assert.Equal(t, result.Verdict, e.Verdict)
		assert.Equal(t, 201, e.Response.StatusCode)
		assert.Empty(t, e.Lease.Holder)
		assert.WithinDuration(t, e.FirstSent.Add(24*time.Hour), e.Retain, 0)
	})
}

// TestBeginFails: without the write-ahead nothing leaves, and since an earlier
// process may have sent, nobody knows.
func TestBeginFails(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		b := newBank()
		s.fault = func(int, string) failure { return fails0 }
		c := newClient(t, b.provider, nil, &Options{Journal: s})
		result, err := pay(c)
		wantVerdict(t, contract.Unknown, result, err)
		assert.ErrorIs(t, err, errDisk)
		assert.Zero(t, result.Attempts)
		assert.False(t, result.AllowsNewKey())
		assert.Zero(t, b.count())
		resp, err := c.RoundTrip(payment(context.Background()))
		assert.Nil(t, resp)
		assert.ErrorIs(t, err, contract.Unknown)
		assert.Zero(t, b.count())
	})
}

// TestContextEndedBefore: without a look into the journal nothing is known of
// earlier processes either.
func TestContextEndedBefore(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		b := newBank()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		result, err := newClient(t, b.provider, nil, &Options{Journal: s}).Do(payment(ctx))
		wantVerdict(t, contract.Unknown, result, err)
		assert.ErrorIs(t, err, context.Canceled)
		assert.Zero(t, b.count())
	})
}

// TestRecorded: what is settled is told again without a send, at any age, answer
// included, in Do and in RoundTrip.
func TestRecorded(t *testing.T) {
	for name, tc := range map[string]struct {
		answers []act
		adapter contract.Adapter
		want    contract.Status
		showed  bool // an SDK sees the provider's own answer
	}{
		"succeeded":   {[]act{respond(201, `{"id":"pay_1","state":"pending"}`, "Request-Id: req_1", "Set-Cookie: s=1", "X-Kept: yes")}, nil, contract.Succeeded, true},
		"declined":    {[]act{respond(402, `{"code":"card_declined"}`, "X-Kept: yes")}, nil, contract.Declined, true},
		"resolved":    {[]act{duplicate, respond(200, `{"id":"pay_1","amount":100}`, "X-Kept: yes")}, able(&stub{}), contract.Succeeded, true},
		"another's":   {[]act{duplicate, respond(200, `{"id":"pay_1","amount":7}`)}, able(&stub{}), contract.KeyReused, false},
		"alarm":       {[]act{respond(410, `{}`), respond(200, `{"found":["pay_1","pay_2"]}`)}, able(&stub{}), contract.Duplicate, false},
		"never there": {[]act{respond(410, `{}`), respond(200, `{"found":[]}`)}, able(&stub{}), contract.NotExecuted, false},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, s *tapped) {
				p := newProvider(tc.answers...)
				first, err := pay(newClient(t, p, tc.adapter, &Options{Journal: s}))
				wantVerdict(t, tc.want, first, err)
				sent := p.count()
				if tc.want == contract.NotExecuted {
					return // it may run again: TestRunsAgain
				}
				time.Sleep(400 * 24 * time.Hour)
				c := newClient(t, p, tc.adapter, &Options{Journal: s.other()})
				again, err := pay(c)
				wantVerdict(t, tc.want, again, err)
				assert.True(t, again.Recorded)
				assert.Equal(t, len(first.Resources), len(again.Resources))
				first.Resources, again.Resources = nil, nil
				assert.Equal(t, first.Verdict, again.Verdict)
				resp, err := c.RoundTrip(payment(context.Background()))
				if !tc.showed {
					assert.ErrorIs(t, err, tc.want)
				} else if assert.NoError(t, err) {
					want, got := body(t, first.Response), body(t, again.Response)
					assert.Equal(t, want, got)
					assert.Equal(t, want, body(t, resp))
					assert.Equal(t, first.Response.StatusCode, resp.StatusCode)
					assert.Equal(t, "yes", resp.Header.Get("X-Kept"))
					assert.Empty(t, resp.Header.Get("Set-Cookie"))
				}
				assert.Equal(t, sent, p.count())
			})
		})
	}
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	require.NotNil(t, r)
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(b)
}

// TestRunsAgain: what proved to have done nothing is tried again when it is asked
// for again, under its key and within the provider's wait.
func TestRunsAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		first act
		want  contract.Status
		sleep time.Duration
		sends int // after the second call
		final contract.Status
		floor time.Duration // no second send before this
	}{
		"mended credentials": {respond(401, `{}`), contract.Rejected, time.Minute, 2, contract.Succeeded, 0},
		"throttle passed":    {respond(429, `{}`, "Retry-After: 600"), contract.NotExecuted, 11 * time.Minute, 2, contract.Succeeded, 0},
		"rest of a throttle": {respond(429, `{}`, "Retry-After: 600"), contract.NotExecuted, 590 * time.Second, 2, contract.Succeeded, 10 * time.Second},
		"throttle not past":  {respond(429, `{}`, "Retry-After: 600"), contract.NotExecuted, time.Minute, 1, contract.NotExecuted, 0},
		// Nothing was ever done, so that the forgotten key is as good as a new one.
		"a day later":              {respond(429, `{}`, "Retry-After: 600"), contract.NotExecuted, 25 * time.Hour, 2, contract.Succeeded, 0},
		"another's key":            {respond(412, `{}`), contract.KeyReused, time.Minute, 2, contract.Succeeded, 0},
		"another's key, forgotten": {respond(412, `{}`), contract.KeyReused, 25 * time.Hour, 1, contract.KeyReused, 0},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, s *tapped) {
				p := newProvider(tc.first, created())
				result, err := pay(newClient(t, p, nil, &Options{Journal: s}))
				wantVerdict(t, tc.want, result, err)
				assert.True(t, s.entry(t).Settled)
				first := s.entry(t).FirstSent
				time.Sleep(tc.sleep)
				now := time.Now()
				result, err = pay(newClient(t, p, nil, &Options{Journal: s.other()}))
				wantVerdict(t, tc.final, result, err)
				require.Equal(t, tc.sends, p.count())
				if tc.sends == 2 {
					assert.Equal(t, 2, result.Attempts)
					assert.WithinDuration(t, now.Add(tc.floor), p.requests()[1].At, 0)
				}
				if tc.sleep > 24*time.Hour && tc.sends == 2 {
					first = now
				}
				assert.WithinDuration(t, first, s.entry(t).FirstSent, time.Microsecond)
				if tc.want == contract.NotExecuted && tc.final == contract.NotExecuted {
					assert.Equal(t, 9*time.Minute, result.RetryAfter)
				}
			})
		})
	}
}

// TestRefusedMeanwhile: a refusal after a lost answer leaves the doubt, and the next
// call sends again: the credentials may be mended, and the key is young.
func TestRefusedMeanwhile(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		p := newProvider(drop(), respond(401, `{}`), respond(401, `{}`), created())
		for _, sends := range []int{2, 3} {
			result, err := pay(newClient(t, p, nil, &Options{Journal: s}))
			wantVerdict(t, contract.Unknown, result, err)
			require.Equal(t, sends, p.count(), "one send a call can be refused")
			time.Sleep(time.Minute)
		}
		result, err := pay(newClient(t, p, nil, &Options{Journal: s.other()}))
		wantVerdict(t, contract.Succeeded, result, err)
		assert.Equal(t, 4, p.count())
	})
}

// TestUnrecordedWait: the wait that the provider asked for is told, if it cannot be
// recorded.
func TestUnrecordedWait(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		s.fault = func(n int, _ string) failure {
			if n > 1 {
				return fails0
			}
			return works
		}
		p := newProvider(respond(429, `{}`, "Retry-After: 600"))
		result, err := pay(newClient(t, p, nil, &Options{Journal: s}))
		wantVerdict(t, contract.Unknown, result, err)
		assert.Equal(t, 10*time.Minute, result.RetryAfter)
	})
}

// TestCrash: a process ends at each boundary, and another one finishes what it
// began, with the same bytes: one payment, and the truth.
func TestCrash(t *testing.T) {
	lost := func(b *bank) act { return drop() }
	for name, tc := range map[string]struct {
		transport http.RoundTripper // of the process that dies
		fault     func(*bank) act   // what becomes of its send
		first     contract.Status
		sends     int // of both processes
	}{
		"after the write-ahead": {fails{&net.OpError{Op: "dial", Err: errors.New("refused")}}, nil, contract.Unknown, 1},
		"after the send":        {nil, lost, contract.Unknown, 2},
		"after the answer":      {nil, nil, contract.Unknown, 2},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, s *tapped) {
				b := newBank()
				if tc.fault != nil {
					b.faults = []act{tc.fault(b)}
				}
				s.fault = func(n int, _ string) failure {
					if n > 1 {
						return dies
					}
					return works
				}
				c := newClient(t, b.provider, nil, &Options{Journal: s, Transport: tc.transport, MaxAttempts: 1})
				result, err := pay(c)
				wantVerdict(t, contract.Unknown, result, err)
				var unrecorded *UnrecordedError
				require.ErrorAs(t, err, &unrecorded)
				assert.ErrorIs(t, err, errDisk)

				e := s.entry(t)
				assert.True(t, unknown(e.Verdict))
				assert.False(t, e.Lease.Free(time.Now()))
				assert.Equal(t, e.Lease.Until, e.Due)
				assert.LessOrEqual(t, e.Lease.Until.Sub(e.FirstSent), 2*time.Minute)

				// The lease of the dead ends within two minutes.
				other := s.other()
				before := time.Now()
				c = newClient(t, b.provider, nil, &Options{Journal: other, MaxElapsed: 5 * time.Minute})
				again, err := c.Do(post(contract.WithKey(context.Background(), payKey), `{"card":"4242424242424242", "amount":100}`))
				wantVerdict(t, contract.Succeeded, again, err)
				assert.LessOrEqual(t, time.Since(before), 2*time.Minute)
				sends := b.sends()
				require.Len(t, sends, tc.sends)
				for _, r := range sends {
					assert.Equal(t, payBody, string(r.Body), "the stored bytes, not those of another spelling")
					assert.Equal(t, payKey, r.Header.Get("Idempotency-Key"))
					assert.Equal(t, "Bearer sk_live_secret", r.Header.Get("Authorization"))
				}
				assert.Equal(t, e.FirstSent, s.entry(t).FirstSent)
				assert.Equal(t, map[string]int{payKey: 1}, b.paid)
			})
		})
	}
}

// TestUnrecorded: a verdict that the journal does not take is no verdict, but it is
// not lost either.
func TestUnrecorded(t *testing.T) {
	for want, answer := range map[contract.Status]act{
		contract.Succeeded: created(), contract.Declined: respond(402, `{}`), contract.Rejected: respond(401, `{}`),
	} {
		t.Run(want.String(), func(t *testing.T) {
			onStores(t, func(t *testing.T, s *tapped) {
				p := newProvider(answer)
				s.fault = func(n int, _ string) failure {
					if n%9 == 1 {
						return works
					}
					return fails0
				}
				c := newClient(t, p, nil, &Options{Journal: s})
				result, err := pay(c)
				wantVerdict(t, contract.Unknown, result, err)
				assert.NotErrorIs(t, err, want)
				assert.False(t, result.AllowsNewKey())
				assert.Equal(t, 1, result.Attempts)
				var unrecorded *UnrecordedError
				require.ErrorAs(t, err, &unrecorded)
				assert.Equal(t, want, unrecorded.Verdict.Status)
				assert.ErrorIs(t, unrecorded, errDisk)
				assert.Equal(t, contract.Unknown, OutcomeOf(fmt.Errorf("wrapped: %w", err)).Status)
				time.Sleep(3 * time.Minute)
				resp, err := c.RoundTrip(payment(context.Background()))
				assert.Nil(t, resp)
				assert.ErrorIs(t, err, contract.Unknown)
			})
		})
	}
}

// TestJournalFaults: every write of the journal fails once in every way, and what
// the caller is told stays the truth; the next call finishes it.
func TestJournalFaults(t *testing.T) {
	for _, kind := range []failure{fails0, loses, dies} {
		for n := 1; n <= 4; n++ {
			t.Run(fmt.Sprintf("%d at write %d", kind, n), func(t *testing.T) {
				onStores(t, func(t *testing.T, s *tapped) {
					b := newBank(drop(), nil, nil)
					s.fault = func(write int, _ string) failure {
						if write == n {
							return kind
						}
						return works
					}
					// Two attempts, and a renewal of the lease between them.
					c := newClient(t, b.provider, nil, &Options{Journal: s, MinWait: 100 * time.Second, MaxWait: 100 * time.Second})
					result, err := c.Do(payment(context.Background()))
					// What fails once is tried again; what only seems to have failed is
					// found; but a lease that may be lost ends the run.
					told := n == 4 || n == 3 && kind != dies || n == 1 && kind == loses
					assert.Equal(t, told, err == nil, "%v", err)
					if err == nil {
						assert.True(t, s.entry(t).Settled, "success is never unrecorded")
						assert.Equal(t, contract.Succeeded, s.entry(t).Verdict.Status)
					} else {
						assert.Contains(t, []contract.Status{contract.Unknown, contract.InProgress}, result.Status, "%v", err)
					}
					time.Sleep(3 * time.Minute)
					again, err := pay(newClient(t, b.provider, nil, &Options{Journal: s.other()}))
					wantVerdict(t, contract.Succeeded, again, err)
					assert.Equal(t, map[string]int{payKey: 1}, b.paid)
					assert.True(t, s.entry(t).Settled)
				})
			})
		}
	}
}

// TestOtherWasFirst: a write-ahead that fails is read again; the entry that is there may
// be somebody else's.
func TestOtherWasFirst(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		p := newProvider(after(20*time.Second, created()), created())
		one := start(newClient(t, p, nil, &Options{Journal: s}), payment(context.Background()))
		time.Sleep(10 * time.Second)
		other := s.other()
		other.fault = func(int, string) failure { return fails0 }
		result, err := pay(newClient(t, p, nil, &Options{Journal: other, ReturnInProgress: true}))
		wantVerdict(t, contract.InProgress, result, err)
		wantVerdict(t, contract.Succeeded, one.wait().result, one.err)
		assert.Equal(t, 1, p.count())
	})
}

// TestTakenMeanwhile: and so may the lease be that could not be taken.
func TestTakenMeanwhile(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		p := newProvider(drop(), created())
		left(t, s, p, payKey)
		time.Sleep(3 * time.Minute)
		other := s.other()
		other.fault = func(n int, _ string) failure {
			if n > 1 {
				return works
			}
			s.edit(t, func(e *journal.Entry) {
				e.Lease = journal.Lease{Holder: "another", Until: time.Now().Add(2 * time.Minute)}
			})
			return fails0
		}
		report := sweep(t, newClient(t, p, nil, &Options{Journal: other, Authorize: signed}), SweepOptions{})
		assert.Equal(t, 1, report.Open)
		assert.Equal(t, "another", s.entry(t).Lease.Holder)
		assert.Equal(t, 1, p.count())
	})
}

// TestBodysEncoding: the stored bytes are sent with what says how to read them.
func TestBodysEncoding(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := &tapped{Store: journal.NewMemory()}
		b := newBank(drop(), drop())
		dead := s.other()
		dead.fault = func(n int, _ string) failure {
			if n > 1 {
				return dies
			}
			return works
		}
		r := payment(context.Background())
		r.Header.Set("Content-Encoding", "gzip")
		_, err := newClient(t, b.provider, nil, &Options{Journal: dead, MaxAttempts: 1}).Do(r)
		require.ErrorIs(t, err, contract.Unknown)
		time.Sleep(3 * time.Minute)
		assert.Equal(t, 1, sweep(t, newClient(t, b.provider, nil, &Options{Journal: s, Authorize: signed}), SweepOptions{}).Settled)
		for _, r := range b.sends() {
			assert.Equal(t, "gzip", r.Header.Get("Content-Encoding"))
		}
	})
}

// TestBanOutlivesLaterEvidence: the provider said that sending again cannot help, and what
// is heard of the operation since takes nothing back.
func TestBanOutlivesLaterEvidence(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		p := newProvider(respond(500, `{}`, "Should-Retry: false"), created())
		c := newClient(t, p, nil, &Options{Journal: s})
		result, err := pay(c)
		wantVerdict(t, contract.Unknown, result, err)
		_, err = c.Learn(context.Background(), payKey, contract.Outcome{Status: contract.InProgress}, "Ann")
		require.NoError(t, err)
		result, err = pay(c)
		wantVerdict(t, contract.Unknown, result, err)
		assert.Equal(t, 1, p.count())
	})
}

// TestWaitByAnotherClock: a host whose clock is ahead makes no wait longer.
func TestWaitByAnotherClock(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		p := newProvider(respond(429, `{}`, "Retry-After: 20"), created())
		result, err := pay(newClient(t, p, nil, &Options{Journal: s, MaxAttempts: 1}))
		wantVerdict(t, contract.NotExecuted, result, err)
		s.edit(t, func(e *journal.Entry) { e.Updated = time.Now().Add(time.Hour) })
		before := time.Now()
		result, err = pay(newClient(t, p, nil, &Options{Journal: s}))
		wantVerdict(t, contract.Succeeded, result, err)
		assert.Equal(t, 20*time.Second, time.Since(before))
	})
}

// TestAlarmIsConfirmed: an alarm that is folded into what another wrote is still known to
// hold a success, which no comparison takes away.
func TestAlarmIsConfirmed(t *testing.T) {
	fold := func(refs ...string) (v contract.Verdict) {
		for _, ref := range refs {
			v = contract.Fold(v, contract.Outcome{Status: contract.Succeeded, Resource: ref})
		}
		return v
	}
	doubt := contract.Fold(contract.Verdict{}, contract.Outcome{Reason: "no answer"})
	v := combined(doubt, fold("pay_1", "pay_2"))
	assert.True(t, v.Confirmed)
	assert.Equal(t, contract.Duplicate, v.Status)
	assert.ElementsMatch(t, []string{"pay_1", "pay_2"}, v.Resources)
}

// TestLeaseTakenUnseen: a lease that was taken, though an error came of it, is ours.
func TestLeaseTakenUnseen(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		b := newBank(drop())
		left(t, s, b.provider, payKey)
		time.Sleep(3 * time.Minute)
		s.fault = func(n int, _ string) failure {
			if n == 2 {
				return loses
			}
			return works
		}
		result, err := pay(newClient(t, b.provider, nil, &Options{Journal: s}))
		wantVerdict(t, contract.Succeeded, result, err)
		assert.Len(t, b.sends(), 2)
	})
}

// TestLeaseLostBeforeSending: Authorize took so long that another has the operation.
func TestLeaseLostBeforeSending(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		p := newProvider(created())
		c := newClient(t, p, nil, &Options{Journal: s, Authorize: func(*http.Request) error {
			time.Sleep(time.Minute)
			return nil
		}})
		one := start(c, payment(context.Background()))
		time.Sleep(30 * time.Second)
		s.edit(t, func(e *journal.Entry) {
			e.Lease, e.Verdict = journal.Lease{Holder: "another", Until: time.Now().Add(2 * time.Minute)}, doubted(*e)
		})
		now := time.Now()
		wantVerdict(t, contract.Unknown, one.wait().result, one.err)
		assert.Equal(t, 30*time.Second, one.at.Sub(now), "no more attempts")
		assert.Zero(t, p.count())
		assert.Equal(t, 1, one.result.Attempts, "the one that the other's doubt stands for")
		assert.Equal(t, "another", s.entry(t).Lease.Holder)
	})
}

// TestAnswerOfTheVerdict: who lost the lease, and was answered otherwise, is given the
// answer that shows what the other one found out.
func TestAnswerOfTheVerdict(t *testing.T) {
	for name, tc := range map[string]struct {
		ours, theirs act
		want         int
	}{
		"a success": {respond(423, `{}`), created(), 201},
		"a decline": {respond(423, `{}`), respond(402, `{}`), 402},
		"late":      {created(), respond(423, `{}`), 201},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, s *tapped) {
				p := newProvider(after(30*time.Second, tc.ours), tc.theirs)
				c := newClient(t, p, nil, &Options{Journal: s, MaxAttempts: 1})
				one := start(c, payment(context.Background()))
				time.Sleep(10 * time.Second)
				s.edit(t, func(e *journal.Entry) { e.Lease.Until = time.Now() })
				_, _ = pay(newClient(t, p, nil, &Options{Journal: s.other(), MaxAttempts: 1}))
				one.wait()
				require.NotNil(t, one.result.Response)
				assert.Equal(t, tc.want, one.result.Response.StatusCode)
				assert.Equal(t, tc.want, s.entry(t).Response.StatusCode)
				resp, err := c.RoundTrip(payment(context.Background()))
				require.NoError(t, err)
				assert.Equal(t, tc.want, resp.StatusCode)
				assert.Equal(t, 2, p.count())
			})
		})
	}
}

// TestFetchedForAnSDK: a success without an answer is fetched, and what is fetched is
// compared: an adapter that cannot tell shows nothing.
func TestFetchedForAnSDK(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := &tapped{Store: journal.NewMemory()}
		b := newBank(drop())
		left(t, s, b.provider, payKey)
		silent := resolving{stub: &stub{}, compare: func(_ contract.Call, o contract.Outcome, _ contract.Reply) contract.Outcome { return o }}
		_, err := newClient(t, b.provider, nil, &Options{Journal: s}).Learn(context.Background(), payKey, seen, "event evt_1")
		require.NoError(t, err)
		resp, err := newClient(t, b.provider, silent, &Options{Journal: s}).RoundTrip(payment(context.Background()))
		assert.Nil(t, resp)
		assert.ErrorIs(t, err, contract.Succeeded)
		resp, err = newClient(t, b.provider, able(&stub{}), &Options{Journal: s}).RoundTrip(payment(context.Background()))
		require.NoError(t, err)
		assert.JSONEq(t, `{"id":"pay_1","amount":100}`, body(t, resp))
		assert.Len(t, b.sends(), 1)
	})
}

// TestDayLater: an outage, and a job that comes again after 25 hours. The provider
// has forgotten the key: it is looked up, and not sent.
func TestDayLater(t *testing.T) {
	for name, tc := range map[string]struct {
		adapter func() contract.Adapter
		paid    bool
		want    contract.Status
	}{
		"it was paid":           {func() contract.Adapter { return able(&stub{}) }, true, contract.Succeeded},
		"it was not":            {func() contract.Adapter { return able(&stub{}) }, false, contract.NotExecuted},
		"nobody can look it up": {func() contract.Adapter { return &stub{} }, true, contract.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, s *tapped) {
				b := newBank()
				lost := b.refuse(drop())
				if tc.paid {
					lost = drop()
				}
				b.faults = []act{lost, lost, lost, lost, lost}
				// It cannot be looked up during the outage.
				result, err := pay(newClient(t, b.provider, &stub{}, &Options{Journal: s}))
				wantVerdict(t, contract.Unknown, result, err)
				require.Len(t, b.sends(), 5)
				time.Sleep(25 * time.Hour)
				result, err = pay(newClient(t, b.provider, tc.adapter(), &Options{Journal: s.other()}))
				wantVerdict(t, tc.want, result, err)
				assert.False(t, result.Recorded)
				assert.Len(t, b.sends(), 5, "nothing is sent under a key that is forgotten")
				assert.Equal(t, tc.want != contract.Unknown, s.entry(t).Settled)
			})
		})
	}
}

// TestDrift: clocks that are known to differ make the key older.
func TestDrift(t *testing.T) {
	date := func(off time.Duration) act {
		return func(conn net.Conn, r request) bool {
			return respond(500, `{}`, "Date: "+time.Now().Add(off).UTC().Format(http.TimeFormat))(conn, r)
		}
	}
	for name, tc := range map[string]struct {
		off   time.Duration
		later bool // the entry was written by a host whose clock is ahead
		sends int  // in all
		skew  time.Duration
	}{
		"same clocks":           {0, false, 2, 0},
		"a second apart":        {time.Second, false, 2, 0},
		"theirs is ahead":       {12 * time.Hour, false, 1, 12 * time.Hour},
		"theirs is behind":      {-12 * time.Hour, false, 1, 12 * time.Hour},
		"another host is ahead": {0, true, 1, 12 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, s *tapped) {
				time.Sleep(time.Second - time.Duration(time.Now().Nanosecond()))
				b := newBank(date(tc.off))
				result, err := pay(newClient(t, b.provider, nil, &Options{Journal: s, MaxAttempts: 1}))
				wantVerdict(t, contract.Unknown, result, err)
				time.Sleep(12 * time.Hour) // within 23 hours, but not less 12
				if tc.later {
					s.edit(t, func(e *journal.Entry) { e.Updated = time.Now().Add(12 * time.Hour) })
				}
				result, err = pay(newClient(t, b.provider, able(&stub{}), &Options{Journal: s.other()}))
				wantVerdict(t, contract.Succeeded, result, err)
				assert.Len(t, b.sends(), tc.sends)
				assert.InDelta(t, tc.skew, s.entry(t).Skew, float64(2*time.Second))
			})
		})
	}
}

// TestDriftAndAbsence: a look-up that starts at the first send, by a clock that is ahead,
// does not see what was made before; so it does not allow a new key.
func TestDriftAndAbsence(t *testing.T) {
	for off, want := range map[time.Duration]contract.Status{
		0: contract.NotExecuted, 59 * time.Minute: contract.NotExecuted,
		3 * time.Hour: contract.Unknown, -3 * time.Hour: contract.Unknown,
	} {
		for _, remembers := range []bool{true, false} {
			virtual(t, func(t *testing.T) {
				date := "Date: " + time.Now().Add(off).UTC().Format(http.TimeFormat)
				p := newProvider(drop(), respond(200, `{"found":[]}`, date))
				o := &Options{MaxAttempts: 1}
				if remembers {
					o.Journal = journal.NewMemory()
				}
				result, err := pay(newClient(t, p, able(&stub{}), o))
				wantVerdict(t, want, result, err)
				assert.Equal(t, want == contract.NotExecuted, result.AllowsNewKey())
				if remembers && want == contract.Unknown {
					// What was seen once is not forgotten, also where nothing shows it again.
					result, err = pay(newClient(t, newProvider(drop(), respond(200, `{"found":[]}`)), able(&stub{}), o))
					wantVerdict(t, contract.Unknown, result, err)
				}
			})
		}
	}
}

// TestTwoWorkers: two processes are given one operation. One sends, the other waits
// for it, however they interleave.
func TestTwoWorkers(t *testing.T) {
	for name, tc := range map[string]struct {
		answers []act
		want    contract.Status
		sends   int
	}{
		"one works":           {[]act{after(3*time.Second, created())}, contract.Succeeded, 1},
		"one is declined":     {[]act{after(3*time.Second, respond(402, `{}`))}, contract.Declined, 1},
		"one works at length": {[]act{after(70*time.Second, drop()), after(70*time.Second, created())}, contract.Succeeded, 2},
		"one leaves a doubt":  {[]act{drop(), drop(), drop(), drop(), drop(), created()}, contract.Succeeded, 6},
		"one does nothing":    {[]act{after(time.Second, respond(401, `{}`)), created()}, contract.Succeeded, 2},
	} {
		t.Run(name, func(t *testing.T) {
			for _, late := range []time.Duration{0, time.Millisecond, time.Second} {
				onStores(t, func(t *testing.T, s *tapped) {
					p := newProvider(tc.answers...)
					a := newClient(t, p, nil, &Options{Journal: s})
					b := newClient(t, p, nil, &Options{Journal: s.other(), MaxElapsed: 10 * time.Minute})
					one := start(a, payment(context.Background()))
					time.Sleep(late)
					two := start(b, payment(context.Background()))
					one.wait()
					wantVerdict(t, tc.want, two.wait().result, two.err)
					assert.Equal(t, tc.sends, p.count())
				})
			}
		})
	}
}

// TestInProgress: who does not wait, or no longer, is told when to come again.
func TestInProgress(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		p := newProvider(after(time.Minute, created()))
		one := start(newClient(t, p, nil, &Options{Journal: s}), payment(context.Background()))
		time.Sleep(time.Second)

		began := time.Now()
		result, err := pay(newClient(t, p, nil, &Options{Journal: s, ReturnInProgress: true}))
		wantVerdict(t, contract.InProgress, result, err)
		assert.Zero(t, time.Since(began))
		assert.Zero(t, result.Attempts)
		assert.InDelta(t, 119*time.Second, result.RetryAfter, float64(time.Second))

		result, err = pay(newClient(t, p, nil, &Options{Journal: s, MaxElapsed: 5 * time.Second}))
		wantVerdict(t, contract.InProgress, result, err)
		assert.LessOrEqual(t, time.Since(began), 5*time.Second)

		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		result, err = newClient(t, p, nil, &Options{Journal: s}).Do(payment(ctx))
		wantVerdict(t, contract.InProgress, result, err)
		assert.ErrorIs(t, err, context.DeadlineExceeded)

		wantVerdict(t, contract.Succeeded, one.wait().result, one.err)
		assert.Equal(t, 1, p.count())
	})
}

// TestManyWorkers: 50 workers of 5 processes race on 10 operations.
func TestManyWorkers(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		b := newBank()
		for range 5 {
			b.faults = append(b.faults, drop(), respond(500, `{}`), nil, after(time.Second, drop()))
		}
		var clients []*Client
		for range 5 {
			clients = append(clients, newClient(t, b.provider, nil, &Options{Journal: s, MaxElapsed: 10 * time.Minute}))
		}
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				ctx := contract.WithKey(context.Background(), fmt.Sprintf("op-%d", i%10))
				result, err := clients[i/10].Do(post(ctx, payBody))
				wantVerdict(t, contract.Succeeded, result, err)
			})
		}
		all.Wait()
		assert.Len(t, b.paid, 10)
		running := map[string]bool{} // no second send while one is under way: each key's come one by one
		for _, r := range b.sends() {
			running[r.Header.Get("Idempotency-Key")] = true
		}
		assert.Len(t, running, 10)
		assert.LessOrEqual(t, len(b.sends()), 10+20)
	})
}

// TestLeaseLost: a holder whose lease has passed to another sends nothing more, and
// what it learns late is folded in: an effect always, anything weaker never.
func TestLeaseLost(t *testing.T) {
	takeOver := func(e *journal.Entry) {
		e.Lease = journal.Lease{Holder: "another", Until: time.Now().Add(2 * time.Minute)}
		e.Verdict = doubted(*e)
	}
	for name, tc := range map[string]struct {
		answers []act
		seize   func(*journal.Entry)
		want    contract.Status // that the holder tells
		stored  contract.Status
		settled bool
		sends   int
	}{
		"success is recorded":          {[]act{after(time.Minute, created())}, takeOver, contract.Succeeded, contract.Succeeded, true, 1},
		"a decline is":                 {[]act{after(time.Minute, respond(402, `{}`))}, takeOver, contract.Declined, contract.Declined, true, 1},
		"nothing is not":               {[]act{after(time.Minute, respond(401, `{}`))}, takeOver, contract.Unknown, contract.Unknown, false, 1},
		"an absence found late is not": {[]act{respond(410, `{}`), after(time.Minute, respond(200, `{"found":[]}`))}, takeOver, contract.Unknown, contract.Unknown, false, 1},
		"an alarm is recorded":         {[]act{respond(410, `{}`), after(time.Minute, respond(200, `{"found":["pay_1","pay_2"]}`))}, takeOver, contract.Duplicate, contract.Duplicate, true, 1},
		"nothing, and another tries again": {[]act{after(time.Minute, respond(401, `{}`))}, func(e *journal.Entry) {
			e.Lease = journal.Lease{Holder: "another", Until: time.Now().Add(2 * time.Minute)}
			e.Verdict = contract.Fold(doubted(*e), contract.Outcome{Status: contract.NotExecuted, Source: contract.FromLookUp})
		}, contract.InProgress, contract.NotExecuted, false, 1},
		"a throttle ends the run": {[]act{after(79*time.Second, respond(429, `{}`)), created()}, takeOver, contract.Unknown, contract.Unknown, false, 1},
		"a doubt ends the run":    {[]act{after(79*time.Second, drop()), created()}, takeOver, contract.Unknown, contract.Unknown, false, 1},
		"a doubt after a decline": {[]act{after(79*time.Second, drop()), created()}, func(e *journal.Entry) {
			e.Lease, e.Settled = journal.Lease{}, true
			e.Verdict = contract.Fold(doubted(*e), contract.Outcome{Status: contract.Declined})
		}, contract.Declined, contract.Declined, true, 1},
		"a doubt after an absence": {[]act{after(79*time.Second, drop()), created()}, func(e *journal.Entry) {
			e.Lease, e.Settled = journal.Lease{}, true
			e.Verdict = contract.Fold(doubted(*e), contract.Outcome{Status: contract.NotExecuted, Source: contract.FromLookUp})
		}, contract.Unknown, contract.NotExecuted, true, 1},
		"a late doubt opens an absence": {[]act{after(79*time.Second, respond(500, `{}`, "Should-Retry: false"))}, func(e *journal.Entry) {
			e.Lease, e.Settled = journal.Lease{}, true
			e.Verdict = contract.Fold(doubted(*e), contract.Outcome{Status: contract.NotExecuted, Source: contract.FromLookUp})
		}, contract.Unknown, contract.Unknown, false, 1},
		"another effect is the alarm": {[]act{after(time.Minute, created())}, func(e *journal.Entry) {
			e.Lease, e.Settled = journal.Lease{}, true
			e.Verdict = contract.Fold(doubted(*e), contract.Outcome{Status: contract.Succeeded, Resource: "pay_2"})
		}, contract.Duplicate, contract.Duplicate, true, 1},
		"the same effect": {[]act{after(time.Minute, created())}, func(e *journal.Entry) {
			e.Lease, e.Settled = journal.Lease{}, true
			e.Verdict = contract.Fold(doubted(*e), contract.Outcome{Status: contract.Succeeded, Resource: "pay_1"})
		}, contract.Succeeded, contract.Succeeded, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, s *tapped) {
				p := newProvider(tc.answers...)
				c := newClient(t, p, finding{stub: &stub{}}, &Options{Journal: s})
				one := start(c, payment(context.Background()))
				time.Sleep(30 * time.Second)
				s.edit(t, tc.seize)
				wantVerdict(t, tc.want, one.wait().result, one.err)
				sends := 0
				for _, r := range p.requests() {
					if r.Method == http.MethodPost {
						sends++
					}
				}
				assert.Equal(t, tc.sends, sends)
				e := s.entry(t)
				assert.Equal(t, tc.stored, e.Verdict.Status)
				assert.Equal(t, tc.settled, e.Settled)
				assert.False(t, tc.want != contract.Declined && one.result.AllowsNewKey())
				if tc.want == contract.Succeeded && tc.stored == contract.Succeeded && name == "success is recorded" {
					assert.Equal(t, 201, e.Response.StatusCode)
					assert.Equal(t, "another", e.Lease.Holder, "the lease stays with who has it")
				}
			})
		})
	}
}

// TestLeaseRenewed: a lease covers every attempt, and no other process starts one.
func TestLeaseRenewed(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		covered := func(next act) act {
			return func(conn net.Conn, r request) bool {
				assert.GreaterOrEqual(t, time.Until(s.entry(t).Lease.Until), 90*time.Second)
				// What is known goes with it, in case that the process ends now.
				assert.Equal(t, s.count()-1, s.entry(t).Verdict.Attempts)
				return next(conn, r)
			}
		}
		p := newProvider(covered(after(70*time.Second, drop())), covered(after(40*time.Second, drop())), covered(created()))
		result, err := pay(newClient(t, p, nil, &Options{Journal: s, MaxElapsed: time.Hour}))
		wantVerdict(t, contract.Succeeded, result, err)
		assert.Equal(t, 3, p.count())
		assert.Equal(t, []string{"begin", "update", "update", "update"}, s.writes)
	})
}

// TestOtherRequest: a key that the journal holds for another request. Nothing of the
// new one is sent, and what became of the original is told, and found out.
func TestOtherRequest(t *testing.T) {
	other := func() *http.Request {
		r := post(contract.WithKey(context.Background(), payKey), `{"amount":7}`)
		r.Header.Set("Authorization", "Bearer sk_live_other")
		return r
	}
	for name, tc := range map[string]struct {
		first    []act
		sleep    time.Duration
		original contract.Status
		sends    int
	}{
		"settled":               {[]act{nil}, 0, contract.Succeeded, 1},
		"open, resumed":         {[]act{drop()}, time.Minute, contract.Succeeded, 2},
		"open, resumed in vain": {[]act{drop(), drop()}, time.Minute, contract.Unknown, 2},
		"open, and too old":     {[]act{drop()}, 25 * time.Hour, contract.Unknown, 1},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, s *tapped) {
				b := newBank(tc.first...)
				_, _ = pay(newClient(t, b.provider, nil, &Options{Journal: s, MaxAttempts: 1}))
				time.Sleep(tc.sleep)
				c := newClient(t, b.provider, nil, &Options{Journal: s.other(), MaxAttempts: 1})
				result, err := c.Do(other())
				wantVerdict(t, contract.KeyReused, result, err)
				assert.Zero(t, result.Attempts)
				assert.False(t, result.AllowsNewKey())
				var e *Error
				require.ErrorAs(t, err, &e)
				require.NotNil(t, e.Original)
				assert.Equal(t, tc.original, e.Original.Status)
				resp, err := c.RoundTrip(other())
				assert.Nil(t, resp)
				assert.ErrorIs(t, err, contract.KeyReused)
				for i, r := range b.sends() {
					assert.Equal(t, payBody, string(r.Body))
					if i > 0 {
						assert.Equal(t, "Bearer sk_live_other", r.Header.Get("Authorization"), "credentials of the request at hand")
					}
				}
				if tc.original == contract.Succeeded {
					assert.Len(t, b.sends(), tc.sends)
				}
				assert.Equal(t, map[string]int{payKey: 1}, b.paid)
			})
		})
	}
}

// TestOtherRequestMeanwhile: the rightful caller is not refused for a wrong one that
// comes at the same time.
func TestOtherRequestMeanwhile(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := &tapped{Store: journal.NewMemory()}
		p := newProvider(after(10*time.Second, created()))
		c := newClient(t, p, nil, &Options{Journal: s})
		one := start(c, payment(context.Background()))
		result, err := c.Do(post(contract.WithKey(context.Background(), payKey), `{"amount":7}`))
		wantVerdict(t, contract.KeyReused, result, err)
		var e *Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, contract.EffectMaybe, e.Original.Effect())
		two := start(c, payment(context.Background()))
		wantVerdict(t, contract.Succeeded, one.wait().result, one.err)
		wantVerdict(t, contract.Succeeded, two.wait().result, two.err)
		assert.Equal(t, 1, p.count())
	})
}

// TestKeyless: an operation without a key is written down too, and never sent again
// once it may have arrived, in no process.
func TestKeyless(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		p := newProvider(drop(), respond(200, `{"found":[]}`))
		a := able(&stub{terms: keyless})
		noFind := finding{&stub{terms: keyless}, func(context.Context, contract.Call, contract.Finding, *contract.Reply) (*http.Request, contract.Finding, error) {
			return nil, contract.Finding{}, nil
		}}
		s.fault = func(n int, _ string) failure {
			if n > 1 {
				return dies
			}
			return works
		}
		_, err := newClient(t, p, noFind, &Options{Journal: s}).Do(post(context.Background(), payBody))
		assert.ErrorIs(t, err, contract.Unknown)
		assert.Equal(t, 1, p.count())
		time.Sleep(3 * time.Minute)

		report, err := newClient(t, p, noFind, &Options{Journal: s.other(), Authorize: signed}).Sweep(context.Background(), SweepOptions{})
		require.NoError(t, err)
		assert.Equal(t, 1, report.Open)
		assert.Contains(t, report.Operations[0].Reason, "honours no key")
		assert.Equal(t, 1, p.count())

		time.Sleep(6 * time.Minute)
		report, err = newClient(t, p, a, &Options{Journal: s.other(), Authorize: signed}).Sweep(context.Background(), SweepOptions{})
		require.NoError(t, err)
		require.Equal(t, 1, report.Settled)
		assert.Equal(t, contract.NotExecuted, report.Operations[0].Verdict.Status)
		for _, r := range p.requests()[1:] {
			assert.Equal(t, http.MethodGet, r.Method)
		}
	})
}

// TestKeylessName: where the endpoint honours no key, WithKey names the operation in
// the journal all the same.
func TestKeylessName(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		p := newProvider(drop())
		a := &stub{terms: keyless}
		result, err := pay(newClient(t, p, a, &Options{Journal: s}))
		wantVerdict(t, contract.Unknown, result, err)
		result, err = pay(newClient(t, p, a, &Options{Journal: s}))
		wantVerdict(t, contract.Unknown, result, err)
		assert.Equal(t, 1, p.count())
		// And a person who knows lets nobody send it again either.
		c := newClient(t, p, a, &Options{Journal: s})
		_, err = c.Learn(context.Background(), payKey, contract.Outcome{Status: contract.NotExecuted}, "Ann")
		require.NoError(t, err)
		result, err = pay(c)
		wantVerdict(t, contract.Unknown, result, err)
		assert.Equal(t, 1, p.count())
	})
}

// TestSpaces: one key in two spaces is two operations.
func TestSpaces(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := journal.NewMemory()
		b := newBank()
		c := newClient(t, b.provider, nil, &Options{Journal: s})
		for _, account := range []string{"", "acct_1", "acct_2"} {
			r := payment(context.Background())
			if account != "" {
				r.Header.Set("X-Account", account)
			}
			result, err := c.Do(r)
			wantVerdict(t, contract.Succeeded, result, err)
			assert.False(t, result.Recorded)
		}
		assert.Equal(t, 3, b.count())
		other := newClient(t, b.provider, nil, &Options{Journal: s, Account: "theirs"})
		result, err := pay(other)
		wantVerdict(t, contract.Succeeded, result, err)
		assert.False(t, result.Recorded)
		name := keyed().KeyIn(http.Header{"X-Account": {"acct_1"}}, payKey)
		e, err := s.Get(context.Background(), journal.ID{Provider: "stub", Key: name})
		require.NoError(t, err)
		assert.Equal(t, "acct_1", e.Request.Header.Get("X-Account"))
	})
}

// TestNoCredentialsStored looks at the whole entry.
func TestNoCredentialsStored(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := &tapped{Store: journal.NewMemory()}
		p := newProvider(respond(201, `{"id":"pay_1"}`, "Set-Cookie: session=cookie_secret", "WWW-Authenticate: Bearer realm_secret",
			"Connection: X-Hop", "X-Hop: hop_secret",
			// A mirror of the request.
			"authorization: Bearer sk_live_secret", "X-API-Key: key_secret", "Cookie: cookie_secret"))
		c := newClient(t, p, nil, &Options{Journal: s})
		r := secretive()
		r.URL.RawQuery = ""
		r.Header.Set("Cookie", "cookie_secret")
		r.Header.Set("User-Agent", "agent_secret")
		result, err := c.Do(r)
		wantVerdict(t, contract.Succeeded, result, err)
		text, err := json.Marshal(s.entry(t))
		require.NoError(t, err)
		for _, secret := range []string{"sk_live_secret", "key_secret", "user_secret", "pass_secret", "cookie_secret", "realm_secret", "hop_secret", "agent_secret"} {
			// A key ends in the same letters.
			assert.NotContains(t, strings.ReplaceAll(string(text), payKey, ""), secret)
		}
	})
}

// TestWithoutBodies: a journal without bodies still protects, and is still truthful.
func TestWithoutBodies(t *testing.T) {
	virtual(t, func(t *testing.T) {
		m := journal.NewMemory()
		s := journal.WithoutBodies(m)
		b := newBank(drop())
		result, err := pay(newClient(t, b.provider, nil, &Options{Journal: s, MaxAttempts: 1}))
		wantVerdict(t, contract.Unknown, result, err)
		time.Sleep(2 * time.Minute)

		report, err := newClient(t, b.provider, nil, &Options{Journal: s, Authorize: signed}).Sweep(context.Background(), SweepOptions{})
		require.NoError(t, err)
		assert.Equal(t, 1, report.Open)
		assert.Contains(t, report.Operations[0].Reason, "no bodies")
		require.Len(t, b.sends(), 1)

		result, err = pay(newClient(t, b.provider, nil, &Options{Journal: s}))
		wantVerdict(t, contract.Succeeded, result, err)
		require.Len(t, b.sends(), 2)
		assert.Equal(t, payBody, string(b.sends()[1].Body))

		result, err = pay(newClient(t, b.provider, nil, &Options{Journal: s}))
		wantVerdict(t, contract.Succeeded, result, err)
		assert.True(t, result.Recorded)
		assert.Equal(t, 201, result.Response.StatusCode)
		// An SDK would take an empty answer for a failure: the resource is fetched.
		resp, err := newClient(t, b.provider, able(&stub{}), &Options{Journal: s}).RoundTrip(payment(context.Background()))
		require.NoError(t, err)
		assert.JSONEq(t, `{"id":"pay_1","amount":100}`, body(t, resp))
		resp, err = newClient(t, b.provider, nil, &Options{Journal: s}).RoundTrip(payment(context.Background()))
		assert.Nil(t, resp)
		assert.ErrorIs(t, err, contract.Succeeded)
		assert.Len(t, b.sends(), 2)
	})
}

// TestTampered: what the journal holds must be what its fingerprint says.
func TestTampered(t *testing.T) {
	for name, change := range map[string]func(*journal.Entry){
		"body":   func(e *journal.Entry) { e.Request.Body = []byte(`{"amount":1000000}`) },
		"host":   func(e *journal.Entry) { e.Request.URL = "http://evil.test/v1/payments" },
		"method": func(e *journal.Entry) { e.Request.Method = "DELETE" },
		"read":   func(e *journal.Entry) { e.Request.Method = "GET" },
		"url":    func(e *journal.Entry) { e.Request.URL = "://" },
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				s := &tapped{Store: journal.NewMemory()}
				b := newBank(drop())
				_, err := pay(newClient(t, b.provider, nil, &Options{Journal: s, MaxAttempts: 1}))
				assert.ErrorIs(t, err, contract.Unknown)
				s.edit(t, change)
				c := newClient(t, b.provider, nil, &Options{Journal: s, Authorize: signed})
				result, err := pay(c)
				wantVerdict(t, contract.Unknown, result, err)
				time.Sleep(time.Hour)
				report, err := c.Sweep(context.Background(), SweepOptions{})
				require.NoError(t, err)
				assert.Equal(t, 1, report.Open)
				assert.Len(t, b.sends(), 1)
			})
		})
	}
}

// TestPanicIsRecorded: a panic of the caller's code leaves a doubt in the journal, and
// no lease.
func TestPanicIsRecorded(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := &tapped{Store: journal.NewMemory()}
		b := newBank()
		c := newClient(t, b.provider, nil, &Options{Journal: s, OnAttempt: func(context.Context, AttemptEvent) { panic("callback") }})
		one := start(c, payment(context.Background()))
		assert.Equal(t, "callback", one.wait().panic)
		assert.Equal(t, contract.Succeeded, s.entry(t).Verdict.Status)

		c = newClient(t, b.provider, nil, &Options{Journal: s, Authorize: func(*http.Request) error { panic("token") }})
		r := post(contract.WithKey(context.Background(), "another"), payBody)
		two := start(c, r)
		assert.Equal(t, "token", two.wait().panic)
		e, err := s.Get(context.Background(), journal.ID{Provider: "stub", Key: "another"})
		require.NoError(t, err)
		assert.Equal(t, contract.Unknown, e.Verdict.Status)
		assert.Equal(t, 1, e.Verdict.Attempts)
		assert.Empty(t, e.Lease.Holder)
	})
}

// TestJournalOptions: an attempt must end within its lease.
func TestJournalOptions(t *testing.T) {
	_, err := NewClient(&stub{}, &Options{Journal: journal.NewMemory(), AttemptTimeout: 101 * time.Second})
	assert.ErrorContains(t, err, "lease")
	_, err = NewClient(&stub{}, &Options{Journal: journal.NewMemory(), AttemptTimeout: 100 * time.Second})
	assert.NoError(t, err)
	_, err = NewClient(&stub{}, &Options{AttemptTimeout: time.Hour})
	assert.NoError(t, err)
	synctest.Test(t, func(t *testing.T) { // two attempts of the longest kind
		s := &tapped{Store: journal.NewMemory()}
		p := newProvider(hang(), created())
		result, err := pay(newClient(t, p, nil, &Options{Journal: s, AttemptTimeout: 100 * time.Second}))
		wantVerdict(t, contract.Succeeded, result, err)
	})
}

// TestContextEndsMeanwhile: the verdict is stored, and the lease given back, also when
// the caller has gone.
func TestContextEndsMeanwhile(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		p := newProvider(after(time.Minute, created()))
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		result, err := newClient(t, p, nil, &Options{Journal: s}).Do(payment(ctx))
		wantVerdict(t, contract.Unknown, result, err)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		e := s.entry(t)
		assert.Equal(t, contract.Unknown, e.Verdict.Status)
		assert.Equal(t, 1, e.Verdict.Attempts)
		assert.Empty(t, e.Lease.Holder)
		assert.False(t, e.Settled)
	})
}

// TestDoubtWithoutAttempts: what nobody of this program has sent is in doubt all the
// same once somebody outside says so.
func TestDoubtWithoutAttempts(t *testing.T) {
	onStores(t, func(t *testing.T, s *tapped) {
		p := newProvider(created())
		a := &stub{terms: keyless}
		ctx, cancel := context.WithCancel(context.Background())
		s.fault = func(n int, _ string) failure {
			if n == 1 {
				time.AfterFunc(0, cancel)
				time.Sleep(time.Second) // within Begin, which succeeds
			}
			return works
		}
		// A store that does not look at the context again.
		blind := blindStore{s}
		c := newClient(t, p, a, &Options{Journal: blind})
		result, err := c.Do(payment(ctx))
		wantVerdict(t, contract.NotExecuted, result, err)
		assert.True(t, s.entry(t).Settled)
		_, err = c.Learn(context.Background(), payKey, contract.Outcome{}, "Ann: the other system may have paid it")
		require.NoError(t, err)
		result, err = pay(c)
		wantVerdict(t, contract.Unknown, result, err)
		assert.Zero(t, p.count())
	})
}

// TestContextEndsOverADoubt: what is known without an attempt of ours is not taken back
// because the context has ended.
func TestContextEndsOverADoubt(t *testing.T) {
	for _, known := range []contract.Outcome{{}, {Status: contract.Duplicate, Resource: "pay_1"}} {
		onStores(t, func(t *testing.T, s *tapped) {
			p := newProvider(created())
			first, end := context.WithCancel(context.Background())
			defer end()
			s.fault = func(int, string) failure {
				end()
				return works
			}
			c := newClient(t, p, nil, &Options{Journal: blindStore{s}})
			result, err := c.Do(payment(first))
			wantVerdict(t, contract.NotExecuted, result, err)
			_, err = c.Learn(context.Background(), payKey, known, "Ann: the other system may have paid it")
			require.NoError(t, err)
			second, end := context.WithCancel(context.Background())
			s.fault = func(int, string) failure {
				end()
				return works
			}
			result, err = c.Do(payment(second))
			wantVerdict(t, known.Status, result, err)
			assert.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, known.Status, s.entry(t).Verdict.Status)
			assert.Zero(t, p.count())
		})
	}
}

// blindStore does not look at the context.
type blindStore struct{ *tapped }

func (b blindStore) Begin(ctx context.Context, e journal.Entry) (journal.Entry, bool, error) {
	return b.tapped.Begin(context.WithoutCancel(ctx), e)
}

func (b blindStore) Update(ctx context.Context, e journal.Entry) (journal.Entry, error) {
	return b.tapped.Update(context.WithoutCancel(ctx), e)
}

// TestDueAfterTheWait: a sweep does not come before the provider's wait is over.
func TestDueAfterTheWait(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := &tapped{Store: journal.NewMemory()}
		p := newProvider(respond(423, `{}`, "Retry-After: 7200"))
		result, err := pay(newClient(t, p, nil, &Options{Journal: s}))
		wantVerdict(t, contract.InProgress, result, err)
		assert.WithinDuration(t, time.Now().Add(2*time.Hour), s.entry(t).Due, 0)
	})
}

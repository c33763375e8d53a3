package explore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/retry"
)

// caller is who wants the operation done. It follows the README: it comes again
// with the same request and key where it is told to, and as long as it may.
type caller struct {
	op      *operation
	name    byte
	process *process
	counts  [kinds]int // places met
	calls   int
	ctx     context.Context // of this call
	cancel  context.CancelFunc
	died    atomic.Bool
	last    retry.AttemptEvent // of this call; zero before the first
	began   time.Time          // this call
	audits  bool               // nothing goes wrong with it any more
	sweeps  bool               // it wants nothing itself, and settles what others left
}

// maxCalls is after how many calls a caller gives up. Every one of them but the
// last few met a fault.
const maxCalls = 12

type callerKey struct{}

func callerOf(ctx context.Context) *caller { return ctx.Value(callerKey{}).(*caller) }

// pick chooses what happens at the next place of a kind.
func (c *caller) pick(k kind) event {
	events := c.op.alphabet[k]
	if len(events) == 0 {
		return event{}
	}
	c.counts[k]++
	if len(events) == 1 || c.audits {
		return events[0]
	}
	var state func() string
	if k == atSend && c.op.turns == nil {
		state = c.state
	}
	n := c.op.choose(place{c.name, k, c.counts[k]}, len(events), state)
	if n == abandon {
		c.op.abandoned = true
		return event{does: nothing, death: diesBefore}
	}
	return events[n]
}

// die ends the caller's process, or its call where the process is shared.
func (c *caller) die() {
	if !c.op.Shared {
		c.process.dead.Store(true)
		c.died.Store(true)
	}
	c.cancel()
}

// audit asks for an operation that is remembered again, from new processes and with no
// fault: soon, and when the provider has forgotten the key.
func (op *operation) audit() {
	if !op.Remembered || op.abandoned || op.forgotten() {
		return
	}
	_, soon := op.pace()
	for _, wait := range []time.Duration{soon, op.horizon() + time.Hour} {
		op.fake.Client().CloseIdleConnections()
		time.Sleep(wait)
		c := &caller{op: op, name: 'Z', process: newProcess(op), audits: true}
		c.call()
	}
}

// act calls until there is nothing left to do.
func (c *caller) act() {
	for c.calls < maxCalls {
		if c.process == nil {
			c.process = newProcess(c.op)
		}
		if !c.op.Remembered { // otherwise its first write is the step
			c.step(context.Background())()
		}
		t := c.call()
		wait, again := c.again(t)
		if !again {
			return
		}
		time.Sleep(wait)
	}
}

// again says whether the caller comes again, and after which wait. It gets no
// telling if its process died.
func (c *caller) again(t *telling) (wait time.Duration, again bool) {
	op := c.op
	switch {
	case op.abandoned:
		return 0, false
	case c.sweeps && !c.died.Load():
		return c.due(), t == nil || t.status.Effect() == contract.EffectMaybe
	case t == nil && op.forgotten():
		return 0, false
	case t == nil:
		c.process = nil
		op.fake.Client().CloseIdleConnections()
		wait = c.pick(atRestart).wait
		return wait, op.mayRepeat(wait, true) || op.Remembered
	}
	defer func() { t.final = !again }()
	_, comeBack := op.pace()
	wait = max(t.wait, comeBack)
	switch t.status {
	case contract.NotExecuted:
		return wait, op.mayRepeat(wait, false)
	case contract.Unknown:
		if op.Unmarked && op.saved() || op.Volatile && (t.next != contract.Resend || op.forgotten()) {
			return 0, false // whatever it does, it learns no more, or pays anew
		}
		return wait, op.mayRepeat(wait, true)
	case contract.InProgress:
		return wait, op.mayRepeat(wait, true)
	default:
		return 0, false
	}
}

// call makes one call of the client. It returns nil if the process died.
func (c *caller) call() *telling {
	c.calls++
	c.died.Store(false)
	c.last = retry.AttemptEvent{}
	c.began = time.Now()
	ctx := context.WithValue(context.Background(), callerKey{}, c)
	ctx, c.cancel = context.WithCancel(ctx)
	c.ctx = ctx
	defer c.cancel()
	if end := c.op.begin(c.process); !end.IsZero() {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, end)
		defer stop()
	}
	p := c.process
	result, err := c.do(ctx)
	if c.op.abandoned || c.died.Load() || !c.op.Shared && c.pick(atVerdict).death != lives {
		p.dead.Store(true)
		return nil
	}
	if result == nil {
		return nil // a sweep that found nothing
	}
	var alarm *contract.DuplicateEffectError
	t := &telling{
		caller: c.name, process: p, began: c.began, at: time.Now(), status: told(err), calls: c.calls,
		wait: result.RetryAfter, next: result.Next(), resource: result.Resource, alarm: errors.As(err, &alarm),
		effects: len(c.op.effects()),
	}
	c.op.end(p, t)
	return t
}

// do makes the call itself, or the sweep: in a goroutine, which ends in the middle of
// it if the journal sees the process die.
func (c *caller) do(ctx context.Context) (result *retry.Result, err error) {
	var wg sync.WaitGroup
	wg.Go(func() {
		if c.sweeps {
			result, err = c.sweep(ctx)
			return
		}
		result, err = c.process.client.Do(c.op.request(ctx, c.op.order, c.op.prepared))
	})
	wg.Wait()
	return result, err
}

// told returns the status that an error tells.
func told(err error) contract.Status {
	if err == nil {
		return contract.Succeeded
	}
	for s := contract.Unknown; s.Valid(); s++ {
		if s != contract.Succeeded && errors.Is(err, s) {
			return s
		}
	}
	return contract.Succeeded // an error that tells nothing: the oracle will not have it
}

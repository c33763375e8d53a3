package explore

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/retry"
)

// rivals reports whether two processes share a journal: of them one at a time has the
// lease, which is the right to act.
func (s *Scenario) rivals() bool { return s.Remembered && s.Callers > 1 && !s.Shared }

// narrow leaves what rivals make of each other: their orders are many. One fault stands
// for each thing that a send may leave behind, and a death after a step for one before
// the next; a process dies in its turn only, so that this has its order. What is new:
// it may stall until its lease has ended.
func (s *Scenario) narrow(a *alphabet, long time.Duration) {
	send, write := a[atSend], a[atWrite]
	sends := []event{
		{fault: fakes.LoseReply, cuts: true},
		{fault: fakes.InFlight(15 * time.Second), does: executesLater},
		{fault: fakes.Throttle(long), does: nothing},
		{fault: s.Refusal, does: nothing},
	}
	for i, e := range sends {
		sends[i].name = e.fault.String()
	}
	a[atSend] = append(append(send[:1:1], sends...), send[len(send)-1]) // the death after it
	a[atReply], a[atVerdict] = nil, nil
	a[atWrite] = write[:len(write)-1] // the journal is there
	a[atStall] = []event{{name: "fine"}, {name: "until its lease has ended", stalls: true}}
}

// sweep makes one sweep, and returns what it came to with the operation; nothing if
// that was not due.
func (c *caller) sweep(ctx context.Context) (*retry.Result, error) {
	report, err := c.process.client.Sweep(ctx, retry.SweepOptions{})
	if len(report.Operations) == 0 {
		return nil, err
	}
	v := report.Operations[0].Verdict
	if alarm := v.DuplicateEffect(); alarm != nil {
		return &retry.Result{Verdict: v}, errors.Join(v.Status, alarm)
	}
	if v.Status == contract.Succeeded {
		return &retry.Result{Verdict: v}, nil
	}
	return &retry.Result{Verdict: v}, v.Status
}

// entry returns what the journal has of the operation; false if nothing.
func (op *operation) entry() (journal.Entry, bool) {
	op.mu.Lock()
	defer op.mu.Unlock()
	e, err := op.store.Get(context.Background(), op.id)
	return e, err == nil
}

// due is how long a sweeper waits for its next sweep: until the operation is due, or for
// longer each time while it is not there.
func (c *caller) due() time.Duration {
	if e, ok := c.op.entry(); ok && e.Due.After(time.Now()) {
		return time.Until(e.Due)
	}
	return time.Duration(c.calls) * 6 * time.Second
}

// stalls reports whether the process stalls now.
func (c *caller) stalls() bool { return c.pick(atStall).stalls }

// stall waits until the lease on the operation has ended, when who waits for that is
// about to act.
func (c *caller) stall() {
	if e, ok := c.op.entry(); ok {
		time.Sleep(time.Until(e.Lease.Until))
		c.op.turns.look()
	}
}

// detach returns the request with a context that ends with its call and not with the
// attempt, as one that is on its way, whatever becomes of its process.
func (c *caller) detach(r *http.Request) (late *http.Request, stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	undo := context.AfterFunc(c.ctx, cancel)
	return r.WithContext(ctx), func() { undo(); cancel() }
}

// lease is what a process knows of its right to act.
type lease struct {
	holder string // as whom it took it last, or tried to
	until  time.Time
}

// leased reports whether the process is the one to act on the operation.
func (p *process) leased() bool {
	if !p.op.Remembered {
		return true
	}
	e, ok := p.op.entry()
	return ok && e.Lease.Holder == p.lease.holder && !e.Lease.Free(time.Now())
}

// overrun reports whether the lease has ended that the process took.
func (p *process) overrun() bool { return !time.Now().Before(p.lease.until) }

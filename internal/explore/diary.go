package explore

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/idempact/idempact/journal"
)

// diary is the store as one process sees it: the operation's, which outlives the
// process, and what goes wrong on the way there.
type diary struct {
	journal.Store
	process *process
}

var errAway = errors.New("the journal is away")

// outage is for how long a journal that goes away stays away: longer than anybody
// tries to write, and not as long as a caller stays away.
const outage = 30 * time.Second

// use makes one use of the store, unless the process is dead or the store is away. A
// process that dies ends in the middle of what it does: its goroutine does, and what
// that has deferred comes here again, and to nothing.
func (d diary) use(f func() error) error {
	op := d.process.op
	switch {
	case d.process.dead.Load():
		runtime.Goexit()
	case time.Now().Before(op.away):
		return errAway
	}
	return f()
}

// write makes one write, in its turn, and does to it what is chosen.
func (d diary) write(ctx context.Context, f func() error) error {
	return d.use(func() error {
		c := callerOf(ctx)
		defer c.step(ctx)()
		if err := ctx.Err(); err != nil {
			return err
		}
		e := c.pick(atWrite)
		switch {
		case e.death == diesBefore:
			c.die()
			runtime.Goexit()
		case e.does == nothing:
			d.process.op.away = time.Now().Add(outage)
			return errAway
		}
		err := f()
		switch {
		case e.death == diesAfter:
			c.die()
			runtime.Goexit()
		case err == nil && e.cuts:
			return errAway
		}
		return err
	})
}

func (d diary) Begin(ctx context.Context, e journal.Entry) (stored journal.Entry, inserted bool, err error) {
	d.takes(e)
	err = d.write(ctx, func() error {
		var err error
		stored, inserted, err = d.Store.Begin(ctx, e)
		if inserted {
			d.process.op.written(e.ID)
		}
		return err
	})
	d.stall(ctx, e)
	return stored, inserted, err
}

func (d diary) Update(ctx context.Context, e journal.Entry) (stored journal.Entry, err error) {
	d.takes(e)
	err = d.write(ctx, func() error {
		var err error
		stored, err = d.Store.Update(ctx, e)
		return err
	})
	d.stall(ctx, e)
	return stored, err
}

// takes notes as whom the process is about to take the lease, if it is.
func (d diary) takes(e journal.Entry) {
	if e.Lease.Holder != "" {
		d.process.lease = lease{e.Lease.Holder, e.Lease.Until}
	}
}

// stall lets the process stall that has just taken the lease, if that is chosen.
func (d diary) stall(ctx context.Context, e journal.Entry) {
	if c := callerOf(ctx); e.Lease.Holder != "" && d.process.leased() && c.stalls() {
		c.stall()
	}
}

func (d diary) Get(ctx context.Context, id journal.ID) (stored journal.Entry, err error) {
	if t := d.process.op.turns; t != nil {
		t.look()
	}
	err = d.use(func() error {
		var err error
		stored, err = d.Store.Get(ctx, id)
		return err
	})
	return stored, err
}

package explore

import (
	"context"
	"errors"
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

// died is what ends a process in the middle of what it does: its journal panics, so
// that not even its deferred functions come to anything.
type died struct{}

// use makes one use of the store, unless the process is dead or the store is away.
func (d diary) use(f func() error) error {
	op := d.process.op
	switch {
	case d.process.dead.Load():
		panic(died{})
	case time.Now().Before(op.away):
		return errAway
	}
	return f()
}

// write makes one write, and does to it what is chosen.
func (d diary) write(ctx context.Context, f func() error) error {
	return d.use(func() error {
		c := callerOf(ctx)
		e := c.pick(atWrite)
		switch {
		case e.death == diesBefore:
			c.die()
			panic(died{})
		case e.does == nothing:
			d.process.op.away = time.Now().Add(outage)
			return errAway
		}
		err := f()
		switch {
		case e.death == diesAfter:
			c.die()
			panic(died{})
		case err == nil && e.cuts:
			return errAway
		}
		return err
	})
}

func (d diary) Begin(ctx context.Context, e journal.Entry) (stored journal.Entry, inserted bool, err error) {
	err = d.write(ctx, func() error {
		var err error
		stored, inserted, err = d.Store.Begin(ctx, e)
		if inserted {
			d.process.op.written(e.ID)
		}
		return err
	})
	return stored, inserted, err
}

func (d diary) Update(ctx context.Context, e journal.Entry) (stored journal.Entry, err error) {
	err = d.write(ctx, func() error {
		var err error
		stored, err = d.Store.Update(ctx, e)
		return err
	})
	return stored, err
}

func (d diary) Get(ctx context.Context, id journal.ID) (stored journal.Entry, err error) {
	err = d.use(func() error {
		var err error
		stored, err = d.Store.Get(ctx, id)
		return err
	})
	return stored, err
}

package bubbletest

import (
	"context"
	"testing"
	"time"

	"github.com/idempact/idempact/journal"
)

// outer is a store whose methods run in goroutines outside of the caller's bubble. A
// caller who waits for one of them is not durably blocked, so that no virtual time
// passes: to the bubble the store takes no time at all.
type outer struct {
	store   journal.Store
	workers chan worker // those that are free
}

// worker is a goroutine outside. Its channels are made there too: one of a bubble is
// closed to it.
type worker struct {
	do   chan func()
	done chan struct{}
}

// outside returns s as a bubble may use it. It is called before the bubble begins, and
// its goroutines end with t.
func outside(t testing.TB, s journal.Store) *outer {
	const many = 16
	o := &outer{store: s, workers: make(chan worker, many)}
	for range many {
		w := worker{make(chan func()), make(chan struct{})}
		go func() {
			for f := range w.do {
				f()
				w.done <- struct{}{}
			}
		}()
		t.Cleanup(func() { close(w.do) })
		o.workers <- w
	}
	return o
}

// run runs f outside, unless the context has ended. That is looked at only here: the
// context is the bubble's, and so is the channel that tells of its end.
func (o *outer) run(ctx context.Context, f func(context.Context)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := <-o.workers
	w.do <- func() { f(context.Background()) }
	<-w.done
	o.workers <- w
	return nil
}

func (o *outer) Begin(ctx context.Context, e journal.Entry) (stored journal.Entry, inserted bool, err error) {
	if ended := o.run(ctx, func(ctx context.Context) { stored, inserted, err = o.store.Begin(ctx, e) }); ended != nil {
		return journal.Entry{}, false, ended
	}
	return stored, inserted, err
}

func (o *outer) Get(ctx context.Context, id journal.ID) (e journal.Entry, err error) {
	if ended := o.run(ctx, func(ctx context.Context) { e, err = o.store.Get(ctx, id) }); ended != nil {
		return journal.Entry{}, ended
	}
	return e, err
}

func (o *outer) Update(ctx context.Context, e journal.Entry) (stored journal.Entry, err error) {
	if ended := o.run(ctx, func(ctx context.Context) { stored, err = o.store.Update(ctx, e) }); ended != nil {
		return journal.Entry{}, ended
	}
	return stored, err
}

func (o *outer) Unsettled(ctx context.Context, provider, account string, now time.Time, limit int) (found []journal.Entry, err error) {
	if ended := o.run(ctx, func(ctx context.Context) { found, err = o.store.Unsettled(ctx, provider, account, now, limit) }); ended != nil {
		return nil, ended
	}
	return found, err
}

func (o *outer) Prune(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	if ended := o.run(ctx, func(ctx context.Context) { removed, err = o.store.Prune(ctx, before, limit) }); ended != nil {
		return 0, ended
	}
	return removed, err
}

func (o *outer) Close() (err error) {
	_ = o.run(context.Background(), func(context.Context) { err = o.store.Close() })
	return err
}

var _ journal.Store = (*outer)(nil)

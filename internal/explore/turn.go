package explore

import (
	"context"
	"slices"
	"sync"
	"time"
)

// grace is how long the n-th turn waits for callers that may still come to a step:
// longer than any wait of the loop's own. Who does not come by then waits for
// another caller, or for longer. No two turns wait alike, so that two callers whose
// waits began one turn apart are never apart by exactly the length of another.
func grace(n int) time.Duration {
	return 10*time.Second + time.Duration(n)*97*time.Millisecond
}

// turns lets one caller take one step at a time. A step is the start of a call, or
// one request with its answer: what happens between two steps of a caller nobody
// else can see.
type turns struct {
	mu      sync.Mutex
	waiting []*seat
	live    int
	changed chan struct{} // has room for one
}

// seat is a caller that waits for its step.
type seat struct {
	caller *caller
	turn   chan struct{} // closed: it has come
	done   chan struct{} // closed: the step is over
}

func newTurns() *turns { return &turns{changed: make(chan struct{}, 1)} }

func (t *turns) change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

func (t *turns) enter() { t.change(func() { t.live++ }) }
func (t *turns) leave() { t.change(func() { t.live-- }) }

// step waits for the caller's turn, and returns what ends it.
func (c *caller) step(ctx context.Context) (end func()) {
	t := c.op.turns
	if t == nil {
		return func() {}
	}
	s := &seat{caller: c, turn: make(chan struct{}), done: make(chan struct{})}
	t.change(func() { t.waiting = append(t.waiting, s) })
	select {
	case <-s.turn:
	case <-ctx.Done():
		// Its call was cancelled while it waited, which takes no turn.
		t.change(func() { t.waiting = slices.DeleteFunc(t.waiting, func(w *seat) bool { return w == s }) })
	}
	return func() { close(s.done) }
}

// run gives turns until no caller is left.
func (t *turns) run(choose func(place, int, func() string) int) {
	for n := 1; ; n++ {
		s := t.next(choose, n)
		if s == nil {
			return
		}
		close(s.turn)
		<-s.done
	}
}

func (t *turns) next(choose func(place, int, func() string) int, n int) *seat {
	for {
		t.mu.Lock()
		live, ready := t.live, len(t.waiting)
		t.mu.Unlock()
		switch {
		case live == 0:
			return nil
		case ready == 0:
			<-t.changed
			continue
		}
		time.Sleep(grace(n))
		t.mu.Lock()
		slices.SortFunc(t.waiting, func(a, b *seat) int { return int(a.caller.name) - int(b.caller.name) })
		ready = len(t.waiting)
		t.mu.Unlock()
		if ready == 0 {
			continue
		}
		pick := 0
		if ready > 1 {
			pick = choose(place{kind: atTurn, n: n}, ready, nil)
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		s := t.waiting[pick]
		t.waiting = slices.Delete(t.waiting, pick, pick+1)
		return s
	}
}

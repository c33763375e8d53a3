package explore

import (
	"context"
	"slices"
	"sync"
	"time"
)

// turns lets one caller take one step at a time. A step is the start of a call, or
// one request with its answer, or one write of a journal that is shared: what happens
// between two steps of a caller nobody else can see.
//
// A turn begins when the clock comes to a multiple of beat; what else callers wait for
// is no multiple of it, so that who has come by then does not depend on the loop's own
// waits, which are random. Where haste is set, a turn also begins so long after the
// last one if all are at a step again: otherwise writes would not end in time.
type turns struct {
	beat  time.Duration
	haste time.Duration
	began time.Time

	differ bool // the callers do

	mu      sync.Mutex
	last    time.Time // a turn began
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

func newTurns(s *Scenario) *turns {
	t := &turns{beat: 10700 * time.Millisecond, began: time.Now(), differ: s.Swept, changed: make(chan struct{}, 1)}
	if s.rivals() {
		t.beat, t.haste = 4700*time.Millisecond, 5*time.Millisecond
	}
	return t
}

// wait waits until a turn begins.
func (t *turns) wait() {
	if soon := t.haste - t.sinceLast(); soon > 0 {
		time.Sleep(soon)
		if t.complete() {
			return
		}
	}
	t.until(0)
}

// until waits until so long before a turn begins.
func (t *turns) until(before time.Duration) {
	past := time.Since(t.began) + before
	time.Sleep(t.beat - past%t.beat)
}

// look waits until shortly before a turn begins, unless one has just begun: what
// somebody sees who looks at a random time is what there is to see by then.
func (t *turns) look() {
	if t.sinceLast() >= t.haste {
		t.until(t.beat / 20)
	}
}

func (t *turns) sinceLast() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Since(t.last)
}

// complete reports whether all callers are at a step.
func (t *turns) complete() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting) == t.live
}

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
		t.wait()
		t.mu.Lock()
		slices.SortFunc(t.waiting, func(a, b *seat) int { return int(a.caller.name) - int(b.caller.name) })
		ready = len(t.waiting)
		t.mu.Unlock()
		if ready == 0 {
			continue
		}
		pick := 0
		if ready > 1 && (n > 1 || t.differ) { // those who are alike begin in one order
			pick = choose(place{kind: atTurn, n: n}, ready, nil)
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.last = time.Now()
		s := t.waiting[pick]
		t.waiting = slices.Delete(t.waiting, pick, pick+1)
		return s
	}
}

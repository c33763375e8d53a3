package retry

import (
	"context"
	"sync"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal"
)

// flight is one run of one operation, on behalf of every caller that shares its
// key meanwhile.
type flight struct {
	client *Client
	op     *operation
	memory

	started time.Time
	sends   int           // in this run
	next    contract.Step // what decide said of the last answer,
	wait    time.Duration // after which wait,
	floor   time.Time     // before which the provider wants no other send, by its last answer
	later   bool          // and whether that is for the caller to sit out
	causes  []error       // why requests brought no answer, and why the run ended

	hold     *hold             // on the entry in the journal, while the run has one
	again    bool              // the run tries what did nothing before once more
	recorded bool              // the verdict is one that the journal had
	original *contract.Verdict // of the other request, which the key belongs to
	events   []journal.Event   // of this run, for the entry
	news     news              // of the operation, from outside

	done      chan struct{} // closed when it has ended
	abandoned bool          // it ended open because its own caller's context did, or in a panic
}

// memory is what one run hands to the next: what is known of the operation.
type memory struct {
	verdict   contract.Verdict
	firstSent time.Time // with the monotonic clock
	last      *answer   // the last answer that came, or the fetched resource
	requestID string    // of the last answer that named one
	skew      time.Duration
}

// shared is the place of one key among the flights of a client.
type shared struct {
	op      *operation
	memory  memory
	current *flight // nil when the next caller is to lead
	callers int
}

// flights holds the operations that are under way, by operation.flight.
type flights struct {
	mu sync.Mutex
	m  map[string]*shared
}

// fly runs the operation, or waits for the run of another caller with the same
// key and request.
func (c *Client) fly(ctx context.Context, op *operation) (*flight, *Error) {
	if op.flight == "" {
		f := c.newFlight(op, memory{})
		f.execute(ctx)
		return f, nil
	}
	place, refused := c.flights.enter(op)
	if refused != nil {
		return nil, refused
	}
	defer c.flights.leave(place)
	for {
		f, leads := c.flights.board(c, place)
		if leads {
			c.lead(ctx, place, f)
			return f, nil
		}
		select {
		case <-f.done:
			if !f.abandoned {
				return f, nil
			}
			// Its caller went away in the middle of it; this one goes on.
		case <-ctx.Done():
			return nil, &Error{
				Verdict: contract.Verdict{Outcome: contract.Outcome{
					Status: contract.InProgress,
					Reason: "another caller's request with this key was still under way when the context ended",
				}},
				Cause: ctx.Err(),
			}
		}
	}
}

func (c *Client) newFlight(op *operation, m memory) *flight {
	return &flight{client: c, op: op, memory: m, done: make(chan struct{})}
}

// lead runs a flight and hands over what it learned, also if it panics.
func (c *Client) lead(ctx context.Context, place *shared, f *flight) {
	defer func() { c.flights.land(place, f) }()
	f.abandoned = true // until it ends by itself
	f.execute(ctx)
	f.abandoned = ctx.Err() != nil && f.open()
}

// open reports whether another run could find out more.
func (f *flight) open() bool {
	return !f.verdict.Settled() || f.verdict.Status == contract.Duplicate
}

// enter takes a place at the operation's key.
func (fs *flights) enter(op *operation) (*shared, *Error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	place := fs.m[op.flight]
	if place == nil {
		if fs.m == nil {
			fs.m = map[string]*shared{}
		}
		place = &shared{op: op}
		fs.m[op.flight] = place
	}
	if place.op.fingerprint != op.fingerprint {
		return nil, refusal(contract.KeyReused, nil, "another request with this key is under way; give each business action a key of its own")
	}
	place.callers++
	return place, nil
}

// board returns the flight that is under way, or a new one for the caller to lead.
func (fs *flights) board(c *Client, place *shared) (f *flight, leads bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if place.current == nil {
		place.current = c.newFlight(place.op, place.memory)
		return place.current, true
	}
	return place.current, false
}

// land ends a flight. An abandoned one leaves its memory to the callers that
// still wait; any other frees the key.
func (fs *flights) land(place *shared, f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.abandoned {
		place.memory, place.current = f.memory, nil
	} else {
		fs.forget(place)
	}
	close(f.done)
}

func (fs *flights) leave(place *shared) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	place.callers--
	if place.callers == 0 {
		fs.forget(place)
	}
}

// forget frees the key if it is still this place's.
func (fs *flights) forget(place *shared) {
	if fs.m[place.op.flight] == place {
		delete(fs.m, place.op.flight)
	}
}

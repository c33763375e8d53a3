package explore

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"
)

// state says on what the rest of a run depends, when a lone caller is about to
// send: two runs with the same state go on alike. It is what the provider did, and
// how long ago; what the call knows, since the loop acts on its verdict and on
// nothing else; what the caller remembers; and whether a connection is open, since
// net/http behaves differently on one. Times count in seconds: nothing takes a
// part of one but the loop's own waits.
//
// The reason of a verdict, the wait that is over and the answer before the next
// one are left out: a lost reply and a reset one are the same once they are over.
func (c *caller) state() string {
	op, now := c.op, time.Now()
	var b []byte
	add := func(t time.Time) {
		age := time.Duration(-1)
		if !t.IsZero() {
			age = now.Sub(t).Round(time.Second)
		}
		b = binary.AppendVarint(b, int64(age))
	}
	add(op.began)
	last := event{does: nothing}
	var first time.Time
	for _, x := range op.exchanges {
		if x.read {
			continue
		}
		current := x.process == c.process && x.call == c.calls
		if current && first.IsZero() {
			first = x.at
		}
		if x.event.does != nothing && (x.event.does != executes || last.does != executes) {
			// A request that repeats what was executed changes nothing.
			b = fmt.Append(b, x.event.does, current)
			add(x.at)
			last = x.event
		}
	}
	add(first)
	for _, e := range op.effects() {
		add(e.Time)
	}
	if op.Remembered {
		b = c.remembered(b, add)
	}
	v, open := c.last.Verdict, false
	if n := len(op.exchanges); n > 0 {
		open = !op.exchanges[n-1].event.cuts && now.Sub(op.exchanges[n-1].at) < time.Minute
	}
	return string(fmt.Append(b, op.doubt, open, v.Attempts, v.Status, v.NoResend, v.Confirmed, v.Resource, v.Resources))
}

// remembered adds what the journal knows, how long the call has run, and whether the
// provider may know the key for longer than the journal says.
func (c *caller) remembered(b []byte, add func(time.Time)) []byte {
	add(c.began)
	for _, x := range c.op.exchanges {
		if !x.read && c.op.counts(x) {
			add(x.at)
			break
		}
	}
	e, err := c.op.store.Get(context.Background(), c.op.id)
	if err != nil {
		return fmt.Append(b, err) // there is none
	}
	for _, t := range []time.Time{e.FirstSent, e.Lease.Until, e.Updated, e.Due} {
		add(t)
	}
	v := e.Verdict
	return fmt.Append(b, e.Lease.Holder != "", e.Settled, e.Skew, e.Response.StatusCode,
		v.Attempts, v.Status, v.NoResend, v.Confirmed, v.Resource, v.Resources, v.RetryAfter, v.Last.Status, v.Last.NoResend)
}

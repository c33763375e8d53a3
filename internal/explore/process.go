package explore

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/retry"
)

// process is one running program: a client of its own, and the transport below it,
// which sees and breaks everything that the program sends.
type process struct {
	op     *operation
	client *retry.Client
	dead   atomic.Bool
	lease  lease

	calls  int // under way
	since  int // the first exchange of those
	flight int // counts the times when none was
}

func newProcess(op *operation) *process {
	p := &process{op: op}
	attempt, _ := op.pace()
	o := &retry.Options{Transport: p, MinWait: ownWait, AttemptTimeout: attempt, OnAttempt: pause, Authorize: op.authorize()}
	if op.Callers > 1 {
		o.MaxAttempts = 3 // or their orders are too many
	}
	if op.rivals() {
		o.MaxAttempts = 2
	}
	if !op.Hasty {
		o.MaxElapsed, o.MaxWait = 4*op.horizon(), 2*op.horizon()
	}
	if op.Remembered {
		o.Journal = diary{op.store, p}
	}
	client, err := retry.NewClient(op.Adapter, o)
	if err != nil {
		panic(err) // the options are this package's
	}
	p.client = client
	return p
}

// authorize returns an Authorize that does more than it should: it gives every
// request a key of its own.
func (s *Subject) authorize() func(*http.Request) error {
	var n atomic.Int64
	return func(r *http.Request) error {
		credentials(r)
		if s.KeyHeader != "" {
			r.Header.Set(s.KeyHeader, "key-"+strconv.FormatInt(n.Add(1), 10))
		}
		return nil
	}
}

// exchange is one request that a process made, and what came of it.
type exchange struct {
	process *process
	flight  int // of the process: calls at the same time may share one
	caller  byte
	call    int    // of the caller
	tag     string // names it at the provider
	read    bool
	began   time.Time // the call
	leased  bool      // its process held the lease when the loop let it go, and when it left unless that had ended
	at      time.Time // when it left
	key     string    // in the header
	content string    // all that must be the same on every send
	event   event

	lost     bool          // the process died when an answer had come
	answered time.Time     // when an answer came to the process; zero if none did
	asked    time.Duration // the wait in it
}

// tagHeader ties a request in the provider's log to its exchange.
const tagHeader = "X-Explore"

// RoundTrip sends one request of the process to the provider, and does to it what
// is chosen.
func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	c := callerOf(r.Context())
	x := &exchange{process: p, caller: c.name, call: c.calls, read: r.Method == http.MethodGet, began: c.began, leased: p.leased()}
	end := c.step(r.Context())
	defer func() { end() }()
	if p.dead.Load() {
		return nil, context.Canceled
	}
	if e := c.pick(atClock); e.name != "" && e.name != "fine" {
		p.op.fake.SetSkew(e.wait)
	}
	late := !x.read && c.stalls()
	if late {
		end()
		c.stall()
		end = c.step(context.Background())
	}
	k := atSend
	if x.read {
		k = atRead
	}
	x.event, x.at = c.pick(k), time.Now()
	out := x.identify(r, p.op, c.counts[k])
	if late {
		var stop func()
		out, stop = c.detach(out)
		defer stop()
	}
	x.leased = x.leased && (p.leased() || p.overrun())
	p.op.add(x)
	switch {
	case x.event.death == diesBefore:
		c.die() // what goes on has a context that ended, and net/http sends nothing
	case x.event.death == diesAfter:
		p.op.script(x.tag, fakes.Hang)
		time.AfterFunc(time.Millisecond, c.die)
	case x.event.fault != nil:
		p.op.script(x.tag, x.event.fault)
	}
	resp, err := p.op.fake.Transport().RoundTrip(out)
	if p.op.relapse != "" {
		p.op.fake.SetState(p.op.prepared, p.op.relapse)
	}
	if err == nil && late { // its attempt is over
		resp.Body.Close()
		err = r.Context().Err()
	}
	if err != nil {
		return nil, err
	}
	if !x.read && c.pick(atReply).death != lives {
		x.lost = true
		c.die()
		resp.Body.Close()
		return nil, r.Context().Err()
	}
	x.answered = time.Now()
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		x.asked = time.Duration(seconds) * time.Second
	}
	return resp, nil
}

// identify notes what makes up the request, and returns it with its tag. What
// would let net/http send it again stays as the loop left it.
func (x *exchange) identify(r *http.Request, op *operation, n int) *http.Request {
	out := r.Clone(r.Context())
	x.key = contract.HeaderValue(r.Header, op.KeyHeader)
	x.content = r.Method + " " + r.URL.String() + " " + r.Header.Get("Content-Type") + "\n"
	if r.Body != nil && r.Body != http.NoBody {
		body, _ := io.ReadAll(r.Body) // in memory
		_ = r.Body.Close()
		x.content += string(body)
		out.Body = io.NopCloser(bytes.NewReader(body))
	}
	x.tag = op.order + " " + string(x.caller) + " " + strconv.Itoa(n)
	if x.read {
		x.tag += " read"
	}
	out.Header.Set(tagHeader, x.tag)
	return out
}

// pause is the clients' OnAttempt: it stands between a decision and its wait.
func pause(ctx context.Context, e retry.AttemptEvent) {
	c := callerOf(ctx)
	c.last = e
	if e.Step != contract.Resend || ctx.Err() != nil {
		return
	}
	if e.Next == contract.Resend {
		time.Sleep(c.pick(atWait).wait)
	}
	if c.stalls() {
		c.stall()
	}
}

var _ http.RoundTripper = (*process)(nil)

package retry

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/idempact/idempact/contract"
)

// run sends the operation until it is settled or may not be sent again, then
// reads what can be read.
func (f *flight) run(ctx context.Context) {
	if f.started.IsZero() {
		f.started = time.Now()
	}
	waiting, stop := f.news.cut(ctx)
	defer stop()
	defer func() {
		if err := ctx.Err(); err != nil {
			f.causes = append(f.causes, err)
		}
		f.advise()
	}()
	switch {
	case ctx.Err() != nil:
		if unknown(f.verdict) {
			f.verdict.Outcome = contract.Outcome{Status: contract.NotExecuted, Reason: "nothing was sent: the context had ended"}
		}
		return
	case f.verdict.Attempts > 0, f.hold != nil && !unknown(f.verdict):
		// An earlier run left it: what its last answer asked for holds.
		f.decide(ctx)
		if f.next != contract.Resend || f.later || !sleep(waiting, f.wait) || f.ready(waiting) != nil {
			break
		}
		fallthrough
	default:
		f.loop(ctx, waiting)
	}
	f.hear(ctx)
	f.settle(ctx)
}

// advise sees to it that the verdict does not send anybody to a second effect:
// when the wait is over that the provider asked for, the key may be forgotten, and
// without a key nothing ever stops one.
func (f *flight) advise() {
	v := &f.verdict
	if v.Effect() != contract.EffectMaybe || v.Attempts == 0 {
		return
	}
	if !f.op.repeatable() || v.RetryAfter > 0 && f.age(v.RetryAfter) >= f.life() {
		v.NoResend = true
	}
}

// loop is retryablehttp's. It sees none of the provider's answers: its
// RoundTripper is the flight, which keeps them, and its hooks tell it what the
// flight decided. Its waits end with the context waiting, its sends with ctx.
func (f *flight) loop(ctx, waiting context.Context) {
	loop := retryablehttp.Client{
		HTTPClient: &http.Client{Transport: sender{f, ctx}},
		RetryMax:   f.client.options.MaxAttempts - 1,
		CheckRetry: func(context.Context, *http.Response, error) (bool, error) {
			return f.next == contract.Resend && !f.later, nil
		},
		Backoff: func(time.Duration, time.Duration, int, *http.Response) time.Duration {
			return f.wait
		},
		PrepareRetry: func(r *http.Request) error { return f.ready(r.Context()) },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	req, err := retryablehttp.NewRequestWithContext(waiting, http.MethodPost, "http://operation.invalid", nil)
	if err != nil {
		return // cannot happen; nothing was sent, and the verdict says so
	}
	if resp, _ := loop.Do(req); resp != nil { // the flight knows more than its error
		resp.Body.Close()
	}
}

// sender makes the flight the RoundTripper of its loop. It is a type of its own
// so that the loop cannot reach anything else of the client: retryablehttp
// closes all idle connections of what it runs on.
type sender struct {
	f   *flight
	ctx context.Context
}

func (s sender) RoundTrip(req *http.Request) (*http.Response, error) {
	s.f.attempt(s.ctx)
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: req}, nil
}

// attempt sends the operation once and decides what follows.
func (f *flight) attempt(ctx context.Context) {
	started := time.Now()
	if f.firstSent.IsZero() {
		f.firstSent = started
	}
	f.sends++
	reply, got := f.send(ctx)
	if f.hold.isLost() {
		// Nothing was sent; but whoever has the operation now may send it.
		f.next, f.later, f.wait = contract.Finish, false, 0
		return
	}
	f.noteSkew(started, reply)
	if got != nil {
		f.last = got
	}
	if u := (*unsent)(nil); errors.As(reply.Err, &u) {
		f.causes = append(f.causes, u)
	} else if reply.Err != nil {
		f.causes = append(f.causes, &transportError{reply.Err})
	}
	f.verdict = contract.Fold(f.verdict, f.client.classify(f.call(), reply))
	f.floor = reply.At.Add(f.verdict.Last.RetryAfter)
	if id := f.verdict.Last.RequestID; id != "" {
		f.requestID = id
	}
	f.decide(ctx)
	f.tell(ctx, contract.Resend, started, reply)
}

// send sends the operation's own request. A panic in the middle of it leaves a
// doubt to whoever takes the operation over.
func (f *flight) send(ctx context.Context) (reply contract.Reply, got *answer) {
	returned := false
	defer func() {
		if !returned {
			f.verdict = contract.Fold(f.verdict, contract.Outcome{Reason: "a panic interrupted the attempt"})
		}
	}()
	reply, got = f.client.exchange(ctx, f.op.call.Request, f.op.call.Body, f.op.terms, func() error { return f.clear(ctx) })
	returned = true
	return reply, got
}

// call returns the operation as adapters see it: a copy, since what is sent must
// stay as it is.
func (f *flight) call() contract.Call {
	c := f.op.call
	c.Request, c.Body = c.Request.Clone(c.Request.Context()), bytes.Clone(c.Body)
	c.FirstSent = f.firstSent
	return c
}

// classify asks the adapter, and takes no answer from it that cannot be.
func (c *Client) classify(call contract.Call, r contract.Reply) contract.Outcome {
	if u := (*unsent)(nil); errors.As(r.Err, &u) {
		return contract.Outcome{Status: contract.NotExecuted, Reason: "nothing was sent: " + u.reason}
	}
	o, err := guard("Classify", func() contract.Outcome { return c.adapter.Classify(call, r) })
	if err != nil {
		return contract.Outcome{Reason: err.Error()}
	}
	o.Source = contract.FromReply
	if !possible(o.Status, r) {
		return contract.Outcome{RetryAfter: o.RetryAfter, Reason: "the adapter read " + o.Status.String() + " from an answer that cannot show it"}
	}
	return o
}

// possible reports whether a reply can show the status at all: without a whole
// answer nothing is certain, but that a request which never left did nothing, and
// what the head of an answer says of a throttle, of work under way, or of a key
// that is bound to a saved error. An error or a redirect confirms no success.
func possible(s contract.Status, r contract.Reply) bool {
	switch {
	case s == contract.Unknown:
		return true
	case r.StatusCode == 0:
		return s == contract.NotExecuted && !r.Sent
	case r.Err != nil:
		return s == contract.NotExecuted || s == contract.InProgress || s == contract.KeySpent
	case s == contract.Succeeded:
		return good(r)
	default:
		return true
	}
}

// good reports whether the reply is a whole 2xx.
func good(r contract.Reply) bool {
	return r.Err == nil && r.StatusCode >= 200 && r.StatusCode < 300
}

// decide says what follows on the last answer: the one place that does.
func (f *flight) decide(ctx context.Context) {
	o := f.client.options
	v := f.verdict
	asked := v.Last.RetryAfter
	f.wait = max(asked, f.backoff())
	if f.hold != nil && f.sends == 0 {
		f.wait = asked // the last send was long ago
	}
	// A refusal of the last run need not be one of this run: credentials are mended.
	again := f.sends == 0 && (f.again || f.hold != nil && v.Last.Status == contract.Rejected && !v.Last.NoResend)
	if asked > 0 && !f.fits(ctx, f.wait) {
		f.wait = asked // no more than that, where there is no time for it
	}
	f.later = false
	switch {
	case v.Settled() && v.Next() != contract.Resend:
		f.next = v.Next()
	case v.Last.Next() != contract.Resend && !again:
		// Sending the same again cannot help: the provider said so, or would
		// refuse it again.
		f.next = f.giveUp()
	case v.Effect() == contract.EffectMaybe && !f.op.repeatable():
		// It may have arrived, and nothing would stop a second effect.
		f.next = f.giveUp()
	case f.age(f.wait) >= f.life():
		// By then the provider may have forgotten the key.
		f.next = f.giveUp()
	case f.sends >= o.MaxAttempts:
		f.next = f.giveUp()
	case asked > o.MaxWait, asked > 0 && !f.fits(ctx, asked):
		// The wait is the provider's, so it is for the caller to come again.
		f.next, f.later, f.wait = contract.Resend, true, asked
	case !f.fits(ctx, f.wait):
		f.next = f.giveUp()
	default:
		f.next = contract.Resend
	}
	if f.next != contract.Resend {
		f.wait = 0
	}
}

// giveUp returns the step that follows when no more is sent.
func (f *flight) giveUp() contract.Step {
	switch v := f.verdict; {
	case v.Effect() == contract.EffectMaybe:
		return contract.LookUp
	case v.Next() == contract.Resend:
		return contract.Finish // it did nothing, and that is the result
	default:
		return v.Next()
	}
}

// fits reports whether an attempt may start after the wait.
func (f *flight) fits(ctx context.Context, wait time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && wait >= time.Until(deadline) {
		return false
	}
	return wait <= f.client.options.MaxElapsed-time.Since(f.started)
}

// age returns how old the key will be after a wait. A clock that was set back
// makes it no younger, nor does a machine that slept.
func (f *flight) age(wait time.Duration) time.Duration {
	now := time.Now()
	age := max(now.Sub(f.firstSent), now.Round(0).Sub(f.firstSent.Round(0)), 0)
	if wait > contract.RetentionForever-age {
		return contract.RetentionForever
	}
	return age + wait
}

// life returns up to which age the operation may be sent. Clocks that are known to
// differ shorten it.
func (f *flight) life() time.Duration {
	if f.op.call.Key == "" {
		return contract.RetentionForever // repeated only where it needs no key
	}
	if f.op.terms.Idempotent {
		return contract.RetentionForever
	}
	life := f.client.options.keyLife(f.op.terms)
	if life == contract.RetentionForever || f.hold == nil {
		return life // within one call there is one clock
	}
	return life - f.skew
}

var errTooLate = errors.New("the key has become too old meanwhile")

// fresh is asked just before a send: Authorize may have taken its time.
func (f *flight) fresh() error {
	if f.age(0) >= f.life() {
		return errTooLate
	}
	return nil
}

// ready looks again after the wait: a machine may have slept meanwhile.
func (f *flight) ready(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err() // the timer and the context ended together
	}
	if f.fresh() != nil || time.Since(f.started) > f.client.options.MaxElapsed {
		f.next = f.giveUp()
		return errTooLate
	}
	return nil
}

// backoff returns our own wait before the next send: random between MinWait and a
// bound that doubles with each send, up to MaxWait.
func (f *flight) backoff() time.Duration {
	o := f.client.options
	bound := o.MinWait
	for range f.sends {
		if bound >= o.MaxWait/2 {
			bound = o.MaxWait
			break
		}
		bound *= 2
	}
	return o.MinWait + rand.N(bound-o.MinWait+1)
}

// sleep waits, and reports whether the context lived that long.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

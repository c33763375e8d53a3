package retry

import (
	"context"
	"log/slog"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal"
)

// AttemptEvent tells of one request that an operation made.
type AttemptEvent struct {
	Provider string
	KeyTag   string // a short hash of the operation's key, contract.KeyTag

	// Step is what the request was for: Resend for a send of the operation,
	// first or later; Resolve and LookUp for reads.
	Step    contract.Step
	Attempt int // sends of the operation so far, this one included

	Started    time.Time
	Duration   time.Duration
	StatusCode int // 0 when no response came

	Outcome contract.Outcome // what it revealed by itself
	Verdict contract.Verdict // what is known since
	Next    contract.Step    // what comes next
	Wait    time.Duration    // and after how long
}

// kinds are the words of the journal for what a request was for.
var kinds = map[contract.Step]string{contract.Resend: "send", contract.Resolve: "fetch", contract.LookUp: "look-up"}

// eventOf returns what the journal keeps of a request: what a send revealed by itself,
// and what is known since a read.
func eventOf(e AttemptEvent) journal.Event {
	o := e.Outcome
	if e.Step != contract.Resend {
		o = e.Verdict.Outcome
	}
	return journal.Event{
		At: e.Started, Took: e.Duration, Kind: kinds[e.Step], Attempt: e.Attempt, StatusCode: e.StatusCode,
		Status: o.Status, Code: o.Code, Resource: o.Resource, RequestID: o.RequestID, Reason: o.Reason,
	}
}

// tell reports a request that was just answered, or was not.
func (f *flight) tell(ctx context.Context, step contract.Step, started time.Time, r contract.Reply) {
	c, last := f.client, f.verdict.Last
	e := AttemptEvent{
		Provider: c.name, KeyTag: contract.KeyTag(f.op.call.Key),
		Step: step, Attempt: f.verdict.Attempts,
		Started: started, Duration: r.At.Sub(started), StatusCode: r.StatusCode,
		Verdict: own(f.verdict), Next: f.next, Wait: f.wait,
	}
	if step == contract.Resend {
		e.Outcome = last
	}
	c.options.Logger.LogAttrs(ctx, slog.LevelDebug, "idempact request",
		slog.String("provider", e.Provider), slog.String("key", e.KeyTag),
		slog.String("step", e.Step.String()), slog.Int("attempt", e.Attempt),
		slog.Int("http_status", e.StatusCode), slog.Duration("duration", e.Duration),
		slog.String("outcome", e.Outcome.Status.String()), slog.String("code", e.Outcome.Code),
		slog.String("verdict", e.Verdict.Status.String()),
		slog.String("next", e.Next.String()), slog.Duration("wait", e.Wait),
		slog.String("request_id", e.Outcome.RequestID))
	if f.hold != nil {
		f.events = append(f.events, eventOf(e))
	}
	if c.options.OnAttempt != nil {
		c.options.OnAttempt(ctx, e)
	}
}

package demo

import (
	"fmt"
	"io"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/retry"
)

// story is what idempact did for one payment, and last of all its verdict.
type story []retry.AttemptEvent

// Timeline is the story of one payment in plain words.
type Timeline struct {
	Provider string   `json:"provider"`
	Order    string   `json:"order"`
	Key      string   `json:"key"` // a short hash of it
	Effects  int      `json:"effects"`
	Verdict  string   `json:"verdict"`
	Steps    []string `json:"steps"`
}

// timelineOf picks the payment that shows most: the one with the most different
// things that happened to it.
func timelineOf(runs []run) *Timeline {
	var best *Timeline
	most := 0
	for _, r := range runs {
		for i, s := range r.stories {
			if n := s.interest(); n > most {
				most, best = n, s.timeline(r, i)
			}
		}
	}
	return best
}

// interest counts the different outcomes and kinds of requests of a story.
func (s story) interest() int {
	if len(s) < 2 {
		return 0
	}
	seen := map[any]bool{}
	for _, e := range s[:len(s)-1] {
		seen[e.Step] = true
		if e.Step == contract.Resend {
			seen[e.Outcome.Status] = true
		}
	}
	return len(seen)
}

func (s story) timeline(r run, i int) *Timeline {
	end := s[len(s)-1].Verdict
	t := &Timeline{
		Provider: r.shop, Order: r.payments[i].order, Key: s[0].KeyTag,
		Effects: r.effects[i], Verdict: end.Status.String(),
	}
	reads := 0
	for k, e := range s[:len(s)-1] {
		if e.Step == contract.LookUp {
			// A look-up takes many requests; they are one step to the reader.
			if reads++; s[k+1].Step == contract.LookUp {
				continue
			}
		}
		t.Steps = append(t.Steps, after(s[0].Started, e)+sentence(e, reads))
	}
	return t
}

func after(start time.Time, e retry.AttemptEvent) string {
	return fmt.Sprintf("%5d ms  ", e.Started.Sub(start).Milliseconds())
}

// sentence says what one request did.
func sentence(e retry.AttemptEvent, reads int) string {
	switch e.Step {
	case contract.LookUp:
		return fmt.Sprintf("looked it up among what exists: %d read(s), the last answered %s", reads, answered(e))
	case contract.Resolve:
		return fmt.Sprintf("fetched %s and compared it with what was asked: answered %s", e.Verdict.Resource, answered(e))
	default:
		return fmt.Sprintf("attempt %d, %s: %s; %s", e.Attempt, sameBytes(e.Attempt), reply(e), next(e))
	}
}

func sameBytes(attempt int) string {
	if attempt == 1 {
		return "the request goes out"
	}
	return "the same bytes under the same key"
}

func reply(e retry.AttemptEvent) string {
	if e.StatusCode == 0 {
		return e.Outcome.Reason
	}
	s := "answered " + answered(e)
	if e.Outcome.Code != "" {
		s += " " + e.Outcome.Code
	}
	return s + ": " + meanings[e.Outcome.Status]
}

func answered(e retry.AttemptEvent) string {
	if e.StatusCode == 0 {
		return "nothing"
	}
	s := fmt.Sprint(e.StatusCode)
	if e.Outcome.Replayed {
		s += " (stored)"
	}
	return s
}

// meanings says what each status means for the money.
var meanings = map[contract.Status]string{
	contract.Unknown:     "the money may have moved",
	contract.Succeeded:   "it is paid",
	contract.Duplicate:   "a payment exists under this key",
	contract.InProgress:  "an earlier request with this key is still running",
	contract.NotExecuted: "nothing happened",
	contract.Declined:    "refused, no money moved",
	contract.Rejected:    "refused, no money moved",
	contract.KeyReused:   "the key belongs to another request",
	contract.KeySpent:    "this saved error is all that the key will ever give",
}

func next(e retry.AttemptEvent) string {
	switch e.Next {
	case contract.Resend:
		return fmt.Sprintf("wait %v", e.Wait.Round(time.Millisecond))
	case contract.Resolve:
		return "fetch it"
	case contract.LookUp:
		return "do not send again, look it up"
	default:
		return "done"
	}
}

func (t *Timeline) writeText(w io.Writer) error {
	fmt.Fprintf(w, "\nOne payment through idempact, %s at %s (key %s…):\n\n", t.Order, t.Provider, t.Key)
	for _, s := range t.Steps {
		fmt.Fprintln(w, s)
	}
	_, err := fmt.Fprintf(w, "\nVerdict: %s. The provider's ledger holds %d payment(s) for it.\n", t.Verdict, t.Effects)
	return err
}

package journal

import (
	"slices"
	"time"

	"github.com/idempact/idempact/contract"
)

// MaxHistory is how many events an entry keeps, the latest of them.
const MaxHistory = 100

// Event is one thing that happened to an operation: for people, nothing decides by it.
type Event struct {
	At         time.Time     // when it began
	Took       time.Duration // until its answer came, or none did
	Kind       string        // "send", "fetch", "look-up" or "evidence"
	Attempt    int           // sends of the call so far
	StatusCode int           // of the answer; 0 without one
	Status     contract.Status
	Code       string // the provider's machine-readable code
	Resource   string // the provider's reference
	RequestID  string // the provider's id of the exchange, for support
	Reason     string // one line: why this status
}

// Remember adds events to the entry's history, those that it does not hold yet, and
// drops the oldest of too many.
func (e *Entry) Remember(events ...Event) {
	e.History = slices.Clone(e.History)
	for _, v := range events {
		v.At = time.UnixMicro(v.At.UnixMicro()).UTC()
		if !slices.Contains(e.History, v) {
			e.History = append(e.History, v)
		}
	}
	e.History = e.History[max(0, len(e.History)-MaxHistory):]
}

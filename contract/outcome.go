package contract

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Evidence says where an Outcome comes from.
type Evidence uint8

const (
	// FromReply: the answer to an attempt. It speaks of that attempt.
	FromReply Evidence = iota
	// FromLookUp: reading at the provider, by reference or by search.
	FromLookUp
	// FromOutside: a webhook, a statement line, a person.
	FromOutside

	evidenceCount
)

// String returns the source in words.
func (e Evidence) String() string {
	if e >= evidenceCount {
		return fmt.Sprintf("invalid evidence %d", uint8(e))
	}
	return [evidenceCount]string{"reply", "look-up", "outside"}[e]
}

// Outcome is what one answer, or the lack of one, revealed about an operation.
// It holds no credential, no body and no message text of the provider.
type Outcome struct {
	Status     Status
	NoResend   bool          // the provider said that resending cannot help; or the wait that it asks for outlives the key
	Replayed   bool          // the provider marked the answer as a stored one
	Resource   string        // the provider's reference to the resource, if it gave one; several, which are an alarm, joined with ", "
	State      string        // the provider's own word for the resource's state
	Code       string        // the provider's machine-readable code
	RetryAfter time.Duration // the wait that the provider asked for; 0 if none, never negative
	RequestID  string        // the provider's id of this exchange, for support
	Reason     string        // one line for people: why this status
	Source     Evidence      // where it comes from
}

// Next returns the next step, the provider's advice included: where it said that
// resending cannot help, a doubt is looked up at once and a proven nothing
// finishes.
func (o Outcome) Next() Step {
	if !o.NoResend {
		return o.Status.Next()
	}
	switch o.Status {
	case Unknown, InProgress:
		return LookUp
	case NotExecuted:
		return Finish
	default:
		return o.Status.Next()
	}
}

// AllowsNewKey reports whether the same business action may be tried again
// under a new key: only when it is proven that nothing took effect under this
// one. Where it is false, a new key may pay twice. A reply that says that the key
// belongs to another request does not allow it: that request may be the same
// action with a changed payload, and nothing is known of it. A fetched resource
// that proved to be another action's does.
func (o Outcome) AllowsNewKey() bool {
	if o.Status == KeyReused {
		return o.Source == FromLookUp
	}
	return o.Effect() == EffectNone
}

// Effect returns what the outcome means for the money.
func (o Outcome) Effect() Effect { return o.Status.Effect() }

// String returns the outcome in one line, for people. What does not print, in the
// provider's words too, shows as U+FFFD.
func (o Outcome) String() string {
	s := o.Status.String()
	if o.Replayed {
		s += ", replayed"
	}
	if o.Code != "" {
		s += ", code " + o.Code
	}
	if o.Resource != "" {
		s += ", resource " + o.Resource
	}
	if o.State != "" {
		s += " (" + o.State + ")"
	}
	if o.RetryAfter > 0 {
		s += ", wait " + o.RetryAfter.String()
	}
	if o.Reason != "" {
		s += ": " + o.Reason
	}
	return oneLine(s)
}

// oneLine keeps words that are not ours from forging a line of a log, or what a
// terminal shows.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// sane returns o with what no adapter may say replaced by the safe value.
func (o Outcome) sane() Outcome {
	if !o.Status.Valid() {
		o.Reason = "the adapter returned an " + o.Status.String()
		o.Status = Unknown
	}
	if o.Source >= evidenceCount {
		o.Source = FromReply
	}
	o.RetryAfter = max(o.RetryAfter, 0)
	return o.tidy()
}

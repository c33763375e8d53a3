package contract

import "fmt"

// Status is the normalised outcome of one attempt, and of a whole operation.
// The zero value, Unknown, is the safe one.
//
// A Status is also an error, so that errors.Is(err, contract.Declined) asks
// what an error of package retry means for the money.
type Status uint8

const (
	// Unknown: the request may or may not have taken effect. Never a failure:
	// resend it under the same key while that is safe, or look it up.
	Unknown Status = iota
	// Succeeded: the provider showed the resource. The effect exists; whether
	// the money has settled is the provider's State word.
	Succeeded
	// Duplicate: an earlier request took effect, under this key or on the same
	// object. Fetch it and compare it with what was asked before calling it
	// this operation's success.
	Duplicate
	// InProgress: an earlier request with this key, or the object, is being
	// worked on. Come back after the wait, with the same key.
	InProgress
	// NotExecuted: this attempt is proven to have done nothing.
	NotExecuted
	// Declined: executed and refused. Final for this operation: a new try is a
	// new operation with a new key.
	Declined
	// Rejected: refused before execution. Correct the request.
	Rejected
	// KeyReused: the key belongs to a different request. This request did
	// nothing; of the other one it says nothing.
	KeyReused
	// KeySpent: the key can no longer settle the operation, and the effect may
	// exist: look it up, never resend it.
	KeySpent

	statusCount
)

// Effect says what a Status means for the money.
type Effect uint8

const (
	// EffectMaybe: the effect may exist. No new key is allowed.
	EffectMaybe Effect = iota
	// EffectNone: nothing took effect.
	EffectNone
	// EffectApplied: the effect exists.
	EffectApplied

	effectCount
)

// Step is what is to be done next about an operation.
type Step uint8

const (
	// LookUp: find out by reading, never by sending again.
	LookUp Step = iota
	// Resend: send the same bytes with the same key, after the wait.
	Resend
	// Resolve: fetch the resource and compare it with what was asked.
	Resolve
	// Finish: nothing more is to be done.
	Finish
	// Correct: the request or its key is wrong and must be changed by a person
	// or a program that knows better; resending it cannot help.
	Correct

	stepCount
)

// statuses is the one table of what each status means.
var statuses = [statusCount]struct {
	name   string
	effect Effect
	next   Step
}{
	Unknown:     {"unknown", EffectMaybe, Resend},
	Succeeded:   {"succeeded", EffectApplied, Finish},
	Duplicate:   {"duplicate", EffectApplied, Resolve},
	InProgress:  {"in progress", EffectMaybe, Resend},
	NotExecuted: {"not executed", EffectNone, Resend},
	Declined:    {"declined", EffectNone, Finish},
	Rejected:    {"rejected", EffectNone, Correct},
	KeyReused:   {"key reused", EffectNone, Correct},
	KeySpent:    {"key spent", EffectMaybe, LookUp},
}

// Valid reports whether s is one of the nine statuses.
func (s Status) Valid() bool { return s < statusCount }

// String returns the status in words, for people.
func (s Status) String() string {
	if !s.Valid() {
		return fmt.Sprintf("invalid status %d", uint8(s))
	}
	return statuses[s].name
}

// Error returns the same as String.
func (s Status) Error() string { return s.String() }

// Effect returns what s means for the money: EffectMaybe for anything that is
// not a known status.
func (s Status) Effect() Effect {
	if !s.Valid() {
		return EffectMaybe
	}
	return statuses[s].effect
}

// Next returns the next step that s asks for by itself: LookUp for anything that
// is not a known status. Outcome.Next also knows what the provider advised, and
// the loop turns Resend into LookUp where the key is old, absent or not honoured.
func (s Status) Next() Step {
	if !s.Valid() {
		return LookUp
	}
	return statuses[s].next
}

// String returns the effect in one word.
func (e Effect) String() string {
	if e >= effectCount {
		return fmt.Sprintf("invalid effect %d", uint8(e))
	}
	return [effectCount]string{"maybe", "none", "applied"}[e]
}

// String returns the step in words.
func (s Step) String() string {
	if s >= stepCount {
		return fmt.Sprintf("invalid step %d", uint8(s))
	}
	return [stepCount]string{"look up", "resend", "resolve", "finish", "correct"}[s]
}

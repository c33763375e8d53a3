package contract

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Verdict is what all evidence about one operation together proves. The zero
// value is that of an operation of which nothing was ever sent.
type Verdict struct {
	Outcome            // the strongest evidence
	Last      Outcome  // the latest evidence, which may be weaker
	Attempts  int      // how many replies (or silences) were folded in
	Resources []string // every different reference seen to hold an effect of this operation

	// Confirmed says that the provider showed the effect (Succeeded), so that no
	// later evidence takes it away, also where an alarm made the Status a Duplicate.
	Confirmed bool
}

// Settled reports whether the evidence is final: the effect exists, or the
// provider executed and refused, or an authoritative look-up or a comparison
// showed that nothing of this operation exists.
func (v Verdict) Settled() bool { return rankOf(v.Outcome) >= rankFinal }

// DuplicateEffect returns the alarm when the evidence names more than one effect
// for this one operation, and nil otherwise.
func (v Verdict) DuplicateEffect() *DuplicateEffectError {
	if len(v.Resources) < 2 {
		return nil
	}
	return &DuplicateEffectError{Resources: slices.Clone(v.Resources)}
}

// DuplicateEffectError says that one operation shows two or more effects: money
// may have moved more than once, and a person must look.
type DuplicateEffectError struct {
	Resources []string // the provider's references to all of them
}

// Error names every resource.
func (e *DuplicateEffectError) Error() string {
	return oneLine(fmt.Sprintf("duplicate effect: one operation shows %d resources: %s",
		len(e.Resources), strings.Join(e.Resources, ", ")))
}

// The ranks order evidence by how much it proves. Folding keeps the higher rank.
const (
	rankAttempt  = iota // speaks of its own attempt alone: it did nothing
	rankProgress        // doubts, from the weakest
	rankUnknown
	rankSpent
	rankFinal // nothing exists, proven for the operation
	rankDuplicate
	rankSucceeded
)

func rankOf(o Outcome) int {
	switch o.Status {
	case Succeeded:
		return rankSucceeded
	case Duplicate:
		return rankDuplicate
	case Declined:
		return rankFinal
	case NotExecuted, KeyReused:
		// By absence only a look-up settles, and by comparison only a fetched
		// resource: a reply speaks of its own attempt, and of what happened
		// outside nobody can prove an absence.
		if o.Source == FromLookUp {
			return rankFinal
		}
		return rankAttempt
	case Rejected:
		return rankAttempt
	case InProgress:
		return rankProgress
	case KeySpent:
		return rankSpent
	default:
		return rankUnknown
	}
}

// Fold adds one piece of evidence to what is known. Its rules: a doubt is
// settled only by an effect, a decline, an authoritative look-up, or by
// comparing what a duplicate refers to; a success is never overturned; two
// different references are an alarm (see DuplicateEffect). An outcome that no
// adapter may return counts as Unknown.
//
// A request that was sent and of which nothing more is known, since the process
// died, is evidence as well: fold an Unknown before anything else. The zero
// Verdict is only for an operation of which nothing was sent.
func Fold(v Verdict, o Outcome) Verdict {
	o = o.sane()
	v.Confirmed = v.Confirmed || v.Status == Succeeded
	next := v
	next.Last = o
	next.Confirmed = v.Confirmed || o.Status == Succeeded
	if o.Source == FromReply {
		next.Attempts++
	}
	next.Resources = foldResources(v, o)
	switch {
	case fresh(v):
		next.Outcome = o
	case notOurs(v, o) && len(next.Resources) > 0:
		// One of several was somebody else's; what is left stands.
		next.Outcome = Outcome{
			Status: Duplicate, Resource: next.Resources[0], Source: v.Source,
			Reason: "what was compared is another request's; this reference is yet to be compared",
		}
	case supersedes(o, v):
		next.Outcome = carry(o, v.Outcome)
	}
	next.RetryAfter, next.NoResend = advice(v, next, o)
	if len(next.Resources) > 1 {
		next.Status = Duplicate
		next.Reason = next.DuplicateEffect().Error()
	}
	return next
}

// fresh reports whether v knows nothing at all: no attempt, no other evidence.
func fresh(v Verdict) bool {
	return v.Attempts == 0 && v.Outcome == Outcome{} && len(v.Resources) == 0
}

// notOurs reports whether o is the comparison that showed that what a duplicate
// refers to is not this operation. Against a success it counts for nothing.
func notOurs(v Verdict, o Outcome) bool {
	return !v.Confirmed && o.Status == KeyReused && o.Source == FromLookUp
}

// supersedes reports whether new evidence replaces what is known.
func supersedes(o Outcome, v Verdict) bool {
	newRank, oldRank := rankOf(o), rankOf(v.Outcome)
	switch {
	case v.Confirmed:
		return newRank == rankSucceeded && v.Resource == "" && o.Resource != ""
	case oldRank == rankDuplicate:
		return newRank > oldRank || notOurs(v, o) ||
			newRank == oldRank && v.Resource == "" && o.Resource != ""
	case v.Status == Declined:
		return newRank > oldRank || o.Status == Declined
	case v.Status == NotExecuted && o.Source == FromReply && o.Status != NotExecuted:
		return true // nothing is in doubt, and a later attempt says what to do
	case oldRank == rankFinal:
		// What was read before an attempt cannot speak of that attempt, so a new
		// doubt opens the operation again.
		return newRank > rankAttempt
	default:
		return newRank >= oldRank
	}
}

// advice returns the wait and the ban on resending that hold after o, where next
// may still lead to a resend: those of the latest reply, and a ban for as long as
// the doubt that it was given for. Reading says nothing about resending, so it
// takes neither back.
func advice(v, next Verdict, o Outcome) (wait time.Duration, noResend bool) {
	switch {
	case next.Settled() && next.Status != NotExecuted:
		return next.RetryAfter, next.NoResend
	case o.Source != FromReply:
		return max(o.RetryAfter, v.RetryAfter), o.NoResend || v.NoResend
	default:
		return o.RetryAfter, o.NoResend || v.NoResend && v.Effect() == EffectMaybe
	}
}

// carry returns the winning outcome with the reference that was known before, if
// it brings none itself and the effect is the same.
func carry(won, known Outcome) Outcome {
	if won.Resource == "" && won.Effect() == EffectApplied && known.Effect() == EffectApplied {
		won.Resource = known.Resource
	}
	return won
}

// foldResources returns the references that hold an effect of this operation.
func foldResources(v Verdict, o Outcome) []string {
	refs := slices.Clone(v.Resources)
	add := func(o Outcome) {
		if o.Effect() != EffectApplied {
			return
		}
		for ref := range strings.SplitSeq(o.Resource, ", ") {
			if ref != "" && !slices.Contains(refs, ref) {
				refs = append(refs, ref)
			}
		}
	}
	add(v.Outcome)
	if notOurs(v, o) {
		other := o.Resource
		if other == "" {
			other = v.Resource
		}
		return slices.DeleteFunc(refs, func(r string) bool { return r == other })
	}
	add(o)
	return refs
}

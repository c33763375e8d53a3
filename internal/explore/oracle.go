package explore

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
)

// oracle collects what the oracle has against a run.
type oracle struct {
	*operation
	ledger []fakes.Effect
	log    []fakes.Request
	broken []string
}

// judge returns the rules that a run broke. It knows what the provider did, what
// went over the wire, and what the callers were told.
func judge(op *operation, log []fakes.Request) []string {
	o := &oracle{operation: op, ledger: op.effects()}
	for _, r := range log {
		if op.ours(r) {
			o.log = append(o.log, r)
		}
	}
	o.once()
	o.same()
	o.wire()
	o.waits()
	if op.Remembered {
		o.young()
		o.remembers()
		o.leases()
	}
	for _, t := range op.tellings {
		o.truth(t)
		o.settled(t)
	}
	return o.broken
}

func (o *oracle) object(format string, args ...any) {
	o.broken = append(o.broken, fmt.Sprintf(format, args...))
}

// once: at most one effect, and none of what the provider refuses.
func (o *oracle) once() {
	if n := len(o.ledger); n > 1 {
		o.object("%d effects of one operation", n)
	}
	if o.Declines && len(o.ledger) > 0 {
		panic("explore: the fake executed what it declines")
	}
}

// same: one operation has one key and one content.
func (o *oracle) same() {
	var first *exchange
	for _, x := range o.exchanges {
		if x.read {
			continue
		}
		if first == nil {
			first = x
		}
		if x.content != first.content {
			o.object("send %q is another request than the first", x.tag)
		}
		if want := o.wireKey(o.order); x.key != want && o.KeyHeader != "" {
			o.object("send %q has not the operation's key", x.tag)
		}
		if o.Forgotten {
			o.object("send %q has no key, and nobody said that none is wanted", x.tag)
		}
	}
}

// wire: a send is at most one request, and goes nowhere else.
func (o *oracle) wire() {
	seen := map[string]int{}
	for _, r := range o.log {
		if tag := r.Header.Get(tagHeader); r.Method != http.MethodGet {
			if seen[tag]++; seen[tag] == 2 {
				o.object("send %q went over the wire more than once", tag)
			}
		}
	}
}

// waits: no send past the key's retention, less the margin, and none before the
// wait that the last answer asked for: of the same flight, or of the same caller
// as long as its process lives.
func (o *oracle) waits() {
	type flight struct {
		*process
		caller byte // 0 is all of them
		n      int  // 0 is all of them
	}
	first, floor := map[flight]time.Time{}, map[flight]time.Time{}
	life, bounded := o.life()
	for _, x := range o.exchanges {
		if x.read {
			continue
		}
		own, shared := flight{x.process, x.caller, 0}, flight{x.process, 0, x.flight}
		if first[shared].IsZero() {
			first[shared] = x.at
		}
		if age := x.at.Sub(first[shared]); bounded && age >= life {
			o.object("send %q at the key's age of %v", x.tag, age)
		}
		early := max(floor[own].Sub(x.at), floor[shared].Sub(x.at))
		if early > 0 {
			o.object("send %q came %v before the wait was over that the provider asked for", x.tag, early)
		}
		if !x.answered.IsZero() {
			floor[own], floor[shared] = x.answered.Add(x.asked), x.answered.Add(x.asked)
		}
	}
}

// young: no send when the provider may have forgotten the key since the first send,
// of whatever process, that counts: of the others the clients may know that they did
// nothing, and begin anew.
func (o *oracle) young() {
	var first time.Time
	if len(o.ledger) > 0 {
		first = o.ledger[0].Time
	}
	life, bounded := o.life()
	for _, x := range o.exchanges {
		if x.read {
			continue
		}
		if age := x.at.Sub(first); bounded && !first.IsZero() && age >= life {
			o.object("send %q at the age of %v, which the key has since another process sent it", x.tag, age)
		}
		if o.counts(x) && (first.IsZero() || x.at.Before(first)) {
			first = x.at
		}
	}
}

// counts reports whether the key has an age since the exchange, also where it took
// no effect: it could have, or its process ended around it, and the provider has no
// list that shows that it did not.
func (op *operation) counts(x *exchange) bool {
	return !op.Lists && (x.event.does != nothing && x.event.does != failsBefore || x.event.death != lives || x.lost)
}

// leases: of several processes one acts, the one that holds the lease.
func (o *oracle) leases() {
	for _, x := range o.exchanges {
		if !x.read && !x.leased {
			o.object("send %q is of a process that does not hold the operation's lease", x.tag)
		}
	}
}

// remembers: what a caller was told of the end of an operation, who comes after that is
// told as well, and nothing is sent for it. Who came before may be at work on it.
func (o *oracle) remembers() {
	for i, t := range o.tellings {
		if t.status != contract.Succeeded && t.status != contract.Declined {
			continue
		}
		for _, x := range o.exchanges[t.to:] {
			if !x.read && x.began.After(t.at) {
				o.object("send %q came after %c was told %q", x.tag, t.caller, t.status)
			}
		}
		for _, later := range o.tellings[i+1:] {
			if o.foundDeclined(t, later) {
				continue
			}
			if later.began.After(t.at) && (later.status != t.status || later.resource != t.resource) {
				o.object("%c was told %q of %s, and later %q of %s", t.caller, t.status, t.resource, later.status, later.resource)
			}
		}
		return
	}
}

// foundDeclined reports whether a look-up that was under way when t was told of the
// decline has found what the decline left behind: by the rules of contract.Fold it counts
// for more than the decline, until it is compared.
func (o *oracle) foundDeclined(t, later *telling) bool {
	return o.Declines && t.status == contract.Declined && later.status == contract.Duplicate && later.resource != "" && !later.alarm
}

// truth: what a caller was told is so.
func (o *oracle) truth(t *telling) {
	switch {
	case t.status == contract.Succeeded && t.effects == 0:
		o.object("%c was told %q, and there is no effect", t.caller, t.status)
	case t.status == contract.Succeeded && o.ledger[0].Resource != t.resource && t.resource != "":
		o.object("%c was told that %s exists, and the effect is %s", t.caller, t.resource, o.ledger[0].Resource)
	case t.status == contract.Duplicate && t.effects == 0 && !o.Declines: // a payment that was declined exists, too
		o.object("%c was told %q, and there is no effect", t.caller, t.status)
	case t.alarm && len(o.ledger) < 2:
		o.object("%c was alarmed of two effects, and there are not two", t.caller)
	case t.status.Effect() == contract.EffectNone:
		if tag := o.effectOf(t); tag != "" {
			o.object("%c was told %q, and send %q has taken effect", t.caller, t.status, tag)
		}
	}
}

// effectOf returns the send with an effect among those that the telling is about: with
// a journal all that were sent before, by whatever process.
func (o *oracle) effectOf(t *telling) string {
	about, from := map[string]bool{}, t.from
	if o.Remembered {
		from = 0
	}
	for _, x := range o.exchanges[from:t.to] {
		if x.process == t.process || o.Remembered {
			about[x.tag] = true
		}
	}
	for _, e := range o.ledger {
		for _, r := range o.log {
			if tag := r.Header.Get(tagHeader); r.ID == e.RequestID && about[tag] {
				return tag
			}
		}
	}
	return ""
}

// settled: with the faults used up, a caller that came to its end knows how it
// ended, unless the provider's own facts say that nobody can.
func (o *oracle) settled(t *telling) {
	if !t.final && t.calls < maxCalls {
		return
	}
	switch t.status {
	case contract.Succeeded:
	case contract.Declined:
		if !o.Declines {
			o.object("%c was told %q of what the provider takes", t.caller, t.status)
		}
	case contract.Rejected:
		if !o.refused(t) && !o.Forgotten {
			o.object("%c was told %q, and the provider refused nothing", t.caller, t.status)
		}
	case contract.KeyReused:
		o.object("%c was told %q, and no other request has the key", t.caller, t.status)
	case contract.Duplicate:
		if !o.readFailed(t) && !o.Declines {
			o.object("%c was left with %q, and no read had failed", t.caller, t.status)
		}
	case contract.KeySpent:
		if !o.spent() && !o.old(t) {
			o.object("%c was told %q, and the key is young and bound to no error", t.caller, t.status)
		}
	default:
		if !o.old(t) && !o.Keyless && !(o.Volatile && o.failed()) && !(o.Unmarked && o.saved()) {
			o.object("%c was left with %q after %d calls, and the key is young", t.caller, t.status, t.calls)
		}
	}
}

func (o *oracle) refused(t *telling) bool {
	for _, x := range o.exchanges[t.from:t.to] {
		if x.event.fault == o.Refusal {
			return true
		}
	}
	return false
}

// failed reports whether an answer came that is no success, and none that settles
// anything: an error of the provider's, or of somebody on the way.
func (o *oracle) failed() bool {
	return slices.ContainsFunc(o.log, func(r fakes.Request) bool {
		return r.Method != http.MethodGet && (r.Status/100 == 3 || r.Status == http.StatusForbidden || r.Status >= 500)
	})
}

func (o *oracle) readFailed(t *telling) bool {
	for _, x := range o.exchanges[t.from:t.to] {
		if x.read && x.event.fault != nil {
			return true
		}
	}
	return false
}

// spent reports whether the provider has given a saved server error.
func (o *oracle) spent() bool {
	for _, r := range o.log {
		if r.Replayed && r.Status >= 500 {
			return true
		}
	}
	return false
}

// old reports whether the key could not be sent any more when the caller would
// have come again.
func (o *oracle) old(t *telling) bool {
	life, bounded := o.life()
	_, comeBack := o.pace()
	return bounded && !o.began.IsZero() && t.at.Add(max(t.wait, comeBack)).Sub(o.began) >= life
}

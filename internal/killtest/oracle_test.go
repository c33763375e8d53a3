package killtest

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/journal"
)

// books is all that is known of a run from four sides.
type books struct {
	reports  []line                  // what children and callers were told
	effects  map[int][]fakes.Effect  // the ledgers' payments, by order
	requests map[int][]fakes.Request // what reached the providers, by order; no reads
	entries  map[int]journal.Entry   // the journal, by order
	orders   map[int]bool            // that anybody began
}

// ledger adds a fake's side.
func (b *books) ledger(s *fakes.Server) {
	order := map[string]int{}
	for n := range b.orders {
		order[orderName(n)] = n
	}
	keys := map[string]int{}
	for n := range b.orders {
		keys[keyOf(n)] = n
	}
	for _, e := range s.Effects() {
		if (e.Kind == "payment_intent" || e.Kind == "payment") && e.Action == "create" {
			n := order[e.Metadata["order"]] // 0, which nobody begins, for one that nobody knows
			b.effects[n] = append(b.effects[n], e)
		}
	}
	for _, r := range s.Requests() {
		if r.Method == "POST" {
			b.requests[keys[r.Key]] = append(b.requests[keys[r.Key]], r)
		}
	}
}

// judge returns what the four sides have against each other.
func (b *books) judge() []string {
	var broken []string
	object := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	if n := len(b.effects[0]); n > 0 {
		object("%d effects that nobody ordered: %+v", n, b.effects[0][0])
	}
	for _, l := range b.reports {
		if l.Status != "" {
			b.truth(l, object)
		}
	}
	for order := range b.orders {
		effects := b.effects[order]
		if len(effects) > 1 {
			object("%s has %d effects", orderName(order), len(effects))
		}
		requests := b.requests[order]
		for _, r := range requests {
			if !bytes.Equal(r.Body, requests[0].Body) {
				object("%s was sent with two contents", orderName(order))
				break
			}
		}
		e, known := b.entries[order]
		switch {
		case !known && len(effects)+len(requests) > 0:
			object("%s was sent, and the journal does not know it", orderName(order))
		case known:
			b.agree(order, e, object)
		}
	}
	return broken
}

// truth: what was told is so, then and now.
func (b *books) truth(l line, object func(string, ...any)) {
	effects, name := b.effects[l.Order], orderName(l.Order)
	switch {
	case l.Alarm:
		object("%s: an alarm of two effects, and there are %d", name, len(effects))
	case l.Status == contract.Succeeded.String():
		switch {
		case len(effects) != 1:
			object("%s was reported succeeded, and there are %d effects", name, len(effects))
		case effects[0].Time.After(l.At):
			object("%s was reported succeeded before it was", name)
		case l.Resource != "" && !sameResource(l.Resource, effects[0].Resource):
			object("%s was reported to be %s, and is %s", name, l.Resource, effects[0].Resource)
		}
	case l.Status == contract.Duplicate.String() && len(effects) == 0:
		object("%s was reported to exist, and it does not", name)
	case l.NewKey:
		// The order may be paid later, under its own key, by a later request.
		for _, e := range effects {
			if at, arrived := b.arrival(l.Order, e); !arrived || !at.After(l.Known) {
				object("%s was reported to be without effect (%s), and it had one, or one on its way", name, l.Status)
			}
		}
	}
}

// arrival returns when the request came that an effect is of.
func (b *books) arrival(order int, e fakes.Effect) (at time.Time, ok bool) {
	for _, r := range b.requests[order] {
		if r.ID == e.RequestID {
			return r.Time, true
		}
	}
	return at, false
}

// agree: the journal says what the ledger says. The one exception: what a provider
// saved as an error without an effect nobody can prove to be none.
func (b *books) agree(order int, e journal.Entry, object func(string, ...any)) {
	effects, v, name := b.effects[order], e.Verdict, orderName(order)
	switch {
	case v.Status == contract.Succeeded:
		switch {
		case len(effects) != 1:
			object("%s is succeeded in the journal, and has %d effects", name, len(effects))
		case !sameResource(v.Resource, effects[0].Resource):
			object("%s is %s in the journal, and %s in the ledger", name, v.Resource, effects[0].Resource)
		case !e.Settled:
			object("%s is succeeded in the journal, and not settled", name)
		}
	case len(effects) > 0:
		object("%s has an effect, and is %s in the journal: %s", name, v.Status, v.Reason)
	case v.Effect() == contract.EffectNone:
		if !e.Settled {
			object("%s did nothing by the journal, and is not settled", name)
		}
	case v.Status == contract.KeySpent || v.Status == contract.Unknown:
		if !b.spent(order) {
			object("%s is left %s, and its provider saved no error: %s", name, v.Status, v.Reason)
		}
	default:
		object("%s is left %s: %s", name, v.Status, v.Reason)
	}
}

// open returns how many operations are not settled and could be.
func (b *books) open() (n int) {
	for order, e := range b.entries {
		if !e.Settled && (!b.spent(order) || len(b.effects[order]) > 0) {
			n++
		}
	}
	return n
}

// spent reports whether the provider bound the order's key to an error before its
// effect.
func (b *books) spent(order int) bool {
	for _, r := range b.requests[order] {
		if r.Fault != nil && strings.HasPrefix(r.Fault.String(), "SaveErrorNoEffect") && r.Status >= 500 && !r.Replayed {
			return true
		}
	}
	return false
}

// sameResource compares a reference as an adapter gives it, which may be a path,
// with the ledger's.
func sameResource(told, is string) bool {
	return told == is || strings.HasSuffix(told, "/"+is)
}

package contracttest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http/httptrace"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/retry"
)

var repeatRules = []rule{
	newRule("one-effect", "a reply lost after the effect, then repeated over a reused connection: one effect, one request on the wire for each attempt", needKey|needLedger, checkOneEffect),
	newRule("repeat", "a repeat gets what the terms promise, and takes no second effect", needKey, checkRepeat),
	newRule("changed", "other parameters under a used key are never a success", needKey|needChanged, checkChanged),
	newRule("old-key", "a key older than its retention is never sent", needKey, checkOldKey),
	newRule("retention", "the provider remembers a key for as long as the terms say", needKey|needClock|needLedger, checkRetention),
	newRule("no-key", "without a key that the provider honours, a request that may have arrived is never sent again", 0, checkNoKey),
	newRule("amount", "amounts survive at the edges of int64, and are compared exactly", needAmount, checkAmount),
}

func checkOneEffect(p *probe) {
	for name, f := range inOrder(map[string]fault{"closed": loseReply, "reset": resetAfter}) {
		s := p.stage()
		d := p.client(p.spec.Adapter, s)
		p.open(d)
		s.script(f)
		result, _ := p.do(d, p.request(context.Background(), p.key(), 100))
		writes := s.writes()[1:]
		if len(writes) > 0 && !writes[0].reused {
			p.failf("%s: the connection was not used again, so the rule shows nothing", name)
		}
		if len(writes) != result.Attempts || len(writes) != 2 {
			p.failf("%s: %d requests on the wire for %d attempts, and 2 expected", name, len(writes), result.Attempts)
		}
		if all, _ := s.effects(); len(all) != 2 {
			p.failf("%s: the operation took effect %d times", name, len(all)-1)
		}
		_, resolves := p.spec.Adapter.(contract.Resolver)
		if resolves && result.Status != contract.Succeeded || result.Effect() != contract.EffectApplied {
			p.failf("%s: %v", name, result)
		}
	}
}

// open runs an operation on a connection of its own, and waits until that can be used
// again: net/http hands an answer out a moment before.
func (p *probe) open(d Doer) {
	idle := make(chan struct{}, 16)
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{PutIdleConn: func(error) {
		select {
		case idle <- struct{}{}:
		default:
		}
	}})
	if result, err := p.do(d, p.request(ctx, p.key(), 100)); err != nil {
		p.fatalf("the first operation, on a connection of its own: %v", result)
	}
	select {
	case <-idle:
	case <-time.After(5 * time.Second): // the rule then says that it was not used again
	}
}

func checkRepeat(p *probe) {
	s := p.stage()
	key := p.key()
	first, err := p.do(p.client(plain{p.spec.Adapter}, s, once), p.request(context.Background(), key, 100))
	if err != nil {
		p.fatalf("%v", first)
	}
	again, _ := p.do(p.client(plain{p.spec.Adapter}, s, once), p.request(context.Background(), key, 100))
	want := contract.Succeeded
	if p.terms.Repeat == contract.Conflicts {
		want = contract.Duplicate
	}
	switch {
	case again.Status != want:
		p.failf("the terms say that a repeat %v: %v", p.terms.Repeat, again)
	case again.Resource != first.Resource && (again.Resource != "" || p.terms.Repeat != contract.Conflicts):
		p.failf("the repeat shows %q, and the first request %q", again.Resource, first.Resource)
	}
	p.expectEffects(s, 1, "sent twice")
}

func checkChanged(p *probe) {
	for name, a := range inOrder(map[string]contract.Adapter{"with its look-ups": p.spec.Adapter, "without": plain{p.spec.Adapter}}) {
		s := p.stage()
		key := p.key()
		if result, err := p.do(p.client(a, s), p.request(context.Background(), key, 100)); err != nil {
			p.fatalf("%v", result)
		}
		result, err := p.do(p.client(a, s), p.changed(context.Background(), key, 100))
		switch {
		case err == nil || result.Status == contract.Succeeded:
			p.failf("%s: %v", name, result)
		case p.terms.Mismatch == contract.MismatchRefused && result.Status != contract.KeyReused:
			p.failf("%s: the terms say that it is refused, and it is not KeyReused: %v", name, result)
		}
		if p.terms.Mismatch != contract.MismatchUndocumented {
			p.expectEffects(s, 1, "other parameters "+name)
		}
		// The loop does not take every word of an adapter's; what it says counts too.
		c := p.sent(p.freeze(p.changed(context.Background(), key, 100)), key)
		if o := p.spec.Adapter.Classify(c, s.lastAnswer()); o.Status == contract.Succeeded {
			p.failf("%s: the adapter reads %v", name, o)
		}
	}
}

func checkOldKey(p *probe) {
	// A retention that is over before the shortest wait is: nobody waits for that.
	over := func(t *contract.Terms) { t.Retention, t.Idempotent = 2*time.Second, false }
	slow := func(o *retry.Options) { o.MinWait, o.MaxWait = 3*time.Second, 3*time.Second }
	type ended struct {
		fault  fault
		writes int
	}
	for name, c := range inOrder(map[string]ended{
		"a lost reply":   {loseReply, 1},
		"a throttle":     {instead(reply(429, "")), 1},
		"a refused dial": {refuseDial, 0},
	}) {
		s := p.stage()
		s.script(c.fault)
		result, err := p.do(p.client(withTerms(plain{p.spec.Adapter}, over), s, slow), p.request(context.Background(), p.key(), 100))
		p.expectWrites(s, c.writes, name+", with a key that is too old for more")
		if err == nil {
			p.failf("%s: %v", name, result)
		}
		if name == "a lost reply" && result.Effect() != contract.EffectMaybe {
			p.failf("%s: %v", name, result)
		}
	}
}

func checkRetention(p *probe) {
	age := p.terms.Retention - time.Second
	switch p.terms.Retention {
	case 0:
		p.skipf("the terms publish no retention")
	case contract.RetentionForever:
		age = 50 * 365 * 24 * time.Hour
	}
	s := p.stage()
	key := p.key()
	if result, err := p.do(p.client(p.spec.Adapter, s), p.request(context.Background(), key, 100)); err != nil {
		p.fatalf("%v", result)
	}
	s.fake.Advance(age)
	result, _ := p.do(p.client(plain{p.spec.Adapter}, s, once), p.request(context.Background(), key, 100))
	if all, _ := s.effects(); len(all) != 1 {
		p.failf("after %v the provider had forgotten the key: %d effects", age, len(all))
	}
	if result.Effect() != contract.EffectApplied {
		p.failf("a repeat after %v: %v", age, result)
	}
}

func checkNoKey(p *probe) {
	if p.terms.Idempotent {
		p.idempotent()
	}
	if !p.terms.HonoursKeys() && p.terms.Idempotent {
		return
	}
	adapters := map[string]contract.Adapter{
		"":                   withTerms(plain{p.spec.Adapter}, keyless),
		" with its look-ups": withTerms(p.spec.Adapter, keyless),
	}
	for name, a := range inOrder(adapters) {
		for what, f := range inOrder(map[string]fault{"EOF": loseReply, "reset": resetAfter, "502": pageAfter(502, page)}) {
			s := p.stage()
			s.script(f)
			key := p.key()
			req := p.request(context.Background(), key, 100)
			if p.terms.KeyHeader != "" {
				req.Header.Set(p.terms.KeyHeader, p.terms.FormatKey(key)) // sent, and not counted on
			}
			result, err := p.do(p.client(a, s), req)
			p.expectWrites(s, 1, what+", no key honoured"+name)
			if result.Effect() == contract.EffectNone || name == "" && !errors.Is(err, contract.Unknown) {
				p.failf("%s, no key honoured%s: %v", what, name, result)
			}
		}
	}
	p.withoutKey()
}

// idempotent expects of a request that is defined as safe to repeat without a key
// that it is.
func (p *probe) idempotent() {
	s := p.stage()
	for range 2 {
		_, _ = p.do(p.client(plain{p.spec.Adapter}, s, once), p.request(context.Background(), "", 100))
	}
	p.expectEffects(s, 1, "sent twice without a key, and defined as safe to repeat")
}

// withoutKey asks for a request without a key where the endpoint honours one.
func (p *probe) withoutKey() {
	if p.terms.KeyHeader == "" || p.terms.Idempotent {
		return
	}
	s := p.stage()
	s.script(loseReply)
	result, err := p.do(p.client(plain{p.spec.Adapter}, s), p.request(context.Background(), "", 100))
	if p.terms.KeyRequired {
		if !errors.Is(err, contract.Rejected) || len(s.writes()) > 0 {
			p.failf("a key is required, and a request without one: %v", result)
		}
		return
	}
	p.expectWrites(s, 1, "a request that is meant to have no key")
	if !errors.Is(err, contract.Unknown) {
		p.failf("a request that is meant to have no key: %v", result)
	}
}

func checkAmount(p *probe) {
	tried := 0
	for _, amount := range []int64{1, 1<<53 + 1, math.MaxInt64 - 2, math.MaxInt64} {
		s := p.stage()
		key := p.keyOrNone()
		if p.terms.HonoursKeys() {
			s.script(loseReply) // so that what exists is compared, where the provider says so
		}
		result, err := p.do(p.client(p.spec.Adapter, s), p.request(context.Background(), key, amount))
		if result.Status == contract.Rejected || result.Status == contract.Declined {
			continue // beyond the provider's own limits
		}
		tried++
		if err != nil && result.Effect() != contract.EffectApplied {
			p.failf("%d: %v", amount, result)
		}
		for _, w := range s.writes() {
			wire := string(w.body) + w.uri
			if !strings.Contains(wire, fmt.Sprint(amount)) && !strings.Contains(wire, decimal(amount)) {
				p.failf("%d: the wire shows another amount", amount)
			}
		}
		if all, ok := s.effects(); ok && !slices.Equal(all, []int64{amount}) {
			p.failf("%d: the ledger shows %v", amount, all)
		}
		// One less, which a float64 cannot tell from it.
		if near, err := p.do(p.client(p.spec.Adapter, s), p.request(context.Background(), key, amount-1)); p.terms.HonoursKeys() && err == nil {
			p.failf("%d under the key of %d: %v", amount-1, amount, near)
		}
	}
	if tried == 0 {
		p.skipf("the provider refuses every amount that is tried")
	}
}

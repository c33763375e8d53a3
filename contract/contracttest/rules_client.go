package contracttest

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/retry"
)

var clientRules = []rule{
	newRule("success", "the Spec's request succeeds: one request, one effect, and the resource", 0, checkSuccess),
	newRule("verdict", "the error is nil for a success and for nothing else, and says what the verdict says", 0, checkVerdict),
	newRule("lost", "reset, EOF, deadline and cancel after sending are Unknown, and nobody may pay again under a new key", 0, checkLost),
	newRule("refused-dial", "a refused dial is NotExecuted", 0, checkRefusedDial),
	newRule("doubt", "a doubt stays one, whatever refusal follows", needRepeat, checkDoubt),
	newRule("cut-on-wire", "an answer cut at any byte of the wire is Unknown through the whole loop", 0, checkCutOnWire),
	newRule("page", "a proxy's page, an empty answer and 204 in place of the answer are Unknown, and settled by a repeat", 0, checkPage),
	newRule("redirect", "no redirect of a write is followed", 0, checkRedirect),
	newRule("in-flight", "a request in flight is no failure, and is asked again after a wait", needKey, checkInFlight),
	newRule("wait-floor", "the provider's wait is a floor: what is too long to sit out is handed back", 0, checkWaitFloor),
}

// expectEffects compares the number of effects, where there is a ledger.
func (p *probe) expectEffects(s *stage, want int, when string) {
	if all, ok := s.effects(); ok && len(all) != want {
		p.failf("%s: %d effects, and %d expected", when, len(all), want)
	}
}

func (p *probe) expectWrites(s *stage, want int, when string) {
	if n := len(s.writes()); n != want {
		p.failf("%s: %d requests on the wire, and %d expected", when, n, want)
	}
}

func checkSuccess(p *probe) {
	s := p.stage()
	result, err := p.do(p.client(p.spec.Adapter, s), p.request(context.Background(), p.keyOrNone(), 100))
	if err != nil || result.Status != contract.Succeeded {
		p.fatalf("%v", result)
	}
	if result.Resource == "" && !p.bare(p.call("k", 100), result.Response.StatusCode) {
		p.failf("no resource, and no exchange documents a success without one")
	}
	p.expectWrites(s, 1, "one operation")
	p.expectEffects(s, 1, "one operation")
}

// keyOrNone returns a new key, or none for an endpoint that honours none.
func (p *probe) keyOrNone() string {
	if !p.terms.HonoursKeys() {
		return ""
	}
	return p.key()
}

// refusals returns the documented refusals of the Spec's endpoint.
func (p *probe) refusals() []Exchange {
	return p.documented(p.call("k", 100), func(x Exchange) bool {
		return x.states(contract.Rejected, contract.NotExecuted, contract.KeyReused)
	})
}

func checkVerdict(p *probe) {
	faults := map[string]fault{"success": {}, "lost": loseReply, "refused": refuseDial, "page": pageAfter(200, page)}
	for _, x := range p.documented(p.call("k", 100), func(Exchange) bool { return true }) {
		faults[x.Name] = instead(x.Reply)
	}
	for name, f := range inOrder(faults) {
		s := p.stage()
		s.script(f)
		key := p.keyOrNone()
		result, err := p.do(p.client(plain{p.spec.Adapter}, s, once), p.request(context.Background(), key, 100))
		switch {
		case (err == nil) != (result.Status == contract.Succeeded):
			p.failf("%s: the verdict is %v, and the error %v", name, result.Status, err)
		case err != nil && !errors.Is(err, result.Status):
			p.failf("%s: the verdict is %v, and errors.Is does not find it in %v", name, result.Status, err)
		case err != nil && retry.OutcomeOf(err).Status != result.Status:
			p.failf("%s: the verdict is %v, and OutcomeOf says %v", name, result.Status, retry.OutcomeOf(err).Status)
		case result.Attempts != max(len(s.writes()), 1):
			p.failf("%s: %d attempts, and %d requests on the wire", name, result.Attempts, len(s.writes()))
		}
		if f.instead == nil {
			continue
		}
		if o := p.spec.Adapter.Classify(p.call(key, 100), f.instead.reply()); o.Status != result.Status {
			p.failf("%s: the loop says %v, and the adapter %v", name, result.Status, o.Status)
		}
	}
}

// unknown expects that an operation ended in doubt, and says so.
func (p *probe) unknown(result *retry.Result, err error, when string) {
	switch {
	case !errors.Is(err, contract.Unknown) || result.Status != contract.Unknown:
		p.failf("%s: not Unknown but %v", when, result)
	case result.AllowsNewKey():
		p.failf("%s: a new key is allowed", when)
	}
}

func checkLost(p *probe) {
	deadline, cancelled := newEnding(context.DeadlineExceeded), newEnding(context.Canceled)
	for _, c := range []struct {
		name  string
		ctx   context.Context
		fault fault
	}{
		{"EOF", context.Background(), loseReply},
		{"reset", context.Background(), resetAfter},
		{"deadline", deadline, fault{end: deadline.end}},
		{"cancel", cancelled, fault{end: cancelled.end}},
	} {
		s := p.stage()
		s.script(c.fault)
		result, err := p.do(p.client(plain{p.spec.Adapter}, s, once), p.request(c.ctx, p.keyOrNone(), 100))
		p.unknown(result, err, c.name)
		if want := c.ctx.Err(); want != nil && !errors.Is(err, want) {
			p.failf("%s: the error does not say that the context ended", c.name)
		}
		p.expectWrites(s, 1, c.name)
		p.expectEffects(s, 1, c.name)
	}
}

func checkRefusedDial(p *probe) {
	s := p.stage()
	s.script(refuseDial)
	key := p.keyOrNone()
	result, err := p.do(p.client(plain{p.spec.Adapter}, s, once), p.request(context.Background(), key, 100))
	if !errors.Is(err, contract.NotExecuted) || !result.AllowsNewKey() {
		p.failf("not NotExecuted but %v", result)
	}
	p.expectWrites(s, 0, "refused")
	p.expectEffects(s, 0, "refused")
	s.script(refuseDial)
	if result, err := p.do(p.client(plain{p.spec.Adapter}, s), p.request(context.Background(), key, 100)); err != nil {
		p.failf("refused once, then not: %v", result)
	}
	p.expectEffects(s, 1, "refused once, then not")
}

func checkDoubt(p *probe) {
	faults := map[string]fault{"a refused dial": refuseDial}
	for _, x := range p.refusals() {
		faults[x.Name] = instead(x.Reply)
	}
	for name, f := range inOrder(faults) {
		s := p.stage()
		s.script(loseReply, f)
		s.always(refuseDial)
		result, err := p.do(p.client(plain{p.spec.Adapter}, s), p.request(context.Background(), p.keyOrNone(), 100))
		if err == nil || result.Effect() != contract.EffectMaybe || result.AllowsNewKey() {
			p.failf("a lost reply, then %s: %v", name, result)
		}
	}
}

func checkCutOnWire(p *probe) {
	s := p.stage()
	s.script(cutAt(0))
	d := p.client(plain{p.spec.Adapter}, s, once)
	_, _ = p.do(d, p.request(context.Background(), p.keyOrNone(), 100))
	size, step := s.lastSize(), 1
	if p.spec.Fake == nil {
		step = max(size/8, 1) // each cut is a payment
	}
	for n := 0; n < size; n += step {
		if p.spec.Fake != nil {
			s.fake = p.newFake() // a ledger of hundreds slows a fake down
		}
		s.script(cutAt(n))
		result, err := p.do(d, p.request(context.Background(), p.keyOrNone(), 100))
		if err == nil || result.Status != contract.Unknown {
			p.failf("cut after %d of %d bytes: %v", n, size, result)
		}
	}
}

func checkPage(p *probe) {
	for name, f := range inOrder(map[string]fault{
		"a page":          pageAfter(200, page, "Content-Type", "text/html"),
		"an empty answer": pageAfter(200, ""),
		"204":             pageAfter(204, ""),
		"502":             pageAfter(502, page, "Content-Type", "text/html"),
	}) {
		if f.page.body.Len() == 0 && p.bare(p.call("k", 100), f.page.status) {
			continue
		}
		s := p.stage()
		s.script(f)
		key := p.keyOrNone()
		result, err := p.do(p.client(plain{p.spec.Adapter}, s, once), p.request(context.Background(), key, 100))
		p.unknown(result, err, name)
		if !p.terms.HonoursKeys() {
			continue
		}
		s.script(f)
		if result, _ := p.do(p.client(p.spec.Adapter, s), p.request(context.Background(), key, 100)); result.Effect() != contract.EffectApplied {
			p.failf("%s, then the provider's own answer: %v", name, result)
		}
		p.expectEffects(s, 1, name)
	}
}

func checkRedirect(p *probe) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := p.stage()
		elsewhere := p.head("k", 100).Request.URL.JoinPath("elsewhere").String()
		s.script(instead(reply(status, "", "Location", elsewhere)))
		result, err := p.do(p.client(plain{p.spec.Adapter}, s, once), p.request(context.Background(), p.keyOrNone(), 100))
		if err == nil || result.Effect() != contract.EffectMaybe {
			p.failf("%d: %v", status, result)
		}
		p.expectWrites(s, 1, "a redirect")
		if len(s.reads) > 0 {
			p.failf("%d: the redirect was followed with a read", status)
		}
	}
}

func checkInFlight(p *probe) {
	all := p.documented(p.call("k", 100), func(x Exchange) bool { return x.states(contract.InProgress) })
	if len(all) == 0 {
		p.skipf("no exchange of the endpoint documents an answer in flight")
	}
	for _, x := range all {
		p.flown(x.Name, x.Reply)
		r := x.Reply
		r.Header = r.Header.Clone()
		r.Header.Del("Retry-After")
		if p.spec.Adapter.Classify(p.call(p.key(), 100), r).Status == contract.InProgress {
			p.flown(x.Name+" without Retry-After", r)
		}
	}
}

// flown expects that an answer in flight, given to every attempt, is asked again
// after a wait, or handed back with the wait that the provider asked for.
func (p *probe) flown(name string, r contract.Reply) {
	const shortest = 20 * time.Millisecond
	s := p.stage()
	s.always(instead(r))
	d := p.client(plain{p.spec.Adapter}, s, func(o *retry.Options) {
		o.MaxAttempts, o.MinWait, o.MaxWait = 2, shortest, shortest
		o.OnAttempt = func(_ context.Context, e retry.AttemptEvent) {
			if e.Next == contract.Resend && e.Wait < shortest {
				p.failf("%s: the loop waits %v before it asks again", name, e.Wait)
			}
		}
	})
	result, err := p.do(d, p.request(context.Background(), p.key(), 100))
	if !errors.Is(err, contract.InProgress) || result.AllowsNewKey() {
		p.failf("%s: %v", name, result)
	}
	writes := s.writes()
	asked := max(r.Wait(), p.terms.MinWait)
	switch {
	case asked > shortest && (len(writes) != 1 || result.RetryAfter < asked):
		p.failf("%s: the provider asks to wait %v; %d requests, and the verdict says %v", name, asked, len(writes), result.RetryAfter)
	case asked <= shortest && len(writes) < 2:
		p.failf("%s: not asked again", name)
	}
	for i := 1; i < len(writes); i++ {
		if gap := writes[i].at.Sub(writes[i-1].at); gap < shortest/2 {
			p.failf("%s: asked again after %v, without a wait", name, gap)
		}
	}
}

func checkWaitFloor(p *probe) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		s := p.stage()
		s.always(instead(reply(status, "", "Retry-After", "3600")))
		result, err := p.do(p.client(plain{p.spec.Adapter}, s), p.request(context.Background(), p.keyOrNone(), 100))
		if err == nil {
			p.failf("%d: %v", status, result)
		}
		p.expectWrites(s, 1, http.StatusText(status))
		if result.RetryAfter < time.Hour {
			p.failf("%d asks to wait an hour, and the verdict says %v", status, result.RetryAfter)
		}
	}
}

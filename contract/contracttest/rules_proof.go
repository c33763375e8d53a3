package contracttest

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/idempact/idempact/contract"
)

var proofRules = []rule{
	newRule("sent", "no answer to a request that may have left is Unknown, whatever ended it", 0, checkSent),
	newRule("unsent", "a request that never left is NotExecuted", 0, checkUnsent),
	newRule("server-error", "no 5xx proves absence or success unless an exchange from one of the terms' sources says so", 0, checkServerError),
	newRule("no-resource", "a 2xx without a resource, a page, an empty body and 204 are Unknown unless an exchange documents them", 0, checkNoResource),
	newRule("unrecognised", "an answer that the provider does not document is Unknown", 0, checkUnrecognised),
	newRule("timeout", "a status that says that somebody stopped waiting proves nothing, but for a code that tells of the key or a throttle", 0, checkTimeout),
	newRule("redirect-read", "a redirect proves nothing", 0, checkRedirectRead),
	newRule("cut", "a reply cut at any byte is Unknown, but for what its head alone says", 0, checkCut),
}

func checkSent(p *probe) {
	for _, c := range p.calls() {
		for what, err := range inOrder(endings) {
			o := p.spec.Adapter.Classify(c, contract.Reply{Err: err, Sent: true, At: repliedAt})
			if o.Status != contract.Unknown {
				p.failf("%s, ended by %s after it was sent: %v", where(c), what, o)
			}
		}
	}
}

func checkUnsent(p *probe) {
	for _, c := range p.calls() {
		for what, err := range inOrder(endings) {
			o := p.spec.Adapter.Classify(c, contract.Reply{Err: err, At: repliedAt})
			if o.Status != contract.NotExecuted {
				p.failf("%s, ended by %s before anything was sent: %v", where(c), what, o)
			}
		}
	}
}

// replies returns the exchanges' replies of an endpoint and the strange ones.
func (p *probe) replies(c contract.Call) []contract.Reply {
	var all []contract.Reply
	for _, x := range p.documented(c, func(Exchange) bool { return true }) {
		all = append(all, x.Reply)
	}
	for i, body := range strange {
		all = append(all, reply(0, body))
		if i%2 == 0 {
			all = append(all, reply(0, body, "Retry-After", "2"))
		}
	}
	return all
}

func checkServerError(p *probe) {
	for _, c := range p.calls() {
		terms := p.spec.Adapter.Terms(c)
		for _, r := range p.replies(c) {
			for _, status := range statuses(500, 600) {
				r.StatusCode = status
				o := p.spec.Adapter.Classify(c, r)
				if o.Effect() == contract.EffectMaybe {
					continue
				}
				proofs := p.documented(c, func(x Exchange) bool {
					return x.Reply.StatusCode == status && x.states(o.Status) && fromTerms(x, terms)
				})
				if len(proofs) == 0 {
					p.failf("%s, %d, %q: %v, and no exchange from a source of the terms says so", where(c), status, brief(r.Body), o)
				}
			}
		}
	}
}

// fromTerms reports whether an exchange comes from a source of the terms.
func fromTerms(x Exchange, t contract.Terms) bool {
	return slices.ContainsFunc(x.Sources, func(s contract.Source) bool {
		return slices.ContainsFunc(t.Sources, func(of contract.Source) bool { return of.URL == s.URL })
	})
}

// bare reports whether an empty answer of this status is documented as a success.
func (p *probe) bare(c contract.Call, status int) bool {
	return len(p.documented(c, func(x Exchange) bool {
		return x.Reply.StatusCode == status && len(x.Reply.Body) == 0 && x.states(contract.Succeeded)
	})) > 0
}

func checkNoResource(p *probe) {
	for _, c := range p.calls() {
		for _, status := range statuses(200, 300) {
			empty := p.bare(c, status)
			for _, body := range append(slices.Clone(strange), `{"error":{"message":"no"}}`, `{"errors":[{"title":"no"}]}`) {
				if body == "" && empty {
					continue
				}
				if o := p.spec.Adapter.Classify(c, reply(status, body)); o.Status != contract.Unknown {
					p.failf("%s, %d, %q: %v", where(c), status, brief([]byte(body)), o)
				}
			}
		}
	}
	for _, x := range p.exchanges {
		ref := x.Outcome["resource"]
		if !x.states(contract.Succeeded) || ref == "" {
			continue
		}
		for _, value := range []any{nil, "", 7, []any{}, "../" + ref, ref + "?a=b"} {
			r := x.Reply
			r.Body = replaceStrings(r.Body, ref, value)
			if o := p.spec.Adapter.Classify(x.Call(p.spec.Adapter), r); o.Status != contract.Unknown {
				p.failf("%s with the reference %v: %v", x.Name, value, o)
			}
		}
	}
}

// turnedAway are statuses that say by themselves that nothing was processed.
//
// Source: RFC 6585, section 4, and RFC 8470, section 5.2 (read 2026-11-29).
func turnedAway(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusTooEarly
}

func checkUnrecognised(p *probe) {
	for _, c := range p.calls() {
		for _, status := range statuses(100, 1000) {
			if status >= 200 && status < 400 || status >= 500 && status < 600 {
				continue // other rules
			}
			for _, body := range strange {
				o := p.spec.Adapter.Classify(c, reply(status, body))
				if o.Effect() == contract.EffectMaybe || o.Status == contract.NotExecuted && turnedAway(status) {
					continue
				}
				if len(p.documented(c, func(x Exchange) bool {
					return x.Reply.StatusCode == status && x.states(o.Status) && string(x.Reply.Body) == body
				})) == 0 {
					p.failf("%s, %d, %q: %v", where(c), status, brief([]byte(body)), o)
				}
			}
		}
	}
}

// timeouts are statuses that say that somebody stopped waiting, and nothing else.
var timeouts = []int{http.StatusRequestTimeout, 460, 499}

func checkTimeout(p *probe) {
	for _, x := range p.exchanges {
		c := x.Call(p.spec.Adapter)
		for _, status := range timeouts {
			r := x.Reply
			if r.StatusCode == status {
				continue // documented
			}
			r.StatusCode = status
			o := p.spec.Adapter.Classify(c, r)
			byCode := x.states(o.Status) && (o.Status == contract.KeyReused || o.Status == contract.NotExecuted)
			if o.Effect() != contract.EffectMaybe && !byCode {
				p.failf("%s with %d: %v", x.Name, status, o)
			}
		}
	}
}

func checkRedirectRead(p *probe) {
	for _, c := range p.calls() {
		for _, r := range p.replies(c) {
			r.Header = r.Header.Clone()
			r.Header.Set("Location", c.Request.URL.String())
			for _, status := range statuses(300, 400) {
				r.StatusCode = status
				if o := p.spec.Adapter.Classify(c, r); o.Effect() != contract.EffectMaybe {
					p.failf("%s, %d, %q: %v", where(c), status, brief(r.Body), o)
				}
			}
		}
	}
}

func checkCut(p *probe) {
	for _, x := range p.exchanges {
		c := x.Call(p.spec.Adapter)
		r := x.Reply
		whole := p.spec.Adapter.Classify(c, r)
		r.Body, r.Err = nil, io.ErrUnexpectedEOF
		head := p.spec.Adapter.Classify(c, r)
		if !p.saysAlone(head.Status, r.StatusCode) {
			p.failf("%s without its body: %v", x.Name, head)
		}
		end := len(strings.TrimSpace(string(x.Reply.Body)))
		for n := range len(x.Reply.Body) + 1 {
			r.Body, r.Err = x.Reply.Body[:n], io.ErrUnexpectedEOF
			if o := p.spec.Adapter.Classify(c, r); o.Status != contract.Unknown && o.Status != head.Status {
				p.failf("%s cut after %d bytes of its body: %v", x.Name, n, o)
			}
			if n == 0 || n >= end {
				continue
			}
			r.Err = nil // the end of the connection was all that ended it
			if o := p.spec.Adapter.Classify(c, r); o.Effect() != contract.EffectMaybe && (o.Status != head.Status || o.Status != whole.Status) {
				p.failf("%s cut after %d bytes of its body, which nothing tells: %v", x.Name, n, o)
			}
		}
	}
}

// saysAlone reports whether the head of an answer may show a status by itself: a
// throttle, work under way, or a doubt.
func (p *probe) saysAlone(s contract.Status, status int) bool {
	return s.Effect() == contract.EffectMaybe || s == contract.NotExecuted && turnedAway(status)
}

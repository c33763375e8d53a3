package contracttest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/idempact/idempact/contract"
)

var lookupRules = []rule{
	newRule("not-found", "what a look-up does not find right after the send is not absent: it may not be visible yet", needFinder|needFake, checkNotFound),
	newRule("found", "what a look-up finds is never a failure", needFinder|needFake, checkFound),
	newRule("unreadable", "a look-up whose answers cannot be read proves nothing, however late it comes", needFinder|needFake, checkUnreadable),
	newRule("reads", "a fetch or a look-up is a GET on the operation's own host, and no reference from the provider steers it", 0, checkReads),
	newRule("resolve", "a fetched resource is a success only if it can be read and is what was asked", needResolver, checkResolve),
}

func checkNotFound(p *probe) {
	for name, a := range inOrder(map[string]contract.Adapter{
		"its key in use":      p.spec.Adapter,
		"its key not counted": withTerms(p.spec.Adapter, keyless),
	}) {
		s := p.stage()
		s.replica = p.newFake().Handler // reads go to one that has not heard of it yet
		s.script(loseReply)
		req := p.request(context.Background(), p.keyOrNone(), 100)
		key, _ := contract.KeyFrom(req.Context())
		if p.terms.KeyHeader != "" {
			req.Header.Set(p.terms.KeyHeader, p.terms.FormatKey(key))
		}
		result, err := p.do(p.client(a, s, once), req)
		if err == nil || result.Effect() != contract.EffectMaybe {
			p.failf("%s: %v", name, result)
		}
	}
}

func checkFound(p *probe) {
	s := p.stage()
	s.script(loseReply)
	result, _ := p.do(p.client(p.spec.Adapter, s, once), p.request(context.Background(), p.keyOrNone(), 100))
	if result.Effect() == contract.EffectNone || result.DuplicateEffect() != nil {
		p.failf("%v", result)
	}
}

// unreadable are answers to a read that show nothing.
var unreadable = map[string]contract.Reply{
	"no answer":       {Sent: true, Err: io.EOF},
	"nothing sent":    {Err: errRefused},
	"500":             reply(500, `{"error":{"message":"no"}}`),
	"503 with a page": reply(503, page),
	"401":             reply(401, `{"error":{"message":"no"}}`),
	"403 with a page": reply(403, page),
	"404":             reply(404, ""),
	"429":             reply(429, "", "Retry-After", "1"),
	"a page":          reply(200, page),
	"nothing":         reply(200, ""),
	"204":             reply(204, ""),
	"an empty object": reply(200, "{}"),
	"an empty list":   reply(200, "[]"),
	"null":            reply(200, "null"),
	"a redirect":      reply(302, "", "Location", "/"),
}

func checkUnreadable(p *probe) {
	finder, _ := p.spec.Adapter.(contract.Finder)
	c := p.call(p.key(), 100)
	replies := map[string]contract.Reply{}
	for name, r := range inOrder(unreadable) {
		replies[name] = r
	}
	req, _, err := finder.Find(context.Background(), c, contract.Finding{}, nil)
	if req == nil {
		p.skipf("the Finder reads nothing for this request: %v", err)
	}
	listed := ask(p.newFake().Handler, p.credentials(req)).reply()
	for _, n := range []int{0, len(listed.Body) / 2, len(listed.Body)} {
		r := listed
		r.Body, r.Err = listed.Body[:n], io.ErrUnexpectedEOF
		replies[fmt.Sprintf("a list cut after %d bytes", n)] = r
	}
	for name, r := range inOrder(replies) {
		r.At = sentAt.AddDate(10, 0, 0) // nothing can still appear
		switch found, ended := follow(finder, c, r); {
		case !ended:
			p.failf("%s: the look-up does not end", name)
		case found.Absent:
			p.failf("%s: absent, for %q", name, found.Reason)
		}
	}
}

// follow gives a Finder one answer to all that it asks, and reports whether it came
// to an end.
func follow(f contract.Finder, c contract.Call, r contract.Reply) (contract.Finding, bool) {
	req, found, err := f.Find(context.Background(), c, contract.Finding{}, nil)
	for n := 0; req != nil && err == nil; n++ {
		if n == 100 {
			return found, false
		}
		req, found, err = f.Find(context.Background(), c, found, &r)
	}
	if err != nil {
		return contract.Finding{}, true // an error proves nothing
	}
	return found, true
}

// credentials gives a read the headers of the Spec's request, as the loop does.
func (p *probe) credentials(read *http.Request) *http.Request {
	own := p.head(p.keyOrNone(), 100).Request
	for _, name := range append(append(p.terms.ContractHeaders(), p.terms.CredentialHeaders...), "Authorization") {
		if values := contract.HeaderValues(own.Header, name); len(values) > 0 {
			read.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if read.Body == nil {
		read.Body = http.NoBody
	}
	read.RequestURI = read.URL.RequestURI()
	return read
}

func checkReads(p *probe) {
	resolver, resolves := p.spec.Adapter.(contract.Resolver)
	finder, finds := p.spec.Adapter.(contract.Finder)
	if !resolves && !finds {
		p.skipf("the adapter is neither a contract.Resolver nor a contract.Finder")
	}
	ctx := context.Background()
	for _, c := range p.calls() {
		if finds {
			if req, _, err := finder.Find(ctx, c, contract.Finding{}, nil); err == nil && req != nil {
				p.atHome(c, req, "the look-up")
			}
		}
		if !resolves {
			continue
		}
		for _, ref := range hostile {
			if ref == "" {
				continue // an action's object is known without one
			}
			req, err := resolver.ResolveRequest(ctx, c, contract.Outcome{Status: contract.Duplicate, Resource: ref})
			if err == nil && req != nil {
				p.failf("%s: the reference %q is fetched as %s; see contract.CheckReference", where(c), brief([]byte(ref)), req.URL)
			}
		}
	}
	for _, x := range p.exchanges {
		if !resolves || x.Outcome["resource"] == "" {
			continue
		}
		c := x.Call(p.spec.Adapter)
		if req, err := resolver.ResolveRequest(ctx, c, contract.Outcome{Status: contract.Duplicate, Resource: x.Outcome["resource"]}); err == nil && req != nil {
			p.atHome(c, req, "the fetch")
		}
	}
}

func (p *probe) atHome(c contract.Call, req *http.Request, what string) {
	own := c.Request.URL
	if req.Method != http.MethodGet || req.URL.Host != own.Host || req.URL.Scheme != own.Scheme || req.URL.User != nil || req.Body != nil && req.Body != http.NoBody {
		p.failf("%s: %s is %s %s", where(c), what, req.Method, req.URL)
	}
}

func checkResolve(p *probe) {
	resolver, _ := p.spec.Adapter.(contract.Resolver)
	for _, x := range p.exchanges {
		if x.Fetch != "" {
			c := x.Call(p.spec.Adapter)
			p.resolveBroken(resolver, c, p.spec.Adapter.Classify(c, x.Reply), x.Shown, x.Name)
		}
	}
	p.resolveLive(resolver)
}

// resolveBroken expects that what a fetch does not show whole stays a Duplicate.
func (p *probe) resolveBroken(resolver contract.Resolver, c contract.Call, o contract.Outcome, shown contract.Reply, name string) {
	expect := func(r contract.Reply, what string) {
		if got := resolver.ClassifyResolve(c, o, r); got.Status != contract.Duplicate {
			p.failf("%s, %s: %v", name, what, got)
		}
	}
	for what, r := range inOrder(unreadable) {
		expect(r, what)
	}
	for n := range len(shown.Body) {
		r := shown
		r.Body, r.Err = shown.Body[:n], io.ErrUnexpectedEOF
		expect(r, fmt.Sprintf("cut after %d bytes", n))
	}
	whole := shown
	whole.Err = io.ErrUnexpectedEOF
	expect(whole, "cut at its end")
	late := shown
	late.StatusCode = 500
	expect(late, "a whole body with 500")
	other := shown
	other.Body = replaceStrings(shown.Body, o.Resource, "another")
	if got := resolver.ClassifyResolve(c, o, other); o.Resource != "" && got.Status == contract.Succeeded {
		p.failf("%s, another resource than was asked for: %v", name, got)
	}
}

// resolveLive makes the Spec's request succeed, fetches what it made, and changes
// what the fetch shows.
func (p *probe) resolveLive(resolver contract.Resolver) {
	for _, amount := range []int64{1009, 1<<53 + 1, math.MaxInt64} {
		s := p.stage()
		key := p.keyOrNone()
		result, err := p.do(p.client(plain{p.spec.Adapter}, s, once), p.request(context.Background(), key, amount))
		if err != nil || result.Resource == "" {
			continue // beyond the provider's limits, or nothing to refer to
		}
		c := p.call(key, amount)
		o := contract.Outcome{Status: contract.Duplicate, Resource: result.Resource}
		req, err := resolver.ResolveRequest(context.Background(), c, o)
		if err != nil || req == nil {
			continue // it stays a Duplicate, which is safe
		}
		shown := ask(s.fake.Handler, p.credentials(req)).reply()
		if got := resolver.ClassifyResolve(c, o, shown); got.Status != contract.Succeeded {
			p.failf("%d: what was made is not recognised: %v", amount, got)
		}
		p.resolveBroken(resolver, c, o, shown, fmt.Sprintf("the fetch of %d", amount))
		coined := shown
		coined.Body = replaceField(shown.Body, "currency", "xts")
		if got := resolver.ClassifyResolve(c, o, coined); got.Status == contract.Succeeded && string(coined.Body) != string(shown.Body) && strings.Contains(string(c.Body), "currency") {
			p.failf("%d: another currency is shown than was asked for: %v", amount, got)
		}
		for _, other := range []int64{amount - 1, -amount, 0} {
			r := shown
			r.Body = replaceAmount(shown.Body, amount, other)
			if string(r.Body) == string(shown.Body) {
				continue
			}
			if got := resolver.ClassifyResolve(c, o, r); got.Status == contract.Succeeded {
				p.failf("%d was asked, %d is shown: %v", amount, other, got)
			}
		}
	}
}

// replaceAmount replaces an amount in a JSON body: a number, a string, or a string in
// whole units with two decimals.
func replaceAmount(body []byte, old, value int64) []byte {
	if text := string(body); !strings.Contains(text, strconv.FormatInt(old, 10)) && !strings.Contains(text, decimal(old)) {
		return body
	}
	return rewrite(body, func(v any) (any, bool) {
		switch v {
		case json.Number(strconv.FormatInt(old, 10)):
			return value, true
		case strconv.FormatInt(old, 10):
			return strconv.FormatInt(value, 10), true
		case decimal(old):
			return decimal(value), true
		}
		return v, false
	})
}

// decimal spells an amount in whole units with two decimals, as an Endpoint's example
// does: 25.00.
func decimal(amount int64) string {
	sign := ""
	if amount < 0 {
		sign, amount = "-", -amount
	}
	return fmt.Sprintf("%s%d.%02d", sign, amount/100, amount%100)
}

// replaceField replaces the strings that stand under a name in a JSON body.
func replaceField(body []byte, name, value string) []byte {
	old := regexp.MustCompile(`("` + name + `":\s*)"[^"]*"`)
	return old.ReplaceAll(body, []byte(`${1}"`+value+`"`))
}

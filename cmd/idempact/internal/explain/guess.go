package explain

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/idempact/idempact/cmd/idempact/internal/answer"
	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/internal/catalog"
)

// Guess returns the provider whose answer this is, and why: its host, a header that is
// no other provider's, or a body of a shape that only its documented answers have. It is
// no guess where two providers are as likely.
func Guess(a *answer.Answer) (catalog.Provider, string, error) {
	for _, by := range []func(*answer.Answer) (catalog.Provider, string){byHost, byHeader, byShape, byMembers} {
		if p, why := by(a); p.Name != "" {
			return p, why, nil
		}
	}
	return catalog.Provider{}, "", fmt.Errorf("nothing in the answer tells whose it is")
}

func byHost(a *answer.Answer) (catalog.Provider, string) {
	if a.URL == nil || a.URL.Host == "" {
		return catalog.Provider{}, ""
	}
	if p, ok := ProviderOf(a.URL.Hostname()); ok {
		return p, "the request went to " + strings.Trim(strconv.QuoteToASCII(a.URL.Hostname()), `"`)
	}
	return catalog.Provider{}, ""
}

// hosts returns the hosts of a provider's endpoints.
func hosts(p catalog.Provider) (all []string) {
	list, ok := p.New().(contract.Catalog)
	if !ok {
		return nil
	}
	for _, e := range list.Endpoints() {
		if u, err := url.Parse(e.URL); err == nil && !slices.Contains(all, u.Hostname()) {
			all = append(all, u.Hostname())
		}
	}
	return all
}

// domain returns the last two labels of a host.
func domain(host string) string {
	labels := strings.Split(host, ".")
	return strings.ToLower(strings.Join(labels[max(0, len(labels)-2):], "."))
}

// common are headers that tell nothing, though one provider's documents alone may show
// them: those of HTTP, and of what stands before many a server.
var common = []string{
	"Accept", "Accept-Ranges", "Age", "Allow", "Alt-Svc", "Authorization", "Cache-Control", "Connection", "Content-Encoding", "Content-Language", "Content-Length",
	"Content-Security-Policy", "Content-Type", "Date", "Etag", "Expires", "Host", "Idempotency-Key", "Idempotent-Replayed", "Last-Modified", "Link", "Location",
	"Nel", "Per-Page", "Pragma", "Prefer", "Preference-Applied", "Referrer-Policy", "Report-To", "Request-Id", "Retry-After", "Server", "Server-Timing",
	"Set-Cookie", "Strict-Transport-Security", "Total", "Traceparent", "Tracestate", "Trailer", "Transfer-Encoding", "User-Agent", "Vary", "Via",
	"Www-Authenticate", "X-Api-Key", "X-Cache", "X-Correlation-Id", "X-Content-Type-Options", "X-Frame-Options", "X-Powered-By", "X-Request-Id", "X-Runtime",
	"X-Trace-Id", "X-Xss-Protection",
}

// commonPrefixes begin the names of more of them.
var commonPrefixes = []string{"Access-Control-", "Cf-", "Ratelimit", "Sec-", "X-Amz", "X-Cloud-Trace", "X-Envoy-", "X-Forwarded-", "X-Ratelimit"}

// tells reports whether a header can tell whose an answer is.
func tells(name string) bool {
	return !slices.Contains(common, name) && !slices.ContainsFunc(commonPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// headerOwners are the providers that name a header.
var headerOwners = sync.OnceValue(func() map[string][]string {
	owners := map[string][]string{}
	for _, p := range catalog.Providers {
		for _, name := range headersOf(p) {
			if !slices.Contains(owners[name], p.Name) {
				owners[name] = append(owners[name], p.Name)
			}
		}
	}
	return owners
})

func byHeader(a *answer.Answer) (catalog.Provider, string) {
	owners := headerOwners()
	var names []string
	for _, h := range []http.Header{a.RequestHeader, a.Header} {
		for name := range h {
			if name = http.CanonicalHeaderKey(name); len(owners[name]) == 1 && tells(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if owners[name][0] != owners[names[0]][0] {
			return catalog.Provider{}, "" // two providers' at once, as behind a proxy that adds its own
		}
	}
	if len(names) == 0 {
		return catalog.Provider{}, ""
	}
	p, _ := catalog.Find(owners[names[0]][0])
	return p, "the header " + names[0] + " is no other provider's"
}

// headersOf returns the headers that a provider's contract and its documented exchanges
// name.
func headersOf(p catalog.Provider) (all []string) {
	groups, _ := p.Groups()
	for _, g := range groups {
		t := g.Terms
		for _, name := range append(append(t.ContractHeaders(), t.KeyHeader, t.ReplayMarker), append(t.WaitHeaders, t.CredentialHeaders...)...) {
			if name != "" {
				all = append(all, http.CanonicalHeaderKey(name))
			}
		}
	}
	adapter := p.New()
	for _, e := range exchanges(p) {
		for _, h := range []http.Header{e.Call(adapter).Request.Header, e.Reply.Header} {
			for name := range h {
				all = append(all, http.CanonicalHeaderKey(name))
			}
		}
	}
	return all
}

// A shape must have this many members, this much in common with a documented one, and
// this much more than with any of another provider's: {"error": "…"} is everybody's.
const (
	fewest     = 2
	likeEnough = 0.6
	leadEnough = 0.15
)

func byShape(a *answer.Answer) (catalog.Provider, string) {
	return byShapeBut(a, func(catalog.Provider, example) bool { return false })
}

// byMembers goes by members that stand in the documented answers of one provider alone:
// a whole answer has many more than the documents show of it.
func byMembers(a *answer.Answer) (catalog.Provider, string) {
	return byMembersBut(a, func(catalog.Provider, example) bool { return false })
}

// enough is how many members of its own a provider must have in an answer, and no other
// provider any. The kind of the object alone is enough, and goes first.
const enough = 2

// byMembersBut guesses without some of the documented answers.
func byMembersBut(a *answer.Answer, without func(catalog.Provider, example) bool) (catalog.Provider, string) {
	kinds, members := map[string]int{}, map[string]int{} // of one provider alone, by its name
	for path := range shapeOf(a.Body) {
		owners := slices.DeleteFunc(slices.Clone(catalog.Providers), func(p catalog.Provider) bool {
			return !slices.ContainsFunc(exchanges(p), func(e example) bool { return e.shape[path] && !without(p, e) })
		})
		switch {
		case len(owners) != 1 || strings.HasPrefix(path, "metadata."): // the caller's own
		case strings.Contains(path, " "):
			kinds[owners[0].Name]++
		default:
			members[owners[0].Name]++
		}
	}
	if len(kinds) == 1 {
		p, _ := catalog.Find(slices.Collect(maps.Keys(kinds))[0])
		return p, "it alone documents objects of this kind"
	}
	if len(kinds) == 0 && len(members) == 1 {
		name := slices.Collect(maps.Keys(members))[0]
		if p, _ := catalog.Find(name); members[name] >= enough {
			return p, "it alone documents members of these names"
		}
	}
	return catalog.Provider{}, ""
}

// byShapeBut guesses without some of the documented answers.
func byShapeBut(a *answer.Answer, without func(catalog.Provider, example) bool) (catalog.Provider, string) {
	shape := shapeOf(a.Body)
	if len(shape) < fewest {
		return catalog.Provider{}, ""
	}
	var best, second float64
	var who catalog.Provider
	var like example
	for _, p := range catalog.Providers {
		score, e := likest(p, shape, a.Status, without)
		if score > best {
			best, second, who, like = score, best, p, e
		} else {
			second = max(second, score)
		}
	}
	if best < likeEnough || best-second < leadEnough {
		return catalog.Provider{}, ""
	}
	return who, "the body has the shape of a documented answer: " + strings.TrimSuffix(like.About, ".")
}

// likest returns how much the shape is like that of a provider's documented answer with
// the status, and which.
func likest(p catalog.Provider, shape map[string]bool, status int, without func(catalog.Provider, example) bool) (best float64, like example) {
	for _, e := range exchanges(p) {
		if without(p, e) {
			continue
		}
		score := similarity(shape, e.shape)
		if e.Reply.StatusCode != status {
			score *= 0.8
		}
		if score > best {
			best, like = score, e
		}
	}
	return best, like
}

// ProviderOf returns the provider of a host.
func ProviderOf(host string) (catalog.Provider, bool) {
	for _, p := range catalog.Providers {
		for _, h := range hosts(p) {
			if domain(h) == domain(host) {
				return p, true
			}
		}
	}
	return catalog.Provider{}, false
}

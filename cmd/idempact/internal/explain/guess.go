package explain

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/idempact/idempact/cmd/idempact/internal/answer"
	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/internal/catalog"
)

// Guess returns the provider whose answer this is, and why: its host, a header that is
// no other provider's, or a body of a shape that only its documented answers have. It is
// no guess where two providers are as likely.
func Guess(a *answer.Answer) (catalog.Provider, string, error) {
	for _, by := range []func(*answer.Answer) (catalog.Provider, string){byHost, byHeader, byShape} {
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
		return p, "the request went to " + a.URL.Hostname()
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
// them.
var common = []string{
	"Accept", "Authorization", "Cache-Control", "Connection", "Content-Encoding", "Content-Language", "Content-Length", "Content-Type",
	"Date", "Etag", "Expires", "Host", "Idempotency-Key", "Idempotent-Replayed", "Link", "Location", "Per-Page", "Pragma", "Prefer", "Ratelimit",
	"Ratelimit-Limit", "Ratelimit-Policy", "Ratelimit-Remaining", "Ratelimit-Reset", "Retry-After", "Server", "Total",
	"Transfer-Encoding", "User-Agent", "Vary", "Via", "X-Api-Key", "X-Ratelimit-Reset", "X-Request-Id",
}

func byHeader(a *answer.Answer) (catalog.Provider, string) {
	owners := map[string][]string{}
	for _, p := range catalog.Providers {
		for _, name := range headersOf(p) {
			if !slices.Contains(owners[name], p.Name) {
				owners[name] = append(owners[name], p.Name)
			}
		}
	}
	for _, h := range []http.Header{a.RequestHeader, a.Header} {
		for name := range h {
			name = http.CanonicalHeaderKey(name)
			if who := owners[name]; len(who) == 1 && !slices.Contains(common, name) {
				p, _ := catalog.Find(who[0])
				return p, "the header " + name + " is no other provider's"
			}
		}
	}
	return catalog.Provider{}, ""
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

// A shape must have this much in common with a documented one, and more than with any of
// another provider's.
const (
	likeEnough = 0.5
	leadEnough = 0.1
)

func byShape(a *answer.Answer) (catalog.Provider, string) {
	shape := shapeOf(a.Body)
	if len(shape) == 0 {
		return catalog.Provider{}, ""
	}
	var best, second float64
	var who catalog.Provider
	var like contracttest.Exchange
	for _, p := range catalog.Providers {
		score, e := likest(p, shape, a.Status)
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
func likest(p catalog.Provider, shape map[string]bool, status int) (best float64, like contracttest.Exchange) {
	for _, e := range exchanges(p) {
		score := similarity(shape, shapeOf(e.Reply.Body))
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

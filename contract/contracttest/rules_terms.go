package contracttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

var specRules = []rule{
	newRule("spec", "a Spec is whole, and the same key and amount give the same request", 0, checkSpec),
	newRule("name", "an adapter's name is lower case and stays the same: it is part of every journal entry", 0, checkName),
}

var termsRules = []rule{
	newRule("sources", "terms that promise anything name their sources, with the date each was read", 0, checkSources),
	newRule("terms-pure", "terms depend on the request alone, and asking for them changes nothing", 0, checkTermsPure),
	newRule("terms-agree", "terms do not contradict themselves", 0, checkTermsAgree),
	newRule("answers", "an answer that the terms name is taken for what it means wherever an exchange shows it", 0, checkAnswers),
	newRule("endpoints", "the endpoints that an adapter lists are examples of writes, with the terms of what they show", 0, checkEndpoints),
	newRule("least-promise", "what the documents do not name is promised nothing: not a read, not another method or path", 0, checkLeastPromise),
}

// incomplete returns what no rule can do without.
func (s *Spec) incomplete() error {
	switch {
	case s.Adapter == nil || reflect.ValueOf(s.Adapter).Kind() == reflect.Pointer && reflect.ValueOf(s.Adapter).IsNil():
		return errors.New("the Spec needs an Adapter")
	case s.Request == nil:
		return errors.New("the Spec needs a Request that succeeds")
	case s.Fake == nil && s.Sandbox == nil:
		return errors.New("the Spec needs a Fake, or a Sandbox")
	case s.Fake != nil && s.Fake().Handler == nil:
		return errors.New("the Fake needs a Handler")
	case s.Exchanges == nil:
		return errors.New(`the Spec needs Exchanges, such as os.DirFS("testdata")`)
	}
	if _, err := Exchanges(s.Exchanges); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return errors.New("the Spec's Exchanges cannot be read")
		}
		return fmt.Errorf("the Spec's Exchanges: %w", err)
	}
	req, err := s.Request("k", 1)
	switch {
	case err != nil:
		return fmt.Errorf("the Spec's Request: %w", err)
	case req == nil || req.URL == nil || req.URL.Host == "":
		return errors.New("the Spec's Request has no absolute URL")
	case !isWrite(req.Method):
		return errors.New("the Spec's Request is a read, which is no operation")
	}
	return nil
}

func checkSpec(p *probe) {
	key := p.key()
	a, b := p.head(key, 100), p.head(key, 100)
	if !bytes.Equal(a.Body, b.Body) || a.Request.URL.String() != b.Request.URL.String() || !reflect.DeepEqual(a.Request.Header, b.Request.Header) {
		p.failf("Request returns another request for the same key and amount")
	}
	if p.terms.KeyField != "" {
		if got := carriedKey(p.terms, a); got != key {
			p.failf("the key belongs into the body field %q, where Request puts %q", p.terms.KeyField, got)
		}
	}
	if p.spec.Changed == nil {
		return
	}
	c, err := p.spec.Changed(key)
	switch {
	case err != nil:
		p.failf("Changed: %v", err)
	case c.Method != a.Request.Method || c.URL.Host != a.Request.URL.Host:
		p.failf("Changed returns a request of another endpoint")
	}
}

func checkName(p *probe) {
	name := p.spec.Adapter.Name()
	switch {
	case name == "" || strings.ToLower(name) != name || contract.CheckReference(name) != nil:
		p.failf("the name is %q: lower case letters, digits and -._~ can stand in any place", name)
	case p.spec.Adapter.Name() != name:
		p.failf("the name was %q, and is %q now", name, p.spec.Adapter.Name())
	}
}

// promises reports whether terms promise anything.
func promises(t contract.Terms) bool {
	return t.HonoursKeys() || t.Idempotent || t.KeyRequired || t.Retention != 0 ||
		t.Repeat != contract.RepeatsNothing || t.Mismatch != contract.MismatchUndocumented
}

func checkSources(p *probe) {
	for _, c := range p.calls() {
		t := p.spec.Adapter.Terms(c)
		if promises(t) && len(t.Sources) == 0 {
			p.failf("%s promises something, and names no source", where(c))
		}
		for _, s := range t.Sources {
			if err := checkSource(s); err != nil {
				p.failf("%s: %v", where(c), err)
			}
		}
	}
}

func where(c contract.Call) string { return c.Request.Method + " " + c.Request.URL.Path }

// checkSource returns what a source lacks.
func checkSource(s contract.Source) error {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("the source %q is no URL", s.URL)
	}
	if _, err := time.Parse(time.DateOnly, s.Date); err != nil {
		return fmt.Errorf("the source %s was read on %q, and a date is YYYY-MM-DD", s.URL, s.Date)
	}
	return nil
}

func checkTermsPure(p *probe) {
	for _, c := range p.calls() {
		asked := contract.Call{Request: c.Request, Body: c.Body}
		before := snapshot(asked, contract.Reply{})
		first := p.spec.Adapter.Terms(asked)
		p.spec.Adapter.Classify(c, reply(200, "{}"))
		for range 4 {
			if again := p.spec.Adapter.Terms(asked); !reflect.DeepEqual(again, first) {
				p.failf("%s: asked twice, the terms differ", where(c))
				break
			}
		}
		later := c
		later.Key, later.FirstSent = "another-key", sentAt.Add(time.Hour)
		if !reflect.DeepEqual(p.spec.Adapter.Terms(later), first) {
			p.failf("%s: the terms depend on Key or FirstSent, which are not yet known when they are asked for", where(c))
		}
		if snapshot(asked, contract.Reply{}) != before {
			p.failf("%s: Terms changed the request", where(c))
		}
	}
}

// snapshot returns everything of a call and a reply as text.
func snapshot(c contract.Call, r contract.Reply) string {
	return fmt.Sprint(c.Request.Method, c.Request.URL, c.Request.Host, c.Request.Header, string(c.Body), c.Key, c.FirstSent,
		r.StatusCode, r.Header, string(r.Body), r.Err, r.Sent, r.At)
}

func checkTermsAgree(p *probe) {
	for _, c := range p.calls() {
		for _, wrong := range contradictions(p.spec.Adapter.Terms(c)) {
			p.failf("%s: %s", where(c), wrong)
		}
	}
}

// contradictions returns what terms cannot mean.
func contradictions(t contract.Terms) (wrong []string) {
	say := func(broken bool, what string) {
		if broken {
			wrong = append(wrong, what)
		}
	}
	keyed := t.HonoursKeys()
	say(t.KeyHeader != "" && t.KeyField != "", "the key has two places, KeyHeader and KeyField")
	say(t.KeyHeader != "" && !isHeaderName(t.KeyHeader), "KeyHeader is no name of a header")
	say(contains(reservedHeaders, t.KeyHeader), "KeyHeader has another meaning")
	say(t.KeyQuoted && t.KeyHeader == "", "a key is quoted in no header")
	say(!keyed && t.KeyRequired, "a key is required and not honoured")
	say(!keyed && (t.Retention != 0 || t.Repeat != contract.RepeatsNothing || t.Mismatch != contract.MismatchUndocumented),
		"something is promised about a key that is not honoured")
	say(keyed && !t.Idempotent && t.Repeat == contract.RepeatsNothing,
		"a key is honoured, and nothing promised of a repeat: it might take effect again, so the key must not count")
	say(t.KeyMinLen < 0 || t.KeyMaxLen < 0 || t.Retention < 0, "a length or a time is negative")
	say(t.KeyMaxLen > 0 && t.KeyMinLen > t.KeyMaxLen, "the shortest key is longer than the longest")
	say(t.Repeat > contract.Conflicts || t.Mismatch > contract.MismatchIgnored, "a promise is not one of those that there are")
	for _, name := range t.ContractHeaders() {
		say(contains(append(t.CredentialHeaders, "Authorization", "Cookie"), name), "credentials select no account and no version")
		say(t.KeyHeader != "" && strings.EqualFold(name, t.KeyHeader), "the key selects no account and no version")
	}
	return wrong
}

var reservedHeaders = []string{"Authorization", "Cookie", "Content-Type", "Content-Length", "Host", "User-Agent", "Accept", "Date"}

func contains(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

func isHeaderName(s string) bool {
	for _, c := range s {
		if c <= ' ' || c >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, c) {
			return false
		}
	}
	return s != ""
}

func checkLeastPromise(p *probe) {
	for _, method := range []string{http.MethodGet, http.MethodHead, "BREW"} {
		c := p.head(p.key(), 100)
		c.Request.Method = method
		if promises(p.spec.Adapter.Terms(c)) {
			p.failf("%s is promised what a %s is", where(c), p.head("k", 1).Request.Method)
		}
	}
	for _, path := range []string{"/", "/no-such-endpoint-of-any-provider", "/no/such/endpoint/of/any/provider"} {
		c := p.head(p.key(), 100)
		c.Request = c.Request.Clone(context.Background())
		c.Request.URL.Path, c.Request.URL.RawPath, c.Request.URL.RawQuery = path, "", ""
		if promises(p.spec.Adapter.Terms(c)) {
			p.failf("%s is promised something", where(c))
		}
	}
}

// checkAnswers compares the answers that the terms name with the exchanges that show
// them: one that is named twice may mean either. That there is one for each is for the
// adapter's own tests.
func checkAnswers(p *probe) {
	for _, c := range p.calls() {
		for _, x := range p.documented(c, func(Exchange) bool { return true }) {
			if means, fits := meanings(p.spec.Adapter.Terms(c), x); len(means) > 0 && !fits {
				p.failf("%s: exchange %s is taken for %s, and the terms say that it is the answer to %s",
					where(c), x.Name, x.Outcome["status"], strings.Join(means, " or "))
			}
		}
	}
}

// meanings returns what the terms say that the answer of an exchange can be, and whether
// its outcome fits one of that.
func meanings(t contract.Terms, x Exchange) (all []string, fits bool) {
	for _, says := range []struct {
		what    string
		answers []contract.Answer
		not     []contract.Status
	}{
		{"a repeat", t.RepeatAnswers, []contract.Status{contract.NotExecuted, contract.Rejected}},
		{"other parameters", t.MismatchAnswers, []contract.Status{contract.Succeeded, contract.Declined, contract.NotExecuted}},
		{"a repeat in flight", t.InFlightAnswers, []contract.Status{contract.Succeeded, contract.Declined, contract.Rejected, contract.KeyReused}},
	} {
		if slices.ContainsFunc(says.answers, x.Answers) {
			all = append(all, says.what)
			fits = fits || !x.states(says.not...)
		}
	}
	return all, fits
}

// checkEndpoints looks at what an adapter lists, if it does.
func checkEndpoints(p *probe) {
	list, ok := p.spec.Adapter.(contract.Catalog)
	if !ok {
		return
	}
	all := list.Endpoints()
	if len(all) == 0 {
		p.failf("the adapter lists no endpoint")
	}
	for _, e := range all {
		req, err := e.Request("k-1", 100)
		switch {
		case err != nil:
			p.failf("%q: %v", e.Name, err)
		case e.Name == "" || req.URL.Scheme != "https" || req.URL.Host == "" || !isWrite(req.Method):
			p.failf("%q, %s %s: an endpoint has a name, and an example that is a write on the provider's own host", e.Name, e.Method, e.URL)
		case strings.ContainsAny(req.URL.Path+req.URL.RawQuery, "{}"):
			p.failf("%q: the example's URL has something that nothing is put in for", e.Name)
		default:
			c := p.freeze(req)
			if t := p.spec.Adapter.Terms(c); promises(t) && len(t.Sources) == 0 {
				p.failf("%q promises something, and names no source", e.Name)
			}
		}
	}
}

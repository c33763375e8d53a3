package contracttest

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/idempact/idempact/contract"
)

var keyRules = []rule{
	newRule("bad-key", "a key that is too long, malformed or missing is refused before anything is sent", needKey, checkBadKey),
	newRule("good-key", "the provider takes every key that the terms allow, the longest and the shortest too", needKey, checkGoodKey),
	newRule("key-on-wire", "the key is on the wire exactly once, in the place that the terms declare", needKey, checkKeyOnWire),
	newRule("same-bytes", "one operation sends the same bytes on every attempt and in every process; credentials alone may differ", needRepeat, checkSameBytes),
}

// badKeys returns keys that the terms do not allow.
func (p *probe) badKeys() map[string]string {
	good := p.key()
	bad := map[string]string{
		"a line break at its end":  good[:len(good)-1] + "\n",
		"a line break and more":    good[:len(good)/2] + "\r\nX: y",
		"a control character":      good[:len(good)-1] + "\x00",
		"a space at its start":     " " + good[1:],
		"a tab at its end":         good[:len(good)-1] + "\t",
		"a byte that is not UTF-8": good[:len(good)-1] + "\xff",
	}
	if t := p.terms; t.KeyMaxLen > 0 {
		bad["one character too many"] = p.keyOf(good, t.KeyMaxLen+1)
	}
	if t := p.terms; t.KeyMinLen > 1 {
		bad["one character too few"] = p.keyOf(good, t.KeyMinLen-1)
	}
	if p.terms.KeyAlphabet == "" {
		bad["a letter that is not ASCII"] = good[:len(good)-1] + "é"
	}
	for c := '!'; c <= '~' && p.terms.KeyAlphabet != ""; c++ {
		if !strings.ContainsRune(p.terms.KeyAlphabet, c) {
			bad["a character outside of the alphabet"] = good[:len(good)-1] + string(c)
			break
		}
	}
	return bad
}

func checkBadKey(p *probe) {
	s := p.stage()
	for what, key := range inOrder(p.badKeys()) {
		if req, err := p.spec.Request(key, 100); err != nil || req == nil {
			continue // refused by the author's own code
		}
		p.refused(s, what, key)
	}
	if !p.terms.Idempotent {
		p.refused(s, "no key at all", "")
	}
	if n := len(s.writes()); n > 0 {
		p.failf("%d requests were sent", n)
	}
}

// refused expects that a request is refused before it is sent.
func (p *probe) refused(s *stage, what, key string) {
	req := p.request(context.Background(), key, 100)
	if key == "" {
		// Not with WithoutKey, which asks for a request without one.
		req = req.WithContext(context.Background())
	}
	result, err := p.do(p.client(p.spec.Adapter, s, once), req)
	switch {
	case err == nil || !errors.Is(err, contract.Rejected):
		p.failf("%s: not refused but %v", what, result)
	case result.Attempts != 0:
		p.failf("%s: refused after %d attempts", what, result.Attempts)
	case len(key) > 8 && strings.Contains(err.Error(), key):
		p.failf("%s: the error shows the key", what)
	}
}

func checkGoodKey(p *probe) {
	longest := p.terms.KeyMaxLen
	if longest == 0 {
		longest = 1024 // no limit is documented, so this is none
	}
	good := map[string]string{"the longest": p.keyOf(p.key(), longest)}
	if p.spec.Fake != nil { // a sandbox has seen the shortest before
		good["the shortest"] = p.keyOf("s", max(p.terms.KeyMinLen, 1))
	}
	chunk := []rune(p.terms.KeyAlphabet)
	for len(chunk) > 0 {
		n := min(len(chunk), longest)
		if n >= p.terms.KeyMinLen {
			good["of the characters "+string(chunk[:n])] = string(chunk[:n])
		}
		chunk = chunk[n:]
	}
	s := p.stage()
	for what, key := range inOrder(good) {
		if p.terms.CheckKey(key) != nil {
			continue // an alphabet that ends with a space, say
		}
		if result, err := p.do(p.client(plain{p.spec.Adapter}, s, once), p.request(context.Background(), key, 100)); err != nil {
			p.failf("a key of %d characters, %s that the terms allow: %v", len(key), what, result)
		}
	}
}

func checkKeyOnWire(p *probe) {
	s := p.stage()
	key := p.key()
	s.script(loseReply)
	if _, err := p.do(p.client(plain{p.spec.Adapter}, s), p.request(context.Background(), key, 100)); err != nil && len(s.writes()) == 0 {
		p.fatalf("nothing was sent: %v", err)
	}
	for i, w := range s.writes() {
		if n := w.count(key); n != 1 {
			p.failf("attempt %d: the key is on the wire %d times", i+1, n)
		}
		want, place := p.terms.FormatKey(key), w.header.Get(p.terms.KeyHeader)
		if p.terms.KeyField != "" {
			o, _ := contract.DecodeObject(w.body)
			want, place = key, o.Text(p.terms.KeyField)
		}
		if place != want {
			p.failf("attempt %d: the key is not in %s%s", i+1, p.terms.KeyHeader, p.terms.KeyField)
		}
	}
}

// count returns how many times a text is in a request.
func (a arrival) count(text string) int {
	path, _ := url.QueryUnescape(a.uri)
	n := strings.Count(path, text) + strings.Count(string(a.body), text)
	for _, values := range a.header {
		for _, v := range values {
			n += strings.Count(v, text)
		}
	}
	return n
}

func checkSameBytes(p *probe) {
	s := p.stage()
	key := p.key()
	if !p.terms.HonoursKeys() {
		key = ""
	}
	s.script(loseReply, resetAfter)
	for range 2 { // a second client is another process
		_, _ = p.do(p.client(plain{p.spec.Adapter}, s), p.request(context.Background(), key, 100))
	}
	all := s.writes()
	if len(all) < 3 {
		p.fatalf("%d requests arrived; a doubt is resent under its key", len(all))
	}
	credentials := append([]string{"Authorization"}, p.terms.CredentialHeaders...)
	for i, w := range all[1:] {
		if first := all[0].text(credentials); w.text(credentials) != first {
			p.failf("request %d is not the first one: method, URL, headers or body differ", i+2)
		}
	}
}

// text returns a request without its credentials.
func (a arrival) text(credentials []string) string {
	lines := []string{a.method + " " + a.uri, a.host}
	for name, values := range a.header {
		if !contains(credentials, name) {
			lines = append(lines, name+": "+strings.Join(values, "\x00"))
		}
	}
	slices.Sort(lines[2:])
	return strings.Join(append(lines, string(a.body)), "\n")
}

package check

import (
	"encoding/base64"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

var (
	liveMark = regexp.MustCompile(`(?i)(^|[^a-z0-9])(live|prod|production)([^a-z0-9]|$)`)
	testMark = regexp.MustCompile(`(?i)(^|[^a-z0-9])(test|sandbox|squareupsandbox|sbox|sbx|fake|example)([^a-z0-9]|$)`)
	testKey  = regexp.MustCompile(`^([a-z]{2,5}_)?(test|sandbox|sbox|sbx)[_-]`)
	secret   = regexp.MustCompile(`(?i)authorization|key|token|secret`)
)

// marks are what credentials say of themselves.
type marks struct{ live, test bool }

// credentialMarks reads the words that providers put into their keys (sk_live_…,
// rzp_test_…, live_…), in the clear or behind the base64 of basic authentication. That
// a key is live counts wherever it stands; that it is a test's counts where a key begins
// with it alone.
func credentialMarks(h http.Header) (m marks) {
	for name, values := range h {
		for _, v := range values {
			for _, text := range []string{v, decoded(v)} {
				m.live = m.live || liveMark.MatchString(text)
			}
			m.test = m.test || secret.MatchString(name) && slices.ContainsFunc(keys(v), testKey.MatchString)
		}
	}
	return m
}

// keys returns what may be a key in a header: the token behind the scheme, both parts of
// basic authentication, or the value by itself.
func keys(v string) []string {
	if text := decoded(v); text != "" {
		user, password, _ := strings.Cut(text, ":")
		return []string{user, password}
	}
	fields := strings.Fields(v)
	return fields[max(0, len(fields)-1):]
}

// decoded returns the text of basic authentication, "" if it is none.
func decoded(v string) string {
	scheme, rest, ok := strings.Cut(v, " ")
	if !ok || !strings.EqualFold(scheme, "Basic") {
		return ""
	}
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest))
	if err != nil {
		return ""
	}
	return string(b)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// A host says so in a part of its name: api-m.sandbox.paypal.com,
// checkout-test.adyen.com, sandbox-b2b.revolut.com.
func saysTest(host string) bool { return testMark.MatchString(host) && !saysLive(host) }
func saysLive(host string) bool { return liveMark.MatchString(host) }

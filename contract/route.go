package contract

import (
	"net/url"
	"strings"
)

// MatchPath reports whether the path of u is the pattern, whole and segment by
// segment, and returns what stands where the pattern has a *. A * is one reference,
// as CheckReference has it; a slash at the end does not count. A path with an
// escaped slash, an empty segment or dots fits no pattern: a promise for a path that
// only looks like another one pays twice.
//
//	refs, ok := contract.MatchPath(u, "/v1/payments/*/refunds")
func MatchPath(u *url.URL, pattern string) (refs []string, ok bool) {
	parts, ok := segments(u)
	want := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	if !ok || len(want) != len(parts) {
		return nil, false
	}
	for i, w := range want {
		switch {
		case w == "*":
			refs = append(refs, parts[i])
		case w != parts[i]:
			return nil, false
		}
	}
	return refs, true
}

// segments returns the parts of a path, unescaped, and whether each is a plain word.
func segments(u *url.URL) ([]string, bool) {
	if u == nil {
		return nil, false
	}
	path, rooted := strings.CutPrefix(u.EscapedPath(), "/")
	parts := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for i, p := range parts {
		plain, err := url.PathUnescape(p)
		if err != nil || CheckReference(plain) != nil {
			return nil, false
		}
		parts[i] = plain
	}
	return parts, rooted
}

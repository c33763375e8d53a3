package contract

import (
	"errors"
	"strings"
)

// Unreserved are the characters that stand for themselves in every part of a URL.
//
// Source: RFC 3986, section 2.3 (read 2026-11-29).
const Unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

// ErrReference is the error of CheckReference.
var ErrReference = errors.New("the provider's reference is not one that may stand in a URL path")

// CheckReference returns ErrReference unless ref may be put into a URL as one
// path segment: 1 to 255 unreserved characters that are not only dots. A
// reference comes from the provider and must not steer the next request.
func CheckReference(ref string) error {
	if len(ref) > 255 || strings.Trim(ref, ".") == "" {
		return ErrReference
	}
	for _, r := range ref {
		if !strings.ContainsRune(Unreserved, r) {
			return ErrReference
		}
	}
	return nil
}

// Word returns s if it is a single plain word, as CheckReference has it, and "" for
// anything else. Codes, states and request ids go through it into an Outcome: a
// sentence that a provider puts into such a field may hold personal data, and a line
// break would forge a line of a log.
func Word(s string) string {
	if CheckReference(s) != nil {
		return ""
	}
	return s
}

package contract

import (
	"math"
	"net/http"
	"strings"
	"time"
)

// maxWait is what a wait too large for a time.Duration counts as: about 292 years.
const maxWait time.Duration = math.MaxInt64

// Wait returns how long the reply asks to wait, as its Retry-After header says in
// seconds or as a date: 0 where it says nothing that can be understood. It is
// never negative. A date is measured from the reply's own Date header, since
// clocks differ; without one from the time of arrival.
func (r Reply) Wait() time.Duration { return r.WaitIn("Retry-After", time.Second) }

// WaitIn is Wait for another header, whose plain numbers count in unit.
// Of several values the longest holds, since a wait is a floor.
func (r Reply) WaitIn(header string, unit time.Duration) time.Duration {
	from := r.At
	for _, v := range HeaderValues(r.Header, "Date") {
		if t, ok := parseDate(v); ok {
			from = t
		}
	}
	var longest time.Duration
	for _, v := range HeaderValues(r.Header, header) {
		longest = max(longest, ParseWait(v, unit, from))
	}
	return longest
}

// ParseWait parses one value of a wait header: a plain number of units (1, 0.5),
// one of the three HTTP date forms, or such a date with a numeric zone, measured
// from the given time, or a list of numbers, of which the longest holds. What it does not understand (a sign, an
// exponent, a word), and what is past, is 0, which says nothing and not "now";
// what is too large for a time.Duration is the largest one.
//
// Source: RFC 9110, sections 5.6.7 and 10.2.3 (read 2026-11-29). Fractions are
// not in it; APIs send them.
func ParseWait(value string, unit time.Duration, from time.Time) time.Duration {
	if t, ok := parseDate(value); ok {
		if from.IsZero() {
			return 0 // of no known moment
		}
		return max(t.Sub(from), 0) // Sub saturates
	}
	var longest time.Duration
	for part := range strings.SplitSeq(value, ",") {
		longest = max(longest, parseNumber(strings.TrimSpace(part), unit))
	}
	return longest
}

// parseDate parses a date of HTTP, or one whose zone is a number (+0000), which HTTP
// does not have and GoCardless' own clients read.
func parseDate(value string) (time.Time, bool) {
	value = strings.TrimSpace(value)
	t, err := http.ParseTime(value)
	if err != nil {
		t, err = time.Parse(time.RFC1123Z, value)
	}
	return t, err == nil
}

// parseNumber parses digits, at most one dot, digits; and nothing else. No digits
// are 0 too.
func parseNumber(s string, unit time.Duration) time.Duration {
	whole, fraction, _ := strings.Cut(s, ".")
	if unit <= 0 {
		return 0
	}
	var d time.Duration
	for _, c := range []byte(whole) {
		if c < '0' || c > '9' {
			return 0
		}
		digit := time.Duration(c - '0')
		if d > maxWait/10 || digit > 0 && unit > (maxWait-d*10)/digit {
			d = maxWait // and stays there, while the rest is still checked
			continue
		}
		d = d*10 + digit*unit
	}
	place := unit
	for _, c := range []byte(fraction) {
		if c < '0' || c > '9' {
			return 0
		}
		place /= 10
		extra := time.Duration(c-'0') * place
		d += min(extra, maxWait-d)
	}
	return d
}

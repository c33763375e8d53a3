package contract

import (
	"net/http"
	"slices"
	"strings"
)

// HeaderValues returns every value of a header, whatever the case of the name it
// is stored under: a header map may hold names that are not canonical.
func HeaderValues(h http.Header, name string) []string {
	var names []string
	for k := range h {
		if strings.EqualFold(k, name) {
			names = append(names, k)
		}
	}
	slices.Sort(names) // a pure function gives one answer
	var values []string
	for _, k := range names {
		values = append(values, h[k]...)
	}
	return values
}

// HeaderValue returns the first value of a header with surrounding space cut off,
// or "".
func HeaderValue(h http.Header, name string) string {
	for _, v := range HeaderValues(h, name) {
		return strings.TrimSpace(v)
	}
	return ""
}

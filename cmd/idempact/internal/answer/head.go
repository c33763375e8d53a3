package answer

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// statusLine is the first line of an answer; HTTP/2 and 3 have no minor version and no
// reason.
var statusLine = regexp.MustCompile(`^HTTP/(?:[0-9](?:\.[0-9])?) +([1-9][0-9]{2})(?: .*)?$`)

// requestLine is the first line of a request.
var requestLine = regexp.MustCompile(`^([A-Z]{3,10}) +(\S+)(?: +HTTP/[0-9](?:\.[0-9])?)?$`)

// methodForm is what a method looks like.
var methodForm = regexp.MustCompile(`^[A-Za-z]{1,20}$`)

// headerLine is a field of a head; a pseudo header of HTTP/2 starts with a colon.
var headerLine = regexp.MustCompile("^(:?[!#$%&'*+.^_`|~0-9A-Za-z-]+): ?(.*)$")

// head is what stands before a body.
type head struct {
	first  string
	header http.Header
	pseudo map[string]string
}

// parseHead reads lines up to the first empty one, and returns the rest. whole is
// false where the input ends before that line.
func parseHead(lines []string) (h head, rest []string, whole bool) {
	h = head{header: http.Header{}, pseudo: map[string]string{}}
	for i, line := range lines {
		line = strings.TrimRight(line, " \t\r")
		switch m := headerLine.FindStringSubmatch(line); {
		case line == "":
			return h, lines[i+1:], i+1 < len(lines) // the last line break ends a field
		case m == nil && i == 0:
			h.first = line
		case m == nil:
			// A continuation, or a line that was broken by a terminal.
		case strings.HasPrefix(m[1], ":"):
			h.pseudo[m[1]] = m[2]
		default:
			h.header.Add(m[1], strings.TrimSpace(m[2]))
		}
	}
	return h, nil, false
}

// status returns the status that a head tells, 0 if it is no answer's.
func (h head) status() int {
	if m := statusLine.FindStringSubmatch(h.first); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	n, _ := strconv.Atoi(strings.TrimSpace(h.pseudo[":status"]))
	return n
}

// request puts the request of a head into the answer, if it is one's.
func (a *Answer) request(h head) bool {
	method, target := h.pseudo[":method"], h.pseudo[":path"]
	host := h.pseudo[":authority"]
	if m := requestLine.FindStringSubmatch(h.first); m != nil {
		method, target = m[1], m[2]
	}
	u, err := url.Parse(target)
	if !methodForm.MatchString(method) || target == "" || err != nil {
		return false
	}
	if host == "" {
		host = h.header.Get("Host")
	}
	if u.Host == "" && host != "" {
		u.Scheme, u.Host = "https", host
	}
	h.header.Del("Host")
	a.Method, a.URL, a.RequestHeader = method, u, h.header
	return true
}

// final reports whether an answer is not one that another follows: 100 Continue, the
// answer of a proxy to CONNECT.
func final(status int) bool { return status >= 200 }

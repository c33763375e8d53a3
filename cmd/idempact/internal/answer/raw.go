package answer

import (
	"net/http"
	"regexp"
	"strings"
)

// isRaw reports whether a line of the text begins an answer.
func isRaw(text string, _ Options) bool {
	first, _, _ := strings.Cut(start(text), "\n")
	return statusLine.MatchString(strings.TrimRight(first, "\r\t ")) ||
		requestLine.MatchString(strings.TrimRight(first, "\r\t ")) && strings.Contains(text, "\nHTTP/")
}

// parseRaw reads what curl -i prints: heads and bodies as they are on the wire, of
// which the last counts; a request may stand before them.
func parseRaw(text string, _ Options) (*Answer, error) {
	lines := strings.Split(start(text), "\n")
	a := &Answer{}
	for {
		h, rest, whole := parseHead(lines)
		switch status := h.status(); {
		case status != 0:
			a.Status, a.Header = status, h.header
			if !whole {
				a.Cut = headCut(h)
				return a, nil
			}
			if next := nextHead(rest, statusLine); !final(status) || connects(h) || redirects(status, rest) || next == 0 {
				if next < 0 {
					a.Body = join(rest)
					return a, nil
				}
				lines = rest[next:]
				continue
			}
			a.Body = join(rest)
			return a, nil
		case a.request(h):
			next := nextHead(rest, statusLine)
			if next < 0 {
				return nil, ErrNoStatus
			}
			a.RequestBody = []byte(strings.TrimSpace(strings.Join(rest[:next], "\n")))
			lines = rest[next:]
		default:
			return nil, ErrNoStatus
		}
	}
}

// headCut says that a head does not end, unless the paste lost no more than the empty
// line after an answer that says that it has no body.
func headCut(h head) string {
	if h.header.Get("Content-Length") == "0" || h.status() == http.StatusNoContent {
		return ""
	}
	return "it ends before its body"
}

// before is what can stand before an answer in a terminal: the command, a recorder's
// note, curl's progress meter.
var before = regexp.MustCompile(`^(?:\S*[$#%>] +)?(?:[^$#%>]*[$#%>] +)?(?:curl|http|https|xh|nghttp) |^Script started `)

// start drops what stands before an answer.
func start(text string) string {
	lines := strings.Split(strings.TrimLeft(text, "\n\t "), "\n")
	for len(lines) > 1 && (before.MatchString(lines[0]) || curlMeter.MatchString(lines[0])) {
		for strings.HasSuffix(lines[0], "\\") && len(lines) > 1 {
			lines = lines[1:] // the command goes on
		}
		if i := strings.LastIndexByte(lines[0], '\r'); i >= 0 && statusLine.MatchString(lines[0][i+1:]) {
			lines[0] = lines[0][i+1:]
			break
		}
		lines = lines[1:]
	}
	return strings.TrimLeft(strings.Join(lines, "\n"), "\n\t ")
}

// connects reports whether a proxy answers that a tunnel is open.
func connects(h head) bool {
	return strings.HasSuffix(strings.ToLower(h.first), "connection established")
}

// redirects reports whether curl -L followed an answer, whose successor then stands
// behind it.
func redirects(status int, rest []string) bool {
	return status >= 300 && status < 400 && nextHead(rest, statusLine) >= 0
}

func nextHead(lines []string, first *regexp.Regexp) int {
	for i, line := range lines {
		if first.MatchString(strings.TrimRight(line, "\r\t ")) {
			return i
		}
	}
	return -1
}

func join(lines []string) []byte { return body(strings.Join(lines, "\n")) }

// Marks of curl -v: * is curl's own talk, > and < are heads, { and } count data.
var (
	verboseHead = regexp.MustCompile(`(?m)^< HTTP/[0-9]`)
	curlTalk    = regexp.MustCompile(`^(?:\* |\*$|[{}] \[[0-9]+ bytes data\])|` + curlMeter.String())
	curlMeter   = regexp.MustCompile(`^(?: *% Total | +Dload|\s*[0-9]+ +[0-9.]+[kMG]? +.*--:--:--)`)
	curlError   = regexp.MustCompile(`(?m)^curl: \([0-9]+\) `)
)

func isVerbose(text string, _ Options) bool { return verboseHead.MatchString(text) }

// parseVerbose reads what curl -v prints, of which the last exchange counts.
func parseVerbose(text string, _ Options) (*Answer, error) {
	a := &Answer{}
	var sent, got, rest []string
	var complete bool
	end := func() {
		if h, _, _ := parseHead(sent); len(sent) > 0 && a.request(h) {
			sent = nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if i := strings.LastIndexByte(line, '\r'); i >= 0 && i < len(line)-1 {
			line = line[i+1:] // the meter writes over itself
		}
		line = strings.TrimRight(line, "\r")
		switch {
		case strings.HasPrefix(line, "> ") || line == ">":
			if line = strings.TrimPrefix(strings.TrimPrefix(line, ">"), " "); requestLine.MatchString(line) {
				sent, got, rest, complete = nil, nil, nil, false
			}
			sent = append(sent, line)
		case strings.HasPrefix(line, "< ") || line == "<":
			if line = strings.TrimPrefix(strings.TrimPrefix(line, "<"), " "); statusLine.MatchString(line) {
				got, rest, complete = nil, nil, false
			}
			complete = complete || line == ""
			got = append(got, line)
		case curlTalk.MatchString(line):
		case len(got) > 0:
			rest = append(rest, line)
		}
	}
	end()
	h, _, _ := parseHead(got)
	a.Status, a.Header, a.Body = h.status(), h.header, []byte(strings.TrimSpace(strings.Join(rest, "\n")))
	if both := string(a.Body); isRaw(both, Options{}) { // curl -v -i prints the heads twice
		inner, err := parseRaw(both, Options{})
		if err != nil {
			return nil, err
		}
		a.Status, a.Header, a.Body, a.Cut = inner.Status, inner.Header, inner.Body, inner.Cut
		return a, nil
	}
	if !complete {
		a.Cut = headCut(h)
	}
	return a, nil
}

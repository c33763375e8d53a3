package answer

import (
	"regexp"
	"strings"
)

var (
	dumpStatus = regexp.MustCompile(`(?m)^(?:\[[^\]]*\] (?:recv|send) \(stream_id=[0-9]+[^)]*\) )?:status: ?[0-9]{3}\s*$`)
	dumpPrefix = regexp.MustCompile(`^\[[^\]]*\] (?:recv|send) \(stream_id=[0-9]+[^)]*\) `)
	dumpSent   = regexp.MustCompile(`^ {10}(:?[a-z0-9-]+: )`)                              // the fields of a request
	dumpFrame  = regexp.MustCompile(`\[ *[0-9.]+\] (?:recv|send) [A-Z_]+ frame <[^<>]*>$`) // also where it stands behind a body
	dumpTalk   = regexp.MustCompile(`^(\[[^\]]*\] (?:recv|send) [A-Z_]+ frame |\[[^\]]*\] [A-Z][a-z]|          [;([])`)
)

func isDump(text string, _ Options) bool { return dumpStatus.MatchString(text) }

// parseDump reads a dump of HTTP/2: fields a line each, with :status among them and
// perhaps those of the request before it, the body after an empty line. What nghttp -v
// writes around them is left out.
func parseDump(text string, _ Options) (*Answer, error) {
	var blocks [][]string
	var block []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, "\r")
		if dumpTalk.MatchString(line) {
			continue
		}
		line = dumpFrame.ReplaceAllString(line, "")
		line = dumpSent.ReplaceAllString(dumpPrefix.ReplaceAllString(line, ""), "$1")
		if strings.HasPrefix(line, ":status:") || strings.HasPrefix(line, ":method:") {
			blocks, block = append(blocks, block), nil
		}
		block = append(block, line)
	}
	blocks = append(blocks, block)
	a := &Answer{}
	for _, lines := range blocks {
		h, rest, _ := parseHead(fieldsFirst(lines))
		switch {
		case h.status() != 0:
			a.Status, a.Header, a.Body = h.status(), h.header, []byte(strings.TrimSpace(strings.Join(rest, "\n")))
		case a.request(h):
			a.RequestBody = []byte(strings.TrimSpace(strings.Join(rest, "\n")))
		}
	}
	return a, nil
}

// fieldsFirst puts an empty line between the fields and what follows them, where the
// dump has none.
func fieldsFirst(lines []string) []string {
	for i, line := range lines {
		if line == "" {
			return lines
		}
		if !headerLine.MatchString(line) {
			return append(append(append([]string{}, lines[:i]...), ""), lines[i:]...)
		}
	}
	return lines
}

package cases_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/idempact/idempact/contract"
)

// acceptanceCase is one request, the replies to it, and what must be concluded.
// See the package comment for what its fields mean.
type acceptanceCase struct {
	provider, kind    string
	id, title, source string
	debatable, given  string
	open              string  // why it is known to fail
	request           message // first: method and URL
	replies           []reply
	shows             map[string]reply // by reference: what a GET of it brings
	want              want
}

type want struct {
	status             contract.Status
	resource, code     *string
	replayed           *bool
	minSends, maxSends int
	wait               time.Duration
	waits, keyKept     bool
}

// message is a head and a body as they are on the wire.
type message struct {
	first  string
	header []headerField
	body   []byte
}

type headerField struct{ name, value string }

// reply is what one send brings.
type reply struct {
	message
	each      contract.Status // what it says by itself
	code      int             // 0 without an answer
	transport string          // "" for a whole answer
}

func (c acceptanceCase) method() string { m, _, _ := strings.Cut(c.request.first, " "); return m }
func (c acceptanceCase) url() string    { _, u, _ := strings.Cut(c.request.first, " "); return u }

// reply returns what the n-th send brings, from 0.
func (c acceptanceCase) reply(n int) reply { return c.replies[max(0, min(n, len(c.replies)-1))] }

// httpHeader returns the header with names spelled as rename says; nil leaves them
// as they stand.
func (m message) httpHeader(rename func(string) string) http.Header {
	h := http.Header{}
	for _, f := range m.header {
		name := f.name
		if rename != nil {
			name = rename(name)
		}
		h[name] = append(h[name], f.value)
	}
	return h
}

// values returns the values of a header field, whatever the case of its name.
func (m message) values(name string) []string {
	return contract.HeaderValues(m.httpHeader(nil), name)
}

// loadCases reads all cases of the providers in the catalog.
func loadCases(t testing.TB) []acceptanceCase {
	t.Helper()
	paths, err := filepath.Glob("../../providers/*/testdata/cases/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var all []acceptanceCase
	for _, path := range paths {
		provider := filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(path))))
		if adapters[provider] == nil {
			continue
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		cases, err := parseCases(raw)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, c := range cases {
			c.provider = provider
			c.kind = strings.TrimSuffix(filepath.Base(path), ".txtar")
			if slices.ContainsFunc(all, func(o acceptanceCase) bool { return o.id == c.id }) {
				t.Fatalf("%s: case %s stands twice", path, c.id)
			}
			all = append(all, c)
		}
	}
	return all
}

// parseCases reads one archive.
func parseCases(raw []byte) ([]acceptanceCase, error) {
	var all []acceptanceCase
	for _, f := range txtar.Parse(raw).Files {
		what, name, _ := strings.Cut(f.Name, " ")
		var err error
		switch last := len(all) - 1; {
		case what == "case":
			all = append(all, acceptanceCase{id: name, shows: map[string]reply{}})
			err = all[last+1].parseFields(f.Data)
		case last < 0:
			err = fmt.Errorf("%q before the first case", f.Name)
		case what == "request":
			all[last].request, err = parseMessage(f.Data)
		case what == "reply":
			var r reply
			if r, err = parseReply(f.Data); err == nil {
				r.each, err = parseStatus(name)
				all[last].replies = append(all[last].replies, r)
			}
		case what == "resource":
			all[last].shows[name], err = parseReply(f.Data)
		default:
			err = fmt.Errorf("what is it?")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	for _, c := range all {
		if c.url() == "" || len(c.replies) == 0 || c.source == "" || c.title == "" || c.want.maxSends == 0 {
			return nil, fmt.Errorf("case %s is not complete", c.id)
		}
		if c.given != "" && (c.debatable == "" || c.debatable == "yes") {
			return nil, fmt.Errorf("case %s is answered otherwise than it came, and does not say why", c.id)
		}
	}
	return all, nil
}

func (c *acceptanceCase) parseFields(data []byte) (err error) {
	for line := range strings.Lines(string(data)) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\n"), ":")
		value = strings.TrimSpace(value)
		if !ok && strings.TrimSpace(line) != "" {
			return fmt.Errorf("not a field: %q", line)
		}
		switch name {
		case "":
		case "title":
			c.title = value
		case "source":
			c.source = value
		case "debatable":
			c.debatable = value
		case "open":
			c.open = value
		case "given":
			c.given = value
		case "want":
			c.want.status, err = parseStatus(value)
		case "resource":
			c.want.resource = &value
		case "code":
			c.want.code = &value
		case "replayed":
			yes := value == "yes"
			c.want.replayed = &yes
		case "sends":
			c.want.minSends, c.want.maxSends, err = parseSends(value)
		case "wait":
			c.want.waits = true
			c.want.wait, err = time.ParseDuration(value)
		case "key":
			c.want.keyKept = value == "kept"
		default:
			return fmt.Errorf("what is the field %q?", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parseSends reads "2", "2 to 4" and "at most 4".
func parseSends(s string) (least, most int, err error) {
	switch n, rest, found := strings.Cut(s, " to "); {
	case strings.HasPrefix(s, "at most "):
		_, err = fmt.Sscanf(s, "at most %d", &most)
	case found:
		_, err = fmt.Sscanf(n+" "+rest, "%d %d", &least, &most)
	default:
		_, err = fmt.Sscanf(s, "%d", &most)
		least = most
	}
	return least, most, err
}

// parseStatus reads a status as Go names it: NotExecuted.
func parseStatus(name string) (contract.Status, error) {
	for s := contract.Status(0); s.Valid(); s++ {
		if statusName(s) == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("no status %q", name)
}

func statusName(s contract.Status) string {
	var name string
	for word := range strings.FieldsSeq(s.String()) {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

func parseMessage(data []byte) (message, error) {
	text := strings.TrimSuffix(string(data), "\n")
	head, body, _ := strings.Cut(text, "\n\n")
	first, rest, _ := strings.Cut(head, "\n")
	m := message{first: first, body: []byte(body)}
	if rest == "" {
		return m, nil
	}
	for line := range strings.SplitSeq(rest, "\n") {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return m, fmt.Errorf("not a header: %q", line)
		}
		m.header = append(m.header, headerField{name, strings.TrimSpace(value)})
	}
	return m, nil
}

// transports are the events that stand for an answer, or cut it.
var transports = []string{"refused", "dns", "tls", "reset", "eof", "timeout", "cancel", "truncated"}

func parseReply(data []byte) (r reply, err error) {
	if r.message, err = parseMessage(data); err != nil {
		return r, err
	}
	for word := range strings.FieldsSeq(r.first) {
		code, notCode := strconv.Atoi(word)
		switch {
		case notCode == nil:
			r.code = code
		case slices.Contains(transports, word):
			r.transport = word
		case word == "quoted":
			text, err := strconv.Unquote(string(bytes.TrimSpace(r.body)))
			if err != nil {
				return r, fmt.Errorf("body: %w", err)
			}
			r.body = []byte(text)
		default:
			return r, fmt.Errorf("what is %q?", r.first)
		}
	}
	if answered := r.code != 0; answered != (r.transport == "" || r.transport == "truncated") {
		return r, fmt.Errorf("neither an answer nor an event: %q", r.first)
	}
	return r, nil
}

// noConnection reports whether the send does not even get a connection.
func (r reply) noConnection() bool {
	return r.transport == "refused" || r.transport == "dns" || r.transport == "tls"
}

package contracttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

// Exchange is one documented exchange: a request, the provider's reply, and what
// the reply reveals. It is written as a txtar file:
//
//	What it shows, in a sentence.
//	source: https://docs.acme.example/idempotency
//	read: 2026-11-29
//	-- request --
//	POST https://api.acme.example/v1/payments
//	Content-Type: application/json
//	Idempotency-Key: k-1
//
//	{"amount": 100}
//	-- reply --
//	409
//	Content-Type: application/json
//
//	{"error": {"code": "exists", "payment": "pay_1"}}
//	-- outcome --
//	status: duplicate
//	resource: pay_1
//	code: exists
//	-- fetch --
//	https://api.acme.example/v1/payments/pay_1
//	-- shown --
//	200
//
//	{"id": "pay_1", "amount": 100}
//	-- resolved --
//	status: succeeded
//	resource: pay_1
//
// Headers end at an empty line; space around a body does not count. An outcome
// names a status in the words of contract.Status, and resource, state, code, wait,
// replayed and no-resend where they are not empty; request-id and reason (a part
// of it) are compared where they are named. The last three parts, for a provider
// that answers with a reference, name the URL of the fetch, its reply, and what
// that proves: there, only what is named is compared.
type Exchange struct {
	Name    string            // of the file, without .txtar
	About   string            // what it shows
	Sources []contract.Source // where it is documented
	Reply   contract.Reply
	Outcome map[string]string

	Fetch    string // "" where nothing is fetched
	Shown    contract.Reply
	Resolved map[string]string

	request *http.Request
	body    []byte
}

// sentAt and repliedAt are when every exchange of a file takes place.
var (
	sentAt    = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	repliedAt = sentAt.Add(time.Second)
)

// Exchanges reads every .txtar file at the root of fsys, in the order of their
// names. A file without a source and its date, or with a part that is not known,
// is an error.
func Exchanges(fsys fs.FS) ([]Exchange, error) {
	names, err := fs.Glob(fsys, "*.txtar")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("no .txtar file")
	}
	var all []Exchange
	for _, name := range names {
		raw, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		x, err := parseExchange(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		x.Name = strings.TrimSuffix(path.Base(name), ".txtar")
		all = append(all, x)
	}
	return all, nil
}

// Call returns the exchange's request as the adapter sees it, with the key where
// its Terms say that it stands. Every call is a new one.
func (x Exchange) Call(a contract.Adapter) contract.Call {
	c := contract.Call{Request: x.request.Clone(context.Background()), Body: bytes.Clone(x.body)}
	c.Key = carriedKey(a.Terms(c), c)
	c.FirstSent = sentAt
	return c
}

// Answers reports whether the exchange's reply is the given answer: its status, and its
// code, if it has one, as the outcome's or anywhere in the body.
func (x Exchange) Answers(a contract.Answer) bool {
	return x.Reply.StatusCode == a.Status && (a.Code == "" || x.Outcome["code"] == a.Code ||
		bytes.Contains(x.Reply.Body, []byte(strconv.Quote(a.Code))) || bytes.Contains(x.Reply.Body, []byte(":"+a.Code)))
}

// Check returns what the adapter makes of the exchange other than it says.
func (x Exchange) Check(a contract.Adapter) error {
	c := x.Call(a)
	o := a.Classify(c, x.Reply)
	wrong := differences(x.Outcome, o, true)
	r, ok := a.(contract.Resolver)
	switch {
	case x.Fetch == "":
	case !ok:
		wrong = append(wrong, "it is fetched, and the adapter is no contract.Resolver")
	default:
		wrong = append(wrong, x.checkFetch(r, c, o)...)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("exchange %s: %s; the outcome is %v", x.Name, strings.Join(wrong, "; "), o)
	}
	return nil
}

func (x Exchange) checkFetch(r contract.Resolver, c contract.Call, o contract.Outcome) (wrong []string) {
	req, err := r.ResolveRequest(context.Background(), c, o)
	switch {
	case err != nil || req == nil:
		return []string{fmt.Sprintf("no fetch, and %s is expected: %v", x.Fetch, err)}
	case req.URL.String() != x.Fetch:
		wrong = append(wrong, fmt.Sprintf("fetch %s, and %s is expected", req.URL, x.Fetch))
	}
	resolved := r.ClassifyResolve(c, o, x.Shown)
	for _, d := range differences(x.Resolved, resolved, false) {
		wrong = append(wrong, "resolved "+d)
	}
	return wrong
}

// differences compares an outcome with what a file states. Where it is strict,
// what is not named must be empty.
func differences(want map[string]string, o contract.Outcome, strict bool) (wrong []string) {
	got := described(o)
	for _, name := range fieldNames {
		w, named := want[name]
		switch {
		case name == "reason" && named:
			if !strings.Contains(o.Reason, w) {
				wrong = append(wrong, fmt.Sprintf("reason %q, and %q is expected in it", o.Reason, w))
			}
		case name == "status", named, strict && name != "reason" && name != "request-id":
			if got[name] != w {
				wrong = append(wrong, fmt.Sprintf("%s %q, and %q is expected", name, got[name], w))
			}
		}
	}
	return wrong
}

var fieldNames = []string{"status", "resource", "state", "code", "wait", "replayed", "no-resend", "request-id", "reason"}

func described(o contract.Outcome) map[string]string {
	m := map[string]string{"status": o.Status.String(), "resource": o.Resource, "state": o.State, "code": o.Code, "request-id": o.RequestID}
	if o.RetryAfter != 0 {
		m["wait"] = o.RetryAfter.String()
	}
	if o.Replayed {
		m["replayed"] = "true"
	}
	if o.NoResend {
		m["no-resend"] = "true"
	}
	return m
}

// carriedKey returns the key that a request carries where the terms say.
func carriedKey(t contract.Terms, c contract.Call) string {
	if t.KeyField != "" {
		o, err := contract.DecodeObject(c.Body)
		if err != nil {
			return ""
		}
		return o.Text(t.KeyField)
	}
	if t.KeyHeader == "" {
		return ""
	}
	key, err := t.ParseKey(contract.HeaderValue(c.Request.Header, t.KeyHeader))
	if err != nil {
		return ""
	}
	return key
}

func parseExchange(raw []byte) (x Exchange, err error) {
	comment, parts := splitArchive(raw)
	if err := x.parseComment(comment); err != nil {
		return x, err
	}
	for name, data := range parts {
		switch name {
		case "request":
			err = x.parseRequest(data)
		case "reply":
			x.Reply, err = parseReply(data)
		case "outcome":
			x.Outcome, err = parseFields(data)
		case "fetch":
			x.Fetch = strings.TrimSpace(string(data))
		case "shown":
			x.Shown, err = parseReply(data)
		case "resolved":
			x.Resolved, err = parseFields(data)
		default:
			err = errors.New("a part of this name is not known")
		}
		if err != nil {
			return x, fmt.Errorf("-- %s --: %w", name, err)
		}
	}
	switch {
	case x.request == nil || x.Reply.StatusCode == 0 || x.Outcome == nil:
		return x, errors.New("it needs the parts request, reply and outcome")
	case (x.Fetch == "") != (x.Resolved == nil) || (x.Fetch == "") != (x.Shown.StatusCode == 0):
		return x, errors.New("fetch, shown and resolved go together")
	}
	return x, nil
}

// splitArchive reads the txtar format: a comment, then parts behind -- name --.
func splitArchive(raw []byte) (comment []byte, parts map[string][]byte) {
	parts = map[string][]byte{}
	name := ""
	for line := range bytes.Lines(raw) {
		text := strings.TrimRight(string(line), "\r\n")
		if s, ok := strings.CutPrefix(text, "-- "); ok && strings.HasSuffix(s, " --") {
			name = strings.TrimSpace(strings.TrimSuffix(s, "--"))
			parts[name] = []byte{}
			continue
		}
		if name == "" {
			comment = append(comment, line...)
			continue
		}
		parts[name] = append(parts[name], line...)
	}
	return comment, parts
}

func (x *Exchange) parseComment(comment []byte) error {
	var about, dates []string
	for line := range strings.Lines(string(comment)) {
		line = strings.TrimSpace(line)
		if u, ok := strings.CutPrefix(line, "source:"); ok {
			x.Sources = append(x.Sources, contract.Source{URL: strings.TrimSpace(u)})
		} else if d, ok := strings.CutPrefix(line, "read:"); ok {
			dates = append(dates, strings.TrimSpace(d))
		} else if line != "" {
			about = append(about, line)
		}
	}
	x.About = strings.Join(about, " ")
	if len(x.Sources) == 0 || len(dates) != 1 && len(dates) != len(x.Sources) {
		return errors.New(`its comment needs "source: URL" and "read: YYYY-MM-DD"`)
	}
	for i := range x.Sources {
		x.Sources[i].Date = dates[min(i, len(dates)-1)]
		if err := checkSource(x.Sources[i]); err != nil {
			return err
		}
	}
	return nil
}

func (x *Exchange) parseRequest(data []byte) error {
	first, header, body, err := message(data)
	if err != nil {
		return err
	}
	method, target, ok := strings.Cut(first, " ")
	if !ok || !strings.Contains(target, "://") {
		return errors.New("its first line is a method and an absolute URL")
	}
	x.request, err = http.NewRequest(method, strings.TrimSpace(target), nil)
	if err != nil {
		return err
	}
	x.request.Header, x.body = header, body
	return nil
}

func parseReply(data []byte) (contract.Reply, error) {
	first, header, body, err := message(data)
	if err != nil {
		return contract.Reply{}, err
	}
	status, err := strconv.Atoi(first)
	if err != nil || status < 100 || status > 999 {
		return contract.Reply{}, errors.New("its first line is a status, such as 201")
	}
	return contract.Reply{StatusCode: status, Header: header, Body: body, Sent: true, At: repliedAt}, nil
}

// message splits a part into its first line, headers, and a body after an empty line.
func message(data []byte) (first string, header http.Header, body []byte, err error) {
	head, body, _ := bytes.Cut(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\n\n"))
	lines := strings.Split(strings.TrimRight(string(head), "\n"), "\n")
	header = http.Header{}
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return "", nil, nil, errors.New("a header is a name and a value, and an empty line stands before the body")
		}
		header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return strings.TrimSpace(lines[0]), header, bytes.TrimSpace(body), nil
}

func parseFields(data []byte) (map[string]string, error) {
	m := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if !ok || !slices.Contains(fieldNames, name) {
			return nil, fmt.Errorf("its lines are a name and a value, and a name is one of %s", strings.Join(fieldNames, ", "))
		}
		m[name] = strings.TrimSpace(value)
	}
	if _, ok := statusOf(m["status"]); !ok {
		return nil, errors.New(`it needs a status in the words of contract.Status, such as "key reused"`)
	}
	return m, nil
}

func statusOf(words string) (contract.Status, bool) {
	for s := contract.Status(0); s.Valid(); s++ {
		if s.String() == words {
			return s, true
		}
	}
	return 0, false
}

package contracttest

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/idempact/idempact/contract"
)

var classifyRules = []rule{
	newRule("exchanges", "every documented exchange gives its stated outcome", 0, checkExchanges),
	newRule("documented-success", "the exchanges show a success, and one with a body names its resource", 0, checkDocumentedSuccess),
	newRule("pure", "Classify, and what fetches and finds, give one answer to one question, change nothing that they are given, and are safe for concurrent use", 0, checkPure),
	newRule("sane", "no reply makes an adapter panic or return what cannot be: a status of none, a negative wait, a reference that steers a URL", 0, checkSane),
	newRule("wait", "a wait that the reply asks for is in the outcome, a date measured from the reply's own", 0, checkWait),
}

func checkExchanges(p *probe) {
	for _, x := range p.exchanges {
		if err := x.Check(p.spec.Adapter); err != nil {
			p.failf("%v", err)
		}
	}
}

func checkDocumentedSuccess(p *probe) {
	any := false
	for _, x := range p.exchanges {
		if !x.states(contract.Succeeded) {
			continue
		}
		any = true
		o := p.spec.Adapter.Classify(x.Call(p.spec.Adapter), x.Reply)
		switch {
		case o.Status != contract.Succeeded:
			p.failf("%s: a documented success is %v", x.Name, o)
		case len(x.Reply.Body) > 0 && o.Resource == "":
			p.failf("%s: a success with a body names no resource", x.Name)
		}
	}
	if !any {
		p.failf("no exchange states a success")
	}
}

// question is one thing to ask an adapter.
type question struct {
	call  contract.Call
	reply contract.Reply
}

// questions returns every exchange, and replies that no document shows.
func (p *probe) questions() []question {
	var all []question
	for _, x := range p.exchanges {
		all = append(all, question{x.Call(p.spec.Adapter), x.Reply})
	}
	for _, c := range p.calls() {
		for _, r := range []contract.Reply{reply(200, "{}"), reply(429, "", "Retry-After", "1"), reply(503, ""), {Err: io.EOF, Sent: true}, {Err: errRefused}} {
			all = append(all, question{c, r})
		}
	}
	return all
}

// ask puts a question to everything that the adapter offers.
func (q question) ask(a contract.Adapter) string {
	o := a.Classify(q.call, q.reply)
	said := fmt.Sprintf("%#v", o)
	ctx := context.Background()
	if r, ok := a.(contract.Resolver); ok {
		req, err := r.ResolveRequest(ctx, q.call, o)
		said += fmt.Sprint(target(req), err) + fmt.Sprintf("%#v", r.ClassifyResolve(q.call, o, q.reply))
	}
	if f, ok := a.(contract.Finder); ok {
		req, found, err := f.Find(ctx, q.call, contract.Finding{}, nil)
		said += fmt.Sprint(target(req), found, err)
		if req != nil {
			req, found, err = f.Find(ctx, q.call, found, &q.reply)
			said += fmt.Sprint(target(req), found, err)
		}
	}
	return said
}

func target(r *http.Request) string {
	if r == nil {
		return "none"
	}
	return r.Method + " " + r.URL.String()
}

func checkPure(p *probe) {
	all := p.questions()
	first, before := make([]string, len(all)), make([]string, len(all))
	for i, q := range all {
		before[i] = snapshot(q.call, q.reply)
		first[i] = q.ask(p.spec.Adapter)
	}
	var (
		wg sync.WaitGroup
		mu sync.Mutex
	)
	for worker := range 4 {
		wg.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					mu.Lock()
					defer mu.Unlock()
					p.failf("panic: %v", v)
				}
			}()
			for n := range all {
				i := n
				if worker%2 == 1 {
					i = len(all) - 1 - n // what was asked before must not matter
				}
				if again := all[i].ask(p.spec.Adapter); again != first[i] {
					mu.Lock()
					p.failf("%s, %d: one question, two answers", where(all[i].call), all[i].reply.StatusCode)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	for i, q := range all {
		if snapshot(q.call, q.reply) != before[i] {
			p.failf("%s, %d: the call or the reply was changed", where(q.call), q.reply.StatusCode)
		}
	}
}

// statuses are those that replies of any kind are tried with.
func statuses(from, below int) []int {
	var all []int
	for _, s := range []int{100, 101, 102, 103, 199, 200, 201, 202, 203, 204, 205, 206, 207, 208, 218, 226, 250, 299,
		300, 301, 302, 303, 304, 305, 307, 308, 350, 399, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415,
		416, 417, 418, 419, 420, 421, 422, 423, 424, 425, 426, 428, 429, 430, 431, 444, 449, 451, 460, 494, 499,
		500, 501, 502, 503, 504, 505, 506, 507, 508, 509, 510, 511, 520, 521, 522, 523, 524, 525, 526, 527, 529, 530, 550, 561, 598, 599, 600, 999} {
		if s >= from && s < below {
			all = append(all, s)
		}
	}
	return all
}

const page = "<html><head><title>Gateway</title></head><body>upstream</body></html>"

// strange are bodies that no provider documents.
var strange = []string{
	"", page, "{}", "[]", "null", "7", `""`, `{"idempact":"not an answer"}`, `{"data":null}`, `{"data":{}}`, `{"data":[]}`,
	`{"id":null}`, `{"id":""}`, `{"id":7}`, `{"id":{}}`, `{"object":{}}`, `{"error":null}`, `{"errors":[]}`, "{", "\xff\xfe",
	"true", `{"id":"a"`, `{"id":"a"}{`, `{"status":"succeeded"}`,
}

func checkSane(p *probe) {
	headers := []http.Header{nil, {"Retry-After": {"-5"}}, {"Retry-After": {"99999999999999999999"}}, {"Retry-After": {"soon"}, "Date": {"yesterday"}}}
	for _, c := range p.calls() {
		for _, status := range statuses(100, 1000) {
			for i, body := range strange {
				r := contract.Reply{StatusCode: status, Header: headers[i%len(headers)], Body: []byte(body), Sent: true, At: repliedAt}
				if i%3 == 2 {
					r.Err = io.ErrUnexpectedEOF
				}
				p.sane(c, r)
			}
		}
	}
	for _, x := range p.exchanges {
		c := x.Call(p.spec.Adapter)
		for _, ref := range hostile {
			r := x.Reply
			r.Body = replaceStrings(r.Body, x.Outcome["resource"], ref)
			p.sane(c, r)
		}
	}
}

// hostile are references that would steer a request.
var hostile = []string{"../../admin", "a/b", "a?b=c", "a#b", "..", "a b", "a%2Fb", "//evil.example/x", "a\r\nb", "", strings.Repeat("a", 300)}

func (p *probe) sane(c contract.Call, r contract.Reply) {
	defer func() {
		if v := recover(); v != nil {
			if _, ours := v.(stop); ours {
				panic(v)
			}
			p.failf("%s, %d, %q: panic: %v", where(c), r.StatusCode, brief(r.Body), v)
		}
	}()
	o := p.spec.Adapter.Classify(c, r)
	switch {
	case !o.Status.Valid():
		p.failf("%s, %d, %q: an %v", where(c), r.StatusCode, brief(r.Body), o.Status)
	case o.RetryAfter < 0:
		p.failf("%s, %d: a wait of %v", where(c), r.StatusCode, o.RetryAfter)
	case o.Resource != "" && contract.CheckReference(o.Resource) != nil:
		p.failf("%s, %d: the resource %q may not stand in a URL; see contract.CheckReference", where(c), r.StatusCode, brief([]byte(o.Resource)))
	case o.Source != contract.FromReply:
		p.failf("%s, %d: evidence from %v", where(c), r.StatusCode, o.Source)
	}
}

func brief(b []byte) string { return string(b[:min(len(b), 40)]) }

// replaceStrings replaces every JSON string of a body that equals old.
func replaceStrings(body []byte, old string, value any) []byte {
	return rewrite(body, func(v any) (any, bool) { return value, v == old && old != "" })
}

// rewrite changes values of a JSON body; a body that is none stays as it is.
func rewrite(body []byte, change func(any) (any, bool)) []byte {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return body
	}
	out, err := json.Marshal(rewritten(v, change))
	if err != nil {
		return body
	}
	return out
}

func rewritten(v any, change func(any) (any, bool)) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = rewritten(v[name], change)
		}
		return v
	case []any:
		for i := range v {
			v[i] = rewritten(v[i], change)
		}
		return v
	}
	if changed, ok := change(v); ok {
		return changed
	}
	return v
}

// waiting are statuses in which a wait matters.
func waiting(s contract.Status) bool {
	return s == contract.Unknown || s == contract.InProgress || s == contract.NotExecuted
}

func checkWait(p *probe) {
	type asked struct {
		name string
		question
	}
	all := []asked{
		{"429", question{p.call(p.key(), 100), reply(429, "")}},
		{"503", question{p.call(p.key(), 100), reply(503, "")}},
		{"503 with a page", question{p.call(p.key(), 100), reply(503, page)}},
	}
	for _, x := range p.exchanges {
		if s, _ := statusOf(x.Outcome["status"]); waiting(s) && x.Reply.StatusCode >= 400 {
			all = append(all, asked{x.Name, question{x.Call(p.spec.Adapter), x.Reply}})
		}
	}
	for _, q := range all {
		for _, w := range []struct {
			after string
			want  time.Duration
		}{
			{"7", 7 * time.Second},
			{"3600", time.Hour},
			{sentAt.AddDate(1, 0, 0).Add(30 * time.Second).Format(http.TimeFormat), 30 * time.Second},
		} {
			r := q.reply
			r.Header = r.Header.Clone()
			r.Header.Set("Retry-After", w.after)
			r.Header.Set("Date", sentAt.AddDate(1, 0, 0).Format(http.TimeFormat)) // a clock that is a year ahead
			o := p.spec.Adapter.Classify(q.call, r)
			if waiting(o.Status) && o.RetryAfter != w.want && o.RetryAfter != max(w.want, p.terms.MinWait) {
				p.failf("%s with Retry-After: %s: the outcome says %v; see contract.Reply.Wait", q.name, w.after, o.RetryAfter)
			}
		}
	}
}

// endings are the ways in which an attempt ends without an answer.
var endings = map[string]error{
	"a reset":             errReset,
	"EOF":                 io.EOF,
	"an unexpected EOF":   io.ErrUnexpectedEOF,
	"a deadline":          context.DeadlineExceeded,
	"a cancel":            context.Canceled,
	"a time limit":        os.ErrDeadlineExceeded,
	"a broken pipe":       &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE},
	"a TLS alert":         tls.AlertError(80),
	"a refusal by a hop":  errRefused,
	"no route":            &net.OpError{Op: "dial", Net: "tcp", Err: syscall.EHOSTUNREACH},
	"a name not found":    &net.DNSError{Err: "no such host", Name: "api.invalid", IsNotFound: true},
	"an error of no kind": errors.New("http2: client connection lost"),
	"no error":            nil,
}

package contracttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/retry"
)

var secretRules = []rule{
	newRule("words", "no text of the provider's, no credential and no key is in an outcome: codes and states are single words", 0, checkWords),
	newRule("secrets", "no credential, key or body is in errors, String or logs", 0, checkSecrets),
}

// leak is a sentence that stands for what belongs in no log: a card number, and a
// line break that would forge a line.
const leak = "Card 4242424242424242 of J. Doe was\nrefused"

func checkWords(p *probe) {
	for _, x := range p.exchanges {
		c := x.Call(p.spec.Adapter)
		c.Request.Header.Set("Authorization", "Bearer "+leak)
		replies := []contract.Reply{x.Reply}
		for _, old := range texts(x.Reply.Body) {
			r := x.Reply
			r.Body = replaceStrings(r.Body, old, leak)
			replies = append(replies, r)
		}
		for name := range x.Reply.Header {
			r := x.Reply
			r.Header = r.Header.Clone()
			r.Header.Set(name, leak)
			replies = append(replies, r)
		}
		page := x.Reply
		page.Body = []byte(leak)
		for _, r := range append(replies, page) {
			p.free(c, p.spec.Adapter.Classify(c, r), x.Name)
		}
	}
	for _, status := range statuses(200, 1000) {
		c := p.call(p.key(), 100)
		body := fmt.Sprintf(`{"message":%[1]q,"code":%[1]q,"id":%[1]q,"error":{"type":%[1]q,"code":%[1]q,"message":%[1]q},"errors":[{"title":%[1]q,"detail":%[1]q}]}`, leak)
		p.free(c, p.spec.Adapter.Classify(c, reply(status, body, "Request-Id", leak, "X-Request-Id", leak)), fmt.Sprint(status))
	}
}

// free expects that an outcome has nothing of the provider's sentences, nor the key.
func (p *probe) free(c contract.Call, o contract.Outcome, where string) {
	all := strings.Join([]string{o.String(), o.RequestID, o.Code, o.State, o.Resource, o.Reason}, "\n")
	switch {
	case strings.Contains(all, "4242424242424242"):
		p.failf("%s: a text of the provider's is in the outcome %v", where, o.Status)
	case c.Key != "" && len(c.Key) > 3 && strings.Contains(o.Reason, c.Key):
		p.failf("%s: the key is in the reason", where)
	}
}

// texts returns the strings of a JSON body.
func texts(body []byte) []string {
	var all []string
	rewrite(body, func(v any) (any, bool) {
		if s, ok := v.(string); ok && s != "" {
			all = append(all, s)
		}
		return v, false
	})
	return all
}

func checkSecrets(p *probe) {
	says := fmt.Sprintf(`{"message":%[1]q,"error":{"message":%[1]q},"errors":[{"title":%[1]q,"detail":%[1]q}]}`, leak)
	faults := map[string]fault{
		"success": {}, "lost": loseReply, "refused": refuseDial, "reset": resetAfter,
		"a page": pageAfter(200, leak), "an error of the transport": {err: errors.New("write: " + leak)},
	}
	for _, status := range []int{400, 401, 402, 403, 404, 409, 422, 429, 500, 503} {
		faults[fmt.Sprint(status)] = instead(reply(status, says))
	}
	for name, f := range inOrder(faults) {
		p.silent(name, f)
	}
}

// silent runs an operation and reads all that it wrote.
func (p *probe) silent(name string, f fault) {
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug - 8}))
	var told strings.Builder
	s := p.stage()
	s.always(f)
	key := p.keyOrNone()
	req := p.request(context.Background(), key, 100)
	if req.Header.Get("Authorization") == "" {
		req.Header.Set("Authorization", "Bearer idempact-secret-token")
	}
	secrets := p.secrets(key, req.Header["Authorization"])
	for _, header := range p.terms.CredentialHeaders {
		secrets = append(secrets, contract.HeaderValues(req.Header, header)...)
	}
	result, err := p.do(p.client(p.spec.Adapter, s, func(o *retry.Options) {
		o.MaxAttempts, o.Logger = 2, logger
		o.OnAttempt = func(_ context.Context, e retry.AttemptEvent) { fmt.Fprintf(&told, "%+v\n", e) }
	}), req)
	logger.Info("ended", "error", err, "verdict", result.String())
	for where, text := range inOrder(map[string]string{
		"the log":     log.String(),
		"an event":    told.String(),
		"the error":   fmt.Sprintf("%v %+v %#v", err, err, err),
		"the verdict": fmt.Sprintf("%s %+v", result, result.Verdict),
	}) {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				p.failf("%s: %s shows %s", name, where, describe(secret, key))
			}
		}
	}
}

func describe(secret, key string) string {
	switch {
	case secret == key:
		return "the key"
	case strings.Contains(secret, "4242424242424242"):
		return "a text of the provider's"
	default:
		return "a credential or a part of the body"
	}
}

// secrets returns what may not be seen of the Spec's request and of what is said
// to it.
func (p *probe) secrets(key string, credentials []string) []string {
	all := []string{"4242424242424242"}
	for _, c := range credentials {
		all = append(all, c, strings.TrimPrefix(c, "Bearer "))
	}
	if p.terms.KeyField == "" && key != "" {
		all = append(all, key) // in a body field it is the resource's name as well
	}
	c := p.call(key, 100)
	values := texts(c.Body)
	if form, err := url.ParseQuery(string(c.Body)); err == nil && len(values) == 0 {
		for _, v := range form {
			values = append(values, v...)
		}
	}
	if len(c.Body) > 8 {
		all = append(all, string(c.Body))
	}
	for _, v := range values {
		if len(v) >= 8 && v != key {
			all = append(all, v)
		}
	}
	return all
}

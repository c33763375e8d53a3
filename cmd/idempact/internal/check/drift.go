package check

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

// Drift is one promise of the recorded Terms beside what the server did.
type Drift struct {
	Promise  string `json:"promise"`
	Recorded string `json:"recorded"`
	Seen     string `json:"seen"`
	Differs  bool   `json:"differs"`
}

// maxBody is the largest answer that is read: 1 MiB.
const maxBody = 1 << 20

// seen is one answer of the server, and what the adapter takes it for.
type seen struct {
	call  contract.Call
	reply contract.Reply
	o     contract.Outcome
}

// String returns status, code and outcome.
func (s seen) String() string {
	text := fmt.Sprintf("%s: %s", contract.Answer{Status: s.reply.StatusCode, Code: s.o.Code}, s.o.Status)
	if s.o.Replayed {
		text += ", replayed"
	}
	return text
}

// drift sends a request, its repeat, another one under its key, and keys that are
// missing or too long, and compares the answers with the Terms.
func (t Target) drift(ctx context.Context) ([]Drift, error) {
	a := t.Provider.New()
	p := prober{t, a, ctx}
	first, err := p.send(p.key(), 1000)
	if err != nil {
		return nil, err
	}
	terms := a.Terms(first.call)
	if !terms.HonoursKeys() {
		return nil, nil
	}
	if first.o.Status != contract.Succeeded {
		return nil, fmt.Errorf("the example of %q does not succeed there (%s): is the account set up for it?", t.Endpoint.Name, first)
	}
	repeat, err := p.send(first.call.Key, 1000)
	if err != nil {
		return nil, err
	}
	other, err := p.send(first.call.Key, 1001)
	if err != nil {
		return nil, err
	}
	all := []Drift{
		{"A repeat", promised(terms.Repeat.String(), terms.RepeatAnswers), repeat.String(), repeatDiffers(terms, first, repeat)},
		{"Other parameters", promised(terms.Mismatch.String(), terms.MismatchAnswers), other.String(), mismatchDiffers(terms, other)},
	}
	limits, err := p.limits(terms)
	return append(all, limits...), err
}

func promised(what string, answers []contract.Answer) string {
	var list []string
	for _, a := range answers {
		list = append(list, a.String())
	}
	if len(list) == 0 {
		return what
	}
	return what + ": " + strings.Join(list, ", ")
}

func repeatDiffers(t contract.Terms, first, repeat seen) bool {
	switch t.Repeat {
	case contract.Replays, contract.ReturnsCurrent:
		unmarked := t.Repeat == contract.Replays && t.ReplayMarker != "" && !repeat.o.Replayed
		return repeat.o.Status != contract.Succeeded || repeat.o.Resource != first.o.Resource || unmarked
	case contract.Conflicts:
		return repeat.o.Status != contract.Duplicate || !among(t.RepeatAnswers, repeat)
	default:
		return false
	}
}

func mismatchDiffers(t contract.Terms, other seen) bool {
	switch t.Mismatch {
	case contract.MismatchRefused:
		return other.o.Status == contract.Succeeded || !among(t.MismatchAnswers, other)
	case contract.MismatchIgnored:
		return other.o.Status == contract.KeyReused
	default:
		return false
	}
}

// among reports whether an answer is one of those that are recorded, if any are.
func among(list []contract.Answer, s seen) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(a contract.Answer) bool {
		return a.Status == s.reply.StatusCode && (a.Code == "" || a.Code == s.o.Code || strings.Contains(string(s.reply.Body), `"`+a.Code+`"`))
	})
}

// prober sends requests as they are: no loop repeats them.
type prober struct {
	t   Target
	a   contract.Adapter
	ctx context.Context
}

// limits tries a request without a key, and keys of the greatest length and one more.
func (p prober) limits(t contract.Terms) ([]Drift, error) {
	var all []Drift
	if t.KeyHeader != "" {
		bare, err := p.send("", 1002)
		if err != nil {
			return nil, err
		}
		recorded := "executed"
		if t.KeyRequired {
			recorded = "refused"
		}
		all = append(all, Drift{"Without a key", recorded, bare.String(), t.KeyRequired == (bare.o.Status == contract.Succeeded)})
	}
	if t.KeyMaxLen == 0 {
		return all, nil
	}
	long, err := p.send(p.long(t, t.KeyMaxLen), 1003)
	if err != nil {
		return nil, err
	}
	longer, err := p.send(p.long(t, t.KeyMaxLen+1), 1004)
	if err != nil {
		return nil, err
	}
	return append(all,
		Drift{fmt.Sprintf("A key of %d characters", t.KeyMaxLen), "taken", long.String(), long.o.Status != contract.Succeeded},
		Drift{fmt.Sprintf("A key of %d characters", t.KeyMaxLen+1), "refused", longer.String(), longer.o.Status == contract.Succeeded}), nil
}

func (p prober) key() string { return contract.NewKey() }

// long returns a key of n characters that no one else has.
func (p prober) long(t contract.Terms, n int) string {
	key := contract.NewKey()
	if t.KeyAlphabet != "" {
		key = strings.Map(func(r rune) rune {
			if strings.ContainsRune(t.KeyAlphabet, r) {
				return r
			}
			return rune(t.KeyAlphabet[0])
		}, key)
	}
	for len(key) < n {
		key += key
	}
	return key[:n]
}

// send sends one request, once.
func (p prober) send(key string, amount int64) (seen, error) {
	req, err := p.t.request(key, amount)
	if err != nil {
		return seen{}, err
	}
	req = req.WithContext(p.ctx)
	c := contract.Call{Request: req.Clone(p.ctx), Key: key, FirstSent: time.Now()}
	if req.Body != nil {
		if c.Body, err = io.ReadAll(req.Body); err != nil {
			return seen{}, err
		}
		req.Body = io.NopCloser(strings.NewReader(string(c.Body)))
	}
	if t := p.a.Terms(c); t.KeyHeader != "" && key != "" {
		req.Header.Set(t.KeyHeader, t.FormatKey(key))
	}
	c.Request.Header = req.Header
	req.URL.Scheme, req.URL.Host, req.Host = p.t.URL.Scheme, p.t.URL.Host, ""
	resp, err := p.t.Client.Transport.RoundTrip(req)
	if err != nil {
		return seen{}, fmt.Errorf("the server did not answer: %s", contract.DescribeError(err))
	}
	defer resp.Body.Close()
	r := contract.Reply{StatusCode: resp.StatusCode, Header: resp.Header, Sent: true, At: time.Now()}
	r.Body, r.Err = io.ReadAll(io.LimitReader(resp.Body, maxBody))
	return seen{c, r, p.a.Classify(c, r)}, nil
}

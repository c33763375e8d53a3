package explore

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
)

// Subject is one business action at one provider. What it says of the provider is
// said again here, and not taken from the adapter: the oracle judges by it.
type Subject struct {
	Name     string
	Adapter  contract.Adapter
	Fake     func(*fakes.Options) *fakes.Server
	Refusal  fakes.Fault // a documented refusal before execution
	Action   string      // of its effect in the ledger: "create"
	Endpoint contract.Endpoint

	// KeyHeader carries the key; "" is the body, where the Endpoint has {key}.
	KeyHeader string
	KeyQuoted bool // as "k" there, and not as k

	// Retention of the key: RetentionForever has no end, 0 is not published.
	Retention time.Duration

	Declines  bool // the provider executes it and refuses
	Lists     bool // the provider shows what exists, and so that something does not
	Keyless   bool // nothing stops a second effect but not sending again
	Forgotten bool // the endpoint honours keys, and the caller gave none
	Unmarked  bool // a stored answer looks like a first one, so that a saved error leaves a doubt for good
	Volatile  bool // no error stays under the key: after one, a repeat may take effect anew

	prepare func(s *fakes.Server) string // returns what {prepared} in the Endpoint's URL stands for
	relapse string                       // the state into which the resource falls after each send
}

// unpublished is how long a key may be used whose retention is not published.
const unpublished = time.Hour

// amount is what every operation moves.
const amount = 2500

// request returns the request of one order, its key in the context or the body.
func (s *Subject) request(ctx context.Context, order, prepared string) *http.Request {
	switch {
	case !s.Keyless:
		ctx = contract.WithKey(ctx, s.key(order))
	case !s.Forgotten:
		ctx = contract.WithoutKey(ctx)
	}
	e := s.Endpoint
	e.URL = strings.ReplaceAll(e.URL, "{prepared}", prepared)
	e.Body = strings.ReplaceAll(e.Body, "{order}", order)
	r, err := e.Request(s.key(order), amount)
	if err != nil {
		panic(err) // the endpoints are our own
	}
	return credentials(r.WithContext(ctx))
}

func credentials(r *http.Request) *http.Request {
	r.Header.Set("Authorization", "Bearer sk_test_1")
	return r
}

// key returns the key of an order as the provider sees it, "" if there is none.
func (s *Subject) key(order string) string {
	if s.Keyless {
		return ""
	}
	return contract.KeyFor("pay order", order)
}

// wireKey returns the key of an order as KeyHeader carries it.
func (s *Subject) wireKey(order string) string {
	if s.KeyQuoted && !s.Keyless {
		return `"` + s.key(order) + `"`
	}
	return s.key(order)
}

// life is up to which age of its key the operation may be sent: less than the
// provider remembers it, by an hour or a quarter. It reports false where that has no
// end.
func (s *Subject) life() (time.Duration, bool) {
	if s.Keyless || s.Retention == contract.RetentionForever {
		return 0, false
	}
	return s.horizon() - s.margin(), true
}

// horizon is what counts as a long time at this provider.
func (s *Subject) horizon() time.Duration {
	switch s.Retention {
	case 0:
		return unpublished
	case contract.RetentionForever:
		return 24 * time.Hour
	default:
		return s.Retention
	}
}

func (s *Subject) margin() time.Duration { return min(time.Hour, s.horizon()/4) }

// long is a time after which the key is still known, and beyond one after which it
// is not.
func (s *Subject) long() time.Duration   { return s.horizon() - 2*s.margin() }
func (s *Subject) beyond() time.Duration { return s.horizon() + s.margin() }

func with(s Subject, change func(*Subject)) Subject {
	change(&s)
	return s
}

// post makes one plain request at the fake, before anything is explored.
func post(f *fakes.Server, e contract.Endpoint, key string) {
	r, err := e.Request(key, amount)
	if err != nil {
		panic(err)
	}
	defer f.Client().CloseIdleConnections()
	resp, err := f.Client().Do(credentials(r))
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if err != nil || resp.StatusCode >= 300 {
		panic(fmt.Sprint("explore: preparing the fake: ", err))
	}
}

package cases_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/idempact/idempact/contract"
)

// wrong is an adapter that is wrong in one way, and right in all others.
type wrong struct {
	contract.Adapter
	contract.Resolver
	contract.Finder
	terms    func(contract.Call, contract.Terms) contract.Terms
	classify func(contract.Call, contract.Reply, contract.Outcome) contract.Outcome
}

func (w wrong) Terms(c contract.Call) contract.Terms {
	t := w.Adapter.Terms(c)
	if w.terms != nil {
		t = w.terms(c, t)
	}
	return t
}

func (w wrong) Classify(c contract.Call, r contract.Reply) contract.Outcome {
	o := w.Adapter.Classify(c, r)
	if w.classify != nil {
		o = w.classify(c, r, o)
	}
	return o
}

// fault is one mistake in an adapter or below the client, the cases that must see
// it, and what they say of it.
type fault struct {
	name     string
	terms    func(contract.Call, contract.Terms) contract.Terms
	classify func(contract.Call, contract.Reply, contract.Outcome) contract.Outcome
	wire     func(http.RoundTripper) http.RoundTripper
	says     string
	cases    []string
}

// turn returns a Classify that takes one status for another.
func turn(from, to contract.Status) func(contract.Call, contract.Reply, contract.Outcome) contract.Outcome {
	return func(_ contract.Call, _ contract.Reply, o contract.Outcome) contract.Outcome {
		if o.Status == from {
			o.Status = to
		}
		return o
	}
}

// status returns a Classify that reads one status from every answer that it picks.
func status(to contract.Status, pick func(contract.Reply) bool) func(contract.Call, contract.Reply, contract.Outcome) contract.Outcome {
	return func(_ contract.Call, r contract.Reply, o contract.Outcome) contract.Outcome {
		if r.StatusCode != 0 && pick(r) {
			o.Status = to
		}
		return o
	}
}

func drop(change func(*contract.Outcome)) func(contract.Call, contract.Reply, contract.Outcome) contract.Outcome {
	return func(_ contract.Call, _ contract.Reply, o contract.Outcome) contract.Outcome {
		change(&o)
		return o
	}
}

// through returns a wire on which every write goes through one function.
func through(f func(http.RoundTripper, *http.Request) (*http.Response, error)) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper{
			roundTrip: func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodGet {
					return next.RoundTrip(r)
				}
				return f(next, r)
			},
			closeIdle: next.(roundTripper).closeIdle,
		}
	}
}

var faults = []fault{
	{
		name:     "a server error did nothing",
		classify: status(contract.NotExecuted, func(r contract.Reply) bool { return r.StatusCode >= 500 }),
		says:     "the operation is not executed, want unknown",
		cases:    []string{"B05a", "B75c", "B86a", "D-stripe-12", "D-zepto-34", "D-zepto-21", "F-4xx-stripe-04"},
	}, {
		name:     "a server error did nothing, so a keyless request goes again",
		classify: status(contract.NotExecuted, func(r contract.Reply) bool { return r.StatusCode >= 500 }),
		says:     "sends (",
		cases:    []string{"B05b", "B70b"},
	}, {
		name:     "every 2xx is a success",
		classify: status(contract.Succeeded, func(r contract.Reply) bool { return r.StatusCode/100 == 2 && r.Err == nil }),
		says:     "the operation is succeeded, want unknown",
		cases:    []string{"B87c", "F-odd-stripe-01", "F-odd-stripe-03", "F-odd-stripe-13", "F-dup-stripe-02", "F-odd-zepto-03", "F-html-zepto-04"},
	}, {
		name:     "a spent key is sent again",
		classify: turn(contract.KeySpent, contract.Unknown),
		says:     "the operation is unknown, want key spent",
		cases:    []string{"B50b", "B50d", "B75a", "D-stripe-15"},
	}, {
		name:     "a spent key is a failure",
		classify: turn(contract.KeySpent, contract.Declined),
		says:     "the operation is declined, want key spent",
		cases:    []string{"B50b", "B50d", "D-stripe-15"},
	}, {
		name: "no reply did nothing",
		classify: func(_ contract.Call, r contract.Reply, o contract.Outcome) contract.Outcome {
			if r.StatusCode == 0 {
				o.Status = contract.NotExecuted
			}
			return o
		},
		says:  "reply 1, without an answer: not executed, want unknown",
		cases: []string{"B69d", "B06c", "B07a", "D-zepto-09"},
	}, {
		name:     "a conflict is a refusal",
		classify: status(contract.Rejected, func(r contract.Reply) bool { return r.StatusCode == http.StatusConflict }),
		says:     "the operation is rejected",
		cases:    []string{"B36a", "B36b", "B20e", "D-zepto-02", "B67c"},
	}, {
		name:     "a page is the provider's word",
		classify: status(contract.Rejected, func(r contract.Reply) bool { return r.StatusCode/100 == 4 && r.StatusCode != 429 }),
		says:     "the operation is rejected, want unknown",
		cases:    []string{"F-html-stripe-02", "F-4xx-stripe-02", "F-odd-stripe-11", "F-html-zepto-03"},
	}, {
		name:     "a refusal is sent again",
		classify: turn(contract.Rejected, contract.NotExecuted),
		says:     "4 sends",
		cases:    []string{"B76a", "D-stripe-01", "D-zepto-29", "V2-04"},
	}, {
		name:     "a decline is sent again",
		classify: turn(contract.Declined, contract.NotExecuted),
		says:     "4 sends",
		cases:    []string{"B53a", "B53b"},
	}, {
		name:     "a duplicate is a success, unseen",
		classify: turn(contract.Duplicate, contract.Succeeded),
		says:     "succeeded, want duplicate",
		cases:    []string{"B28b", "B39a", "D-zepto-02", "D-zepto-36"},
	}, {
		name:     "a key in use belongs to another request",
		classify: turn(contract.InProgress, contract.KeyReused),
		says:     "the operation is key reused",
		cases:    []string{"B36a", "B67a", "D-zepto-18"},
	}, {
		name:     "the provider's advice is not heard",
		classify: drop(func(o *contract.Outcome) { o.NoResend = false }),
		says:     "sends (",
		cases:    []string{"B74a", "B74g", "B74k", "B74l"},
	}, {
		name:     "nothing is ever sent again",
		classify: drop(func(o *contract.Outcome) { o.NoResend = true }),
		says:     "sends (",
		cases:    []string{"B05a", "B07a", "B36a", "B83a", "D-zepto-09"},
	}, {
		name:     "the wait is not read",
		classify: drop(func(o *contract.Outcome) { o.RetryAfter = 0 }),
		says:     "asked were",
		cases:    []string{"B79a", "B81e", "B83a", "B57a", "B78d", "B79b", "F-ra-stripe-10", "F-ra-zepto-08", "F-ra-zepto-12", "D-zepto-42", "V2-03"},
	}, {
		name: "a date is measured by our clock",
		classify: func(_ contract.Call, r contract.Reply, o contract.Outcome) contract.Outcome {
			o.RetryAfter = contract.ParseWait(contract.HeaderValue(r.Header, "Retry-After"), time.Second, r.At)
			return o
		},
		says:  "sent again after",
		cases: []string{"F-ra-zepto-08"},
	}, {
		name: "a wait is negative",
		classify: func(_ contract.Call, r contract.Reply, o contract.Outcome) contract.Outcome {
			if strings.HasPrefix(contract.HeaderValue(r.Header, "Retry-After"), "-") {
				o.RetryAfter = -time.Second
			}
			return o
		},
		says:  "a negative wait",
		cases: []string{"B81a", "F-ra-stripe-02", "F-ra-zepto-04"},
	}, {
		name: "a wait is read from the first header alone, as it is spelled",
		classify: func(_ contract.Call, r contract.Reply, o contract.Outcome) contract.Outcome {
			o.RetryAfter = contract.ParseWait(r.Header.Get("Retry-After"), time.Second, r.At)
			return o
		},
		says:  "asked were",
		cases: []string{"F-ra-zepto-12", "B83a"},
	}, {
		name:     "the reference is lost",
		classify: drop(func(o *contract.Outcome) { o.Resource = "" }),
		says:     `resource "", want`,
		cases:    []string{"B03b", "B39a", "D-zepto-02", "D-zepto-35"},
	}, {
		name:     "the code is lost",
		classify: drop(func(o *contract.Outcome) { o.Code = "" }),
		says:     `code "", want`,
		cases:    []string{"B53a", "B36b", "B28b", "D-zepto-36"},
	}, {
		name:     "the mark of a stored answer is lost",
		classify: drop(func(o *contract.Outcome) { o.Replayed = false }),
		says:     "replayed false, want true",
		cases:    []string{"B04a", "B53b", "B53d", "B50b"},
	}, {
		name: "every endpoint honours keys",
		terms: func(c contract.Call, t contract.Terms) contract.Terms {
			t.KeyHeader, t.Retention = "Idempotency-Key", 24*time.Hour
			return t
		},
		says:  "4 sends",
		cases: []string{"B18a"},
	}, {
		name: "every request may be repeated",
		terms: func(_ contract.Call, t contract.Terms) contract.Terms {
			t.Idempotent = true
			return t
		},
		says:  "sends (",
		cases: []string{"B05b", "B06c", "B18a", "B65c", "F-3xx-zepto-01"},
	}, {
		name: "no endpoint honours keys",
		terms: func(_ contract.Call, t contract.Terms) contract.Terms {
			return contract.Terms{}
		},
		says:  "1 sends",
		cases: []string{"B05a", "B07a", "B10a", "D-zepto-09"},
	}, {
		name: "each attempt has a key of its own",
		wire: through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Set("Idempotency-Key", contract.NewKey())
			return next.RoundTrip(r)
		}),
		says:  "has another head",
		cases: []string{"B07a", "B10a", "B64a", "D-zepto-09"},
	}, {
		name: "the key is replaced once and for all",
		wire: through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Set("Idempotency-Key", "another")
			return next.RoundTrip(r)
		}),
		says:  `and ["k1"] was asked`,
		cases: []string{"B04a", "B36a"},
	}, {
		name: "two keys are sent",
		wire: through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header["IDEMPOTENCY-KEY"] = []string{"another"}
			return next.RoundTrip(r)
		}),
		says:  "carries 2 keys",
		cases: []string{"B04a", "B10a"},
	}, {
		name: "a key is added",
		wire: through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Set("Idempotency-Key", "k")
			return next.RoundTrip(r)
		}),
		says:  "a key that the caller did not give",
		cases: []string{"B05b", "D-zepto-35"},
	}, {
		name: "the key is dropped",
		wire: through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Del("Idempotency-Key")
			return next.RoundTrip(r)
		}),
		says:  "carries no key",
		cases: []string{"B04a", "B07a", "D-zepto-02"},
	}, {
		name: "the body is empty from the second attempt on",
		wire: func(next http.RoundTripper) http.RoundTripper {
			sent := 0
			return through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
				if sent++; sent > 1 {
					r = r.Clone(r.Context())
					r.Body, r.ContentLength = http.NoBody, 0
				}
				return next.RoundTrip(r)
			})(next)
		},
		says:  "has another body",
		cases: []string{"B07a", "B64a", "D-zepto-33"},
	}, {
		name: "net/http may repeat by itself",
		wire: through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			r = r.Clone(r.Context())
			r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
			r.Body, _ = r.GetBody()
			return next.RoundTrip(r)
		}),
		says:  "attempts, and there were",
		cases: []string{"B65a", "B65c", "B10a", "B64a", "F-fold-zepto-03"},
	}, {
		name: "a layer below sends again",
		wire: through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			for try := 0; ; try++ {
				r.Body = io.NopCloser(bytes.NewReader(body))
				if resp, err := next.RoundTrip(r); err == nil || try == 1 || r.Context().Err() != nil {
					return resp, err
				}
			}
		}),
		says:  "attempts, and there were",
		cases: []string{"B06c", "B66a", "B69d", "B64a"},
	}, {
		name: "a redirect is followed",
		wire: through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err != nil || resp.Header.Get("Location") == "" {
				return resp, err
			}
			resp.Body.Close()
			to, err := http.NewRequestWithContext(r.Context(), r.Method, resp.Header.Get("Location"), nil)
			if err != nil {
				return nil, err
			}
			return next.RoundTrip(to)
		}),
		says:  "unexpected POST",
		cases: []string{"F-3xx-stripe-01", "F-3xx-stripe-03", "F-3xx-stripe-04", "F-3xx-stripe-05", "F-3xx-zepto-01"},
	}, {
		name: "an SDK sees an answer that settles nothing as a refusal",
		classify: func(_ contract.Call, r contract.Reply, o contract.Outcome) contract.Outcome {
			if o.Status == contract.Unknown && r.StatusCode != 0 {
				o.Status = contract.Rejected
			}
			return o
		},
		says:  "an SDK sees a response",
		cases: []string{"B05a", "F-odd-stripe-09", "D-zepto-17"},
	},
}

// TestTeeth shows that the cases see what they are for: each fault makes each of
// its cases fail, and for its own reason.
func TestTeeth(t *testing.T) {
	all := loadCases(t)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			for _, id := range f.cases {
				c, err := find(all, id)
				if err != nil {
					t.Fatal(err)
				}
				a := adapterOf(t, c)
				if f.terms != nil || f.classify != nil {
					a = wrong{a, a.(contract.Resolver), a.(contract.Finder), f.terms, f.classify}
				}
				found := append(checkReplies(c, a), playAll(t, c, rig{adapter: a, wire: f.wire})...)
				if !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, f.says) }) {
					t.Errorf("case %s does not say %q:\n\t%s", id, f.says, strings.Join(found, "\n\t"))
				}
			}
		})
	}
}

func find(all []acceptanceCase, id string) (acceptanceCase, error) {
	for _, c := range all {
		if c.id == id {
			return c, nil
		}
	}
	return acceptanceCase{}, errors.New("no case " + id)
}

package cases_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/idempact/idempact/contract"
)

// TestMixedStories tells stories that nobody reported: replies to one request, from
// different cases, in any order. What they come to is worked out here a second
// time, from what each reply says by itself.
func TestMixedStories(t *testing.T) {
	const each = 24 // of every request
	random := rand.New(rand.NewPCG(2026, 11))
	for _, pool := range pools(t, loadCases(t)) {
		a := adapterOf(t, pool)
		for n := range each {
			c := pool
			c.replies = nil
			for range maxAttempts {
				c.replies = append(c.replies, pool.replies[random.IntN(len(pool.replies))])
			}
			call := newCall(c, a)
			repeatable := call.Key != "" || a.Terms(call).Idempotent
			c.want = foretell(c.replies, repeatable, func(r reply) bool { return endsResending(a, call, r) })
			for _, via := range []string{"Do", "StandardClient"} {
				var found []string
				synctest.Test(t, func(*testing.T) {
					found = play(c, variant{via, byLength}, rig{adapter: a}).check()
				})
				if len(found) > 0 {
					t.Errorf("%s, story %d: %s\n\t%s", c.request.first, n, outline(c.replies), strings.Join(found, "\n\t"))
				}
			}
		}
	}
}

// pools returns each request with all replies that come to it in any case, but for
// those whose wait is longer than a story may take or hangs on a date.
func pools(t *testing.T, cases []acceptanceCase) (all []acceptanceCase) {
	at := map[string]int{}
	for _, c := range cases {
		key := c.provider + c.request.first + string(c.request.body) + fmt.Sprint(c.request.header)
		n, ok := at[key]
		if !ok {
			n = len(all)
			at[key] = n
			all = append(all, acceptanceCase{provider: c.provider, id: "mixed", request: c.request})
		}
		a := adapterOf(t, c)
		for _, r := range c.replies {
			long := slices.ContainsFunc(r.waits(a.Terms(newCall(c, a))), func(v string) bool {
				s, err := strconv.Atoi(v)
				return err != nil || s > 60
			})
			if !long && len(c.shows) == 0 {
				all[n].replies = append(all[n].replies, r)
			}
		}
	}
	return slices.DeleteFunc(all, func(c acceptanceCase) bool { return len(c.replies) < 4 })
}

// foretell says what a story comes to: a doubt is settled only by an effect or a
// decline, and is otherwise the strongest one seen; without one the last answer
// holds. It ends where a resend is of no use, or would not be safe.
func foretell(replies []reply, repeatable bool, final func(reply) bool) want {
	doubts := []contract.Status{contract.InProgress, contract.Unknown, contract.KeySpent} // weakest first
	doubt := -1
	for n, r := range replies {
		ends := n == len(replies)-1 || r.transport == "cancel"
		switch r.each {
		case contract.Succeeded, contract.Duplicate, contract.Declined:
			return want{status: r.each, minSends: n + 1, maxSends: n + 1}
		case contract.Rejected, contract.KeyReused, contract.KeySpent:
			ends = true
		default:
			ends = ends || final(r)
		}
		doubt = max(doubt, slices.Index(doubts, r.each))
		if !ends && (doubt < 0 || repeatable) {
			continue
		}
		w := want{status: r.each, minSends: n + 1, maxSends: n + 1}
		if doubt >= 0 {
			w.status = doubts[doubt]
		}
		return w
	}
	return want{}
}

// endsResending reports whether a resend after the reply is of no use, or not safe, as
// the adapter reads it.
func endsResending(a contract.Adapter, c contract.Call, r reply) bool {
	for _, given := range r.given() {
		if a.Classify(c, given).NoResend {
			return true
		}
	}
	return false
}

func outline(replies []reply) string {
	var list []string
	for _, r := range replies {
		list = append(list, fmt.Sprintf("%s = %v", r.first, r.each))
	}
	return strings.Join(list, ", ")
}

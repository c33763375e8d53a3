package zepto

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/idempact/idempact/contract"
)

// comparison is what a resource has in common with a request.
type comparison struct {
	different []string // proves that it is another request's
	unseen    []string // must be shown for it to be this request's
}

func (c comparison) equal() bool { return len(c.different) == 0 && len(c.unseen) == 0 }

// asked returns what the call asks for: its body, and what its path adds.
func asked(e endpoint, c contract.Call) (contract.Object, error) {
	o, err := contract.DecodeObject(c.Body)
	if err == nil && e.makes == refund {
		o["for_ref"] = e.refs[0]
	}
	return o, err
}

// compare compares a resource with what was asked.
func compare(k *resource, asked, shown contract.Object) comparison {
	var c comparison
	c.compare(k.fields, asked, shown)
	c.metadata(asked, shown)
	if k == payment {
		c.payouts(asked, shown)
	}
	return c
}

// remitter is the metadata key that Zepto gives a meaning: a name on statements.
const remitter = "remitter"

func (c *comparison) compare(fields []field, asked, shown contract.Object) {
	for _, f := range fields {
		want := asked.At(f.path)
		seen, blurred := false, false
		for _, path := range []string{f.path, f.also} {
			got := shown.At(path)
			if want == nil || got == nil {
				continue
			}
			switch same(f.what, want, got) {
			case yes:
				seen = true
			case no:
				seen = true
				c.different = append(c.different, difference(f, want, got))
			default:
				blurred = f.what == wording
			}
		}
		if blurred || !seen && (f.need == required || f.need == ifAsked && want != nil) {
			c.unseen = append(c.unseen, f.path)
		}
	}
}

// payouts compares the payouts of a payment, in any order.
func (c *comparison) payouts(asked, shown contract.Object) {
	want, got := objects(asked.List("payouts")), objects(shown.List("payouts"))
	switch {
	case len(want) == 0 || len(got) == 0:
		c.unseen = append(c.unseen, "payouts")
	case len(want) != len(got):
		c.different = append(c.different, fmt.Sprintf("%d payouts where %d were asked", len(got), len(want)))
	case len(want) == 1:
		c.compare(payoutFields, want[0], got[0])
		c.metadata(want[0], got[0])
	default:
		c.manyPayouts(want, got)
	}
}

// manyPayouts pairs each payout that was asked with one that is shown. Those with
// most metadata choose first, since they have the least choice.
func (c *comparison) manyPayouts(want, got []contract.Object) {
	if a, b := payoutKeys(want), payoutKeys(got); !slices.Equal(a, b) {
		c.different = append(c.different, fmt.Sprintf("payouts of %s where %s were asked", amounts(got), amounts(want)))
		return
	}
	slices.SortStableFunc(want, func(a, b contract.Object) int {
		return len(b.Object("metadata")) - len(a.Object("metadata"))
	})
	for _, w := range want {
		paired := slices.IndexFunc(got, func(g contract.Object) bool {
			var one comparison
			one.compare(payoutFields, w, g)
			one.metadata(w, g)
			return one.equal()
		})
		if paired < 0 {
			c.unseen = append(c.unseen, "payouts")
			return
		}
		got = slices.Delete(slices.Clone(got), paired, paired+1)
	}
}

func payoutKeys(list []contract.Object) []string {
	var keys []string
	for _, p := range list {
		n, _ := integer(p["amount"])
		keys = append(keys, n+" "+strings.ToLower(p.Text("recipient_contact_id")))
	}
	slices.Sort(keys)
	return keys
}

func amounts(list []contract.Object) string {
	var all []string
	for _, p := range list {
		all = append(all, show(amount, p["amount"]))
	}
	return strings.Join(all, ", ")
}

func objects(list []any) []contract.Object {
	var out []contract.Object
	for _, v := range list {
		o, ok := v.(contract.Object)
		if !ok {
			return nil
		}
		out = append(out, o)
	}
	return out
}

// metadata compares every pair that was asked. What the resource has beside them
// does not matter; a resource that shows no metadata at all proves nothing.
func (c *comparison) metadata(asked, shown contract.Object) {
	want := asked.Object("metadata")
	got, shows := shown["metadata"].(contract.Object)
	for _, key := range slices.Sorted(maps.Keys(want)) {
		w := want[key]
		g, there := got[key]
		switch {
		case w == nil, key == remitter && !there:
		case !shows:
			c.unseen = append(c.unseen, "metadata")
			return
		case !there:
			c.different = append(c.different, "no metadata "+metadataName(key)+" where one was asked")
		default:
			switch same(term, w, g) {
			case yes:
			case no:
				// Its values are the caller's own and may be personal.
				c.different = append(c.different, "another metadata "+metadataName(key)+" than was asked")
			default:
				c.unseen = append(c.unseen, "metadata")
			}
		}
	}
}

func metadataName(key string) string {
	if contract.Word(key) == "" {
		return "value"
	}
	return key
}

type verdict uint8

const (
	unclear verdict = iota // not comparable: proves nothing
	yes
	no
)

func same(what value, want, got any) verdict {
	switch what {
	case amount:
		a, okA := integer(want)
		b, okB := integer(got)
		return decideIf(okA && okB, a == b)
	case wording:
		// Two invoices of one amount differ in nothing else; but a text that was
		// shortened on its way to a bank is no other payment.
		a, okA := contract.Scalar(want)
		b, okB := contract.Scalar(got)
		return decideIf(okA && okB && strings.TrimSpace(a) == strings.TrimSpace(b), true)
	case identifier:
		a, _ := want.(contract.Object)
		b, _ := got.(contract.Object)
		// An alias and the account behind it are not comparable.
		comparable := a.Text("value") != "" && b.Text("value") != "" && a.Text("type") == b.Text("type")
		return decideIf(comparable, strings.EqualFold(plainAccount(a.Text("value")), plainAccount(b.Text("value"))))
	}
	a, okA := contract.Scalar(want)
	b, okB := contract.Scalar(got)
	switch {
	case !okA || !okB:
		return decideIf(reflect.DeepEqual(want, got), true)
	case what == contact || what == account:
		return decideIf(true, strings.EqualFold(a, b)) // UUIDs have no case
	case a != b && (isFraction(want) || isFraction(got)):
		return unclear // 1.0 and 1 are one number in two spellings
	default:
		return decideIf(true, a == b)
	}
}

func decideIf(comparable, equal bool) verdict {
	switch {
	case !comparable:
		return unclear
	case equal:
		return yes
	default:
		return no
	}
}

// difference says in one clause what differs, naming both where they may be named.
func difference(f field, want, got any) string {
	a, b := show(f.what, want), show(f.what, got)
	if a == "" || b == "" {
		return "another " + f.path + " than was asked"
	}
	return fmt.Sprintf("%s %s where %s was asked", f.path, b, a)
}

// show returns the value for a reason, or "" where it has no place in one.
func show(what value, v any) string {
	switch what {
	case amount:
		n, _ := integer(v)
		return contract.Word(n)
	case contact, reference, term:
		s, _ := contract.Scalar(v)
		return contract.Word(s)
	default:
		return ""
	}
}

// integer returns a whole number in its one spelling, with no limit of size.
func integer(v any) (string, bool) {
	s, ok := contract.Scalar(v)
	digits, negative := strings.CutPrefix(s, "-")
	if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return "", false
	}
	switch digits = strings.TrimLeft(digits, "0"); {
	case digits == "":
		return "0", true
	case negative:
		return "-" + digits, true
	default:
		return digits, true
	}
}

func isFraction(v any) bool {
	n, ok := v.(json.Number)
	return ok && strings.ContainsAny(n.String(), ".eE")
}

func plainAccount(s string) string {
	return strings.NewReplacer(" ", "", "-", "").Replace(s)
}

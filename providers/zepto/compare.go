package zepto

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/idempact/idempact/contract"
)

// comparison adds to a comparison what Zepto has beside plain fields.
type comparison struct{ contract.Comparison }

// asked returns what the call asks for: its body, and what its path adds.
func asked(e endpoint, c contract.Call) (contract.Object, error) {
	o, err := contract.DecodeObject(c.Body)
	if err == nil && e.makes == refund {
		o["for_ref"] = e.refs[0]
	}
	return o, err
}

// compare compares a resource with what was asked.
func compare(k *resource, asked, shown contract.Object) contract.Comparison {
	c := comparison{contract.Compare(k.fields, asked, shown)}
	c.metadata(asked, shown)
	if k == payment {
		c.payouts(asked, shown)
	}
	return c.Comparison
}

// remitter is the metadata key that Zepto gives a meaning: a name on statements.
const remitter = "remitter"

// payout compares one payout with the one that was asked.
func payout(asked, shown contract.Object) contract.Comparison {
	c := comparison{contract.Compare(payoutFields, asked, shown)}
	c.metadata(asked, shown)
	return c.Comparison
}

// payouts compares the payouts of a payment, in any order.
func (c *comparison) payouts(asked, shown contract.Object) {
	want, got := objects(asked.List("payouts")), objects(shown.List("payouts"))
	switch {
	case len(want) == 0 || len(got) == 0:
		c.Unseen = append(c.Unseen, "payouts")
	case len(want) != len(got):
		c.Different = append(c.Different, fmt.Sprintf("%d payouts where %d were asked", len(got), len(want)))
	case len(want) == 1:
		one := payout(want[0], got[0])
		c.Different, c.Unseen = append(c.Different, one.Different...), append(c.Unseen, one.Unseen...)
	default:
		c.manyPayouts(want, got)
	}
}

// manyPayouts pairs each payout that was asked with one that is shown. Those with
// most metadata choose first, since they have the least choice.
func (c *comparison) manyPayouts(want, got []contract.Object) {
	if a, b := payoutKeys(want), payoutKeys(got); !slices.Equal(a, b) {
		c.Different = append(c.Different, fmt.Sprintf("payouts of %s where %s were asked", amounts(got), amounts(want)))
		return
	}
	slices.SortStableFunc(want, func(a, b contract.Object) int {
		return len(b.Object("metadata")) - len(a.Object("metadata"))
	})
	for _, w := range want {
		paired := slices.IndexFunc(got, func(g contract.Object) bool { return payout(w, g).Equal() })
		if paired < 0 {
			c.Unseen = append(c.Unseen, "payouts")
			return
		}
		got = slices.Delete(slices.Clone(got), paired, paired+1)
	}
}

func payoutKeys(list []contract.Object) []string {
	var keys []string
	for _, p := range list {
		keys = append(keys, plainAmount(p["amount"])+" "+strings.ToLower(p.Text("recipient_contact_id")))
	}
	slices.Sort(keys)
	return keys
}

func amounts(list []contract.Object) string {
	var all []string
	for _, p := range list {
		all = append(all, plainAmount(p["amount"]))
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
			c.Unseen = append(c.Unseen, "metadata")
			return
		case !there:
			c.Different = append(c.Different, "no metadata "+metadataName(key)+" where one was asked")
		default:
			switch contract.SameText(w, g) {
			case contract.Same:
			case contract.Differs:
				// Its values are the caller's own and may be personal.
				c.Different = append(c.Different, "another metadata "+metadataName(key)+" than was asked")
			default:
				c.Unseen = append(c.Unseen, "metadata")
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

// sameIdentifier compares two names of bank accounts. An alias and the account behind
// it are not comparable.
func sameIdentifier(want, got any) contract.Match {
	a, _ := want.(contract.Object)
	b, _ := got.(contract.Object)
	switch {
	case a.Text("value") == "" || b.Text("value") == "" || a.Text("type") != b.Text("type"):
		return contract.Unclear
	case strings.EqualFold(plainAccount(a.Text("value")), plainAccount(b.Text("value"))):
		return contract.Same
	default:
		return contract.Differs
	}
}

// plainAmount returns a whole number without the zeros before it, or what is there.
func plainAmount(v any) string {
	s, _ := contract.Scalar(v)
	if digits := strings.TrimLeft(s, "0"); digits != "" {
		s = digits
	}
	return contract.Word(s)
}

func plainAccount(s string) string {
	return strings.NewReplacer(" ", "", "-", "").Replace(s)
}

package contract

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Field is one thing that a resource must have in common with the request that it
// is taken for.
type Field struct {
	Path string // dotted: where the request carries it, and the resource may show it
	Also string // where else the resource may show it

	// Same compares what was asked with what is shown; neither is nil. Nil is SameText.
	Same func(want, got any) Match

	// Shown says that both values may stand in a Reason: an amount, a reference; not
	// a name, an account, a text for people.
	Shown bool
	Need  Need
}

// Need is what a resource must show to be confirmed.
type Need uint8

const (
	// IfShown fields are compared where both sides have them.
	IfShown Need = iota
	// IfAsked fields must be shown where they were asked.
	IfAsked
	// Required fields must be asked and shown.
	Required
)

// Match is what two values have shown to be.
type Match uint8

const (
	// Unclear values cannot be compared, which proves nothing.
	Unclear Match = iota
	// Same values are equal.
	Same
	// Differs: they are not, and the resource is another request's.
	Differs
)

// Comparison is what a resource has in common with a request.
type Comparison struct {
	Different []string // a clause each: what proves that it is another request's
	Unseen    []string // paths of what would have to be shown for it to be this request's
}

// Equal reports whether the resource is what was asked.
func (c Comparison) Equal() bool { return len(c.Different) == 0 && len(c.Unseen) == 0 }

// Compare compares a resource with what was asked, field by field.
func Compare(fields []Field, asked, shown Object) Comparison {
	var c Comparison
	for _, f := range fields {
		c.compare(f, asked, shown)
	}
	return c
}

func (c *Comparison) compare(f Field, asked, shown Object) {
	want := asked.At(f.Path)
	seen, blurred := false, false
	for _, path := range []string{f.Path, f.Also} {
		got := shown.At(path)
		if want == nil || got == nil {
			continue
		}
		switch f.same(want, got) {
		case Same:
			seen = true
		case Differs:
			seen = true
			c.Different = append(c.Different, f.difference(want, got))
		default:
			blurred = true
		}
	}
	if !seen && (blurred || f.Need == Required || f.Need == IfAsked && want != nil) {
		c.Unseen = append(c.Unseen, f.Path)
	}
}

func (f Field) same(want, got any) Match {
	if f.Same == nil {
		return SameText(want, got)
	}
	return f.Same(want, got)
}

// difference says in one clause what differs, naming both where they may be named.
func (f Field) difference(want, got any) string {
	a, _ := Scalar(want)
	b, _ := Scalar(got)
	if !f.Shown || Word(a) == "" || Word(b) == "" {
		return "another " + f.Path + " than was asked"
	}
	return fmt.Sprintf("%s %s where %s was asked", f.Path, b, a)
}

// CompareList adds to c the comparison of the objects of a list, in any order. A list
// that shows fewer than were asked may go on elsewhere; more are another request's, and
// so is one that equals none of those that were asked.
func (c *Comparison) CompareList(fields []Field, path string, asked, shown Object) {
	all, have := asked.Objects(path), shown.Objects(path)
	switch {
	case len(all) == 0:
		return
	case len(have) > len(all):
		c.Different = append(c.Different, "more "+path+" than were asked")
	case len(have) < len(all):
		c.Unseen = append(c.Unseen, path)
	}
	left, rest := slices.Clone(all), []Object(nil)
	for _, h := range have { // those that are equal find each other first
		if i := slices.IndexFunc(left, func(w Object) bool { return Compare(fields, w, h).Equal() }); i >= 0 {
			left = slices.Delete(left, i, i+1)
		} else {
			rest = append(rest, h)
		}
	}
	for _, h := range rest {
		fits := func(w Object) bool { return len(Compare(fields, w, h).Different) == 0 }
		i := slices.IndexFunc(left, fits)
		switch {
		case i >= 0:
			c.Unseen = append(c.Unseen, Compare(fields, left[i], h).Unseen...)
			left = slices.Delete(left, i, i+1)
		case slices.ContainsFunc(all, fits):
			c.Unseen = append(c.Unseen, path) // in another order it might have found its own
		default:
			c.Different = append(c.Different, "other "+path+" than were asked")
		}
	}
}

// Resolve says in o, a Duplicate, what the comparison proves of its resource: it is
// what was asked (Succeeded), another request's (KeyReused), or not confirmed.
func (c Comparison) Resolve(o Outcome) Outcome {
	switch {
	case len(c.Different) > 0:
		o.Status = KeyReused
		o.Reason = fmt.Sprintf("the key belongs to another request: %s shows %s", o.Resource, strings.Join(c.Different, "; "))
	case len(c.Unseen) > 0:
		o.Status = Duplicate
		o.Reason = fmt.Sprintf("%s does not show all that was asked (%s), so it is not confirmed", o.Resource, strings.Join(c.Unseen, ", "))
	default:
		o.Status = Succeeded
		o.Reason = "the resource is what was asked"
	}
	return o
}

// SameText compares two scalars as text. A number in two spellings is Unclear, and so
// are objects and lists that are not equal.
func SameText(want, got any) Match {
	a, okA := Scalar(want)
	b, okB := Scalar(got)
	if !okA || !okB {
		return matchIf(reflect.DeepEqual(want, got), true)
	}
	return matchIf(a == b || !isFraction(want) && !isFraction(got), a == b)
}

// SameFold compares two scalars without regard to case: currencies, UUIDs.
func SameFold(want, got any) Match {
	a, okA := Scalar(want)
	b, okB := Scalar(got)
	return matchIf(okA && okB, strings.EqualFold(a, b))
}

// SameWording compares two texts for people. Two that differ are Unclear: a text
// that was shortened on its way to a bank is no other payment.
func SameWording(want, got any) Match {
	a, okA := Scalar(want)
	b, okB := Scalar(got)
	return matchIf(okA && okB && strings.TrimSpace(a) == strings.TrimSpace(b), true)
}

// SameUnlessChanged compares two values of any kind, metadata for one. Two that differ
// are Unclear: what can be changed later may differ and be this request's.
func SameUnlessChanged(want, got any) Match {
	return matchIf(reflect.DeepEqual(want, got), true)
}

// SameAmount compares two whole numbers of any size, as numbers or as text: 100 and
// "0100" are one. What is no whole number is Unclear.
func SameAmount(want, got any) Match {
	a, okA := wholeNumber(want)
	b, okB := wholeNumber(got)
	return matchIf(okA && okB, a == b)
}

// SameDecimal compares two decimal numbers of any size: 25, "25.0" and 25.00 are one.
// What has an exponent or is no number is Unclear.
func SameDecimal(want, got any) Match {
	a, okA := decimal(want)
	b, okB := decimal(got)
	return matchIf(okA && okB, a == b)
}

func matchIf(comparable, equal bool) Match {
	switch {
	case !comparable:
		return Unclear
	case equal:
		return Same
	default:
		return Differs
	}
}

// wholeNumber returns a whole number in its one spelling.
func wholeNumber(v any) (string, bool) {
	s, ok := decimal(v)
	text, _ := Scalar(v)
	return s, ok && !strings.Contains(text, ".")
}

// decimal returns a decimal number in its one spelling.
func decimal(v any) (string, bool) {
	if _, is := v.(bool); is {
		return "", false
	}
	s, ok := Scalar(v)
	digits, negative := strings.CutPrefix(s, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if !ok || whole == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return "", false
	}
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if negative && whole != "0" {
		whole = "-" + whole
	}
	return whole, true
}

func isFraction(v any) bool {
	n, ok := v.(json.Number)
	return ok && strings.ContainsAny(n.String(), ".eE")
}

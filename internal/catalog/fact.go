package catalog

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

// Fact is one promise in words, with code in backquotes.
type Fact struct {
	Name  string
	Value string
	Open  string // what the documents leave open about it, "" if nothing
}

// facts are what is said of every group. What is of the key alone has no meaning where
// none is honoured.
var facts = []struct {
	name  string
	keyed bool
	of    func(contract.Terms) Fact
}{
	{"Key", false, keyPlace},
	{"Limits", true, limits},
	{"Required", true, required},
	{"Remembered", true, remembered},
	{"A repeat", true, repeat},
	{"While the first runs", true, inFlight},
	{"Other parameters", true, mismatch},
	{"Saved", true, saved},
	{"Waits", false, waits},
	{"Look-up", false, lookUp},
}

// Facts returns what is promised of the group's endpoints: for every group the same
// names in the same order.
func (g Group) Facts() []Fact {
	all := make([]Fact, len(facts))
	for i, f := range facts {
		all[i] = Fact{Value: "–"}
		if !f.keyed || g.Terms.HonoursKeys() {
			all[i] = f.of(g.Terms)
		}
		all[i].Name = f.name
	}
	return all
}

func keyPlace(t contract.Terms) Fact {
	var place string
	switch {
	case t.KeyHeader != "":
		place = "header " + code(t.KeyHeader)
		if t.KeyQuoted {
			place += ", quoted"
		}
	case t.KeyField != "":
		place = "body field " + code(t.KeyField)
	case t.Idempotent:
		return Fact{Value: "not needed: safe to repeat by definition"}
	default:
		return Fact{Value: "none honoured: sent until it may have arrived, and not once more"}
	}
	if t.KeyScope != "" {
		place += ", unique among " + code(t.KeyScope)
	}
	if len(t.AccountHeaders) > 0 {
		place += ", in the account of " + codes(t.AccountHeaders)
	}
	return Fact{Value: place}
}

func limits(t contract.Terms) Fact {
	var text string
	switch {
	case t.KeyMinLen > 0 && t.KeyMinLen == t.KeyMaxLen:
		text = fmt.Sprintf("%d characters", t.KeyMaxLen)
	case t.KeyMaxLen > 0:
		text = fmt.Sprintf("%d to %d characters", max(t.KeyMinLen, 1), t.KeyMaxLen)
	case t.KeyMinLen > 0:
		text = fmt.Sprintf("at least %d characters", t.KeyMinLen)
	default:
		text = "no length documented"
	}
	f := Fact{Value: text}
	if t.KeyAlphabet != "" {
		f.Value += " of " + code(alphabet(t.KeyAlphabet))
	}
	if t.KeyMaxLen == 0 {
		f.Open = "how long a key may be"
	}
	return f
}

func required(t contract.Terms) Fact {
	if t.KeyRequired {
		return Fact{Value: "yes"}
	}
	return Fact{Value: "no"}
}

func remembered(t contract.Terms) Fact {
	if t.Retention == 0 {
		return Fact{Value: "not published", Open: "for how long a key is remembered; it counts as the hour of `UnpublishedRetention`"}
	}
	return Fact{Value: duration(t.Retention)}
}

func repeat(t contract.Terms) Fact {
	f := Fact{Value: t.Repeat.String()}
	if len(t.RepeatAnswers) > 0 {
		f.Value += ": " + answers(t.RepeatAnswers)
	}
	if t.ReplayMarker != "" {
		f.Value += ", marked by " + code(t.ReplayMarker)
	}
	switch {
	case t.Repeat == contract.RepeatsNothing:
		f.Open = "what a repeat of a completed request gets"
	case t.Repeat == contract.Conflicts && len(t.RepeatAnswers) == 0:
		f.Open = "how the conflict of a repeat is told from others"
	}
	return f
}

func inFlight(t contract.Terms) Fact {
	if len(t.InFlightAnswers) == 0 {
		return Fact{Value: "undocumented", Open: "what a repeat gets while the first request runs"}
	}
	return Fact{Value: answers(t.InFlightAnswers)}
}

func mismatch(t contract.Terms) Fact {
	f := Fact{Value: t.Mismatch.String()}
	if len(t.MismatchAnswers) > 0 {
		f.Value += ": " + answers(t.MismatchAnswers)
	}
	switch {
	case t.Mismatch == contract.MismatchUndocumented:
		f.Open = "what other parameters under a used key get"
	case t.Mismatch == contract.MismatchRefused && len(t.MismatchAnswers) == 0:
		f.Open = "how other parameters under a used key are refused"
	}
	return f
}

func saved(t contract.Terms) Fact {
	f := Fact{Value: t.Saves.String()}
	if t.Saves == contract.SavesUndocumented {
		f.Open = "whether an error is kept under its key"
	}
	return f
}

func waits(t contract.Terms) Fact {
	var parts []string
	if len(t.WaitHeaders) > 0 {
		parts = append(parts, codes(t.WaitHeaders))
	}
	if t.MinWait > 0 {
		parts = append(parts, "at least "+duration(t.MinWait))
	}
	if len(parts) == 0 {
		return Fact{Value: "undocumented", Open: "how long to wait before a repeat"}
	}
	return Fact{Value: strings.Join(parts, "; ")}
}

func lookUp(t contract.Terms) Fact {
	f := Fact{Value: t.LookUp.String()}
	if t.LookUp == contract.LookUpUndocumented {
		f.Open = "how an operation is found without its answer"
	}
	return f
}

func code(s string) string {
	if strings.Contains(s, "`") {
		return "`` " + s + " ``"
	}
	return "`" + s + "`"
}

func codes(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = code(n)
	}
	return strings.Join(quoted, ", ")
}

func answers(list []contract.Answer) string {
	texts := make([]string, len(list))
	for i, a := range list {
		texts[i] = a.String()
	}
	return codes(texts)
}

// duration returns a time as documents say it: "24 hours", "30 days", "for ever".
func duration(d time.Duration) string {
	if d == contract.RetentionForever {
		return "for ever"
	}
	for _, u := range []struct {
		unit time.Duration
		name string
		from time.Duration // below it, a smaller unit reads better
	}{
		{24 * time.Hour, "day", 48 * time.Hour}, {time.Hour, "hour", time.Hour},
		{time.Minute, "minute", time.Minute}, {time.Second, "second", time.Second},
	} {
		n := int64(d / u.unit)
		switch {
		case d < u.from || d%u.unit != 0:
		case n == 1:
			return "1 " + u.name
		default:
			return fmt.Sprintf("%d %ss", n, u.name)
		}
	}
	return d.String()
}

// alphabet returns the characters in their order, with a dash for what lies between
// the ends of a run: "-.0-9A-Z_a-z~".
func alphabet(all string) string {
	runes := []rune(all)
	slices.Sort(runes)
	runes = slices.Compact(runes)
	var out strings.Builder
	for i := 0; i < len(runes); {
		j := i
		for j+1 < len(runes) && runes[j+1] == runes[j]+1 {
			j++
		}
		if j-i < 3 {
			out.WriteRune(runes[i])
			i++
			continue
		}
		out.WriteString(string(runes[i]) + "-" + string(runes[j]))
		i = j + 1
	}
	return out.String()
}

package cli

import (
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/idempact/idempact/contract"
)

// outcomeView is an outcome for programs.
type outcomeView struct {
	Status    string `json:"status"`
	Effect    string `json:"effect"` // applied, none or maybe
	Next      string `json:"next"`
	NewKey    bool   `json:"new_key_allowed"`
	Resource  string `json:"resource,omitempty"`
	State     string `json:"state,omitempty"`
	Code      string `json:"code,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	Wait      string `json:"wait,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Source    string `json:"source"`
}

func viewOutcome(o contract.Outcome) outcomeView {
	v := outcomeView{
		Status: o.Status.String(), Effect: o.Effect().String(), Next: o.Next().String(), NewKey: o.AllowsNewKey(),
		Resource: printable(o.Resource), State: printable(o.State), Code: printable(o.Code), RequestID: printable(o.RequestID),
		Reason: printable(o.Reason), Source: o.Source.String(),
	}
	if o.RetryAfter > 0 {
		v.Wait = o.RetryAfter.Round(time.Second).String()
	}
	return v
}

// printable shows what is not ours: what does not print is left out.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			return -1
		}
		return r
	}, s)
}

// clip shortens what is too long for a column.
func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:39]) + "…"
	}
	return s
}

// effectColor is the colour of a status.
func effectColor(s contract.Status) text.Color {
	switch s.Effect() {
	case contract.EffectApplied:
		return text.FgGreen
	case contract.EffectNone:
		return text.FgCyan
	default:
		return text.FgYellow
	}
}

// ago says how long ago something was, roughly.
func ago(now, at time.Time) string {
	switch d := now.Sub(at); {
	case at.Year() <= 1:
		return "never"
	case d < 0:
		return "in " + rough(-d)
	default:
		return rough(d) + " ago"
	}
}

func rough(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	case d < 48*time.Hour:
		return strings.TrimSuffix(strings.TrimSuffix(d.Round(time.Minute).String(), "0s"), "0m")
	default:
		return strings.TrimSuffix((d/(24*time.Hour)).String(), "ns") + "d"
	}
}

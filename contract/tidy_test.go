package contract

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

// TestTidy: no text of a provider forges a line, drives a terminal or has no end,
// and references that differ stay different.
func TestTidy(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, s := range []string{"", "pay_1", strings.Repeat("x", 255), "naïve – ok", "a\nb", "\x1b[2J", "a\x00", "\xff\xfe", "\u202e", long, strings.Repeat("é", 500), strings.Repeat("\n", 255), strings.Repeat("\U000E0001", 300)} {
		o := Fold(Verdict{}, Outcome{Status: Duplicate, Resource: s, State: s, Code: s, RequestID: s, Reason: s}).Outcome
		for _, got := range []string{o.Resource, o.State, o.Code, o.RequestID, o.Reason} {
			assert.LessOrEqual(t, len(got), maxReason)
			assert.True(t, utf8.ValidString(got))
			assert.Negative(t, strings.IndexFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }), "%q", got)
		}
		assert.Equal(t, o, o.tidy(), "tidy once is tidy for good")
		if s != o.Resource {
			assert.Error(t, CheckReference(o.Resource), "what was changed names nothing")
		}
	}
	same := Outcome{Resource: strings.Repeat("x", 255), State: "pending", Code: "card_declined", RequestID: "req_1", Reason: "because – so"}
	assert.Equal(t, same, same.tidy())

	v := Fold(Fold(Verdict{}, Outcome{Status: Duplicate, Resource: long + "1"}), Outcome{Status: Duplicate, Resource: long + "2"})
	assert.NotNil(t, v.DuplicateEffect(), "two that differ far behind are still two")
}

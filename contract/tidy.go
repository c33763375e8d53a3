package contract

import (
	"strings"
	"unicode"
)

// The longest word of a provider's, and the longest reason, in bytes.
const (
	maxWord   = 255
	maxReason = 1024
)

// tidy returns o with its texts made fit for logs, errors and terminals: what the
// provider calls things may hold line breaks and escape sequences, or fill a disk.
func (o Outcome) tidy() Outcome {
	ref := tidyText(o.Resource, maxWord)
	if ref != o.Resource {
		// Two different references must stay two, or there is no alarm. The
		// ellipsis keeps it from passing for a reference that may be fetched.
		ref = tidyText(ref, maxWord-16) + "…" + KeyTag(o.Resource)
	}
	o.Resource = ref
	o.State, o.Code, o.RequestID = tidyText(o.State, maxWord), tidyText(o.Code, maxWord), tidyText(o.RequestID, maxWord)
	o.Reason = tidyText(o.Reason, maxReason)
	return o
}

// tidyText shows what does not print as U+FFFD and cuts the text to the limit.
func tidyText(s string, limit int) string {
	whole := len(s) <= limit
	if !whole {
		s = s[:limit] // before the work, which would otherwise have no end
	}
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
	if whole && len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:min(len(s), limit-len("…"))], "") + "…"
}

package contract

import (
	"math"
	"time"
)

// RetentionForever is the Retention of a key that the provider never forgets.
const RetentionForever time.Duration = math.MaxInt64

// Repeat says what a repeat of a completed request gets under the same key.
type Repeat uint8

const (
	// RepeatsNothing: no promise. The repeat may take effect again.
	RepeatsNothing Repeat = iota
	// Replays: the saved first answer, byte for byte.
	Replays
	// ReturnsCurrent: the resource as it is now.
	ReturnsCurrent
	// Conflicts: an error that says that the effect exists.
	Conflicts
)

// Mismatch says what the same key with other parameters gets.
type Mismatch uint8

const (
	// MismatchUndocumented: the provider does not say.
	MismatchUndocumented Mismatch = iota
	// MismatchRefused: an error; nothing is done.
	MismatchRefused
	// MismatchIgnored: parameters are not compared; the answer is about the
	// first request, whatever the second one asked.
	MismatchIgnored
)

// Source is where a fact was read, and when.
type Source struct {
	URL  string
	Date string // YYYY-MM-DD
}

// Terms is what a provider promises for one endpoint. The zero value promises
// nothing: no key is honoured, and a request that may have reached the provider
// is never resent.
type Terms struct {
	KeyHeader string // header that carries the key
	KeyField  string // or the JSON body field that does, as a dotted path ("idempotency_key", "uid")
	KeyScope  string // names the space in which keys are unique, where the provider has several ("" is the account's one)

	KeyMinLen, KeyMaxLen int    // in characters; 0 is no limit, except that an empty key is no key
	KeyAlphabet          string // every character that a key may have; "" is printable ASCII. Space at an end and control characters never pass
	KeyRequired          bool   // the provider refuses a request without a key

	// Retention is the shortest time that the provider promises to remember the
	// key; 0 is unpublished, RetentionForever has no end.
	Retention time.Duration
	Repeat    Repeat
	Mismatch  Mismatch

	// Idempotent says that the provider defines this request as safe to repeat
	// whether or not it carries a key (a DELETE of one object). It then needs no
	// key, and it may be resent at any age.
	Idempotent bool

	AccountHeaders    []string // headers that select the account in which the key lives
	VersionHeaders    []string // headers that select the version or form of the API
	CredentialHeaders []string // headers that carry credentials, beside Authorization

	Sources []Source
}

// HonoursKeys reports whether the endpoint honours a key at all.
func (t Terms) HonoursKeys() bool { return t.KeyHeader != "" || t.KeyField != "" }

// ContractHeaders returns the names of the headers that select the account and
// the version: what a look-up must carry too, and what a fingerprint covers.
func (t Terms) ContractHeaders() []string {
	return append(append([]string(nil), t.AccountHeaders...), t.VersionHeaders...)
}

// String returns the promise in words.
func (r Repeat) String() string {
	switch r {
	case Replays:
		return "replays the first answer"
	case ReturnsCurrent:
		return "returns the current state"
	case Conflicts:
		return "conflicts"
	default:
		return "nothing promised"
	}
}

// String returns the promise in words.
func (m Mismatch) String() string {
	switch m {
	case MismatchRefused:
		return "refused"
	case MismatchIgnored:
		return "not compared"
	default:
		return "undocumented"
	}
}

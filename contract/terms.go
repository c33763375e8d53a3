package contract

import (
	"math"
	"strconv"
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

// Saves says which results the provider keeps under a key.
type Saves uint8

const (
	// SavesUndocumented: the provider does not say what becomes of a failure.
	SavesUndocumented Saves = iota
	// SavesSuccesses: after an error the same key executes again.
	SavesSuccesses
	// SavesResults: whatever a request came to once it was executed, an error too.
	SavesResults
)

// LookUpBy says how the provider lets an operation be found without its answer.
type LookUpBy uint8

const (
	// LookUpUndocumented: no way is documented.
	LookUpUndocumented LookUpBy = iota
	// LookUpByReference: by the reference that an answer to a repeat gives.
	LookUpByReference
	// LookUpByList: in a list, by what the request said.
	LookUpByList
	// LookUpByKey: by the key itself.
	LookUpByKey
)

// Answer is how a provider says something: a status, and the code beside it.
type Answer struct {
	Status int    // of HTTP
	Code   string // the provider's machine-readable code, "" if it has none
}

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
	KeyQuoted bool   // as a quoted string there: "k1" and not k1
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

	// How the provider says it; nil is undocumented. They are for people and for
	// checks: an adapter's Classify decides.
	RepeatAnswers   []Answer // to a repeat of a completed request, where that is no success
	MismatchAnswers []Answer // to the key with other parameters
	InFlightAnswers []Answer // to a repeat while the first request runs

	ReplayMarker string        // header that marks a stored answer
	Saves        Saves         // which results stay under the key
	WaitHeaders  []string      // headers that may ask for a wait
	MinWait      time.Duration // the wait that the documents ask for, unless a header asks for a longer one; 0 is none
	LookUp       LookUpBy      // how an operation is found without its answer
	Notes        []string      // what the documents leave open or contradict, a sentence each

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

// String returns the promise in words.
func (s Saves) String() string {
	switch s {
	case SavesSuccesses:
		return "successes only"
	case SavesResults:
		return "every executed result"
	default:
		return "undocumented"
	}
}

// String returns the way in words.
func (l LookUpBy) String() string {
	switch l {
	case LookUpByReference:
		return "by reference"
	case LookUpByList:
		return "in a list"
	case LookUpByKey:
		return "by key"
	default:
		return "undocumented"
	}
}

// String returns the status, and the code if there is one: "409 in_use".
func (a Answer) String() string {
	if a.Code == "" {
		return strconv.Itoa(a.Status)
	}
	return strconv.Itoa(a.Status) + " " + a.Code
}

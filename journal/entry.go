package journal

import (
	"net/http"
	"time"

	"github.com/idempact/idempact/contract"
)

// ID names one operation. Its parts are compared byte by byte, without folding of
// case or of Unicode forms; a store holds at most one entry for an ID.
type ID struct {
	Provider string // Adapter.Name
	Account  string // whose keys these are; "" for a program with one account
	Key      string // the idempotency key, or a random id where the endpoint takes none
}

// Entry is what is known of one operation.
type Entry struct {
	ID
	Action      string // what the caller calls it, for people
	Fingerprint string // of the request, contract.Fingerprint

	Request  Request
	Response Response // the answer that the verdict rests on; zero if none came

	Verdict contract.Verdict

	// FirstSent is when the first send was about to begin, by the clock of the
	// process that made it. The age of the key counts from it.
	FirstSent time.Time
	// Skew is the largest difference seen between two clocks that matter for the
	// age of the key: ours and the provider's, or those of two hosts. Never negative.
	Skew time.Duration

	Lease Lease
	// Version counts the writes of the entry, from 1. It is the fence: an update
	// must name the version that it is based on.
	Version int64

	// Settled says that nothing is left to find out. Unsettled entries are what a
	// sweep looks at, not before Due.
	Settled bool
	Due     time.Time
	Sweeps  int // how often a sweep looked at it

	// Retain is until when the provider may still know the key: the first send and
	// the retention of the endpoint's terms. Prune keeps the entry for as long. Zero
	// is no such time.
	Retain time.Time

	Created, Updated time.Time

	// History is what happened, the oldest first: the last MaxHistory events of runs
	// that came to store what they found.
	History []Event
}

// Clone returns a copy that shares nothing with e, its times in UTC and cut to
// microseconds, and nil for what is empty: what every store of this module takes in
// and gives back.
func (e Entry) Clone() Entry {
	for _, h := range []*http.Header{&e.Request.Header, &e.Response.Header} {
		if *h = h.Clone(); len(*h) == 0 {
			*h = nil
		}
	}
	e.Request.Body = append([]byte(nil), e.Request.Body...)
	e.Response.Body = append([]byte(nil), e.Response.Body...)
	e.Verdict.Resources = append([]string(nil), e.Verdict.Resources...)
	e.History = append([]Event(nil), e.History...)
	for i := range e.History {
		e.History[i].At = time.UnixMicro(e.History[i].At.UnixMicro()).UTC()
	}
	for _, t := range []*time.Time{&e.FirstSent, &e.Lease.Until, &e.Due, &e.Retain, &e.Created, &e.Updated} {
		*t = time.UnixMicro(t.UnixMicro()).UTC()
	}
	return e
}

// Request is an operation's exact request without its credentials.
type Request struct {
	Method string
	URL    string
	Header http.Header // what the contract needs: content type, key, account, version
	Body   []byte
	// Omitted says that the body was not stored: only a caller who presents the
	// same request again can resend it.
	Omitted bool
}

// Response is an answer as it was recorded.
type Response struct {
	StatusCode int // 0: there is none
	Header     http.Header
	Body       []byte
	Omitted    bool // the body was not stored
}

// Lease is the right to act on an entry: to send its request, and to store what
// came of it. Its end is a matter of clocks, so it only says when others may try;
// what keeps two holders apart is Entry.Version.
type Lease struct {
	Holder string    // random, of one run of one process; "" is nobody
	Until  time.Time // by the holder's clock
}

// Free reports whether another may take the lease at the given time.
func (l Lease) Free(now time.Time) bool { return l.Holder == "" || !now.Before(l.Until) }

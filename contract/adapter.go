package contract

import (
	"context"
	"net/http"
	"time"
)

// Call is one operation's request, as an adapter sees it. Adapters read it and
// change nothing of it.
type Call struct {
	Request   *http.Request // method, URL, headers; its Body is nil
	Body      []byte        // the frozen bytes
	Key       string        // "" where there is none
	FirstSent time.Time     // by our clock; zero before the first send
}

// Reply is everything that one attempt brought back.
type Reply struct {
	StatusCode int // 0 when there was no response
	Header     http.Header
	Body       []byte    // whole, up to the client's limit
	Err        error     // transport error, or the error that cut the body
	Sent       bool      // whether any byte of the request may have left
	At         time.Time // when it arrived
}

// Adapter encodes one provider's contract. It is pure: no I/O, no clock, no
// randomness; and safe for concurrent use. A package's constructor is
// New(*Options) *Adapter, and nil options are fine.
type Adapter interface {
	// Name returns the provider's name: lower case, stable, part of every
	// journal entry.
	Name() string

	// Terms returns what the provider promises for the call's endpoint; Key and
	// FirstSent are not yet known when it is asked. An endpoint that it does not
	// know gets the zero Terms. A promise that is too generous pays twice.
	Terms(c Call) Terms

	// Classify says what one reply revealed. Anything that it does not
	// recognise is Unknown; Succeeded needs a readable body that shows the
	// resource, unless the provider documents an answer without one; and
	// NotExecuted needs a proof. It decides by status, header and code, never by
	// message text where a code exists, and puts no text of the provider's into
	// the Reason. A status that is too certain loses or doubles money.
	Classify(c Call, r Reply) Outcome
}

// Resolver is implemented by an Adapter whose provider answers a repeat with a
// reference. It fetches what the reference names and compares it with what was
// asked. Like the adapter it is pure and safe for concurrent use.
type Resolver interface {
	// ResolveRequest returns the GET that fetches o.Resource, on the call's own
	// host. The loop adds the contract headers and credentials. An error means
	// that the reference is missing or malformed; the operation then stays a
	// Duplicate. A reference is untrusted input and must not steer the request.
	ResolveRequest(ctx context.Context, c Call, o Outcome) (*http.Request, error)

	// ClassifyResolve says what the fetch showed: Succeeded if the resource is
	// what was asked, KeyReused if it differs (the Reason names both), else
	// Duplicate.
	ClassifyResolve(c Call, o Outcome, r Reply) Outcome
}

// Finder is implemented by an Adapter whose provider lets an operation be looked
// up without a reference. Like the adapter it is pure and safe for concurrent
// use: what it must remember between steps travels in the Finding.
type Finder interface {
	// Find returns the next read of a look-up, a request at a time: it is called
	// with the reply to the request that it returned before (nil at first), and
	// the Finding so far, until it returns no request. Requests are GETs on the
	// call's own host; the loop adds contract headers and credentials. An error
	// ends the look-up and proves nothing. A Finding that claims Absent where
	// the effect may exist, or still appear, pays twice. A look-up starts an hour
	// before Call.FirstSent, which is our clock; where clocks are seen to differ by
	// more, the loop does not believe an absence.
	Find(ctx context.Context, c Call, so Finding, last *Reply) (*http.Request, Finding, error)
}

// Finding is what a look-up has shown so far. The zero value proves nothing.
type Finding struct {
	Resources []string // found for this operation; two or more are a duplicate alarm
	Applied   bool     // the effect is proven, even where no reference was seen
	Absent    bool     // authoritative: there is none, and none can still appear
	Reason    string

	Foreign []string // seen to belong to other operations, so never to be taken for this one

	Stage  int    // the finder's own place: which list
	Cursor string // and where in it
}

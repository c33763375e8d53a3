package retry

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/idempact/idempact/contract"
)

// Result is what an operation came to.
type Result struct {
	contract.Verdict

	// Response is the answer that the verdict rests on, its body whole and ready
	// to read: the provider's own, or the fetched resource where a duplicate was
	// resolved. It is nil where no answer came.
	Response *http.Response `json:"-"`

	// Recorded says that the journal had the verdict, and the answer if one was kept:
	// nothing was sent by this call.
	Recorded bool
}

// Error says that an operation did not end in proven success. Its verdict says
// what that means for the money: only a verdict whose AllowsNewKey is true lets
// the action be tried again under a new key.
//
// errors.Is(err, contract.Unknown), and so on for each status, asks for the
// verdict; Unwrap leads to the cause (a context's error, a transport's error, a
// *contract.DuplicateEffectError), if there is one. The text of an Error shows
// no body, no key and no message of the provider.
type Error struct {
	Verdict contract.Verdict
	Cause   error `json:"-"`

	// Response is the last answer, nil if none came; its body is Body, which may
	// be cut. Both may hold personal data and belong in no log.
	Response  *http.Response `json:"-"`
	Body      []byte         `json:"-"`
	RequestID string         // the provider's id of that answer, for support

	// Original is the verdict of the other request, which the key belongs to, where
	// the journal knows it: the status is then KeyReused, and nothing was sent of
	// the request at hand.
	Original *contract.Verdict `json:",omitempty"`
}

// UnrecordedError says that a verdict could not be stored in the journal. The error
// that it is the cause of says Unknown, since that is what the journal will say:
// what is known is here, and only here. Run the operation again under the same key
// once the journal works.
type UnrecordedError struct {
	Verdict contract.Verdict // what the provider showed
	Err     error            // why it is not recorded
}

// Error says what was not recorded, and why.
func (e *UnrecordedError) Error() string {
	return fmt.Sprintf("not recorded in the journal: payment %s: %v", e.Verdict.Status, e.Err)
}

// Unwrap returns why it was not recorded.
func (e *UnrecordedError) Unwrap() error { return e.Err }

// Error says what is known of the money, and why.
func (e *Error) Error() string {
	s := "payment " + e.Verdict.Status.String()
	if e.Verdict.Attempts > 0 {
		s += fmt.Sprintf(" after %d attempt(s)", e.Verdict.Attempts)
	}
	if e.Verdict.Code != "" {
		s += " (" + e.Verdict.Code + ")"
	}
	if e.Verdict.Reason != "" {
		s += ": " + e.Verdict.Reason
	}
	switch wait := e.Verdict.RetryAfter; {
	case e.Verdict.NoResend && e.Verdict.Effect() == contract.EffectMaybe:
		s += "; do not send it again, look it up at the provider"
	case wait > 0:
		s += fmt.Sprintf("; come again in %v", wait)
	}
	if e.RequestID != "" {
		s += "; request " + e.RequestID
	}
	return s
}

// Format writes the text of Error for every verb, also for an Error that is no
// pointer: %+v and %#v must not show a body either.
func (e Error) Format(s fmt.State, verb rune) {
	if verb == 'q' || verb == 'v' && s.Flag('#') {
		fmt.Fprintf(s, "%q", e.Error())
		return
	}
	io.WriteString(s, e.Error())
}

// Is reports whether target is the status of the verdict.
func (e *Error) Is(target error) bool { return target == error(e.Verdict.Status) }

// Outcome returns what is known of the money, for packages that do not import
// this one: an SDK's helper finds it with errors.As and an interface.
func (e *Error) Outcome() contract.Outcome { return e.Verdict.Outcome }

// Unwrap returns the cause, nil if there is none.
func (e *Error) Unwrap() error { return e.Cause }

// OutcomeOf returns the verdict that an error carries, also through the errors
// that an SDK wraps around it. For nil, and for an error that says nothing of the
// money, it is the zero Verdict: Unknown.
func OutcomeOf(err error) contract.Verdict {
	var e *Error
	if errors.As(err, &e) {
		return e.Verdict
	}
	var s contract.Status
	if errors.As(err, &s) {
		return contract.Verdict{Outcome: contract.Outcome{Status: s}}
	}
	return contract.Verdict{}
}

// transportError hides the text of a transport's error, which may quote what was
// sent or received, and still unwraps to it.
type transportError struct{ err error }

func (e *transportError) Error() string { return contract.DescribeError(e.err) }
func (e *transportError) Unwrap() error { return e.err }

// GoString keeps %#v from showing the text, too.
func (e *transportError) GoString() string { return e.Error() }

// refusal returns the error for a request that is not sent at all.
func refusal(s contract.Status, cause error, format string, args ...any) *Error {
	return &Error{
		Verdict: contract.Verdict{Outcome: contract.Outcome{
			Status: s, Reason: "nothing was sent: " + fmt.Sprintf(format, args...),
		}},
		Cause: cause,
	}
}

// answer is a response with its body in memory, of which every caller gets a copy.
type answer struct {
	head http.Response // Body and Request are not used
	body []byte

	kept    bool // the journal had it,
	omitted bool // without its body
}

// whole reports whether there is an answer with its body.
func (a *answer) whole() bool { return a != nil && !a.omitted }

// response returns a copy of the answer that one caller may read and change.
func (a *answer) response(req *http.Request) *http.Response {
	if a == nil {
		return nil
	}
	r := a.head
	r.Header = a.head.Header.Clone()
	r.Trailer = nil
	r.Body = io.NopCloser(bytes.NewReader(a.body))
	r.ContentLength = int64(len(a.body))
	r.TransferEncoding = nil
	r.Request = req
	return &r
}

package fakes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Fault is one thing that goes wrong with one request. The set is closed; each
// fault has one name and one type. Faults are values and can be used again.
type Fault interface {
	fmt.Stringer
	plan() plan
}

// plan is what a fault asks of the server, split by when it acts.
type plan struct {
	refuse   bool                             // before the connection
	instead  func(p provider, c *call) answer // in place of the endpoint: nothing executes
	inFlight time.Duration                    // the key is busy, the effect comes later
	saveErr  int                              // executed, but this status is the result
	noEffect bool                             // with saveErr: the endpoint failed before its effect
	slow     time.Duration                    // executed, the answer comes later
	page     int                              // executed, a proxy's page comes instead
	delivery delivery                         // how the answer travels
	cut      int                              // bytes of the body that arrive with deliverCut
}

type delivery uint8

const (
	deliverWhole delivery = iota
	deliverNothing
	deliverCut
	deliverNever
	deliverReset
)

type (
	none              int
	loseReply         int
	hang              int
	refuseConnection  int
	resetAfterSend    int
	cutBody           int
	inFlight          time.Duration
	saveError         int
	saveErrorNoEffect int
	throttle          time.Duration
	unavailable       time.Duration
	status            struct {
		code int
		body string
	}
	slow     time.Duration
	htmlPage int
	redirect string
)

const (
	// None lets the request at this position pass untouched.
	None none = 0

	// LoseReply executes the request and saves its result, then closes the
	// connection without a byte of the answer. The client reads EOF, maybe on a
	// connection that it has used before.
	LoseReply loseReply = 0

	// Hang executes the request and then says nothing until the client goes away.
	Hang hang = 0

	// RefuseConnection refuses the dial: nothing reaches the provider, also when an
	// idle connection is open. It needs a transport of this package (Client,
	// Transport, TCPTransport, Register). A request that came over TCP by another
	// transport has connected already: its connection is closed and nothing executed.
	RefuseConnection refuseConnection = 0

	// ResetAfterSend executes the request and saves its result, then resets the
	// connection: the client reads ECONNRESET.
	ResetAfterSend resetAfterSend = 0
)

// CutBody executes the request and sends status, headers with the length of the
// whole body, and the first n bytes of the body; then the connection closes.
func CutBody(n int) Fault { return cutBody(max(n, 0)) }

// InFlight makes an earlier request with this key be still running for d: this
// request, and each repeat within d, gets the provider's in-flight answer. After d
// the operation has taken effect, once, and a repeat sees its result. Where the provider
// documents no in-flight answer (no idempotency key, Zepto's PayTo) it means nothing,
// and the request passes untouched.
func InFlight(d time.Duration) Fault { return inFlight(d) }

// SaveError executes the request, effect included, and answers with this error
// status. Stripe v1 saves that answer under the key; Stripe v2 does not, and a
// repeat shows the resource; at Zepto a repeat finds the resource in the way. A
// repeat for which this is scripted gets what the provider remembers instead.
func SaveError(status int) Fault { return saveError(status) }

// SaveErrorNoEffect is SaveError for an endpoint that failed before its effect.
// Stripe v1 saves the answer all the same; with Stripe v2 and Zepto nothing is
// bound to the key and a repeat executes.
func SaveErrorNoEffect(status int) Fault { return saveErrorNoEffect(status) }

// Throttle answers 429 before anything executes. A positive wait is sent as
// Retry-After in whole seconds, rounded up.
func Throttle(wait time.Duration) Fault { return throttle(wait) }

// Unavailable answers 503 before anything executes. A positive wait is sent as
// Retry-After in whole seconds, rounded up.
func Unavailable(wait time.Duration) Fault { return unavailable(wait) }

// Status answers with this status and body in place of the provider, whose usual
// headers it carries. Nothing executes, and nothing is saved.
func Status(code int, body string) Fault { return status{code, body} }

// Slow executes the request at once and answers after d of real or virtual time,
// or ends when the client goes away. For those d the key counts as in flight.
func Slow(d time.Duration) Fault { return slow(d) }

// HTMLPage executes the request and saves its result, and answers with a proxy's
// HTML page and this status: the effect happened, and the answer does not say so.
func HTMLPage(code int) Fault { return htmlPage(code) }

// Redirect answers 307 with this Location. Nothing executes.
func Redirect(url string) Fault { return redirect(url) }

func (none) plan() plan                { return plan{} }
func (loseReply) plan() plan           { return plan{delivery: deliverNothing} }
func (hang) plan() plan                { return plan{delivery: deliverNever} }
func (refuseConnection) plan() plan    { return plan{refuse: true} }
func (resetAfterSend) plan() plan      { return plan{delivery: deliverReset} }
func (f cutBody) plan() plan           { return plan{delivery: deliverCut, cut: int(f)} }
func (f inFlight) plan() plan          { return plan{inFlight: time.Duration(f)} }
func (f saveError) plan() plan         { return plan{saveErr: int(f)} }
func (f saveErrorNoEffect) plan() plan { return plan{saveErr: int(f), noEffect: true} }
func (f slow) plan() plan              { return plan{slow: time.Duration(f)} }
func (f htmlPage) plan() plan          { return plan{page: int(f)} }

func (f throttle) plan() plan {
	return plan{instead: func(p provider, c *call) answer {
		return p.throttled(c).retryAfter(time.Duration(f))
	}}
}

func (f unavailable) plan() plan {
	return plan{instead: func(p provider, c *call) answer {
		return p.unavailable(c).retryAfter(time.Duration(f))
	}}
}

func (f status) plan() plan {
	return plan{instead: func(provider, *call) answer {
		a := answer{status: f.code, header: http.Header{}, body: []byte(f.body)}
		switch {
		case f.body == "":
		case json.Valid(a.body):
			a.header.Set("Content-Type", "application/json")
		default:
			a.header.Set("Content-Type", "text/plain; charset=utf-8")
		}
		return a
	}}
}

func (f redirect) plan() plan {
	return plan{instead: func(provider, *call) answer {
		return answer{status: http.StatusTemporaryRedirect, header: http.Header{"Location": {string(f)}}}
	}}
}

func (none) String() string             { return "None" }
func (loseReply) String() string        { return "LoseReply" }
func (hang) String() string             { return "Hang" }
func (refuseConnection) String() string { return "RefuseConnection" }
func (resetAfterSend) String() string   { return "ResetAfterSend" }
func (f cutBody) String() string        { return fmt.Sprintf("CutBody(%d)", int(f)) }
func (f inFlight) String() string       { return fmt.Sprintf("InFlight(%s)", time.Duration(f)) }
func (f saveError) String() string      { return fmt.Sprintf("SaveError(%d)", int(f)) }
func (f saveErrorNoEffect) String() string {
	return fmt.Sprintf("SaveErrorNoEffect(%d)", int(f))
}
func (f throttle) String() string    { return fmt.Sprintf("Throttle(%s)", time.Duration(f)) }
func (f unavailable) String() string { return fmt.Sprintf("Unavailable(%s)", time.Duration(f)) }
func (f status) String() string      { return fmt.Sprintf("Status(%d)", f.code) }
func (f slow) String() string        { return fmt.Sprintf("Slow(%s)", time.Duration(f)) }
func (f htmlPage) String() string    { return fmt.Sprintf("HTMLPage(%d)", int(f)) }
func (f redirect) String() string    { return fmt.Sprintf("Redirect(%s)", string(f)) }

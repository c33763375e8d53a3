package explore

import (
	"time"

	"github.com/idempact/idempact/fakes"
)

// Scenario says who acts on a subject, and how.
type Scenario struct {
	Subject

	// Callers is how many act on the one operation at the same time; 0 is 1.
	// Shared says that they share one client, so that one of them cancels where a
	// process of its own would die.
	Callers int
	Shared  bool

	// Hasty clients keep the loop's default waits, and hand longer ones back. The
	// others wait for as long as they are asked to, so that waits cross the key's
	// retention.
	Hasty bool

	// Jumps lets the provider's clock jump to ten minutes before ours or after it.
	// A jump of ours is the same thing to the provider; to the loop it is nothing,
	// for it counts by the monotonic clock, too.
	Jumps bool

	// Remembered clients have a journal, which outlives their processes, and which
	// those of two processes share. Swept says that the second process is no caller's:
	// it sweeps.
	Remembered bool
	Swept      bool

	// Less is by how much the scenario is explored less deep than asked.
	Less int
}

// String names the scenario, as the first line of a script does.
func (s Scenario) String() string {
	name := s.Name
	if s.Hasty {
		name += ", hasty"
	}
	if s.Jumps {
		name += ", clocks that jump"
	}
	if s.Remembered {
		name += ", remembered"
	}
	switch {
	case s.Swept:
		name += ", a process and a sweeper"
	case s.Callers > 1 && s.Shared:
		name += ", two callers"
	case s.Callers > 1:
		name += ", two processes"
	}
	return name
}

// ScenariosOf returns what is explored of a provider's subject by its own tests: a
// patient client, a hasty one, and one that remembers. Without a key there is nothing
// to remember it by: a second call is another operation.
func ScenariosOf(s Subject) []Scenario {
	all := []Scenario{{Subject: s}, {Subject: s, Hasty: true, Less: 1}}
	if !s.Keyless {
		all = append(all, Scenario{Subject: s, Remembered: true, Less: 1})
	}
	return all
}

// Scenarios returns all that is explored: the four contracts to the full depth,
// and what differs from them in one point to less.
func Scenarios() []Scenario {
	all := []Scenario{
		{Subject: StripeV1}, {Subject: StripeV2}, {Subject: ZeptoCore}, {Subject: PayTo},
		{Subject: StripeDecline, Less: 1}, {Subject: StripeCapture, Less: 1},
		{Subject: StripeKeyless}, {Subject: StripeForgotten}, {Subject: PayToRetry},
		{Subject: StripeV1, Hasty: true, Less: 1}, {Subject: ZeptoCore, Hasty: true, Less: 1},
	}
	for _, s := range []Subject{StripeV1, StripeV2, ZeptoCore, PayTo} {
		all = append(all, Scenario{Subject: s, Callers: 2, Less: 3}, Scenario{Subject: s, Callers: 2, Shared: true, Less: 2})
	}
	for _, s := range []Subject{StripeV1, ZeptoCore} {
		all = append(all, Scenario{Subject: s, Remembered: true, Less: 1}, Scenario{Subject: s, Remembered: true, Hasty: true, Less: 2})
	}
	for _, swept := range []bool{false, true} {
		all = append(all,
			Scenario{Subject: ZeptoCore, Remembered: true, Callers: 2, Swept: swept, Less: 2},
			Scenario{Subject: StripeV1, Remembered: true, Callers: 2, Swept: swept, Less: 3})
	}
	for _, s := range []Subject{StripeV2, PayTo, StripeDecline, StripeCapture} {
		all = append(all, Scenario{Subject: s, Remembered: true, Less: 2})
	}
	return all
}

const (
	ownWait = 100 * time.Microsecond // the loop's own waits are random, and too short to make a difference
	skew    = 10 * time.Minute
)

// pace is how long an attempt may take, and how long a caller that was told no
// wait stays away. For one caller all that takes its time takes a minute, so that
// different ways to a state take the same time; two callers also wait for turns,
// and a provider's clock may make a minute of twenty. With a journal an attempt ends
// within its lease; the turns of rivals are shorter still.
func (s *Scenario) pace() (attempt, comeBack time.Duration) {
	attempt, comeBack = time.Minute, time.Minute
	if s.Jumps || s.Callers > 1 && !s.rivals() {
		attempt, comeBack = 30*time.Minute, 45*time.Minute
	}
	if s.Remembered {
		attempt = time.Minute
	}
	return attempt, comeBack
}

// event is one thing that can happen at a place.
type event struct {
	name   string
	fault  fakes.Fault   // for the provider
	does   effort        // what the provider does about the request
	cuts   bool          // the connection ends with it
	death  death         // of the process
	wait   time.Duration // at a restart or a stall; of a clock, how far it is ahead
	stalls bool          // the process does, until its lease has ended
}

// effort is what a provider does about a request, whatever it then answers.
type effort uint8

const (
	executes effort = iota
	nothing
	executesLater
	fails
	failsBefore // its effect
	takesLong
)

// death is when a process dies, or its caller cancels, around one request.
type death uint8

const (
	lives death = iota
	diesBefore
	diesAfter
)

// alphabet is what can happen at each kind of place; the first entry is nothing.
type alphabet [kinds][]event

func (s *Scenario) alphabet() alphabet {
	end := "the process dies"
	if s.Shared {
		end = "the caller cancels"
	}
	long, beyond := s.long(), s.beyond()
	fine := event{name: "fine"}

	sends := []event{fine}
	for _, e := range s.faults(long, beyond) {
		e.name = e.fault.String()
		sends = append(sends, e)
	}
	sends = append(sends,
		event{name: end + " before it", death: diesBefore, does: nothing, cuts: true},
		event{name: end + " after it", death: diesAfter, cuts: true})

	a := alphabet{
		atSend:  sends,
		atRead:  {fine, {name: "Unavailable(0s)", fault: fakes.Unavailable(0)}, {name: "CutBody(9)", fault: fakes.CutBody(9)}},
		atReply: {fine, {name: end, death: diesAfter}},
		atWait:  {fine},
	}
	if s.Callers < 2 {
		a[atWait] = append(a[atWait], event{name: "the process stalls for " + beyond.String(), wait: beyond})
	}
	if !s.Shared {
		a[atVerdict] = []event{fine, {name: end, death: diesAfter}}
		restarts := []time.Duration{time.Minute, min(4*time.Hour, s.horizon()/6)}
		if s.Remembered {
			restarts[1] = beyond // before which the lease of the dead one ends, and the key
		}
		for _, d := range restarts {
			a[atRestart] = append(a[atRestart], event{name: "after " + d.String(), wait: d})
		}
	}
	if s.Remembered {
		a[atWrite] = []event{fine,
			{name: end + " before it", death: diesBefore},
			{name: end + " after it", death: diesAfter},
			{name: "its answer is lost", cuts: true},
			{name: "the journal is away for " + outage.String(), does: nothing}}
	}
	if s.Jumps {
		a[atClock] = []event{fine, {name: "behind"}, {name: "right"}, {name: "ahead"}}
		a[atClock][1].wait, a[atClock][3].wait = -skew, skew
	}
	a[atTurn] = []event{{name: "A"}, {name: "B"}}
	if s.rivals() {
		s.narrow(&a, long)
	}
	return a
}

// portal is a page that somebody on the way puts in place of the provider.
var portal = fakes.Status(200, "<html>Please accept our terms</html>")

// faults are the provider's for a send. With two callers none of them takes time
// while it holds a request, so that their steps have an order.
func (s *Scenario) faults(long, beyond time.Duration) []event {
	attempt, _ := s.pace()
	inFlight := time.Minute
	if s.Callers > 1 {
		inFlight = 15 * time.Second // a turn or two
	}
	list := []event{
		{fault: fakes.LoseReply, cuts: true},
		{fault: fakes.ResetAfterSend, cuts: true},
		{fault: fakes.CutBody(9), cuts: true},
		{fault: fakes.HTMLPage(200)},
		{fault: fakes.HTMLPage(403)},
		{fault: fakes.InFlight(inFlight), does: executesLater},
		{fault: fakes.SaveError(500), does: fails},
		{fault: fakes.SaveErrorNoEffect(500), does: failsBefore},
		{fault: fakes.RefuseConnection, does: nothing, cuts: true},
		{fault: fakes.Throttle(long), does: nothing},
		{fault: fakes.Throttle(beyond), does: nothing},
		{fault: fakes.Unavailable(0), does: nothing},
		{fault: portal, does: nothing},
		{fault: fakes.Redirect("https://elsewhere.example/"), does: nothing},
		{fault: s.Refusal, does: nothing},
	}
	if s.Callers < 2 {
		list = append(list,
			event{fault: fakes.Hang, cuts: true},
			event{fault: fakes.Slow(2 * attempt), does: takesLong, cuts: true})
	}
	return list
}

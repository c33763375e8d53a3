package explore

import (
	"time"

	"github.com/idempact/idempact/fakes"
)

// Scenario says who acts on a subject, and how.
type Scenario struct {
	Subject

	// Callers is how many act on the one operation at the same time: 1 or 2.
	// Shared says that they share one client, so that one of them cancels where a
	// process of its own would die.
	Callers int
	Shared  bool

	// Hasty clients keep the loop's default waits, and hand longer ones back. The
	// others wait for as long as they are asked to, so that waits cross the key's
	// retention.
	Hasty bool

	// Restarts are the times after which a process that died starts again. Nil is
	// a minute and four hours; a journal that remembers the age of a key can take
	// more than the key's life.
	Restarts []time.Duration
}

// String names the scenario, as the first line of a script does.
func (s Scenario) String() string {
	name := s.Name
	if s.Hasty {
		name += ", hasty"
	}
	switch {
	case s.Callers > 1 && s.Shared:
		name += ", two callers"
	case s.Callers > 1:
		name += ", two processes"
	}
	return name
}

const (
	attemptTimeout = 30 * time.Minute
	ownWait        = time.Second      // the loop's first wait; the fifth is up to 32 s
	comeBack       = 45 * time.Minute // when a caller that was told no wait asks again
)

// event is one thing that can happen at a place.
type event struct {
	name  string
	fault fakes.Fault   // for the provider
	death death         // of the process
	wait  time.Duration // at a restart or a stall
}

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
	long, beyond := s.horizon()-2*time.Hour, s.horizon()+time.Hour
	fine := event{name: "fine"}

	sends := []event{fine}
	for _, f := range s.faults(long, beyond) {
		sends = append(sends, event{name: f.String(), fault: f})
	}
	sends = append(sends, event{name: end + " before it", death: diesBefore}, event{name: end + " after it", death: diesAfter})

	a := alphabet{
		atSend:  sends,
		atRead:  {fine, {name: "Unavailable(0s)", fault: fakes.Unavailable(0)}, {name: "CutBody(9)", fault: fakes.CutBody(9)}},
		atReply: {fine, {name: end, death: diesAfter}},
		atWait:  {fine},
	}
	if s.Callers == 1 {
		a[atWait] = append(a[atWait], event{name: "the process stalls for " + beyond.String(), wait: beyond})
	}
	if !s.Shared {
		a[atVerdict] = []event{fine, {name: end, death: diesAfter}}
		restarts := s.Restarts
		if restarts == nil {
			restarts = []time.Duration{time.Minute, 4 * time.Hour}
		}
		for _, d := range restarts {
			a[atRestart] = append(a[atRestart], event{name: "after " + d.String(), wait: d})
		}
	}
	a[atTurn] = []event{{name: "A"}, {name: "B"}}
	return a
}

// faults are the provider's for a send. With two callers none of them takes time
// while it holds a request, so that their steps have an order.
func (s *Scenario) faults(long, beyond time.Duration) []fakes.Fault {
	list := []fakes.Fault{
		fakes.LoseReply, fakes.ResetAfterSend, fakes.CutBody(9), fakes.RefuseConnection,
		fakes.InFlight(10 * time.Minute),
		fakes.SaveError(500), fakes.SaveErrorNoEffect(500),
		fakes.Throttle(long), fakes.Throttle(beyond), fakes.Unavailable(10 * time.Second),
		fakes.HTMLPage(200), fakes.HTMLPage(403),
		fakes.Redirect("https://elsewhere.example/"), s.refusal,
	}
	if s.Callers == 1 {
		list = append(list, fakes.Hang, fakes.Slow(time.Hour))
	}
	return list
}

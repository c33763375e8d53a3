package explore

import (
	"fmt"
	"math/rand/v2"
)

// kind is what is chosen at a place.
type kind uint8

const (
	atSend    kind = iota // what goes wrong with a send
	atRead                // what goes wrong with a read
	atReply               // whether the process dies when an answer has come
	atWrite               // what goes wrong with a write to the journal
	atWait                // whether it stalls between its decision to resend and the wait
	atStall               // whether it stalls until its lease has ended
	atVerdict             // whether it dies before its caller sees the verdict
	atRestart             // how long the process that died stays away
	atClock               // by how much the provider's clock is wrong from this send on
	atTurn                // whose step comes next

	kinds
)

var kindNames = [kinds]string{"send", "read", "reply", "write", "wait", "stall", "verdict", "restart", "clock", "turn"}

// place is where a choice is met: the n-th of its kind of one caller.
type place struct {
	caller byte // 'A', 'B'
	kind   kind
	n      int
}

func (p place) String() string {
	name := fmt.Sprintf("%s %d", kindNames[p.kind], p.n)
	if p.kind == atTurn {
		return name
	}
	return string(p.caller) + " " + name
}

// costs reports whether an answer other than the first is a fault.
func (p place) costs() bool { return p.kind != atTurn }

// chooser answers with a number below n. 0 is what happens if nothing is wrong.
// state, where it is not nil, says on what the rest of the run depends; the answer
// abandon ends the run, since everything that can follow has been tried.
type chooser interface {
	choose(p place, n int, state func() string) int
}

const abandon = -1

// choice is an answer that was given.
type choice struct {
	place
	pick, n int
}

// search enumerates all answers with at most depth faults.
//
// It abandons a run that comes to a state in which one was before, with as many
// faults left: what can follow was tried then, or is about to be.
type search struct {
	depth int
	path  []choice
	next  int // how many of the path this run has met
	spent int
	seen  map[string]int // states, with the fewest faults spent on the way there
}

func (s *search) choose(p place, n int, state func() string) int {
	if s.next == len(s.path) {
		if state != nil && !s.first(state()) {
			return abandon
		}
		if p.costs() && s.spent == s.depth {
			n = 1
		}
		s.path = append(s.path, choice{place: p, n: n})
	}
	c := s.path[s.next]
	if c.place != p {
		panic(fmt.Sprintf("explore: not deterministic: %v where %v was met before", p, c.place))
	}
	s.next++
	if p.costs() && c.pick > 0 {
		s.spent++
	}
	return c.pick
}

// first reports whether the state is new, with as few faults spent.
func (s *search) first(state string) bool {
	spent, before := s.seen[state]
	if before && spent <= s.spent {
		return false
	}
	if s.seen == nil {
		s.seen = map[string]int{}
	}
	s.seen[state] = s.spent
	return true
}

// advance turns to the next schedule, and reports whether there is one.
func (s *search) advance() bool {
	s.path = s.path[:s.next]
	s.next, s.spent = 0, 0
	for n := len(s.path) - 1; n >= 0; n-- {
		if s.path[n].pick+1 < s.path[n].n {
			s.path[n].pick++
			s.path = s.path[:n+1]
			return true
		}
	}
	return false
}

// dice draws answers, until a budget of faults is used up.
type dice struct {
	random *rand.Rand
	left   int
	met    []choice
}

func (d *dice) choose(p place, n int, _ func() string) int {
	pick := 0
	switch {
	case !p.costs():
		pick = d.random.IntN(n)
	case d.left > 0 && n > 1 && d.random.IntN(odds[p.kind]) == 0:
		pick = 1 + d.random.IntN(n-1)
		d.left--
	}
	d.met = append(d.met, choice{p, pick, n})
	return pick
}

// odds are one in how many places of a kind something goes wrong.
var odds = [kinds]int{atSend: 2, atRead: 4, atReply: 20, atWrite: 20, atWait: 50, atStall: 20, atVerdict: 20, atRestart: 2, atClock: 10, atTurn: 1}

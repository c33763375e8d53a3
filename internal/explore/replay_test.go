package explore

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/fakes"
)

// Schedules worth keeping: what each shows is what the callers were told last.
func TestReplay(t *testing.T) {
	for _, script := range []Script{
		// The answer to a payment is lost, and the next one comes too late for the key.
		`stripe v1
		A send 1: LoseReply
		A send 2: Throttle(25h0m0s)`,
		// The machine sleeps between the decision to resend and the send.
		`zepto core
		A send 1: LoseReply
		A wait 1: the process stalls for 25h0m0s`,
		// The process dies twice, and the key is busy when it comes back.
		`stripe v2
		A send 1: InFlight(1m0s)
		A send 2: the process dies after it
		A send 3: the process dies before it
		A restart 2: after 4h0m0s`,
		// The error that hides the effect is saved, and the look-up is cut.
		`stripe v1
		A send 1: SaveError(500)
		A read 1: CutBody(9)
		A verdict 1: the process dies`,
		// Another process has the key while this one waits.
		`zepto payto, two processes
		A send 1: LoseReply`,
		// The caller that leads goes away, and the other one takes over.
		`stripe v1, two callers
		A send 1: the caller cancels after it`,
		// Expired credentials after a lost answer are no refusal.
		`zepto core
		A send 1: ResetAfterSend
		A send 2: Status(401)`,
		// A page on the way, a reused connection that dies, a body-less capture.
		`stripe v1 capture
		A send 1: HTMLPage(200)
		A send 2: LoseReply`,
		// A refusal after a doubt is what the journal has last, and the next call sends
		// again.
		`zepto core, remembered
		A send 1: SaveErrorNoEffect(500)
		A send 2: Status(401)`,
		// The process dies after its send, and comes back when the key is forgotten.
		`zepto core, remembered
		A send 1: the process dies after it
		A restart 1: after 25h0m0s`,
		// The same before the verdict is stored, and once more as soon as it is.
		`stripe v1, remembered
		A write 2: the process dies before it
		A restart 1: after 25h0m0s
		A write 4: the process dies after it`,
		// The effect is found, and cannot be recorded; the wait holds all the same.
		`zepto core, remembered
		A write 2: the process dies before it
		A send 2: Throttle(25h0m0s)
		A write 5: the journal is away for 30s`,
		// The answer comes to a process that has lost its lease meanwhile; what it stores
		// late does not undo what the other one found out.
		`zepto core, remembered, two processes
		A send 1: Status(401)
		A stall 3: until its lease has ended`,
		// The request is on its way for longer than the lease, and arrives after the
		// other's.
		`zepto core, remembered, two processes
		A stall 2: until its lease has ended
		turn 4: B
		turn 5: B`,
		// Who died comes back while a sweeper is at work on what it left.
		`zepto core, remembered, a process and a sweeper
		A send 1: the process dies after it
		B write 1: its answer is lost`,
	} {
		synctest.Test(t, func(t *testing.T) {
			broken, err := Replay(script, Scenarios())
			require.NoError(t, err, "%s", script)
			assert.Empty(t, broken, "%s", script)
		})
	}
}

// What the simulation met: a sweeper's look-up is under way while the process is told of
// the decline, and finds the payment that was declined.
func TestReplayDeclineThatIsFound(t *testing.T) {
	s := Scenario{Subject: StripeDecline, Hasty: true, Jumps: true, Remembered: true, Callers: 2, Swept: true}
	synctest.Test(t, func(t *testing.T) {
		broken, err := Replay(Script(s.String()+`
		A send 1: LoseReply
		A stall 4: until its lease has ended
		turn 4: B
		A send 2: Throttle(22h0m0s)
		turn 6: B
		turn 7: B`), []Scenario{s})
		require.NoError(t, err)
		assert.Empty(t, broken)
	})
}

// A script that says what cannot be is an error, and not a run without a fault.
func TestReplayRefuses(t *testing.T) {
	for script, why := range map[Script]string{
		"":                               "empty",
		"stripe v9":                      "no scenario",
		"stripe v1\nA send 1":            "no line",
		"stripe v1\nA send 1: Bad luck":  "cannot happen",
		"stripe v1\nA send 9: LoseReply": "never came to",
		"stripe v1\nA send 1: LoseReply\nA send 1: Hang": "second",
	} {
		synctest.Test(t, func(t *testing.T) {
			_, err := Replay(script, Scenarios())
			assert.ErrorContains(t, err, why)
		})
	}
}

// What is written down is what is read back.
func TestScriptRoundTrip(t *testing.T) {
	for _, s := range Scenarios() {
		for n := range uint64(5) {
			synctest.Test(t, func(t *testing.T) {
				d := &dice{random: rand.New(rand.NewPCG(n, 0)), left: 4}
				require.Empty(t, once(&s, d))
				script := s.script(d.met)
				_, r, err := parse(script, Scenarios())
				require.NoError(t, err)
				assert.Empty(t, once(&s, r))
				assert.NoError(t, r.unused(), "%s", script)
			})
		}
	}
}

// The search visits each sequence of answers with so few faults once, and nothing
// of what an answer rules out.
func TestSearch(t *testing.T) {
	seen := map[string]int{}
	s := &search{depth: 2}
	for more := true; more; more = s.advance() {
		run := ""
		for n := 1; n <= 3; n++ {
			pick := s.choose(place{'A', atSend, n}, 3, nil)
			run += string('0' + byte(pick))
			if pick == 2 {
				break // it ends the run
			}
		}
		seen[run]++
	}
	want := map[string]int{}
	for _, run := range []string{"000", "001", "002", "010", "011", "012", "02", "100", "101", "102", "110", "12", "2"} {
		want[run] = 1
	}
	assert.Equal(t, want, seen)
}

// A state that was met with as few faults spent ends the run, and one that was met
// with more does not.
func TestSearchAbandons(t *testing.T) {
	s := &search{depth: 2}
	state := func() string { return "the same" }
	s.spent = 1
	assert.Zero(t, s.choose(place{'A', atSend, 1}, 2, state))
	assert.Equal(t, abandon, s.choose(place{'A', atSend, 2}, 2, state))
	s.spent = 0
	assert.Zero(t, s.choose(place{'A', atSend, 2}, 2, state))
}

// Equal states go on alike: of all runs with two faults, those that are in the same
// state after their last one come to the same end.
func TestEqualStatesGoOnAlike(t *testing.T) {
	scenarios := append(Scenarios()[:6:6], Scenario{Subject: StripeV1, Remembered: true}, Scenario{Subject: ZeptoCore, Remembered: true})
	if raceEnabled {
		scenarios = scenarios[2:4] // the detector is slow, and sees no more in the others
	}
	for _, s := range scenarios {
		synctest.Test(t, func(t *testing.T) {
			ends, equal := map[string]string{}, 0
			w := &witness{search: search{depth: 2}}
			for more := true; more; more = w.advance() {
				w.marks = nil
				fake := s.Fake(&fakes.Options{Seed: 1})
				w.op = newOperation(&s, fake, "1", w)
				w.op.run()
				time.Sleep(aftermath)
				for _, m := range w.marks {
					if m.spent < w.spent {
						continue
					}
					end := fmt.Sprint(len(w.op.effects()))
					for _, told := range w.op.tellings[m.told:] {
						end += fmt.Sprint("; ", told.status, told.wait)
					}
					before, known := ends[m.state]
					if known {
						equal++
						require.Equal(t, before, end, "%s", s.script(w.path))
					}
					ends[m.state] = end
				}
				fake.Close()
			}
			assert.Greater(t, equal, 100, s.String()) // or nothing was compared
		})
	}
}

// witness is a search that goes on in every state, and takes note of it.
type witness struct {
	search
	op    *operation
	marks []mark
}

type mark struct {
	state       string
	spent, told int
}

func (w *witness) choose(p place, n int, state func() string) int {
	pick := w.search.choose(p, n, nil)
	if state != nil && pick == 0 {
		w.marks = append(w.marks, mark{state(), w.spent, len(w.op.tellings)})
	}
	return pick
}

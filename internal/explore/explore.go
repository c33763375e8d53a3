package explore

import (
	"fmt"
	"strings"
	"time"

	"github.com/idempact/idempact/fakes"
)

// Report is what an exploration found.
type Report struct {
	Schedules int      // that were run
	Failure   *Failure // with the fewest faults; nil if the oracle has nothing against any
}

// Failure is a schedule after which the oracle objects.
type Failure struct {
	Script Script
	Broken []string
}

// String returns the script with what it breaks.
func (f *Failure) String() string {
	return fmt.Sprintf("%s\n=> %s", f.Script, strings.Join(f.Broken, "\n=> "))
}

// Bubble runs a function in virtual time that starts anew.
type Bubble func(func())

// A bubble's clock starts in the year 2000 and must not reach 2262; and what has
// piled up in one is thrown away with it.
const (
	bubbleRuns = 500
	bubbleLife = 50 * 365 * 24 * time.Hour
)

// Explore runs every schedule of the scenario with at most depth faults, those
// with few faults first, until one fails.
func Explore(s Scenario, depth int, bubble Bubble) Report {
	var report Report
	for d := 0; d <= depth && report.Failure == nil; d++ {
		search := &search{depth: d}
		for more := true; more && report.Failure == nil; {
			bubble(func() {
				started := time.Now()
				for run := 0; more && report.Failure == nil && run < bubbleRuns && time.Since(started) < bubbleLife; run++ {
					broken := once(&s, search)
					if search.spent == d { // the others were run before
						report.Schedules++
					}
					if len(broken) > 0 {
						report.Failure = &Failure{s.script(search.path[:search.next]), broken}
					}
					more = search.advance()
				}
			})
		}
	}
	return report
}

// Replay runs one schedule. The error says that the script cannot be run.
func Replay(text Script, scenarios []Scenario) (broken []string, err error) {
	s, r, err := parse(text, scenarios)
	if err != nil {
		return nil, err
	}
	broken = once(s, r)
	return broken, r.unused()
}

// once makes one run and judges it.
func once(s *Scenario, c chooser) []string {
	fake := s.Fake(&fakes.Options{Seed: 1})
	defer fake.Close()
	op := newOperation(s, fake, "1", c)
	op.run()
	time.Sleep(aftermath)
	return judge(op, fake.Requests())
}

// aftermath is when the provider has come to the end of all that it works on.
const aftermath = 2 * time.Hour

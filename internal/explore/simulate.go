package explore

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/idempact/idempact/fakes"
)

// together is how many payments of a simulation are under way at one provider.
const together = 16

// Simulate makes payments on the subjects, which are of one provider, many at the
// same time and with up to eight faults each, drawn from the seed; until one fails.
func Simulate(subjects []Subject, seed uint64, payments int, bubble Bubble) Report {
	var report Report
	for first := 0; first < payments && report.Failure == nil; first += together {
		bubble(func() {
			n := min(together, payments-first)
			report.Schedules += n
			report.Failure = simulate(subjects, seed, first, n)
		})
	}
	return report
}

// simulate makes n payments at a provider of their own.
func simulate(subjects []Subject, seed uint64, first, n int) *Failure {
	fake := subjects[0].Fake(&fakes.Options{Seed: seed})
	defer fake.Close()
	operations := make([]*operation, n)
	draws := make([]*dice, n)
	var wg sync.WaitGroup
	for i := range operations {
		random := rand.New(rand.NewPCG(seed, uint64(first+i)))
		s := draw(random, subjects)
		draws[i] = &dice{random: random, left: random.IntN(9)}
		operations[i] = newOperation(&s, fake, strconv.Itoa(first+i), draws[i])
		wg.Go(operations[i].run)
	}
	wg.Wait()
	time.Sleep(aftermath)
	log := fake.Requests()
	for i, op := range operations {
		if broken := judge(op, log); len(broken) > 0 {
			broken = append(broken, fmt.Sprintf("payment %d of seed %d", first+i, seed))
			return &Failure{op.Scenario.script(draws[i].met), broken}
		}
	}
	return nil
}

// draw draws who acts on what.
func draw(random *rand.Rand, subjects []Subject) Scenario {
	s := Scenario{Subject: subjects[random.IntN(len(subjects))], Jumps: true, Hasty: random.IntN(2) == 0}
	if s.Keyless {
		return s
	}
	s.Remembered = random.IntN(4) == 0
	if random.IntN(10) == 0 {
		s.Callers = 2
		s.Shared = !s.Remembered && random.IntN(2) == 0
		s.Swept = s.Remembered && random.IntN(2) == 0
	}
	return s
}

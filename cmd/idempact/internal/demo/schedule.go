package demo

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/idempact/idempact/fakes"
)

// schedule returns the payments of one provider with what will go wrong with
// each: the same for every client, and for every run with the same seed.
func schedule(seed uint64, provider string, n int) []payment {
	h := fnv.New64a()
	h.Write([]byte(provider))
	random := rand.New(rand.NewPCG(seed, h.Sum64()))
	payments := make([]payment, n)
	for i := range payments {
		payments[i] = payment{
			order:  fmt.Sprintf("order-%d", i+1),
			amount: 100 + random.Int64N(100_000),
			faults: faults(random),
		}
	}
	return payments
}

// faults draws what goes wrong with one payment: nothing for a third of them,
// else one to three faults in a row.
func faults(random *rand.Rand) []fakes.Fault {
	if random.IntN(3) == 0 {
		return nil
	}
	list := make([]fakes.Fault, 1+random.IntN(3))
	for i := range list {
		list[i] = fault(random)
	}
	return list
}

func fault(random *rand.Rand) fakes.Fault {
	switch n := random.IntN(20); {
	case n < 5:
		return fakes.LoseReply
	case n < 8:
		return fakes.CutBody(random.IntN(60))
	case n < 10:
		return fakes.SaveError(500)
	case n < 11:
		return fakes.SaveErrorNoEffect(500)
	case n < 14:
		return fakes.InFlight(40 * time.Millisecond)
	case n < 17:
		return fakes.Throttle(time.Duration(random.IntN(2)) * time.Second)
	default:
		return fakes.RefuseConnection
	}
}

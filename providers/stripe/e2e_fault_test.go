package stripe_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/retry"
)

// trouble is a fault, and whether the request comes to execution under it.
type trouble struct {
	fault    fakes.Fault
	executes bool
	effect   bool // and takes effect
	silent   bool // and the program's side cannot know
}

var troubles = []trouble{
	{fakes.None, true, true, false},
	{fakes.LoseReply, true, true, true},
	{fakes.CutBody(0), true, true, true},
	{fakes.CutBody(1), true, true, true},
	{fakes.CutBody(20), true, true, true},
	{fakes.ResetAfterSend, true, true, true},
	{fakes.Hang, true, true, true},
	{fakes.HTMLPage(502), true, true, true},
	{fakes.HTMLPage(200), true, true, true},
	{fakes.InFlight(time.Second), true, true, false},
	{fakes.Slow(2 * time.Second), true, true, false},
	{fakes.Slow(8 * time.Second), true, true, true},
	{fakes.SaveError(500), true, true, true},
	{fakes.SaveErrorNoEffect(500), true, false, true},
	{fakes.RefuseConnection, false, false, false},
	{fakes.Throttle(2 * time.Second), false, false, false},
	{fakes.Unavailable(time.Second), false, false, false},
	{fakes.Redirect("https://other.example/v1/charges"), false, false, false},
}

// busy reports whether repeats meet a request that is still running, so that how
// many are sent is a matter of chance.
func (t trouble) busy() bool {
	f := t.fault.String()
	return strings.HasPrefix(f, "InFlight") || strings.HasPrefix(f, "Slow")
}

// expected is what a program must be told after these troubles, thought out from
// Stripe's documents: a saved success is replayed, a saved error tells nothing and
// stays, v2 executes again what failed, a delete has no key to replay anything.
func expected(op operation, ts []trouble) contract.Status {
	v2 := op.kind == "v2.money_management.outbound_payment"
	for _, t := range ts {
		switch {
		case !t.executes, !t.effect && (v2 || op.action == "delete"):
			continue
		case op.action == "delete" && t.silent:
			return contract.Unknown // the repeat is told that there is no such customer
		case !t.effect:
			return contract.KeySpent
		}
		break
	}
	return contract.Succeeded
}

func statusOf(err error) contract.Status {
	if err == nil {
		return contract.Succeeded
	}
	return retry.OutcomeOf(err).Status
}

// suffer plays one operation under troubles and says if it was told enough.
func (w *world) suffer(op operation, ts ...trouble) {
	w.t.Helper()
	var faults []fakes.Fault
	for _, t := range ts {
		faults = append(faults, t.fault)
	}
	err := w.play(op, "k", faults...)
	if err != nil && w.attempts == 5 && slices.ContainsFunc(ts, trouble.busy) {
		return // the attempts were used up by waiting; what it was told has been checked
	}
	assert.Equal(w.t, expected(op, ts), statusOf(err), "%v", err)
}

func TestEachOperationUnderEachFault(t *testing.T) {
	for _, op := range operations {
		for _, trouble := range troubles {
			t.Run(fmt.Sprintf("%s/%v", op.name, trouble.fault), func(t *testing.T) {
				inMemory(t, fakes.Options{}, func(_ *testing.T, w *world) { w.suffer(op, trouble) })
			})
		}
	}
}

// seed is random, printed, and E2E_SEED where that is set.
func seed(t *testing.T) uint64 {
	n, err := strconv.ParseUint(os.Getenv("E2E_SEED"), 10, 64)
	if err != nil {
		n = rand.Uint64()
	}
	t.Logf("E2E_SEED=%d", n)
	return n
}

func TestFaultsInARow(t *testing.T) {
	n := seed(t)
	random := rand.New(rand.NewPCG(n, 0))
	for range 500 {
		op := operations[random.IntN(len(operations))]
		row := make([]trouble, 2+random.IntN(2))
		name := op.name
		for i := range row {
			row[i] = troubles[random.IntN(len(troubles))]
			name += "/" + row[i].fault.String()
		}
		if !t.Run(name, func(t *testing.T) {
			inMemory(t, fakes.Options{Seed: n}, func(_ *testing.T, w *world) { w.suffer(op, row...) })
		}) {
			return
		}
	}
}

// The same over TCP, in real time: with short waits, and for one operation of each
// way to send.
func TestOverTCP(t *testing.T) {
	short := map[fakes.Fault]fakes.Fault{
		fakes.InFlight(time.Second):     fakes.InFlight(50 * time.Millisecond),
		fakes.Slow(2 * time.Second):     fakes.Slow(50 * time.Millisecond),
		fakes.Slow(8 * time.Second):     fakes.Slow(1200 * time.Millisecond),
		fakes.Throttle(2 * time.Second): fakes.Throttle(0),
		fakes.Unavailable(time.Second):  fakes.Unavailable(0),
	}
	for _, op := range operations {
		switch op.name {
		case "intent, confirmed", "capture without a body", "delete", "v2 with JSON":
		default:
			continue
		}
		for _, trouble := range troubles {
			if f, ok := short[trouble.fault]; ok {
				trouble.fault = f
			}
			t.Run(fmt.Sprintf("%s/%v", op.name, trouble.fault), func(t *testing.T) {
				t.Parallel()
				server := fakes.NewStripe(nil)
				t.Cleanup(func() { require.NoError(t, server.Close()) })
				w := newWorld(t, server, retry.Options{
					Transport: server.TCPTransport(), AttemptTimeout: time.Second, MinWait: 30 * time.Millisecond,
				})
				w.suffer(op, trouble)
			})
		}
	}
}

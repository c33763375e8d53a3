package explore

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/journal"
)

// operation is one business action in one run, and the record of it.
type operation struct {
	*Scenario
	alphabet *alphabet
	order    string
	own      string // its key; "" if it has none
	prepared string
	fake     *fakes.Server
	turns    *turns // nil for one caller
	store    journal.Store

	mu        sync.Mutex
	chooser   chooser
	exchanges []*exchange
	tellings  []*telling

	began     time.Time  // from when on the provider may know the key; zero while it cannot
	away      time.Time  // until when the journal is
	id        journal.ID // of the entry; zero before there is one
	abandoned bool       // by the chooser

	doubt bool // what was sent since then may have taken effect, for all its caller was told
}

func newOperation(s *Scenario, fake *fakes.Server, order string, c chooser) *operation {
	a := s.alphabet()
	op := &operation{Scenario: s, alphabet: &a, order: order, own: s.key(order), fake: fake, chooser: c}
	if s.Remembered {
		op.store = journal.NewMemory()
	}
	if s.prepare != nil {
		op.prepared = s.prepare(fake)
	}
	return op
}

// telling is what a caller was told by one call.
type telling struct {
	caller   byte
	process  *process
	began    time.Time // the call
	at       time.Time
	status   contract.Status
	wait     time.Duration // for how long to stay away
	next     contract.Step
	resource string
	alarm    bool
	from, to int // the exchanges that it is about
	effects  int // in the ledger, when it was told
	calls    int // of this caller so far
	final    bool
}

func (op *operation) choose(p place, n int, state func() string) int {
	op.mu.Lock()
	defer op.mu.Unlock()
	return op.chooser.choose(p, n, state)
}

func (op *operation) add(x *exchange) {
	op.mu.Lock()
	defer op.mu.Unlock()
	x.flight = x.process.flight
	op.exchanges = append(op.exchanges, x)
}

// script sets the fault of the one request with the tag.
func (op *operation) script(tag string, f fakes.Fault) {
	op.fake.ScriptWhen(func(r *http.Request) bool { return r.Header.Get(tagHeader) == tag }, f)
}

// effects returns what the ledger holds of this operation.
func (op *operation) effects() []fakes.Effect {
	var ours []fakes.Effect
	for _, e := range op.fake.Effects() {
		if e.Action == op.Action && op.owns(e) {
			ours = append(ours, e)
		}
	}
	return ours
}

// owns reports whether an effect is of this operation, as the caller's name for it,
// under whatever name the provider takes it, its key or its resource says.
func (op *operation) owns(e fakes.Effect) bool {
	if op.own != "" && e.Key == op.own || op.prepared != "" && e.Resource == op.prepared {
		return true
	}
	for _, name := range e.Metadata {
		if name == op.order {
			return true
		}
	}
	return false
}

// run lets the callers act until all of them have ended.
func (op *operation) run() {
	var process *process
	if op.Shared {
		process = newProcess(op)
	}
	if op.Callers < 2 {
		c := &caller{op: op, name: 'A', process: process}
		c.act()
		op.audit()
		return
	}
	op.turns = newTurns(op.Scenario)
	for i := range op.Callers {
		c := &caller{op: op, name: 'A' + byte(i), process: process, sweeps: op.Swept && i > 0}
		op.turns.enter()
		go func() {
			defer op.turns.leave()
			c.act()
		}()
	}
	op.turns.run(op.choose)
	op.turns = nil
	op.audit()
}

// ours reports whether a request in the provider's log is of this operation.
func (op *operation) ours(r fakes.Request) bool {
	return strings.HasPrefix(r.Header.Get(tagHeader), op.order+" ")
}

// written notes that the operation is in the journal, from which on its key has an
// age.
func (op *operation) written(id journal.ID) {
	op.mu.Lock()
	defer op.mu.Unlock()
	op.id = id
	if op.began.IsZero() {
		op.began = time.Now()
	}
}

// begin notes that a call begins, and returns the end of the key's life where
// there was a call before: no client without a journal remembers when the key was
// first sent, so its callers do.
func (op *operation) begin(p *process) (end time.Time) {
	op.mu.Lock()
	defer op.mu.Unlock()
	if p.calls == 0 {
		p.since = len(op.exchanges)
		p.flight++
	}
	p.calls++
	life, bounded := op.life()
	switch {
	case op.began.IsZero() && (op.id != journal.ID{} || !op.Remembered):
		op.began = time.Now()
	case bounded && !op.Remembered:
		return op.began.Add(life)
	}
	return time.Time{}
}

// end notes what a call told.
func (op *operation) end(p *process, t *telling) {
	op.mu.Lock()
	defer op.mu.Unlock()
	p.calls--
	t.from, t.to = p.since, len(op.exchanges)
	op.tellings = append(op.tellings, t)
}

// saved reports whether an error has become the result of the operation.
func (op *operation) saved() bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	return slices.ContainsFunc(op.exchanges, func(x *exchange) bool {
		return x.event.does == fails || x.event.does == failsBefore
	})
}

// forgotten reports whether nobody knows any more of an error that stays under no key:
// its process died, or could not write it down. The next send may pay twice, and no
// client could know.
func (op *operation) forgotten() bool {
	erred := op.Volatile && slices.ContainsFunc(op.fake.Requests(), func(r fakes.Request) bool {
		return op.ours(r) && r.Method != http.MethodGet && r.Status >= 500
	})
	if !erred || !op.Remembered {
		return erred
	}
	e, err := op.store.Get(context.Background(), op.id)
	return err != nil || !e.Settled && !e.Verdict.NoResend
}

// mayRepeat says whether a caller may come again after the wait, given whether its
// call left a doubt: while the key is young, or where nothing can be under it.
func (op *operation) mayRepeat(wait time.Duration, doubt bool) bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	op.doubt = op.doubt || doubt
	if !op.doubt && op.Callers < 2 {
		op.began = time.Time{} // the key has no age
		return true
	}
	life, bounded := op.life()
	return !op.Keyless && (!bounded || op.began.IsZero() || time.Since(op.began)+wait < life)
}

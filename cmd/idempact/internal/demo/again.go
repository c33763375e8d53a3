package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/sqlite"
)

// scenario is a job that runs twice, in two processes: what only a memory gets
// through. The second run makes all payments of the first, as a job does that does
// not know how far it came, and what it is told is what counts.
type scenario struct {
	name   string
	told   string        // of the table, to people
	outage bool          // the provider is not to be reached during the first run
	dies   bool          // the first process dies in the middle of its payments
	pause  time.Duration // between the two runs
}

func scenarios() []scenario {
	return []scenario{
		{
			name: "outage, then 25 hours", outage: true, pause: 25 * time.Hour,
			told: "An outage takes the answers, and the job runs again after 25 hours, with the same keys,\nwhich the providers have forgotten by then:",
		},
		{
			name: "died and restarted", dies: true, pause: 5 * time.Minute,
			told: "The process dies in the middle of its payments, and the job starts again 5 minutes later,\nfrom the beginning, with the same keys:",
		},
	}
}

// payTwice makes every payment of one run, twice.
func payTwice(ctx context.Context, c Config, s shop, k contender, again scenario, done *counter) (r run, err error) {
	server := s.fake(&fakes.Options{Seed: c.Seed})
	defer server.Close()
	base, transport := c.reach(server)
	defer closeIdle(transport)
	r = newRun(s, k, schedule(c.Seed, s.name, c.again()))
	r.scenario = again.name
	open, remove, err := c.journal()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, remove()) }()

	over := func() {}
	if again.outage {
		over = breakDown(server, c.Seed, r.payments)
	}
	p := &process{transport: transport}
	if again.dies {
		p.left.Store(int64(len(r.payments)+1) / 2)
	}
	if err := r.process(ctx, s, k, p, open, base, done); err != nil {
		return r, err
	}
	over()
	server.Advance(again.pause)
	p = &process{transport: transport, late: again.pause}
	if err := r.process(ctx, s, k, p, open, base, done); err != nil {
		return r, err
	}
	r.audit(s, server)
	return r, nil
}

// process runs the job once, in a process of its own.
func (r *run) process(ctx context.Context, s shop, k contender, p *process, open func() (journal.Store, error), base string, done *counter) (err error) {
	ctx, p.kill = context.WithCancel(ctx)
	defer p.kill()
	p.Store, err = open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Store.Close()) }()
	client, err := k.open(ctx, s, p, p)
	if err != nil {
		return fmt.Errorf("%s at %s: %w", k.name, s.name, err)
	}
	r.job(ctx, client, base, done)
	return nil
}

// journal returns what opens the journal, as each process does, and what removes it.
func (c Config) journal() (open func() (journal.Store, error), remove func() error, err error) {
	if c.Memory {
		kept := lasting{journal.NewMemory()}
		return func() (journal.Store, error) { return kept, nil }, kept.Store.Close, nil
	}
	dir, err := os.MkdirTemp("", "idempact-demo-")
	if err != nil {
		return nil, nil, fmt.Errorf("making a folder for the journal: %w", err)
	}
	open = func() (journal.Store, error) {
		return sqlite.Open(context.Background(), filepath.Join(dir, "journal.db"), nil)
	}
	return open, func() error { return os.RemoveAll(dir) }, nil
}

// lasting is a store in memory that outlives the processes of a test.
type lasting struct{ journal.Store }

func (lasting) Close() error { return nil }

// breakDown takes the provider away until over is called: of some payments the
// first requests still arrive, and their answers are lost; everything else is refused.
func breakDown(server *fakes.Server, seed uint64, payments []payment) (over func()) {
	var up atomic.Bool
	random := rand.New(rand.NewPCG(seed, uint64(len(payments))))
	for _, p := range payments {
		server.ScriptWhen(func(q *http.Request) bool {
			return !up.Load() && q.Method == http.MethodPost && q.Header.Get(orderHeader) == p.order
		}, slices.Repeat([]fakes.Fault{fakes.LoseReply}, random.IntN(4))...)
	}
	server.ScriptWhen(func(*http.Request) bool { return !up.Load() },
		slices.Repeat([]fakes.Fault{fakes.RefuseConnection}, 100*len(payments))...)
	return func() { up.Store(true) }
}

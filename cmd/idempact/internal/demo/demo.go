// Package demo makes the same payments through three clients while the same
// answers get lost, and then through two of them in jobs that run twice, and
// compares what each client reported with the providers' ledgers.
package demo

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/idempact/idempact/fakes"
)

// Config says what to run.
type Config struct {
	Seed     uint64
	Payments int // at each provider, through each client

	// Progress is told of finished payments; nil is fine. It is called by one
	// goroutine at a time.
	Progress func(done, total int)

	// Memory reaches the fakes in memory and not over loopback TCP, and keeps the
	// journal there and not in a file, which lets a test run in virtual time.
	Memory bool
	// Only names the one client to run, "" for all.
	Only string
}

// told is what a client reported of a payment.
type told uint8

const (
	toldUnknown told = iota // also: it happened, but not proven to be this one
	toldSucceeded
	toldFailed
)

// payment is one business action.
type payment struct {
	order  string
	amount int64
	faults []fakes.Fault // what will go wrong with its requests, in order
}

// workers is how many payments are under way at a time at each provider and
// client.
const workers = 32

// Run makes all payments and returns the report.
func Run(ctx context.Context, c Config) (*Report, error) {
	var jobs []func() (run, error)
	counter := &counter{progress: c.Progress}
	add := func(payments int, job func() (run, error)) {
		counter.total += payments
		jobs = append(jobs, job)
	}
	for _, s := range shops() {
		for _, k := range contenders() {
			if c.runs(k) {
				add(c.Payments, func() (run, error) { return pay(ctx, c, s, k, counter) })
			}
		}
	}
	plain := len(jobs)
	for _, again := range scenarios() {
		for _, s := range shops() {
			for _, k := range contenders() {
				if c.runs(k) && k.name != naiveName {
					add(2*c.again(), func() (run, error) { return payTwice(ctx, c, s, k, again, counter) })
				}
			}
		}
	}
	report := &Report{Seed: c.Seed, Payments: c.Payments, Rows: make([]Row, len(jobs))}
	runs := make([]run, len(jobs))
	errs := make([]error, len(jobs))
	var wg sync.WaitGroup
	for i, job := range jobs {
		wg.Go(func() { runs[i], errs[i] = job() })
	}
	wg.Wait()
	for i := range jobs {
		if errs[i] != nil {
			return nil, errs[i]
		}
		report.Rows[i] = runs[i].row()
	}
	report.Timeline = timelineOf(runs[:plain])
	return report, ctx.Err()
}

func (c Config) runs(k contender) bool { return c.Only == "" || c.Only == k.name }

// again is how many payments a job has that runs twice: fewer, since most of them
// wait for a provider that is not there.
func (c Config) again() int { return max(c.Payments/4, 1) }

// run is what came of one provider's payments through one client.
type run struct {
	scenario string // "" where the job runs once
	shop     string
	client   string
	payments []payment
	told     []told
	stories  []story // of clients that tell them
	effects  []int   // of each payment, in the provider's ledger
	requests int
}

// pay makes every payment of one run.
func pay(ctx context.Context, c Config, s shop, k contender, done *counter) (run, error) {
	server := s.fake(&fakes.Options{Seed: c.Seed})
	defer server.Close()
	base, transport := c.reach(server)
	defer closeIdle(transport)
	r := newRun(s, k, schedule(c.Seed, s.name, c.Payments))
	for _, p := range r.payments {
		server.ScriptWhen(func(q *http.Request) bool {
			return q.Method == http.MethodPost && q.Header.Get(orderHeader) == p.order
		}, p.faults...)
	}
	client, err := k.open(ctx, s, transport, nil)
	if err != nil {
		return r, fmt.Errorf("%s at %s: %w", k.name, s.name, err)
	}
	r.job(ctx, client, base, done)
	r.audit(s, server)
	return r, nil
}

// reach returns how a fake is reached.
func (c Config) reach(server *fakes.Server) (base string, t http.RoundTripper) {
	if c.Memory {
		return "http://provider.example", server.Transport()
	}
	return server.URL(), server.TCPTransport()
}

func newRun(s shop, k contender, payments []payment) run {
	return run{
		shop: s.name, client: k.name, payments: payments,
		told: make([]told, len(payments)), stories: make([]story, len(payments)),
	}
}

// job makes every payment, many at a time.
func (r *run) job(ctx context.Context, client payer, base string, done *counter) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range next {
				r.told[i], r.stories[i] = client(ctx, base, r.payments[i])
				done.add()
			}
		})
	}
	for i := range r.payments {
		next <- i
	}
	close(next)
	wg.Wait()
}

// audit reads the provider's books.
func (r *run) audit(s shop, server *fakes.Server) {
	r.effects = s.count(server.Effects(), r.payments)
	r.requests = len(server.Requests()) + server.Refused()
}

func closeIdle(t http.RoundTripper) {
	if c, ok := t.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// counter counts finished payments for the progress line.
type counter struct {
	mu          sync.Mutex
	done, total int
	progress    func(done, total int)
}

func (c *counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	if c.progress != nil {
		c.progress(c.done, c.total)
	}
}

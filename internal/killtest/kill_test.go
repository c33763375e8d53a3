package killtest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/internal/pgtest"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/retry"
)

var (
	kills = flag.Int("kills", 10, "how often a child is killed for each store")
	seed  = flag.Uint64("seed", 0, "of the faults and of the moments of death; 0 is a random one")
)

func TestMain(m *testing.M) {
	if text := os.Getenv(roleVariable); text != "" {
		fmt.Fprintln(os.Stderr, "the child ended by itself:", runChild(text))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestKill: no death of a process pays twice, loses a payment, or lets anybody be
// told what is not so; and the journal ends as the ledger is.
func TestKill(t *testing.T) {
	for name, where := range map[string]func(*testing.T) place{
		"sqlite": func(t *testing.T) place { return place{File: filepath.Join(t.TempDir(), "journal.db")} },
		"postgres": func(t *testing.T) place {
			return place{URL: pgtest.URL(t), Schema: "kill_" + rand.Text()[:8]}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, where(t))
			r.killAll(*kills)
			r.finish()
		})
	}
}

// TestForgetfulChild: what the runs would find of a client whose memory dies with it.
func TestForgetfulChild(t *testing.T) {
	r := newRun(t, place{File: filepath.Join(t.TempDir(), "journal.db")})
	r.orders.Forgets = true
	r.killAll(5)
	assert.Contains(t, fmt.Sprint(r.books().judge()), "has 2 effects")
}

// run is one store's run.
type run struct {
	*testing.T
	began  time.Time
	random *mathrand.Rand
	fakes  []*fakes.Server
	orders orders
	writes int // faults that were set for writes and reads
	births int // children so far
}

func newRun(t *testing.T, p place) *run {
	n := *seed
	for n == 0 {
		n = mathrand.Uint64()
	}
	t.Logf("-seed %d", n)
	r := &run{
		T: t, began: time.Now(), random: mathrand.New(mathrand.NewPCG(n, 0)),
		fakes: []*fakes.Server{fakes.NewStripe(&fakes.Options{Seed: n}), fakes.NewZepto(&fakes.Options{Seed: n})},
	}
	for _, f := range r.fakes {
		t.Cleanup(func() { assert.NoError(t, f.Close()) })
	}
	r.orders = orders{
		Place: p, Log: filepath.Join(t.TempDir(), "reports"), Graves: t.TempDir(),
		URLs: map[string]string{"stripe": r.fakes[0].URL(), "zepto": r.fakes[1].URL()},
	}
	return r
}

// script keeps the faults coming: of the next thousands of requests of each fake.
func (r *run) script() {
	for _, f := range r.fakes {
		for r.writes < len(f.Requests())+5000 {
			var writes, reads []fakes.Fault
			for range 5000 {
				writes, reads = append(writes, r.fault(true)), append(reads, r.fault(false))
			}
			for _, f := range r.fakes {
				f.Script(writes...)
				f.ScriptWhen(func(q *http.Request) bool { return q.Method == http.MethodGet }, reads...)
			}
			r.writes += 5000
		}
	}
}

func (r *run) fault(write bool) fakes.Fault {
	n := r.random.IntN(40)
	if !write {
		n += n % 2 * 100 // fewer of them, since a look-up takes many reads
	}
	switch {
	case n < 5:
		return fakes.LoseReply
	case n < 8:
		return fakes.CutBody(r.random.IntN(60))
	case n < 10:
		return fakes.ResetAfterSend
	case n < 13:
		return fakes.RefuseConnection
	case n < 16:
		return fakes.Throttle(0)
	case !write || n >= 22:
		return fakes.None
	case n < 17:
		return fakes.SaveError(500)
	case n < 18:
		return []fakes.Fault{fakes.SaveErrorNoEffect(500), fakes.None}[r.random.IntN(2)]
	default:
		return fakes.InFlight(time.Duration(1+r.random.IntN(20)) * time.Millisecond)
	}
}

func (r *run) elapsed() time.Duration { return time.Since(r.began).Round(100 * time.Millisecond) }

// atOnce is how many children share the journal at a time.
const atOnce = 3

// killAll starts so many children, a few at a time, and kills each at some moment.
func (r *run) killAll(n int) {
	var alive []*child
	early := 0
	for killed := range n {
		r.script()
		for len(alive) < min(atOnce, n-killed) {
			alive = append(alive, r.bear())
		}
		victim := r.random.IntN(len(alive))
		life := time.Duration(20+r.random.IntN(61)) * time.Millisecond
		if r.random.IntN(10) == 0 { // while it starts and opens the journal
			victim, life = len(alive)-1, time.Duration(r.random.IntN(25))*time.Millisecond
		} else {
			alive[victim].await(r)
		}
		time.Sleep(life)
		if !alive[victim].kill(r) {
			early++
		}
		alive = slices.Delete(alive, victim, victim+1)
	}
	r.Logf("%d children killed by SIGKILL, %d at a time, %d of them before they were ready; %v", n, atOnce, early, r.elapsed())
}

// child is a paying process.
type child struct {
	name      string
	cmd       *exec.Cmd
	stdin     io.Closer // it ends with this process, and with it the child
	complaint bytes.Buffer
	ready     chan struct{} // closed once it has opened the journal
	reading   sync.WaitGroup
}

// bear starts a child.
func (r *run) bear() *child {
	r.births++
	c := &child{name: fmt.Sprintf("child-%d", r.births), ready: make(chan struct{})}
	o := r.orders
	o.Name = c.name
	text, err := json.Marshal(o)
	require.NoError(r, err)
	self, err := os.Executable()
	require.NoError(r, err)
	c.cmd = exec.Command(self)
	c.cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	c.cmd.Stderr = &c.complaint
	c.stdin, err = c.cmd.StdinPipe()
	require.NoError(r, err)
	stdout, err := c.cmd.StdoutPipe()
	require.NoError(r, err)
	require.NoError(r, c.cmd.Start())
	c.reading.Go(func() {
		if _, err := bufio.NewReader(stdout).ReadString('\n'); err == nil {
			close(c.ready)
		}
		_, _ = io.Copy(io.Discard, stdout)
	})
	return c
}

// await waits until the child is ready. Of one that ends before, kill complains.
func (c *child) await(r *run) {
	select {
	case <-c.ready:
	case <-time.After(30 * time.Second):
		r.Errorf("%s never became ready: %s", c.name, c.complaint.String())
	}
}

// kill kills the child, and reports whether it was ready by then. It is reaped before
// anybody may take it for dead.
func (c *child) kill(r *run) (ready bool) {
	killed := c.cmd.Process.Kill() // SIGKILL
	c.reading.Wait()
	err := c.cmd.Wait()
	_ = c.stdin.Close()
	var exit *exec.ExitError
	require.ErrorAs(r, err, &exit)
	require.NoError(r, killed, "%s", c.complaint.String())
	require.False(r, exit.Exited(), "it ended by itself: %s", c.complaint.String())
	require.NoError(r, os.WriteFile(filepath.Join(r.orders.Graves, c.name), nil, 0o600))
	select {
	case <-c.ready:
		return true
	default:
		return false
	}
}

// survivor is the name of this process in reports and leases.
const survivor = "survivor"

// finish sweeps, lets a caller come back for every order, and compares.
func (r *run) finish() {
	ctx := r.Context()
	store, err := r.orders.Place.open(ctx, survivor, r.orders.Graves)
	require.NoError(r, err)
	defer store.Close()
	store.ahead = 48 * time.Hour // all that is open is due
	c, err := newCashier(store, r.orders.URLs)
	require.NoError(r, err)

	r.script()
	found, settled, swept := r.sweep(ctx, c)
	r.Logf("swept; %v", r.elapsed())
	r.pass(swept, "after the sweep")

	r.script()
	r.comeBack(ctx, c, swept)
	r.Logf("asked for every order again; %v", r.elapsed())
	b := r.books()
	if b.open() > 0 {
		time.Sleep(1100 * time.Millisecond)
		_, _, b = r.sweep(ctx, c)
	}
	r.pass(b, "after a caller came back for every order")
	b.complete(r)
	r.summary(b, found, settled)
}

// pass fails the test with the story of what is broken, if anything is.
func (r *run) pass(b *books, when string) {
	if broken := b.judge(); !assert.Empty(r, broken, when) {
		r.Log(b.story(broken))
	}
}

// sweep sweeps until nothing is left that can be settled: faults go on, and Zepto asks
// for a second where a key is busy. What is left after 20 rounds the judge objects to.
func (r *run) sweep(ctx context.Context, c *cashier) (found, settled int, b *books) {
	for round := range 20 {
		for name, client := range c.clients {
			report, err := client.Sweep(ctx, retry.SweepOptions{Limit: 100_000})
			require.NoError(r, err, name)
			assert.Zero(r, report.Skipped)
			settled += report.Settled
			if round == 0 {
				found += report.Found
			}
		}
		if b = r.books(); b.open() == 0 {
			break
		}
		time.Sleep(1100 * time.Millisecond)
	}
	return found, settled, b
}

// comeBack asks for every order once more: what has succeeded is told without another
// send, what was never sent is paid.
func (r *run) comeBack(ctx context.Context, c *cashier, before *books) {
	log, err := openLog(r.orders.Log, survivor)
	require.NoError(r, err)
	defer log.f.Close()
	next := make(chan int)
	var all sync.WaitGroup
	for range atOnce * workers {
		all.Go(func() {
			for order := range next {
				if e, ok := before.entries[order]; !ok || e.Verdict.Status.String() != "succeeded" {
					assert.NoError(r, serve(ctx, c, log, order))
					continue
				}
				ctx, last := watched(ctx)
				result, err := c.pay(ctx, order)
				assert.NoError(r, err)
				assert.True(r, result.Recorded, orderName(order))
				assert.NoError(r, log.add(told(order, result, last)))
			}
		})
	}
	for order := range before.orders {
		next <- order
	}
	close(next)
	all.Wait()
	after := r.books()
	for order, e := range before.entries {
		if e.Verdict.Status.String() == "succeeded" {
			assert.Len(r, after.requests[order], len(before.requests[order]), "%s was sent again", orderName(order))
		}
	}
}

// books reads all four sides.
func (r *run) books() *books {
	reports, err := readLog(r.orders.Log)
	require.NoError(r, err)
	b := &books{
		reports: reports, orders: map[int]bool{}, entries: map[int]journal.Entry{},
		effects: map[int][]fakes.Effect{}, requests: map[int][]fakes.Request{},
	}
	for _, l := range reports {
		if l.Took {
			b.orders[l.Order] = true
		}
	}
	for _, f := range r.fakes {
		b.ledger(f)
	}
	store, err := r.orders.Place.open(r.Context(), survivor, r.orders.Graves)
	require.NoError(r, err)
	defer store.Close()
	for order := range b.orders {
		e, err := store.Store.Get(r.Context(), journal.ID{Provider: providerOf(order), Key: keyOf(order)})
		if !errors.Is(err, journal.ErrNotFound) {
			require.NoError(r, err)
			b.entries[order] = e
		}
	}
	return b
}

// complete: with every order asked for without a death, none is missing anywhere.
func (b *books) complete(t assert.TestingT) {
	for order := range b.orders {
		e, ok := b.entries[order]
		if assert.True(t, ok, "%s is lost", orderName(order)) && len(b.effects[order]) == 0 {
			assert.True(t, b.spent(order), "%s was never paid: %s, %s", orderName(order), e.Verdict.Status, e.Verdict.Reason)
		}
	}
}

// summary says what the run was made of, and that it was not a void one.
func (r *run) summary(b *books, found, settled int) {
	type work struct {
		by    string
		order int
	}
	open, by, requests, unpaid := map[work]bool{}, map[int]map[string]bool{}, 0, 0
	for _, l := range b.reports {
		if l.Took {
			open[work{l.By, l.Order}] = true
			if by[l.Order] == nil {
				by[l.Order] = map[string]bool{}
			}
			by[l.Order][l.By] = true
		} else {
			delete(open, work{l.By, l.Order})
		}
	}
	cut, shared := len(open), 0
	for _, who := range by {
		if len(who) > 1 {
			shared++
		}
	}
	faults := map[string]int{}
	for order := range b.orders {
		requests += len(b.requests[order])
		if len(b.effects[order]) == 0 {
			unpaid++
		}
		for _, q := range b.requests[order] {
			if q.Fault != nil {
				faults[fmt.Sprintf("%T", q.Fault)]++
			}
		}
	}
	r.Logf("%d orders, %d of them asked for by several processes, %d payments cut by a death, %d sends, faults %v", len(b.orders), shared, cut, requests, faults)
	swept := 0
	for _, e := range b.entries {
		swept += min(e.Sweeps, 1)
	}
	r.Logf("the last sweep found %d open and settled %d, of %d orders that sweeps handled; %d orders without effect, their keys bound to an error", found, settled, swept, unpaid)
	if !r.Failed() {
		r.Logf("0 duplicates, 0 lost, 0 false reports, journal and ledger agree; %v", r.elapsed())
	}
	assert.Positive(r, cut, "no death cut a payment")
	assert.Positive(r, swept, "the sweeps had nothing to do")
}

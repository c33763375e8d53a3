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
		Place: p, Log: filepath.Join(t.TempDir(), "reports"),
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

// killAll starts children, one after another, and kills each.
func (r *run) killAll(n int) {
	early := 0
	for range n {
		r.script()
		life := time.Duration(20+r.random.IntN(61)) * time.Millisecond
		atBirth := r.random.IntN(10) == 0 // while it starts and opens the journal
		if atBirth {
			life = time.Duration(r.random.IntN(25)) * time.Millisecond
		}
		if r.live(life, atBirth) {
			early++
		}
	}
	r.Logf("%d children killed by SIGKILL, %d of them before they were ready; %v", n, early, r.elapsed())
}

// live starts a child and kills it, and reports whether it was not ready yet.
func (r *run) live(life time.Duration, atBirth bool) (early bool) {
	text, err := json.Marshal(r.orders)
	require.NoError(r, err)
	self, err := os.Executable()
	require.NoError(r, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	stdin, err := cmd.StdinPipe() // it ends with this process, and with it the child
	require.NoError(r, err)
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	require.NoError(r, err)
	require.NoError(r, cmd.Start())
	ready := make(chan bool, 1)
	var reading sync.WaitGroup
	reading.Go(func() {
		if _, err := bufio.NewReader(stdout).ReadString('\n'); err == nil {
			ready <- true
		}
		_, _ = io.Copy(io.Discard, stdout)
	})
	isReady := false
	if !atBirth {
		select {
		case isReady = <-ready:
		case <-time.After(30 * time.Second):
		}
	}
	time.Sleep(life)
	killed := cmd.Process.Kill() // SIGKILL
	reading.Wait()
	err = cmd.Wait()
	var exit *exec.ExitError
	require.ErrorAs(r, err, &exit)
	require.NoError(r, killed, "%s", complaint.String())
	require.False(r, exit.Exited(), "it ended by itself: %s", complaint.String())
	select {
	case isReady = <-ready:
	default:
	}
	require.True(r, isReady || atBirth, "it never became ready: %s", complaint.String())
	return !isReady
}

// finish sweeps, lets a caller come back for every order, and compares.
func (r *run) finish() {
	ctx := r.Context()
	store, err := r.orders.Place.open(ctx)
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
	log, err := openLog(r.orders.Log)
	require.NoError(r, err)
	defer log.f.Close()
	next := make(chan int)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for order := range next {
				if e, ok := before.entries[order]; !ok || e.Verdict.Status.String() != "succeeded" {
					assert.NoError(r, serve(ctx, c, log, order))
					continue
				}
				result, err := c.pay(ctx, order)
				assert.NoError(r, err)
				assert.True(r, result.Recorded, orderName(order))
				assert.NoError(r, log.add(told(order, result.Verdict, result.Recorded)))
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
	store, err := r.orders.Place.open(r.Context())
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
	cut, open, requests, unpaid := 0, map[int]bool{}, 0, 0
	for _, l := range b.reports {
		switch {
		case l.Born != 0:
			cut += len(open)
			clear(open)
		case l.Took:
			open[l.Order] = true
		default:
			delete(open, l.Order)
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
	r.Logf("%d orders, %d of them cut by a death, %d sends, faults %v", len(b.orders), cut, requests, faults)
	r.Logf("the sweep found %d open and settled %d; %d orders without effect, their keys bound to an error", found, settled, unpaid)
	if !r.Failed() {
		r.Logf("0 duplicates, 0 lost, 0 false reports, journal and ledger agree; %v", r.elapsed())
	}
	assert.Positive(r, cut, "no death cut a payment")
	assert.Positive(r, found, "the sweep had nothing to do")
}

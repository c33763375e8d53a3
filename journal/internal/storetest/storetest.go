// Package storetest is what the tests of the SQL stores share: more than one
// process, workers that race, and the cost of a sweep.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/idempact/idempact/journal"
)

// role is the variable that makes the test binary another process of a test.
const role = "IDEMPACT_TEST_ROLE"

// Main runs the tests, or the role that Spawn gave to this process: role(out, args).
func Main(m *testing.M, roles map[string]func(out io.Writer, args []string) error) {
	run, ok := roles[os.Getenv(role)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Spawn runs so many processes of a role at once, and returns the lines that they
// wrote.
func Spawn(t *testing.T, n int, name string, args ...string) []string {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var lines []string
	for range n {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0], args...)
			cmd.Env = append(os.Environ(), role+"="+name)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("a process of the role %s: %v: %s", name, err, stderr.String())
			}
			lines = append(lines, strings.Fields(string(out))...)
		})
	}
	wg.Wait()
	return lines
}

// Operations is on how many operations the workers race.
const Operations = 10

// Work lets so many workers race on the operations: each begins all, takes the
// lease of what is unsettled, "sends" it, and settles it. It writes a line for each
// send: there must be one for each operation, whoever else works on the same entries.
func Work(ctx context.Context, out io.Writer, s journal.Store, workers int) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	errs := make([]error, workers)
	for w := range workers {
		wg.Go(func() {
			holder := fmt.Sprintf("process %d worker %d", os.Getpid(), w)
			for op := range Operations {
				key := fmt.Sprintf("op-%d", (op+w)%Operations)
				sent, err := once(ctx, s, key, holder)
				if err != nil {
					errs[w] = fmt.Errorf("%s: %w", key, err)
					return
				}
				if sent {
					mu.Lock()
					fmt.Fprintln(out, key)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// once works on one operation until it is settled, by whomever.
func once(ctx context.Context, s journal.Store, key, holder string) (sent bool, err error) {
	now := time.Now()
	e := journal.Entry{ID: journal.ID{Provider: "acme", Key: key}, FirstSent: now}
	e.Lease = journal.Lease{Holder: holder, Until: now.Add(time.Hour)}
	e, mine, err := s.Begin(ctx, e)
	for !mine {
		if err != nil || e.Settled {
			return false, err
		}
		time.Sleep(time.Millisecond)
		e, err = s.Get(ctx, e.ID)
	}
	// Here the request would leave.
	time.Sleep(5 * time.Millisecond)
	e.Settled, e.Sweeps, e.Lease = true, e.Sweeps+1, journal.Lease{}
	_, err = s.Update(ctx, e)
	return true, err
}

// SweepCost measures a sweep over 10,000 unsettled entries alone and among
// 1,000,000, and logs both and their ratio. fill adds settled entries to a store.
func SweepCost(t *testing.T, newStore func() journal.Store, fill func(s journal.Store, settled bool, n int)) {
	const unsettled, all = 10_000, 1_000_000
	measure := func(total int) time.Duration {
		s := newStore()
		// The unsettled lie among the others, as they do in life.
		const parts = 100
		for range parts {
			fill(s, true, (total-unsettled)/parts)
			fill(s, false, unsettled/parts)
		}
		best := time.Hour
		for range 7 {
			start := time.Now()
			found, err := s.Unsettled(t.Context(), "acme", "", time.Now(), total)
			if err != nil || len(found) != unsettled {
				t.Fatalf("%d entries, want %d, error %v", len(found), unsettled, err)
			}
			best = min(best, time.Since(start))
		}
		return best
	}
	alone, among := measure(unsettled), measure(all)
	ratio := float64(among) / float64(alone)
	t.Logf("a sweep over %d unsettled entries: alone %v, among %d entries %v, ratio %.2f",
		unsettled, alone.Round(time.Millisecond), all, among.Round(time.Millisecond), ratio)
	if ratio > 5 { // all entries are 100 times as many
		t.Errorf("the cost of a sweep follows the number of all entries: %.2f times", ratio)
	}
}

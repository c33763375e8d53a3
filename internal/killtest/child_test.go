package killtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/retry"
)

const (
	roleVariable = "IDEMPACT_KILLTEST_CHILD" // its value is the child's orders
	workers      = 3
	visits       = 4 // how often an order is asked for at most while children die
)

// orders is what a child is told to do.
type orders struct {
	Name    string // of the child
	Place   place
	URLs    map[string]string
	Log     string // the file of reports
	Graves  string // the folder with the names of the dead
	Forgets bool   // neither journal nor key outlives a process: what must go wrong
}

// runChild pays until it is killed, or until whoever started it is gone.
func runChild(text string) error {
	var o orders
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	ctx := context.Background()
	store, err := o.Place.open(ctx, o.Name, o.Graves)
	if err != nil {
		return err
	}
	store.ahead = 150 * time.Second // what a sweep has not looked at, and no more
	if o.Forgets {
		store.Store = journal.NewMemory()
	}
	c, err := newCashier(store, o.URLs)
	if err != nil {
		return err
	}
	if o.Forgets {
		c.key = func(order int) string { return contract.KeyFor("pay order", orderName(order), o.Name) }
	}
	past, err := readLog(o.Log)
	if err != nil {
		return err
	}
	log, err := openLog(o.Log, o.Name)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	next, failed := make(chan int), make(chan error, workers+1)
	for range workers {
		go func() {
			for order := range next {
				if err := serve(ctx, c, log, order); err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	go func() { failed <- keepSweeping(ctx, c) }()
	for _, order := range comeBackFor(past) {
		select {
		case next <- order:
		case err := <-failed:
			return err
		}
	}
	for order := highest(past) + 1; ; order++ {
		select {
		case next <- order:
		case err := <-failed:
			return err
		}
	}
}

// keepSweeping settles what the dead have left, beside the others who do.
func keepSweeping(ctx context.Context, c *cashier) error {
	for {
		for _, client := range c.clients {
			if _, err := client.Sweep(ctx, retry.SweepOptions{Limit: 5, Concurrency: 1}); err != nil {
				return err
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// serve pays one order and writes down what it was told.
func serve(ctx context.Context, c *cashier, log *log, order int) error {
	if err := log.add(line{Order: order, Took: true}); err != nil {
		return err
	}
	ctx, last := watched(ctx)
	result, err := c.pay(ctx, order)
	if result == nil {
		return err
	}
	return log.add(told(order, result, last))
}

// comeBackFor returns the orders to ask for again: those that were begun and of which
// nothing final was reported. A third of them nobody comes back for.
func comeBackFor(past []line) []int {
	asked, done := map[int]int{}, map[int]bool{}
	for _, l := range past {
		if l.Took {
			asked[l.Order]++
		}
		done[l.Order] = done[l.Order] || l.Status == contract.Succeeded.String()
	}
	var open []int
	for order := range highest(past) + 1 {
		if n := asked[order]; n > 0 && n < visits && !done[order] && !leftToSweep(order) {
			open = append(open, order)
		}
	}
	return open
}

func leftToSweep(order int) bool { return order%3 == 0 }

func highest(past []line) int {
	top := 0
	for _, l := range past {
		top = max(top, l.Order)
	}
	return top
}

// line is one line of the file of reports.
type line struct {
	By    string // the process that writes it
	Order int
	Took  bool `json:",omitempty"` // the order is about to be paid

	At       time.Time // when it was told
	Known    time.Time // when it was so: the last look into the journal, or write
	Status   string    `json:",omitempty"` // what was told of the order
	NewKey   bool      `json:",omitempty"` // with leave to try again under a new key
	Resource string    `json:",omitempty"`
	Alarm    bool      `json:",omitempty"` // of a second effect
	Recorded bool      `json:",omitempty"`
}

func told(order int, r *retry.Result, last *lastAsked) line {
	return line{
		Order: order, Status: r.Status.String(), NewKey: r.AllowsNewKey(), Resource: r.Resource,
		Alarm: r.DuplicateEffect() != nil, Recorded: r.Recorded, Known: last.time(),
	}
}

// log is the file of reports. Every line is one write to its end, and on the disk
// before the child goes on.
type log struct {
	by string // who writes
	mu sync.Mutex
	f  *os.File
}

func openLog(path, by string) (*log, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return &log{by: by, f: f}, err
}

func (l *log) add(entry line) error {
	entry.By, entry.At = l.by, time.Now()
	text, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.f.Write(append(text, '\n')); err != nil {
		return err
	}
	if entry.Took {
		return nil // no report, and a killed process's writes are not lost
	}
	return l.f.Sync()
}

// readLog returns the lines; there must be no half of one.
func readLog(path string) ([]line, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []line
	for d := json.NewDecoder(f); ; {
		var l line
		switch err := d.Decode(&l); {
		case errors.Is(err, io.EOF):
			return lines, nil
		case err != nil:
			return nil, fmt.Errorf("line %d of the reports: %w", len(lines)+1, err)
		}
		lines = append(lines, l)
	}
}

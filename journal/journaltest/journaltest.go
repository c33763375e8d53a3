// Package journaltest is the suite for authors of a journal.Store: every duty of
// the interface as a rule with a name. A store that passes keeps each payment's key
// and its fence; one that does not may pay twice.
package journaltest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"testing"
	"time"

	"github.com/idempact/idempact/journal"
)

// Reopener is implemented by the stores that a caller gives to Run where their
// entries outlive them: the rules about durability and about several processes ask
// for it.
type Reopener interface {
	// Reopen opens the same entries once more, as another process would, while the
	// store is open or after it was closed.
	Reopen() (journal.Store, error)
}

// Violation says which rule a store breaks.
type Violation struct {
	Rule   string // its name
	Duty   string // what the interface asks for
	Source string // the file and line of the rule that noticed
	Err    error  // what happened
}

// Error returns all of it in one line.
func (v *Violation) Error() string {
	return fmt.Sprintf("%s: %s: %v (the rule %q: %s)", v.Source, v.Rule, v.Err, v.Rule, v.Duty)
}

// Unwrap returns what happened.
func (v *Violation) Unwrap() error { return v.Err }

// Run checks the stores that newStore makes, each rule in a subtest and with an
// empty store of its own. It closes them.
func Run(t *testing.T, newStore func(t *testing.T) journal.Store) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			switch v := r.run(newStore(t)); {
			case errors.Is(v, errSkipped):
				t.Skip(v)
			case v != nil:
				t.Error(v)
			}
		})
	}
}

// Check is Run without a test: it returns the violations of every rule, joined.
func Check(newStore func() (journal.Store, error)) error {
	var all []error
	for _, r := range rules {
		s, err := newStore()
		if err != nil {
			return fmt.Errorf("journaltest: no store: %w", err)
		}
		if err := r.run(s); err != nil && !errors.Is(err, errSkipped) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// rule is one duty and how it is checked.
type rule struct {
	name  string
	duty  string
	check func(*subject)
}

// patience is how long one rule may take.
const patience = time.Minute

// errSkipped is in the error of a rule that asks for more than the store has.
var errSkipped = errors.New("the rule is skipped")

var errNoReopener = fmt.Errorf("%w: the store is no journaltest.Reopener", errSkipped)

// run checks one store, and closes it.
func (r rule) run(s journal.Store) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	defer func() {
		if closing := s.Close(); closing != nil && err == nil {
			err = &Violation{Rule: r.name, Duty: r.duty, Source: "Close", Err: closing}
		}
	}()
	defer func() {
		switch p := recover().(type) {
		case nil:
		case stop:
			if err = p.err; !errors.Is(p.err, errSkipped) {
				err = &Violation{Rule: r.name, Duty: r.duty, Source: p.source, Err: p.err}
			}
		default:
			panic(p)
		}
	}()
	r.check(&subject{store: s, ctx: ctx})
	return nil
}

// stop ends a rule from any depth.
type stop struct {
	source string
	err    error
}

// subject is a store under a rule.
type subject struct {
	store journal.Store
	ctx   context.Context
}

// fail ends the rule, and names the line of the rule that calls it: skip is the
// number of helpers between.
func (s *subject) fail(skip int, format string, args ...any) {
	_, file, line, _ := runtime.Caller(skip + 1)
	panic(stop{fmt.Sprintf("%s:%d", path.Base(file), line), fmt.Errorf(format, args...)})
}

func (s *subject) require(ok bool, format string, args ...any) {
	if !ok {
		s.fail(1, format, args...)
	}
}

// is requires that err is the wanted one.
func (s *subject) is(err, want error, doing string) {
	if !errors.Is(err, want) {
		s.fail(1, "%s: got the error %v, want %v", doing, err, want)
	}
}

// same requires that an entry is the wanted one.
func (s *subject) same(want, got journal.Entry, doing string) {
	if d := difference(want, got); d != "" {
		s.fail(1, "%s: %s", doing, d)
	}
}

// begin inserts e, which must be new.
func (s *subject) begin(e journal.Entry) journal.Entry {
	stored, inserted, err := s.store.Begin(s.ctx, e)
	if err != nil || !inserted {
		s.fail(1, "Begin of a new entry %q: inserted %v, error %v", e.ID, inserted, err)
	}
	return stored
}

// get reads an entry that must be there.
func (s *subject) get(id journal.ID) journal.Entry {
	e, err := s.store.Get(s.ctx, id)
	if err != nil {
		s.fail(1, "Get of %q: %v", id, err)
	}
	return e
}

// update writes an entry whose version must be the stored one.
func (s *subject) update(e journal.Entry) journal.Entry {
	stored, err := s.store.Update(s.ctx, e)
	if err != nil {
		s.fail(1, "Update of %q: %v", e.ID, err)
	}
	return stored
}

// unsettled returns the keys that a sweep finds, in order.
func (s *subject) unsettled(limit int) []string {
	whose := id("")
	found, err := s.store.Unsettled(s.ctx, whose.Provider, whose.Account, noon, limit)
	if err != nil {
		s.fail(1, "Unsettled: %v", err)
	}
	keys := []string{}
	for _, e := range found {
		keys = append(keys, e.Key)
	}
	return keys
}

// prune removes old entries.
func (s *subject) prune(before time.Time, limit int) int {
	n, err := s.store.Prune(s.ctx, before, limit)
	if err != nil {
		s.fail(1, "Prune: %v", err)
	}
	return n
}

// reopen opens the entries once more, or ends the rule.
func (s *subject) reopen() *subject {
	r, ok := s.store.(Reopener)
	if !ok {
		panic(stop{err: errNoReopener})
	}
	again, err := r.Reopen()
	if err != nil {
		s.fail(1, "Reopen: %v", err)
	}
	return &subject{store: again, ctx: s.ctx}
}

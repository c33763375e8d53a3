package journaltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/idempact/idempact/journal"
)

// rules are the duties of a store, in the order of the interface.
var rules = []rule{
	{"begin inserts", "Begin inserts the entry with Version 1, and returns what is stored", beginInserts},
	{"begin once", "Begin returns the entry that there is, and changes nothing of it", beginOnce},
	{"begin is atomic", "of 50 Begins at once one inserts, and all return what it inserted", beginAtomic},
	{"id has three parts", "provider, account and key each tell one entry from another", idParts},
	{"id is bytes", "IDs are compared byte by byte", idBytes},
	{"get finds nothing", "Get returns ErrNotFound where there is no entry", getMissing},
	{"update replaces", "Update replaces the entry, adds one to its version, and touches no other", updateReplaces},
	{"update is fenced", "Update under another version is ErrConflict and writes nothing", updateFenced},
	{"update needs an entry", "Update where there is no entry is ErrNotFound and inserts nothing", updateMissing},
	{"update is atomic", "of 50 Updates at once under one version one writes", updateAtomic},
	{"keeps every field", "every field comes back as it went in", keepsEveryField},
	{"keeps nothing", "an entry without values comes back without values", keepsNothing},
	{"keeps bytes", "bodies come back byte by byte", keepsBytes},
	{"keeps headers", "headers come back with every value, in order, under their very names", keepsHeaders},
	{"keeps times", "times keep microseconds, the zero time included, and come back in UTC", keepsTimes},
	{"keeps text", "texts come back byte by byte, also where they are no valid text", keepsText},
	{"keeps verdicts", "verdicts come back exactly", keepsVerdicts},
	{"copies in", "what the caller changes later is not the store's", copiesIn},
	{"copies out", "what the caller does with an answer is not the store's", copiesOut},
	{"unsettled is due and free", "Unsettled returns what is not settled, due by now, and without a lease by now", unsettledWhich},
	{"unsettled is of one account", "Unsettled returns the entries of the provider and account that it is asked for", unsettledWhose},
	{"unsettled in order", "Unsettled returns the longest due first", unsettledOrder},
	{"unsettled to the limit", "Unsettled returns up to limit entries, none below 1", unsettledLimit},
	{"unsettled follows updates", "what is settled is no longer found, what is opened again is", unsettledFollows},
	{"unsettled is whole", "Unsettled returns entries with every field", unsettledWhole},
	{"prune spares the unsettled", "Prune never removes an unsettled entry", pruneSpares},
	{"prune by age", "Prune removes what was last updated, and to be retained, before the given time", pruneAge},
	{"prune by the clock", "Prune keeps what is to be retained beyond now, whatever time it is given", pruneClock},
	{"prune in batches", "Prune removes up to limit entries and returns how many", pruneBatches},
	{"prune removes", "what is pruned is gone, and its ID is free", pruneRemoves},
	{"list is whole", "List, page by page, returns every entry once, with every field", listWhole},
	{"list filters", "List returns the entries of the provider and account, and the unsettled ones, that it is asked for", listFilters},
	{"context", "a method whose context has ended returns its error and writes nothing", contextEnded},
	{"closed", "after Close every method returns ErrClosed", closed},
	{"durable", "what was written is there after the store was closed and opened", durable},
	{"shared", "several open stores on the same entries keep the fence", shared},
}

func beginInserts(s *subject) {
	e := full("k")
	e.Version = 7
	stored := s.begin(e)
	e.Version = 1
	s.same(e, stored, "Begin's answer")
	s.same(e, s.get(e.ID), "Get after Begin")
}

func beginOnce(s *subject) {
	first := s.begin(full("k"))
	for _, settle := range []bool{false, true} {
		first.Settled = settle
		first = s.update(first)
		stored, inserted, err := s.store.Begin(s.ctx, small("k"))
		s.is(err, nil, "Begin of an entry that exists")
		s.require(!inserted, "Begin says that it inserted an entry that exists")
		s.same(first, stored, "Begin's answer")
		s.same(first, s.get(first.ID), "Get after a second Begin")
	}
}

// racers is how many goroutines race for one entry.
const racers = 50

// race runs f at once in as many goroutines, each with one of the subjects.
func race(all []*subject, f func(i int, s *subject) error) []error {
	var wg sync.WaitGroup
	start := make(chan struct{})
	errs := make([]error, racers)
	for i := range racers {
		wg.Go(func() {
			<-start
			errs[i] = f(i, all[i%len(all)])
		})
	}
	close(start)
	wg.Wait()
	return errs
}

func beginAtomic(s *subject) { s.beginRace(10, s) }

// beginRace lets all begin the same entries at once.
func (s *subject) beginRace(operations int, all ...*subject) {
	for op := range operations {
		key := fmt.Sprintf("op %d", op)
		var mu sync.Mutex
		inserters, seen := []string{}, map[string]int{}
		errs := race(all, func(i int, s *subject) error {
			e := full(key)
			e.Lease.Holder = fmt.Sprintf("racer %d", i)
			stored, inserted, err := s.store.Begin(s.ctx, e)
			mu.Lock()
			defer mu.Unlock()
			if inserted {
				inserters = append(inserters, e.Lease.Holder)
			}
			seen[stored.Lease.Holder]++
			return err
		})
		s.is(errors.Join(errs...), nil, "Begin in a race")
		s.require(len(inserters) == 1, "%d of %d Begins say that they inserted", len(inserters), racers)
		s.require(seen[inserters[0]] == racers, "the racers were given entries of %v, inserted was that of %s", seen, inserters[0])
	}
}

func idParts(s *subject) {
	ids := []journal.ID{
		{Provider: "acme", Account: "a", Key: "k"},
		{Provider: "acme2", Account: "a", Key: "k"},
		{Provider: "acme", Account: "b", Key: "k"},
		{Provider: "acme", Account: "", Key: "k"},
		{Provider: "acme", Account: "a", Key: "k2"},
		{Provider: "acme", Account: "ak", Key: ""},
		{Provider: "acme", Account: "", Key: "ak"},
		{Provider: "acmea", Account: "", Key: "k"},
		{Provider: "acme", Account: "a:k", Key: "k"},
		{Provider: "acme", Account: "a", Key: "k:k"},
		{Provider: "acme:a", Account: "k", Key: "k"},
	}
	s.distinct(ids)
}

func idBytes(s *subject) {
	long := strings.Repeat("0123456789abcdef", 16)[:254]
	keys := []string{
		"key", "KEY", "Key", "key ", " key", "key\t", "key\n", "key.", "", " ",
		"é", "e\u0301", "É", "ß", "ss", "ﬁ", "fi", "i", "ı", "I", "İ", "ａ", "a", "日本",
		"\xff", "\xfe", "\xff\xfe", "\xc3", "\ufffd", "a\xffb", `\xff`, `\x`, `\\xff`,
		"%", "_", "ke%", "ke_", "'", "''", `"`, "?", "$1", "?1", "--", ";", "1", "01", "1.0", "1e0", "NULL",
		long + "a", long + "b", long,
	}
	ids := make([]journal.ID, len(keys))
	for i, k := range keys {
		ids[i] = id(k)
	}
	s.distinct(ids)
	n := s.prune(noon, 1000)
	s.require(n == 0, "Prune removed %d unsettled entries", n)
}

// distinct begins an entry for every ID and requires that each is found by its own.
func (s *subject) distinct(ids []journal.ID) {
	for i, id := range ids {
		stored, inserted, err := s.store.Begin(s.ctx, journal.Entry{ID: id, Sweeps: i, Updated: noon})
		if err != nil || !inserted || stored.ID != id {
			s.fail(1, "Begin of %q: inserted %v, error %v, as %q", id, inserted, err, stored.ID)
		}
	}
	for i, id := range ids {
		e, err := s.store.Get(s.ctx, id)
		if err != nil || e.ID != id || e.Sweeps != i {
			s.fail(1, "Get of %q: entry %d, want %d, as %q, error %v", id, e.Sweeps, i, e.ID, err)
		}
		e.Sweeps = -i
		if _, err = s.store.Update(s.ctx, e); err != nil {
			s.fail(1, "Update of %q: %v", id, err)
		}
	}
	for i, id := range ids {
		if e, err := s.store.Get(s.ctx, id); err != nil || e.Sweeps != -i {
			s.fail(1, "Get of %q after all were updated: entry %d, want %d, error %v", id, -e.Sweeps, i, err)
		}
	}
}

func getMissing(s *subject) {
	s.begin(small("k"))
	for _, missing := range []journal.ID{{}, id("other"), {Key: "k"}, {Provider: "acme", Key: "k"}} {
		e, err := s.store.Get(s.ctx, missing)
		s.is(err, journal.ErrNotFound, "Get of an entry that does not exist")
		s.same(journal.Entry{}, journal.Entry{ID: e.ID}, "what comes with ErrNotFound")
	}
}

func updateReplaces(s *subject) {
	other := s.begin(small("other"))
	first := s.begin(small("k"))
	next := full("k")
	next.Version = first.Version
	stored := s.update(next)
	next.Version = first.Version + 1
	s.same(next, stored, "Update's answer")
	s.same(next, s.get(next.ID), "Get after Update")
	back := small("k")
	back.Version = next.Version
	s.update(back)
	back.Version++
	s.same(back, s.get(back.ID), "Get after an Update that takes values away")
	s.same(other, s.get(other.ID), "another entry")
}

func updateFenced(s *subject) {
	stale := s.begin(small("k"))
	now := s.update(full("k"))
	for _, version := range []int64{stale.Version, now.Version + 1, 0, -1} {
		e := small("k")
		e.Version = version
		_, err := s.store.Update(s.ctx, e)
		s.is(err, journal.ErrConflict, fmt.Sprintf("Update under version %d of an entry at %d", version, now.Version))
		s.same(now, s.get(now.ID), "the entry after a conflict")
	}
}

func updateMissing(s *subject) {
	for _, version := range []int64{0, 1} {
		e := small("k")
		e.Version = version
		_, err := s.store.Update(s.ctx, e)
		s.is(err, journal.ErrNotFound, "Update of an entry that does not exist")
		_, err = s.store.Get(s.ctx, e.ID)
		s.is(err, journal.ErrNotFound, "Get after it")
	}
}

func updateAtomic(s *subject) { s.updateRace(s) }

// updateRace lets all write the same entry at once, a round for every version.
func (s *subject) updateRace(all ...*subject) {
	e := s.begin(small("k"))
	for range 5 {
		errs := race(all, func(i int, s *subject) error {
			mine := e
			mine.Lease.Holder = fmt.Sprintf("racer %d", i)
			_, err := s.store.Update(s.ctx, mine)
			return err
		})
		winner := ""
		for i, err := range errs {
			switch {
			case err == nil && winner == "":
				winner = fmt.Sprintf("racer %d", i)
			case err == nil:
				s.fail(0, "two Updates wrote under version %d: %s and racer %d", e.Version, winner, i)
			default:
				s.is(err, journal.ErrConflict, "Update in a race")
			}
		}
		s.require(winner != "", "no Update wrote under version %d", e.Version)
		now := s.get(e.ID)
		s.require(now.Lease.Holder == winner, "the entry is that of %q, though %s wrote", now.Lease.Holder, winner)
		s.require(now.Version == e.Version+1, "the version after one write is %d, before it was %d", now.Version, e.Version)
		e = now
	}
}

func unsettledWhich(s *subject) {
	for _, c := range []struct {
		key    string
		change func(*journal.Entry)
	}{
		{"yes: due since a minute", func(*journal.Entry) {}},
		{"yes: due now", func(e *journal.Entry) { e.Due = noon }},
		{"yes: due since ever", func(e *journal.Entry) { e.Due = time.Time{} }},
		{"yes: the lease ends now", func(e *journal.Entry) { e.Lease = journal.Lease{Holder: "h", Until: noon} }},
		{"yes: the lease ended", func(e *journal.Entry) { e.Lease = journal.Lease{Holder: "h", Until: noon.Add(-time.Microsecond)} }},
		{"yes: nobody's lease", func(e *journal.Entry) { e.Lease.Until = noon.Add(time.Hour) }},
		{"no: settled", func(e *journal.Entry) { e.Settled = true }},
		{"no: due soon", func(e *journal.Entry) { e.Due = noon.Add(time.Microsecond) }},
		{"no: leased", func(e *journal.Entry) { e.Lease = journal.Lease{Holder: "h", Until: noon.Add(time.Microsecond)} }},
	} {
		e := small(c.key)
		c.change(&e)
		s.begin(e)
		found := slices.Contains(s.unsettled(100), c.key)
		s.require(found == strings.HasPrefix(c.key, "yes"), "found is %v for an entry that is %q", found, c.key)
	}
}

func unsettledWhose(s *subject) {
	ids := []journal.ID{
		{Provider: "acme", Account: "acct_1"}, {Provider: "acme", Account: "acct_2"}, {Provider: "acme"},
		{Provider: "other", Account: "acct_1"}, {Provider: "ACME", Account: "acct_1"}, {Account: "acct_1"},
	}
	for i, whose := range ids {
		e := small("k")
		e.Provider, e.Account = whose.Provider, whose.Account
		e.Due = noon.Add(-time.Duration(i) * time.Minute)
		s.begin(e)
	}
	for _, whose := range ids {
		for _, limit := range []int{1, 10} {
			found, err := s.store.Unsettled(s.ctx, whose.Provider, whose.Account, noon, limit)
			s.is(err, nil, "Unsettled")
			s.require(len(found) == 1 && found[0].Provider == whose.Provider && found[0].Account == whose.Account,
				"for a limit of %d, %d entries are found of %q at %q, want the one of it", limit, len(found), whose.Account, whose.Provider)
		}
	}
}

func unsettledOrder(s *subject) {
	want := make([]string, 20)
	for i := range 20 {
		n := i * 7 % 20
		e := small(fmt.Sprintf("%02d", n))
		e.Due = noon.Add(time.Duration(n-20) * time.Microsecond)
		e.Created, e.Updated = noon.Add(-time.Duration(n)*time.Hour), noon.Add(-time.Duration(i)*time.Hour)
		s.begin(e)
		want[n] = e.Key
	}
	s.require(slices.Equal(s.unsettled(100), want), "the order is %v, want %v", s.unsettled(100), want)
	s.require(slices.Equal(s.unsettled(7), want[:7]), "the first 7 are %v, want %v", s.unsettled(7), want[:7])
}

func unsettledLimit(s *subject) {
	for i := range 30 {
		e := small(fmt.Sprint(i))
		if i%3 == 0 { // what is not returned does not count
			e.Due, e.Lease = noon.Add(-time.Hour), journal.Lease{Holder: "h", Until: noon.Add(time.Hour)}
		}
		s.begin(e)
	}
	for limit, want := range map[int]int{-1: 0, 0: 0, 1: 1, 19: 19, 20: 20, 21: 20, 1000: 20} {
		s.require(len(s.unsettled(limit)) == want, "%d entries for a limit of %d, want %d", len(s.unsettled(limit)), limit, want)
	}
}

func unsettledFollows(s *subject) {
	e := s.begin(small("k"))
	for range 2 {
		e.Settled = true
		e = s.update(e)
		s.require(len(s.unsettled(10)) == 0, "a settled entry is found")
		e.Settled = false
		e = s.update(e)
		s.require(len(s.unsettled(10)) == 1, "an entry that was opened again is not found")
	}
	e.Due = noon.Add(time.Hour)
	s.update(e)
	s.require(len(s.unsettled(10)) == 0, "an entry that was put off is found")
}

func unsettledWhole(s *subject) {
	e := full("k")
	e.Settled, e.Due, e.Lease.Until = false, noon, noon
	e = s.begin(e)
	found, err := s.store.Unsettled(s.ctx, e.Provider, e.Account, noon, 10)
	s.is(err, nil, "Unsettled")
	s.require(len(found) == 1, "%d entries, want 1", len(found))
	s.same(e, found[0], "what Unsettled returned")
}

func pruneSpares(s *subject) {
	old := small("old")
	old.Updated, old.Created, old.Lease = time.Time{}, time.Time{}, journal.Lease{}
	s.begin(old)
	e := settled("opened again", noon.Add(-time.Hour))
	s.begin(e)
	e.Version, e.Settled = 1, false
	s.update(e)
	n := s.prune(noon.Add(1000*time.Hour), 100)
	s.require(n == 0, "Prune says that it removed %d of 2 unsettled entries", n)
	s.get(old.ID)
	s.get(e.ID)
}

func pruneAge(s *subject) {
	for key, change := range map[string]func(*journal.Entry){
		"old":                            func(e *journal.Entry) { e.Updated = noon.Add(-time.Microsecond) },
		"old, created later":             func(e *journal.Entry) { e.Updated, e.Created = noon.Add(-time.Microsecond), noon.Add(time.Hour) },
		"old, retained until before":     func(e *journal.Entry) { e.Updated, e.Retain = noon.Add(-time.Hour), noon.Add(-time.Microsecond) },
		"new: just as old":               func(e *journal.Entry) { e.Updated = noon },
		"new: later":                     func(e *journal.Entry) { e.Updated, e.Created = noon.Add(time.Microsecond), noon.Add(-time.Hour) },
		"new: the key is still known":    func(e *journal.Entry) { e.Updated, e.Retain = noon.Add(-time.Hour), noon },
		"new: the key is known for ever": func(e *journal.Entry) { e.Updated, e.Retain = noon.Add(-time.Hour), noon.Add(1<<62) },
	} {
		e := settled(key, noon)
		change(&e)
		s.begin(e)
		n := s.prune(noon, 100)
		_, err := s.store.Get(s.ctx, e.ID)
		if strings.HasPrefix(key, "old") {
			s.require(n == 1, "Prune removed %d entries, want 1, which is %q", n, key)
			s.is(err, journal.ErrNotFound, "Get of what was pruned, "+key)
			continue
		}
		s.require(n == 0, "Prune removed %d entries, want none, at %q", n, key)
		s.is(err, nil, "Get of what was to stay, "+key)
	}
}

func pruneClock(s *subject) {
	e := settled("the key is still known", noon)
	e.Retain = time.Now().Add(time.Hour)
	s.begin(e)
	n := s.prune(time.Now().Add(1000*time.Hour), 100)
	s.require(n == 0, "Prune to a time that is yet to come removed an entry whose key is still known")
	s.get(e.ID)
}

func pruneBatches(s *subject) {
	for i := range 25 {
		s.begin(settled(fmt.Sprint(i), noon.Add(-time.Hour)))
	}
	left := 25
	for _, limit := range []int{0, -1, 10, 10, 10, 10} {
		n, want := s.prune(noon, limit), min(max(limit, 0), left)
		s.require(n == want, "Prune returned %d for a limit of %d with %d to remove", n, limit, left)
		left -= want
		there := 0
		for i := range 25 {
			if _, err := s.store.Get(s.ctx, id(fmt.Sprint(i))); err == nil {
				there++
			}
		}
		s.require(there == left, "%d entries are left, want %d", there, left)
	}
}

func pruneRemoves(s *subject) {
	e := s.begin(settled("k", noon.Add(-time.Hour)))
	e = s.update(e)
	s.prune(noon, 10)
	_, err := s.store.Get(s.ctx, e.ID)
	s.is(err, journal.ErrNotFound, "Get of what was pruned")
	_, err = s.store.Update(s.ctx, e)
	s.is(err, journal.ErrNotFound, "Update of what was pruned")
	again := s.begin(small("k"))
	s.require(again.Version == 1, "the version of a new entry is %d", again.Version)
}

// calls are all methods that take a context.
func (s *subject) calls(ctx context.Context, e journal.Entry) map[string]error {
	errs := map[string]error{}
	_, _, errs["Begin"] = s.store.Begin(ctx, small("new"))
	_, errs["Get"] = s.store.Get(ctx, e.ID)
	_, errs["Update"] = s.store.Update(ctx, e)
	_, errs["Unsettled"] = s.store.Unsettled(ctx, e.Provider, e.Account, noon, 10)
	_, errs["Prune"] = s.store.Prune(ctx, noon, 10)
	return errs
}

func contextEnded(s *subject) {
	e := s.begin(small("k"))
	old := s.begin(settled("old", noon.Add(-time.Hour)))
	cancelled, cancel := context.WithCancel(s.ctx)
	cancel()
	for name, err := range s.calls(cancelled, e) {
		s.is(err, context.Canceled, name+" with a cancelled context")
	}
	late, cancel := context.WithDeadline(s.ctx, time.Now().Add(-time.Second))
	defer cancel()
	for name, err := range s.calls(late, e) {
		s.is(err, context.DeadlineExceeded, name+" after its deadline")
	}
	s.same(e, s.get(e.ID), "the entry after an Update with a context that had ended")
	s.get(old.ID)
	_, err := s.store.Get(s.ctx, id("new"))
	s.is(err, journal.ErrNotFound, "Get after a Begin with a context that had ended")
}

func closed(s *subject) {
	e := s.begin(small("k"))
	s.is(s.store.Close(), nil, "Close")
	for name, err := range s.calls(s.ctx, e) {
		s.is(err, journal.ErrClosed, name+" after Close")
	}
	s.is(s.store.Close(), nil, "a second Close")
}

func durable(s *subject) {
	first := s.begin(full("k"))
	other := s.reopen()
	s.same(first, other.get(first.ID), "what another store reads after Begin")
	second := s.update(first)
	s.same(second, other.get(first.ID), "what another store reads after Update")
	s.is(other.store.Close(), nil, "Close of the other")
	s.same(second, s.get(first.ID), "what is read after another store was closed")
	s.begin(settled("old", noon.Add(-time.Hour)))
	s.prune(noon, 10)
	s.is(s.store.Close(), nil, "Close")
	again := s.reopen()
	s.same(second, again.get(first.ID), "what is read after all were closed")
	_, err := again.store.Get(s.ctx, id("old"))
	s.is(err, journal.ErrNotFound, "Get of what was pruned")
	s.is(again.store.Close(), nil, "Close of the last")
}

func shared(s *subject) {
	other := s.reopen()
	s.beginRace(3, s, other)
	s.updateRace(s, other)
	s.is(other.store.Close(), nil, "Close of the other")
}

package journaltest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/idempact/idempact/journal"
)

// errNoLister is why the rules about listing are skipped.
var errNoLister = fmt.Errorf("%w: the store is no journal.Lister", errSkipped)

// list returns what fits, in pages of a size, or ends the rule where the store cannot.
func (s *subject) list(f journal.Filter, size int) (all []journal.Entry) {
	l, ok := s.store.(journal.Lister)
	if !ok {
		panic(stop{err: errNoLister})
	}
	f.Limit = size
	for {
		page, err := l.List(s.ctx, f)
		if errors.Is(err, errors.ErrUnsupported) {
			panic(stop{err: errNoLister})
		}
		if err != nil || len(page) > size || len(all) > 1000 {
			s.fail(1, "List: %d entries for a limit of %d, error %v", len(page), size, err)
		}
		all = append(all, page...)
		if len(page) < size {
			return all
		}
		f.After = page[size-1].ID
	}
}

func listWhole(s *subject) {
	want := map[string]journal.Entry{}
	for _, key := range []string{"a", "B", "b", "k\x00", "é", "zz", "\\x41"} {
		want[key] = s.begin(full(key))
	}
	for _, size := range []int{1, 2, 7, 100} {
		got := s.list(journal.Filter{}, size)
		s.require(len(got) == len(want), "%d entries in pages of %d, want %d", len(got), size, len(want))
		for _, e := range got {
			s.same(want[e.Key], e, "List")
		}
	}
	l, _ := s.store.(journal.Lister)
	none, err := l.List(s.ctx, journal.Filter{})
	s.require(err == nil && len(none) == 0, "%d entries for a limit of 0, error %v", len(none), err)
}

func listFilters(s *subject) {
	for _, e := range []journal.Entry{small("open"), settled("done", noon)} {
		s.begin(e)
		e.Provider = "other"
		s.begin(e)
		e.Provider, e.Account = "acme", "acct_2"
		s.begin(e)
	}
	leased := small("leased")
	leased.Lease, leased.Due = journal.Lease{Holder: "h", Until: noon.AddDate(1, 0, 0)}, noon.AddDate(1, 0, 0)
	s.begin(leased)
	for _, c := range []struct {
		filter journal.Filter
		want   int
	}{
		{journal.Filter{}, 7},
		{journal.Filter{Provider: "acme"}, 5},
		{journal.Filter{Account: "acct_1"}, 5},
		{journal.Filter{Provider: "acme", Account: "acct_1"}, 3},
		{journal.Filter{Unsettled: true}, 4},
		{journal.Filter{Provider: "acme", Account: "acct_1", Unsettled: true}, 2},
		{journal.Filter{Provider: "nobody"}, 0},
	} {
		got := s.list(c.filter, 2)
		s.require(len(got) == c.want, "%d entries for %+v, want %d", len(got), c.filter, c.want)
		s.require(!c.filter.Unsettled || !slices.ContainsFunc(got, func(e journal.Entry) bool { return e.Settled }), "a settled entry among the unsettled")
	}
}

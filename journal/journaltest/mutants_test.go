package journaltest_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/journaltest"
)

// mutant is a store with one fault: each hook that is set replaces a method.
type mutant struct {
	journal.Store
	begin     func(journal.Store, context.Context, journal.Entry) (journal.Entry, bool, error)
	get       func(journal.Store, context.Context, journal.ID) (journal.Entry, error)
	update    func(journal.Store, context.Context, journal.Entry) (journal.Entry, error)
	unsettled func(journal.Store, context.Context, string, string, time.Time, int) ([]journal.Entry, error)
	prune     func(journal.Store, context.Context, time.Time, int) (int, error)
	list      func(journal.Store, context.Context, journal.Filter) ([]journal.Entry, error)
	close     func(journal.Store) error
	reopen    func(journal.Store) (journal.Store, error)
}

func (m mutant) Begin(ctx context.Context, e journal.Entry) (journal.Entry, bool, error) {
	if m.begin != nil {
		return m.begin(m.Store, ctx, e)
	}
	return m.Store.Begin(ctx, e)
}

func (m mutant) Get(ctx context.Context, id journal.ID) (journal.Entry, error) {
	if m.get != nil {
		return m.get(m.Store, ctx, id)
	}
	return m.Store.Get(ctx, id)
}

func (m mutant) Update(ctx context.Context, e journal.Entry) (journal.Entry, error) {
	if m.update != nil {
		return m.update(m.Store, ctx, e)
	}
	return m.Store.Update(ctx, e)
}

func (m mutant) Unsettled(ctx context.Context, provider, account string, now time.Time, limit int) ([]journal.Entry, error) {
	if m.unsettled != nil {
		return m.unsettled(m.Store, ctx, provider, account, now, limit)
	}
	return m.Store.Unsettled(ctx, provider, account, now, limit)
}

func (m mutant) List(ctx context.Context, f journal.Filter) ([]journal.Entry, error) {
	if m.list != nil {
		return m.list(m.Store, ctx, f)
	}
	l, ok := m.Store.(journal.Lister)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return l.List(ctx, f)
}

func (m mutant) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	if m.prune != nil {
		return m.prune(m.Store, ctx, before, limit)
	}
	return m.Store.Prune(ctx, before, limit)
}

func (m mutant) Close() error {
	if m.close != nil {
		return m.close(m.Store)
	}
	return m.Store.Close()
}

// reopening is a mutant that is a journaltest.Reopener too.
type reopening struct{ mutant }

func (r reopening) Reopen() (journal.Store, error) { return r.reopen(r.Store) }

// named stores entries under another ID, and gives them back under their own.
func named(other func(journal.ID) journal.ID) mutant {
	under := func(e journal.Entry, id journal.ID) journal.Entry {
		e.ID = id
		return e
	}
	return mutant{
		begin: func(s journal.Store, ctx context.Context, e journal.Entry) (journal.Entry, bool, error) {
			stored, ok, err := s.Begin(ctx, under(e, other(e.ID)))
			return under(stored, e.ID), ok, err
		},
		get: func(s journal.Store, ctx context.Context, id journal.ID) (journal.Entry, error) {
			e, err := s.Get(ctx, other(id))
			return under(e, id), err
		},
		update: func(s journal.Store, ctx context.Context, e journal.Entry) (journal.Entry, error) {
			stored, err := s.Update(ctx, under(e, other(e.ID)))
			return under(stored, e.ID), err
		},
	}
}

// key changes the key of every ID.
func key(change func(string) string) mutant {
	return named(func(id journal.ID) journal.ID {
		id.Key = change(id.Key)
		return id
	})
}

// reading changes what is read: it is what a store does that loses something.
func reading(change func(*journal.Entry)) mutant {
	return mutant{get: func(s journal.Store, ctx context.Context, id journal.ID) (journal.Entry, error) {
		e, err := s.Get(ctx, id)
		change(&e)
		return e, err
	}}
}

// finding replaces what Unsettled looks for.
func finding(f func(s journal.Store, ctx context.Context, provider, account string, now time.Time, limit int) ([]journal.Entry, error)) mutant {
	return mutant{unsettled: f}
}

// listing changes what List returns.
func listing(change func(f *journal.Filter, found []journal.Entry) []journal.Entry) mutant {
	return mutant{list: func(s journal.Store, ctx context.Context, f journal.Filter) ([]journal.Entry, error) {
		found, err := s.(journal.Lister).List(ctx, f)
		return change(&f, found), err
	}}
}

// ignoring changes what List is asked.
func ignoring(change func(*journal.Filter)) mutant {
	return mutant{list: func(s journal.Store, ctx context.Context, f journal.Filter) ([]journal.Entry, error) {
		change(&f)
		return s.(journal.Lister).List(ctx, f)
	}}
}

// The table of broken stores, and the rule that kills each.
func mutants() map[string]struct {
	broken any // mutant or reopening
	rule   string
} {
	type row = struct {
		broken any
		rule   string
	}
	return map[string]row{
		"Begin keeps the caller's version": {mutant{begin: func(s journal.Store, ctx context.Context, e journal.Entry) (journal.Entry, bool, error) {
			stored, ok, err := s.Begin(ctx, e)
			stored.Version = e.Version
			return stored, ok, err
		}}, "begin inserts"},
		"Begin always inserted": {mutant{begin: func(s journal.Store, ctx context.Context, e journal.Entry) (journal.Entry, bool, error) {
			stored, _, err := s.Begin(ctx, e)
			return stored, err == nil, err
		}}, "begin once"},
		"Begin overwrites": {mutant{begin: func(s journal.Store, ctx context.Context, e journal.Entry) (journal.Entry, bool, error) {
			stored, ok, err := s.Begin(ctx, e)
			if err == nil && !ok {
				e.Version = stored.Version
				stored, err = s.Update(ctx, e)
			}
			return stored, ok, err
		}}, "begin once"},
		"Begin returns what it was given": {mutant{begin: func(s journal.Store, ctx context.Context, e journal.Entry) (journal.Entry, bool, error) {
			_, ok, err := s.Begin(ctx, e)
			e.Version = 1
			return e.Clone(), ok, err
		}}, "begin once"},
		"Begin looks, then inserts": {mutant{begin: func(s journal.Store, ctx context.Context, e journal.Entry) (journal.Entry, bool, error) {
			if known, err := s.Get(ctx, e.ID); err == nil {
				return known, false, nil
			}
			time.Sleep(time.Millisecond)
			stored, ok, err := s.Begin(ctx, e)
			if err == nil && !ok {
				e.Version = stored.Version
				stored, err = s.Update(ctx, e)
			}
			return stored, true, err
		}}, "begin is atomic"},
		"provider is no part of the ID": {named(func(id journal.ID) journal.ID { id.Provider = ""; return id }), "id has three parts"},
		"account is no part of the ID":  {named(func(id journal.ID) journal.ID { id.Account = ""; return id }), "id has three parts"},
		"the parts run together": {named(func(id journal.ID) journal.ID {
			return journal.ID{Key: id.Provider + ":" + id.Account + ":" + id.Key}
		}), "id has three parts"},
		"keys fold case":            {key(strings.ToLower), "id is bytes"},
		"keys are trimmed":          {key(strings.TrimSpace), "id is bytes"},
		"keys lose trailing spaces": {key(func(k string) string { return strings.TrimRight(k, " ") }), "id is bytes"},
		"keys are put into NFC":     {key(func(k string) string { return strings.ReplaceAll(k, "e\u0301", "é") }), "id is bytes"},
		"keys are made valid":       {key(func(k string) string { return strings.ToValidUTF8(k, "\ufffd") }), "id is bytes"},
		"keys are cut":              {key(func(k string) string { return k[:min(len(k), 254)] }), "id is bytes"},
		"a missing entry is a zero": {reading2(func(e *journal.Entry, err error) error { return ignore(err, journal.ErrNotFound) }), "get finds nothing"},
		"Update is not fenced":      {mutant{update: unfenced}, "update is fenced"},
		"Update takes later versions": {mutant{update: func(s journal.Store, ctx context.Context, e journal.Entry) (journal.Entry, error) {
			if known, err := s.Get(ctx, e.ID); err == nil && e.Version > known.Version {
				e.Version = known.Version
			}
			return s.Update(ctx, e)
		}}, "update is fenced"},
		"Update forgets to count": {mutant{update: func(s journal.Store, ctx context.Context, e journal.Entry) (journal.Entry, error) {
			stored, err := s.Update(ctx, e)
			stored.Version = e.Version
			return stored, err
		}}, "update replaces"},
		"Update keeps what is not given": {mutant{update: func(s journal.Store, ctx context.Context, e journal.Entry) (journal.Entry, error) {
			known, _ := s.Get(ctx, e.ID)
			if e.Response.StatusCode == 0 {
				e.Response = known.Response
			}
			return s.Update(ctx, e)
		}}, "update replaces"},
		"Update says conflict where there is nothing": {mutant{update: func(s journal.Store, ctx context.Context, e journal.Entry) (journal.Entry, error) {
			stored, err := s.Update(ctx, e)
			if errors.Is(err, journal.ErrNotFound) {
				err = journal.ErrConflict
			}
			return stored, err
		}}, "update needs an entry"},
		"Update inserts": {mutant{update: func(s journal.Store, ctx context.Context, e journal.Entry) (journal.Entry, error) {
			stored, err := s.Update(ctx, e)
			if errors.Is(err, journal.ErrNotFound) {
				stored, _, err = s.Begin(ctx, e)
			}
			return stored, err
		}}, "update needs an entry"},
		"Update looks, then writes": {mutant{update: func(s journal.Store, ctx context.Context, e journal.Entry) (journal.Entry, error) {
			if known, err := s.Get(ctx, e.ID); err == nil && known.Version != e.Version {
				return journal.Entry{}, journal.ErrConflict
			}
			time.Sleep(time.Millisecond)
			return unfenced(s, ctx, e)
		}}, "update is atomic"},
		"the action is lost":         {reading(func(e *journal.Entry) { e.Action = "" }), "keeps every field"},
		"Retain is lost":             {reading(func(e *journal.Entry) { e.Retain = time.Time{} }), "keeps every field"},
		"numbers of 32 bits":         {reading(func(e *journal.Entry) { e.Skew = time.Duration(int32(e.Skew)) }), "keeps every field"},
		"no first send is now":       {reading(func(e *journal.Entry) { e.FirstSent = orNow(e.FirstSent) }), "keeps nothing"},
		"an entry without an answer": {reading(func(e *journal.Entry) { e.Response.StatusCode = max(e.Response.StatusCode, 200) }), "keeps nothing"},
		"bodies are text": {reading(func(e *journal.Entry) {
			e.Request.Body = []byte(strings.ToValidUTF8(string(e.Request.Body), "?"))
		}), "keeps bytes"},
		"bodies end at a NUL": {reading(func(e *journal.Entry) {
			body, _, _ := strings.Cut(string(e.Response.Body), "\x00")
			e.Response.Body = []byte(body)
		}), "keeps bytes"},
		"bodies are trimmed": {reading(func(e *journal.Entry) {
			e.Request.Body = []byte(strings.TrimSpace(string(e.Request.Body)))
		}), "keeps bytes"},
		"headers have one value":         {reading(func(e *journal.Entry) { eachHeader(e, func(h http.Header, name string) { h[name] = h[name][:1] }) }), "keeps headers"},
		"headers are joined":             {reading(func(e *journal.Entry) { eachHeader(e, joinValues) }), "keeps headers"},
		"headers become canonical":       {reading(func(e *journal.Entry) { eachHeader(e, canonical) }), "keeps headers"},
		"times keep seconds":             {reading(func(e *journal.Entry) { e.Due = e.Due.Truncate(time.Second) }), "keeps times"},
		"times keep milliseconds":        {reading(func(e *journal.Entry) { e.FirstSent = e.FirstSent.Truncate(time.Millisecond) }), "keeps times"},
		"times come back local":          {reading(func(e *journal.Entry) { e.Updated = e.Updated.In(time.FixedZone("here", 3600)) }), "keeps times"},
		"times start in 1970":            {reading(func(e *journal.Entry) { e.Lease.Until = time.Unix(max(e.Lease.Until.Unix(), 0), 0).UTC() }), "keeps times"},
		"text is made valid":             {reading(func(e *journal.Entry) { e.Verdict.RequestID = strings.ToValidUTF8(e.Verdict.RequestID, "?") }), "keeps text"},
		"doubt becomes another":          {reading(func(e *journal.Entry) { e.Verdict.Status = known(e.Verdict.Status) }), "keeps verdicts"},
		"the last evidence is lost":      {reading(func(e *journal.Entry) { e.Verdict.Last = e.Verdict.Outcome }), "keeps verdicts"},
		"one reference is kept":          {reading(func(e *journal.Entry) { e.Verdict.Resources = e.Verdict.Resources[:min(1, len(e.Verdict.Resources))] }), "keeps verdicts"},
		"the wait is in seconds":         {reading(func(e *journal.Entry) { e.Verdict.RetryAfter = e.Verdict.RetryAfter.Truncate(time.Second) }), "keeps verdicts"},
		"Begin shares what it was given": {&sharing{entries: map[journal.ID]journal.Entry{}, in: true}, "copies in"},
		"Get shares what it has":         {&sharing{entries: map[journal.ID]journal.Entry{}}, "copies out"},
		"settled entries are found": {finding(func(s journal.Store, ctx context.Context, provider, account string, now time.Time, limit int) ([]journal.Entry, error) {
			found, err := s.Unsettled(ctx, provider, account, now, limit)
			if e, err := s.Get(ctx, journal.ID{Provider: "acme", Account: "acct_1", Key: "no: settled"}); err == nil {
				found = append(found, e)
			}
			return found, err
		}), "unsettled is due and free"},
		"what is due soon is found": {finding(func(s journal.Store, ctx context.Context, provider, account string, now time.Time, limit int) ([]journal.Entry, error) {
			return s.Unsettled(ctx, provider, account, now.Add(time.Microsecond), limit)
		}), "unsettled is due and free"},
		"what is due now is not found": {finding(func(s journal.Store, ctx context.Context, provider, account string, now time.Time, limit int) ([]journal.Entry, error) {
			return s.Unsettled(ctx, provider, account, now.Add(-time.Microsecond), limit)
		}), "unsettled is due and free"},
		"the account is ignored": {finding(func(s journal.Store, ctx context.Context, provider, account string, now time.Time, limit int) ([]journal.Entry, error) {
			var all []journal.Entry
			for _, a := range []string{"", "acct_1", "acct_2"} {
				found, err := s.Unsettled(ctx, provider, a, now, limit)
				if err != nil {
					return nil, err
				}
				all = append(all, found...)
			}
			return all[:min(len(all), max(limit, 0))], nil
		}), "unsettled is of one account"},
		"the order is turned": {finding(func(s journal.Store, ctx context.Context, provider, account string, now time.Time, limit int) ([]journal.Entry, error) {
			found, err := s.Unsettled(ctx, provider, account, now, limit)
			for i := range len(found) / 2 {
				found[i], found[len(found)-1-i] = found[len(found)-1-i], found[i]
			}
			return found, err
		}), "unsettled in order"},
		"the limit is ignored": {finding(func(s journal.Store, ctx context.Context, provider, account string, now time.Time, limit int) ([]journal.Entry, error) {
			return s.Unsettled(ctx, provider, account, now, 1000)
		}), "unsettled to the limit"},
		"no limit is all": {finding(func(s journal.Store, ctx context.Context, provider, account string, now time.Time, limit int) ([]journal.Entry, error) {
			if limit < 0 {
				limit = 1000
			}
			return s.Unsettled(ctx, provider, account, now, limit)
		}), "unsettled to the limit"},
		"the limit counts what is leased": {finding(func(s journal.Store, ctx context.Context, provider, account string, now time.Time, limit int) ([]journal.Entry, error) {
			found, err := s.Unsettled(ctx, provider, account, now.Add(1000*time.Hour), limit)
			free := found[:0]
			for _, e := range found {
				if e.Lease.Free(now) {
					free = append(free, e)
				}
			}
			return free, err
		}), "unsettled to the limit"},
		"the index is not updated": {func() mutant {
			var mu sync.Mutex
			ids := map[journal.ID]bool{}
			return mutant{
				begin: func(s journal.Store, ctx context.Context, e journal.Entry) (journal.Entry, bool, error) {
					mu.Lock()
					defer mu.Unlock()
					ids[e.ID] = ids[e.ID] || !e.Settled
					return s.Begin(ctx, e)
				},
				unsettled: func(s journal.Store, ctx context.Context, provider, account string, now time.Time, limit int) (found []journal.Entry, err error) {
					for id := range ids {
						if e, err := s.Get(ctx, id); err == nil && !e.Due.After(now) {
							found = append(found, e)
						}
					}
					return found[:min(len(found), max(limit, 0))], nil
				},
			}
		}(), "unsettled follows updates"},
		"Unsettled leaves bodies out": {finding(func(s journal.Store, ctx context.Context, provider, account string, now time.Time, limit int) ([]journal.Entry, error) {
			found, err := s.Unsettled(ctx, provider, account, now, limit)
			for i := range found {
				found[i].Request.Body = nil
			}
			return found, err
		}), "unsettled is whole"},
		"Prune takes the unsettled": {pruning(func(journal.Entry, time.Time) bool { return true }), "prune spares the unsettled"},
		"Prune takes all that is settled": {pruning(func(e journal.Entry, _ time.Time) bool {
			return e.Settled
		}), "prune by age"},
		"Prune goes by creation": {pruning(func(e journal.Entry, before time.Time) bool {
			return e.Settled && e.Created.Before(before) && e.Retain.Before(before)
		}), "prune by age"},
		"Prune ignores Retain": {pruning(func(e journal.Entry, before time.Time) bool {
			return e.Settled && e.Updated.Before(before)
		}), "prune by age"},
		"Prune has no clock": {pruning(func(e journal.Entry, before time.Time) bool {
			return e.Settled && e.Updated.Before(before) && e.Retain.Before(before)
		}), "prune by the clock"},
		"Prune takes what is just as old": {mutant{prune: func(s journal.Store, ctx context.Context, before time.Time, limit int) (int, error) {
			return s.Prune(ctx, before.Add(time.Microsecond), limit)
		}}, "prune by age"},
		"Prune ignores the limit": {mutant{prune: func(s journal.Store, ctx context.Context, before time.Time, _ int) (int, error) {
			return s.Prune(ctx, before, 1000)
		}}, "prune in batches"},
		"Prune returns the limit": {mutant{prune: func(s journal.Store, ctx context.Context, before time.Time, limit int) (int, error) {
			_, err := s.Prune(ctx, before, limit)
			return max(limit, 0), err
		}}, "prune in batches"},
		"Prune removes nothing": {mutant{prune: func(s journal.Store, ctx context.Context, _ time.Time, limit int) (int, error) {
			return s.Prune(ctx, time.Time{}, limit)
		}}, "prune removes"},
		"List loses the history": {listing(func(_ *journal.Filter, found []journal.Entry) []journal.Entry {
			for i := range found {
				found[i].History = nil
			}
			return found
		}), "list is whole"},
		"List begins anew with every page": {mutant{list: func(s journal.Store, ctx context.Context, f journal.Filter) ([]journal.Entry, error) {
			f.After = journal.ID{}
			return s.(journal.Lister).List(ctx, f)
		}}, "list is whole"},
		"List ignores the provider": {ignoring(func(f *journal.Filter) { f.Provider = "" }), "list filters"},
		"List ignores the account":  {ignoring(func(f *journal.Filter) { f.Account = "" }), "list filters"},
		"List shows the settled":    {ignoring(func(f *journal.Filter) { f.Unsettled = false }), "list filters"},
		"List hides what is leased": {listing(func(f *journal.Filter, found []journal.Entry) []journal.Entry {
			return slices.DeleteFunc(found, func(e journal.Entry) bool { return f.Unsettled && e.Lease.Holder != "" })
		}), "list filters"},
		"Begin ignores its context": {mutant{begin: func(s journal.Store, _ context.Context, e journal.Entry) (journal.Entry, bool, error) {
			return s.Begin(context.Background(), e)
		}}, "context"},
		"Update writes, then looks at its context": {mutant{update: func(s journal.Store, ctx context.Context, e journal.Entry) (journal.Entry, error) {
			stored, err := s.Update(context.Background(), e)
			if ctx.Err() != nil {
				return journal.Entry{}, ctx.Err()
			}
			return stored, err
		}}, "context"},
		"Close closes nothing": {mutant{close: func(journal.Store) error { return nil }}, "closed"},
		"Close fails twice": {func() mutant {
			var once sync.Once
			return mutant{close: func(s journal.Store) error {
				err := errors.New("closed already")
				once.Do(func() { err = s.Close() })
				return err
			}}
		}(), "closed"},
		"entries die with the store": {reopening{mutant{reopen: func(journal.Store) (journal.Store, error) {
			return journal.NewMemory(), nil
		}}}, "durable"},
		"every process has its own fence": {reopening{mutant{reopen: func(journal.Store) (journal.Store, error) {
			return journal.NewMemory(), nil
		}}}, "shared"},
	}
}

func TestMutantsAreKilled(t *testing.T) {
	for name, m := range mutants() {
		t.Run(name, func(t *testing.T) {
			err := journaltest.Check(func() (journal.Store, error) {
				// A new one each time, of the state that its closures share too.
				switch broken := mutants()[name].broken.(type) {
				case mutant:
					broken.Store = journal.NewMemory()
					return broken, nil
				case reopening:
					broken.Store = journal.NewMemory()
					return broken, nil
				default:
					return broken.(journal.Store), nil
				}
			})
			require.Error(t, err, "no rule noticed")
			var rules []string
			for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
				var v *journaltest.Violation
				require.ErrorAs(t, e, &v)
				assert.Regexp(t, `^(rules|keep|list|journaltest)\.go:\d+$|^Close$`, v.Source)
				assert.Contains(t, v.Error(), v.Duty)
				rules = append(rules, v.Rule)
			}
			assert.Contains(t, rules, m.rule, "%v", err)
		})
	}
}

func TestCheckPassesMemory(t *testing.T) {
	require.NoError(t, journaltest.Check(func() (journal.Store, error) { return journal.NewMemory(), nil }))
	failed := errors.New("no room")
	require.ErrorIs(t, journaltest.Check(func() (journal.Store, error) { return nil, failed }), failed)
}

func reading2(change func(*journal.Entry, error) error) mutant {
	return mutant{get: func(s journal.Store, ctx context.Context, id journal.ID) (journal.Entry, error) {
		e, err := s.Get(ctx, id)
		return e, change(&e, err)
	}}
}

func ignore(err, ignored error) error {
	if errors.Is(err, ignored) {
		return nil
	}
	return err
}

// unfenced writes whatever the version.
func unfenced(s journal.Store, ctx context.Context, e journal.Entry) (journal.Entry, error) {
	for {
		known, err := s.Get(ctx, e.ID)
		if err != nil {
			return journal.Entry{}, err
		}
		e.Version = known.Version
		if stored, err := s.Update(ctx, e); !errors.Is(err, journal.ErrConflict) {
			return stored, err
		}
	}
}

func orNow(t time.Time) time.Time {
	if t.IsZero() {
		return time.Unix(1, 0).UTC()
	}
	return t
}

func known(s contract.Status) contract.Status {
	if s == contract.KeySpent {
		return contract.Unknown
	}
	return s
}

func eachHeader(e *journal.Entry, f func(http.Header, string)) {
	for _, h := range []http.Header{e.Request.Header, e.Response.Header} {
		for name := range h.Clone() {
			f(h, name)
		}
	}
}

func joinValues(h http.Header, name string) { h[name] = []string{strings.Join(h[name], ", ")} }

func canonical(h http.Header, name string) {
	values := h[name]
	delete(h, name)
	h[http.CanonicalHeaderKey(name)] = values
}

// pruning is a store that prunes by another rule.
func pruning(old func(e journal.Entry, before time.Time) bool) mutant {
	var mu sync.Mutex
	ids := map[journal.ID]bool{}
	removed := map[journal.ID]bool{}
	return mutant{
		begin: func(s journal.Store, ctx context.Context, e journal.Entry) (journal.Entry, bool, error) {
			mu.Lock()
			defer mu.Unlock()
			ids[e.ID] = true
			return s.Begin(ctx, e)
		},
		get: func(s journal.Store, ctx context.Context, id journal.ID) (journal.Entry, error) {
			mu.Lock()
			defer mu.Unlock()
			if removed[id] {
				return journal.Entry{}, journal.ErrNotFound
			}
			return s.Get(ctx, id)
		},
		prune: func(s journal.Store, ctx context.Context, before time.Time, limit int) (n int, err error) {
			mu.Lock()
			defer mu.Unlock()
			for id := range ids {
				if e, err := s.Get(ctx, id); err == nil && n < limit && !removed[id] && old(e, before) {
					removed[id] = true
					n++
				}
			}
			return n, ctx.Err()
		},
	}
}

// sharing is a store that keeps no copies: of what it is given, or of what it gives.
type sharing struct {
	mu      sync.Mutex
	entries map[journal.ID]journal.Entry
	in      bool
}

func (s *sharing) copied(e journal.Entry, wanted bool) journal.Entry {
	if wanted {
		return e.Clone()
	}
	return e
}

func (s *sharing) Begin(_ context.Context, e journal.Entry) (journal.Entry, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.entries[e.ID]; ok {
		return s.copied(known, s.in), false, nil
	}
	e = s.copied(e, !s.in)
	e.Version = 1
	s.entries[e.ID] = e
	return s.copied(e, s.in), true, nil
}

func (s *sharing) Get(_ context.Context, id journal.ID) (journal.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[id]
	if !ok {
		return journal.Entry{}, journal.ErrNotFound
	}
	return s.copied(e, s.in), nil
}

func (s *sharing) Update(_ context.Context, e journal.Entry) (journal.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch known, ok := s.entries[e.ID]; {
	case !ok:
		return journal.Entry{}, journal.ErrNotFound
	case known.Version != e.Version:
		return journal.Entry{}, journal.ErrConflict
	}
	e = s.copied(e, !s.in)
	e.Version++
	s.entries[e.ID] = e
	return s.copied(e, s.in), nil
}

func (s *sharing) Unsettled(context.Context, string, string, time.Time, int) ([]journal.Entry, error) {
	return nil, nil
}

func (s *sharing) Prune(context.Context, time.Time, int) (int, error) { return 0, nil }

func (s *sharing) Close() error { return nil }

package journal

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Memory is a Store that lives and dies with the process: for tests, and for
// operations that may be forgotten. It starts no goroutine, so it works in virtual
// time.
type Memory struct {
	mu        sync.Mutex
	closed    bool
	entries   map[ID]Entry
	unsettled map[ID]struct{} // so that a sweep does not look at the others
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{entries: map[ID]Entry{}, unsettled: map[ID]struct{}{}}
}

// lock takes the lock, unless the store is closed or nobody waits for the answer.
func (m *Memory) lock(ctx context.Context) (unlock func(), err error) {
	m.mu.Lock()
	err = ctx.Err()
	if m.closed {
		err = ErrClosed
	}
	if err != nil {
		m.mu.Unlock()
		return nil, err
	}
	return m.mu.Unlock, nil
}

func (m *Memory) put(e Entry) Entry {
	m.entries[e.ID] = e
	delete(m.unsettled, e.ID)
	if !e.Settled {
		m.unsettled[e.ID] = struct{}{}
	}
	return e.Clone()
}

// Begin inserts e unless there is an entry with its ID.
func (m *Memory) Begin(ctx context.Context, e Entry) (stored Entry, inserted bool, err error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return Entry{}, false, err
	}
	defer unlock()
	if known, ok := m.entries[e.ID]; ok {
		return known.Clone(), false, nil
	}
	e = e.Clone()
	e.Version = 1
	return m.put(e), true, nil
}

// Get returns the entry, or ErrNotFound.
func (m *Memory) Get(ctx context.Context, id ID) (Entry, error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return Entry{}, err
	}
	defer unlock()
	e, ok := m.entries[id]
	if !ok {
		return Entry{}, ErrNotFound
	}
	return e.Clone(), nil
}

// Update replaces the entry whose version is e's.
func (m *Memory) Update(ctx context.Context, e Entry) (stored Entry, err error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return Entry{}, err
	}
	defer unlock()
	switch known, ok := m.entries[e.ID]; {
	case !ok:
		return Entry{}, ErrNotFound
	case known.Version != e.Version:
		return Entry{}, ErrConflict
	}
	e = e.Clone()
	e.Version++
	return m.put(e), nil
}

// Unsettled returns up to limit entries of one account that are due and free, the
// longest due first.
func (m *Memory) Unsettled(ctx context.Context, provider, account string, now time.Time, limit int) ([]Entry, error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var due []Entry
	for id := range m.unsettled {
		if id.Provider != provider || id.Account != account {
			continue
		}
		if e := m.entries[id]; !e.Due.After(now) && e.Lease.Free(now) {
			due = append(due, e)
		}
	}
	slices.SortFunc(due, func(a, b Entry) int { return a.Due.Compare(b.Due) })
	due = due[:min(len(due), max(limit, 0))]
	for i, e := range due {
		due[i] = e.Clone()
	}
	return due, nil
}

// List returns the entries that fit, in the order of their IDs.
func (m *Memory) List(ctx context.Context, f Filter) ([]Entry, error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var found []Entry
	for id, e := range m.entries {
		if (f.Provider == "" || id.Provider == f.Provider) && (f.Account == "" || id.Account == f.Account) &&
			(!f.Unsettled || !e.Settled) && (f.After == ID{} || id.compare(f.After) > 0) {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b Entry) int { return a.ID.compare(b.ID) })
	found = found[:min(len(found), max(f.Limit, 0))]
	for i, e := range found {
		found[i] = e.Clone()
	}
	return found, nil
}

func (id ID) compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Provider, other.Provider), cmp.Compare(id.Account, other.Account), cmp.Compare(id.Key, other.Key))
}

// Prune removes up to limit settled entries that are older than before.
func (m *Memory) Prune(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	known := before // keys that the provider may still know
	if now := time.Now(); known.After(now) {
		known = now
	}
	for id, e := range m.entries {
		if removed >= limit {
			break
		}
		if e.Settled && e.Updated.Before(before) && e.Retain.Before(known) {
			delete(m.entries, id)
			removed++
		}
	}
	return removed, nil
}

// Close forgets everything.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.entries, m.unsettled = nil, nil
	return nil
}

var (
	_ Store  = (*Memory)(nil)
	_ Lister = (*Memory)(nil)
)

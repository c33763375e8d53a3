package sqlite

import (
	"context"
	"time"

	"github.com/idempact/idempact/journal/internal/sqlstore"
)

// gate lets one writer of this process through at a time: SQLite has one right to
// write, and waits for it by asking again and again.
type gate struct {
	writer chan struct{}
	intact func() error // whether the file is still there; may be nil
}

func (g *gate) around(ctx context.Context, write bool, f func() error) error {
	if write {
		select {
		case g.writer <- struct{}{}:
			defer func() { <-g.writer }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := f(); err != nil || g.intact == nil {
		return err
	}
	return g.intact()
}

var dialect = sqlstore.Dialect{
	Entries:    "idempact_entries",
	Migrations: "idempact_migrations",
	Exists:     "SELECT count(*) FROM sqlite_schema WHERE name = ?1",
	Parameter:  "?",
	Time:       func(t time.Time) any { return t.UnixMicro() },
	ScanTime:   func(t *time.Time) any { return (*microseconds)(t) },
	Explain:    explain,
}

// microseconds scans a time.
type microseconds time.Time

// Scan sets m to the time that is src microseconds after the start of 1970.
func (m *microseconds) Scan(src any) error {
	n, ok := src.(int64)
	if !ok {
		return errNoTime
	}
	*m = microseconds(time.UnixMicro(n).UTC())
	return nil
}

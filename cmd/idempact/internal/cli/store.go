package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/postgres"
	"github.com/idempact/idempact/journal/sqlite"
)

// lister is a journal that can be shown: all of this module's can.
type lister interface {
	journal.Store
	journal.Lister
}

// openJournal opens the journal at a path or a URL. A file that is not there is an
// error, unless it is to be made.
func openJournal(ctx context.Context, db string, create bool) (lister, error) {
	switch {
	case db == "":
		return nil, errors.New("--db is a file, or a URL such as postgres://user@host/database")
	case strings.HasPrefix(db, "postgres://") || strings.HasPrefix(db, "postgresql://"):
		s, err := postgres.Open(ctx, db, &postgres.Options{MustExist: !create})
		if err != nil {
			return nil, explainOpen(err)
		}
		return s, nil
	case strings.Contains(db, "://"):
		return nil, errors.New("--db knows files and postgres:// URLs alone")
	}
	info, err := os.Stat(db)
	switch {
	case err == nil && info.IsDir():
		return nil, errors.New("--db is a folder, and a journal is a file")
	case !errors.Is(err, fs.ErrNotExist):
	case strings.Contains(db, "@") || strings.Contains(db, "password="): // not shown: it has a password
		return nil, errors.New("--db is no file that exists; a database is given as postgres://user@host/database")
	case !create:
		return nil, fmt.Errorf("there is no journal %s", db)
	}
	s, err := sqlite.Open(ctx, db, &sqlite.Options{MustExist: !create})
	if err != nil {
		return nil, explainOpen(err)
	}
	return s, nil
}

// explainOpen says what to do about a journal that does not open. The text of a
// database's error may hold the URL, with its password.
func explainOpen(err error) error {
	if errors.Is(err, journal.ErrSchema) {
		return hinted(err, "nothing was changed")
	}
	return err
}

package sqlite

import (
	"errors"
	"fmt"
	"os"
)

// What may be wrong with the file. The driver's own error is behind each.
var (
	// ErrCorrupt: the file is damaged, or is no SQLite database. Nothing that it
	// says of money is to be believed: restore it, and ask the providers.
	ErrCorrupt = errors.New("sqlite: the file is damaged or is no database")
	// ErrReadOnly: the file cannot be written.
	ErrReadOnly = errors.New("sqlite: the file cannot be written")
	// ErrFull: the disk is full. Nothing was written.
	ErrFull = errors.New("sqlite: the disk is full")
	// ErrBusy: another had the right to write for longer than Options.BusyTimeout.
	// Nothing was written.
	ErrBusy = errors.New("sqlite: another process is writing for too long")
	// ErrGone: the file was removed or replaced while it was open. What was written
	// since then is lost.
	ErrGone = errors.New("sqlite: the file was removed or replaced")
)

var errNoTime = errors.New("sqlite: a time that is no number")

// explain puts a name on an error of the driver, which tells it by its primary
// result code.
func explain(err error) error {
	var coded interface {
		error
		Code() int
	}
	if !errors.As(err, &coded) {
		return err
	}
	var name error
	switch coded.Code() & 0xff {
	case 5, 6: // SQLITE_BUSY, SQLITE_LOCKED
		name = ErrBusy
	case 8: // SQLITE_READONLY
		name = ErrReadOnly
	case 11, 26: // SQLITE_CORRUPT, SQLITE_NOTADB
		name = ErrCorrupt
	case 13: // SQLITE_FULL
		name = ErrFull
	default:
		return err
	}
	return fmt.Errorf("%w: %w", name, err)
}

// watch makes every method look whether the file is still the one that was opened:
// SQLite would go on writing into one that was removed.
func (s *Store) watch(path string) error {
	opened, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("sqlite: open: %w", err)
	}
	s.gate.intact = func() error {
		if now, err := os.Stat(path); err != nil || !os.SameFile(opened, now) {
			return errors.Join(ErrGone, err)
		}
		return nil
	}
	return nil
}

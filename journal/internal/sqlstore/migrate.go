package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/idempact/idempact/journal"
)

// Migrate brings the schema to the newest version that files knows, inside a
// transaction of its caller that nobody else can be in at the same time. The files
// are numbered from 0001.
func (d Dialect) Migrate(ctx context.Context, tx Conn, files fs.FS) error {
	current, err := d.Current(ctx, tx, files)
	if err != nil || current {
		return err
	}
	version, err := d.version(ctx, tx)
	if err != nil {
		return err
	}
	if version == 0 {
		if there, err := d.exists(ctx, tx, d.Entries); err != nil || there {
			return errors.Join(err, fmt.Errorf("%w: there is a table %s, and no table %s", journal.ErrSchema, d.Entries, d.Migrations))
		}
		create := "CREATE TABLE IF NOT EXISTS " + d.Migrations + " (version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, applied TEXT NOT NULL)"
		if _, err := tx.Exec(ctx, create); err != nil {
			return fmt.Errorf("journal: migrations: %w", err)
		}
	}
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return err
	}
	for _, name := range names[version:] {
		version++
		if err := d.apply(ctx, tx, files, name, version); err != nil {
			return fmt.Errorf("journal: migration %s: %w", name, err)
		}
	}
	return nil
}

// MustExist returns journal.ErrSchema where there is no journal yet.
func (d Dialect) MustExist(ctx context.Context, c Conn) error {
	there, err := d.exists(ctx, c, d.Migrations)
	if err == nil && !there {
		err = fmt.Errorf("%w: there is no journal in it", journal.ErrSchema)
	}
	return err
}

func (d Dialect) apply(ctx context.Context, tx Conn, files fs.FS, name string, version int) error {
	if number, _, _ := strings.Cut(name, "_"); number != fmt.Sprintf("%04d", version) {
		return fmt.Errorf("it should be number %d", version)
	}
	statements, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, string(statements)); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, fmt.Sprintf("INSERT INTO %s (version, name, applied) VALUES (%d, '%s', '%s')",
		d.Migrations, version, name, time.Now().UTC().Format(time.RFC3339)))
	return err
}

// Current reports whether the schema is the newest one that files knows. A newer
// one is journal.ErrSchema.
func (d Dialect) Current(ctx context.Context, c Conn, files fs.FS) (bool, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return false, err
	}
	version, err := d.version(ctx, c)
	if err != nil {
		return false, err
	}
	if version > len(names) {
		return false, fmt.Errorf("%w: it is at version %d, and this program knows versions up to %d: use a newer program",
			journal.ErrSchema, version, len(names))
	}
	return version == len(names), nil
}

// version is the newest migration that was applied, 0 if none was.
func (d Dialect) version(ctx context.Context, c Conn) (version int, err error) {
	there, err := d.exists(ctx, c, d.Migrations)
	if err != nil || !there {
		return 0, err
	}
	err = c.Query(ctx, "SELECT coalesce(max(version), 0) FROM "+d.Migrations, func(scan func(...any) error) error {
		return scan(&version)
	})
	return version, err
}

// exists reports whether there is a table of the given name.
func (d Dialect) exists(ctx context.Context, c Conn, table string) (there bool, err error) {
	var n int
	err = c.Query(ctx, d.Exists, func(scan func(...any) error) error { return scan(&n) }, table)
	if err != nil {
		return false, fmt.Errorf("journal: schema: %w", err)
	}
	return n > 0, nil
}

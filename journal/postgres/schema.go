package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"github.com/idempact/idempact/journal/internal/sqlstore"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// transaction is one of pgx or of database/sql.
type transaction struct {
	sqlstore.Conn
	commit, rollback func() error
}

// open checks the database, brings the schema up to date, and returns the store.
func open(ctx context.Context, c sqlstore.Conn, o *Options, begin func() (transaction, error)) (*Store, error) {
	schema := o.schema()
	d := dialectOf(schema)
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	if err := check(ctx, c); err != nil {
		return nil, fmt.Errorf("postgres: open: %w", err)
	}
	if o != nil && o.MustExist {
		if err := d.MustExist(ctx, c); err != nil {
			return nil, fmt.Errorf("postgres: open: %w", err)
		}
	}
	// Most of the time nothing is to be done: then no right to make tables is needed.
	current, err := d.Current(ctx, c, files)
	if err == nil && !current {
		err = migrate(ctx, d, schema, files, begin)
	}
	if err != nil {
		return nil, fmt.Errorf("postgres: open: %w", err)
	}
	return &Store{Store: sqlstore.New(c, d)}, nil
}

// check refuses settings under which a commit may be lost, or a key changed.
func check(ctx context.Context, c sqlstore.Conn) error {
	var commit, encoding string
	err := c.Query(ctx, "SELECT current_setting('synchronous_commit'), current_setting('server_encoding')",
		func(scan func(...any) error) error { return scan(&commit, &encoding) })
	switch {
	case err != nil:
		return err
	case commit == "off":
		return fmt.Errorf("%w: with synchronous_commit=off a commit may be lost", errSettings)
	case encoding != "UTF8":
		return fmt.Errorf("%w: its encoding is %s, and must be UTF8", errSettings, encoding)
	}
	return nil
}

// migrate brings the schema up to date in a transaction, under a lock that every
// process takes for it.
func migrate(ctx context.Context, d sqlstore.Dialect, schema string, files fs.FS, begin func() (transaction, error)) (err error) {
	tx, err := begin()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.rollback())
		}
	}()
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", "idempact journal "+schema); err != nil {
		return err
	}
	if err := makeSchema(ctx, tx, schema); err != nil {
		return err
	}
	// For this transaction alone, so that the files need no name of the schema.
	if _, err := tx.Exec(ctx, "SET LOCAL search_path TO "+pgx.Identifier{schema}.Sanitize()); err != nil {
		return err
	}
	if err := d.Migrate(ctx, tx, files); err != nil {
		return err
	}
	return tx.commit()
}

// makeSchema looks first: IF NOT EXISTS asks for the right to make one in any case.
func makeSchema(ctx context.Context, tx sqlstore.Conn, schema string) error {
	var n int
	err := tx.Query(ctx, "SELECT count(*) FROM pg_namespace WHERE nspname = $1",
		func(scan func(...any) error) error { return scan(&n) }, schema)
	if err != nil || n > 0 {
		return err
	}
	_, err = tx.Exec(ctx, "CREATE SCHEMA "+pgx.Identifier{schema}.Sanitize())
	return err
}

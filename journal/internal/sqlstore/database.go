package sqlstore

import (
	"context"
	"database/sql"
)

// Database is a *sql.DB, *sql.Conn or *sql.Tx.
type Database interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// OnDatabase returns db as a Conn.
func OnDatabase(db Database) Conn { return database{db} }

type database struct{ Database }

func (d database) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := d.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (d database) Query(ctx context.Context, query string, row func(func(...any) error) error, args ...any) error {
	rows, err := d.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err says what went wrong
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

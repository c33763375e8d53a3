package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/postgres"
	"github.com/idempact/idempact/providers/stripe"
	"github.com/idempact/idempact/retry"
)

// settle takes in a line of a statement: what it proves of the payment, and the
// invoice that is paid by it, are stored together or not at all.
func settle(ctx context.Context, payments *retry.Client, store *postgres.Store, pool *pgxpool.Pool, invoice, payment string) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		paid := contract.Outcome{Status: contract.Succeeded, Resource: payment}
		v, err := payments.Settle(ctx, store.Tx(tx), contract.KeyFor("pay invoice", invoice), paid, "statement of 29 November")
		if err != nil || v.Status != contract.Succeeded {
			return err // a journal.ErrConflict: all of it again
		}
		_, err = tx.Exec(ctx, "UPDATE invoices SET paid = true WHERE id = $1", invoice)
		return err
	})
}

// settleSQL is settle on database/sql.
func settleSQL(ctx context.Context, payments *retry.Client, store *postgres.Store, db *sql.DB, invoice, payment string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	paid := contract.Outcome{Status: contract.Succeeded, Resource: payment}
	v, err := payments.Settle(ctx, store.SQLTx(tx), contract.KeyFor("pay invoice", invoice), paid, "statement of 29 November")
	if err != nil {
		return err // a journal.ErrConflict: all of it again
	}
	if v.Status == contract.Succeeded { // and not, say, an alarm of two payments
		if _, err := tx.ExecContext(ctx, "UPDATE invoices SET paid = true WHERE id = $1", invoice); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Evidence from outside, in the transaction of pgx that books it.
func ExampleStore_Tx() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	store, err := postgres.New(ctx, pool, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	payments, err := retry.NewClient(stripe.New(nil), &retry.Options{Journal: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(settle(ctx, payments, store, pool, "INV-7", "pi_1"))
}

// Evidence from outside, in the transaction of database/sql that books it.
func ExampleStore_SQLTx() {
	ctx := context.Background()
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	store, err := postgres.OpenDB(ctx, db, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	payments, err := retry.NewClient(stripe.New(nil), &retry.Options{Journal: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(settleSQL(ctx, payments, store, db, "INV-7", "pi_1"))
}

// The two examples, with a server: the evidence and the invoice are stored together,
// or, where the booking fails, neither is.
func TestSettle(t *testing.T) {
	ctx := t.Context()
	p := newPlace(t)
	store := p.open(t)
	c, err := pgxpool.ParseConfig(p.url)
	require.NoError(t, err)
	c.ConnConfig.RuntimeParams["search_path"] = p.quoted()
	pool, err := pgxpool.NewWithConfig(ctx, c)
	require.NoError(t, err)
	defer pool.Close()
	db := stdlib.OpenDB(*c.ConnConfig)
	defer func() { assert.NoError(t, db.Close()) }()
	server := fakes.NewStripe(nil)
	payments, err := retry.NewClient(stripe.New(nil), &retry.Options{Transport: server.Transport(), Journal: store, MaxAttempts: 1})
	require.NoError(t, err)
	defer payments.CloseIdleConnections()

	for invoice, settle := range map[string]func(invoice, payment string) error{
		"pgx":          func(i, payment string) error { return settle(ctx, payments, store, pool, i, payment) },
		"database/sql": func(i, payment string) error { return settleSQL(ctx, payments, store, db, i, payment) },
	} {
		t.Run(invoice, func(t *testing.T) {
			key := contract.KeyFor("pay invoice", invoice)
			lost := []fakes.Fault{fakes.LoseReply, fakes.LoseReply, fakes.LoseReply}
			server.Script(lost[0])
			server.ScriptWhen(func(r *http.Request) bool { return r.Method == http.MethodGet }, lost...)
			req, err := http.NewRequestWithContext(contract.WithKey(ctx, key), http.MethodPost, "https://api.stripe.com/v1/payment_intents",
				strings.NewReader("amount=2500&currency=usd&confirm=true&payment_method=pm_card_visa"))
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set("Authorization", "Bearer sk_test_fake")
			_, err = payments.Do(req)
			require.ErrorIs(t, err, contract.Unknown)
			effects := server.Effects()
			payment := effects[len(effects)-1].Resource

			stored := func() journal.Entry {
				e, err := store.Get(ctx, journal.ID{Provider: "stripe", Key: key})
				require.NoError(t, err)
				return e
			}
			require.Error(t, settle(invoice, payment), "there is no table of invoices")
			assert.Equal(t, contract.Unknown, stored().Verdict.Status, "and nothing was learned")
			p.exec(t, "CREATE TABLE "+p.quoted()+".invoices (id text, paid boolean); INSERT INTO "+p.quoted()+".invoices VALUES ('"+invoice+"', false)")
			defer p.exec(t, "DROP TABLE "+p.quoted()+".invoices")
			require.NoError(t, settle(invoice, payment))
			e := stored()
			assert.Equal(t, contract.Succeeded, e.Verdict.Status)
			assert.Equal(t, contract.FromOutside, e.Verdict.Source)
			assert.True(t, e.Settled)
			var paid bool
			require.NoError(t, pool.QueryRow(ctx, "SELECT paid FROM invoices WHERE id = $1", invoice).Scan(&paid))
			assert.True(t, paid)
		})
	}
}

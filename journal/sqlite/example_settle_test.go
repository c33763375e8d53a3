package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/sqlite"
	"github.com/idempact/idempact/providers/stripe"
	"github.com/idempact/idempact/retry"
)

// settle takes in a line of a statement: what it proves of the payment, and the
// invoice that is paid by it, are stored together or not at all.
func settle(ctx context.Context, payments *retry.Client, store *sqlite.Store, invoice, payment string) error {
	tx, err := store.DB().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	paid := contract.Outcome{Status: contract.Succeeded, Resource: payment}
	v, err := payments.Settle(ctx, store.Tx(tx), contract.KeyFor("pay invoice", invoice), paid, "statement of 29 November")
	if err != nil {
		return err // a journal.ErrConflict: all of it again
	}
	if v.Status == contract.Succeeded { // and not, say, an alarm of two payments
		if _, err := tx.ExecContext(ctx, "UPDATE invoices SET paid = 1 WHERE id = ?", invoice); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Evidence from outside, in the transaction that books it. All answers are lost, and
// so are those of the look-ups; a statement tells of the payment.
func Example_settle() {
	ctx := context.Background()
	s, err := newInvoices(ctx, func(s *sqlite.Store) journal.Store { return s })
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.close()
	s.provider.Script(fakes.LoseReply, fakes.LoseReply)
	s.provider.ScriptWhen(func(r *http.Request) bool { return r.Method == http.MethodGet },
		fakes.LoseReply, fakes.LoseReply, fakes.LoseReply, fakes.LoseReply, fakes.LoseReply, fakes.LoseReply)

	result, _ := s.pay(ctx, "INV-7")
	fmt.Printf("%v, paid %t\n", result.Status, paid(s.store.DB(), "INV-7"))
	err = settle(ctx, s.payments, s.store, "INV-7", s.provider.Effects()[0].Resource)
	fmt.Printf("paid %t, %v\n", paid(s.store.DB(), "INV-7"), err)
	result, err = s.pay(ctx, "INV-7")
	fmt.Printf("%v, recorded %t, payments %d, %v\n", result.Status, result.Recorded, len(s.provider.Effects()), err)
	// Output:
	// unknown, paid false
	// paid true, <nil>
	// succeeded, recorded true, payments 1, <nil>
}

// books is the journal of a program with invoices. The transaction that stores the
// success of a payment marks its invoice as paid, whoever finds it out: a call, a
// sweep, or Learn.
type books struct{ *sqlite.Store }

// Update is called again where the answer to a commit was lost, so that what it does
// beside the entry must come to the same the second time.
func (b books) Update(ctx context.Context, e journal.Entry) (journal.Entry, error) {
	tx, err := b.DB().BeginTx(ctx, nil)
	if err != nil {
		return journal.Entry{}, err
	}
	defer func() { _ = tx.Rollback() }()
	stored, err := b.Tx(tx).Update(ctx, e) // a journal.ErrConflict goes to the loop as it is
	if err == nil && stored.Verdict.Status == contract.Succeeded {
		_, err = tx.ExecContext(ctx, "UPDATE invoices SET paid = 1 WHERE payment_key = ?", e.Key)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return journal.Entry{}, err
	}
	return stored, nil
}

// The verdict of a call, in the transaction that books it. The first booking fails, so
// that the verdict is not stored either, and nobody is told of a success.
func Example_settledTogether() {
	ctx := context.Background()
	s, err := newInvoices(ctx, func(s *sqlite.Store) journal.Store { return books{s} })
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.close()

	_, err = s.store.DB().ExecContext(ctx, "CREATE TRIGGER closed BEFORE UPDATE ON invoices BEGIN SELECT RAISE(ABORT, 'the books are closed'); END")
	if err != nil {
		fmt.Println(err)
		return
	}
	result, _ := s.pay(ctx, "INV-7")
	fmt.Printf("%v, payments %d, paid %t\n", result.Status, len(s.provider.Effects()), paid(s.store.DB(), "INV-7"))
	_, err = s.store.DB().ExecContext(ctx, "DROP TRIGGER closed")
	if err != nil {
		fmt.Println(err)
		return
	}
	s.leaseEnds(ctx, "INV-7")
	result, err = s.pay(ctx, "INV-7")
	fmt.Printf("%v, payments %d, paid %t, %v\n", result.Status, len(s.provider.Effects()), paid(s.store.DB(), "INV-7"), err)
	// Output:
	// unknown, payments 1, paid false
	// succeeded, payments 1, paid true, <nil>
}

// invoices is a program with an unpaid invoice, and a provider that it pays at.
type invoices struct {
	dir      string
	store    *sqlite.Store
	provider *fakes.Server
	payments *retry.Client
}

func newInvoices(ctx context.Context, journalOf func(*sqlite.Store) journal.Store) (s invoices, err error) {
	if s.dir, err = os.MkdirTemp("", "invoices-"); err != nil {
		return s, err
	}
	if s.store, err = sqlite.Open(ctx, filepath.Join(s.dir, "shop.db"), nil); err != nil {
		return s, err
	}
	_, err = s.store.DB().ExecContext(ctx, "CREATE TABLE invoices (id TEXT PRIMARY KEY, payment_key TEXT, paid INTEGER); INSERT INTO invoices VALUES ('INV-7', ?, 0)",
		contract.KeyFor("pay invoice", "INV-7"))
	if err != nil {
		return s, err
	}
	s.provider = fakes.NewStripe(nil)
	s.payments, err = retry.NewClient(stripe.New(nil), &retry.Options{
		Transport: s.provider.Transport(), Journal: journalOf(s.store), MaxAttempts: 2, MinWait: 1, MaxWait: 1,
		Authorize: func(r *http.Request) error {
			r.Header.Set("Authorization", "Bearer sk_test_fake")
			return nil
		},
	})
	return s, err
}

func (s invoices) pay(ctx context.Context, invoice string) (*retry.Result, error) {
	ctx = contract.WithKey(ctx, contract.KeyFor("pay invoice", invoice))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.stripe.com/v1/payment_intents",
		strings.NewReader("amount=2500&currency=usd&confirm=true&payment_method=pm_card_visa&metadata[invoice]="+invoice))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return s.payments.Do(req)
}

// leaseEnds does what two minutes do.
func (s invoices) leaseEnds(ctx context.Context, invoice string) {
	e, err := s.store.Get(ctx, journal.ID{Provider: "stripe", Key: contract.KeyFor("pay invoice", invoice)})
	if err == nil {
		e.Lease.Until = e.Updated
		_, err = s.store.Update(ctx, e)
	}
	if err != nil {
		fmt.Println(err)
	}
}

func (s invoices) close() {
	s.payments.CloseIdleConnections()
	_ = s.store.Close()
	_ = os.RemoveAll(s.dir)
}

func paid(db *sql.DB, invoice string) (is bool) {
	_ = db.QueryRow("SELECT paid FROM invoices WHERE id = ?", invoice).Scan(&is)
	return is
}

package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/sqlite"
	"github.com/idempact/idempact/providers/stripe"
	"github.com/idempact/idempact/retry"
)

// topUp is a message of a queue that delivers each at least once.
type topUp struct {
	ID       string
	Customer string
	Amount   int64
}

// worker charges the customer of a message and raises the customer's credit.
type worker struct {
	payments *retry.Client
	store    *sqlite.Store
}

// handle returns nil when the message may be acknowledged. After an error the queue
// delivers it again, not before retry.OutcomeOf(err).RetryAfter if it can wait.
func (w worker) handle(ctx context.Context, m topUp) error {
	// First the provider, outside of any transaction. The journal has the payment
	// from before the first byte is sent, so that any delivery may call this.
	result, err := w.charge(ctx, m)
	switch {
	case err == nil:
		return w.book(ctx, m, m.Amount, result.Resource)
	case errors.Is(err, contract.Declined):
		return w.book(ctx, m, 0, "declined")
	default:
		return err // not known yet, or not done: the same message, and key, again
	}
}

func (w worker) charge(ctx context.Context, m topUp) (*retry.Result, error) {
	form := url.Values{
		"amount": {strconv.FormatInt(m.Amount, 10)}, "currency": {"usd"}, "confirm": {"true"},
		"payment_method": {"pm_card_visa"}, "metadata[message]": {m.ID},
	}
	ctx = contract.WithKey(ctx, contract.KeyFor("top up", m.ID))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.stripe.com/v1/payment_intents", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return w.payments.Do(req)
}

// book does the worker's own write once, however often the message comes: no key of
// a provider protects that. The record of the message and the write commit together.
func (w worker) book(ctx context.Context, m topUp, credit int64, payment string) error {
	tx, err := w.store.DB().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	id := journal.ID{Provider: "top-up queue", Key: m.ID}
	_, err = journal.Once(ctx, w.store.Tx(tx), id, m.Customer, func(ctx context.Context) ([]byte, error) {
		_, err := tx.ExecContext(ctx, "UPDATE customers SET credit = credit + ? WHERE id = ?", credit, m.Customer)
		return []byte(payment), err
	})
	if err != nil {
		return err
	}
	return tx.Commit()
}

// A worker on an at-least-once queue. The first delivery of a message ends between the
// payment and the worker's own write; the second goes on from there; the third finds
// all done.
func Example_worker() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "worker-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "shop.db"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	provider := fakes.NewStripe(nil)
	provider.Script(fakes.LoseReply) // the money moves, and the answer is lost
	payments, err := retry.NewClient(stripe.New(nil), &retry.Options{
		Transport: provider.Transport(), Journal: store, MinWait: time.Millisecond,
		ReturnInProgress: true, // another worker has it: the queue waits better than we do
		Authorize: func(r *http.Request) error {
			r.Header.Set("Authorization", "Bearer sk_test_fake")
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer payments.CloseIdleConnections()

	w, m := worker{payments, store}, topUp{ID: "message-1", Customer: "ann", Amount: 2500}
	for delivery := 1; delivery <= 3; delivery++ {
		if delivery == 2 { // at the first one, the worker's own write fails
			_, err := store.DB().ExecContext(ctx, "CREATE TABLE customers (id TEXT PRIMARY KEY, credit INTEGER); INSERT INTO customers VALUES ('ann', 0)")
			if err != nil {
				fmt.Println(err)
				return
			}
		}
		err := w.handle(ctx, m)
		fmt.Printf("delivery %d: acknowledged %t, payments %d, credit %d\n", delivery, err == nil, len(provider.Effects()), credit(store.DB(), "ann"))
	}
	fmt.Println("sends:", len(provider.Requests()))
	// Output:
	// delivery 1: acknowledged false, payments 1, credit 0
	// delivery 2: acknowledged true, payments 1, credit 2500
	// delivery 3: acknowledged true, payments 1, credit 2500
	// sends: 2
}

func credit(db *sql.DB, customer string) (amount int64) {
	_ = db.QueryRow("SELECT credit FROM customers WHERE id = ?", customer).Scan(&amount)
	return amount
}

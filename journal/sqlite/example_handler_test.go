package sqlite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/sqlite"
	"github.com/idempact/idempact/providers/stripe"
	"github.com/idempact/idempact/retry"
)

// till answers POST /invoices/{invoice}/payment, as often as its clients ask.
type till struct {
	payments *retry.Client
	store    *sqlite.Store
}

// ServeHTTP pays an invoice and says only what is known.
func (t till) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A client that hangs up must not stop a payment half-way.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 30*time.Second)
	defer cancel()
	invoice := r.PathValue("invoice")
	var amount int64
	if err := t.store.DB().QueryRowContext(ctx, "SELECT amount FROM invoices WHERE id = ?", invoice).Scan(&amount); err != nil {
		http.Error(w, "no such invoice", http.StatusNotFound)
		return
	}
	result, err := t.charge(ctx, invoice, amount)
	var receipt []byte
	if err == nil {
		receipt, err = t.book(ctx, invoice, result.Resource)
	}
	switch {
	case err == nil:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(receipt)
	case errors.Is(err, contract.Declined):
		http.Error(w, "the card was declined", http.StatusPaymentRequired)
	case errors.Is(err, contract.Rejected), errors.Is(err, contract.KeyReused):
		http.Error(w, "this invoice cannot be paid so", http.StatusInternalServerError)
	default:
		// Not known, or not done: in any case the same request may come again, and
		// never another one in its place.
		wait := max(retry.OutcomeOf(err).RetryAfter, time.Second)
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		http.Error(w, "not known yet, ask again", http.StatusServiceUnavailable)
	}
}

// charge pays at the provider, under the key of the business action: not one of the
// client's, which another client would not have.
func (t till) charge(ctx context.Context, invoice string, amount int64) (*retry.Result, error) {
	form := url.Values{
		"amount": {strconv.FormatInt(amount, 10)}, "currency": {"usd"}, "confirm": {"true"},
		"payment_method": {"pm_card_visa"}, "metadata[invoice]": {invoice},
	}
	ctx = contract.WithKey(ctx, contract.KeyFor("pay invoice", invoice))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.stripe.com/v1/payment_intents", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return t.payments.Do(req)
}

// book marks the invoice paid and records the receipt, both or neither. The payment
// is in the journal by then: a process that dies here books when it is asked again.
func (t till) book(ctx context.Context, invoice, payment string) ([]byte, error) {
	tx, err := t.store.DB().BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	id := journal.ID{Provider: "receipts", Key: invoice}
	receipt, err := journal.Once(ctx, t.store.Tx(tx), id, payment, func(ctx context.Context) ([]byte, error) {
		_, err := tx.ExecContext(ctx, "UPDATE invoices SET paid = paid + amount WHERE id = ?", invoice)
		if err != nil {
			return nil, err
		}
		return json.Marshal(map[string]string{"invoice": invoice, "payment": payment, "booked": time.Now().Format(time.RFC3339Nano)})
	})
	if err != nil {
		return nil, err
	}
	return receipt, tx.Commit()
}

// An HTTP handler behind a client that retries: the client's network loses the first
// answer, so that it asks again, and gets the receipt of the one payment.
func Example_handler() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "handler-")
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
	_, err = store.DB().ExecContext(ctx, "CREATE TABLE invoices (id TEXT PRIMARY KEY, amount INTEGER, paid INTEGER); INSERT INTO invoices VALUES ('INV-7', 2500, 0)")
	if err != nil {
		fmt.Println(err)
		return
	}

	provider := fakes.NewStripe(nil)
	payments, err := retry.NewClient(stripe.New(nil), &retry.Options{
		Transport: provider.Transport(), Journal: store,
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

	mux := http.NewServeMux()
	mux.Handle("POST /invoices/{invoice}/payment", till{payments, store})
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			mux.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler) // the answer is lost
		}
		mux.ServeHTTP(w, r)
	}))
	defer server.Close()

	receipts := map[string]bool{}
	for try := 1; try <= 3; try++ {
		resp, err := server.Client().Post(server.URL+"/invoices/INV-7/payment", "application/json", nil)
		if err != nil {
			fmt.Printf("try %d: no answer\n", try)
			continue
		}
		receipt, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		receipts[string(receipt)] = true
		fmt.Printf("try %d: %s, read whole %t\n", try, resp.Status, err == nil)
	}
	var paid int64
	err = store.DB().QueryRowContext(ctx, "SELECT paid FROM invoices WHERE id = 'INV-7'").Scan(&paid)
	fmt.Println("receipts:", len(receipts), "payments:", len(provider.Effects()), "booked:", paid, err)
	// Output:
	// try 1: no answer
	// try 2: 200 OK, read whole true
	// try 3: 200 OK, read whole true
	// receipts: 1 payments: 1 booked: 2500 <nil>
}

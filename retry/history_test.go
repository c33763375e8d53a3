package retry_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/providers/stripe"
	"github.com/idempact/idempact/retry"
)

func client(t *testing.T, fake *fakes.Server, store journal.Store, attempts int) *retry.Client {
	t.Helper()
	c, err := retry.NewClient(stripe.New(nil), &retry.Options{Transport: fake.Transport(), Journal: store, MaxAttempts: attempts})
	require.NoError(t, err)
	return c
}

func payment(t *testing.T, key string) *http.Request {
	t.Helper()
	body := strings.NewReader("amount=2500&currency=usd&confirm=true&payment_method=pm_card_visa")
	r, err := http.NewRequestWithContext(contract.WithKey(t.Context(), key), http.MethodPost, "https://api.stripe.com/v1/payment_intents", body)
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "Bearer sk_test_1")
	return r
}

// The entry tells what happened, attempt by attempt, whoever did it; evidence too.
func TestHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := fakes.NewStripe(nil)
		defer fake.Close()
		store := journal.NewMemory()
		first := client(t, fake, store, 2)
		unavailable := slices.Repeat([]fakes.Fault{fakes.Unavailable(0)}, 20)
		fake.Script(fakes.LoseReply, fakes.HTMLPage(502))
		fake.ScriptWhen(func(r *http.Request) bool { return r.Method == http.MethodGet }, unavailable...)
		_, err := first.Do(payment(t, "k-1"))
		require.ErrorIs(t, err, contract.Unknown)
		_, err = first.Learn(t.Context(), "k-1", contract.Outcome{Status: contract.InProgress}, "a person")
		require.NoError(t, err)
		_, err = client(t, fake, store, 5).Do(payment(t, "k-1"))
		require.NoError(t, err)

		e, err := store.Get(t.Context(), journal.ID{Provider: "stripe", Key: "k-1"})
		require.NoError(t, err)
		var kinds []string
		for i, v := range e.History {
			kinds = append(kinds, fmt.Sprint(v.Kind, " ", v.StatusCode, " ", v.Status))
			assert.True(t, i == 0 || !v.At.Before(e.History[i-1].At), "the oldest first")
		}
		assert.Equal(t, []string{
			"send 0 unknown", "send 502 unknown", "look-up 503 unknown", "evidence 0 in progress", "send 200 succeeded",
		}, slices.Compact(kinds))
		assert.NotContains(t, fmt.Sprint(e.History), "sk_test")
	})
}

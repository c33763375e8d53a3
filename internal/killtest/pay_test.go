package killtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/providers/stripe"
	"github.com/idempact/idempact/providers/zepto"
	"github.com/idempact/idempact/retry"
)

// cashier pays orders: every fourth at Stripe, the others at Zepto. A key that Stripe
// bound to an error is looked up in all of its events, and that is what takes time.
type cashier struct {
	urls    map[string]string // of the providers, by name
	clients map[string]*retry.Client
	key     func(order int) string
}

func providerOf(order int) string {
	if order%4 == 0 {
		return "stripe"
	}
	return "zepto"
}

func orderName(order int) string { return fmt.Sprintf("order-%d", order) }

func keyOf(order int) string { return contract.KeyFor("pay order", orderName(order)) }

func newCashier(store journal.Store, urls map[string]string) (*cashier, error) {
	c := &cashier{urls: urls, clients: map[string]*retry.Client{}, key: keyOf}
	for _, a := range []contract.Adapter{stripe.New(nil), zepto.New(nil)} {
		client, err := retry.NewClient(a, &retry.Options{
			Journal: store, ReturnInProgress: true,
			MinWait: time.Millisecond, MaxWait: 20 * time.Millisecond, MaxAttempts: 8,
			MaxElapsed: 5 * time.Second, AttemptTimeout: 10 * time.Second,
			Authorize: func(r *http.Request) error {
				r.Header.Set("Authorization", "Bearer test")
				return nil
			},
		})
		if err != nil {
			return nil, err
		}
		c.clients[a.Name()] = client
	}
	return c, nil
}

// pay pays an order, for the first time or again.
func (c *cashier) pay(ctx context.Context, order int) (*retry.Result, error) {
	provider := providerOf(order)
	path, kind, body := "/v1/payment_intents", "application/x-www-form-urlencoded", url.Values{
		"amount": {fmt.Sprint(100 + order)}, "currency": {"usd"}, "confirm": {"true"},
		"payment_method": {"pm_card_visa"}, "metadata[order]": {orderName(order)},
	}.Encode()
	if provider == "zepto" {
		text, err := json.Marshal(map[string]any{
			"description": orderName(order), "matures_at": "2030-01-01T00:00:00Z",
			"your_bank_account_id": "11111111-1111-4111-8111-111111111111",
			"channels":             []string{"new_payments_platform"},
			"payouts": []map[string]any{{
				"amount": 100 + order, "description": orderName(order),
				"recipient_contact_id": "22222222-2222-4222-8222-222222222222",
			}},
			"metadata": map[string]string{"order": orderName(order)},
		})
		if err != nil {
			return nil, err
		}
		path, kind, body = "/payments", "application/json", string(text)
	}
	ctx = contract.WithKey(contract.WithAction(ctx, "pay "+orderName(order)), c.key(order))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.urls[provider]+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", kind)
	return c.clients[provider].Do(req)
}

package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/providers/stripe"
	"github.com/idempact/idempact/providers/zepto"
)

// orderHeader ties a request to its payment for the script of faults. No
// provider reads it.
const orderHeader = "X-Demo-Order"

const credentials = "Bearer demo"

// shop is one provider and how a payment is asked of it.
type shop struct {
	name    string
	fake    func(*fakes.Options) *fakes.Server
	adapter contract.Adapter
	request func(ctx context.Context, base string, p payment) (*http.Request, error)
	kind    string // of the ledger's effects that are payments
}

func shops() []shop {
	return []shop{
		{name: "stripe", fake: fakes.NewStripe, adapter: stripe.New(nil), request: stripePayment, kind: "payment_intent"},
		{name: "zepto", fake: fakes.NewZepto, adapter: zepto.New(nil), request: zeptoPayment, kind: "payment"},
	}
}

func stripePayment(ctx context.Context, base string, p payment) (*http.Request, error) {
	form := url.Values{
		"amount":          {strconv.FormatInt(p.amount, 10)},
		"currency":        {"usd"},
		"confirm":         {"true"},
		"payment_method":  {"pm_card_visa"},
		"metadata[order]": {p.order},
	}
	return newRequest(ctx, base+"/v1/payment_intents", "application/x-www-form-urlencoded", form.Encode(), p)
}

func zeptoPayment(ctx context.Context, base string, p payment) (*http.Request, error) {
	body, err := json.Marshal(map[string]any{
		"description":          p.order,
		"matures_at":           "2030-01-01T00:00:00Z",
		"your_bank_account_id": "11111111-1111-4111-8111-111111111111",
		"channels":             []string{"new_payments_platform"},
		"payouts": []map[string]any{{
			"amount":               p.amount,
			"description":          p.order,
			"recipient_contact_id": "22222222-2222-4222-8222-222222222222",
		}},
		"metadata": map[string]string{"order": p.order},
	})
	if err != nil {
		return nil, err
	}
	return newRequest(ctx, base+"/payments", "application/json", string(body), p)
}

func newRequest(ctx context.Context, target, contentType, body string, p payment) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("making a request: %w", err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Authorization", credentials)
	r.Header.Set(orderHeader, p.order)
	return r, nil
}

// count returns how many payments the ledger holds for each order.
func (s shop) count(ledger []fakes.Effect, payments []payment) []int {
	byOrder := map[string]int{}
	for _, e := range ledger {
		if e.Kind == s.kind && e.Action == "create" {
			byOrder[e.Metadata["order"]]++
		}
	}
	counts := make([]int, len(payments))
	for i, p := range payments {
		counts[i] = byOrder[p.order]
	}
	return counts
}

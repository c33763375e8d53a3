package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v85"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	provider "github.com/idempact/idempact/providers/stripe"
	"github.com/idempact/idempact/providers/zepto"
	"github.com/idempact/idempact/retry"
)

// job is a program that pays invoices, through Stripe's SDK and through net/http, and
// writes down what it was told. It may run again: the keys come from the invoices.
type job struct {
	stripe *stripe.Client
	zepto  *http.Client
	url    string
}

const invoices = 40

func (j job) run(ctx context.Context) (report map[string]contract.Status) {
	report = map[string]contract.Status{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range invoices {
		for provider, pay := range map[string]func(context.Context, string) error{"stripe": j.payStripe, "zepto": j.payZepto} {
			all.Go(func() {
				invoice := fmt.Sprintf("%s-%d", provider, i)
				status := contract.Succeeded
				if err := pay(ctx, invoice); err != nil {
					status = retry.OutcomeOf(err).Status
				}
				mu.Lock()
				defer mu.Unlock()
				report[invoice] = status
			})
		}
	}
	all.Wait()
	return report
}

func (j job) payStripe(ctx context.Context, invoice string) error {
	p := &stripe.PaymentIntentCreateParams{
		Amount: stripe.Int64(2500), Currency: stripe.String("usd"),
		PaymentMethod: stripe.String("pm_card_visa"), Confirm: stripe.Bool(true),
	}
	p.AddMetadata("invoice", invoice)
	p.SetIdempotencyKey(contract.KeyFor("pay invoice", invoice))
	_, err := j.stripe.V1PaymentIntents.Create(ctx, p)
	return err
}

func (j job) payZepto(ctx context.Context, invoice string) error {
	body := fmt.Sprintf(`{"description":"%[1]s","matures_at":"2030-01-01T00:00:00Z",
		"your_bank_account_id":"11111111-1111-4111-8111-111111111111","channels":["new_payments_platform"],
		"payouts":[{"amount":2500,"description":"%[1]s","recipient_contact_id":"22222222-2222-4222-8222-222222222222"}],
		"metadata":{"invoice":"%[1]s"}}`, invoice)
	ctx = contract.WithKey(ctx, contract.KeyFor("pay invoice", invoice))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, j.url+"/payments", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer fake")
	resp, err := j.zepto.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("refused with %d: %w", resp.StatusCode, contract.Rejected)
	}
	return nil
}

func loop(t *testing.T, a contract.Adapter, server *fakes.Server) *http.Client {
	c, err := retry.NewClient(a, &retry.Options{
		Transport: server.TCPTransport(), MinWait: 10 * time.Millisecond, MaxWait: 3 * time.Second, AttemptTimeout: time.Second,
	})
	require.NoError(t, err)
	t.Cleanup(func() { c.CloseIdleConnections(); assert.NoError(t, server.Close()) })
	return c.StandardClient()
}

// Answers are lost in every way there is; each invoice is paid once, the report says
// so where it can be known, and no run after it pays again.
func TestJob(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("E2E_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("E2E_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	servers := map[string]*fakes.Server{"stripe": fakes.NewStripe(nil), "zepto": fakes.NewZepto(nil)}
	trouble := []fakes.Fault{
		fakes.LoseReply, fakes.CutBody(0), fakes.CutBody(20), fakes.ResetAfterSend, fakes.RefuseConnection,
		fakes.HTMLPage(502), fakes.HTMLPage(200), fakes.SaveError(500), fakes.InFlight(20 * time.Millisecond), fakes.Throttle(0), fakes.None,
	}
	for _, s := range servers {
		for range 2 * invoices {
			s.Script(trouble[random.IntN(len(trouble))])
		}
	}
	j := job{
		stripe: stripe.NewClient("sk_test_fake", stripe.WithBackends(Backends(loop(t, provider.New(nil), servers["stripe"])))),
		zepto:  loop(t, zepto.New(nil), servers["zepto"]),
		url:    servers["zepto"].URL(),
	}
	for run := 1; run <= 2; run++ {
		told := map[contract.Status]int{}
		report := j.run(t.Context())
		paid := map[string]int{}
		for _, s := range servers {
			s.Advance(time.Minute) // what is still in flight ends
			for _, e := range s.Effects() {
				paid[e.Metadata["invoice"]]++
			}
		}
		for invoice, status := range report {
			told[status]++
			require.LessOrEqual(t, paid[invoice], 1, "%s was paid twice", invoice)
			switch status.Effect() {
			case contract.EffectApplied:
				assert.Equal(t, 1, paid[invoice], "%s: told %v", invoice, status)
			case contract.EffectNone:
				assert.Zero(t, paid[invoice], "%s: told %v", invoice, status)
			}
		}
		t.Logf("run %d: %v", run, told)
		assert.Len(t, report, 2*invoices)
		if run == 2 { // the faults are used up
			assert.Equal(t, 2*invoices, told[contract.Succeeded], "every invoice is paid, and known to be")
		}
	}
}

package fakes

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A request arrives at the time up to which the clock was settled: what comes due while
// that is done is still to come for it, and its key is busy. Otherwise the request would
// run beside it, and one key would have two effects.
func TestArrivalIsWhenTheClockWasSettled(t *testing.T) {
	for name, c := range map[string]struct {
		server          *Server
		url, kind, body string
	}{
		"stripe": {NewStripe(nil), "https://api.stripe.com/v1/payment_intents", "application/x-www-form-urlencoded",
			"amount=100&currency=usd&confirm=true&payment_method=pm_card_visa"},
		"zepto": {NewZepto(nil), "https://api.zeptopayments.com/transfers", "application/json",
			`{"amount":100,"from_bank_account_id":"a","to_bank_account_id":"b"}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				post := func() int {
					r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, c.url, strings.NewReader(c.body))
					require.NoError(t, err)
					r.Header.Set("Authorization", "Bearer fake")
					r.Header.Set("Content-Type", c.kind)
					r.Header.Set("Idempotency-Key", "k-1")
					resp, err := c.server.Client().Do(r)
					require.NoError(t, err)
					defer resp.Body.Close()
					_, err = io.Copy(io.Discard, resp.Body)
					require.NoError(t, err)
					return resp.StatusCode
				}
				c.server.Script(InFlight(time.Second))
				busy := post()
				// Settling takes so long that the effect comes due meanwhile.
				c.server.mu.Lock()
				c.server.deferUntil(c.server.now().Add(900*time.Millisecond), func() { time.Sleep(time.Second) })
				c.server.mu.Unlock()
				time.Sleep(950 * time.Millisecond)
				assert.Equal(t, busy, post(), "the first one is still under way")
				time.Sleep(time.Second)
				assert.Len(t, c.server.Effects(), 1)
				c.server.Transport().(*transport).CloseIdleConnections()
			})
		})
	}
}

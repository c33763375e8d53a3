package fakes_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/idempact/idempact/fakes"
)

// FuzzKeyedRequest sends any request twice under one key. Whatever it is, there is
// at most one effect; Stripe v1 repeats what it saved, byte for byte.
func FuzzKeyedRequest(f *testing.F) {
	f.Add("POST", "/v1/payment_intents", paid)
	f.Add("POST", "/v1/payment_intents", "amount=1&currency=usd&metadata[=&[a]=1&[]=x&status=succeeded&id=pi_1")
	f.Add("POST", "/v1/checkout/sessions", "line_items[0][amount]=1x&line_items[1][quantity]=2")
	f.Add("POST", "/v2/core/accounts", `{"id":"x","amount":{"value":"1"},"metadata":null}`)
	f.Add("POST", "/payments", payBatch)
	f.Add("POST", "/payto/payments", `{"uid":"u-1","amount":1}`)
	f.Add("GET", "/v1/events", "")
	f.Add("GET", "/transactions", "")
	f.Add("DELETE", "/v1/customers/cus_1", "")
	f.Fuzz(func(t *testing.T, method, path, body string) {
		for _, make := range []func(*fakes.Options) *fakes.Server{fakes.NewStripe, fakes.NewZepto} {
			s := make(nil)
			var replies []*httptest.ResponseRecorder
			for range 2 {
				r := httptest.NewRequest("GET", "/", strings.NewReader(body))
				r.Method, r.URL.Path = method, path
				r.Header.Set("Authorization", "Bearer sk_test_1")
				r.Header.Set("Idempotency-Key", "k1")
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				replies = append(replies, w)
			}
			if !strings.HasPrefix(path, "/contacts/") && !strings.HasPrefix(path, "contacts/") {
				assert.LessOrEqual(t, len(s.Effects()), 1)
			}
			if s.Requests()[1].Replayed {
				assert.Equal(t, replies[0].Body.String(), replies[1].Body.String())
				assert.Equal(t, replies[0].Code, replies[1].Code)
			}
		}
	})
}

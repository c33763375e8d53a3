package check

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// The suite makes payments: what may be a live system or a live key is refused, for every
// provider's way to say so.
func TestSafe(t *testing.T) {
	for _, c := range []struct {
		url, header, value string
		safe               bool
	}{
		// Stripe: the key says it; the host is the same.
		{"https://api.stripe.com", "Authorization", "Bearer sk_test_51Habc", true},
		{"https://api.stripe.com", "Authorization", "Bearer rk_test_51Habc", true},
		{"https://api.stripe.com", "Authorization", "Bearer sk_live_51Habc", false},
		{"https://api.stripe.com", "Authorization", "Bearer rk_live_51Habc", false},
		{"https://api.stripe.com", "Authorization", basic("sk_live_51Habc", ""), false},
		{"https://api.stripe.com", "Authorization", basic("sk_test_51Habc", ""), true},
		{"https://api.stripe.com", "Authorization", "bearer  sk_live_51Habc", false},
		{"https://api.stripe.com", "", "", false},
		{"http://127.0.0.1:12111", "Authorization", "Bearer sk_live_51Habc", false},
		{"http://127.0.0.1:12111", "Authorization", "Bearer anything", true},
		{"http://localhost:12111", "", "", true},
		{"http://[::1]:12111", "", "", true},
		{"http://127.0.0.1.nip.io:12111", "", "", false},

		// Mollie, GoCardless, Razorpay: the key says it.
		{"https://api.mollie.com", "Authorization", "Bearer test_dHar4XY7LxsDOtmnkVtjNVWXLSlXsM", true},
		{"https://api.mollie.com", "Authorization", "Bearer live_dHar4XY7LxsDOtmnkVtjNVWXLSlXsM", false},
		{"https://api.mollie.com", "Authorization", "Bearer access_dHar4XY7LxsDOtmnkVtjNVWXLSlXsM", false},
		{"https://api.gocardless.com", "Authorization", "Bearer live_abc", false},
		{"https://api-sandbox.gocardless.com", "Authorization", "Bearer live_abc", false},
		{"https://api-sandbox.gocardless.com", "Authorization", "Bearer sandbox_abc", true},
		{"https://api.gocardless.com", "Authorization", "Bearer sandbox_abc", true},
		{"https://api.razorpay.com", "Authorization", basic("rzp_live_abc", "secret"), false},
		{"https://api.razorpay.com", "Authorization", basic("rzp_test_abc", "secret"), true},

		// Checkout.com: a test key has sbox in it, a live one nothing.
		{"https://api.checkout.com", "Authorization", "Bearer sk_abcdefghijklmnopqrstuvwxyz1", false},
		{"https://api.checkout.com", "Authorization", "sk_abcdefghijklmnopqrstuvwxyz1", false},
		{"https://api.sandbox.checkout.com", "Authorization", "Bearer sk_sbox_abc", true},
		{"https://x.api.sandbox.checkout.com", "Authorization", "sk_sbox_abc", true},
		{"https://api.checkout.com", "Authorization", "Bearer sk_sbox_abc", true},

		// Square: a production token begins with EAAA as the sandbox's does; the host says it.
		{"https://connect.squareup.com", "Authorization", "Bearer EAAAEabc", false},
		{"https://connect.squareupsandbox.com", "Authorization", "Bearer EAAAEabc", true},

		// Adyen, PayPal, Increase, Revolut, Column, Zepto: the host.
		{"https://checkout-test.adyen.com", "X-Api-Key", "AQEabc", true},
		{"https://pal-test.adyen.com", "X-Api-Key", "AQEabc", true},
		{"https://checkout-live.adyen.com", "X-Api-Key", "AQEabc", false},
		{"https://1797a841fbb37ca7-AdyenDemo-checkout-live.adyenpayments.com", "X-Api-Key", "AQEabc", false},
		{"https://1797a841fbb37ca7-test-checkout-live.adyenpayments.com", "X-Api-Key", "AQEabc", false},
		{"https://api-m.paypal.com", "Authorization", "Bearer A21AAabc", false},
		{"https://api-m.sandbox.paypal.com", "Authorization", "Bearer A21AAabc", true},
		{"https://api.increase.com", "Authorization", "Bearer abc", false},
		{"https://sandbox.increase.com", "Authorization", "Bearer abc", true},
		{"https://b2b.revolut.com", "Authorization", "Bearer oa_prod_abc", false},
		{"https://b2b.revolut.com", "Authorization", "Bearer oa_sand_abc", false},
		{"https://sandbox-b2b.revolut.com", "Authorization", "Bearer oa_sand_abc", true},
		{"https://sandbox-b2b.revolut.com", "Authorization", "Bearer oa_prod_abc", false},
		{"https://api.column.com", "Authorization", basic("", "live_abc"), false},
		{"https://api.column.com", "Authorization", basic("", "test_abc"), true},
		{"https://api.zeptopayments.com", "Authorization", "Bearer abc", false},
		{"https://api.sandbox.zeptopayments.com", "Authorization", "Bearer abc", true},
		{"https://api.zepto.money", "Authorization", "Bearer abc", false},

		// Modern Treasury: one host for both, and the key says it.
		{"https://app.moderntreasury.com", "Authorization", basic("org", "live-abc"), false},
		{"https://app.moderntreasury.com", "Authorization", basic("org", "test-abc"), true},
		{"https://app.moderntreasury.com", "Authorization", basic("test-org", "live-abc"), false},

		// What is not the credentials' word.
		{"https://api.stripe.com", "User-Agent", "test", false},
		{"https://api.stripe.com", "X-Comment", "this is a test", false},
		{"https://api.mollie.com", "Authorization", basic("x", "y") + ", test", false},
		{"https://testing.payments.com", "", "", false},
		{"https://latest.payments.com", "", "", false},
		{"https://contest.stripe.com", "", "", false},
		{"https://test.live.example", "", "", false},
	} {
		u, err := url.Parse(c.url)
		require.NoError(t, err)
		target := Target{URL: u, Header: http.Header{}}
		if c.header != "" {
			target.Header.Set(c.header, c.value)
		}
		err = target.Safe()
		if c.safe {
			assert.NoError(t, err, "%s %s", c.url, c.value)
			continue
		}
		if assert.ErrorIs(t, err, ErrLive, "%s %s", c.url, c.value) && len(c.value) > 4 {
			assert.NotContains(t, err.Error(), c.value)
		}
	}
}

// Package integration runs idempact below the newest stripe-go, which the adapter's
// own Backend, made for v76, does not know.
package integration

import (
	"net/http"

	"github.com/stripe/stripe-go/v85"
)

// Backends puts a stripe.Client on the given client, as a rule the StandardClient
// of a retry.Client:
//
//	sc := stripe.NewClient(key, stripe.WithBackends(integration.Backends(c.StandardClient())))
//
// The SDK's own retries, which are on by default, its telemetry and its logs are off:
// a second retry loop would multiply the sends.
//
// Give every write a key with params.SetIdempotencyKey. The SDK makes up a random
// one for a write that has none, and nothing below it can tell that from a key of
// yours: the call is then protected for its own length, and a second call pays again.
// A key in the context alone (contract.WithKey) differs from the made-up one, and
// the loop refuses the two.
func Backends(c *http.Client) *stripe.Backends {
	return stripe.NewBackendsWithConfig(&stripe.BackendConfig{
		HTTPClient:        c,
		MaxNetworkRetries: stripe.Int64(0),
		EnableTelemetry:   stripe.Bool(false),
		LeveledLogger:     &stripe.LeveledLogger{Level: stripe.LevelNull},
	})
}

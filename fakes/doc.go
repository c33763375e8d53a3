// Package fakes holds payment providers that behave as their documents say: each
// has an idempotency contract, a ledger of what really happened, and faults that
// a test scripts by name.
//
//	stripe := fakes.NewStripe(nil)
//	stripe.Script(fakes.LoseReply)
//	client := stripe.Client() // any host: https://api.stripe.com/v1/payment_intents
//	…
//	effects := stripe.Effects() // one payment, or a double charge
//
// A fake is reached in memory (Client, Transport), over loopback TCP (URL,
// TCPTransport), through httpmock (Register), or as an http.Handler. In memory,
// net/http runs unchanged over net.Pipe, which makes virtual time possible: in a
// bubble of testing/synctest, days pass in milliseconds, and every goroutine ends
// once the client's idle connections are closed.
//
// The package shares no code with the adapters: a mistake made twice would be a
// mistake unseen. What a fake does comes from the provider's documents; each fact
// stands in the code with its source and the date it was read.
package fakes

// Package retry sends a payment request until its outcome is known or may no
// longer be found out by sending: the same bytes under the same key, for as long
// as the provider's contract lets it, and never once more.
//
// With Options.Journal an operation outlives the process: it is written ahead before
// its first send, its verdict is stored before anybody is told, and of many processes
// one sends. Client.Sweep settles what a process left open, and Client.Learn takes
// evidence from outside.
//
// Client.Do runs one operation and says what happened to the money. Client is
// also an http.RoundTripper, so that a provider's SDK can run on it. The contract
// of a provider is an adapter (package contract); this package knows none.
package retry

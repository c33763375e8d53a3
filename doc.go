// Package idempact is the root of a toolkit that lets Go programs call payment
// APIs so that each business action takes effect once.
//
// The root holds no code. A request enters package retry, which asks an adapter
// (providers/stripe, providers/zepto, …) what the provider promises, sends the
// same bytes under the same key for as long as that promise holds, and folds
// every answer into one contract.Verdict. Package fakes holds providers with a
// ledger and scripted faults, to prove an integration without an account.
package idempact

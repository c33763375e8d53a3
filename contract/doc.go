// Package contract is the vocabulary of idempact: what a payment provider
// promises (Terms), what one answer revealed (Outcome), what all answers of an
// operation together prove (Verdict), and what an author writes to add a
// provider (Adapter, and optionally Resolver and Finder).
//
// Its first law: never say more about money than the provider said. The zero
// value of every type is the safe one: Unknown, EffectMaybe, LookUp.
//
// Everything here is a value or a pure function and safe for concurrent use.
package contract

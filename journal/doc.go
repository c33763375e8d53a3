// Package journal is the durable memory of operations: what was asked, under
// which key, when it was first sent, and what is known of it since. A program that
// dies in the middle of a payment finds it there and goes on under the same key
// while the provider remembers that key, or looks it up when it no longer does.
//
// A Store keeps entries. NewMemory is for tests and for programs whose operations
// may die with them; packages journal/sqlite and journal/postgres are durable, and
// let an entry commit together with the caller's own rows. Package journaltest is
// the suite for authors of other stores.
//
// What is stored: provider, account, key, the name of the action, a fingerprint,
// the exact request (method, URL, the headers that the contract needs, the body),
// times, the verdict, and the answer that it rests on. Credentials are never
// stored. Bodies hold what the caller put into them: seal them (Sealed) or leave
// them out (WithoutBodies) where that may be personal data. The URL, the key and the
// name of the action stay readable in any case, and the fingerprint lets a reader
// test a guess of the body. Never put a card number, a password or a token into the
// URL, the key or the body of a request that is journalled.
package journal

// Package killtest kills a paying process again and again, for real, and compares
// what it reported, what its journal says and what the provider's ledger holds.
//
// The fake providers live in the test's process, on loopback TCP, and lose replies,
// cut them, reset connections, save errors and throttle. Three child processes at a
// time share one journal: each pays one order after another, several at once and often
// the same ones as its siblings, sweeps what others have left, and writes down what it
// was told of each before it goes on. One of them dies by SIGKILL at a random moment,
// and another one starts. Some orders that a death cut nobody asks for again: they are
// left to the sweeps. At the end there is one more sweep, and then a caller comes back
// for all orders.
//
// A dead process holds its leases for up to two minutes, and what it left is due no
// sooner. The test does not wait for that. Its view of the journal writes into a lease
// whose it is, and shows those of processes that are known to be dead, since they were
// reaped, as ended; it takes a lease from nobody alive. A sweep finds sooner what is
// due. All else (the fence, the leases of those alive, the age of a key) is the shipped
// code's own.
//
//	go test -count=1 -run '^TestKill$' -v ./internal/killtest -kills 200
package killtest

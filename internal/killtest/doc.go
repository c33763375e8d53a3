// Package killtest kills a paying process again and again, for real, and compares
// what it reported, what its journal says and what the provider's ledger holds.
//
// The fake providers live in the test's process, on loopback TCP, and lose replies,
// cut them, reset connections, save errors and throttle. A child process pays one
// order after another through a journal, several at a time, and writes down what it
// was told of each before it goes on. It dies by SIGKILL at random moments, and
// another one starts. Some orders that a death cut nobody asks for again: they are
// left to a sweep at the end. Then a caller comes back for all orders.
//
// A dead process holds its leases for up to two minutes, and what it left is due no
// sooner. The test does not wait for that: its view of the journal shows the leases
// of processes that are known to be dead, those written before this process was
// born, as ended. Children follow one another, and each was reaped before the next
// one is started, so that the view takes a lease from nobody alive; all else (the
// fence, the leases of those alive, the age of a key) is the shipped code's own.
//
//	go test -count=1 -run '^TestKill$' -v ./internal/killtest -kills 200
package killtest

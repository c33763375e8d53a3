// Package explore runs the whole client (adapter, loop, net/http) against a fake
// provider in virtual time and tries every schedule of faults up to a depth.
//
// A run meets choices, each at a place: what goes wrong with a send, whether the
// process dies at a boundary, which of two callers goes first. A Chooser answers
// them: one that enumerates all answers (Explore), one that draws them (Simulate),
// one that reads them from a script (Replay). The search is stateless: a run that
// ends leaves the list of choices that it met, the last one with an answer left is
// changed, and the run starts anew. So only choices that a run really meets are
// branched on: a schedule that ends early stands for all its extensions.
//
// After each run an oracle judges it. It knows the fake's ledger, what went over
// the wire, and what the callers were told; no adapter, and no rule of folding.
//
// A process is seen through its http.RoundTripper, and through its journal.Store if
// it has one. Its boundaries are: before a send, after it (the provider has the
// request, no answer came), after the reply (an answer came, nothing was read of it),
// before and after each write of the journal, and before the verdict is returned. A
// process that dies sends and writes nothing any more, and what it was about to tell
// is lost. A restart is a new client with the same request.
//
// Without a journal nothing remembers the age of a key across processes: restarts
// happen while the key is young, the caller gives the rest of the key's life as the
// deadline of its context, and what a call tells is judged by what that call could
// know. The journal of a scenario that is remembered outlives its processes. They
// restart while the lease of the dead one lasts, which they wait out, or when the
// provider has forgotten the key; the callers' contexts have no deadline, and the age
// of a key is that of its first send by any process. In the end new processes ask
// again: what was told to be done is told again, and nothing is sent for it.
//
// Two processes may share a journal, one of them a sweeper. Their writes are steps like
// their sends, in all orders. One that dies, or that stalls until its lease has ended,
// leaves the operation to the other, and comes back: before its send, with the request
// on its way, or with an answer to store. Of the two the one with the lease sends.
//
// Runs of a lone caller that come to one state go on alike, so only the first is
// followed; see state, and the test that says so.
//
// Functions of this package belong inside a bubble of testing/synctest: they wait
// for days.
package explore

// Package cases holds no code of its own: its tests play acceptance cases through
// the whole client. A case is one request, the replies that come back, and what
// must be concluded. Most come from public bug reports, the others from the
// providers' documents; names, keys, amounts and ids in them are invented.
//
// The data is providers/<provider>/testdata/cases/<kind>.txtar. Each case there is
//
//	-- case B78e --
//	title: one line that says what it shows
//	source: where it is from
//	want: NotExecuted
//	code: rate_limit
//	sends: 1 to 4
//	wait: 3600s
//	key: kept
//	-- request --
//	POST https://api.example.com/v1/payments
//	Idempotency-Key: k1
//
//	amount=100
//	-- reply NotExecuted --
//	429
//	Retry-After: 3600
//
//	{"error":{"code":"rate_limit"}}
//
// The fields of a case:
//
//   - want is the status of the operation after the whole story. Where it is
//     Duplicate, Succeeded is as good once the resource was fetched and compared.
//   - resource, code and replayed (yes, no), where given, are those of the outcome;
//     an empty one means that there is none.
//   - sends says how many sends there may and must be: "2", "2 to 4", "at most 4".
//     Dials that failed count.
//   - wait is what the first reply with Retry-After, or another header that the terms
//     name for it, or an answer in flight with none, asks for, as understood.
//   - key: kept says that all sends carry one key and one body.
//   - debatable says that a good engineer could answer otherwise, and why. Where we
//     do, want and the replies are ours, and given is the status that the case came
//     with.
//   - open says why a case is known to fail. It is told in the table and fails no
//     test; the mark goes with its cause.
//
// A request or reply is its first line, headers spelled as on the wire, an empty
// line, and the body; the line break before the next marker is not part of it. A
// reply's marker names the status of that reply by itself. Its first line is a
// status code, or what happens instead of an answer: refused, dns, tls (no
// connection comes about), reset, eof (the request is read, then the connection
// ends), timeout (nothing comes back within the attempt's limit), cancel (the
// request is read, then the caller's context is cancelled). "200 truncated" is an
// answer whose connection ends after the given part of the body. The word quoted
// after it says that the body is a Go string literal, for bytes that a text file
// cannot show. When the replies are used up, the last one comes again and again.
//
// Requests other than the case's own are answered 503, except a GET of the wanted
// resource of a Duplicate, which shows it as it was asked for and must be found to
// be so. A section "-- resource REF --", with an answer, says what a GET of REF
// brings instead, and then the status is the wanted one exactly.
//
// A case is played several times: with Do and as an http.Client, and in each way
// that a body can be framed. Where replies carry a Date, our clock is seven minutes
// ahead of it. A request without a key goes with contract.WithoutKey.
//
// A new provider needs nothing here but its cases: its adapter is found in the
// catalog. Where its resources are shown otherwise than as the request's JSON with an
// id, a case says how in a section of its own.
//
// An id starts with B for a report, F- for one of a family, D- for a provider's
// documents, V2- for those of Stripe's API v2, X- for a sibling of one of them.
package cases

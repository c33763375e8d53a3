// Package ietf encodes the Idempotency-Key header draft of the IETF, and with it every
// API that follows the common pattern: a key in a header, the first answer again for a
// repeat, one status for "still running" and one for "another request's key". Options
// describe such an API as data:
//
//	adapter := ietf.New(&ietf.Options{
//		Name:     "column",
//		Requests: []string{"POST /transfers/book"},
//		Terms: contract.Terms{
//			KeyHeader: "Idempotency-Key", KeyMaxLen: 255, Retention: 30 * 24 * time.Hour,
//			Repeat: contract.Replays, Saves: contract.SavesSuccesses, Sources: sources,
//		},
//		Resource: "id", State: "status", Code: "code",
//	})
//
// Without options it is the draft itself, which is no API: it promises something at
// api.example.com alone, a host that is reserved for examples.
//
// The draft leaves to each API for how long a key is remembered, how long it may be,
// what a success shows, and what every status but 400 (no key), 409 (still running) and
// 422 (another payload) means; here all of that is unknown. It fixes no code, so that
// the status alone carries the meaning. Its value is a quoted string, which hardly any
// of the APIs that it lists send: see contract.Terms.KeyQuoted.
package ietf

import (
	"net/http"
	"slices"
	"strings"

	"github.com/idempact/idempact/contract"
)

// Options describe an API. What is not said is not promised, and an answer that no
// field is about is unknown.
type Options struct {
	Name     string              // of the API, lower case; "" is "ietf"
	Hosts    []string            // that it is reached at; nil is any
	Requests []string            // that honour the key: "POST /payments/*/refunds", where a * is one reference
	Examples []contract.Endpoint // of such requests, for pages and tests

	// Terms of those requests. Their answers are read as they say: RepeatAnswers that
	// the effect exists, InFlightAnswers that an earlier request is being worked on,
	// MismatchAnswers that the key belongs to another one. An answer without a code is
	// one with any code that no other answer names.
	Terms contract.Terms

	Successes []int            // statuses of a success that shows the resource; nil is 200 and 201
	Resource  string           // dotted path of its reference there; "" shows none
	Location  string           // header of a success without a body whose URL ends with the reference
	State     string           // dotted path of its state there
	Refused   []string         // states that say that it was executed and refused
	Echoes    []contract.Field // what the resource must have in common with a JSON request; if it has not, it is a Duplicate that nobody confirmed

	Code    string                              // dotted path of an error's code; of a URL, what follows its last # or /
	Missing []contract.Answer                   // to a request without a key, which the API requires
	Answers map[contract.Answer]contract.Status // others: NotExecuted, Declined, Rejected, or KeySpent for an error that stays under the key

	AdviceHeader string // header of an answer whose value "false" says that a repeat cannot help
	IDHeader     string // header of an answer with the id of the exchange
}

// Draft returns the options that describe the draft itself: something to start from
// where an API follows it. Its example API answers with id and status, of which the
// draft says nothing.
//
// Source: draft-ietf-httpapi-idempotency-key-header-07, section 2 (read 2026-11-29),
// which expired on 2026-04-18.
func Draft() Options {
	return Options{
		Name:     "ietf",
		Hosts:    []string{"api.example.com"}, // RFC 2606: nobody's
		Requests: []string{"POST /payments"},
		Examples: []contract.Endpoint{{
			Name: "create a payment", Method: http.MethodPost, URL: "https://api.example.com/payments",
			Body: `{"amount":{amount},"currency":"usd","reference":"{order}"}`,
		}},
		Terms: contract.Terms{
			KeyHeader: "Idempotency-Key", KeyQuoted: true, // 2.1: an Item whose value is a String
			KeyRequired: true, // 2.7: of operations that are documented to require it
			// 2.6: a retry after completion gets the earlier result, success or error.
			Repeat: contract.Replays, Saves: contract.SavesResults,
			// 2.6 and 2.7: before completion it gets a conflict; another payload gets 422.
			InFlightAnswers: []contract.Answer{{Status: http.StatusConflict}},
			Mismatch:        contract.MismatchRefused,
			MismatchAnswers: []contract.Answer{{Status: http.StatusUnprocessableEntity}},
			Notes: []string{
				"What 401, 403, 429 and every 5xx mean for the operation is left to each API.",
				"An error may come without a body, with a Link header to the documentation of it.",
				"Of the APIs that the draft lists, most send the key without quotes.",
			},
			Sources: []contract.Source{{URL: "https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header-07", Date: "2026-11-29"}},
		},
		Resource: "id", State: "status",
		Missing: []contract.Answer{{Status: http.StatusBadRequest}}, // 2.7
	}
}

// Adapter is the contract of one API. It is safe for concurrent use.
type Adapter struct{ api Options }

// New returns the adapter of an API. Nil options are those of the draft. It keeps what
// they refer to, so leave that as it is.
func New(o *Options) *Adapter {
	api := Draft()
	if o != nil {
		api = *o
	}
	if api.Name == "" {
		api.Name = "ietf"
	}
	if api.Successes == nil {
		api.Successes = []int{http.StatusOK, http.StatusCreated}
	}
	return &Adapter{api}
}

// Name returns the name of the API.
func (a *Adapter) Name() string { return a.api.Name }

// Endpoints returns the examples of the API's requests.
func (a *Adapter) Endpoints() []contract.Endpoint { return slices.Clone(a.api.Examples) }

// Terms returns what the API promises, for the requests that it is described for.
func (a *Adapter) Terms(c contract.Call) contract.Terms {
	if !a.knows(c.Request) {
		return contract.Terms{}
	}
	return a.api.Terms
}

// knows reports whether the request is one that honours the key.
func (a *Adapter) knows(r *http.Request) bool {
	if r == nil || r.URL == nil || len(a.api.Hosts) > 0 && !slices.Contains(a.api.Hosts, strings.ToLower(r.URL.Hostname())) {
		return false
	}
	return slices.ContainsFunc(a.api.Requests, func(request string) bool {
		method, path, _ := strings.Cut(request, " ")
		_, fits := contract.MatchPath(r.URL, path)
		return fits && method == r.Method
	})
}

var (
	_ contract.Adapter = (*Adapter)(nil)
	_ contract.Catalog = (*Adapter)(nil)
)

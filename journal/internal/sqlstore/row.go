package sqlstore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/internal/record"
)

// Columns are all columns of an entry but its number, in the order of args. The
// first three are its ID. Those behind the verdict are for people: they repeat what
// the verdict says, and nothing reads them.
var Columns = []string{
	"provider", "account", "idempotency_key",
	"action", "fingerprint",
	"method", "url", "request_header", "request_body", "request_omitted",
	"response_status", "response_header", "response_body", "response_omitted",
	"first_sent", "skew_ns", "lease_holder", "lease_until", "version",
	"settled", "due", "sweeps", "retain", "created", "updated", "history",
	"verdict",
	"status", "effect", "attempts", "resource", "state", "code", "source", "reason",
}

// read is how many of the columns are read.
var read = slices.Index(Columns, "verdict") + 1

// The statements. Those that write are one each, so that they are atomic wherever
// they run; NOT settled is spelled as in the partial index, which SQLite asks for.
var (
	fields = strings.Join(Columns[:read], ", ")
	own    = "provider = $1 AND account = $2 AND idempotency_key = $3"

	insert = fmt.Sprintf("INSERT INTO {entries} (%s) VALUES (%s) ON CONFLICT (provider, account, idempotency_key) DO NOTHING",
		strings.Join(Columns, ", "), parameters("$%[2]d"))
	replace = fmt.Sprintf("UPDATE {entries} SET %s WHERE %s AND version = $%d",
		strings.Join(strings.Split(parameters("%s = $%d"), ", ")[3:], ", "), own, len(Columns)+1)
	selectOne       = fmt.Sprintf("SELECT %s FROM {entries} WHERE %s", fields, own)
	selectUnsettled = fmt.Sprintf("SELECT %s FROM {entries} WHERE NOT settled AND provider = $1 AND account = $2"+
		" AND due <= $3 AND (lease_holder = '' OR lease_until <= $3) ORDER BY due LIMIT $4", fields)
	old   = "settled AND updated < $1 AND retain < $3"
	prune = fmt.Sprintf("DELETE FROM {entries} WHERE %s AND id IN (SELECT id FROM {entries} WHERE %s ORDER BY updated LIMIT $2)", old, old)
)

// parameters formats every column's name and number.
func parameters(format string) string {
	list := make([]string, len(Columns))
	for i, c := range Columns {
		list[i] = fmt.Sprintf(format, c, i+1)
	}
	return strings.Join(list, ", ")
}

// args are the values of all columns.
func (s *Store) args(e journal.Entry) ([]any, error) {
	requestHeader, err := record.Header(e.Request.Header)
	if err != nil {
		return nil, err
	}
	responseHeader, err := record.Header(e.Response.Header)
	if err != nil {
		return nil, err
	}
	history, err := record.History(recorded(e.History))
	if err != nil {
		return nil, err
	}
	v := e.Verdict
	verdict, err := record.Verdict(v)
	if err != nil {
		return nil, err
	}
	text, at := record.Text, s.dialect.Time
	return []any{
		text(e.Provider), text(e.Account), text(e.Key),
		text(e.Action), text(e.Fingerprint),
		text(e.Request.Method), text(e.Request.URL), requestHeader, bytes(e.Request.Body), e.Request.Omitted,
		e.Response.StatusCode, responseHeader, bytes(e.Response.Body), e.Response.Omitted,
		at(e.FirstSent), int64(e.Skew), text(e.Lease.Holder), at(e.Lease.Until), e.Version,
		e.Settled, at(e.Due), e.Sweeps, at(e.Retain), at(e.Created), at(e.Updated), history,
		verdict,
		v.Status.String(), v.Effect().String(), v.Attempts, text(v.Resource), text(v.State), text(v.Code), v.Source.String(), text(v.Reason),
	}, nil
}

// recorded returns events as package record has them.
func recorded(history []journal.Event) []record.Event {
	events := make([]record.Event, len(history))
	for i, e := range history {
		events[i] = record.Event(e)
	}
	return events
}

// bytes is b, which the database must not take for NULL.
func bytes(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// row is an entry as it is scanned.
type row struct {
	e                             journal.Entry
	requestHeader, responseHeader string
	history, verdict              string
	skew                          int64
}

// dest is where to scan the columns that are read.
func (r *row) dest(d Dialect) []any {
	e, at := &r.e, d.ScanTime
	return []any{
		&e.Provider, &e.Account, &e.Key,
		&e.Action, &e.Fingerprint,
		&e.Request.Method, &e.Request.URL, &r.requestHeader, &e.Request.Body, &e.Request.Omitted,
		&e.Response.StatusCode, &r.responseHeader, &e.Response.Body, &e.Response.Omitted,
		at(&e.FirstSent), &r.skew, &e.Lease.Holder, at(&e.Lease.Until), &e.Version,
		&e.Settled, at(&e.Due), &e.Sweeps, at(&e.Retain), at(&e.Created), at(&e.Updated), &r.history,
		&r.verdict,
	}
}

// entry returns what was scanned, or why it is none.
func (r *row) entry() (e journal.Entry, err error) {
	e = r.e.Clone()
	e.Skew = time.Duration(r.skew)
	for _, s := range []*string{
		&e.Provider, &e.Account, &e.Key, &e.Action, &e.Fingerprint,
		&e.Request.Method, &e.Request.URL, &e.Lease.Holder,
	} {
		if *s, err = record.FromText(*s); err != nil {
			return journal.Entry{}, err
		}
	}
	if e.Request.Header, err = record.FromHeader(r.requestHeader); err != nil {
		return journal.Entry{}, fmt.Errorf("the headers of the request: %w", err)
	}
	if e.Response.Header, err = record.FromHeader(r.responseHeader); err != nil {
		return journal.Entry{}, fmt.Errorf("the headers of the response: %w", err)
	}
	events, err := record.FromHistory(r.history)
	if err != nil {
		return journal.Entry{}, fmt.Errorf("the history: %w", err)
	}
	for _, v := range events {
		e.History = append(e.History, journal.Event(v))
	}
	if e.Verdict, err = record.FromVerdict(r.verdict); err != nil {
		return journal.Entry{}, fmt.Errorf("the verdict: %w", err)
	}
	return e, nil
}

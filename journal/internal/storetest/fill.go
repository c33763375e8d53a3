package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/internal/sqlstore"
)

// Template is an entry of a usual size: copies of it fill a table.
func Template() journal.Entry {
	e := journal.Entry{ID: journal.ID{Provider: "acme", Key: "template"}, Action: "pay invoice", Due: time.Unix(1, 0)}
	e.Request = journal.Request{Method: "POST", URL: "https://api.acme.example/v1/payments", Body: []byte(strings.Repeat("a", 300))}
	e.Response = journal.Response{StatusCode: 201, Body: []byte(strings.Repeat("b", 700))}
	e.Settled, e.Updated = true, time.Unix(1, 0)
	return e
}

// Copy is the statement that copies the template: key is the SQL expression of the
// copy's key, settled that of its state, and from what is joined to make many.
func Copy(table, key, settled, from string) string {
	values := make([]string, len(sqlstore.Columns))
	for i, c := range sqlstore.Columns {
		switch values[i] = c; c {
		case "idempotency_key":
			values[i] = key
		case "settled":
			values[i] = settled
		}
	}
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s, %s WHERE idempotency_key = 'template'",
		table, strings.Join(sqlstore.Columns, ", "), strings.Join(values, ", "), table, from)
}

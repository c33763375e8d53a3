package ietf_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/providers/ietf"
)

// column is Column's API: the key is honoured by the requests that a page lists, and
// only successes are kept. What the key with other parameters gets is not documented,
// so that a success has to show the amount that was asked.
var column = ietf.Options{
	Name: "column",
	Requests: []string{
		"POST /transfers/book", "POST /transfers/ach", "POST /transfers/ach/*/reverse",
		"POST /transfers/wire", "POST /transfers/wire/*/reverse", "POST /transfers/international-wire",
	},
	Examples: []contract.Endpoint{{
		Name: "create a book transfer", Method: "POST", URL: "https://api.column.com/transfers/book",
		Body: `{"amount":{amount},"currency_code":"USD","description":"{order}"}`,
	}},
	Terms: contract.Terms{
		KeyHeader: "Idempotency-Key", KeyMaxLen: 255, Retention: 30 * 24 * time.Hour,
		Repeat: contract.Replays, Saves: contract.SavesSuccesses,
		Sources: []contract.Source{
			{URL: "https://column.com/docs/workingwithapi/idempotency", Date: "2026-11-29"},
			{URL: "https://column.com/docs/workingwithapi/errors", Date: "2026-11-29"},
			{URL: "https://docs.column.com/api/book-transfer/book-transfer-object/", Date: "2026-11-29"},
		},
	},
	Resource: "id", State: "status", Refused: []string{"REJECTED"}, Code: "code",
	Echoes: []contract.Field{{Path: "amount", Same: contract.SameAmount, Need: contract.IfAsked}, {Path: "currency_code", Same: contract.SameFold}},
	Answers: map[contract.Answer]contract.Status{
		{Status: 400}: contract.Rejected, // lack of funds, too; nothing of it is kept
		{Status: 401}: contract.Rejected,
		{Status: 403}: contract.Rejected,
		{Status: 404}: contract.Rejected,
		{Status: 429}: contract.NotExecuted,
	},
}

func Example_column() {
	adapter := ietf.New(&column)
	request, _ := http.NewRequest("POST", "https://api.column.com/transfers/book", nil)
	call := contract.Call{
		Request: request, Key: contract.KeyFor("move funds", "INV-1001"),
		Body: []byte(`{"amount": 10000, "currency_code": "USD"}`),
	}
	for _, body := range []string{
		`{"id": "book_1", "amount": 10000, "currency_code": "USD", "status": "COMPLETED"}`,
		`{"id": "book_2", "amount": 500, "currency_code": "USD", "status": "COMPLETED"}`,
		`{"id": "book_3", "amount": 10000, "currency_code": "USD", "status": "REJECTED"}`,
	} {
		o := adapter.Classify(call, contract.Reply{StatusCode: 200, Sent: true, Body: []byte(body)})
		fmt.Println(o.Resource, o.Status, "- a new key:", o.AllowsNewKey())
	}
	// Output:
	// book_1 succeeded - a new key: false
	// book_2 duplicate - a new key: false
	// book_3 declined - a new key: true
}

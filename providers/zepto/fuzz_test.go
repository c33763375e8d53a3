package zepto

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/contract/contracttest"
)

// FuzzClassify asks a second reader: an answer that settles anything must be JSON
// that shows, by the standard decoder, what it is taken for.
func FuzzClassify(f *testing.F) {
	all, err := contracttest.Exchanges(os.DirFS("testdata"))
	require.NoError(f, err)
	for _, x := range all {
		f.Add(uint8(0), x.Reply.StatusCode, x.Reply.Body, x.Reply.Header.Get("Retry-After"))
		f.Add(uint8(4), x.Reply.StatusCode, x.Reply.Body, x.Reply.Header.Get("Retry-After"))
	}
	a := New(nil)
	calls := []contract.Call{
		keyed(f, "/payments", `{"payouts":[{"amount":100,"recipient_contact_id":"c"}]}`),
		keyed(f, "/payment_requests", `{"amount":100}`),
		keyed(f, "/credits/C.1a/refunds", `{"amount":100}`),
		keyed(f, "/transfers", `{"amount":100}`),
		call(f, "POST", "/payto/payments", `{"uid":"u-1","agreement_uid":"a-1","amount":100}`),
		call(f, "POST", "/payto/agreements", `{"uid":"a-1"}`),
		call(f, "POST", "/contacts/anyone", `{}`),
	}
	f.Fuzz(func(t *testing.T, which uint8, status int, body []byte, wait string) {
		c := calls[int(which)%len(calls)]
		o := a.Classify(c, contract.Reply{StatusCode: status, Body: body, Sent: true, Header: http.Header{"Retry-After": {wait}}})
		if o != a.Classify(c, contract.Reply{StatusCode: status, Body: body, Sent: true, Header: http.Header{"Retry-After": {wait}}}) {
			t.Fatal("two answers to one question")
		}
		if o.RetryAfter < 0 || o.Source != contract.FromReply || o.Replayed {
			t.Fatalf("%v", o)
		}
		if o.Resource != "" && contract.CheckReference(o.Resource) != nil {
			t.Fatalf("resource %q", o.Resource)
		}
		var shown struct {
			Data struct {
				Ref, UID, ID any
			}
			Errors any
		}
		readable := json.Unmarshal(body, &shown) == nil
		switch o.Status {
		case contract.Succeeded:
			ok := shown.Data.Ref == o.Resource || shown.Data.UID == o.Resource || shown.Data.ID == o.Resource
			if !readable || o.Resource == "" || !ok || status < 200 || status > 202 || shown.Errors != nil {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.Duplicate, contract.Rejected:
			list, isList := shown.Errors.([]any)
			sentence, isText := shown.Errors.(string)
			bare := o.Status == contract.Rejected && status == 403 && len(body) < 8
			if !bare && (!readable || status < 400 || status > 499 || !(isList && len(list) > 0 || isText && sentence != "")) {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.NotExecuted:
			if status != 429 && status != 425 && status != 0 {
				t.Fatalf("%d %q: %v", status, body, o)
			}
		case contract.InProgress, contract.Unknown:
		default:
			t.Fatalf("%d %q: %v", status, body, o)
		}
	})
}

// FuzzClassifyResolve: what is called a success shows the amount and the
// recipient that were asked.
func FuzzClassifyResolve(f *testing.F) {
	f.Add([]byte(`{"data":{"ref":"PB.1","payouts":[{"amount":100,"recipient_contact_id":"c"}]}}`))
	f.Add([]byte(`{"data":{"ref":"PB.1","payouts":[{"amount":"100","recipient_contact_id":"C"}]}}`))
	f.Add([]byte(`{"data":{"ref":"PB.1","payouts":[{"amount":101,"recipient_contact_id":"c"}]}}`))
	a := New(nil)
	c := keyed(f, "/payments", `{"payouts":[{"amount":100,"recipient_contact_id":"c"}]}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		o := a.ClassifyResolve(c, contract.Outcome{Status: contract.Duplicate, Resource: "PB.1"}, answer(200, string(body)))
		switch o.Status {
		case contract.Duplicate, contract.KeyReused:
			return
		case contract.Succeeded:
		default:
			t.Fatalf("%v", o)
		}
		var shown struct {
			Data struct {
				Ref     string
				Payouts []map[string]any
			}
		}
		if err := json.Unmarshal(body, &shown); err != nil || shown.Data.Ref != "PB.1" || len(shown.Data.Payouts) != 1 {
			t.Fatalf("%q: %v", body, o)
		}
		if n := shown.Data.Payouts[0]["amount"]; n != float64(100) {
			if s, ok := n.(string); !ok || len(s) < 3 || s[len(s)-3:] != "100" {
				t.Fatalf("%q: %v", body, o)
			}
		}
	})
}

func TestOptionsAreCopied(t *testing.T) {
	o := &Options{OperationMetadata: []string{"order_id"}}
	a := New(o)
	o.OperationMetadata[0] = "other"
	carries := func(key string) contract.Object { return contract.Object{"metadata": contract.Object{key: "1"}} }
	assert.True(t, a.marked(carries("order_id")))
	assert.False(t, a.marked(carries("other")))
}

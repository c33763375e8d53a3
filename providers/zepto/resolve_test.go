package zepto

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

func duplicate(ref string) contract.Outcome {
	return contract.Outcome{Status: contract.Duplicate, Resource: ref}
}

func TestResolveRequest(t *testing.T) {
	a := New(nil)
	pay := keyed(t, "/payments?x=1#f", "{}")
	pay.Request.URL.User = nil
	for ref, path := range map[string]string{
		"PB.1a4": "/payments/PB.1a4", "PR.3": "/payment_requests/PR.3", "PRF.7": "/refunds/PRF.7", "T.11": "/transfers/T.11",
	} {
		r, err := a.ResolveRequest(t.Context(), pay, duplicate(ref))
		require.NoError(t, err)
		assert.Equal(t, "GET", r.Method)
		assert.Equal(t, host+path, r.URL.String())
		assert.Nil(t, r.Body)
		assert.Empty(t, r.Header.Get("Idempotency-Key"))
	}
	for _, ref := range []string{
		"", ".", "..", "PB.", "../user", "PB.1/../../user", "PB.1?x=1", "PB.1#f", "PB.1%2f..", "PB.1\n", "PB.1\x00", "PB.1 ",
		"//evil.example/PB.1", "PB.ü", "PB." + strings.Repeat("1", 300), "D.1", "C.1a", "pb.1", "XPB.1", "u-1",
	} {
		_, err := a.ResolveRequest(t.Context(), pay, duplicate(ref))
		assert.Error(t, err, "%q", ref)
		assert.NotContains(t, err.Error(), "evil")
		assert.Equal(t, contract.Duplicate, a.ClassifyResolve(pay, duplicate(ref), answer(200, `{"data":{"ref":"`+ref+`","amount":100}}`)).Status, "%q", ref)
	}

	// A uid may look like a reference of the core API; the endpoint counts.
	payTo := call(t, "POST", "/payto/payments", `{"uid":"PB.1","agreement_uid":"a-1","amount":100}`)
	r, err := a.ResolveRequest(t.Context(), payTo, duplicate("PB.1"))
	require.NoError(t, err)
	assert.Equal(t, host+"/payto/payments/PB.1", r.URL.String())
	_, err = a.ResolveRequest(t.Context(), payTo, duplicate("PB.2"))
	assert.ErrorIs(t, err, ErrReference)
	assert.Equal(t, contract.Duplicate, a.ClassifyResolve(payTo, duplicate("PB.2"),
		answer(200, `{"data":{"uid":"PB.2","agreement_uid":"a-1","amount":100}}`)).Status)

	dots := call(t, "POST", "/payto/payments", `{"uid":"..","agreement_uid":"a-1","amount":100}`)
	_, err = a.ResolveRequest(t.Context(), dots, duplicate(".."))
	assert.ErrorIs(t, err, contract.ErrReference)
	assert.Equal(t, contract.Duplicate, a.ClassifyResolve(dots, duplicate(".."),
		answer(200, `{"data":{"uid":"..","agreement_uid":"a-1","amount":100}}`)).Status)

	_, err = a.ResolveRequest(t.Context(), call(t, "POST", "/contacts/anyone", "{}"), duplicate("c-1"))
	assert.ErrorIs(t, err, ErrReference)

	pay.Request.Host = "virtual.example"
	r, err = a.ResolveRequest(t.Context(), pay, duplicate("PB.1"))
	require.NoError(t, err)
	assert.Equal(t, "virtual.example", r.Host)
}

// TestCompare asks, for every kind, what counts as the same and what does not.
func TestCompare(t *testing.T) {
	const (
		big  = "9223372036854775807"
		big1 = "9223372036854775808"
		acc  = "aaaaaaaa-1111-4111-8111-111111111111"
		con  = "cccccccc-2222-4222-8222-222222222222"
	)
	payment := func(payouts, rest string) string {
		return `{"ref":"PB.1","payouts":[` + payouts + `]` + rest + `}`
	}
	payout := func(amount, recipient, rest string) string {
		return `{"amount":` + amount + `,"recipient_contact_id":"` + recipient + `"` + rest + `}`
	}
	one := payment(payout("100", con, ""), "")
	for _, tc := range []struct {
		name, path, asked, shown string
		status                   contract.Status
		reason                   string
	}{
		{"same", "/payments", one, one, contract.Succeeded, ""},
		{"amount as text", "/payments", one, payment(payout(`"100"`, con, ""), ""), contract.Succeeded, ""},
		{"amount with zeros", "/payments", one, payment(payout(`"0100"`, con, ""), ""), contract.Succeeded, ""},
		{"amount as a fraction", "/payments", one, payment(payout(`100.0`, con, ""), ""), contract.Duplicate, ""},
		{"amount with an exponent", "/payments", one, payment(payout(`1e2`, con, ""), ""), contract.Duplicate, ""},
		{"amount of great exponent", "/payments", one, payment(payout(`1e999999999`, con, ""), ""), contract.Duplicate, ""},
		{"amount as a bool", "/payments", one, payment(payout(`true`, con, ""), ""), contract.Duplicate, ""},
		{"empty amount", "/payments", payment(payout(`0`, con, ""), ""), payment(payout(`""`, con, ""), ""), contract.Duplicate, ""},
		{"negative amount", "/payments", one, payment(payout(`-100`, con, ""), ""), contract.KeyReused, "amount -100 where 100 was asked"},
		{"edge of int64", "/payments", payment(payout(big, con, ""), ""), payment(payout(big, con, ""), ""), contract.Succeeded, ""},
		{"past the edge of int64", "/payments", payment(payout(big, con, ""), ""), payment(payout(big1, con, ""), ""), contract.KeyReused, big1 + " where " + big + " was asked"},
		{"no amount", "/payments", one, payment(`{"recipient_contact_id":"`+con+`"}`, ""), contract.Duplicate, "amount"},
		{"no recipient", "/payments", one, payment(`{"amount":100}`, ""), contract.Duplicate, "recipient"},
		{"no payouts", "/payments", one, `{"ref":"PB.1"}`, contract.Duplicate, "payouts"},
		{"payouts of text", "/payments", one, `{"ref":"PB.1","payouts":["x"]}`, contract.Duplicate, "payouts"},
		{"other amount", "/payments", one, payment(payout("200", con, ""), ""), contract.KeyReused, "amount 200 where 100 was asked"},
		{"other recipient", "/payments", one, payment(payout("100", acc, ""), ""), contract.KeyReused, acc + " where " + con + " was asked"},
		{"recipient in capitals", "/payments", one, payment(payout("100", strings.ToUpper(con), ""), ""), contract.Succeeded, ""},
		{"recipient of a steering kind", "/payments", one, payment(payout("100", "x y", ""), ""), contract.KeyReused, "another recipient_contact_id"},
		{"one payout more", "/payments", one, payment(payout("100", con, "")+","+payout("1", con, ""), ""), contract.KeyReused, "2 payouts where 1"},
		{"other ref", "/payments", one, strings.Replace(one, "PB.1", "PB.2", 1), contract.Duplicate, "could not be read"},
		{"nothing asked", "/payments", `{}`, one, contract.Duplicate, "payouts"},
		{"asked in no JSON", "/payments", `amount=100`, one, contract.Duplicate, "request itself"},
		{"other account", "/payments", payment(payout("100", con, ""), `,"your_bank_account_id":"`+acc+`"`), payment(payout("100", con, ""), `,"your_bank_account_id":"`+con+`"`), contract.KeyReused, "another your_bank_account_id"},
		{"account not shown", "/payments", payment(payout("100", con, ""), `,"your_bank_account_id":"`+acc+`"`), one, contract.Succeeded, ""},

		{"two in another order", "/payments", payment(payout("1", con, "")+","+payout("2", acc, ""), ""), payment(payout("2", acc, "")+","+payout("1", con, ""), ""), contract.Succeeded, ""},
		{"two with recipients swapped", "/payments", payment(payout("1", con, "")+","+payout("2", acc, ""), ""), payment(payout("1", acc, "")+","+payout("2", con, ""), ""), contract.KeyReused, "1, 2"},
		{"two equal, one asked once", "/payments", payment(payout("1", con, "")+","+payout("2", con, ""), ""), payment(payout("1", con, "")+","+payout("1", con, ""), ""), contract.KeyReused, "1, 1 where 1, 2"},
		{"two equal, told apart by metadata", "/payments",
			payment(payout("1", con, "")+","+payout("1", con, `,"metadata":{"n":"b"}`), ""),
			payment(payout("1", con, `,"metadata":{"n":"b"}`)+","+payout("1", con, `,"metadata":{}`), ""), contract.Succeeded, ""},
		{"two, one recipient in capitals", "/payments", payment(payout("1", con, "")+","+payout("2", con, ""), ""), payment(payout("2", con, "")+","+payout("1", strings.ToUpper(con), ""), ""), contract.Succeeded, ""},
		{"a payout and a text", "/payments", one, payment(payout("100", con, "")+`,"x"`, ""), contract.Duplicate, "payouts"},
		{"two, metadata of one missing", "/payments",
			payment(payout("1", con, "")+","+payout("1", con, `,"metadata":{"n":"b"}`), ""),
			payment(payout("1", con, "")+","+payout("1", con, ""), ""), contract.Duplicate, ""},

		{"two equal, one shown for both", "/payments",
			payment(payout("1", con, `,"metadata":{"n":"a"}`)+","+payout("1", con, `,"metadata":{"n":"a"}`), ""),
			payment(payout("1", con, `,"metadata":{"n":"a"}`)+","+payout("1", con, `,"metadata":{"n":"b"}`), ""), contract.Duplicate, "payouts"},

		{"metadata", "/payments", payment(payout("100", con, ""), `,"metadata":{"a":"1"}`), payment(payout("100", con, ""), `,"metadata":{"a":"1","b":"2"}`), contract.Succeeded, ""},
		{"metadata number kept as text", "/payments", payment(payout("100", con, ""), `,"metadata":{"a":1}`), payment(payout("100", con, ""), `,"metadata":{"a":"1"}`), contract.Succeeded, ""},
		{"metadata number respelt", "/payments", payment(payout("100", con, ""), `,"metadata":{"a":1.0}`), payment(payout("100", con, ""), `,"metadata":{"a":1}`), contract.Duplicate, "metadata"},
		{"metadata null asked", "/payments", payment(payout("100", con, ""), `,"metadata":{"a":null}`), one, contract.Succeeded, ""},
		{"metadata null shown", "/payments", payment(payout("100", con, ""), `,"metadata":{"a":"1"}`), payment(payout("100", con, ""), `,"metadata":{"a":null}`), contract.Duplicate, "metadata"},
		{"metadata other", "/payments", payment(payout("100", con, ""), `,"metadata":{"a":"1"}`), payment(payout("100", con, ""), `,"metadata":{"a":"2"}`), contract.KeyReused, "another metadata a"},
		{"metadata pair missing", "/payments", payment(payout("100", con, ""), `,"metadata":{"a":"1"}`), payment(payout("100", con, ""), `,"metadata":{}`), contract.KeyReused, "no metadata a"},
		{"metadata not shown", "/payments", payment(payout("100", con, ""), `,"metadata":{"a":"1"}`), one, contract.Duplicate, "metadata"},
		{"metadata of another shape", "/payments", payment(payout("100", con, ""), `,"metadata":{"a":"1"}`), payment(payout("100", con, ""), `,"metadata":[{"a":"1"}]`), contract.Duplicate, "metadata"},
		{"metadata nested, equal", "/payments", payment(payout("100", con, ""), `,"metadata":{"a":{"b":[1]}}`), payment(payout("100", con, ""), `,"metadata":{"a":{"b":[1]}}`), contract.Succeeded, ""},
		{"metadata nested, not equal", "/payments", payment(payout("100", con, ""), `,"metadata":{"a":{"b":[1]}}`), payment(payout("100", con, ""), `,"metadata":{"a":"x"}`), contract.Duplicate, "metadata"},
		{"remitter not shown", "/payments", payment(payout("100", con, ""), `,"metadata":{"remitter":"Test"}`), one, contract.Succeeded, ""},
		{"remitter other", "/payments", payment(payout("100", con, ""), `,"metadata":{"remitter":"Test"}`), payment(payout("100", con, ""), `,"metadata":{"remitter":"Other"}`), contract.KeyReused, "remitter"},
		{"metadata of a payout", "/payments", payment(payout("100", con, `,"metadata":{"a":"1"}`), ""), payment(payout("100", con, `,"metadata":{"a":"2"}`), ""), contract.KeyReused, "metadata a"},
		{"metadata of a wild name", "/payments", payment(payout("100", con, ""), `,"metadata":{"a secret":"1"}`), payment(payout("100", con, ""), `,"metadata":{}`), contract.KeyReused, "no metadata value"},

		{"payment request", "/payment_requests", `{"amount":100,"authoriser_contact_id":"c"}`, `{"ref":"PR.1","authoriser_contact_id":"c","payout":{"amount":100}}`, contract.Succeeded, ""},
		{"payment request in its own shape", "/payment_requests", `{"amount":100,"authoriser_contact_id":"c"}`, `{"ref":"PR.1","authoriser_contact_id":"c","amount":100}`, contract.Succeeded, ""},
		{"payment request in two minds", "/payment_requests", `{"amount":100,"authoriser_contact_id":"c"}`, `{"ref":"PR.1","authoriser_contact_id":"c","amount":100,"payout":{"amount":1}}`, contract.KeyReused, "amount 1 where 100"},
		{"payment request of another", "/payment_requests", `{"amount":100,"authoriser_contact_id":"c"}`, `{"ref":"PR.1","authoriser_contact_id":"d","payout":{"amount":100}}`, contract.KeyReused, "d where c"},
		{"payment request without authoriser", "/payment_requests", `{"amount":100,"authoriser_contact_id":"c"}`, `{"ref":"PR.1","payout":{"amount":100}}`, contract.Duplicate, "authoriser_contact_id"},

		{"refund", "/credits/C.1a/refunds", `{"amount":100}`, `{"ref":"PRF.1","for_ref":"C.1a","amount":100}`, contract.Succeeded, ""},
		{"refund of another credit", "/credits/C.1a/refunds", `{"amount":100}`, `{"ref":"PRF.1","for_ref":"C.1A","amount":100}`, contract.KeyReused, "for_ref C.1A where C.1a"},
		{"refund of a credit not shown", "/credits/C.1a/refunds", `{"amount":100}`, `{"ref":"PRF.1","amount":100}`, contract.Duplicate, "for_ref"},
		{"refund that says its own credit", "/credits/C.1a/refunds", `{"amount":100,"for_ref":"C.2"}`, `{"ref":"PRF.1","for_ref":"C.2","amount":100}`, contract.KeyReused, "for_ref"},
		{"refund of another amount", "/credits/C.1a/refunds", `{"amount":100}`, `{"ref":"PRF.1","for_ref":"C.1a","amount":99}`, contract.KeyReused, "amount 99 where 100"},

		{"transfer", "/transfers", `{"amount":100,"from_bank_account_id":"a","to_bank_account_id":"b"}`, `{"ref":"T.1","amount":100,"from_bank_account_id":"a","to_bank_account_id":"b"}`, contract.Succeeded, ""},
		{"transfer back", "/transfers", `{"amount":100,"from_bank_account_id":"a1","to_bank_account_id":"b1"}`, `{"ref":"T.1","amount":100,"from_bank_account_id":"b1","to_bank_account_id":"a1"}`, contract.KeyReused, "another to_bank_account_id"},
		{"transfer from nowhere", "/transfers", `{"amount":100,"from_bank_account_id":"a","to_bank_account_id":"b"}`, `{"ref":"T.1","amount":100,"to_bank_account_id":"b"}`, contract.Duplicate, "from_bank_account_id"},

		{"PayTo amount", "/payto/payments", `{"uid":"u","agreement_uid":"a","amount":100}`, `{"uid":"u","agreement_uid":"a","amount":200}`, contract.KeyReused, "amount 200 where 100"},
		{"PayTo agreement of another case", "/payto/payments", `{"uid":"u","agreement_uid":"a","amount":100}`, `{"uid":"u","agreement_uid":"A","amount":100}`, contract.KeyReused, "agreement_uid A where a"},
		{"PayTo without agreement", "/payto/payments", `{"uid":"u","agreement_uid":"a","amount":100}`, `{"uid":"u","amount":100}`, contract.Duplicate, "agreement_uid"},
		{"PayTo account respelt", "/payto/payments", `{"uid":"u","amount":1,"creditor":{"account_identifier":{"type":"bban","value":"123456-1234567"}}}`, `{"uid":"u","amount":1,"creditor":{"account_identifier":{"type":"bban","value":"123456 1234567"}}}`, contract.Succeeded, ""},
		{"PayTo other account", "/payto/payments", `{"uid":"u","amount":1,"creditor":{"account_identifier":{"type":"bban","value":"123456-1234567"}}}`, `{"uid":"u","amount":1,"creditor":{"account_identifier":{"type":"bban","value":"123456-7654321"}}}`, contract.KeyReused, "another creditor.account_identifier"},
		{"PayTo alias resolved", "/payto/payments", `{"uid":"u","amount":1,"creditor":{"account_identifier":{"type":"alias_email","value":"payee@example.com"}}}`, `{"uid":"u","amount":1,"creditor":{"account_identifier":{"type":"bban","value":"123456-7654321"}}}`, contract.Duplicate, "creditor.account_identifier"},
		{"agreement of other terms", "/payto/agreements", `{"uid":"u","payment_terms":{"type":"variable","max_amount":100}}`, `{"uid":"u","payment_terms":{"type":"variable","max_amount":200}}`, contract.KeyReused, "payment_terms.max_amount 200 where 100"},
		{"agreement of another type", "/payto/agreements", `{"uid":"u","payment_terms":{"type":"variable"}}`, `{"uid":"u","payment_terms":{"type":"fixed"}}`, contract.KeyReused, "payment_terms.type fixed where variable"},
		{"agreement without its debtor", "/payto/agreements", `{"uid":"u","payment_terms":{"type":"variable"},"debtor":{"account_identifier":{"type":"bban","value":"123456-1234567"}}}`, `{"uid":"u","payment_terms":{"type":"variable"}}`, contract.Duplicate, "debtor.account_identifier"},
		{"agreement without terms", "/payto/agreements", `{"uid":"u"}`, `{"uid":"u"}`, contract.Duplicate, "payment_terms"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ref := map[string]string{"/payments": "PB.1", "/payment_requests": "PR.1", "/credits/C.1a/refunds": "PRF.1", "/transfers": "T.1"}[tc.path]
			if ref == "" {
				ref = "u"
			}
			o := New(nil).ClassifyResolve(keyed(t, tc.path, tc.asked), duplicate(ref), answer(200, `{"data":`+tc.shown+`}`))
			assert.Equal(t, tc.status, o.Status, "%v", o)
			assert.Contains(t, o.Reason, tc.reason)
			assert.Equal(t, ref, o.Resource)
			assert.Equal(t, contract.FromLookUp, o.Source)
			for _, secret := range []string{"1234567", "7654321", "payee@", "b1", "secret"} {
				assert.NotContains(t, o.Reason, secret)
			}
		})
	}
}

func TestUnreadableFetch(t *testing.T) {
	a := New(nil)
	c := keyed(t, "/payment_requests", `{"amount":100}`)
	known := contract.Outcome{Status: contract.Duplicate, Resource: "PR.1", State: "approved"}
	good := `{"data":{"ref":"PR.1","amount":100}}`
	require.Equal(t, contract.Succeeded, a.ClassifyResolve(c, known, answer(200, good)).Status)
	for _, r := range []contract.Reply{
		{}, answer(201, good), answer(404, good), answer(404, `{"errors":"s"}`), answer(500, good), answer(301, good),
		answer(200, ""), answer(200, "<html>"), answer(200, `{"data":[{"ref":"PR.1","amount":100}]}`),
		answer(200, `{"data":{"ref":"PR.1","amount":100},"errors":"s"}`), answer(200, `{"data":{"amount":100}}`),
		answer(200, `{"data":{"ref":"PR.1","amount":200},"data":{"ref":"PR.1","amount":100}}`),
	} {
		o := a.ClassifyResolve(c, known, r)
		assert.Equal(t, contract.Duplicate, o.Status, "%d %s", r.StatusCode, r.Body)
		assert.Equal(t, "PR.1", o.Resource)
		assert.Equal(t, "approved", o.State)
		assert.Equal(t, contract.FromLookUp, o.Source)
	}
}

// TestFolded: what the comparison shows settles a doubt, through the contract's
// own folding.
func TestFolded(t *testing.T) {
	a := New(nil)
	c := keyed(t, "/payment_requests", `{"amount":100}`)
	var v contract.Verdict
	v = contract.Fold(v, a.Classify(c, contract.Reply{Sent: true}))
	dup := a.Classify(c, answer(409, `{"errors":[{"title":"t","meta":{"resource_ref":"PR.1"}}]}`))
	v = contract.Fold(v, dup)
	require.Equal(t, contract.Duplicate, v.Status)

	same := contract.Fold(v, a.ClassifyResolve(c, dup, answer(200, `{"data":{"ref":"PR.1","amount":100}}`)))
	assert.Equal(t, contract.Succeeded, same.Status)
	assert.Equal(t, 2, same.Attempts)
	other := contract.Fold(v, a.ClassifyResolve(c, dup, answer(200, `{"data":{"ref":"PR.1","amount":200}}`)))
	assert.Equal(t, contract.KeyReused, other.Status)
	assert.True(t, other.AllowsNewKey())
	none := contract.Fold(v, a.ClassifyResolve(c, dup, answer(503, "")))
	assert.Equal(t, contract.Duplicate, none.Status)
	assert.Equal(t, 2, none.Attempts)
}

package zepto

import (
	"strings"

	"github.com/idempact/idempact/contract"
)

// resource is a kind of thing that a request creates and a GET shows.
type resource struct {
	name      string // for people
	prefix    string // of its references; "" where the caller's uid is the reference
	get       string // it is fetched there, under its reference
	list      string // it is listed there, if it is
	scope     string // of its uids
	duplicate string // the code that says that its uid is taken
	fields    []contract.Field
}

// The kinds of field that there are: how each is compared, and whether a reason may
// show it.
func amount(path, also string, need contract.Need) contract.Field {
	return contract.Field{Path: path, Also: also, Same: contract.SameAmount, Shown: true, Need: need}
}

// contact is a UUID, which has no case.
func contact(path string, need contract.Need) contract.Field {
	return contract.Field{Path: path, Same: contract.SameFold, Shown: true, Need: need}
}

// reference names a credit, an agreement or a payment; or it is a word of the
// contract.
func reference(path string, need contract.Need) contract.Field {
	return contract.Field{Path: path, Shown: true, Need: need}
}

// account is a bank account by its UUID: never shown.
func account(path string, need contract.Need) contract.Field {
	return contract.Field{Path: path, Same: contract.SameFold, Need: need}
}

// identifier is an object that names a bank account: never shown.
func identifier(path string) contract.Field {
	return contract.Field{Path: path, Same: sameIdentifier, Need: contract.IfAsked}
}

func wording(path, also string) contract.Field {
	return contract.Field{Path: path, Also: also, Same: contract.SameWording}
}

var (
	payment = &resource{name: "payment", prefix: "PB.", get: "payments", list: "payments", fields: []contract.Field{
		account("your_bank_account_id", contract.IfShown),
	}}
	paymentRequest = &resource{name: "payment request", prefix: "PR.", get: "payment_requests", list: "payment_requests/collections", fields: []contract.Field{
		amount("amount", "payout.amount", contract.Required),
		contact("authoriser_contact_id", contract.IfAsked),
		account("your_bank_account_id", contract.IfShown),
		wording("description", "payout.description"),
	}}
	refund = &resource{name: "refund", prefix: "PRF.", get: "refunds", list: "refunds/outgoing", fields: []contract.Field{
		amount("amount", "", contract.Required),
		reference("for_ref", contract.Required), // asked in the path
		account("your_bank_account_id", contract.IfShown),
		wording("reason", ""),
	}}
	transfer = &resource{name: "transfer", prefix: "T.", get: "transfers", list: "transfers", fields: []contract.Field{
		amount("amount", "", contract.Required),
		account("from_bank_account_id", contract.IfAsked),
		account("to_bank_account_id", contract.IfAsked),
		wording("description", ""),
	}}
	payToPayment = &resource{name: "payment", get: "payto/payments", scope: "payto/payments", duplicate: "ZPPAY00", fields: []contract.Field{
		amount("amount", "", contract.Required),
		reference("agreement_uid", contract.IfAsked),
		identifier("creditor.account_identifier"),
	}}
	payToAgreement = &resource{name: "agreement", get: "payto/agreements", scope: "payto/agreements", duplicate: "ZPAGR00", fields: []contract.Field{
		reference("payment_terms.type", contract.Required),
		reference("payment_terms.frequency", contract.IfShown),
		amount("payment_terms.amount", "", contract.IfAsked),
		amount("payment_terms.max_amount", "", contract.IfAsked),
		amount("payment_terms.first_payment_amount", "", contract.IfAsked),
		amount("payment_terms.last_payment_amount", "", contract.IfAsked),
		identifier("debtor.account_identifier"),
		identifier("creditor.account_identifier"),
	}}
	payToRefund = &resource{name: "refund", get: "payto/refunds", duplicate: "ZPREF00", fields: []contract.Field{
		amount("refund_payment.amount", "", contract.Required),
		reference("original_payment_uid", contract.IfAsked),
	}}

	// payoutFields are those of each payout of a payment, beside its own.
	payoutFields = []contract.Field{
		amount("amount", "", contract.Required),
		contact("recipient_contact_id", contract.Required),
		wording("description", ""),
	}
)

// kindOf returns the kind of resource that a reference of the core API names, or
// nil.
func kindOf(ref string) *resource {
	for _, k := range []*resource{payment, paymentRequest, refund, transfer} {
		if rest, ok := strings.CutPrefix(ref, k.prefix); ok && rest != "" {
			return k
		}
	}
	return nil
}

// idField returns the field that shows a resource's reference.
func (k *resource) idField() string {
	if k.prefix == "" {
		return "uid"
	}
	return "ref"
}

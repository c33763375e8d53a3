package zepto

import "strings"

// resource is a kind of thing that a request creates and a GET shows.
type resource struct {
	name      string // for people
	prefix    string // of its references; "" where the caller's uid is the reference
	get       string // it is fetched there, under its reference
	list      string // it is listed there, if it is
	scope     string // of its uids
	duplicate string // the code that says that its uid is taken
	fields    []field
}

// field is one thing that the resource must have in common with the request.
type field struct {
	path string // where the request carries it, and the resource may show it
	also string // where else the resource may show it
	what value
	need need
}

// value is how a field is compared, and whether a reason may show it.
type value uint8

const (
	amount     value = iota // whole cents
	contact                 // a UUID
	reference               // a credit, an agreement, a payment
	term                    // a word of the contract
	account                 // a bank account: never shown
	identifier              // an object that names a bank account: never shown
	wording                 // a text for people: equal or not confirmed, and never shown
)

// need is what a success takes.
type need uint8

const (
	ifShown  need = iota // compared where both sides have it
	ifAsked              // what was asked must be shown
	required             // must be asked and shown
)

var (
	payment = &resource{name: "payment", prefix: "PB.", get: "payments", list: "payments", fields: []field{
		{path: "your_bank_account_id", what: account},
	}}
	paymentRequest = &resource{name: "payment request", prefix: "PR.", get: "payment_requests", list: "payment_requests/collections", fields: []field{
		{path: "amount", also: "payout.amount", what: amount, need: required},
		{path: "authoriser_contact_id", what: contact, need: ifAsked},
		{path: "your_bank_account_id", what: account},
		{path: "description", also: "payout.description", what: wording},
	}}
	refund = &resource{name: "refund", prefix: "PRF.", get: "refunds", list: "refunds/outgoing", fields: []field{
		{path: "amount", what: amount, need: required},
		{path: "for_ref", what: reference, need: required}, // asked in the path
		{path: "your_bank_account_id", what: account},
		{path: "reason", what: wording},
	}}
	transfer = &resource{name: "transfer", prefix: "T.", get: "transfers", list: "transfers", fields: []field{
		{path: "amount", what: amount, need: required},
		{path: "from_bank_account_id", what: account, need: ifAsked},
		{path: "to_bank_account_id", what: account, need: ifAsked},
		{path: "description", what: wording},
	}}
	payToPayment = &resource{name: "payment", get: "payto/payments", scope: "payto/payments", duplicate: "ZPPAY00", fields: []field{
		{path: "amount", what: amount, need: required},
		{path: "agreement_uid", what: reference, need: ifAsked},
		{path: "creditor.account_identifier", what: identifier, need: ifAsked},
	}}
	payToAgreement = &resource{name: "agreement", get: "payto/agreements", scope: "payto/agreements", duplicate: "ZPAGR00", fields: []field{
		{path: "payment_terms.type", what: term, need: required},
		{path: "payment_terms.frequency", what: term},
		{path: "payment_terms.amount", what: amount, need: ifAsked},
		{path: "payment_terms.max_amount", what: amount, need: ifAsked},
		{path: "payment_terms.first_payment_amount", what: amount, need: ifAsked},
		{path: "payment_terms.last_payment_amount", what: amount, need: ifAsked},
		{path: "debtor.account_identifier", what: identifier, need: ifAsked},
		{path: "creditor.account_identifier", what: identifier, need: ifAsked},
	}}
	payToRefund = &resource{name: "refund", get: "payto/refunds", duplicate: "ZPREF00", fields: []field{
		{path: "refund_payment.amount", what: amount, need: required},
		{path: "original_payment_uid", what: reference, need: ifAsked},
	}}

	// payoutFields are those of each payout of a payment, beside its own.
	payoutFields = []field{
		{path: "amount", what: amount, need: required},
		{path: "recipient_contact_id", what: contact, need: required},
		{path: "description", what: wording},
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

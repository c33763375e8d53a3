package zepto

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

// ErrSignature is in the error of ReadEvent for a delivery that is not proven to be
// Zepto's, or not to be a new one. It says nothing of any money.
var ErrSignature = errors.New("zepto: the webhook is not signed by Zepto for this endpoint, or not lately")

var errNotEvent = errors.New("zepto: the webhook is not in the documented form")

// Event is one delivery of a webhook. Deliveries come in any order, and more than
// once; but any HTTP answer, an error too, is the end of them, so that what could not
// be learned is left to a sweep.
type Event struct {
	ID   string // the same for every delivery of the event; "" if it has none
	Type string // "debit.cleared", "payto_payment.settled"
	Told []Told // of each of our resources that it is about; none if it proves nothing
}

// Told is what an event tells of one resource.
type Told struct {
	// Key is the name of the operation's key, as retry.Client.Learn takes it: PayTo's
	// uid. It is "" on the core API, whose events name no key: find yours by Metadata.
	Key string
	// Metadata is what the request that made the resource carried, nested values left
	// out; nil if it carried none, or the event does not show it.
	Metadata map[string]string
	// Outcome is a Duplicate with the resource's reference: it exists. The loop
	// fetches it and compares it with what was asked. State is the resource's at the
	// time of the delivery, and says how far the money is.
	Outcome contract.Outcome
}

// ReadEvent verifies a delivery of a webhook and returns what it tells, for
// retry.Client.Learn. The body is the one that arrived, byte by byte; the secret is
// the endpoint's own. An error means that nothing was told; it is ErrSignature where
// the signature is wrong, or made more than tolerance before or after now.
//
// An event shows that a resource exists, and not that it is what a request asked for,
// so that its outcome is never a success by itself. Metadata must name one operation
// ("invoice": "INV-1001"): an event about another resource under the same metadata
// looks like a second effect.
//
// Source: https://docs.zeptopayments.com/docs/webhooks and
// https://github.com/zeptofs/api-documentation/blob/main/source/guides/webhooks.md
// (Split-Signature, Split-Request-ID, event.type, data), and the callbacks of the
// PayTo specification (data.type, resource_uid, resource_metadata); read 2026-11-29.
func ReadEvent(h http.Header, body []byte, secret string, now time.Time, tolerance time.Duration) (Event, error) {
	if err := verify(contract.HeaderValue(h, "Split-Signature"), body, secret, now, tolerance); err != nil {
		return Event{}, err
	}
	e := Event{ID: contract.Word(contract.HeaderValue(h, "Split-Request-Id"))}
	all, err := contract.DecodeObject(body)
	if err != nil {
		return Event{}, fmt.Errorf("%w: %w", errNotEvent, err)
	}
	if told := all.Object("data"); told != nil {
		return e.readPayTo(told)
	}
	return e.readCore(all)
}

// verify checks a signature: a time in seconds, a dot, and one or more HMACs of
// "time.body" in hexadecimal. Other elements may follow.
func verify(signature string, body []byte, secret string, now time.Time, tolerance time.Duration) error {
	stamp, rest, _ := strings.Cut(signature, ".")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || secret == "" { // with an empty secret anybody could sign
		return ErrSignature
	}
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(stamp + "."))
	m.Write(body)
	want := []byte(hex.EncodeToString(m.Sum(nil)))
	signed := slices.ContainsFunc(strings.Split(rest, "."), func(s string) bool { return hmac.Equal([]byte(s), want) })
	if !signed || now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return ErrSignature
	}
	return nil
}

// eventsOf lists which events of the core API are about something that this account
// made, by the kind of its reference. A credit of a payment, for one, is money that
// another account paid, with metadata of its choice.
var eventsOf = map[*resource][]string{
	payment:        {"payment", "debit", "debtor_credit"},
	paymentRequest: {"payment_request", "credit", "creditor_debit"},
}

// readCore reads an event of the core API: a list of resources, or of transactions
// that name the resource that they are part of.
func (e Event) readCore(all contract.Object) (Event, error) {
	list, ok := all["data"].([]any)
	e.Type = contract.Word(all.Text("event.type"))
	if !ok || e.Type == "" {
		return Event{}, errNotEvent
	}
	about, _, _ := strings.Cut(e.Type, ".")
	for _, x := range objects(list) {
		for _, name := range []string{"ref", "parent_ref"} {
			ref := contract.Word(x.Text(name))
			if slices.Contains(eventsOf[kindOf(ref)], about) {
				e.Told = append(e.Told, e.told("", ref, state(x), x.Object("metadata")))
			}
		}
	}
	return e, nil
}

// readPayTo reads an event of PayTo, which names the resource by its uid.
func (e Event) readPayTo(data contract.Object) (Event, error) {
	e.Type = contract.Word(data.Text("type"))
	uid := contract.Word(data.Text("resource_uid"))
	k := map[string]*resource{"payto_payment": payToPayment, "payto_agreement": payToAgreement}[data.Text("resource_type")]
	switch {
	case e.Type == "" || uid == "":
		return Event{}, errNotEvent
	case k != nil:
		key := contract.Terms{KeyScope: k.scope}.KeyIn(nil, uid)
		e.Told = []Told{e.told(key, uid, "", data.Object("resource_metadata"))}
	}
	return e, nil
}

func (e Event) told(key, ref, state string, metadata contract.Object) Told {
	t := Told{Key: key, Outcome: contract.Outcome{
		Status: contract.Duplicate, Resource: ref, State: state, RequestID: e.ID, Source: contract.FromOutside,
		Reason: "the event " + e.Type + " shows that it exists",
	}}
	for name, v := range metadata {
		if text, ok := contract.Scalar(v); ok {
			if t.Metadata == nil {
				t.Metadata = map[string]string{}
			}
			t.Metadata[name] = text
		}
	}
	return t
}

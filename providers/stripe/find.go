package stripe

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

// The stages of a look-up: page n of the events is stage n, page n of the
// resource's own list is stage listStage+n-1.
const (
	listStage = 51
	lastStage = 99 // so that no look-up takes more than 99 reads
)

// clockSkew is how far our clock may be from Stripe's.
const clockSkew = time.Hour

// settle is how long after its first send a request may still come to execution.
// Stripe publishes no bound, and reconciles failed requests later. We take the
// time for which the key protects: inside it a resend under the key settles the
// operation better than any list, and no send is made towards its end.
const settle = retentionV1

// Find looks the operation up in the events, by its key, and then, for a create
// that carries metadata, in the list of what it makes.
//
// An event of the request that shows its effect proves it; no event proves
// nothing, since events appear late, are kept for 30 days, and need an API version
// from 2017-05-25 on. A list of API v1 is read-after-write, so a whole list
// without a match proves absence, once nothing can come any more (24 hours after
// the first send) and where the list leaves nothing out. Search is never asked.
//
// API v2 is not looked up: its lists are eventually consistent and its events were
// listed by object for most of its versions. Its keys live for 30 days, and a
// resend tells.
//
// Source: https://docs.stripe.com/api/events, https://docs.stripe.com/changelog/2017-05-25,
// https://docs.stripe.com/api-v2-overview (consistency of lists),
// https://docs.stripe.com/error-low-level (reconciliation) (read 2026-11-29).
func (a *Adapter) Find(ctx context.Context, c contract.Call, so contract.Finding, last *contract.Reply) (*http.Request, contract.Finding, error) {
	l := lookup{a: a, c: c, e: endpointOf(c.Request), so: so}
	l.so.Resources, l.so.Foreign = slices.Clone(so.Resources), slices.Clone(so.Foreign)
	switch {
	case l.e.version != 1 || l.e.method != http.MethodPost:
		l.so.Reason = "nothing to look this request up by"
		return nil, l.so, nil
	case c.FirstSent.IsZero():
		return nil, so, errors.New("stripe: a look-up needs the time of the first send")
	case last == nil && c.Key != "":
		return l.read(ctx, 1, "")
	case last == nil:
		return l.readList(ctx)
	}
	p, err := readPage(*last)
	if err == nil {
		err = l.match(p)
	}
	if err == nil && p.next != "" && p.next == so.Cursor {
		err = errors.New("stripe: a list that does not move on")
	}
	switch found := len(l.so.Resources) > 0 || l.so.Applied; {
	case err != nil && found:
		return nil, l.so, nil // what is proven stays proven
	case err != nil && so.Stage < listStage:
		l.so.Reason = "the events could not be read" // without the permission, say
		return l.readList(ctx)
	case err != nil:
		return nil, l.so, err
	case p.next != "" && so.Stage != listStage-1 && so.Stage != lastStage:
		return l.read(ctx, so.Stage+1, p.next)
	case found:
		return nil, l.so, nil
	case so.Stage < listStage:
		return l.readList(ctx)
	}
	l.conclude(p, last.At)
	return nil, l.so, nil
}

// lookup is one step of a look-up.
type lookup struct {
	a  *Adapter
	c  contract.Call
	e  endpoint
	so contract.Finding
}

// read returns the request for a page.
func (l lookup) read(ctx context.Context, stage int, after string) (*http.Request, contract.Finding, error) {
	path := "/v1/events"
	if stage >= listStage {
		path = "/v1/" + l.e.collection
	}
	query := url.Values{
		"limit":        {"100"},
		"created[gte]": {strconv.FormatInt(l.c.FirstSent.Add(-clockSkew).Unix(), 10)},
	}
	if after != "" {
		query.Set("starting_after", after)
	}
	r, err := contract.NewRead(ctx, l.c, path, query)
	l.so.Stage, l.so.Cursor = stage, after
	return r, l.so, err
}

// readList begins with the resource's own list, if the operation can be told there.
func (l lookup) readList(ctx context.Context) (*http.Request, contract.Finding, error) {
	if _, ok := l.own(); !ok {
		if l.so.Reason == "" {
			l.so.Reason = "no event shows the effect, and the request carries no metadata of its own to look for"
		}
		return nil, l.so, nil
	}
	return l.read(ctx, listStage, "")
}

// own returns what an object of this operation must show, if that tells it from
// others: metadata, and what else is compared.
func (l lookup) own() (asked map[string]string, ok bool) {
	asked, readable := readAsked(l.e, l.c)
	if !l.e.creates() || !readable {
		return nil, false
	}
	pairs := 0
	for name, value := range asked {
		key, isMetadata := strings.CutPrefix(name, "metadata.")
		if !isMetadata {
			continue
		}
		if value == "" || l.a.operationMetadata != nil && !slices.Contains(l.a.operationMetadata, key) {
			delete(asked, name)
			continue
		}
		pairs++
	}
	return asked, pairs > 0 && (l.a.operationMetadata == nil || pairs == len(l.a.operationMetadata))
}

// page is one page of a list.
type page struct {
	items []contract.Object
	next  string // cursor of the next page; "" after the last
}

func readPage(r contract.Reply) (page, error) {
	body, err := contract.DecodeObject(r.Body)
	more, isBool := body["has_more"].(bool)
	items, isList := body["data"].([]any)
	if r.Err != nil || r.StatusCode != http.StatusOK || err != nil || !isBool || !isList {
		return page{}, errors.New("stripe: a list that cannot be read")
	}
	var p page
	for _, item := range items {
		o, _ := item.(contract.Object)
		id := o.Text("id")
		if contract.CheckReference(id) != nil {
			return page{}, errors.New("stripe: a list with an entry that cannot be read")
		}
		p.items = append(p.items, o)
		if more {
			p.next = id
		}
	}
	if more && p.next == "" {
		return page{}, errors.New("stripe: an empty page that says there is more")
	}
	return p, nil
}

// match adds what a page shows of the operation.
func (l *lookup) match(p page) error {
	if l.so.Stage < listStage {
		for _, event := range p.items {
			l.matchEvent(event)
		}
		return nil
	}
	asked, ok := l.own()
	if !ok {
		return errors.New("stripe: the request cannot be told from others")
	}
	for _, object := range p.items {
		switch v, _ := compare(fields, asked, object); {
		case v == unreadable, object.Object("metadata") == nil:
			return errors.New("stripe: a list with an entry that cannot be compared")
		case v == equal && !slices.Contains(l.so.Foreign, object.Text("id")):
			l.add(object.Text("id"))
		}
	}
	return nil
}

func (l *lookup) add(id string) {
	if !slices.Contains(l.so.Resources, id) {
		l.so.Resources = append(l.so.Resources, id)
	}
	l.so.Reason = "found at Stripe"
}

// effects are the types of events that prove that an action was done, or a create
// whose object they do not carry. What is not listed proves nothing: a request
// that was declined has events too.
//
// Source: https://docs.stripe.com/changelog/acacia/2024-10-28/refund-webhook-update,
// and event.go of https://github.com/stripe/stripe-go at v76.25.0 (read 2026-11-29).
var effects = map[string][]string{
	"charges/capture":         {"charge.captured"},
	"invoices/finalize":       {"invoice.finalized"},
	"invoices/pay":            {"invoice.paid", "invoice.payment_succeeded"},
	"invoices/void":           {"invoice.voided"},
	"payment_intents/cancel":  {"payment_intent.canceled"},
	"payment_intents/capture": {"payment_intent.succeeded", "charge.captured"},
	"payment_intents/confirm": {"payment_intent.succeeded", "payment_intent.processing", "payment_intent.amount_capturable_updated"},
	"payouts/cancel":          {"payout.canceled"},
	"refunds":                 {"charge.refunded"}, // refund.created is sent from 2024-10-28 on
	"setup_intents/cancel":    {"setup_intent.canceled"},
	"setup_intents/confirm":   {"setup_intent.succeeded"},
	"topups/cancel":           {"topup.canceled"},
	"transfers/reversals":     {"transfer.reversed"},
}

// matchEvent reads one event. One request has several: only an object of the kind
// that it makes, or the one that it acts on, is its resource. Whether that object
// is in the state that was asked for is for the comparison to say.
func (l *lookup) matchEvent(event contract.Object) {
	if l.c.Key == "" {
		return
	}
	if event.Text("request.idempotency_key") != l.c.Key {
		l.matchForeign(event)
		return
	}
	kind, object := event.Text("type"), event.Object("data.object")
	if strings.HasSuffix(kind, "failed") {
		// A decline, as a rule; but not the last word on it.
		l.so.Reason = "an event shows a failed payment under this key"
		return
	}
	_, stateTells := done[l.e.name()]
	proves := slices.Contains(effects[l.e.name()], kind)
	id := object.Text("id")
	switch itself := id == l.e.id; {
	case contract.CheckReference(id) == nil && (l.e.creates() && object.Text("object") == l.e.kind() ||
		itself && proves && stateTells ||
		itself && l.e.action == "" && strings.HasSuffix(kind, ".updated")):
		l.add(id)
	case proves:
		l.so.Applied, l.so.Reason = true, "an event shows the effect"
	}
}

// matchForeign notes an object that another request made: what the list shows with
// our metadata and amount, and with another key in the event of its creation, is
// another operation's. Events from before API version 2017-05-25 do not tell.
func (l *lookup) matchForeign(event contract.Object) {
	kind, object := event.Text("type"), event.Object("data.object")
	made := strings.HasSuffix(kind, ".created") || kind == "charge.succeeded" || kind == "charge.pending"
	if made && event.Object("request") != nil && l.e.creates() && object.Text("object") == l.e.kind() {
		l.so.Foreign = append(l.so.Foreign, object.Text("id"))
	}
}

// complete are the lists that leave nothing out and take "created". Others hide
// what was canceled (subscriptions) or deleted.
//
// Source: https://docs.stripe.com/api/payment_intents/list, https://docs.stripe.com/api/subscriptions/list,
// and the list parameters of https://github.com/stripe/stripe-go at v76.25.0 (read 2026-11-29).
var complete = []string{"charges", "payment_intents", "payouts", "refunds", "topups", "transfers"}

// conclude says what a list without a match proves.
func (l *lookup) conclude(p page, at time.Time) {
	switch {
	case p.next != "":
		l.so.Reason = "not found among the newest objects, and there are more than can be read"
	case !slices.Contains(complete, l.e.collection):
		l.so.Reason = "not found, in a list that does not show everything"
	case at.Sub(l.c.FirstSent) < settle:
		l.so.Reason = "not found yet; absence can be told 24 hours after the first send"
	default:
		l.so.Absent, l.so.Reason = true, "the whole list was read, and nothing in it is of this operation"
	}
}

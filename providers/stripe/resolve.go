package stripe

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/idempact/idempact/contract"
)

// ResolveRequest returns the GET of the object that o.Resource names, on the
// call's own host: of the object in the path for an action on it, of a member of
// the collection for a create.
func (a *Adapter) ResolveRequest(ctx context.Context, c contract.Call, o contract.Outcome) (*http.Request, error) {
	e := endpointOf(c.Request)
	if e.version == 0 {
		return nil, fmt.Errorf("stripe: the path is of neither API, so its objects cannot be fetched")
	}
	path := append(slices.Clone(e.segments), o.Resource)
	if n := slices.Index(e.segments, o.Resource); n >= 0 {
		path = path[:n+1]
	} else if _, action := done[e.name()]; action {
		return nil, fmt.Errorf("stripe: the reference is not the object that the request acts on")
	}
	for _, p := range path {
		if err := contract.CheckReference(p); err != nil {
			return nil, fmt.Errorf("stripe: %w", err)
		}
	}
	return contract.NewRead(ctx, c, fmt.Sprintf("/v%d/%s", e.version, strings.Join(path, "/")), nil)
}

// ClassifyResolve compares the fetched object with what was asked, where both
// show it. It is this operation's if all of that is equal and, for an action, its
// state shows the action done; it is another's if an amount, a currency or what
// it is about differs; and it stays a Duplicate if it cannot be read or does not
// tell. Metadata and the customer do not make it another's: a later request may
// have changed them, and "nothing of ours exists" would allow to pay again.
func (a *Adapter) ClassifyResolve(c contract.Call, o contract.Outcome, r contract.Reply) contract.Outcome {
	o.Source = contract.FromLookUp
	o.RequestID = headerFacts(r).requestID
	object, err := contract.DecodeObject(r.Body)
	if r.Err != nil || r.StatusCode != http.StatusOK || err != nil ||
		contract.CheckReference(o.Resource) != nil || object.Text("id") != o.Resource || object["error"] != nil {
		o.Reason = "the object that exists could not be fetched to compare it"
		return o
	}
	o.State = contract.Word(object.Text("status"))
	e := endpointOf(c.Request)
	asked, ok := readAsked(e, c)
	if !ok {
		o.Reason = "the request cannot be read, to compare it with the object that exists"
		return o
	}
	verdict, reason := compare(e.fields(o.Resource), asked, object)
	switch {
	case verdict == differs:
		o.Status, o.Reason = contract.KeyReused, reason
	case verdict != equal:
		o.Reason = reason
	case e.tookPart(asked, object):
		o.Reason = "the object exists, and another amount was taken than all of it, which was asked for"
	case !e.shownDone(asked, object):
		o.Reason = "the object exists, and its state does not show this request done"
	default:
		o.Status, o.Reason = contract.Succeeded, "fetched, and as it was asked for"
	}
	return o
}

// state is a field of an object, and the values of it that prove an action done.
type state struct {
	field  string
	values []string
}

// done says what proves an action. An action that is not listed is never proven
// by the object's state.
//
// Source: https://docs.stripe.com/payments/paymentintents/lifecycle, and the Status
// constants of https://github.com/stripe/stripe-go at v76.25.0 (read 2026-11-29).
var done = map[string]state{
	"payment_intents/confirm": {"status", []string{"succeeded", "requires_capture", "processing"}},
	"payment_intents/capture": {"status", []string{"succeeded"}},
	"payment_intents/cancel":  {"status", []string{"canceled"}},
	"setup_intents/confirm":   {"status", []string{"succeeded", "processing"}},
	"setup_intents/cancel":    {"status", []string{"canceled"}},
	"charges/capture":         {"captured", []string{"true"}},
	"invoices/finalize":       {"status", []string{"open", "paid", "uncollectible", "void"}},
	"invoices/pay":            {"status", []string{"paid"}},
	"invoices/void":           {"status", []string{"void"}},
	"payouts/cancel":          {"status", []string{"canceled"}},
	"refunds/cancel":          {"status", []string{"canceled"}},
	"topups/cancel":           {"status", []string{"canceled"}},
}

// shownDone reports whether the object's state shows the request done. For a
// create its existence does, unless it was to be confirmed in the same request;
// for an update, what was asked is what was compared.
func (e endpoint) shownDone(asked map[string]string, object contract.Object) bool {
	name := e.name()
	switch at := slices.Index(e.segments, object.Text("id")); {
	case e.creates() && asked["confirm"] == "true":
		if object.Text("status") == "requires_action" {
			return true // confirmed: it waits for the customer
		}
		name += "/confirm"
	case at < 0, at == len(e.segments)-1:
		return true
	}
	want, known := done[name]
	have, _ := contract.Scalar(object.At(want.field))
	return known && slices.Contains(want.values, have)
}

// The fields of an object that show parameters of the request: of a create or an
// update, and of some actions.
var (
	fields = map[string]string{
		"amount": "amount", "currency": "currency", // v1
		"amount.value": "amount.value", "amount.currency": "amount.currency", // v2
		"customer": "customer", "destination": "destination",
		"payment_intent": "payment_intent", "charge": "charge",
	}
	actionFields = map[string]map[string]string{
		"payment_intents/confirm": {"payment_method": "payment_method"},
		"payment_intents/capture": {"amount_to_capture": "amount_received"},
		"charges/capture":         {"amount": "amount_captured"},
	}
)

// testCards is how the names of test cards start, which stand for payment methods
// made of them.
//
// Source: https://docs.stripe.com/testing (read 2026-11-29).
const testCards = "pm_card_"

// wholes are the actions that take all of the amount where they name none: the
// parameter that would, and the field that shows how much was taken.
var wholes = map[string]struct{ param, taken string }{
	"payment_intents/capture": {"amount_to_capture", "amount_received"},
	"charges/capture":         {"amount", "amount_captured"},
}

// tookPart reports whether the object shows that an action was done which took a
// part of the amount, where all of it was asked for.
func (e endpoint) tookPart(asked map[string]string, object contract.Object) bool {
	whole, ok := wholes[e.name()]
	if _, named := asked[whole.param]; !ok || named {
		return false
	}
	amount, shownAmount := contract.Scalar(object.At("amount"))
	taken, shownTaken := contract.Scalar(object.At(whole.taken))
	return shownAmount && shownTaken && amount != taken
}

// fields returns the fields to compare with the object of this id.
func (e endpoint) fields(id string) map[string]string {
	if at := slices.Index(e.segments, id); at >= 0 && at < len(e.segments)-1 {
		return actionFields[e.name()]
	}
	return fields
}

// comparison says what a field shows; the larger one tells more.
type comparison int

const (
	equal      comparison = iota
	changed               // differs, in a field that later requests may change
	unreadable            // does not tell
	differs
)

// compare compares what was asked with what the object shows.
func compare(fields map[string]string, asked map[string]string, object contract.Object) (comparison, string) {
	verdict, reason := equal, ""
	for _, param := range slices.Sorted(maps.Keys(asked)) { // in order: a pure function gives one answer
		v, why := equal, ""
		if key, ok := strings.CutPrefix(param, "metadata."); ok {
			v, why = compareMetadata(key, asked[param], object.Object("metadata"))
		} else if field, ok := fields[param]; ok {
			if shown, ok := contract.Scalar(object.At(field)); ok {
				v, why = compareField(field, asked[param], shown)
			}
		}
		if v > verdict {
			verdict, reason = v, why
		}
	}
	return verdict, reason
}

// compareMetadata compares one pair. An empty value asks for a removal.
func compareMetadata(key, want string, shown contract.Object) (comparison, string) {
	have, there := shown[key].(string)
	if shown == nil || want == "" || there && have == want {
		return equal, ""
	}
	return changed, "the object that exists carries other metadata than was asked for"
}

// compareField names amounts and currencies, and no other value.
func compareField(field, want, have string) (comparison, string) {
	switch {
	case strings.HasSuffix(field, "currency"):
		if strings.EqualFold(want, have) {
			return equal, ""
		}
		return differs, fmt.Sprintf("the object that exists has currency %q, and %q was asked for", contract.Word(have), contract.Word(want))
	case strings.HasPrefix(field, "amount"):
		h, w := integer(have), integer(want)
		if h == nil || w == nil {
			return unreadable, "an amount cannot be read, to compare the object that exists with the request"
		}
		if h.Cmp(w) == 0 {
			return equal, ""
		}
		return differs, fmt.Sprintf("the object that exists has %s %s, and %s was asked for", field, h, w)
	case want == have:
		return equal, ""
	case strings.HasPrefix(want, testCards):
		return equal, "" // the object shows another name of it
	case field == "customer", field == "payment_method":
		return changed, "the object that exists has another " + field + " than was asked for"
	default:
		return differs, "the object that exists has another " + field + " than was asked for"
	}
}

// integer parses a whole number in digits of any length, or returns nil.
func integer(s string) *big.Int {
	if s == "" || len(s) > 64 || strings.Trim(s, "0123456789") != "" {
		return nil
	}
	n, _ := new(big.Int).SetString(s, 10)
	return n
}

// readAsked returns the scalar parameters of a request by dotted path: of a form
// in v1 ("metadata[order]" is "metadata.order"), of JSON in v2. A body that cannot
// be read, or that says one thing twice, is not ok.
func readAsked(e endpoint, c contract.Call) (asked map[string]string, ok bool) {
	asked = map[string]string{}
	if len(bytes.TrimSpace(c.Body)) == 0 {
		return asked, true
	}
	if e.version == 2 {
		object, err := contract.DecodeObject(c.Body)
		flatten(asked, "", object)
		return asked, err == nil
	}
	form, err := url.ParseQuery(string(c.Body))
	if err != nil {
		return nil, false
	}
	for name, values := range form {
		if strings.HasSuffix(name, "[]") {
			continue // a list
		}
		if len(values) != 1 {
			return nil, false
		}
		asked[dotted(name)] = values[0]
	}
	return asked, true
}

func dotted(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "[", "."), "]", "")
}

func flatten(into map[string]string, prefix string, o contract.Object) {
	for name, v := range o {
		if deeper, ok := v.(contract.Object); ok {
			flatten(into, prefix+name+".", deeper)
		} else if s, ok := contract.Scalar(v); ok {
			into[prefix+name] = s
		}
	}
}

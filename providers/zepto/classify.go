package zepto

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/idempact/idempact/contract"
)

// Classify says what one reply revealed.
func (a *Adapter) Classify(c contract.Call, r contract.Reply) contract.Outcome {
	e := endpointOf(c.Request)
	o := decide(e, c, r)
	switch o.Status {
	case contract.Unknown, contract.InProgress, contract.NotExecuted:
		o.NoResend = e.once && r.Sent
		o.RetryAfter = r.Wait()
	}
	// Not documented; a request id costs nothing and helps support.
	o.RequestID = contract.Word(contract.HeaderValue(r.Header, "X-Request-Id"))
	return o
}

func decide(e endpoint, c contract.Call, r contract.Reply) contract.Outcome {
	switch {
	case r.StatusCode == http.StatusTooManyRequests, r.StatusCode == http.StatusTooEarly:
		// Zepto documents no limits here, so this is what HTTP says: the request
		// was turned away unprocessed (RFC 6585 section 4, RFC 8470 section 5.2).
		// The status alone says so, whatever happened to the body.
		return contract.Outcome{Status: contract.NotExecuted, Reason: "turned away before execution"}
	case r.StatusCode == http.StatusServiceUnavailable && keyedByHeader(e, c) && asksToWait(r):
		// Another request with this key is being worked on. Status and header are
		// the whole message. Anywhere else a 503 is an outage, and says nothing.
		return contract.Outcome{Status: contract.InProgress, Reason: "another request with this key is being worked on"}
	}
	if o, none := contract.NoAnswer(r); none {
		return o
	}
	switch r.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent:
		return made(e, c, r)
	case http.StatusConflict:
		// Only a key in a header makes a 409 mean anything.
		if keyedByHeader(e, c) {
			return conflict(r)
		}
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden,
		http.StatusNotFound, http.StatusUnprocessableEntity:
		return refused(e, c, r)
	}
	// A redirect, a timeout, a server error, a page of a proxy: the request may
	// have been executed. Which failures Zepto keeps under a key is not published.
	return unknown(fmt.Sprintf("status %d does not tell whether the request took effect", r.StatusCode))
}

// keyedByHeader reports whether the call has the key that its endpoint honours.
func keyedByHeader(e endpoint, c contract.Call) bool {
	return e.key == keyInHeader &&
		(c.Key != "" || contract.HeaderValue(c.Request.Header, keyHeader) != "")
}

func asksToWait(r contract.Reply) bool {
	return slices.ContainsFunc(contract.HeaderValues(r.Header, "Retry-After"),
		func(v string) bool { return strings.TrimSpace(v) != "" })
}

// made reads a success. It needs the shape that is documented for the endpoint: a
// readable resource, or nothing at all where nothing is documented.
func made(e endpoint, c contract.Call, r contract.Reply) contract.Outcome {
	if e.bare != 0 {
		if r.StatusCode == e.bare && len(bytes.TrimSpace(r.Body)) == 0 {
			return contract.Outcome{Status: contract.Succeeded, Reason: "accepted; this endpoint shows no resource"}
		}
		return unknown("a success that this endpoint does not have")
	}
	body, err := contract.DecodeObject(r.Body)
	data := body.Object("data")
	switch {
	case err != nil || data == nil || body["errors"] != nil:
		return unknown("a success that shows no resource")
	case e.makes != nil && r.StatusCode != http.StatusOK && r.StatusCode != http.StatusCreated:
		return unknown("a success that this endpoint does not have")
	}
	ref, ok := shownReference(e, c, data)
	if !ok {
		return unknown("a success that does not show what was asked for")
	}
	return contract.Outcome{
		Status:   contract.Succeeded,
		Resource: ref,
		State:    state(data),
		Reason:   "the resource is shown",
	}
}

// shownReference returns the reference of the resource that a success shows, and
// whether it is of the kind that the endpoint makes.
func shownReference(e endpoint, c contract.Call, data contract.Object) (string, bool) {
	switch {
	case e.makes == nil:
		for _, name := range []string{"ref", "id", "uid"} {
			if ref := contract.Word(data.Text(name)); ref != "" {
				return ref, true
			}
		}
		return "", false
	case e.payTo:
		// Another uid is another payment, whoever's it is.
		ref := contract.Word(data.Text("uid"))
		return ref, ref != "" && ref == uid(c)
	default:
		ref := contract.Word(data.Text("ref"))
		k := kindOf(ref)
		return ref, ref != "" && (k == nil || k == e.makes)
	}
}

// state returns Zepto's word for where the resource stands; that of a payment
// stands at its payouts.
func state(data contract.Object) string {
	for _, name := range []string{"status", "state"} {
		if s := contract.Word(data.Text(name)); s != "" {
			return s
		}
	}
	if payouts := data.List("payouts"); len(payouts) == 1 {
		if p, ok := payouts[0].(contract.Object); ok {
			return contract.Word(p.Text("status"))
		}
	}
	return ""
}

// conflict reads a 409 for a key: it is the duplicate answer where it refers to
// the resource that holds the key. Titles are text and count for nothing.
func conflict(r contract.Reply) contract.Outcome {
	list, ok := errorsOf(r.Body)
	if !ok {
		return unknown("a conflict that is not in the documented form")
	}
	var refs []string
	unusable := false
	for _, e := range list {
		switch v := e.At("meta.resource_ref").(type) {
		case string:
			switch {
			case v == "" || slices.Contains(refs, v):
			case contract.Word(v) == "":
				unusable = true
			default:
				refs = append(refs, v)
			}
		case json.Number:
			unusable = true
		}
	}
	switch {
	case len(refs) == 0 && !unusable:
		return unknown("a conflict that names no resource")
	case len(refs) == 1 && !unusable:
		return contract.Outcome{Status: contract.Duplicate, Resource: refs[0],
			Reason: "a resource was already created with this key"}
	case len(refs) == 0:
		return contract.Outcome{Status: contract.Duplicate,
			Reason: "a resource was already created with this key; its reference cannot be used"}
	default:
		if unusable {
			refs = append(refs, "an unusable reference")
		}
		// One of them may be fetched and look right while the other is real, too.
		return contract.Outcome{Status: contract.Duplicate, Resource: strings.Join(refs, ", "),
			Reason: "the answer names more than one resource for this key"}
	}
}

// duplicateCodes say that the uid is taken.
var duplicateCodes = []string{"ZPPAY00", "ZPAGR00", "ZPREF00"}

// busyCodes say that the agreement has a request of this kind under way, which
// may be this one.
var busyCodes = []string{"ZPAMN01", "ZPARE01", "ZPCAN01", "ZPREA01", "ZPSUS01"}

// refused reads a refusal. It proves that nothing was done only in a documented
// form; a page of a proxy with the same status does not.
func refused(e endpoint, c contract.Call, r contract.Reply) contract.Outcome {
	if len(bytes.TrimSpace(r.Body)) == 0 && slices.Contains(e.bareRefusals, r.StatusCode) {
		return contract.Outcome{Status: contract.Rejected, Reason: "refused; this refusal is documented without a body"}
	}
	list, ok := errorsOf(r.Body)
	if !ok {
		return unknown("a refusal that is not in the documented form")
	}
	for _, x := range list {
		if code := contract.Word(x.Text("code")); slices.Contains(duplicateCodes, code) {
			return taken(e, c, r, code, x.Text("meta.resource_uid"))
		}
	}
	code := ""
	for _, x := range list {
		if code = contract.Word(x.Text("code")); code != "" {
			break
		}
	}
	switch {
	case slices.Contains(busyCodes, code):
		return contract.Outcome{Status: contract.InProgress, Code: code, Reason: "a request of this kind is under way on the agreement"}
	case !e.payTo && slices.ContainsFunc(list, func(x contract.Object) bool { return x.At("meta.resource_ref") != nil }):
		// The duplicate answer under another status: a resource exists.
		return unknown("a refusal that names a resource")
	default:
		return contract.Outcome{Status: contract.Rejected, Code: code, Reason: "refused; nothing was created"}
	}
}

// taken reads an answer that says that a uid is taken, which is the duplicate
// answer where it is about the uid that was asked.
func taken(e endpoint, c contract.Call, r contract.Reply, code, about string) contract.Outcome {
	asked := uid(c)
	if r.StatusCode != http.StatusUnprocessableEntity || e.makes == nil || code != e.makes.duplicate ||
		about != "" && about != asked {
		// A refund, for one, is told that its payment's uid is taken.
		return contract.Outcome{Code: code, Reason: "a uid is taken, and not in the way that this endpoint documents"}
	}
	return contract.Outcome{Status: contract.Duplicate, Resource: contract.Word(asked), Code: code,
		Reason: "the uid is taken"}
}

// errorsOf reads the two documented forms of an error: a sentence, which has
// nothing for a program, or a list of objects. It reports false for anything else.
func errorsOf(raw []byte) ([]contract.Object, bool) {
	body, err := contract.DecodeObject(raw)
	if err != nil || body["data"] != nil {
		return nil, false
	}
	switch v := body["errors"].(type) {
	case string:
		return nil, strings.TrimSpace(v) != ""
	case []any:
		var list []contract.Object
		for _, x := range v {
			o, ok := x.(contract.Object)
			if !ok || o.Text("title") == "" && o.Text("code") == "" {
				return nil, false
			}
			list = append(list, o)
		}
		return list, len(list) > 0
	default:
		return nil, false
	}
}

func unknown(reason string) contract.Outcome { return contract.Outcome{Reason: reason} }

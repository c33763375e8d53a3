package stripe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

// account answers reads as Stripe's lists do: newest first, in pages of two.
type account struct {
	lists map[string][]map[string]any // by path, newest first
	after time.Duration               // how long after the first send it is read
	fail  map[string]int              // status by path
	reads []string
}

func (s *account) read(t *testing.T, r *http.Request, first time.Time) *contract.Reply {
	q := r.URL.Query()
	s.reads = append(s.reads, r.URL.Path+" "+q.Get("starting_after"))
	assert.Equal(t, http.MethodGet, r.Method)
	assert.Equal(t, "https://api.stripe.com", r.URL.Scheme+"://"+r.URL.Host)
	assert.Equal(t, "100", q.Get("limit"))
	assert.Equal(t, fmt.Sprint(first.Add(-time.Hour).Unix()), q.Get("created[gte]"))
	at := first.Add(s.after)
	if code := s.fail[r.URL.Path]; code != 0 {
		return &contract.Reply{StatusCode: code, Sent: true, At: at, Body: []byte(`{"error":{"type":"invalid_request_error"}}`)}
	}
	list := s.lists[r.URL.Path]
	if after := q.Get("starting_after"); after != "" {
		for i, o := range list {
			if o["id"] == after {
				list = list[i+1:]
				break
			}
		}
	}
	n := min(2, len(list))
	body, err := json.Marshal(map[string]any{"object": "list", "data": append([]map[string]any{}, list[:n]...), "has_more": len(list) > n})
	require.NoError(t, err)
	return &contract.Reply{StatusCode: 200, Sent: true, At: at, Body: body}
}

func (s *account) find(t *testing.T, a *Adapter, c contract.Call) (contract.Finding, error) {
	t.Helper()
	var (
		so   contract.Finding
		last *contract.Reply
	)
	for range 101 {
		r, next, err := a.Find(t.Context(), c, so, last)
		if err != nil || r == nil {
			assert.Nil(t, r)
			return next, err
		}
		so, last = next, s.read(t, r, c.FirstSent)
	}
	t.Fatal("more than 100 reads")
	return so, nil
}

type obj = map[string]any

var eventNumber int

func event(key, kind string, object obj) obj {
	eventNumber++
	return obj{"id": fmt.Sprintf("evt_%d", eventNumber), "object": "event", "type": kind,
		"data": obj{"object": object}, "request": obj{"id": "req_1", "idempotency_key": key}}
}

func pi(id, status string, metadata obj) obj {
	return obj{"id": id, "object": "payment_intent", "amount": 100, "currency": "usd", "status": status, "metadata": metadata}
}

func create(body string) contract.Call { return call("POST", api+"/v1/payment_intents", body) }

func TestFindByKey(t *testing.T) {
	charge := obj{"id": "ch_1", "object": "charge"}
	for _, tc := range []struct {
		name    string
		call    contract.Call
		events  []obj
		want    []string
		applied bool
	}{
		{"created", create("amount=100"), []obj{event("k1", "payment_intent.created", pi("pi_1", "requires_payment_method", nil))}, []string{"pi_1"}, false},
		{"one request, several events", create("amount=100&confirm=true"), []obj{
			event("k1", "payment_intent.succeeded", pi("pi_1", "succeeded", nil)), event("k1", "charge.succeeded", charge),
			event("k1", "payment_intent.created", pi("pi_1", "requires_confirmation", nil)), event("other", "payment_intent.created", pi("pi_2", "x", nil)),
		}, []string{"pi_1"}, false},
		{"two effects under one key", create("amount=100"), []obj{
			event("k1", "payment_intent.created", pi("pi_2", "x", nil)), event("x", "charge.succeeded", charge), event("y", "charge.succeeded", charge),
			event("k1", "payment_intent.created", pi("pi_1", "x", nil)),
		}, []string{"pi_2", "pi_1"}, false},
		{"another key", create("amount=100"), []obj{event("k2", "payment_intent.created", pi("pi_1", "x", nil))}, nil, false},
		{"no key", create("amount=100"), []obj{{"id": "evt_x", "type": "payment_intent.created", "data": obj{"object": pi("pi_1", "x", nil)}, "request": nil}}, nil, false},
		{"an event of an old version", create("amount=100"), []obj{{"id": "evt_x", "type": "payment_intent.created", "data": obj{"object": pi("pi_1", "x", nil)}, "request": "req_1"}}, nil, false},
		{"a failure is no effect", call("POST", api+"/v1/charges", ""), []obj{event("k1", "charge.failed", charge)}, nil, false},
		{"another kind is no effect", create("amount=100"), []obj{event("k1", "customer.created", obj{"id": "cus_1", "object": "customer"})}, nil, false},
		{"a refund before refund.created", call("POST", api+"/v1/refunds", "charge=ch_1"), []obj{event("k1", "charge.refunded", charge)}, nil, true},
		{"a refund", call("POST", api+"/v1/refunds", "charge=ch_1"), []obj{event("k1", "refund.created", obj{"id": "re_1", "object": "refund"}), event("k1", "charge.refunded", charge)}, []string{"re_1"}, true},
		{"confirmed", call("POST", api+"/v1/payment_intents/pi_1/confirm", ""), []obj{event("k1", "payment_intent.succeeded", pi("pi_1", "succeeded", nil)), event("k1", "charge.succeeded", charge)}, []string{"pi_1"}, false},
		{"declined", call("POST", api+"/v1/payment_intents/pi_1/confirm", ""), []obj{event("k1", "payment_intent.payment_failed", pi("pi_1", "requires_payment_method", nil)), event("k1", "charge.failed", charge)}, nil, false},
		{"a capture that shows only its charge", call("POST", api+"/v1/payment_intents/pi_1/capture", ""), []obj{event("k1", "charge.captured", charge)}, nil, true},
		{"confirmed by half", call("POST", api+"/v1/payment_intents/pi_1/confirm", ""), []obj{event("k1", "payment_intent.requires_action", pi("pi_1", "requires_action", nil))}, nil, false},
		{"a reversal that shows only its transfer", call("POST", api+"/v1/transfers/tr_1/reversals", ""), []obj{event("k1", "transfer.reversed", obj{"id": "tr_1", "object": "transfer"})}, nil, true},
		{"an update", call("POST", api+"/v1/customers/cus_1", ""), []obj{event("k1", "customer.updated", obj{"id": "cus_1", "object": "customer"})}, []string{"cus_1"}, false},
		{"an update of something else", call("POST", api+"/v1/customers/cus_1", ""), []obj{event("k1", "customer.updated", obj{"id": "cus_2", "object": "customer"})}, nil, false},
		{"an unknown action", call("POST", api+"/v1/quotes/qt_1/accept", ""), []obj{event("k1", "quote.accepted", obj{"id": "qt_1", "object": "quote"})}, nil, false},
		{"a hostile id", create("amount=100"), []obj{event("k1", "payment_intent.created", pi("../x", "x", nil))}, nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &account{lists: map[string][]map[string]any{"/v1/events": tc.events}}
			got, err := s.find(t, New(nil), tc.call)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got.Resources)
			assert.Equal(t, tc.applied, got.Applied)
			assert.False(t, got.Absent)
			assert.NotEmpty(t, got.Reason)
		})
	}
}

func TestFindByMetadata(t *testing.T) {
	const day = 24 * time.Hour
	asked := "amount=100&currency=usd&metadata[order]=1"
	ours, theirs := obj{"order": "1", "more": "x"}, obj{"order": "2"}
	for _, tc := range []struct {
		name   string
		body   string
		list   []obj
		after  time.Duration
		opts   *Options
		want   []string
		absent bool
	}{
		{"found on the third page", asked, []obj{pi("pi_5", "x", theirs), pi("pi_4", "x", theirs), pi("pi_3", "x", theirs), pi("pi_2", "x", theirs), pi("pi_1", "x", ours)}, 0, nil, []string{"pi_1"}, false},
		{"found twice", asked, []obj{pi("pi_2", "x", ours), pi("pi_1", "x", ours)}, 0, nil, []string{"pi_2", "pi_1"}, false},
		{"another amount", "amount=5&metadata[order]=1", []obj{pi("pi_1", "x", ours)}, day, nil, nil, true},
		{"not yet", asked, []obj{pi("pi_1", "x", theirs)}, day - 1, nil, nil, false},
		{"absent", asked, []obj{pi("pi_1", "x", theirs)}, day, nil, nil, true},
		{"an empty list", asked, nil, day, nil, nil, true},
		{"no metadata", "amount=100", nil, day, nil, nil, false},
		{"metadata twice", asked + "&metadata[order]=2", nil, day, nil, nil, false},
		{"only the named key", asked + "&metadata[env]=prod", []obj{pi("pi_1", "x", obj{"order": "1"})}, 0, &Options{OperationMetadata: []string{"order"}}, []string{"pi_1"}, false},
		{"the named key is missing", "metadata[env]=prod", []obj{pi("pi_1", "x", obj{"env": "prod"})}, day, &Options{OperationMetadata: []string{"order"}}, nil, false},
		{"one of two named keys is missing", asked, []obj{pi("pi_1", "x", ours)}, day, &Options{OperationMetadata: []string{"order", "try"}}, nil, false},
		{"turned off", asked, []obj{pi("pi_1", "x", ours)}, day, &Options{OperationMetadata: []string{}}, nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, fail := range []map[string]int{nil, {"/v1/events": 403}} {
				s := &account{lists: map[string][]map[string]any{"/v1/payment_intents": tc.list}, after: tc.after, fail: fail}
				got, err := s.find(t, New(tc.opts), create(tc.body))
				require.NoError(t, err)
				assert.Equal(t, tc.want, got.Resources, got.Reason)
				assert.Equal(t, tc.absent, got.Absent, got.Reason)
				assert.NotEmpty(t, got.Reason)
				assert.Equal(t, "/v1/events ", s.reads[0])
			}
		})
	}
	t.Run("a keyless operation has no events", func(t *testing.T) {
		s := &account{lists: map[string][]map[string]any{"/v1/payment_intents": {pi("pi_1", "x", ours)}}}
		c := create(asked)
		c.Key = ""
		got, err := s.find(t, New(nil), c)
		require.NoError(t, err)
		assert.Equal(t, []string{"pi_1"}, got.Resources)
		assert.Equal(t, []string{"/v1/payment_intents "}, s.reads)
	})
	t.Run("a list that hides things proves no absence", func(t *testing.T) {
		s := &account{after: 48 * time.Hour}
		got, err := s.find(t, New(nil), call("POST", api+"/v1/subscriptions", "metadata[order]=1"))
		require.NoError(t, err)
		assert.False(t, got.Absent)
	})
	t.Run("an action has no list", func(t *testing.T) {
		s := &account{after: 48 * time.Hour}
		got, err := s.find(t, New(nil), call("POST", api+"/v1/payment_intents/pi_1/confirm", "metadata[order]=1"))
		require.NoError(t, err)
		assert.False(t, got.Absent)
		assert.Equal(t, []string{"/v1/events "}, s.reads)
	})
}

func TestFindNothingToReadBy(t *testing.T) {
	for _, c := range []contract.Call{
		call("POST", api+"/v2/core/accounts", "{}"), call("DELETE", api+"/v1/customers/cus_1", ""),
		call("GET", api+"/v1/charges", ""), call("POST", api+"/oauth/token", ""),
	} {
		r, so, err := New(nil).Find(t.Context(), c, contract.Finding{}, nil)
		require.NoError(t, err)
		assert.Nil(t, r)
		assert.False(t, so.Absent || so.Applied)
	}
	c := create("")
	c.FirstSent = time.Time{}
	_, _, err := New(nil).Find(t.Context(), c, contract.Finding{}, nil)
	assert.Error(t, err)
}

// What cannot be read ends the look-up and proves nothing; what was found stays.
func TestFindHostileLists(t *testing.T) {
	c := create("amount=100&metadata[order]=1")
	for _, body := range []string{
		``, `{}`, `[]`, `<html>`, `null`, `{"data":[],"has_more":"false"}`, `{"data":{},"has_more":false}`, `{"data":[]}`,
		`{"data":[],"has_more":true}`, `{"data":[1],"has_more":false}`, `{"data":[{}],"has_more":false}`,
		`{"data":[{"id":"../x"}],"has_more":true}`, `{"data":[{"id":"pi_1"}],"has_more":false}`,
		`{"data":[{"id":"pi_1","metadata":{"order":"1"},"amount":1e2}],"has_more":false}`,
		`{"data":[{"id":"pi_0","metadata":{}}],"has_more":true}`, // the cursor that was asked for
		`{"data":[],"has_more":false,"has_more":true}`,
	} {
		for _, found := range [][]string{nil, {"pi_7"}} {
			so := contract.Finding{Stage: listStage, Cursor: "pi_0", Resources: found}
			last := reply(200, body)
			last.At = c.FirstSent.Add(48 * time.Hour)
			r, got, err := New(nil).Find(t.Context(), c, so, &last)
			assert.Nil(t, r, body)
			assert.False(t, got.Absent, body)
			assert.Equal(t, found, got.Resources, body)
			assert.Equal(t, found == nil, err != nil, body)
		}
	}
	steered := reply(200, `{"data":[{"id":"../x"}],"has_more":true}`)
	r, _, err := New(nil).Find(t.Context(), c, contract.Finding{Stage: 1}, &steered)
	require.NoError(t, err)
	assert.Empty(t, r.URL.Query().Get("starting_after"), "no cursor from a page that cannot be read")
	assert.Equal(t, "/v1/payment_intents", r.URL.Path)
	for _, last := range []contract.Reply{
		{StatusCode: 500, Sent: true}, {Err: context.DeadlineExceeded, Sent: true},
		{StatusCode: 200, Sent: true, Body: []byte(`{"data":[],"has_more":false}`), Err: context.Canceled},
		{StatusCode: 404, Sent: true, Body: []byte(`{"data":[],"has_more":false}`)},
	} {
		last.At = c.FirstSent.Add(48 * time.Hour)
		_, got, err := New(nil).Find(t.Context(), c, contract.Finding{Stage: listStage}, &last)
		assert.Error(t, err)
		assert.False(t, got.Absent)
	}
}

// A busy account: both lists are cut, and a cut list proves nothing.
func TestFindIsBounded(t *testing.T) {
	var events, list []obj
	for n := range 300 {
		events = append(events, event("other", "charge.succeeded", obj{"id": "ch_1", "object": "charge"}))
		list = append(list, pi(fmt.Sprintf("pi_%d", n), "x", obj{"order": "0"}))
	}
	s := &account{lists: map[string][]map[string]any{"/v1/events": events, "/v1/payment_intents": list}, after: 48 * time.Hour}
	got, err := s.find(t, New(nil), create("metadata[order]=1"))
	require.NoError(t, err)
	assert.False(t, got.Absent)
	assert.Empty(t, got.Resources)
	assert.Len(t, s.reads, 99)
	assert.Equal(t, "/v1/payment_intents ", s.reads[50], "the list begins at its beginning")
	assert.Equal(t, 49, strings.Count(strings.Join(s.reads, "\n"), "/v1/payment_intents"))
}

// A Finding is a value: a step does not write into the one before.
func TestFindDoesNotShare(t *testing.T) {
	c := create("metadata[order]=1")
	so := contract.Finding{Stage: listStage, Resources: make([]string, 0, 8)}
	body, _ := json.Marshal(obj{"data": []obj{pi("pi_1", "x", obj{"order": "1"})}, "has_more": false})
	last := reply(200, string(body))
	_, one, err := New(nil).Find(t.Context(), c, so, &last)
	require.NoError(t, err)
	require.Equal(t, []string{"pi_1"}, one.Resources)
	assert.Empty(t, so.Resources[:1][0])
}

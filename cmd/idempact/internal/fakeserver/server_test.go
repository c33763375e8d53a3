package fakeserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/fakes"
)

// desk is a server with its log.
type desk struct {
	t *testing.T
	*httptest.Server

	mu  sync.Mutex
	log []Line
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t}
	s := New(func() *fakes.Server { return fakes.NewStripe(&fakes.Options{Seed: 1}) }, func(l Line) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.log = append(d.log, l)
	})
	d.Server = httptest.NewServer(s)
	t.Cleanup(d.Close)
	return d
}

// do sends a request to a space and returns the status and the body, 0 where no answer
// came.
func (d *desk) do(space, method, path, body string) (int, string) {
	r, err := http.NewRequest(method, d.URL+path, strings.NewReader(body))
	require.NoError(d.t, err)
	r.Header.Set("Authorization", "Bearer sk_test_secret")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if key, rest, ok := strings.Cut(body, "!"); ok {
		r.Header.Set("Idempotency-Key", key)
		r.Body, r.ContentLength, r.GetBody = io.NopCloser(strings.NewReader(rest)), int64(len(rest)), nil
	}
	if space != "" {
		r.Header.Set(SpaceHeader, space)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(resp.Body) // a fault may have cut it
	return resp.StatusCode, string(raw)
}

const payment = "amount=2500&currency=usd&confirm=true&payment_method=pm_card_visa"

func (d *desk) pay(space, key string) int {
	status, _ := d.do(space, "POST", "/v1/payment_intents", key+"!"+payment)
	return status
}

func (d *desk) effects(space string) int {
	status, body := d.do(space, "GET", "/_fake/effects", "")
	require.Equal(d.t, http.StatusOK, status)
	var all []map[string]any
	require.NoError(d.t, json.Unmarshal([]byte(body), &all))
	return len(all)
}

func TestControl(t *testing.T) {
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "faults", `{"faults":["LoseReply","Throttle(3s)"]}`, 200, `"added": 2`},
		{"POST", "faults", "# two lines\nLoseReply\n\nThrottle(3s)\n", 200, `"added": 2`},
		{"POST", "faults", "", 200, `"added": 0`},
		{"POST", "faults", `{"faults":["Explode"]}`, 400, "no fault is named"},
		{"POST", "faults", `{"fault":["LoseReply"]}`, 400, "unknown field"},
		{"POST", "faults", `{"faults":"LoseReply"}`, 400, "not the JSON"},
		{"POST", "faults", `{"faults":["LoseReply"]`, 400, "not the JSON"},
		{"POST", "faults", `{"faults":[]}{"faults":["LoseReply"]}`, 400, "more than one"},
		{"POST", "faults", strings.Repeat("#", maxControl+1), 400, "larger than 1 MiB"},
		{"POST", "clock", `{"advance":"25h"}`, 200, `"now"`},
		{"POST", "clock", "25h\n", 200, `"now"`},
		{"POST", "clock", `{"advance":"-1h"}`, 400, "advance is a duration"},
		{"POST", "clock", `{"advance":25}`, 400, "not the JSON"},
		{"POST", "clock", `{}`, 400, "advance is a duration"},
		{"POST", "clock", `{"advance":"2562047h"}`, 400, "a century at most"},
		{"GET", "effects", "", 200, "[]"},
		{"GET", "requests", "", 200, "[]"},
		{"POST", "reset", "", 200, `"reset": true`},
		{"GET", "", "", 200, "POST /_fake/reset"},
		{"GET", "nonsense", "", 404, "GET /_fake lists"},
		{"DELETE", "effects", "", 404, "GET /_fake lists"},
	} {
		status, body := newDesk(t).do("", c.method, "/_fake/"+c.path, c.body)
		assert.Equal(t, c.status, status, "%s %s %.40s", c.method, c.path, c.body)
		assert.Contains(t, body, c.want)
	}
}

// A clock is moved as often as one likes, but never past the end of time.
func TestClockEnds(t *testing.T) {
	d := newDesk(t)
	for _, want := range []int{200, 200, 400} {
		status, _ := d.do("", "POST", "/_fake/clock", "400000h")
		assert.Equal(t, want, status)
	}
	d.do("", "POST", "/_fake/reset", "")
	status, _ := d.do("", "POST", "/_fake/clock", "400000h")
	assert.Equal(t, 200, status)
}

// A lost answer, its repeat, a key that is forgotten, and a reset.
func TestPlay(t *testing.T) {
	d := newDesk(t)
	d.do("", "POST", "/_fake/faults", "LoseReply")
	assert.Zero(t, d.pay("", "order-1001"))
	assert.Equal(t, 200, d.pay("", "order-1001"))
	assert.Equal(t, 1, d.effects(""))
	d.do("", "POST", "/_fake/clock", "25h")
	assert.Equal(t, 200, d.pay("", "order-1001"))
	assert.Equal(t, 2, d.effects(""))
	_, body := d.do("", "GET", "/_fake/requests", "")
	assert.NotContains(t, body, "order-1001")
	assert.NotContains(t, body, "secret")
	d.do("", "POST", "/_fake/reset", "")
	assert.Zero(t, d.effects(""))
}

// A condition keeps a fault for the requests that it names.
func TestFaultsWithConditions(t *testing.T) {
	for _, c := range []struct {
		script              string
		write, refund, read int
	}{
		{`{"faults":["Status(503,x)"]}`, 503, 400, 200},
		{`{"faults":["Status(503,x)"],"reads":true}`, 200, 400, 503},
		{`{"faults":["Status(503,x)"],"method":"get"}`, 200, 400, 503},
		{`{"faults":["Status(503,x)"],"path":"/v1/refunds"}`, 200, 503, 200},
		{`{"faults":["Status(503,x)"],"method":"PUT"}`, 200, 400, 200},
	} {
		d := newDesk(t)
		status, _ := d.do("", "POST", "/_fake/faults", c.script)
		require.Equal(t, 200, status)
		status, _ = d.do("", "GET", "/v1/payment_intents", "")
		assert.Equal(t, c.read, status, "the read: %s", c.script)
		assert.Equal(t, c.write, d.pay("", "k"), "the payment: %s", c.script)
		status, _ = d.do("", "POST", "/v1/refunds", "k2!payment_intent=pi_none")
		assert.Equal(t, c.refund, status, "the refund: %s", c.script)
	}
}

// Spaces share nothing, and there is an end to them.
func TestSpaces(t *testing.T) {
	d := newDesk(t)
	d.do("a", "POST", "/_fake/faults", "Status(503,x)")
	assert.Equal(t, 200, d.pay("b", "k"))
	assert.Equal(t, 503, d.pay("a", "k"))
	assert.Equal(t, []int{0, 0, 1}, []int{d.effects(""), d.effects("a"), d.effects("b")})
	for i := range maxSpaces {
		d.do(fmt.Sprint("many", i), "GET", "/_fake/effects", "")
	}
	status, body := d.do("one more", "GET", "/_fake/effects", "")
	assert.Equal(t, http.StatusTooManyRequests, status)
	assert.Contains(t, body, "reset those")
	assert.Equal(t, http.StatusTooManyRequests, d.pay("one more", "k"))
	assert.Zero(t, d.effects(""), "the one without a name is always there")
	d.do("b", "POST", "/_fake/reset", "")
	assert.Equal(t, 200, d.pay("one more", "k"))
}

// The log has a line for each request, and nothing in it is a secret or writes to the
// terminal.
func TestLog(t *testing.T) {
	d := newDesk(t)
	d.do("", "POST", "/_fake/faults", "LoseReply")
	d.pay("", "order-1001")
	d.pay("", "order-1001")
	d.do("", "GET", "/v1/%1b%5b2J%0aFAKE%C2%9b?q=secret", "")
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() { assert.Equal(t, 200, d.pay("", fmt.Sprint("k", i))) })
	}
	wait.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	require.Len(t, d.log, 23)
	effects := 0
	for _, l := range d.log {
		s := l.String()
		assert.NotRegexp(t, `[\x00-\x1f\x7f-\x{9f}]|order-1001|secret|visa`, s)
		effects += len(l.Effects)
	}
	assert.Equal(t, 21, effects)
	assert.Regexp(t, `^[-0-9]+ [:0-9]+ POST   /v1/payment_intents key [0-9a-f]{12} ! LoseReply -> 200 = create payment_intent pi_\w+$`, d.log[0].String())
	assert.True(t, strings.HasSuffix(d.log[1].String(), "-> 200 replayed"), d.log[1])
}

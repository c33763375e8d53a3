package explain

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/cmd/idempact/internal/answer"
	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/internal/catalog"
)

// shown returns a documented exchange as curl -i shows its answer, over HTTP/1.1 or, of
// no announced length, over HTTP/2.
func shown(e example, two bool) string {
	var b bytes.Buffer
	if two {
		fmt.Fprintf(&b, "HTTP/2 %d \r\n", e.Reply.StatusCode)
	} else {
		fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\nContent-Length: %d\r\n", e.Reply.StatusCode, http.StatusText(e.Reply.StatusCode), len(e.Reply.Body))
	}
	_ = e.Reply.Header.Write(&b) // into memory
	return b.String() + "\r\n" + string(e.Reply.Body)
}

// eachExchange calls f for every documented exchange that has an answer in text.
func eachExchange(t *testing.T, f func(p catalog.Provider, e example)) {
	for _, p := range catalog.Providers {
		for _, e := range exchanges(p) {
			if e.Reply.StatusCode != 0 && e.Reply.Err == nil {
				f(p, e)
			}
		}
	}
}

// A guess by the answer alone is right, or there is none: never another provider's.
func TestGuessDocumented(t *testing.T) {
	right, all := map[string]int{}, map[string]int{}
	eachExchange(t, func(p catalog.Provider, e example) {
		if len(e.shape) < 2 {
			return
		}
		a, err := answer.Read(strings.NewReader(shown(e, false)), answer.Options{})
		require.NoError(t, err, "%s %s", p.Name, e.Name)
		all[p.Name]++
		for range 3 { // it must not depend on the order of a map
			got, why, err := Guess(a)
			if err != nil {
				continue
			}
			assert.Equal(t, p.Name, got.Name, "%s: %s", e.Name, why)
		}
		if got, _, err := Guess(a); err == nil && got.Name == p.Name {
			right[p.Name]++
		}
	})
	for _, p := range catalog.Providers {
		t.Logf("%-15s %3d of %3d are told by the answer alone", p.Name, right[p.Name], all[p.Name])
	}
}

// The shape of an answer tells it from other providers' also where the answer itself is
// not among the documented ones.
func TestGuessUndocumented(t *testing.T) {
	right, all := 0, 0
	eachExchange(t, func(p catalog.Provider, e example) {
		if len(e.shape) < 2 {
			return
		}
		a, err := answer.Read(strings.NewReader(shown(e, false)), answer.Options{})
		require.NoError(t, err, "%s %s", p.Name, e.Name)
		all++
		without := func(other catalog.Provider, o example) bool {
			return other.Name == p.Name && (o.Name == e.Name || bytes.Equal(o.Reply.Body, e.Reply.Body))
		}
		got, why := byShapeBut(a, without)
		if got.Name == "" {
			got, why = byMembersBut(a, without)
		}
		if got.Name != "" {
			assert.Equal(t, p.Name, got.Name, "%s: %s", e.Name, why)
		}
		if got.Name == p.Name {
			right++
		}
	})
	t.Logf("%d of %d are told by their shape, without themselves", right, all)
}

// An answer that was cut, wherever it was, never tells more of the money than the whole
// one does.
func TestCutAnywhere(t *testing.T) {
	eachExchange(t, func(p catalog.Provider, e example) {
		for _, two := range []bool{false, true} {
			text := shown(e, two)
			read := func(n int) *Explanation {
				a, err := answer.Read(strings.NewReader(text[:n]), answer.Options{})
				if err != nil || a.Cut != "" {
					return nil // the command says so
				}
				x, err := Explain(p, a)
				require.NoError(t, err)
				return x
			}
			whole := read(len(text))
			require.NotNil(t, whole, "%s %s", p.Name, e.Name)
			for n := range len(text) {
				if n%23 != 0 && text[n] != '\n' {
					continue
				}
				x := read(n)
				if x == nil || x.Effect == contract.EffectMaybe.String() && !x.NewKey {
					continue
				}
				if x.Effect != whole.Effect || x.NewKey && !whole.NewKey {
					t.Errorf("%s %s, HTTP/2 %v, cut at %d of %d (%q): %s, and %s of the whole", p.Name, e.Name, two, n, len(text), text[max(0, n-20):n], x.Status, whole.Status)
				}
			}
		}
	})
}

// What is nobody's is not guessed, nor where two providers' headers stand side by side.
func TestGuessNothing(t *testing.T) {
	for _, text := range []string{
		"HTTP/1.1 502 Bad Gateway\nServer: nginx\nCf-Ray: 1\nRequest-Id: 2\n\n<html></html>",
		"HTTP/1.1 400 Bad Request\nContent-Type: application/json\n\n{\"error\":\"no\"}",
		"HTTP/1.1 200 OK\n\n{}",
		"HTTP/1.1 200 OK\nZepto-API-Version: 1\nStripe-Version: 1\n\n",
		"HTTP/1.1 200 OK\n\n{\"metadata\":{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"}}",
	} {
		a, err := answer.Read(strings.NewReader(text), answer.Options{})
		require.NoError(t, err)
		p, why, err := Guess(a)
		assert.Error(t, err, "%s: %s", p.Name, why)
	}
}

// A whole answer has more members than the documents show, and is told by its kind.
func TestGuessWhole(t *testing.T) {
	a, err := answer.Read(strings.NewReader(`{"id":"pi_1","object":"payment_intent","amount":2500,"amount_received":2500,"canceled_at":null,
		"client_secret":"x","created":1,"currency":"usd","latest_charge":"ch_1","livemode":false,"metadata":{},"status":"succeeded"}`), answer.Options{Status: 200})
	require.NoError(t, err)
	p, _, err := Guess(a)
	require.NoError(t, err)
	assert.Equal(t, "stripe", p.Name)
}

// Nothing that an answer or its request holds writes to the terminal.
func TestForgedTexts(t *testing.T) {
	for _, text := range []string{
		"POST https://api.stripe.com/v1/%1b%5b2J%0aSUCCEEDED%C2%9b2J HTTP/1.1\nIdempotency-Key: k\n\nHTTP/1.1 409 Conflict\nRequest-Id: \x1b[2JSUCCEEDED\n\n{\"error\":{\"code\":\"\\u001b[2J\\nSUCCEEDED\"}}",
		"POST https://x\u202ey\u009b.stripe.com/v1/payment_intents HTTP/1.1\n\nHTTP/1.1 409 Conflict\n\n{\"error\":{\"message\":\"\\u001b[2J\"}}",
		"HTTP/1.1 200 OK\n\n{\"id\":\"pi_\\u001b[2J\",\"object\":\"payment_intent\",\"status\":\"\\u009b2J\"}",
	} {
		a, err := answer.Read(strings.NewReader(text), answer.Options{})
		require.NoError(t, err)
		p, _ := catalog.Find("stripe")
		x, err := Explain(p, a)
		require.NoError(t, err)
		if _, why, err := Guess(a); err == nil {
			x.Guess = why
		}
		assert.NotRegexp(t, `[\x00-\x1f\x7f-\x{9f}\x{202e}]`, fmt.Sprintf("%+v", *x))
	}
}

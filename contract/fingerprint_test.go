package contract_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

const (
	jsonType = "application/json"
	formType = "application/x-www-form-urlencoded"
)

var fingerprintTerms = contract.Terms{
	KeyHeader:      "Idempotency-Key",
	AccountHeaders: []string{"Acme-Account"},
	VersionHeaders: []string{"Acme-Version"},
}

// call builds a POST with a body of the given type and changes it.
func call(mediaType, body string, change ...func(*contract.Call)) contract.Call {
	u, _ := url.Parse("https://api.example.com/v1/payments?expand=customer")
	c := contract.Call{
		Request: &http.Request{Method: http.MethodPost, URL: u, Header: http.Header{"Content-Type": {mediaType}}},
		Body:    []byte(body),
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func header(name string, values ...string) func(*contract.Call) {
	return func(c *contract.Call) { c.Request.Header[name] = values }
}

func address(raw string) func(*contract.Call) {
	return func(c *contract.Call) {
		u, err := url.Parse(raw)
		if err != nil {
			panic(err)
		}
		c.Request.URL = u
	}
}

func print(t testing.TB, c contract.Call) string {
	t.Helper()
	got, err := contract.Fingerprint(c, fingerprintTerms)
	require.NoError(t, err)
	require.Len(t, got, 64)
	return got
}

// A fingerprint that changes between two releases refuses the resend of every
// request that is in flight: these never change.
func TestFingerprintNeverChanges(t *testing.T) {
	for _, c := range []struct {
		call contract.Call
		want string
	}{
		{call(jsonType, ` {"b": [1, {"z":0,"a":"\u0041"}], "a": 1.0} `), "a1dd97e595d0ce5b76900003f8b5623156b88a645c67f68b1c1d43ec8ca25ec3"},
		{call(formType, "b=2&a[]=1&a[]=2&c=%20+", header("Acme-Account", "acct_1"), header("acme-version", "2026-01-01")), "1b026efccff717c96f8b5db59fab9efd306a495b8a8d5d3f9bdb6108f3df0f94"},
		{call("", "", func(c *contract.Call) { c.Request.Host = "API.example.com:8443" }), "863144434f51dfde2405df519730b58f640fac19074ade0d803bbe3da94fe398"},
	} {
		assert.Equal(t, c.want, print(t, c.call))
	}
}

func TestFingerprintSame(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b contract.Call
	}{
		{"JSON member order", call(jsonType, `{"a":1,"b":2}`), call(jsonType, `{"b":2,"a":1}`)},
		{"JSON white space", call(jsonType, `{"a":1,"b":[2,3]}`), call(jsonType, " {\n\"a\" :\t1 , \"b\": [ 2 ,3 ]\r\n} ")},
		{"nested member order", call(jsonType, `{"x":{"a":1,"b":{"c":1,"d":[]}}}`), call(jsonType, `{"x":{"b":{"d":[],"c":1},"a":1}}`)},
		{"member order in a list", call(jsonType, `[{"a":1,"b":2},{}]`), call(jsonType, `[{"b":2,"a":1},{}]`)},
		{"member order around a repeated name", call(jsonType, `{"a":1,"b":0,"a":2}`), call(jsonType, `{"a":1,"a":2,"b":0}`)},
		{"names with punctuation", call(jsonType, `{"a\"},{":1,"b]":2}`), call(jsonType, `{"b]":2,"a\"},{":1}`)},
		{"problem+json and its parameters", call("application/vnd.acme+json", `{"a":1,"b":2}`), call("Application/Vnd.Acme+JSON; charset=utf-8", `{"b":2,"a":1}`)},
		{"JSON parameters", call(jsonType, `{"a":1}`), call("application/json;charset=UTF-8", `{"a":1}`)},
		{"form field order", call(formType, "a=1&b=2&c=3"), call(formType, "c=3&a=1&b=2")},
		{"form field order, spelled alike", call(formType, "a%5Bx%5D=1&a%5By%5D=2"), call(formType, "a%5By%5D=2&a%5Bx%5D=1")},
		{"form field order around a repeated field", call(formType, "a[]=1&b=0&a[]=2"), call(formType, "a[]=1&a[]=2&b=0")},
		{"form field order around a list of objects", call(formType, "z=1&i[][n]=1&a=1&i[][p]=2"), call(formType, "i[][n]=1&i[][p]=2&a=1&z=1")},
		{"form parameters", call(formType, "a=1&b=2"), call("Application/X-WWW-Form-Urlencoded; charset=utf-8", "b=2&a=1")},
		{"host from the URL or the request", call("", ""), call("", "", address("https://10.0.0.1/v1/payments?expand=customer"), func(c *contract.Call) { c.Request.Host = "api.example.com" })},
		{"case of the host", call("", ""), call("", "", address("https://API.Example.com/v1/payments?expand=customer"))},
		{"empty path or root", call("", "", address("https://h")), call("", "", address("https://h/"))},
		{"fragment, which is not sent", call("", "", address("https://h/a")), call("", "", address("https://h/a#b"))},
		{"credentials", call("", "", header("Authorization", "Bearer a")), call("", "", header("Authorization", "Bearer b"))},
		{"user agent and trace", call("", ""), call("", "", header("User-Agent", "x"), header("Traceparent", "00-1"))},
		{"the key in the header", call("", "", header("Idempotency-Key", "a")), call("", "", header("Idempotency-Key", "b"))},
		{"key and first send", call("", ""), call("", "", func(c *contract.Call) { c.Key = "k" })},
		{"case of a contract header's name", call("", "", header("Acme-Account", "acct_1")), call("", "", header("aCME-aCCOUNT", "acct_1"))},
		{"content type's own case", call(jsonType, `{"a":1,"b":2}`), call("", `{"b":2,"a":1}`, func(c *contract.Call) {
			c.Request.Header = http.Header{"content-type": {jsonType}}
		})},
		{"no body or an empty one", call(jsonType, ""), call(jsonType, "", func(c *contract.Call) { c.Body = nil })},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, print(t, c.a), print(t, c.b))
		})
	}
}

func TestFingerprintDiffers(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b contract.Call
	}{
		{"method", call("", ""), call("", "", func(c *contract.Call) { c.Request.Method = http.MethodPut })},
		{"host", call("", ""), call("", "", address("https://sandbox.example.com/v1/payments?expand=customer"))},
		{"port", call("", ""), call("", "", address("https://api.example.com:444/v1/payments?expand=customer"))},
		{"the request's host over the URL's", call("", ""), call("", "", func(c *contract.Call) { c.Request.Host = "other.example.com" })},
		{"path", call("", ""), call("", "", address("https://api.example.com/v1/refunds?expand=customer"))},
		{"path's case", call("", ""), call("", "", address("https://api.example.com/v1/Payments?expand=customer"))},
		{"escape in a path", call("", "", address("https://h/a%2Fb")), call("", "", address("https://h/a/b"))},
		{"slash at the end", call("", "", address("https://h/a")), call("", "", address("https://h/a/"))},
		{"query", call("", ""), call("", "", address("https://api.example.com/v1/payments?expand=invoice"))},
		{"no query", call("", ""), call("", "", address("https://api.example.com/v1/payments"))},
		{"query order", call("", "", address("https://h/a?x=1&y=2")), call("", "", address("https://h/a?y=2&x=1"))},
		{"path and query", call("", "", address("https://h/a?b")), call("", "", address("https://h/a%3Fb"))},
		{"a bare question mark", call("", "", address("https://h/a?")), call("", "", address("https://h/a"))},
		{"opaque address", call("", "", func(c *contract.Call) { c.Request.URL.Opaque = "/v1/payments/1" }), call("", "", func(c *contract.Call) { c.Request.URL.Opaque = "/v1/payments/2" })},
		{"account", call("", "", header("Acme-Account", "acct_1")), call("", "", header("Acme-Account", "acct_2"))},
		{"no account", call("", "", header("Acme-Account", "acct_1")), call("", "")},
		{"an empty account header", call("", "", header("Acme-Account", "")), call("", "")},
		{"account under a name that is not canonical", call("", "", header("acme-account", "acct_1")), call("", "")},
		{"two accounts", call("", "", header("Acme-Account", "a", "b")), call("", "", header("Acme-Account", "a"))},
		{"order of accounts", call("", "", header("Acme-Account", "a", "b")), call("", "", header("Acme-Account", "b", "a"))},
		{"one or two accounts", call("", "", header("Acme-Account", "a", "b")), call("", "", header("Acme-Account", "a\x00b"))},
		{"version", call("", "", header("Acme-Version", "1")), call("", "", header("Acme-Version", "2"))},
		{"which header", call("", "", header("Acme-Account", "1")), call("", "", header("Acme-Version", "1"))},
		{"header or body", call("json", "", header("Acme-Account", "a")), call("json", "a")},

		{"value", call(jsonType, `{"amount":100}`), call(jsonType, `{"amount":1000}`)},
		{"name", call(jsonType, `{"a":1}`), call(jsonType, `{"b":1}`)},
		{"more members", call(jsonType, `{"a":1}`), call(jsonType, `{"a":1,"b":null}`)},
		{"number's spelling", call(jsonType, `{"a":1}`), call(jsonType, `{"a":1.0}`)},
		{"exponent", call(jsonType, `{"a":100}`), call(jsonType, `{"a":1e2}`)},
		{"past a float's digits", call(jsonType, `{"a":9007199254740992}`), call(jsonType, `{"a":9007199254740993}`)},
		{"negative zero", call(jsonType, `{"a":0}`), call(jsonType, `{"a":-0}`)},
		{"number or string", call(jsonType, `{"a":1}`), call(jsonType, `{"a":"1"}`)},
		{"null or false", call(jsonType, `{"a":null}`), call(jsonType, `{"a":false}`)},
		{"list order", call(jsonType, `[1,2]`), call(jsonType, `[2,1]`)},
		{"order of objects in a list", call(jsonType, `[{"a":1},{"b":2}]`), call(jsonType, `[{"b":2},{"a":1}]`)},
		{"list or object", call(jsonType, `[]`), call(jsonType, `{}`)},
		{"nesting", call(jsonType, `[[1],2]`), call(jsonType, `[[1,2]]`)},
		{"empty list or none", call(jsonType, `[[]]`), call(jsonType, `[]`)},
		{"which object", call(jsonType, `{"a":{"x":1},"b":{}}`), call(jsonType, `{"a":{},"b":{"x":1}}`)},
		{"order of a repeated name", call(jsonType, `{"a":1,"a":2}`), call(jsonType, `{"a":2,"a":1}`)},
		{"a name twice or once", call(jsonType, `{"a":1,"a":1}`), call(jsonType, `{"a":1}`)},
		{"order of one name in two spellings", call(jsonType, `{"a":1,"\u0061":2}`), call(jsonType, `{"\u0061":2,"a":1}`)},
		{"order of one name in two spellings, nested", call(jsonType, `[{"b":0,"\/":1,"/":2}]`), call(jsonType, `[{"/":2,"\/":1,"b":0}]`)},
		{"spelling of a string", call(jsonType, `{"a":"A"}`), call(jsonType, `{"a":"\u0041"}`)},
		{"lone surrogates", call(jsonType, `{"a":"\ud800"}`), call(jsonType, `{"a":"\udbff"}`)},
		{"lone surrogate or replacement", call(jsonType, `{"a":"\ud800"}`), call(jsonType, `{"a":"\ufffd"}`)},
		{"lone surrogates as names", call(jsonType, `{"\ud800":1}`), call(jsonType, `{"\udbff":1}`)},
		{"bytes that are not UTF-8", call(jsonType, "{\"a\":\"\xfe\"}"), call(jsonType, "{\"a\":\"\xff\"}")},
		{"space within a string", call(jsonType, `{"a":"x y"}`), call(jsonType, `{"a":"xy"}`)},
		{"punctuation within a string", call(jsonType, `{"a":"1,\"b\":2"}`), call(jsonType, `{"a":1,"b":2}`)},
		{"end of a string", call(jsonType, `["\\","a"]`), call(jsonType, `["\\\",\"a"]`)},
		{"case of a name", call(jsonType, `{"Amount":1}`), call(jsonType, `{"amount":1}`)},
		{"not JSON: member order", call(jsonType, `{"a":1,"b":2`), call(jsonType, `{"b":2,"a":1`)},
		{"not JSON: white space", call(jsonType, `{"a":1}}`), call(jsonType, `{"a":1} }`)},
		{"two JSON values", call(jsonType, `{"a":1}{"b":2}`), call(jsonType, `{"b":2}{"a":1}`)},
		{"JSON or text", call(jsonType, `{"a":1}`), call("text/plain", `{"a":1}`)},
		{"JSON or form", call(jsonType, `1`), call(formType, `1`)},
		{"text: member order", call("text/plain", `{"a":1,"b":2}`), call("text/plain", `{"b":2,"a":1}`)},
		{"no type: member order", call("", `{"a":1,"b":2}`), call("", `{"b":2,"a":1}`)},
		{"malformed type: member order", call("json;;=", `{"a":1,"b":2}`), call("json;;=", `{"b":2,"a":1}`)},
		{"malformed parameters: member order", call("application/json; charset", `{"a":1,"b":2}`), call("application/json; charset", `{"b":2,"a":1}`)},
		{"text: field order", call("text/plain", "a=1&b=2"), call("text/plain", "b=2&a=1")},
		{"form or text", call(formType, "a=1"), call("text/plain", "a=1")},
		{"JSON lines: order", call("application/jsonl", `{"a":1,"b":2}`), call("application/jsonl", `{"b":2,"a":1}`)},

		{"form value", call(formType, "a=1"), call(formType, "a=2")},
		{"form name", call(formType, "a=1"), call(formType, "b=1")},
		{"order of a repeated field", call(formType, "a[]=1&a[]=2"), call(formType, "a[]=2&a[]=1")},
		{"order of one field in two spellings", call(formType, "ab=1&a%62=2"), call(formType, "a%62=2&ab=1")},
		{"order of one field in two spellings of a space", call(formType, "a+b=1&a%20b=2"), call(formType, "a%20b=2&a+b=1")},
		{"a field twice or once", call(formType, "a=1&a=1"), call(formType, "a=1")},
		{"field without a value", call(formType, "a"), call(formType, "a=")},
		{"swapped values", call(formType, "a=1&b=2"), call(formType, "a=2&b=1")},
		{"objects in a list", call(formType, "i[][n]=x&i[][p]=1&i[][n]=y&i[][p]=2"), call(formType, "i[][n]=x&i[][n]=y&i[][p]=1&i[][p]=2")},
		{"objects in a list, escaped", call(formType, "i%5B%5D[n]=x&i%5B%5D[p]=1&i%5B%5D[n]=y"), call(formType, "i%5B%5D[n]=x&i%5B%5D[n]=y&i%5B%5D[p]=1")},
		{"a list of values and of objects", call(formType, "i[]=1&i[][n]=2"), call(formType, "i[][n]=2&i[]=1")},
		{"a broken escape that some read as it is", call(formType, "%zz=1&%25zz=2"), call(formType, "%25zz=2&%zz=1")},
		{"escaped separator", call(formType, "a=1%26b=2"), call(formType, "a=1&b=2")},
		{"escaped equals sign", call(formType, "a%3D1=2"), call(formType, "a=1%3D2")},
		{"broken escape", call(formType, "%zz=1&%zz=2"), call(formType, "%zz=2&%zz=1")},
		{"plus or escape", call(formType, "a=x+y"), call(formType, "a=x%2By")},
		{"empty pairs", call(formType, "a=1&&b=2"), call(formType, "a=1&b=2")},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.NotEqual(t, print(t, c.a), print(t, c.b))
		})
	}
}

// What the provider comes to promise later must not refuse what is in flight.
func TestFingerprintOutlivesTerms(t *testing.T) {
	c := call(jsonType, `{}`, header("Acme-Account", "a"), header("Acme-Version", "1"))
	want := print(t, c)
	for _, terms := range []contract.Terms{
		{AccountHeaders: []string{"Acme-Version", "Acme-Account"}},
		{AccountHeaders: []string{"Acme-Account", "acme-account"}, VersionHeaders: []string{"ACME-VERSION", "Acme-Beta"}},
		{AccountHeaders: []string{"Acme-Account"}, VersionHeaders: []string{"Acme-Version"}, Repeat: contract.Replays, KeyMaxLen: 9},
	} {
		got, err := contract.Fingerprint(c, terms)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	got, err := contract.Fingerprint(c, contract.Terms{})
	require.NoError(t, err)
	assert.NotEqual(t, want, got, "headers that no terms name are not covered")
}

func TestFingerprintRefusesMultipart(t *testing.T) {
	for _, media := range []string{
		"multipart/form-data; boundary=x", "Multipart/Form-Data; boundary=y", "multipart/mixed", "multipart/form-data; boundary=", " multipart/form-data;;",
	} {
		got, err := contract.Fingerprint(call(media, "--x--"), fingerprintTerms)
		require.ErrorIs(t, err, contract.ErrMultipart, media)
		assert.Empty(t, got)
		assert.Contains(t, err.Error(), "multipart")
	}
	c := call("", "--x--")
	c.Request.Header = http.Header{"content-type": {"multipart/form-data"}}
	_, err := contract.Fingerprint(c, fingerprintTerms)
	require.ErrorIs(t, err, contract.ErrMultipart)
}

func TestFingerprintChangesNothing(t *testing.T) {
	for _, media := range []string{jsonType, formType, "text/plain"} {
		body := `{"b":1,"a":2}&z=1&a=2`
		if media == jsonType {
			body = ` {"b":1,"a":2} `
		}
		c := call(media, body, header("acme-version", "1"))
		terms := contract.Terms{AccountHeaders: append(make([]string, 0, 4), "b", "a"), VersionHeaders: []string{"acme-version"}}
		_, err := contract.Fingerprint(c, terms)
		require.NoError(t, err)
		assert.Equal(t, body, string(c.Body))
		assert.Equal(t, http.Header{"Content-Type": {media}, "acme-version": {"1"}}, c.Request.Header)
		assert.Equal(t, []string{"b", "a", "", ""}, terms.AccountHeaders[:4])
	}
}

func TestFingerprintOfDeepJSON(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 4000) + strings.Repeat("]}", 4000)
	assert.NotEqual(t, print(t, call(jsonType, deep)), print(t, call(jsonType, " "+deep[:len(deep)-1])))
	assert.Equal(t, print(t, call(jsonType, deep)), print(t, call(jsonType, " "+deep)))
}

// shuffled spells a JSON text again with the members of its objects in another
// order, and reports whether it could: whether no object has one name twice.
func shuffled(r *rand.Rand, text string) (string, bool) {
	d := json.NewDecoder(strings.NewReader(text))
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		return text, true
	}
	if trimmed[0] == '[' {
		var list []json.RawMessage
		if d.Decode(&list) != nil {
			return "", false
		}
		parts := make([]string, len(list))
		for i, v := range list {
			part, ok := shuffled(r, string(v))
			if !ok {
				return "", false
			}
			parts[i] = part
		}
		return "[ " + strings.Join(parts, " ,") + "]", true
	}
	// Names keep their spelling: they are cut out by where the decoder stands.
	seen := map[string]bool{}
	var parts []string
	if _, err := d.Token(); err != nil {
		return "", false
	}
	for d.More() {
		from := d.InputOffset()
		name, err := d.Token()
		if err != nil {
			return "", false
		}
		spelled := strings.TrimLeft(text[from:d.InputOffset()], ", \t\r\n")
		var value json.RawMessage
		if d.Decode(&value) != nil || seen[name.(string)] {
			return "", false
		}
		seen[name.(string)] = true
		part, ok := shuffled(r, string(value))
		if !ok {
			return "", false
		}
		parts = append(parts, spelled+"\t: "+part)
	}
	r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return "{" + strings.Join(parts, "\n, ") + " }", true
}

// meaning reads a JSON text as another program would: the last of a name's values
// holds, numbers keep their text.
func meaning(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// FuzzFingerprint: two JSON bodies with one fingerprint mean one thing, another
// order of members is the same request, and any other byte is another one.
func FuzzFingerprint(f *testing.F) {
	for _, body := range []string{
		`{"a":1,"b":2}`, `{"a":{"c":[1,{"x":1,"y":2}],"d":null},"b":"\u0061"}`, `{"a":1,"\u0061":2}`, `[]`, `"a"`, `1`, `{"":{}}`,
		`{"\"":1,"\\":2}`, `{"a":"\ud800","b":"é"}`, `{"a":1} {`, ` {"b" : [ true , false ] , "a" : -1.5e+9}`, "a=1&b=2&a=3", "{\"\xff\":1,\"\xfe\":2}",
	} {
		f.Add(body, uint64(1), 3, byte('7'))
		f.Add(body, uint64(2), 6, byte('"'))
	}
	f.Fuzz(func(t *testing.T, body string, seed uint64, at int, with byte) {
		r := rand.New(rand.NewPCG(seed, 2))
		this := print(t, call(jsonType, body))
		valid := json.Valid([]byte(body))
		if valid {
			if other, ok := shuffled(r, body); ok {
				require.True(t, json.Valid([]byte(other)), other)
				require.Equal(t, this, print(t, call(jsonType, other)), "%s\n%s", body, other)
			}
		}
		if len(body) > 0 {
			changed := []byte(body)
			i := int(uint(at) % uint(len(changed)))
			changed[i] = with
			if string(changed) != body && this == print(t, call(jsonType, string(changed))) {
				// Only white space outside of strings, or an order, may be lost.
				require.True(t, valid, "a byte of a body that is not JSON")
				one, err := meaning(body)
				require.NoError(t, err)
				two, err := meaning(string(changed))
				require.NoError(t, err)
				require.Equal(t, one, two)
				letters := func(s string) string {
					all := []byte(strings.NewReplacer(" ", "", "\t", "", "\r", "", "\n", "").Replace(s))
					slices.Sort(all)
					return string(all)
				}
				require.Equal(t, letters(body), letters(string(changed)))
			}
		}

		form := print(t, call(formType, body))
		values, err := url.ParseQuery(body)
		if err != nil || strings.Contains(body, "%") || strings.Contains(body, "[]") || strings.Contains(body, "+") {
			return
		}
		pairs := strings.Split(body, "&")
		r.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
		other := strings.Join(pairs, "&")
		otherValues, err := url.ParseQuery(other)
		require.NoError(t, err)
		same := fmt.Sprintf("%q", values) == fmt.Sprintf("%q", otherValues)
		if fewer := form == print(t, call(formType, other)); fewer != same {
			// "a" and "a=" mean one thing and are spelled as two.
			require.True(t, same && bareFields(pairs), "%s\n%s", body, other)
		}
	})
}

func bareFields(pairs []string) bool {
	return slices.ContainsFunc(pairs, func(p string) bool { return !strings.Contains(p, "=") })
}

// A body that is nested deeper than anybody writes costs no more than its length.
func TestFingerprintOfDeepNesting(t *testing.T) {
	deep := func(n int, inner string) string {
		return strings.Repeat(`{"a":`, n) + inner + strings.Repeat("}", n)
	}
	print := func(body string) string {
		r, err := http.NewRequest(http.MethodPost, "https://api.example/v1/x", nil)
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		f, err := contract.Fingerprint(contract.Call{Request: r, Body: []byte(body)}, contract.Terms{})
		require.NoError(t, err)
		return f
	}
	ab, ba := `{"x":"{[\\\"","y":1}`, `{"y":1,"x":"{[\\\""}`
	assert.Equal(t, print(deep(199, ab)), print(deep(199, ba)), "two hundred deep: order does not matter")
	assert.NotEqual(t, print(deep(200, ab)), print(deep(200, ba)), "deeper: compared as it stands")
	assert.NotEqual(t, print(deep(9000, "1")), print(deep(9000, "2")))
}

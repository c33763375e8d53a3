package contract_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

func nested(open, end string, depth int) string {
	return strings.Repeat(open, depth) + "1" + strings.Repeat(end, depth)
}

func TestDecodeObject(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       contract.Object
	}{
		{"empty", "{}", contract.Object{}},
		{"white space around", " \n{ } \r\n\t", contract.Object{}},
		{"every kind", `{"s":"x","n":1.50,"t":true,"f":false,"z":null,"l":[1,{"a":[]}],"o":{"b":{}}}`, contract.Object{
			"s": "x", "n": json.Number("1.50"), "t": true, "f": false, "z": nil,
			"l": []any{json.Number("1"), contract.Object{"a": []any{}}}, "o": contract.Object{"b": contract.Object{}},
		}},
		{"numbers keep their text", `{"a":9223372036854775807,"b":-9223372036854775808,"c":9223372036854775808,"d":1e400,"e":0.10,"f":-0}`, contract.Object{
			"a": json.Number("9223372036854775807"), "b": json.Number("-9223372036854775808"), "c": json.Number("9223372036854775808"),
			"d": json.Number("1e400"), "e": json.Number("0.10"), "f": json.Number("-0"),
		}},
		{"names are matched exactly", `{"ID":"1","id":"2"}`, contract.Object{"ID": "1", "id": "2"}},
		{"a name twice with one value", `{"a":{"x":[1]},"a":{"x":[1]}}`, contract.Object{"a": contract.Object{"x": []any{json.Number("1")}}}},
		{"null twice", `{"a":null,"a":null}`, contract.Object{"a": nil}},
		{"escapes", `{"\u0061":"\u00e9\n\/"}`, contract.Object{"a": "é\n/"}},
		{"one name in different objects", `{"a":{"x":1},"b":{"x":2}}`, contract.Object{"a": contract.Object{"x": json.Number("1")}, "b": contract.Object{"x": json.Number("2")}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := contract.DecodeObject([]byte(c.body))
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestDecodeObjectRefuses(t *testing.T) {
	const cut, bad, more, not = "not JSON: unexpected EOF", "not JSON", "more than one JSON value", "not a JSON object"
	for _, c := range []struct{ name, body, want string }{
		{"nothing", "", cut},
		{"white space", " \n", cut},
		{"cut after the brace", `{`, cut},
		{"cut in a name", `{"SECRET`, cut},
		{"cut after a name", `{"SECRET"`, cut},
		{"cut after a colon", `{"SECRET":`, cut},
		{"cut in a string", `{"a":"SECRET`, cut},
		{"cut in a number, as it may be", `{"a":4242`, cut},
		{"cut in a literal", `{"a":tru`, cut},
		{"cut after a value", `{"a":"SECRET"`, cut},
		{"cut after a comma", `{"a":"SECRET",`, cut},
		{"cut in a list", `{"a":["SECRET"`, cut},
		{"cut after a list", `{"a":["SECRET"]`, cut},
		{"HTML", "<html>SECRET</html>", bad},
		{"a byte order mark", "\ufeff{}", bad},
		{"no value", `{"SECRET"}`, bad},
		{"a name that is no string", `{4242:1}`, bad},
		{"a name that is an object", `{{}:1}`, bad},
		{"a comma too many", `{"a":1,}`, bad},
		{"a comma too many in a list", `{"a":[1,]}`, bad},
		{"a comma at the start", `{,"a":1}`, bad},
		{"no comma", `{"a":1 "b":2}`, bad},
		{"no comma in a list", `{"a":[1 2]}`, bad},
		{"no colon", `{"a" 1}`, bad},
		{"two colons", `{"a"::1}`, bad},
		{"the wrong end of a list", `{"a":[1}`, bad},
		{"the wrong end of an object", `{"a":1]`, bad},
		{"single quotes", `{'SECRET':1}`, bad},
		{"a comment", `{/*SECRET*/}`, bad},
		{"a leading zero", `{"a":04242}`, bad},
		{"NaN", `{"a":NaN}`, bad},
		{"a bad escape", `{"a":"\SECRET"}`, bad},
		{"a line break in a string", "{\"a\":\"SECRET\n\"}", bad},
		{"two objects", `{}{}`, more},
		{"something after it", `{"a":1} SECRET`, more},
		{"a brace after it", `{"a":1}}`, more},
		{"a comma after it", `{"a":1},`, more},
		{"NUL after it", "{}\x00", more},
		{"two values of which the first is no object", `1 {}`, more},
		{"a list", `[{}]`, not},
		{"a string", `"SECRET"`, not},
		{"a number", `4242`, not},
		{"null", `null`, not},
		{"not UTF-8", "{\"a\":\"SECRET\xff\"}", "not UTF-8"},
		{"not UTF-8 after it", "{}\xff", "not UTF-8"},
		{"UTF-16", "\xff\xfe{\x00}\x00", "not UTF-8"},
		{"a name twice", `{"id":"SECRET","id":"4242"}`, "one name with two values"},
		{"a name twice, in two spellings", `{"id":1,"\u0069d":2}`, "one name with two values"},
		{"a name twice, by a number's spelling", `{"a":1,"a":1.0}`, "one name with two values"},
		{"a name twice, null or not", `{"a":null,"a":0}`, "one name with two values"},
		{"a name twice, list or not", `{"a":[],"a":{}}`, "one name with two values"},
		{"a name twice, deep", `{"l":[{"o":{"id":1,"x":0,"id":2}}]}`, "one name with two values"},
		{"a name twice that differs deep", `{"a":{"x":[1]},"a":{"x":[2]}}`, "one name with two values"},
		{"lone surrogates that cannot be told apart", `{"\ud800":1,"\ud801":2}`, "one name with two values"},
		{"too deep, in lists", `{"a":` + nested("[", "]", 200) + `}`, "nested too deep"},
		{"too deep, in objects", nested(`{"a":`, "}", 201), "nested too deep"},
		{"far too deep, and cut", strings.Repeat(`{"a":[`, 1e6), "nested too deep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := contract.DecodeObject([]byte(c.body))
			require.Error(t, err)
			assert.Nil(t, got)
			assert.Equal(t, c.want, err.Error(), "the text shows nothing of the body")
			assert.Equal(t, c.want == cut, isCut(err))
			assert.Equal(t, strings.HasPrefix(c.name, "a name twice") || strings.HasPrefix(c.name, "lone"), isAmbiguous(err))
		})
	}
}

func isCut(err error) bool       { return errors.Is(err, io.ErrUnexpectedEOF) }
func isAmbiguous(err error) bool { return errors.Is(err, contract.ErrAmbiguous) }

func TestDecodeObjectDepth(t *testing.T) {
	for _, body := range []string{`{"a":` + nested("[", "]", 199) + `}`, nested(`{"a":`, "}", 200)} {
		_, err := contract.DecodeObject([]byte(body))
		require.NoError(t, err)
	}
}

func TestObjectPaths(t *testing.T) {
	o, err := contract.DecodeObject([]byte(`{
		"id": "pi_1", "amount": 9223372036854775807, "paid": true, "none": null, "": {"": "empty"},
		"a.b": "dotted", "error": {"code": "card_declined", "payment_intent": {"id": "pi_2", "list": [{"id": "x"}]}}
	}`))
	require.NoError(t, err)

	assert.Equal(t, "pi_1", o.Text("id"))
	assert.Equal(t, "pi_2", o.Text("error.payment_intent.id"))
	assert.Equal(t, "empty", o.Text("."))
	assert.Equal(t, json.Number("9223372036854775807"), o.At("amount"))
	assert.Equal(t, true, o.At("paid"))
	assert.Equal(t, contract.Object{"": "empty"}, o.At(""))
	assert.Equal(t, "card_declined", o.Object("error").Text("code"))
	assert.Equal(t, "pi_2", o.Object("error.payment_intent").Text("id"))
	assert.Equal(t, []any{contract.Object{"id": "x"}}, o.List("error.payment_intent.list"))

	assert.Equal(t, "x", o.Text("error.payment_intent.list.0.id"))
	for _, path := range []string{"error.payment_intent.list.1.id", "error.payment_intent.list.-1", "error.payment_intent.list.+0", "error.payment_intent.list.", "error.payment_intent.list.0.0", "id.0"} {
		assert.Nil(t, o.At(path), path)
	}

	// A number or another kind is no text, a list or text no object.
	for _, path := range []string{"amount", "paid", "none", "error", "missing", "ID", "id.x", "error.missing.id", "error.payment_intent.list", "error.payment_intent.list.id", "a.b", "amount.x", "none.x"} {
		assert.Empty(t, o.Text(path), path)
	}
	for _, path := range []string{"id", "amount", "none", "missing", "error.code", "error.payment_intent.list"} {
		assert.Nil(t, o.Object(path), path)
	}
	for _, path := range []string{"id", "error", "none", "missing"} {
		assert.Nil(t, o.List(path), path)
	}
	var none contract.Object
	assert.Nil(t, none.At("a.b.c"))
	assert.Empty(t, none.Text("a"))
	assert.Nil(t, none.Object("a").Object("b"))
	assert.Nil(t, none.List("a"))
}

// FuzzDecodeObject asks encoding/json: what is read is what it reads, unless a
// name is ambiguous; what it refuses is refused.
func FuzzDecodeObject(f *testing.F) {
	for _, body := range []string{`{}`, `{"a":1,"a":2}`, `{"a":[1,{"b":null}]}`, `{} {}`, `[`, "{\"\xff\":1}", `{"a":1e400}`, `{"\ud800":"\udfff"}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := contract.DecodeObject(body)
		var want map[string]json.RawMessage
		d := json.NewDecoder(strings.NewReader(string(body)))
		valid := json.Valid(body) && d.Decode(&want) == nil && want != nil
		if err == nil {
			require.True(t, valid, "%q", body)
			require.Len(t, got, len(want))
			one, err := json.Marshal(got)
			require.NoError(t, err)
			other, err := meaning(string(body))
			require.NoError(t, err)
			two, err := json.Marshal(other)
			require.NoError(t, err)
			require.Equal(t, string(two), string(one))
			return
		}
		require.Nil(t, got)
		if valid {
			require.Contains(t, []string{"one name with two values", "not UTF-8", "nested too deep"}, err.Error())
		}
	})
}

func TestScalar(t *testing.T) {
	o, err := contract.DecodeObject([]byte(`{"s":"1","n":9223372036854775807,"f":1.0,"b":true,"o":{},"l":[],"z":null}`))
	require.NoError(t, err)
	for name, want := range map[string]string{"s": "1", "n": "9223372036854775807", "f": "1.0", "b": "true"} {
		got, ok := contract.Scalar(o[name])
		assert.True(t, ok, name)
		assert.Equal(t, want, got)
	}
	for _, name := range []string{"o", "l", "z", "absent"} {
		_, ok := contract.Scalar(o[name])
		assert.False(t, ok, name)
	}
}

func TestDecodeList(t *testing.T) {
	got, err := contract.DecodeList([]byte(` [{"a":1.50},"x",[]] `))
	require.NoError(t, err)
	assert.Equal(t, []any{contract.Object{"a": json.Number("1.50")}, "x", []any{}}, got)
	for _, body := range []string{"", "{}", "null", "[", "[1", "[]]", "[],1", "[] []", "[\"\xff\"]", `[{"a":1,"a":2}]`} {
		list, err := contract.DecodeList([]byte(body))
		assert.Error(t, err, body)
		assert.Nil(t, list, body)
	}
}

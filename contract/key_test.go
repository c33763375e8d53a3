package contract_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/bits"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/quick"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-([48])[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestNewKey(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		key := contract.NewKey()
		form := uuidForm.FindStringSubmatch(key)
		require.NotNil(t, form, key)
		assert.Equal(t, "4", form[1])
		assert.Len(t, key, contract.KeyLen)
		require.False(t, seen[key], "a key came twice")
		seen[key] = true
	}
}

// A key that changes between two releases pays twice: these never change.
func TestKeyForNeverChanges(t *testing.T) {
	for _, c := range []struct {
		parts []string
		want  string
	}{
		{[]string{""}, "bf3c9f93-a0b1-8044-bf8f-547f80682f8d"},
		{[]string{"pay invoice"}, "ad7d5127-ad87-8b3b-9552-baee3803af6e"},
		{[]string{"pay invoice", ""}, "30edbf04-1290-8bc6-bcbc-973a97b7dd9f"},
		{[]string{"pay invoice", "INV-2026-0001"}, "a10b5a72-3009-8853-b2dc-4f6f571a00c5"},
		{[]string{"pay invoice", "INV-2026-0001", "2"}, "ae601dcc-dcf1-881e-a512-2850b3fc5258"},
		{[]string{"refund", "pi_3MtwBwLkdIwHu7ix28a3tqPa", "7"}, "fd1269cc-4a3c-8daf-8069-a32d1bc589fa"},
		{[]string{"Überweisung", "№ 7", "\x00\xff"}, "494851c4-3220-8b84-901e-356c0c9845c6"},
	} {
		assert.Equal(t, c.want, contract.KeyFor(c.parts[0], c.parts[1:]...), "%q", c.parts)
	}
}

func TestKeyForIsUnambiguous(t *testing.T) {
	lists := [][]string{
		{""}, {"", ""}, {"", "", ""}, {"a"}, {"a", ""}, {"", "a"}, {"abc"}, {"a", "bc"}, {"ab", "c"}, {"a", "b", "c"},
		{"abc", ""}, {"a,b"}, {"a", "b"}, {"b", "a"}, {"a\x00b"}, {"a b"}, {"A"}, {"a "}, {"pay", "1", "11"}, {"pay", "11", "1"},
		{"a", "\x00\x00\x00\x00\x00\x00\x00\x00"}, {"a\x00\x00\x00\x00\x00\x00\x00\x00"},
		{"idempact key v1", "a"}, {strings.Repeat("a", 256)}, {strings.Repeat("a", 255), "a"},
	}
	seen := map[string][]string{}
	for _, parts := range lists {
		key := contract.KeyFor(parts[0], parts[1:]...)
		assert.Nil(t, seen[key], "%q and %q", parts, seen[key])
		seen[key] = parts
	}
}

func TestKeyForProperties(t *testing.T) {
	deterministic := func(action string, ids []string) bool {
		before := append([]string(nil), ids...)
		key := contract.KeyFor(action, ids...)
		form := uuidForm.FindStringSubmatch(key)
		return form != nil && form[1] == "8" && key == contract.KeyFor(action, before...) && fmt.Sprint(ids) == fmt.Sprint(before)
	}
	require.NoError(t, quick.Check(deterministic, nil))
	cutElsewhere := func(a, b string, cut uint) bool {
		whole := a + b
		at := int(cut % uint(len(whole)+1))
		return at == len(a) || contract.KeyFor(a, b) != contract.KeyFor(whole[:at], whole[at:])
	}
	require.NoError(t, quick.Check(cutElsewhere, nil))
	moved := func(action string, ids []string) bool {
		return contract.KeyFor(action, ids...) != contract.KeyFor(action, append(ids, "")...)
	}
	require.NoError(t, quick.Check(moved, nil))
}

func TestKeyForWritesBehindNoCallersBack(t *testing.T) {
	ids := append(make([]string, 0, 8), "1", "2")
	contract.KeyFor("pay", ids...)
	assert.Equal(t, []string{"1", "2", "", "", "", "", "", ""}, ids[:8])
}

// Any hexadecimal key contains "a" by chance. What can be promised is that the key
// is a hash: no part of an input stands in it, as it is or encoded, and every bit
// of an input stirs all of it.
func TestKeyForShowsNothingOfItsInputs(t *testing.T) {
	inputs := []string{
		"deadbeef", "DEADBEEF", "0123456789", "4242424242424242", "jenny@example.com",
		"pi_3MtwBwLkdIwHu7ix28a3tqPa", "INV-2026-0001", "a1b2c3d4-e5f6-4789-8abc-def012345678",
	}
	for i := range 500 {
		inputs = append(inputs, fmt.Sprintf("%08x", uint32(i)*0x9e3779b1), fmt.Sprintf("%08d", i))
	}
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "-", "")) }
	for _, in := range inputs {
		for _, key := range []string{contract.KeyFor(in), contract.KeyFor("pay", in), contract.KeyFor("pay", "7", in)} {
			for _, form := range []string{in, hex.EncodeToString([]byte(in)), base64.StdEncoding.EncodeToString([]byte(in))} {
				assert.NotContains(t, plain(key), plain(form), in)
			}
		}
	}

	flipped, total := 0, 0
	for i := range 64 {
		in := []byte(fmt.Sprintf("invoice %08d", i))
		one := contract.KeyFor("pay", string(in))
		in[i%len(in)] ^= 1 << (i % 7)
		two := contract.KeyFor("pay", string(in))
		a, _ := hex.DecodeString(strings.ReplaceAll(one, "-", ""))
		b, _ := hex.DecodeString(strings.ReplaceAll(two, "-", ""))
		for j := range a {
			flipped += bits.OnesCount8(a[j] ^ b[j])
		}
		total += 122
	}
	assert.InDelta(t, 0.5, float64(flipped)/float64(total), 0.03)
}

func TestKeyContext(t *testing.T) {
	type ctx = context.Context
	for _, c := range []struct {
		name    string
		ctx     ctx
		key     string
		without bool
	}{
		{"nothing said", context.Background(), "", false},
		{"a key", contract.WithKey(context.Background(), "k1"), "k1", false},
		{"no key", contract.WithoutKey(context.Background()), "", true},
		{"the later key", contract.WithKey(contract.WithKey(context.Background(), "k1"), "k2"), "k2", false},
		{"a key, then none", contract.WithoutKey(contract.WithKey(context.Background(), "k1")), "", true},
		{"none, then a key", contract.WithKey(contract.WithoutKey(context.Background()), "k1"), "k1", false},
		{"an empty key is not WithoutKey", contract.WithKey(contract.WithoutKey(context.Background()), ""), "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			key, without := contract.KeyFrom(c.ctx)
			assert.Equal(t, c.key, key)
			assert.Equal(t, c.without, without)
		})
	}
}

func TestKeyTag(t *testing.T) {
	assert.Equal(t, "none", contract.KeyTag(""))
	assert.Equal(t, "d6ecbe89b130", contract.KeyTag("k1"), "tags in old logs stay comparable")
	seen := map[string]bool{}
	for i := range 1000 {
		key := contract.KeyFor("pay", fmt.Sprint(i))
		tag := contract.KeyTag(key)
		assert.Len(t, tag, 12)
		assert.NotContains(t, key, tag)
		assert.False(t, seen[tag])
		seen[tag] = true
	}
}

func TestCheckKey(t *testing.T) {
	long := strings.Repeat("k", 255)
	for _, c := range []struct {
		name  string
		terms contract.Terms
		key   string
		want  string // "" is accepted
	}{
		{"made here", contract.Terms{KeyMinLen: 36, KeyMaxLen: 36}, contract.NewKey(), ""},
		{"made here, for an action", contract.Terms{KeyMinLen: 36, KeyMaxLen: 36}, contract.KeyFor("pay"), ""},
		{"all of printable ASCII", contract.Terms{}, "!\"#$%&'()*+,-./09:;<=>?@AZ[\\]^_`az{|} ~", ""},
		{"no limit", contract.Terms{}, strings.Repeat("k", 5000), ""},
		{"one character", contract.Terms{KeyMinLen: 1, KeyMaxLen: 1}, "k", ""},
		{"longest", contract.Terms{KeyMaxLen: 255}, long, ""},
		{"shortest", contract.Terms{KeyMinLen: 255}, long, ""},
		{"characters, not bytes, at most", contract.Terms{KeyMaxLen: 2, KeyAlphabet: "é"}, "éé", ""},
		{"characters, not bytes, at least", contract.Terms{KeyMinLen: 3, KeyAlphabet: "é"}, "éé", "it has 2 characters, and the endpoint wants at least 3"},
		{"its alphabet", contract.Terms{KeyAlphabet: "abc-"}, "a-b-c", ""},
		{"space within, in its alphabet", contract.Terms{KeyAlphabet: "ab "}, "a b", ""},

		{"empty", contract.Terms{}, "", "it is empty"},
		{"empty, shorter than the least", contract.Terms{KeyMinLen: 5}, "", "it is empty"},
		{"not UTF-8", contract.Terms{}, "key\xff1", "it is not valid UTF-8"},
		{"not UTF-8, with the replacement in the alphabet", contract.Terms{KeyAlphabet: "key1\ufffd"}, "key\xff1", "it is not valid UTF-8"},
		{"too long", contract.Terms{KeyMaxLen: 254}, long, "it has 255 characters, and the endpoint takes at most 254"},
		{"too short", contract.Terms{KeyMinLen: 256}, long, "it has 255 characters, and the endpoint wants at least 256"},
		{"leading space", contract.Terms{}, " key-1", "it starts or ends with white space, which the wire drops"},
		{"trailing space", contract.Terms{}, "key-1 ", "it starts or ends with white space, which the wire drops"},
		{"trailing space, in its alphabet", contract.Terms{KeyAlphabet: "ab "}, "ab ", "it starts or ends with white space, which the wire drops"},
		{"trailing line break", contract.Terms{}, "key-1\n", "it starts or ends with white space, which the wire drops"},
		{"only space", contract.Terms{}, "   ", "it starts or ends with white space, which the wire drops"},
		{"line feed", contract.Terms{}, "key\n1", "character 4 (a line break) is not allowed"},
		{"carriage return", contract.Terms{}, "key\r1", "character 4 (a line break) is not allowed"},
		{"header injection", contract.Terms{}, "key-1\r\nAuthorization: x", "character 6 (a line break) is not allowed"},
		{"tab", contract.Terms{}, "key\t1", "character 4 (a control character) is not allowed"},
		{"NUL", contract.Terms{}, "key\x001", "character 4 (a control character) is not allowed"},
		{"DEL", contract.Terms{}, "key\x7f1", "character 4 (a control character) is not allowed"},
		{"C1 control", contract.Terms{}, "key\u00851", "character 4 (a control character) is not allowed"},
		{"not ASCII", contract.Terms{}, "kéy-1", "character 2 (not ASCII) is not allowed"},
		{"characters are counted", contract.Terms{KeyAlphabet: "é"}, "éék", "character 3 (not of the endpoint's alphabet) is not allowed"},
		{"not of the alphabet", contract.Terms{KeyAlphabet: "abc"}, "abd", "character 3 (not of the endpoint's alphabet) is not allowed"},
		{"line break, in its alphabet", contract.Terms{KeyAlphabet: "ab\n"}, "a\nb", "character 2 (a line break) is not allowed"},
		{"control, in its alphabet", contract.Terms{KeyAlphabet: "ab\x00"}, "a\x00b", "character 2 (a control character) is not allowed"},
		{"DEL, in its alphabet", contract.Terms{KeyAlphabet: "ab\x7f"}, "a\x7fb", "character 2 (a control character) is not allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.terms.CheckKey(c.key)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, contract.ErrKey)
			require.EqualError(t, err, "malformed key: "+c.want)
		})
	}
}

// The text tells places and kinds; neither the key nor a part of it.
func TestCheckKeyNeverShowsTheKey(t *testing.T) {
	const secret = "SECRET-4242"
	for _, key := range []string{secret + "\n" + secret, " " + secret, secret + "\xff", secret + "\x00", secret + "é", secret} {
		for _, terms := range []contract.Terms{{}, {KeyMaxLen: 5}, {KeyMinLen: 50}, {KeyAlphabet: "0123456789"}} {
			if err := terms.CheckKey(key); err != nil {
				assert.NotContains(t, err.Error(), "SECRET")
				assert.NotContains(t, err.Error(), "4242")
				assert.NotContains(t, err.Error(), "\n")
			}
		}
	}
}

func TestQuotedKey(t *testing.T) {
	quoted, plain := contract.Terms{KeyHeader: "Idempotency-Key", KeyQuoted: true}, contract.Terms{KeyHeader: "Idempotency-Key"}
	for key, wire := range map[string]string{"k1": `"k1"`, `a"b\c`: `"a\"b\\c"`, "a b": `"a b"`, `\`: `"\\"`, "": `""`} {
		assert.Equal(t, wire, quoted.FormatKey(key))
		got, err := quoted.ParseKey(wire)
		require.NoError(t, err)
		assert.Equal(t, key, got)

		assert.Equal(t, key, plain.FormatKey(key))
		got, err = plain.ParseKey(wire)
		require.NoError(t, err)
		assert.Equal(t, wire, got, "quotes are a part of a key that is not quoted")
	}
	got, err := quoted.ParseKey("k1")
	require.NoError(t, err)
	assert.Equal(t, "k1", got, "its caller leaves the quoting to others")

	for _, bad := range []string{`"`, `"SECRET`, `"SECRET\"`, `"SECRET\`, `"SE\CRET"`, `"SECRET";a=1`, `"SECRET" "b"`, `"a"b"`} {
		got, err := quoted.ParseKey(bad)
		require.ErrorIs(t, err, contract.ErrKey, bad)
		assert.Empty(t, got)
		assert.NotContains(t, err.Error(), "SECRET")
	}
}

// FuzzCheckKey: an accepted key arrives, byte for byte, where net/http sends it.
func FuzzCheckKey(f *testing.F) {
	for _, key := range []string{"k", contract.KeyFor("pay", "7"), " k", "k ", "a\nb", "a\r\nB: c", "a\tb", "a\x00b", "a\x7fb", "é", "\xff", "a b", "\u00a0k", "\u0085", "k\u2028"} {
		f.Add(key, "", 0, 0)
		f.Add(key, key, 1, 255)
	}
	f.Fuzz(func(t *testing.T, key, alphabet string, least, most int) {
		terms := contract.Terms{KeyHeader: "Idempotency-Key", KeyMinLen: least, KeyMaxLen: most, KeyAlphabet: alphabet}
		err := terms.CheckKey(key)
		if err != nil {
			require.ErrorIs(t, err, contract.ErrKey)
			return
		}
		n := len([]rune(key))
		require.GreaterOrEqual(t, n, max(least, 1))
		if most > 0 {
			require.LessOrEqual(t, n, most)
		}
		for _, r := range key {
			require.False(t, unicode.IsControl(r))
			require.True(t, alphabet == "" && r < 0x7f || strings.ContainsRune(alphabet, r))
		}
		terms.KeyQuoted = true
		same, err := terms.ParseKey(terms.FormatKey(key))
		require.NoError(t, err)
		require.Equal(t, key, same)
		req, err := http.NewRequest(http.MethodPost, "http://api.example.com/v1/payments", nil)
		require.NoError(t, err)
		req.Header.Set(terms.KeyHeader, key)
		var wire bytes.Buffer
		require.NoError(t, req.Write(&wire))
		got, err := http.ReadRequest(bufio.NewReader(&wire))
		require.NoError(t, err)
		require.Equal(t, []string{key}, got.Header.Values(terms.KeyHeader))
		require.Equal(t, req.Host, got.Host)
		require.Len(t, got.Header, 3, "the key, the user agent and the length")
	})
}

// A key has one name in one space, and two spaces share none, whatever keys look like.
func TestKeyIn(t *testing.T) {
	terms := contract.Terms{KeyScope: "", AccountHeaders: []string{"x-account", "X-Context"}}
	assert.Equal(t, "k", terms.KeyIn(nil, "k"))
	assert.Equal(t, "k", terms.KeyIn(http.Header{"X-Account": {""}, "X-Other": {"a"}}, "k"), "what is not set names no space")
	assert.Equal(t, "k", contract.Terms{AccountHeaders: []string{"X-New"}}.KeyIn(http.Header{"X-Account": {"a"}}, "k"))
	turned := contract.Terms{AccountHeaders: []string{"X-Context", "X-Account", "X-New"}}
	h := http.Header{"x-account": {"a"}, "X-Context": {"c"}}
	assert.Equal(t, terms.KeyIn(h, "k"), turned.KeyIn(h, "k"), "neither order nor case, nor a header that the terms gain, renames a key")

	names := map[string]bool{}
	for _, key := range []string{"k", "[k", `["s"] k`, `[] k`, `[] ["s"] k`} {
		for _, scope := range []string{"", "s", `s"] k`, "X-Account: [\"a\"]"} {
			for _, h := range []http.Header{nil, {"X-Account": {"a"}}, {"X-Account": {"a", "b"}}, {"X-Context": {"a"}}, {"X-Account": {`a" "b`}}} {
				terms.KeyScope = scope
				name := terms.KeyIn(h, key)
				assert.False(t, names[name], name)
				names[name] = true
			}
		}
	}
}

func TestWithAction(t *testing.T) {
	assert.Empty(t, contract.ActionFrom(t.Context()))
	assert.Equal(t, "pay", contract.ActionFrom(contract.WithAction(contract.WithAction(t.Context(), "refund"), "pay")))
}

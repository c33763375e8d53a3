package record_test

import (
	"math"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal/internal/record"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":           "",
		"key":        "key",
		"é ":         "é ",
		"e\u0301":    "e\u0301",
		"\xff":       `\xff`,
		"a\x00b":     `\x610062`,
		`\xff`:       `\x5c786666`,
		"\u2028<&>'": "\u2028<&>'",
	} {
		assert.Equal(t, want, record.Text(in))
	}
	for _, bad := range []string{`\x0`, `\xzz`} {
		_, err := record.FromText(bad)
		assert.Error(t, err, bad)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a", `\x`, "\xff", "a\x00"} {
		f.Add(s, s+"b")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		text := record.Text(a)
		require.True(t, utf8.ValidString(text) && !strings.ContainsRune(text, 0))
		back, err := record.FromText(text)
		require.NoError(t, err)
		require.Equal(t, a, back)
		require.Equal(t, a == b, text == record.Text(b))
	})
}

func TestHeader(t *testing.T) {
	for _, h := range []http.Header{
		nil,
		{"A": {"1"}},
		{"B": {"2", "", " x "}, "A": {"\xff", "a\"b"}, "not-canonical": {"x"}, "\xfe": {}},
	} {
		s, err := record.Header(h)
		require.NoError(t, err)
		back, err := record.FromHeader(s)
		require.NoError(t, err)
		assert.Equal(t, h, back)
	}
	s, err := record.Header(http.Header{})
	require.NoError(t, err)
	assert.Empty(t, s)
	for _, bad := range []string{"{}", "[[]]", "x", `[["\\x0"]]`} {
		_, err := record.FromHeader(bad)
		assert.Error(t, err, bad)
	}
}

// Every field of a verdict comes back, one that the contract gains later too.
func TestVerdictKeepsEveryField(t *testing.T) {
	var fields []string
	var visit func(path string, v reflect.Value, whole *contract.Verdict)
	visit = func(path string, v reflect.Value, whole *contract.Verdict) {
		for i := range v.NumField() {
			f, name := v.Field(i), path+v.Type().Field(i).Name
			if f.Kind() == reflect.Struct {
				visit(name+".", f, whole)
				continue
			}
			switch f.Kind() {
			case reflect.String:
				f.SetString("x\xff")
			case reflect.Bool:
				f.SetBool(true)
			case reflect.Int64:
				f.SetInt(math.MaxInt64)
			case reflect.Int:
				f.SetInt(7)
			case reflect.Uint8:
				f.SetUint(1)
			case reflect.Slice:
				f.Set(reflect.ValueOf([]string{"a", "\x00"}))
			default:
				t.Fatalf("%s is of a kind that this test does not know", name)
			}
			s, err := record.Verdict(*whole)
			require.NoError(t, err)
			back, err := record.FromVerdict(s)
			require.NoError(t, err)
			require.Equal(t, *whole, back, name)
			fields = append(fields, name)
		}
	}
	var v contract.Verdict
	visit("", reflect.ValueOf(&v).Elem(), &v)
	assert.Len(t, fields, 23, "%v", fields)
}

func TestVerdictStatuses(t *testing.T) {
	for s := contract.Unknown; s.Valid(); s++ {
		for e := contract.FromReply; e <= contract.FromOutside; e++ {
			v := contract.Verdict{Outcome: contract.Outcome{Status: s, Source: e}, Last: contract.Outcome{Status: contract.KeySpent - s}}
			text, err := record.Verdict(v)
			require.NoError(t, err)
			back, err := record.FromVerdict(text)
			require.NoError(t, err)
			assert.Equal(t, v, back)
		}
	}
	_, err := record.Verdict(contract.Verdict{Outcome: contract.Outcome{Status: 200}})
	assert.Error(t, err)
	_, err = record.FromVerdict(`{"status":"paid twice","source":"reply","last":{"status":"unknown","source":"reply"}}`)
	assert.ErrorContains(t, err, "paid twice")
	_, err = record.FromVerdict(``)
	assert.Error(t, err)
}

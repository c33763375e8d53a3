package contract_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

func TestCheckReference(t *testing.T) {
	for _, ref := range []string{
		"a", "7", "-", "_", "~", "pi_3MtwBwLkdIwHu7ix28a3tqPa", "PM000123", "a.b", ".a", "a..", "..a", "-..",
		"018f2b4e-0000-7000-8000-000000000000", contract.Unreserved, strings.Repeat("a", 255),
	} {
		require.NoError(t, contract.CheckReference(ref), ref)
		u, err := url.Parse("https://api.example.com/v1/payments/" + ref + "/x?y")
		require.NoError(t, err)
		assert.Equal(t, ref, strings.Split(u.JoinPath().Path, "/")[3], "it stays one segment of the path")
	}
	for _, ref := range []string{
		"", ".", "..", "...", strings.Repeat(".", 255), strings.Repeat("a", 256), "a/b", "/a", "a/", "../a", "a?b", "a#b", "a%2fb", "%2e%2e", "a b", " a",
		"a\n", "a\r\nHost: x", "a\x00", "a\x7f", "a:b", "a;b", "a@b", "a\\b", "é", "a\u2024b", "\xff", "a+b", "a=b", "a&b", "http://x", "a,b", "(a)", "*", "a\"",
	} {
		err := contract.CheckReference(ref)
		require.ErrorIs(t, err, contract.ErrReference, "%q", ref)
		assert.Equal(t, contract.ErrReference, err, "it does not quote the reference")
	}
}

func TestUnreservedIsTheRFCs(t *testing.T) {
	for b := range 256 {
		s := string([]byte{byte(b)})
		plain := b < 0x80 && url.PathEscape(s) == s && url.QueryEscape(s) == s
		assert.Equal(t, plain, strings.Contains(contract.Unreserved, s) && b < 0x80, "%q", s)
		dots := s == "."
		assert.Equal(t, plain && !dots, contract.CheckReference(s) == nil, "%q", s)
	}
}

func TestWord(t *testing.T) {
	for in, want := range map[string]string{
		"card_declined": "card_declined", "req_1": "req_1", "": "", "two words": "", "a\nb": "", "..": "", strings.Repeat("a", 256): "",
	} {
		assert.Equal(t, want, contract.Word(in), "%q", in)
	}
}

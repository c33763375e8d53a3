package contract_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

func TestMatchPath(t *testing.T) {
	for _, c := range []struct {
		raw, pattern string
		refs         []string
		ok           bool
	}{
		{"https://a.example/v1/payments", "/v1/payments", nil, true},
		{"https://a.example/v1/payments/", "/v1/payments", nil, true},
		{"https://a.example/v1/payments?expand=1", "/v1/payments", nil, true},
		{"https://a.example/v1/payments/pay_1/refunds", "/v1/payments/*/refunds", []string{"pay_1"}, true},
		{"https://a.example/a/b/c", "/*/b/*", []string{"a", "c"}, true},
		{"https://a.example/v1/payments/pay%5F1", "/v1/payments/*", []string{"pay_1"}, true},
		{"https://a.example/v1/payments", "/v1/payment", nil, false},
		{"https://a.example/v1/payments/1", "/v1/payments", nil, false},
		{"https://a.example/v1//payments", "/v1/payments", nil, false},
		{"https://a.example//v1/payments", "/v1/payments", nil, false},
		{"https://a.example/v1/payments//", "/v1/payments", nil, false},
		{"https://a.example/v1/payments/a%2Fb", "/v1/payments/*", nil, false},
		{"https://a.example/v1/payments/..", "/v1/payments/*", nil, false},
		{"https://a.example/v1/payments/%2e%2e", "/v1/payments/*", nil, false},
		{"https://a.example/v1/payments/a b", "/v1/payments/*", nil, false},
		{"https://a.example/V1/payments", "/v1/payments", nil, false},
		{"https://a.example", "/", nil, false},
	} {
		u, err := url.Parse(c.raw)
		require.NoError(t, err)
		refs, ok := contract.MatchPath(u, c.pattern)
		assert.Equal(t, c.ok, ok, "%s at %s", c.raw, c.pattern)
		assert.Equal(t, c.refs, refs, "%s at %s", c.raw, c.pattern)
	}
	_, ok := contract.MatchPath(nil, "/v1/payments")
	assert.False(t, ok)
	_, ok = contract.MatchPath(&url.URL{Opaque: "v1/payments"}, "/v1/payments")
	assert.False(t, ok)
}

package contract_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/idempact/idempact/contract"
)

func TestHeaderValues(t *testing.T) {
	h := http.Header{
		"Retry-After": {"1", " 2 "},
		"retry-after": {"3"},
		"RETRY-AFTER": {"0"},
		"Empty":       {},
		"Blank":       {"", "x"},
		"Spaced":      {" \t v \r\n"},
		"Retry":       {"no"},
	}
	for range 100 { // a map has no order, the answer has one
		assert.Equal(t, []string{"0", "1", " 2 ", "3"}, contract.HeaderValues(h, "Retry-After"))
		assert.Equal(t, "0", contract.HeaderValue(h, "rETRY-aFTER"))
	}
	assert.Empty(t, contract.HeaderValues(h, "Empty"))
	assert.Empty(t, contract.HeaderValues(h, "Missing"))
	assert.Empty(t, contract.HeaderValues(nil, "Missing"))
	assert.Equal(t, []string{"", "x"}, contract.HeaderValues(h, "blank"))
	assert.Empty(t, contract.HeaderValue(h, "Empty"))
	assert.Empty(t, contract.HeaderValue(h, "Blank"), "the first value, though empty")
	assert.Empty(t, contract.HeaderValue(nil, "Missing"))
	assert.Equal(t, "v", contract.HeaderValue(h, "Spaced"))
}

func TestHeaderValuesSharesNothing(t *testing.T) {
	h := http.Header{"A": append(make([]string, 0, 4), "1")}
	values := contract.HeaderValues(h, "a")
	values[0] = "2"
	_ = append(values, "3")
	assert.Equal(t, []string{"1", "", "", ""}, h["A"][:4])
}

package contract_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

func TestSame(t *testing.T) {
	n := func(s string) any { return json.Number(s) }
	for name, c := range map[string]struct {
		same      func(want, got any) contract.Match
		want, got any
		match     contract.Match
	}{
		"amounts":                    {contract.SameAmount, n("100"), n("100"), contract.Same},
		"amounts that differ":        {contract.SameAmount, n("100"), n("101"), contract.Differs},
		"an amount as text":          {contract.SameAmount, n("100"), "0100", contract.Same},
		"an amount's sign":           {contract.SameAmount, n("100"), n("-100"), contract.Differs},
		"a large amount":             {contract.SameAmount, n("90071992547409931"), n("90071992547409932"), contract.Differs},
		"minus nothing":              {contract.SameAmount, n("-0"), n("0"), contract.Same},
		"an amount with decimals":    {contract.SameAmount, n("100"), n("100.0"), contract.Unclear},
		"an amount with an exponent": {contract.SameAmount, n("100"), n("1e2"), contract.Unclear},
		"no amount":                  {contract.SameAmount, n("1"), true, contract.Unclear},
		"an empty amount":            {contract.SameAmount, n("1"), "", contract.Unclear},
		"decimals":                   {contract.SameDecimal, "25.00", n("25"), contract.Same},
		"decimals that differ":       {contract.SameDecimal, "25.00", "25.001", contract.Differs},
		"a decimal's zeros":          {contract.SameDecimal, "025.10", "25.1", contract.Same},
		"a decimal with an exponent": {contract.SameDecimal, "25", n("2.5e1"), contract.Unclear},
		"two dots":                   {contract.SameDecimal, "25.0", "25.0.0", contract.Unclear},
		"minus nothing, in decimals": {contract.SameDecimal, "-0.00", "0", contract.Same},
		"texts":                      {contract.SameText, "usd", "usd", contract.Same},
		"texts that differ":          {contract.SameText, "usd", "USD", contract.Differs},
		"a number as text":           {contract.SameText, n("1"), "1", contract.Same},
		"a number in two spellings":  {contract.SameText, n("1.0"), n("1"), contract.Unclear},
		"an object":                  {contract.SameText, "a", contract.Object{}, contract.Unclear},
		"equal objects":              {contract.SameText, contract.Object{"a": "b"}, contract.Object{"a": "b"}, contract.Same},
		"objects":                    {contract.SameText, contract.Object{"a": "b"}, contract.Object{"a": "c"}, contract.Unclear},
		"without case":               {contract.SameFold, "usd", "USD", contract.Same},
		"without case, that differ":  {contract.SameFold, "usd", "EUR", contract.Differs},
		"wordings":                   {contract.SameWording, "Invoice 1 ", "Invoice 1", contract.Same},
		"wordings that differ":       {contract.SameWording, "Invoice 1", "Invo", contract.Unclear},
		"metadata":                   {contract.SameUnlessChanged, contract.Object{"a": "1"}, contract.Object{"a": "1"}, contract.Same},
		"metadata that differ":       {contract.SameUnlessChanged, contract.Object{"a": "1"}, contract.Object{"a": "2"}, contract.Unclear},
		"a value of another kind":    {contract.SameUnlessChanged, n("1"), "1", contract.Unclear},
	} {
		assert.Equal(t, c.match, c.same(c.want, c.got), name)
		assert.Equal(t, c.match, c.same(c.got, c.want), "%s, the other way", name)
	}
}

func TestCompare(t *testing.T) {
	fields := []contract.Field{
		{Path: "amount", Also: "money.value", Same: contract.SameAmount, Shown: true, Need: contract.Required},
		{Path: "to", Need: contract.IfAsked},
		{Path: "note", Same: contract.SameWording},
	}
	for name, c := range map[string]struct {
		asked, shown string
		status       contract.Status
		reason       string
	}{
		"equal":                   {`{"amount":1,"to":"a"}`, `{"amount":1,"to":"a","state":"paid"}`, contract.Succeeded, "is what was asked"},
		"shown elsewhere":         {`{"amount":1}`, `{"money":{"value":"1"}}`, contract.Succeeded, ""},
		"other amount":            {`{"amount":1}`, `{"amount":2}`, contract.KeyReused, "amount 2 where 1 was asked"},
		"other amount elsewhere":  {`{"amount":1}`, `{"amount":1,"money":{"value":2}}`, contract.KeyReused, "amount 2 where 1 was asked"},
		"other account, not told": {`{"amount":1,"to":"secret"}`, `{"amount":1,"to":"other"}`, contract.KeyReused, "another to than was asked"},
		"required, not asked":     {`{}`, `{"amount":1}`, contract.Duplicate, "(amount)"},
		"required, not shown":     {`{"amount":1}`, `{}`, contract.Duplicate, "(amount)"},
		"asked, not shown":        {`{"amount":1,"to":"a"}`, `{"amount":1}`, contract.Duplicate, "(to)"},
		"not asked, shown":        {`{"amount":1}`, `{"amount":1,"to":"a"}`, contract.Succeeded, ""},
		"shortened":               {`{"amount":1,"note":"Invoice 1"}`, `{"amount":1,"note":"Invo"}`, contract.Duplicate, "(note)"},
		"shown as something else": {`{"amount":1,"to":"a"}`, `{"amount":1,"to":{"id":"a"}}`, contract.Duplicate, "(to)"},
		"null is not shown":       {`{"amount":1,"to":"a"}`, `{"amount":1,"to":null}`, contract.Duplicate, "(to)"},
	} {
		asked, err := contract.DecodeObject([]byte(c.asked))
		require.NoError(t, err)
		shown, err := contract.DecodeObject([]byte(c.shown))
		require.NoError(t, err)
		is := contract.Compare(fields, asked, shown)
		o := is.Resolve(contract.Outcome{Status: contract.Duplicate, Resource: "pay_1"})
		assert.Equal(t, c.status, o.Status, name)
		assert.Contains(t, o.Reason, c.reason, name)
		assert.NotContains(t, o.Reason, "secret", name)
		assert.Equal(t, c.status == contract.Succeeded, is.Equal(), name)
	}
}

func TestCompareList(t *testing.T) {
	fields := []contract.Field{{Path: "amount", Need: contract.IfAsked}, {Path: "to", Same: contract.SameWording}}
	read := func(body string) contract.Object {
		o, err := contract.DecodeObject([]byte(body))
		require.NoError(t, err)
		return o
	}
	asked := read(`{"items":[{"amount":1,"to":"a"},{"amount":2,"to":"b"}]}`)
	for shown, want := range map[string]contract.Comparison{
		`{"items":[{"amount":2,"to":"b"},{"amount":1,"to":"a"}]}`: {},
		`{"items":[{"amount":1},{"amount":2}]}`:                   {},
		`{"items":[{"amount":1,"to":"b"},{"amount":2,"to":"b"}]}`: {Unseen: []string{"to"}},
		`{"items":[{"amount":1,"to":"a"},{"amount":3,"to":"b"}]}`: {Different: []string{"other items than were asked"}},
		`{"items":[{"amount":1,"to":"a"},{"amount":1,"to":"a"}]}`: {Unseen: []string{"items"}},
		`{"items":[{"amount":1,"to":"a"}]}`:                       {Unseen: []string{"items"}},
		`{"items":[{"amount":1,"to":"a"},{"to":"b"}]}`:            {Unseen: []string{"amount"}},
		`{"items":[{"amount":1},{"amount":2},{"amount":3}]}`:      {Different: []string{"more items than were asked", "other items than were asked"}},
		`{"items":[7]}`: {Unseen: []string{"items", "amount"}},
		`{}`:            {Unseen: []string{"items"}},
	} {
		var is contract.Comparison
		is.CompareList(fields, "items", asked, read(shown))
		assert.Equal(t, want, is, shown)
	}
	equal := read(`{"items":[{"amount":1,"to":"a"},{"amount":1,"to":"b"}]}`)
	var swapped contract.Comparison
	swapped.CompareList(fields, "items", equal, read(`{"items":[{"amount":1,"to":"b"},{"amount":1,"to":"a"}]}`))
	assert.True(t, swapped.Equal(), "%v", swapped)
	var is contract.Comparison
	is.CompareList(fields, "items", contract.Object{}, asked)
	assert.True(t, is.Equal(), "nothing was asked")
	assert.Len(t, asked.Objects("items"), 2, "and nothing is changed")
}

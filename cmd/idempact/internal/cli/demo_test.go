package cli

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/cmd/idempact/internal/demo"
)

func TestDemoJSON(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"demo", "--payments", "5", "--seed", "3", "--json"}, nil, &stdout, &stderr)
	require.Equal(t, exitOK, code, stderr.String())
	assert.Empty(t, stderr.String(), "no progress line where there is no terminal")
	var report demo.Report
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &report))
	assert.EqualValues(t, 3, report.Seed)
	assert.Len(t, report.Rows, 14)
	assert.True(t, report.Truthful())
}

// A duplicate or a false report of idempact's own rows is exit status 1.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		row demo.Row
		err error
	}{
		{demo.Row{Client: "idempact", Unknown: 3}, nil},
		{demo.Row{Client: "idempact", Duplicates: 1}, errFalse},
		{demo.Row{Client: "idempact", FailedThoughMoved: 1}, errFalse},
		{demo.Row{Client: "idempact", SucceededThoughNot: 1}, errFalse},
		{demo.Row{Client: "idempact", Scenario: "died and restarted", Duplicates: 1}, errFalse},
		{demo.Row{Client: "naive, fresh key a try", Duplicates: 9}, nil},
	} {
		var stderr bytes.Buffer
		assert.Equal(t, c.err, judge(&demo.Report{Rows: []demo.Row{c.row}}, &stderr), "%+v", c.row)
		assert.Equal(t, c.err != nil, stderr.Len() > 0)
	}
}

package main

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
	code := run(t.Context(), []string{"demo", "--payments", "5", "--seed", "3", "--json"}, &stdout, &stderr)
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
		row  demo.Row
		code int
	}{
		{demo.Row{Client: "idempact", Unknown: 3}, exitOK},
		{demo.Row{Client: "idempact", Duplicates: 1}, exitFalse},
		{demo.Row{Client: "idempact", FailedThoughMoved: 1}, exitFalse},
		{demo.Row{Client: "idempact", SucceededThoughNot: 1}, exitFalse},
		{demo.Row{Client: "idempact", Scenario: "died and restarted", Duplicates: 1}, exitFalse},
		{demo.Row{Client: "naive, fresh key a try", Duplicates: 9}, exitOK},
	} {
		var stderr bytes.Buffer
		assert.Equal(t, c.code, judge(&demo.Report{Rows: []demo.Row{c.row}}, &stderr), "%+v", c.row)
		assert.Equal(t, c.code == exitFalse, stderr.Len() > 0)
	}
}

func TestCommandLine(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		code   int
		stderr string
	}{
		"nothing":           {nil, exitUsage, "usage: idempact demo"},
		"help":              {[]string{"--help"}, exitOK, ""},
		"demo's help":       {[]string{"demo", "-h"}, exitOK, "-payments"},
		"unknown command":   {[]string{"pay"}, exitUsage, `unknown command "pay"`},
		"unknown flag":      {[]string{"demo", "--fast"}, exitUsage, "not defined: -fast"},
		"stray argument":    {[]string{"demo", "now"}, exitUsage, `unexpected argument "now"`},
		"no payments":       {[]string{"demo", "--payments", "0"}, exitUsage, "1 to 10000"},
		"too many":          {[]string{"demo", "--payments", "10001"}, exitUsage, "1 to 10000"},
		"seed not a number": {[]string{"demo", "--seed", "x"}, exitUsage, "invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			assert.Equal(t, c.code, run(t.Context(), c.args, &stdout, &stderr))
			assert.Contains(t, stderr.String(), c.stderr)
		})
	}
}

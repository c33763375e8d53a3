package cli

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Colours are for a terminal, which neither a file nor /dev/null is, or for who asks for
// them; never with NO_COLOR.
func TestColours(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	defer null.Close()
	for _, c := range []struct {
		color, noColor string
		want           bool
	}{
		{"auto", "", false}, {"never", "", false}, {"always", "", true}, {"always", "1", false},
	} {
		t.Setenv("TERM", "xterm")
		t.Setenv("NO_COLOR", c.noColor)
		s := console{out: null, errs: null, color: c.color}
		require.NoError(t, s.open())
		assert.Equal(t, c.want, s.colored, c)
		assert.Equal(t, c.want, s.coloredE, c)
	}
	assert.Error(t, (&console{out: &bytes.Buffer{}, color: "sometimes"}).open())
}

package fakes_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/fakes"
)

// What a fault writes is what is read back.
func TestParseFault(t *testing.T) {
	for _, f := range []fakes.Fault{
		fakes.None, fakes.LoseReply, fakes.Hang, fakes.RefuseConnection, fakes.ResetAfterSend, fakes.CutBody(9),
		fakes.InFlight(5 * time.Second), fakes.SaveError(500), fakes.SaveErrorNoEffect(503), fakes.Throttle(time.Minute),
		fakes.Unavailable(0), fakes.Status(402, ""), fakes.Slow(time.Second), fakes.HTMLPage(502), fakes.Redirect("https://a.example/"),
	} {
		got, err := fakes.ParseFault(f.String())
		require.NoError(t, err)
		assert.Equal(t, f, got)
	}
	got, err := fakes.ParseFault(` Status(402, {"a":"(b)"}) `)
	require.NoError(t, err)
	assert.Equal(t, fakes.Status(http.StatusPaymentRequired, `{"a":"(b)"}`), got)
}

func TestParseFaultRefuses(t *testing.T) {
	for text, why := range map[string]string{
		"":                    "no fault is named",
		"losereply":           "no fault is named",
		"LoseReply(1)":        "takes nothing",
		"CutBody":             "takes a number",
		"CutBody(-1)":         "takes a number",
		"SaveError(200)":      "from 400",
		"Throttle(3)":         "duration",
		"Throttle(-3s)":       "duration",
		"Throttle(3s":         "not closed",
		"Redirect(elsewhere)": "URL",
		"Status(x)":           "status",
		"Status(99999, {})":   "status",
	} {
		_, err := fakes.ParseFault(text)
		if assert.Error(t, err, text) {
			assert.Contains(t, err.Error(), why)
		}
	}
	_, err := fakes.ParseFault("Explode")
	for _, name := range []string{"LoseReply", "InFlight", "Status", "Redirect"} {
		assert.Contains(t, err.Error(), name)
	}
	assert.False(t, strings.Contains(err.Error(), "\n"))
}

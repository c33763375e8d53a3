package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The command says where it listens, plays its faults, logs what came without a key or
// a credential, and ends with its context.
func TestFakeCommand(t *testing.T) {
	script := filepath.Join(t.TempDir(), "faults")
	require.NoError(t, os.WriteFile(script, []byte("# the first answer is lost\nLoseReply\n"), 0o600))
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var errs bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"fake", "stripe", "--listen", "127.0.0.1:0", "--faults", script, "--fault", "Throttle(3s)", "--json"}, nil, in, &errs)
	}()
	var at listening
	require.NoError(t, json.NewDecoder(bufio.NewReader(out)).Decode(&at))
	assert.Equal(t, at.URL+"/_fake", at.Control)

	pay := func() (*http.Response, error) {
		r, err := http.NewRequest(http.MethodPost, at.URL+"/v1/payment_intents", strings.NewReader("amount=2500&currency=usd&confirm=true&payment_method=pm_card_visa"))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer sk_test_secret")
		r.Header.Set("Idempotency-Key", "order-1001")
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	}
	_, err := pay()
	assert.Error(t, err, "its answer is lost")
	for _, want := range []int{http.StatusTooManyRequests, http.StatusOK} {
		resp, err := pay()
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, want, resp.StatusCode)
	}
	stop()
	assert.Equal(t, exitOK, <-ended)
	log := errs.String()
	assert.Equal(t, 3, strings.Count(log, "\n"))
	assert.Contains(t, log, `"fault":"LoseReply"`)
	assert.NotContains(t, log, "order-1001")
	assert.NotContains(t, log, "secret")
}

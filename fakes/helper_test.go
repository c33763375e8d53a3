package fakes_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	stripeURL = "https://api.stripe.com"
	zeptoURL  = "https://api.zeptopayments.com"
)

// reply is one answer, read whole.
type reply struct {
	status int
	header http.Header
	raw    string
	body   map[string]any
}

// at returns a value of the body by its dotted path.
func (r reply) at(path string) any {
	var v any = r.body
	for _, name := range strings.Split(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func newRequest(t testing.TB, method, url, key, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer sk_test_1")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	if strings.HasPrefix(body, "{") {
		r.Header.Set("Content-Type", "application/json")
	} else if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if body == "" {
		r.Body, r.GetBody, r.ContentLength = http.NoBody, nil, 0
	}
	return r
}

// try sends a request once: no replay by net/http, which resends a keyed request
// on a dead connection by itself when it can rewind the body.
func try(t testing.TB, c *http.Client, r *http.Request) (reply, error) {
	t.Helper()
	resp, err := c.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	out := reply{status: resp.StatusCode, header: resp.Header, raw: string(b)}
	_ = json.Unmarshal(b, &out.body)
	return out, err
}

func send(t testing.TB, c *http.Client, method, url, key, body string) reply {
	t.Helper()
	r, err := try(t, c, newRequest(t, method, url, key, body))
	require.NoError(t, err)
	return r
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

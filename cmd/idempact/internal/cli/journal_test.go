package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/sqlite"
)

// What stands in a journal was written by anybody: no text of it reaches the terminal as
// more than text, and no secret of it is shown.
func TestHostileEntries(t *testing.T) {
	const evil = "\x1b[2J\x1b]0;pwn\x07\u009b2J\r\n\u202eSUCCEEDED\u2066\u2028"
	db := filepath.Join(t.TempDir(), "payments.db")
	s, err := sqlite.Open(t.Context(), db, nil)
	require.NoError(t, err)
	now := time.Now()
	for _, e := range []journal.Entry{
		{ID: journal.ID{Provider: "stripe", Key: "plain"}},
		{ID: journal.ID{Provider: "nobody" + evil, Account: evil, Key: "other" + evil}},
		{
			ID: journal.ID{Provider: "stripe", Account: evil, Key: "order-1001"}, Action: strings.Repeat("long ", 2000) + evil,
			Request: journal.Request{Method: "POST", URL: "https://user:hunter2@api.stripe.com/v1/payment_intents" + evil + "?token=hunter2", Body: []byte("card=4242" + evil)},
			Verdict: contract.Verdict{Outcome: contract.Outcome{Status: contract.Unknown, Resource: evil, State: evil, Code: evil, RequestID: evil, Reason: "why" + evil}, Resources: []string{evil, "pi_1"}},
			History: []journal.Event{{At: now, Kind: "send" + evil, Code: evil, Resource: evil, RequestID: evil, Reason: evil}},
		},
	} {
		e.Due = now.Add(-time.Hour)
		e.Created, e.Updated, e.FirstSent = now.Add(-2*time.Hour), now.Add(-time.Hour), now.Add(-2*time.Hour)
		_, _, err := s.Begin(t.Context(), e)
		require.NoError(t, err)
	}
	require.NoError(t, s.Close())

	for _, args := range [][]string{
		{"ls"}, {"ls", "--all", "--json"}, {"ls", "--keys"}, {"show", "order-1001"}, {"show", "order-1001", "--json"},
		{"show", "plain"}, {"show", "order-1001", "--keys", "--bodies"}, {"export"}, {"export", "--keys", "--bodies"},
	} {
		var out, errs bytes.Buffer
		assert.Equal(t, exitOK, run(t.Context(), append([]string{"journal", "--db", db}, args...), nil, &out, &errs), "%v: %s", args, &errs)
		for _, r := range out.String() {
			if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl)) {
				t.Errorf("%v prints %q", args, r)
				break
			}
		}
		text := strings.Join(args, " ")
		assert.NotContains(t, out.String(), "hunter2", text)
		if !strings.Contains(text, "--bodies") {
			assert.NotContains(t, out.String(), "4242", text)
		}
		if !strings.Contains(text, "--keys") {
			assert.NotContains(t, out.String(), "order-1001", text)
		}
		if args[0] == "ls" && !strings.Contains(text, "--json") {
			assert.Less(t, out.Len(), 2000, "one line for each, that can be read")
		}
	}
}

// A journal that does not open is one line, which holds no password.
func TestJournalDoesNotOpen(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.WriteFile("text", []byte("no database"), 0o600))
	for _, c := range []struct{ db, want string }{
		{dir, "is a folder"},
		{"text", "no database"},
		{"missing.db", "there is no journal missing.db"},
		{filepath.Join("no", "where.db"), "there is no journal"},
		{"postgres://u:hunter2@127.0.0.1:1/db", "connection refused"},
		{"postgres://u@127.0.0.1:1/db?password=hunter2&sslmode=zzz", "sslmode"},
		{"postgres://u:hunter2@127.0.0.1:port/db", "invalid port"},
		{"mysql://u:hunter2@127.0.0.1/db", "postgres:// URLs alone"},
		{"user=u password=hunter2 host=127.0.0.1", "postgres://user@host/database"},
		{"postgres:u:hunter2@127.0.0.1/db", "postgres://user@host/database"},
	} {
		for _, args := range [][]string{{"journal", "ls"}, {"journal", "sweep", "--json"}, {"send", "-p", "stripe", "-k", "order-1001", "-d", "amount=1", "http://127.0.0.1:1/v1/refunds"}} {
			if args[0] == "send" && strings.Contains(c.want, "no journal") {
				continue // it makes one
			}
			var out, errs bytes.Buffer
			assert.Equal(t, exitUsage, run(t.Context(), append(args, "--db", c.db), nil, &out, &errs), c.db)
			assert.Empty(t, out.String())
			assert.Contains(t, errs.String(), c.want)
			assert.Equal(t, 1, strings.Count(errs.String(), "\n"))
			assert.NotContains(t, errs.String(), "hunter2")
		}
	}
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	assert.Len(t, left, 1, "nothing was made")
}

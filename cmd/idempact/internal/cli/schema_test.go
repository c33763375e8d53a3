package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/journal/sqlite"
)

// A journal of a newer schema is refused in one line, and not touched.
func TestNewerSchema(t *testing.T) {
	db := filepath.Join(t.TempDir(), "payments.db")
	s, err := sqlite.Open(t.Context(), db, nil)
	require.NoError(t, err)
	_, err = s.DB().ExecContext(t.Context(), "INSERT INTO idempact_migrations VALUES (9999, '9999_future.sql', '')")
	require.NoError(t, err)
	require.NoError(t, s.Close())
	for _, command := range []string{"ls", "sweep", "export"} {
		var out, errs bytes.Buffer
		assert.Equal(t, exitUsage, run(t.Context(), []string{"journal", command, "--db", db}, nil, &out, &errs))
		assert.Empty(t, out.String())
		assert.Equal(t, 1, strings.Count(errs.String(), "\n"))
		assert.Contains(t, errs.String(), "use a newer program")
		assert.Contains(t, errs.String(), "nothing was changed")
	}
}

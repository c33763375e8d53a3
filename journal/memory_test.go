package journal_test

import (
	"testing"

	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/journaltest"
)

func TestMemory(t *testing.T) {
	journaltest.Run(t, func(*testing.T) journal.Store { return journal.NewMemory() })
}

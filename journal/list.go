package journal

import "context"

// Lister is implemented by the stores of this module, for tools that show a journal: a
// page at a time, in an order that is the same each time. No operation depends on it.
type Lister interface {
	// List returns up to Limit entries that fit, none for a limit below 1. An entry that
	// cannot be read does not hide the others: they come beside the error.
	List(ctx context.Context, f Filter) ([]Entry, error)
}

// Filter says which entries to list.
type Filter struct {
	Provider  string // "" is all
	Account   string // "" is all
	Unsettled bool   // only those
	After     ID     // the last entry of the page before; zero at the beginning
	Limit     int
}

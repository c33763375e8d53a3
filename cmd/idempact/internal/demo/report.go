package demo

import (
	"fmt"
	"io"
	"slices"
)

// Report is what the demo found.
type Report struct {
	Seed     uint64    `json:"seed"`
	Payments int       `json:"payments"`
	Rows     []Row     `json:"rows"`
	Timeline *Timeline `json:"timeline,omitempty"`
}

// Row is what came of the payments at one provider through one client.
type Row struct {
	Scenario           string  `json:"scenario,omitempty"` // "" where the job runs once
	Provider           string  `json:"provider"`
	Client             string  `json:"client"`
	Payments           int     `json:"payments"`
	Effects            int     `json:"effects"`              // in the provider's ledger
	Duplicates         int     `json:"duplicates"`           // effects beyond the first of each payment
	FailedThoughMoved  int     `json:"failed_though_moved"`  // reported failed, and the money moved
	SucceededThoughNot int     `json:"succeeded_though_not"` // reported succeeded, and it did not
	Unknown            int     `json:"unknown"`              // reported as not known
	RequestsPerPayment float64 `json:"requests_per_payment"` // sends, dials that were refused, and reads
}

func (r run) row() Row {
	row := Row{Scenario: r.scenario, Provider: r.shop, Client: r.client, Payments: len(r.payments)}
	for i, n := range r.effects {
		row.Effects += n
		row.Duplicates += max(n-1, 0)
		switch {
		case r.told[i] == toldUnknown:
			row.Unknown++
		case r.told[i] == toldFailed && n > 0:
			row.FailedThoughMoved++
		case r.told[i] == toldSucceeded && n == 0:
			row.SucceededThoughNot++
		}
	}
	row.RequestsPerPayment = float64(r.requests) / float64(len(r.payments))
	return row
}

// Truthful reports whether the rows of idempact have neither a duplicate nor a
// false report.
func (r *Report) Truthful() bool {
	for _, row := range r.Rows {
		if row.Client == idempactName && row.Duplicates+row.FailedThoughMoved+row.SucceededThoughNot > 0 {
			return false
		}
	}
	return true
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%d payments at each provider through each client, with the same faults (seed %d):\n", r.Payments, r.Seed)
	fmt.Fprintf(w, "lost and cut answers, saved 500s, requests still in flight, throttles, refused connections.\n\n")
	r.writeTable(w, "")
	for _, again := range scenarios() {
		fmt.Fprintf(w, "\n%s\n\n", again.told)
		r.writeTable(w, again.name)
	}
	if slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Unknown > 0 }) {
		fmt.Fprintf(w, "\nUnknown is no failure: the provider bound the key to an error that does not tell, and no\nlook-up can prove that there is no payment.\n")
	}
	if r.Timeline == nil {
		return nil
	}
	return r.Timeline.writeText(w)
}

// writeTable writes the rows of one scenario.
func (r *Report) writeTable(w io.Writer, scenario string) {
	const line = "%-30s %9s %8s %11s %13s %15s %8s %10s\n"
	fmt.Fprintf(w, line, "", "payments", "effects", "duplicates", "failed, but", "succeeded, but", "unknown", "requests")
	fmt.Fprintf(w, line, "", "", "", "", "money moved", "it did not", "", "a payment")
	provider := ""
	for _, row := range r.Rows {
		if row.Scenario != scenario {
			continue
		}
		if row.Provider != provider {
			provider = row.Provider
			fmt.Fprintln(w, provider)
		}
		fmt.Fprintf(w, line, "  "+row.Client, fmt.Sprint(row.Payments), fmt.Sprint(row.Effects), fmt.Sprint(row.Duplicates),
			fmt.Sprint(row.FailedThoughMoved), fmt.Sprint(row.SucceededThoughNot), fmt.Sprint(row.Unknown),
			fmt.Sprintf("%.2f", row.RequestsPerPayment))
	}
}

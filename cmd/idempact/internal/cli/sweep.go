package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/internal/catalog"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/retry"
)

type sweepFlags struct {
	*journalFlags
	now         bool
	limit       int
	concurrency int
	interval    time.Duration
}

func newJournalSweep(c *console, shared *journalFlags) *cobra.Command {
	f := sweepFlags{journalFlags: shared}
	cmd := &cobra.Command{
		Use: "sweep", Short: "Settle what is open and due",
		Long: `Settle what a process left open: each operation is sent again with its own bytes and
key while the key is young, or looked up, or left for a person, with the reason. Many
sweeps may run at a time, beside the programs that use the journal.

Credentials come from the environment: ` + envAuthorization + ` and ` + envHeaders + `.

Exit status 1: something that was due is still open.`,
		Example: `  ` + envAuthorization + `=sk_test_… idempact journal sweep --db payments.db
  idempact journal sweep --db payments.db --provider zepto --now`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), c) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.now, "now", false, "also what is not due yet, but for a wait that the provider asked for")
	flags.IntVar(&f.limit, "limit", 10_000, "operations at most")
	flags.IntVar(&f.concurrency, "concurrency", 4, "of them at a time")
	flags.DurationVar(&f.interval, "interval", 0, "the shortest time from one to the next")
	return cmd
}

// owner is a provider's account, for which one client sweeps.
type owner struct{ provider, account string }

func (f sweepFlags) run(ctx context.Context, c *console) error {
	if f.limit < 1 || f.concurrency < 1 || f.interval < 0 {
		return errors.New("--limit and --concurrency are at least 1, and --interval is not negative")
	}
	store, err := openJournal(ctx, f.db, false)
	if err != nil {
		return err
	}
	defer store.Close()
	owners, total, unreadable := f.due(ctx, store)
	if unreadable != nil && total == 0 {
		return unreadable
	}
	bar := newBar(c, "sweep", min(total, f.limit))
	report := sweepView{Operations: []sweptView{}}
	for _, o := range owners {
		if err := f.sweep(ctx, store, o, &report, bar); err != nil {
			bar.stop()
			return errors.Join(c.show(report), err)
		}
	}
	bar.stop()
	if err := errors.Join(c.show(report), unreadable); err != nil {
		return err
	}
	if report.Open > 0 {
		return errFalse
	}
	return nil
}

// due returns who has something to sweep, and how much there is. With --now what is not
// due is made so.
func (f sweepFlags) due(ctx context.Context, store lister) (owners []owner, total int, err error) {
	now := time.Now()
	seen := map[owner]bool{}
	err = f.each(ctx, store, true, func(e journal.Entry) error {
		if f.now && e.Due.After(now) && e.Lease.Free(now) && !e.Updated.Add(e.Verdict.RetryAfter).After(now) {
			e.Due = now
			stored, err := store.Update(ctx, e)
			if errors.Is(err, journal.ErrConflict) {
				return nil // somebody is at work on it
			}
			if err != nil {
				return err
			}
			e = stored
		}
		if e.Due.After(now) || !e.Lease.Free(now) {
			return nil
		}
		total++
		if o := (owner{e.Provider, e.Account}); !seen[o] {
			seen[o] = true
			owners = append(owners, o)
		}
		return nil
	})
	return owners, total, err
}

// batch is how many operations are handled between two steps of the bar.
const batch = 20

func (f sweepFlags) sweep(ctx context.Context, store journal.Store, o owner, report *sweepView, bar *bar) error {
	p, ok := catalog.Find(o.provider)
	if !ok {
		report.Unknown = append(report.Unknown, printable(o.provider))
		return nil
	}
	authorize, err := authorizer()
	if err != nil {
		return err
	}
	client, err := retry.NewClient(p.New(), &retry.Options{Journal: store, Account: o.account, Authorize: authorize})
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	for report.Found < f.limit {
		part, err := client.Sweep(ctx, retry.SweepOptions{Limit: min(batch, f.limit-report.Found), Concurrency: f.concurrency, Interval: f.interval})
		report.add(part)
		bar.set(report.Found)
		if err != nil || part.Found == 0 {
			return err
		}
	}
	return nil
}

// sweepView is what a sweep did.
type sweepView struct {
	Found      int         `json:"found"`
	Settled    int         `json:"settled"`
	Open       int         `json:"open"`
	Skipped    int         `json:"skipped"`
	Operations []sweptView `json:"operations"`
	Unknown    []string    `json:"providers_without_adapter,omitempty"`
}

type sweptView struct {
	Provider string  `json:"provider"`
	KeyTag   string  `json:"key_tag"`
	Action   string  `json:"action,omitempty"`
	Settled  bool    `json:"settled"`
	Verdict  verdict `json:"verdict"`
	Reason   string  `json:"why_open,omitempty"`

	status contract.Status
}

func (v *sweepView) add(r retry.SweepReport) {
	v.Found, v.Settled, v.Open, v.Skipped = v.Found+r.Found, v.Settled+r.Settled, v.Open+r.Open, v.Skipped+r.Skipped
	for _, s := range r.Operations {
		v.Operations = append(v.Operations, sweptView{
			printable(s.ID.Provider), s.KeyTag, printable(s.Action), s.Settled,
			viewVerdict(s.Verdict), printable(s.Reason), s.Verdict.Status,
		})
	}
}

func (v sweepView) text(c *console) string {
	if v.Found == 0 && len(v.Unknown) == 0 {
		return "Nothing is due.\n"
	}
	rows := make([][]string, 0, len(v.Operations))
	for _, s := range v.Operations {
		what := "settled"
		if !s.Settled {
			what = "open: " + s.Reason
		}
		rows = append(rows, []string{s.KeyTag, s.Provider, clip(s.Action), c.paint(s.Verdict.Status, effectColor(s.status)), clip(s.Verdict.Resource), what})
	}
	var b strings.Builder
	if len(rows) > 0 {
		b.WriteString(grid([]string{"KEY", "PROVIDER", "ACTION", "STATUS", "RESOURCE", ""}, rows))
	}
	for _, name := range v.Unknown {
		fmt.Fprintf(&b, "%s: this program has no adapter of it\n", name)
	}
	fmt.Fprintf(&b, "\n%d settled, %d still open, %d handled by another\n", v.Settled, v.Open, v.Skipped)
	return b.String()
}

// callOf returns the call of an entry.
func callOf(e journal.Entry) (contract.Call, error) {
	req, err := http.NewRequest(e.Request.Method, e.Request.URL, nil)
	if err != nil {
		return contract.Call{}, err
	}
	if e.Request.Header != nil {
		req.Header = e.Request.Header.Clone()
	}
	return contract.Call{Request: req, Body: e.Request.Body, Key: e.Key, FirstSent: e.FirstSent}, nil
}

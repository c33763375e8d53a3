package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/internal/catalog"
	"github.com/idempact/idempact/journal"
)

// journalFlags are what the commands of a journal share.
type journalFlags struct {
	db       string
	provider string
	account  string
}

func newJournal(c *console) *cobra.Command {
	var f journalFlags
	cmd := &cobra.Command{
		Use: "journal", Short: "See and settle what a journal remembers",
		Long: `Look into a journal, and settle what is open in it. Keys are shown as short hashes;
bodies and whole keys are hidden unless asked for, and credentials are never stored.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help()
			return exitCode(exitUsage)
		},
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.db, "db", "", "the journal: a `file` or a postgres:// URL")
	flags.StringVarP(&f.provider, "provider", "p", "", "only this provider's")
	flags.StringVar(&f.account, "account", "", "only this account's")
	_ = cmd.RegisterFlagCompletionFunc("provider", completeProvider)
	cmd.AddCommand(newJournalLs(c, &f), newJournalShow(c, &f), newJournalSweep(c, &f), newJournalExport(c, &f))
	return cmd
}

// pageSize is how many entries are read at a time.
const pageSize = 500

// each calls f for every entry that fits. Those that cannot be read are told at the end.
func (f journalFlags) each(ctx context.Context, store lister, unsettled bool, do func(journal.Entry) error) error {
	if f.provider != "" {
		if _, err := findProvider(f.provider); err != nil {
			return err
		}
	}
	filter := journal.Filter{Provider: f.provider, Account: f.account, Unsettled: unsettled, Limit: pageSize}
	var unreadable error
	for {
		page, err := store.List(ctx, filter)
		if err != nil && len(page) == 0 {
			return err
		}
		unreadable = errors.Join(unreadable, err)
		for _, e := range page {
			if err := do(e); err != nil {
				return err
			}
		}
		if len(page) == 0 || len(page) < pageSize && err == nil {
			return unreadable
		}
		filter.After = page[len(page)-1].ID
	}
}

// entryView is an entry for programs. What may be secret stands in it only if asked for.
type entryView struct {
	Provider string     `json:"provider"`
	Account  string     `json:"account,omitempty"`
	KeyTag   string     `json:"key_tag"`
	Key      string     `json:"key,omitempty"`
	Action   string     `json:"action,omitempty"`
	Request  string     `json:"request"`
	Settled  bool       `json:"settled"`
	Verdict  verdict    `json:"verdict"`
	Since    *time.Time `json:"first_sent,omitempty"`
	Updated  time.Time  `json:"updated"`
	Due      *time.Time `json:"due,omitempty"`
	Lease    *time.Time `json:"leased_until,omitempty"`
	Sweeps   int        `json:"sweeps,omitempty"`
	Planned  string     `json:"planned,omitempty"` // what a sweep would do

	History []eventView `json:"history,omitempty"`
	Bodies  *bodies     `json:"bodies,omitempty"`

	status contract.Status
}

type verdict struct {
	outcomeView
	Attempts  int      `json:"attempts"`
	Resources []string `json:"resources,omitempty"`
}

func viewVerdict(v contract.Verdict) verdict {
	view := verdict{outcomeView: viewOutcome(v.Outcome), Attempts: v.Attempts}
	for _, r := range v.Resources {
		view.Resources = append(view.Resources, printable(r))
	}
	return view
}

type eventView struct {
	At        time.Time `json:"at"`
	TookMS    int64     `json:"took_ms"`
	Kind      string    `json:"kind"`
	Attempt   int       `json:"attempt,omitempty"`
	Answer    int       `json:"answer,omitempty"`
	Status    string    `json:"status"`
	Code      string    `json:"code,omitempty"`
	Resource  string    `json:"resource,omitempty"`
	RequestID string    `json:"request_id,omitempty"`
	Reason    string    `json:"reason,omitempty"`
}

// bodies are what was sent and what came back.
type bodies struct {
	Request  string `json:"request"`
	Response string `json:"response"`
	Answer   int    `json:"answer,omitempty"`
}

// reveal says what of an entry is shown.
type reveal struct{ keys, bodies bool }

func viewEntry(e journal.Entry, now time.Time, r reveal) entryView {
	v := entryView{
		Provider: printable(e.Provider), Account: printable(e.Account), KeyTag: contract.KeyTag(e.Key), Action: printable(e.Action),
		Request: printable(e.Request.Method + " " + bare(e.Request.URL)), Settled: e.Settled,
		Verdict: viewVerdict(e.Verdict),
		Since:   known(e.FirstSent), Updated: e.Updated, Sweeps: e.Sweeps, status: e.Verdict.Status,
	}
	if r.keys {
		v.Key = printable(e.Key)
	}
	if !e.Settled {
		v.Due, v.Planned = known(e.Due), planned(e, now)
	}
	if e.Lease.Holder != "" {
		v.Lease = known(e.Lease.Until)
	}
	for _, x := range e.History {
		v.History = append(v.History, eventView{
			x.At, x.Took.Milliseconds(), printable(x.Kind), x.Attempt, x.StatusCode, x.Status.String(),
			printable(x.Code), printable(x.Resource), printable(x.RequestID), printable(x.Reason),
		})
	}
	if r.bodies {
		v.Bodies = &bodies{shown(e.Request.Body, e.Request.Omitted), shown(e.Response.Body, e.Response.Omitted), e.Response.StatusCode}
	}
	return v
}

// bare drops the query and the user of a URL, which may hold anything.
func bare(address string) string {
	s, _, _ := strings.Cut(address, "?")
	scheme, rest, ok := strings.Cut(s, "://")
	host, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(host, '@'); ok && i >= 0 {
		return scheme + "://" + host[i+1:] + "/" + path
	}
	return s
}

func known(t time.Time) *time.Time {
	if t.Year() <= 1 {
		return nil
	}
	return &t
}

func shown(body []byte, omitted bool) string {
	if omitted {
		return "(not stored)"
	}
	return printable(string(body))
}

// planned says what a sweep would do about an unsettled entry.
func planned(e journal.Entry, now time.Time) string {
	p, ok := catalog.Find(e.Provider)
	if !ok {
		return "nothing: this program has no adapter of " + printable(e.Provider)
	}
	when := ""
	switch {
	case !e.Lease.Free(now):
		return "nothing before " + ago(now, e.Lease.Until) + ": a process is at work on it, or died"
	case e.Due.After(now):
		when = ", due " + ago(now, e.Due)
	}
	return whatNext(e, p.New(), now) + when
}

// whatNext says how the entry would be settled.
func whatNext(e journal.Entry, a contract.Adapter, now time.Time) string {
	call, err := callOf(e)
	if err != nil {
		return "nothing: its request cannot be read"
	}
	t := a.Terms(call)
	_, finds := a.(contract.Finder)
	lookUp := "a person must look: the provider cannot be asked for it"
	if finds {
		lookUp = "look it up"
	}
	switch {
	case e.Verdict.Status == contract.Duplicate:
		return "fetch what exists and compare it"
	case e.Request.Omitted:
		return lookUp + " (the body was not stored, so it cannot be sent again)"
	case !t.HonoursKeys() && !t.Idempotent, e.Verdict.NoResend, e.Verdict.Status == contract.KeySpent:
		return lookUp
	case t.Idempotent || fresh(t, now.Sub(e.FirstSent)+e.Skew):
		return "send it again with the same key"
	default:
		return lookUp + " (the key is too old to be sent)"
	}
}

// fresh reports whether a key may still be sent, by the client's default margins.
func fresh(t contract.Terms, age time.Duration) bool {
	retention := t.Retention
	switch retention {
	case contract.RetentionForever:
		return true
	case 0:
		retention = time.Hour
	}
	return age < retention-min(time.Hour, retention/4)
}

func newJournalLs(c *console, f *journalFlags) *cobra.Command {
	var all bool
	var r reveal
	cmd := &cobra.Command{
		Use: "ls", Short: "List what is unsettled: since when, what is known, what would be done",
		Example: "  idempact journal ls --db payments.db\n  idempact journal ls --db postgres://… --all --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := openJournal(cmd.Context(), f.db, false)
			if err != nil {
				return err
			}
			defer store.Close()
			list := entriesView{Entries: []entryView{}}
			now := time.Now()
			err = f.each(cmd.Context(), store, !all, func(e journal.Entry) error {
				v := viewEntry(e, now, r)
				v.History = nil
				list.Entries = append(list.Entries, v)
				return nil
			})
			list.now, list.all = now, all
			if err != nil && len(list.Entries) == 0 {
				return err
			}
			return errors.Join(c.show(list), err)
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "the settled ones too")
	cmd.Flags().BoolVar(&r.keys, "keys", false, "show whole keys")
	return cmd
}

type entriesView struct {
	Entries []entryView `json:"entries"`

	now time.Time
	all bool
}

func (l entriesView) text(c *console) string {
	if len(l.Entries) == 0 {
		if l.all {
			return "The journal is empty.\n"
		}
		return "Nothing is unsettled.\n"
	}
	rows := make([][]string, 0, len(l.Entries))
	for _, e := range l.Entries {
		since := "not sent"
		if e.Since != nil {
			since = ago(l.now, *e.Since)
		}
		what := e.Action
		if what == "" {
			method, url, _ := strings.Cut(e.Request, " ")
			what = method + " " + path(url)
		}
		key := e.KeyTag
		if e.Key != "" {
			key = e.Key
		}
		next := e.Planned
		if e.Settled {
			next = "settled"
		}
		rows = append(rows, []string{key, clip(e.Provider), clip(what), since, c.paint(e.Verdict.Status, effectColor(e.status)), clip(e.Verdict.Resource), next})
	}
	return grid([]string{"KEY", "PROVIDER", "WHAT", "FIRST SENT", "STATUS", "RESOURCE", "NEXT"}, rows)
}

func newJournalShow(c *console, f *journalFlags) *cobra.Command {
	var r reveal
	cmd := &cobra.Command{
		Use: "show KEY", Short: "Show one operation, attempt by attempt",
		Long: `Show what is known of one operation, and what happened to it. KEY is the whole key, or
its short hash as ls shows it.`,
		Example: "  idempact journal show --db payments.db order-1001\n  idempact journal show --db payments.db 3fdc4a01b2c4 --bodies",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := openJournal(cmd.Context(), f.db, false)
			if err != nil {
				return err
			}
			defer store.Close()
			e, err := f.find(cmd.Context(), store, args[0])
			if err != nil {
				return err
			}
			now := time.Now()
			return c.show(entryPage{viewEntry(e, now, r), now})
		},
	}
	cmd.Flags().BoolVar(&r.keys, "keys", false, "show the whole key")
	cmd.Flags().BoolVar(&r.bodies, "bodies", false, "show what was sent and what came back, which may be personal data")
	return cmd
}

// find returns the one entry of a key or a tag.
func (f journalFlags) find(ctx context.Context, store lister, key string) (journal.Entry, error) {
	var found []journal.Entry
	err := f.each(ctx, store, false, func(e journal.Entry) error {
		if e.Key == key || contract.KeyTag(e.Key) == key {
			found = append(found, e)
		}
		return nil
	})
	switch {
	case len(found) == 1:
		return found[0], nil
	case err != nil:
		return journal.Entry{}, err
	case len(found) == 0:
		return journal.Entry{}, errors.New("the journal has no operation with this key; idempact journal ls --all lists them")
	default:
		return journal.Entry{}, fmt.Errorf("%d operations have this key; say whose with --provider and --account", len(found))
	}
}

// entryPage is one operation with its timeline.
type entryPage struct {
	entryView
	now time.Time
}

// MarshalJSON writes the entry alone.
func (p entryPage) MarshalJSON() ([]byte, error) { return json.Marshal(p.entryView) }

func (p entryPage) text(c *console) string {
	v := p.Verdict
	list := [][2]string{
		{"provider", strings.TrimSpace(p.Provider + " " + p.Account)},
		{"key", strings.TrimSpace(p.KeyTag + " " + p.Key)},
		{"action", p.Action},
		{"request", p.Request},
		{"attempts", fmt.Sprint(v.Attempts)},
		{"resource", strings.TrimSpace(v.Resource + " " + v.State)},
		{"why", v.Reason},
		{"known from", v.Source},
		{"next", p.Planned},
	}
	head := strings.ToUpper(v.Status)
	if !p.Settled {
		head += ", not settled"
	}
	var b strings.Builder
	b.WriteString(c.paint(head, text.Bold, effectColor(p.status)) + "\n" + facts(c, list))
	if len(p.History) > 0 {
		b.WriteString("\n")
		rows := make([][]string, 0, len(p.History))
		for _, e := range p.History {
			answer := "none"
			if e.Answer != 0 {
				answer = fmt.Sprint(e.Answer)
			}
			if e.Kind == "evidence" {
				answer = ""
			}
			rows = append(rows, []string{e.At.Format(time.DateTime), e.Kind, answer, e.Status, e.Resource, e.Reason})
		}
		b.WriteString(grid([]string{"WHEN (UTC)", "WHAT", "ANSWER", "IT SAYS", "RESOURCE", "WHY"}, rows))
	}
	if p.Bodies != nil {
		fmt.Fprintf(&b, "\nsent:\n%s\n\ncame back (%d):\n%s\n", p.Bodies.Request, p.Bodies.Answer, p.Bodies.Response)
	}
	return b.String()
}

func newJournalExport(c *console, f *journalFlags) *cobra.Command {
	var unsettled bool
	var r reveal
	cmd := &cobra.Command{
		Use: "export", Short: "Write entries as JSON, one a line",
		Example: "  idempact journal export --db payments.db > payments.jsonl",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := openJournal(cmd.Context(), f.db, false)
			if err != nil {
				return err
			}
			defer store.Close()
			out := json.NewEncoder(c.out)
			out.SetEscapeHTML(false)
			now := time.Now()
			return f.each(cmd.Context(), store, unsettled, func(e journal.Entry) error {
				return out.Encode(viewEntry(e, now, r))
			})
		},
	}
	cmd.Flags().BoolVar(&unsettled, "unsettled", false, "only what is not settled")
	cmd.Flags().BoolVar(&r.keys, "keys", false, "with whole keys")
	cmd.Flags().BoolVar(&r.bodies, "bodies", false, "with what was sent and what came back, which may be personal data")
	return cmd
}

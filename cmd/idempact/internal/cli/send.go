package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/idempact/idempact/cmd/idempact/internal/explain"
	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/internal/catalog"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/retry"
)

type sendFlags struct {
	provider   string
	method     string
	headers    []string
	data       string
	key        string
	withoutKey bool
	db         string
	account    string
	action     string
	attempts   int
	elapsed    time.Duration
	output     string
}

func newSend(c *console) *cobra.Command {
	var f sendFlags
	cmd := &cobra.Command{
		Use: "send URL", Short: "Send one request so that it takes effect once",
		Long: `Send one write request through the client: resent only where that is safe, its answer
understood by the provider's contract, and remembered in a journal if there is --db.
The same command again, with the same key and journal, goes on where this one ended,
and never pays twice.

The key is what tells one business action from another: derive it from your own books
(order-1001), and use it again for the same action only. Credentials come from the
environment and are not stored:
  ` + envAuthorization + `   the Authorization header, or a token for Bearer
  ` + envHeaders + `         other headers, one a line

Exit status: 0 it took effect; 3 it may have; 4 it did not.`,
		Example: `  idempact send --db payments.db --key order-1001 -d 'amount=2500&currency=usd' \
    --provider stripe http://127.0.0.1:12111/v1/payment_intents`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), c, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.provider, "provider", "p", "auto", "whose contract holds; auto goes by the host")
	flags.StringVarP(&f.method, "request", "X", http.MethodPost, "the `method`")
	flags.StringArrayVarP(&f.headers, "header", "H", nil, "a `header` of the request")
	flags.StringVarP(&f.data, "data", "d", "", "the body, or @`file`")
	flags.StringVarP(&f.key, "key", "k", "", "the idempotency key, where the request does not carry it")
	flags.BoolVar(&f.withoutKey, "without-key", false, "send without a key: at most once")
	flags.StringVar(&f.db, "db", "", "the journal: a `file`, made if there is none, or a postgres:// URL")
	flags.StringVar(&f.account, "account", "", "whose keys these are, where accounts share a journal")
	flags.StringVar(&f.action, "action", "", "what this is, for people who read the journal")
	flags.IntVar(&f.attempts, "max-attempts", 5, "sends at most")
	flags.DurationVar(&f.elapsed, "max-elapsed", 2*time.Minute, "no attempt starts later than this")
	flags.StringVarP(&f.output, "output", "o", "", "write the answer's body to a `file`; - is standard output")
	_ = cmd.RegisterFlagCompletionFunc("provider", completeProvider)
	return cmd
}

func (f sendFlags) run(ctx context.Context, c *console, target string) error {
	p, err := f.find(target)
	if err != nil {
		return err
	}
	if f.attempts < 1 || f.elapsed <= 0 {
		return errors.New("--max-attempts is at least 1, and --max-elapsed more than 0")
	}
	req, err := f.request(ctx, target)
	if err != nil {
		return err
	}
	authorize, err := authorizer()
	if err != nil {
		return err
	}
	o := &retry.Options{Account: f.account, MaxAttempts: f.attempts, MaxElapsed: f.elapsed, Authorize: authorize}
	if f.db != "" {
		store, err := openJournal(ctx, f.db, true)
		if err != nil {
			return err
		}
		defer store.Close()
		o.Journal = store
	}
	client, err := retry.NewClient(p.New(), o)
	if err != nil {
		return err
	}
	result, err := client.Do(req)
	if err != nil && result == nil {
		return err
	}
	return f.tell(c, p, result, err)
}

// find returns the provider of the URL.
func (f sendFlags) find(target string) (catalog.Provider, error) {
	if f.provider != "auto" {
		return findProvider(f.provider)
	}
	u, err := url.Parse(target)
	if err == nil {
		if p, ok := explain.ProviderOf(u.Hostname()); ok {
			return p, nil
		}
	}
	return catalog.Provider{}, errors.New("the host is no provider's; name the provider with --provider")
}

func (f sendFlags) request(ctx context.Context, target string) (*http.Request, error) {
	body := f.data
	if name, ok := strings.CutPrefix(body, "@"); ok {
		raw, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		body = string(raw)
	}
	switch {
	case f.withoutKey && f.key != "":
		return nil, errors.New("--key and --without-key exclude each other")
	case f.withoutKey:
		ctx = contract.WithoutKey(ctx)
	case f.key != "":
		ctx = contract.WithKey(ctx, f.key)
	}
	if f.action != "" {
		ctx = contract.WithAction(ctx, f.action)
	}
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, strings.ToUpper(f.method), target, r)
	if err != nil || req.URL.Host == "" || req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return nil, errors.New("the URL is not one: https://api.stripe.com/v1/refunds")
	}
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		return nil, errors.New("a read takes no effect; send is for writes")
	}
	switch {
	case strings.HasPrefix(strings.TrimSpace(body), "{"):
		req.Header.Set("Content-Type", "application/json")
	case body != "":
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, errors.New("--header is a name, a colon and a value")
		}
		req.Header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return req, nil
}

// authorizer returns what adds the caller's credentials to every request.
func authorizer() (func(*http.Request) error, error) {
	h, err := credentials()
	if err != nil {
		return nil, err
	}
	return func(r *http.Request) error {
		for name, values := range h {
			r.Header[name] = values
		}
		return nil
	}, nil
}

// sent is what came of it.
type sent struct {
	Provider string `json:"provider"`
	outcomeView
	Attempts int  `json:"attempts"`
	Recorded bool `json:"recorded,omitempty"` // the journal had it, and nothing was sent
	Answer   int  `json:"answer,omitempty"`   // HTTP status
	Journal  bool `json:"journal"`

	status contract.Status
}

func (f sendFlags) tell(c *console, p catalog.Provider, result *retry.Result, err error) error {
	v := sent{Provider: p.Name, outcomeView: viewOutcome(result.Outcome), Attempts: result.Attempts, Recorded: result.Recorded,
		Journal: f.db != "", status: result.Status}
	if result.Response != nil {
		v.Answer = result.Response.StatusCode
		if err := f.write(c, result.Response); err != nil {
			return err
		}
	}
	if f.output != "-" {
		if err := c.show(v); err != nil {
			return err
		}
	}
	var unrecorded *retry.UnrecordedError
	switch {
	case errors.As(err, &unrecorded):
		return fmt.Errorf("the journal failed after the send, and does not know that it is %s: %w", unrecorded.Verdict.Status, journalText(unrecorded.Err))
	case err == nil:
		return nil
	case result.Effect() == contract.EffectNone:
		return exitCode(exitNone)
	default:
		return exitCode(exitMaybe)
	}
}

func journalText(err error) error {
	if errors.Is(err, journal.ErrClosed) {
		return journal.ErrClosed
	}
	return err
}

// write writes the body of the answer where the caller wants it.
func (f sendFlags) write(c *console, resp *http.Response) error {
	defer resp.Body.Close()
	switch f.output {
	case "":
		return nil
	case "-":
		_, err := io.Copy(c.out, resp.Body)
		return err
	}
	file, err := os.OpenFile(f.output, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, resp.Body); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

func (v sent) text(c *console) string {
	head := strings.ToUpper(v.Status)
	if v.Recorded {
		head += ", as the journal had it"
	}
	list := [][2]string{
		{"provider", v.Provider},
		{"attempts", fmt.Sprint(v.Attempts)},
		{"resource", strings.TrimSpace(v.Resource + " " + v.State)},
		{"code", v.Code},
		{"request id", v.RequestID},
		{"why", v.Reason},
		{"next", v.advice()},
	}
	return c.paint(head, text.Bold, effectColor(v.status)) + "\n" + facts(c, list)
}

func (v sent) advice() string {
	switch {
	case v.Effect == contract.EffectApplied.String() && v.status == contract.Succeeded:
		return ""
	case v.Effect == contract.EffectNone.String():
		return ""
	case v.Journal:
		s := "the same command again, with the same key, or idempact journal sweep"
		if v.Wait != "" {
			s += ", in " + v.Wait
		}
		return s
	default:
		return "the same command again with the same key, while the key is young; a journal (--db) would remember it"
	}
}

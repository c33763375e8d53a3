package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/idempact/idempact/cmd/idempact/internal/check"
	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/internal/catalog"
)

// The environment variables with the caller's test credentials: they have no place on a
// command line.
const (
	envAuthorization = "IDEMPACT_AUTHORIZATION" // "Bearer sk_test_…", or only the token
	envHeaders       = "IDEMPACT_HEADERS"       // more headers, one a line
)

type checkFlags struct {
	url      string
	endpoint string
	verbose  bool
}

func newCheck(c *console) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use: "check NAME --url URL", Short: "Run the conformance suite against a running server",
		Long: `Run the conformance suite against a server that behaves like a provider: a fake, or
the provider's own test system. Every rule is told with its result, and what the
server did otherwise than the recorded contract says is told as drift. It makes some
hundred test payments.

Against a fake that idempact runs, the rules about effects and about the age of a key
are checked too; elsewhere they are skipped, and say so.

Credentials of a test account are taken from the environment:
  ` + envAuthorization + `   the Authorization header, or a token for Bearer
  ` + envHeaders + `         other headers, one a line: X-API-Key: …
Live credentials and live hosts are refused.

Exit status 1: a rule failed, or the server has drifted.`,
		Example: `  idempact fake stripe -q & idempact check stripe --url http://127.0.0.1:12111
  ` + envAuthorization + `=sk_test_… idempact check stripe --url https://api.stripe.com`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeProvider,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), c, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.url, "url", "", "`URL` of the server: scheme, host and port")
	flags.StringVar(&f.endpoint, "endpoint", "", "a part of the `name` of the endpoint to check; the main one by default")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "tell what each rule demands")
	_ = cmd.MarkFlagRequired("url")
	return cmd
}

func (f checkFlags) run(ctx context.Context, c *console, name string) error {
	p, err := findProvider(name)
	if err != nil {
		return err
	}
	t, err := f.target(p)
	if err != nil {
		return err
	}
	if err := t.Safe(); err != nil {
		return hinted(err, "use a test key or a sandbox")
	}
	report, err := check.Run(ctx, t)
	if err != nil {
		return err
	}
	if err := c.show(checkReport{report, f.verbose}); err != nil {
		return err
	}
	for _, d := range report.Drift {
		if d.Differs {
			return errFalse
		}
	}
	if report.Failed > 0 {
		return errFalse
	}
	return nil
}

func (f checkFlags) target(p catalog.Provider) (check.Target, error) {
	u, err := url.Parse(f.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return check.Target{}, errors.New("--url is a scheme and a host: http://127.0.0.1:12111")
	}
	e, err := f.choose(p)
	if err != nil {
		return check.Target{}, err
	}
	h, err := credentials()
	if err != nil {
		return check.Target{}, err
	}
	client := &http.Client{
		Timeout: 30 * time.Second, Transport: http.DefaultTransport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return check.Target{Provider: p, Endpoint: e, URL: &url.URL{Scheme: u.Scheme, Host: u.Host}, Header: h, Client: client}, nil
}

func (f checkFlags) choose(p catalog.Provider) (contract.Endpoint, error) {
	list, ok := p.New().(contract.Catalog)
	if !ok {
		return contract.Endpoint{}, fmt.Errorf("%s lists no endpoint", p.Name)
	}
	var names []string
	for _, e := range list.Endpoints() {
		if strings.Contains(e.Name, f.endpoint) {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return contract.Endpoint{}, fmt.Errorf("no endpoint of %s is like %q; they are: %s", p.Name, f.endpoint, strings.Join(names, ", "))
}

// credentials reads the environment. Its errors tell nothing of what is in it.
func credentials() (http.Header, error) {
	h := http.Header{}
	for line := range strings.Lines(os.Getenv(envHeaders)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("%s has a line that is not a name, a colon and a value", envHeaders)
		}
		h.Set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	if v := strings.TrimSpace(os.Getenv(envAuthorization)); v != "" {
		if !strings.Contains(v, " ") {
			v = "Bearer " + v
		}
		h.Set("Authorization", v)
	}
	return h, nil
}

// checkReport is how a report looks.
type checkReport struct {
	*check.Report
	verbose bool
}

func (r checkReport) text(c *console) string {
	colors := map[string]text.Color{"passed": text.FgGreen, "failed": text.FgRed, "skipped": text.Faint}
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s\n%s\n\n", c.paint(r.Provider, text.Bold), r.URL, r.Endpoint)
	for _, rule := range r.Rules {
		fmt.Fprintf(&b, "%s  %s\n", c.paint(fmt.Sprintf("%-7s", rule.Result), colors[rule.Result]), rule.Name)
		if rule.Result == "failed" || r.verbose {
			fmt.Fprintf(&b, "         %s\n", wrap(rule.Demand, 9))
		}
		if rule.Why != "" {
			fmt.Fprintf(&b, "         %s\n", wrap(rule.Why, 9))
		}
		for _, found := range rule.Found {
			fmt.Fprintf(&b, "         - %s\n", wrap(printable(found), 11))
		}
	}
	if len(r.Drift) > 0 {
		rows := make([][]string, 0, len(r.Drift))
		for _, d := range r.Drift {
			mark := "as recorded"
			if d.Differs {
				mark = c.paint("DRIFTED", text.FgRed, text.Bold)
			}
			rows = append(rows, []string{d.Promise, d.Recorded, printable(d.Seen), mark})
		}
		b.WriteString("\n" + grid([]string{"PROMISE", "RECORDED", "SEEN", ""}, rows))
	}
	fmt.Fprintf(&b, "\n%d passed, %d failed, %d skipped\n", r.Passed, r.Failed, r.Skipped)
	return b.String()
}

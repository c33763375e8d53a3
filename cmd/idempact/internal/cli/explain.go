package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/idempact/idempact/cmd/idempact/internal/answer"
	"github.com/idempact/idempact/cmd/idempact/internal/explain"
	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/internal/catalog"
)

// explainFlags are what the answer does not tell by itself.
type explainFlags struct {
	provider string
	status   int
	headers  []string
	request  string
	to       string
	entry    int
	exitCode bool
}

func newExplain(c *console) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use: "explain [FILE|-]", Short: "Say what an answer means for the money",
		Long: `Read an HTTP answer as people have it (curl -i, curl -v, a dump of HTTP/2, a HAR
entry, or a bare body with --status) from a file or from standard input, and say what
it means for the money, what to do next, and which documented rule says so.

Show the request too where you can: the same answer can mean different things to
different requests. curl -v and HAR show it by themselves; else use --request or --to.
Bodies, credentials and keys are not printed.

With --exit-code the exit status is 0 if the effect exists, 3 if it may exist, and
4 if there is none.`,
		Example: `  curl -si https://api.zeptopayments.com/payments … | idempact explain --provider zepto
  idempact explain answer.txt --to 'POST https://api.stripe.com/v1/refunds'
  idempact explain --provider stripe --status 409 body.json
  idempact explain --entry 3 --json checkout.har`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if f.provider != "auto" {
				if _, err := findProvider(f.provider); err != nil {
					return err
				}
			}
			a, err := f.read(c.in, args)
			if err != nil {
				return err
			}
			x, err := f.explain(a)
			if err != nil {
				return err
			}
			if err := c.show(explanation{x}); err != nil || !f.exitCode {
				return err
			}
			if code := x.ExitCode(exitMaybe, exitNone); code != 0 {
				return exitCode(code)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.provider, "provider", "p", "auto", "whose answer it is; auto guesses, and says why")
	flags.IntVar(&f.status, "status", 0, "the HTTP status, where the input is a bare body")
	flags.StringArrayVarP(&f.headers, "header", "H", nil, "a `header` of the answer that the input does not show: 'Retry-After: 3'")
	flags.StringVar(&f.request, "request", "", "`file` with the request that it answers, as on the wire")
	flags.StringVar(&f.to, "to", "", "the first `line` of that request: 'POST https://api.stripe.com/v1/refunds'")
	flags.IntVar(&f.entry, "entry", 0, "which entry of a HAR file, from 1")
	flags.BoolVar(&f.exitCode, "exit-code", false, "tell the effect by the exit status")
	_ = cmd.RegisterFlagCompletionFunc("provider", completeProvider)
	return cmd
}

// read reads the answer, and the request if it is told.
func (f explainFlags) read(in io.Reader, args []string) (*answer.Answer, error) {
	if f.status != 0 && (f.status < 100 || f.status > 599) {
		return nil, errors.New("--status is an HTTP status, 100 to 599")
	}
	if f.entry < 0 {
		return nil, errors.New("--entry counts from 1")
	}
	if len(args) == 1 && args[0] != "-" {
		file, err := os.Open(args[0])
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	a, err := answer.Read(in, answer.Options{Status: f.status, Entry: f.entry})
	if err != nil {
		return nil, err
	}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, errors.New("--header is a name, a colon and a value: 'Retry-After: 3'")
		}
		a.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	if a.Cut != "" {
		return nil, fmt.Errorf("the answer is cut: %s; so it proves nothing and is unknown: paste it whole, and never send again under a new key", a.Cut)
	}
	return a, f.readRequest(a)
}

func (f explainFlags) readRequest(a *answer.Answer) error {
	switch {
	case f.request != "" && f.to != "":
		return errors.New("--request and --to say the same: use one")
	case f.to != "":
		return a.ReadRequest(strings.NewReader(f.to + "\n\n"))
	case f.request == "":
		return nil
	}
	file, err := os.Open(f.request)
	if err != nil {
		return err
	}
	defer file.Close()
	return a.ReadRequest(file)
}

func (f explainFlags) explain(a *answer.Answer) (*explain.Explanation, error) {
	if f.provider != "auto" {
		p, err := findProvider(f.provider)
		if err != nil {
			return nil, err
		}
		return explain.Explain(p, a)
	}
	p, why, err := explain.Guess(a)
	if err != nil {
		var names []string
		for _, p := range catalog.Providers {
			names = append(names, p.Name)
		}
		return nil, hinted(err, "name it with --provider: "+strings.Join(names, ", "))
	}
	x, err := explain.Explain(p, a)
	if err == nil {
		x.Guess = why
	}
	return x, err
}

// few names some of many.
func few(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:2], ", "), len(names)-2)
	}
	return strings.Join(names, ", ")
}

// explanation is how an explanation looks.
type explanation struct{ *explain.Explanation }

func (x explanation) text(c *console) string {
	colors := map[string]text.Color{
		contract.EffectApplied.String(): text.FgGreen, contract.EffectNone.String(): text.FgCyan, contract.EffectMaybe.String(): text.FgYellow,
	}
	who := x.Provider
	if x.Guess != "" {
		who += " (guessed: " + x.Guess + ")"
	}
	list := [][2]string{
		{"provider", who},
		{"answer", strings.TrimSpace(fmt.Sprintf("%d %s", x.Answer, x.Code)) + " to " + x.Request},
		{"assumed", x.Assumed},
		{"resource", strings.TrimSpace(x.Resource + " " + x.State)},
		{"request id", x.RequestID},
		{"next", x.Advice},
		{"why", x.Reason},
		{"rule", x.Rule},
	}
	for _, s := range x.Sources {
		list = append(list, [2]string{"source", s.URL + " (read " + s.Read + ")"})
	}
	for _, o := range x.Else {
		list = append(list, [2]string{"otherwise", o.Status + ", as the answer to " + few(o.Requests)})
	}
	status := strings.ToUpper(x.Status)
	if x.Replayed {
		status += ", replayed"
	}
	return c.paint(status, text.Bold, colors[x.Effect]) + "\n" + wrap(x.Meaning, 0) + "\n\n" + facts(c, list)
}

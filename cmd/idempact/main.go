// Command idempact shows what a payment client does with lost answers.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/idempact/idempact/cmd/idempact/internal/demo"
)

// The exit statuses, for scripts.
const (
	exitOK    = 0
	exitFalse = 1 // the demo's idempact row has a duplicate or a false report
	exitUsage = 2 // the command line is wrong, or the demo could not run
)

const usage = `usage: idempact demo [flags]

Commands:
  demo   pay through a naive client, go-retryablehttp and idempact while answers
         get lost, then after an outage and a restart, and count what really
         happened

idempact demo -h lists its flags.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return exitUsage
	}
	switch args[0] {
	case "demo":
		return runDemo(ctx, args[1:], stdout, stderr)
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stdout, usage)
		return exitOK
	default:
		fmt.Fprintf(stderr, "idempact: unknown command %q\n\n%s", args[0], usage)
		return exitUsage
	}
}

func runDemo(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("idempact demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	seed := flags.Uint64("seed", 1, "seed of the faults: the same seed, the same faults")
	payments := flags.Int("payments", 200, "payments at each provider through each client, 1 to 10000; a job that runs twice has a quarter")
	asJSON := flags.Bool("json", false, "print the report as JSON")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "idempact demo: unexpected argument %q\n", flags.Arg(0))
		return exitUsage
	case *payments < 1 || *payments > 10_000:
		fmt.Fprintln(stderr, "idempact demo: --payments is 1 to 10000")
		return exitUsage
	}
	report, err := demo.Run(ctx, demo.Config{Seed: *seed, Payments: *payments, Progress: progress(stderr)})
	if err != nil {
		fmt.Fprintf(stderr, "idempact demo: %v\n", err)
		return exitUsage
	}
	if err := write(stdout, report, *asJSON); err != nil {
		fmt.Fprintf(stderr, "idempact demo: %v\n", err)
		return exitUsage
	}
	return judge(report, stderr)
}

// judge returns the exit status that a report deserves.
func judge(report *demo.Report, stderr io.Writer) int {
	if report.Truthful() {
		return exitOK
	}
	fmt.Fprintln(stderr, "idempact demo: the idempact rows have a duplicate or a false report")
	return exitFalse
}

func write(w io.Writer, report *demo.Report, asJSON bool) error {
	if !asJSON {
		return report.WriteText(w)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(report)
}

// progress returns a function that keeps one line up to date on a terminal, and
// does nothing on anything else.
func progress(w io.Writer) func(done, total int) {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return func(done, total int) {
		if done == total {
			fmt.Fprint(f, "\r\x1b[K")
			return
		}
		fmt.Fprintf(f, "\r%d of %d payments", done, total)
	}
}

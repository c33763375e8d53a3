// Package cli is the command line of idempact: what each command takes, prints and
// exits with. What they do is in the packages beside it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
)

// The exit statuses, for scripts.
const (
	exitOK    = 0
	exitFalse = 1 // the command ran, and what it found is not as it should be
	exitUsage = 2 // the command line or the input is wrong, or the command could not run
	exitMaybe = 3 // with --exit-code: the effect may exist
	exitNone  = 4 // with --exit-code: there is no effect
)

// errFalse is the error of a command that has said all that there is to say, and exits
// with exitFalse.
var errFalse = errors.New("not as it should be")

// exitCode is an error that only sets the exit status.
type exitCode int

// Error returns the status.
func (c exitCode) Error() string { return fmt.Sprintf("exit status %d", int(c)) }

// Main runs the command line and returns the exit status.
func Main(args []string, in io.Reader, out, errs io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return run(ctx, args, in, out, errs)
}

func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	c := &console{in: in, out: out, errs: errs}
	root := newRoot(c)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	var code exitCode
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errFalse):
		return exitFalse
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintf(errs, "%s: %s\n", command.CommandPath(), oneLine(err.Error()))
	return exitUsage
}

// Root returns the command with all that is below it, for what is written about it.
func Root() *cobra.Command { return newRoot(&console{}) }

func newRoot(c *console) *cobra.Command {
	root := &cobra.Command{
		Use:   "idempact",
		Short: "Call payment APIs so that each action takes effect once",
		Long: `idempact explains what the answer of a payment API means for the money, runs a
provider on your desk, checks one against its contract, and shows what is unsettled.

Exit status: 0 as asked; 1 the command ran and found something that is not as it
should be; 2 the command line or the input is wrong.`,
		SilenceErrors: true, SilenceUsage: true,
		Version: readVersion().Version,
		RunE: func(cmd *cobra.Command, _ []string) error { // without Args, so that cobra suggests commands
			_ = cmd.Help()
			return exitCode(exitUsage)
		},
	}
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.errs)
	root.PersistentFlags().BoolVar(&c.json, "json", false, "print JSON, for programs")
	root.PersistentFlags().StringVar(&c.color, "color", "auto", "`when` to colour: auto, always, never; NO_COLOR is never")
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return c.open() }
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(newExplain(c), newProviders(c), newSend(c), newJournal(c), newFake(c), newCheck(c), newNew(c), newDemo(c), newVersion(c))
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion": // by itself it tells what there is, as the other groups do
			cmd.RunE = func(cmd *cobra.Command, _ []string) error {
				_ = cmd.Help()
				return exitCode(exitUsage)
			}
		case "help": // of what there is not, it is an error
			cmd.Args = func(_ *cobra.Command, args []string) error {
				_, _, err := root.Find(args)
				return err
			}
		}
	}
	root.SuggestionsMinimumDistance = 2
	return root
}

// oneLine joins the lines of an error: one error is one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// hinted is an error with what to do next.
func hinted(err error, hint string) error { return fmt.Errorf("%w; %s", err, hint) }

package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/idempact/idempact/cmd/idempact/internal/demo"
)

type demoReport struct{ *demo.Report }

func (r demoReport) text(*console) string {
	var b strings.Builder
	_ = r.WriteText(&b) // into memory
	return b.String()
}

func newDemo(c *console) *cobra.Command {
	var config demo.Config
	cmd := &cobra.Command{
		Use: "demo", Short: "Count what three clients do with lost answers",
		Long: `Pay through a naive client, go-retryablehttp and idempact while answers get lost,
then after an outage and a restart, and count what really happened. Nothing leaves
this process.

Exit status 1: idempact's own rows have a duplicate or a false report.`,
		Example: "  idempact demo\n  idempact demo --seed 7 --payments 50 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if config.Payments < 1 || config.Payments > 10_000 {
				return errors.New("--payments is 1 to 10000")
			}
			b := &bar{}
			config.Progress = func(done, total int) {
				if done <= 1 {
					b = newBar(c, "payments", total)
				}
				b.set(done)
			}
			report, err := demo.Run(cmd.Context(), config)
			b.stop()
			if err != nil {
				return err
			}
			if err := c.show(demoReport{report}); err != nil {
				return err
			}
			return judge(report, c.errs)
		},
	}
	cmd.Flags().Uint64Var(&config.Seed, "seed", 1, "seed of the faults: the same seed, the same faults")
	cmd.Flags().IntVar(&config.Payments, "payments", 200, "payments at each provider through each client, 1 to 10000; a job that runs twice has a quarter")
	return cmd
}

// judge returns the error that a report deserves.
func judge(report *demo.Report, errs io.Writer) error {
	if report.Truthful() {
		return nil
	}
	fmt.Fprintln(errs, "idempact demo: the idempact rows have a duplicate or a false report")
	return errFalse
}

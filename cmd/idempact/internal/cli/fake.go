package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/idempact/idempact/cmd/idempact/internal/fakeserver"
	"github.com/idempact/idempact/fakes"
)

type fakeFlags struct {
	listen string
	faults []string
	file   string
	seed   uint64
	quiet  bool
}

// listening is what the command says when it is ready.
type listening struct {
	Provider string `json:"provider"`
	URL      string `json:"url"`
	Control  string `json:"control"`
}

func (l listening) text(c *console) string {
	return fmt.Sprintf("fake %s on %s\nit is told what to do at %s; Ctrl-C ends it\n", l.Provider, c.paint(l.URL, text.Bold), l.Control)
}

func newFake(c *console) *cobra.Command {
	var f fakeFlags
	cmd := &cobra.Command{
		Use: "fake NAME", Short: "Run a fake provider for tests in any language",
		Long: `Serve a fake of a provider over HTTP: it remembers keys as the provider's documents
say, keeps a ledger of what really happened, and does what goes wrong on request.
Any credential is accepted, and nothing leaves the machine.

Faults are for the next write requests, in order, and are given by --fault, by --faults
(a file with one a line, # begins a comment) or while it runs:

  curl -d '{"faults":["LoseReply"]}' http://127.0.0.1:12111/_fake/faults
  curl http://127.0.0.1:12111/_fake/effects
  curl -d '{"advance":"25h"}' http://127.0.0.1:12111/_fake/clock
  curl -X POST http://127.0.0.1:12111/_fake/reset

The header X-Fake-Space gives tests that run side by side a provider each.

The faults: LoseReply, ResetAfterSend, Hang, CutBody(bytes), RefuseConnection,
InFlight(5s), Slow(3s), SaveError(500), SaveErrorNoEffect(500), Throttle(3s),
Unavailable(3s), Status(402, body), HTMLPage(502), Redirect(url), None.`,
		Example: `  idempact fake stripe
  idempact fake zepto --listen 127.0.0.1:0 --fault LoseReply --fault 'Throttle(3s)'`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeProvider,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), c, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:12111", "`address` to listen on; port 0 takes a free one")
	flags.StringArrayVar(&f.faults, "fault", nil, "a `fault` for the next write that has none yet")
	flags.StringVar(&f.file, "faults", "", "a `file` with more of them, one a line")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of its ids: the same seed, the same ids")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no log of the requests")
	return cmd
}

func (f fakeFlags) run(ctx context.Context, c *console, name string) error {
	p, err := findProvider(name)
	if err != nil {
		return err
	}
	if p.Fake == nil {
		return fmt.Errorf("there is no fake of %s", name)
	}
	faults, err := f.script()
	if err != nil {
		return err
	}
	l, err := listen(ctx, f.listen)
	if err != nil {
		return err
	}
	server := fakeserver.New(func() *fakes.Server { return p.Fake(&fakes.Options{Seed: f.seed}) }, f.logTo(c))
	server.Script(faults...)
	url := "http://" + l.Addr().String()
	if err := c.show(listening{name, url, url + "/_fake"}); err != nil {
		return err
	}
	return serve(ctx, l, server)
}

// script returns the faults of the flags, those of the file first.
func (f fakeFlags) script() ([]fakes.Fault, error) {
	var lines []string
	if f.file != "" {
		raw, err := os.ReadFile(f.file)
		if err != nil {
			return nil, err
		}
		lines = fakeserver.Lines(string(raw))
	}
	return fakeserver.ParseFaults(append(lines, f.faults...))
}

// logTo returns what writes the log, a line a request, to standard error.
func (f fakeFlags) logTo(c *console) func(fakeserver.Line) {
	if f.quiet {
		return nil
	}
	var mu sync.Mutex
	return func(l fakeserver.Line) {
		mu.Lock()
		defer mu.Unlock()
		if c.json {
			_ = json.NewEncoder(c.errs).Encode(l)
			return
		}
		line := l.String()
		if l.Fault != "" {
			line = paint(c.coloredE, line, text.FgYellow)
		}
		fmt.Fprintln(c.errs, line)
	}
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use; --listen 127.0.0.1:0 takes a free port", address)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return l, nil
}

// serve serves until the context ends.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

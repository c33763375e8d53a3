package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
}

func (v version) text(*console) string {
	s := "idempact " + v.Version
	if v.Revision != "" {
		s += ", revision " + v.Revision
	}
	if v.Modified {
		s += " with changes"
	}
	return s + ", " + v.Go + "\n"
}

func newVersion(c *console) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Tell the version of this binary",
		Example: "  idempact version --json",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return c.show(readVersion()) },
	}
}

// readVersion reads what the go command has put into the binary.
func readVersion() version {
	v := version{Version: "(unknown)", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

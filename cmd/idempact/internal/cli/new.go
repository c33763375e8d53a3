package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/idempact/idempact/cmd/idempact/internal/scaffold"
	"github.com/idempact/idempact/internal/catalog"
)

// scaffolded is what the command wrote.
type scaffolded struct {
	Files []string `json:"files"`
	Dir   string   `json:"dir"`
}

func (s scaffolded) text(*console) string {
	out := ""
	for _, f := range s.Files {
		out += f + "\n"
	}
	return out + fmt.Sprintf(`
Next: go test %s
Each rule that fails says what is missing; the exchanges come first, from the
provider's documents. CONTRIBUTING.md leads through it.
`, packagePath(s.Dir))
}

// packagePath returns a folder as the go command takes it.
func packagePath(dir string) string {
	if filepath.IsAbs(dir) {
		return dir
	}
	return "./" + filepath.ToSlash(filepath.Clean(dir))
}

func newNew(c *console) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "new NAME", Short: "Write the files of a new provider",
		Long: `Write an adapter that promises nothing yet, its test with a small fake, and one
documented exchange, with TODOs. The test fails until they are done, and each rule
that fails says what it demands.

The files go into providers/NAME in this project, and into NAME in any other module.
Nothing that exists is changed.`,
		Example: "  idempact new acmepay\n  idempact new acmepay --dir internal/payments/acmepay",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			if _, taken := catalog.Find(name); taken && dir == "" {
				return fmt.Errorf("there is a provider %s already; idempact providers %s shows it", name, name)
			}
			if dir == "" {
				dir = name
				if info, err := os.Stat("providers"); err == nil && info.IsDir() {
					dir = filepath.Join("providers", name)
				}
			}
			files, err := scaffold.Write(dir, name, time.Now().UTC().Format(time.DateOnly))
			if err != nil {
				return err
			}
			return c.show(scaffolded{files, dir})
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "`folder` for the files")
	return cmd
}

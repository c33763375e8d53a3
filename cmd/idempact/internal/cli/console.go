package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// console is where a command reads and writes, and how it is to look.
type console struct {
	in        io.Reader
	out, errs io.Writer
	json      bool
	color     string
	colored   bool // out
	coloredE  bool // errs
}

// view is what a command shows: itself as JSON, or as text.
type view interface {
	text(c *console) string
}

// open settles what the flags ask for.
func (c *console) open() error {
	allowed := os.Getenv("NO_COLOR") == ""
	smart := allowed && os.Getenv("TERM") != "dumb"
	switch c.color {
	case "always":
		c.colored, c.coloredE = allowed, allowed
	case "never":
	case "auto":
		c.colored, c.coloredE = smart && isTerminal(c.out), smart && isTerminal(c.errs)
	default:
		return fmt.Errorf("--color is auto, always or never")
	}
	return nil
}

// show prints a view.
func (c *console) show(v view) error {
	if c.json {
		e := json.NewEncoder(c.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(v)
	}
	_, err := io.WriteString(c.out, v.text(c))
	return err
}

// paint colours text where colours are wanted.
func (c *console) paint(s string, colors ...text.Color) string { return paint(c.colored, s, colors...) }

func paint(colored bool, s string, colors ...text.Color) string {
	if !colored {
		return s
	}
	return text.Colors(colors).EscapeSeq() + s + text.Reset.EscapeSeq()
}

// isTerminal reports whether a file is a terminal.
func isTerminal(f any) bool {
	file, ok := f.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) // /dev/null is a device, too
}

// grid returns a table in plain text: no lines but those between the rows' columns.
func grid(header []string, rows [][]string) string {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatDefault
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	t.SetStyle(style)
	t.AppendHeader(row(header))
	for _, r := range rows {
		t.AppendRow(row(r))
	}
	var b strings.Builder
	for line := range strings.SplitSeq(t.Render(), "\n") {
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

func row(cells []string) table.Row {
	r := make(table.Row, len(cells))
	for i, s := range cells {
		r[i] = s
	}
	return r
}

// facts returns lines of a name and a value, the values one under the other.
func facts(c *console, list [][2]string) string {
	width := 0
	for _, f := range list {
		width = max(width, len(f[0]))
	}
	var b strings.Builder
	for _, f := range list {
		if f[1] == "" {
			continue
		}
		fmt.Fprintf(&b, "%s  %s\n", c.paint(fmt.Sprintf("%-*s", width, f[0]), text.Bold), wrap(f[1], width+2))
	}
	return b.String()
}

// wrap breaks a long value between words into lines of up to 80 columns behind an
// indent. A word that is longer stays whole: a URL is to be clicked.
func wrap(s string, indent int) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > 80-indent:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return strings.Join(append(lines, line), "\n"+strings.Repeat(" ", indent))
}

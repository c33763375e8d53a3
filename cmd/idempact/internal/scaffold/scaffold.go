// Package scaffold writes the files of a new provider: an adapter that promises nothing
// yet, its test, and one documented exchange, with TODOs that the conformance suite
// explains.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

//go:embed templates
var files embed.FS

var templates = template.Must(template.ParseFS(files, "templates/*.tmpl"))

// name is what a package of Go, a folder and a provider can be called alike.
var nameForm = regexp.MustCompile(`^[a-z][a-z0-9]{1,39}$`)

// reserved are names that mean something else to the go command.
var reserved = []string{"internal", "main", "testdata", "vendor"}

// ErrName is the error of a name that a provider cannot have.
var ErrName = errors.New("a provider's name is 2 to 40 lower-case letters and digits, a letter first, and no word of Go's: it is the name of its Go package")

// CheckName returns ErrName unless a provider can have the name.
func CheckName(name string) error {
	switch {
	case !nameForm.MatchString(name), token.IsKeyword(name), slices.Contains(reserved, name):
		return ErrName
	}
	return nil
}

// Write writes the files into a folder, which is made, and returns their names. It
// changes nothing that exists.
func Write(dir, name string, date string) ([]string, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	made, err := generate(name, date)
	if err != nil {
		return nil, err
	}
	for _, f := range made {
		switch _, err := os.Lstat(filepath.Join(dir, f.name)); {
		case err == nil:
			return nil, fmt.Errorf("%s exists, and nothing was written", filepath.Join(dir, f.name))
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	var names []string
	for _, f := range made {
		path := filepath.Join(dir, f.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return names, err
		}
		if err := os.WriteFile(path, f.data, 0o644); err != nil {
			return names, err
		}
		names = append(names, path)
	}
	return names, nil
}

type file struct {
	name string
	data []byte
}

func generate(name, date string) ([]file, error) {
	values := map[string]string{"Name": name, "Title": strings.ToUpper(name[:1]) + name[1:], "Date": date}
	var all []file
	for _, f := range []struct{ template, name string }{
		{"adapter.go.tmpl", name + ".go"},
		{"adapter_test.go.tmpl", name + "_test.go"},
		{"created.txtar.tmpl", filepath.Join("testdata", "created.txtar")},
	} {
		var out bytes.Buffer
		if err := templates.ExecuteTemplate(&out, f.template, values); err != nil {
			return nil, err
		}
		data := out.Bytes()
		if strings.HasSuffix(f.name, ".go") {
			var err error
			if data, err = format.Source(data); err != nil {
				return nil, err
			}
		}
		all = append(all, file{f.name, data})
	}
	return all, nil
}

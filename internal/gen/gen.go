// Package gen is what the generators of this module share: where the module is, what
// a package says of itself, and files that are made and not written.
package gen

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Root returns the directory of the module that the working directory is in.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("not in a module: there is no go.mod")
		}
		dir = filepath.Dir(dir)
	}
}

// Parse returns the Go files of a directory that are no tests, in the order of their
// names.
func Parse(dir string) ([]*ast.File, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// Doc returns the package comment that stands in one of the files, "" if none does.
func Doc(files []*ast.File) string {
	for _, f := range files {
		if f.Doc != nil {
			return f.Doc.Text()
		}
	}
	return ""
}

// Functions returns the names of the functions in the files that are no methods.
func Functions(files []*ast.File) (names []string) {
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				names = append(names, fn.Name.Name)
			}
		}
	}
	return names
}

// Tree is what a generator makes.
type Tree struct {
	Files map[string][]byte // by their slash-separated paths from the root
	Own   string            // pattern of the files that no one else makes, so that one that is not among Files is left over; "" is none
}

// Write writes what is stale and removes what is left over.
func (t Tree) Write(root string) error {
	stale, err := t.Stale(root)
	if err != nil {
		return err
	}
	for _, path := range stale {
		name := filepath.Join(root, filepath.FromSlash(path))
		data, made := t.Files[path]
		if !made {
			if err := os.Remove(name); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Stale returns the paths of the files that differ from what they would be now, that
// are missing, or that are left over.
func (t Tree) Stale(root string) ([]string, error) {
	var stale []string
	for path, want := range t.Files {
		got, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if err != nil || !bytes.Equal(got, want) {
			stale = append(stale, path)
		}
	}
	if t.Own != "" {
		names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(t.Own)))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			path, err := filepath.Rel(root, name)
			if err != nil {
				return nil, err
			}
			if path = filepath.ToSlash(path); t.Files[path] == nil {
				stale = append(stale, path)
			}
		}
	}
	slices.Sort(stale)
	return stale, nil
}

// Main writes what make makes of the module around the working directory, and ends
// the program if that fails.
func Main(make func(root string) (Tree, error)) {
	root, err := Root()
	if err == nil {
		var t Tree
		if t, err = make(root); err == nil {
			err = t.Write(root)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

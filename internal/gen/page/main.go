// Command page writes docs/providers.md, what every provider promises, and a page of
// each in docs/providers. All of it is of the package comments, of contract.Terms and
// contract.Endpoint, and of the documented exchanges in testdata.
package main

import (
	"bytes"
	"embed"
	"fmt"
	"go/doc/comment"
	"os"
	"path/filepath"
	"text/template"

	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/internal/catalog"
	"github.com/idempact/idempact/internal/gen"
)

func main() { gen.Main(generate) }

//go:embed *.tmpl
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"cell": cell, "text": text, "label": label, "capital": capital, "cites": cites,
	"next": func(i int) int { return i + 1 },
}).ParseFS(files, "*.tmpl"))

func generate(root string) (gen.Tree, error) {
	tree := gen.Tree{Files: map[string][]byte{}, Own: "docs/providers/*.md"}
	var all []*provider
	for _, p := range catalog.Providers {
		view, err := read(root, p)
		if err != nil {
			return tree, fmt.Errorf("providers/%s: %w", p.Name, err)
		}
		all = append(all, view)
		if err := add(tree, "docs/providers/"+p.Name+".md", "provider.tmpl", view); err != nil {
			return tree, err
		}
	}
	return tree, add(tree, "docs/providers.md", "providers.tmpl", all)
}

// add makes one page of the tree.
func add(tree gen.Tree, path, name string, data any) error {
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, name, data); err != nil {
		return err
	}
	tree.Files[path] = out.Bytes()
	return nil
}

// read returns what the pages say of a provider.
func read(root string, p catalog.Provider) (*provider, error) {
	dir := filepath.Join(root, "providers", p.Name)
	source, err := gen.Parse(dir)
	if err != nil {
		return nil, err
	}
	groups, err := p.Groups()
	if err != nil {
		return nil, err
	}
	exchanges, err := contracttest.Exchanges(os.DirFS(filepath.Join(dir, "testdata")))
	if err != nil {
		return nil, err
	}
	return newProvider(p, markdown(gen.Doc(source)), groups, exchanges), nil
}

// markdown returns a package comment as Markdown.
func markdown(doc string) string {
	var parser comment.Parser
	printer := comment.Printer{HeadingLevel: 3, HeadingID: func(*comment.Heading) string { return "" }}
	return string(bytes.TrimSpace(printer.Markdown(parser.Parse(doc))))
}

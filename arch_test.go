package idempact_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/idempact/idempact"

// goFile is one source file of this module, as the rules see it.
type goFile struct {
	path    string // slash-separated, from the module's root
	dir     string
	pkg     string
	test    bool
	imports []string
	syntax  *ast.File
}

// sources parses every Go file of the module; other modules below it are not of it.
func sources(t *testing.T) []goFile {
	t.Helper()
	var files []goFile
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "integration" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		slash := filepath.ToSlash(name)
		f := goFile{path: slash, dir: path.Dir(slash), pkg: syntax.Name.Name, test: strings.HasSuffix(name, "_test.go"), syntax: syntax}
		for _, spec := range syntax.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, p)
		}
		files = append(files, f)
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func under(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }

func standard(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return !strings.Contains(first, ".")
}

// broken returns the rule that an import breaks, "" if none.
func broken(f goFile, imported string) string {
	own := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
	ours := under(imported, module)
	switch {
	case under(imported, "testing") && !f.test && !strings.HasSuffix(f.pkg, "test"):
		return "testing is for test files and for packages whose name ends in test"
	case under(imported, "github.com/stretchr/testify") && !f.test:
		return "testify is for tests"
	case under(imported, "github.com/jarcoal/httpmock") && !f.test && !under(f.dir, "fakes"):
		return "httpmock is for fakes and tests"
	case under(imported, "github.com/hashicorp/go-retryablehttp") && !under(f.dir, "retry") && !under(f.dir, "cmd/idempact"):
		// The command is imported by nobody; its demo runs the library as a peer.
		return "go-retryablehttp is for retry"
	case under(imported, "modernc.org") && !under(f.dir, "journal/sqlite"):
		return "SQLite is for journal/sqlite"
	case (under(imported, "github.com/spf13") || under(imported, "github.com/jedib0t")) && !under(f.dir, "cmd/idempact"):
		return "the libraries of the command line are for the command"
	case under(imported, "github.com/jackc") && !under(f.dir, "journal/postgres"):
		return "pgx is for journal/postgres"
	case f.test:
		return ""
	case ours && under(own, "contract/contracttest") && !under(f.dir, "contract/contracttest") && !under(f.dir, "internal/gen") && !under(f.dir, "internal/faketest") && !under(f.dir, "cmd/idempact"):
		return "contracttest is for tests, and for the command that runs it"
	case under(f.dir, "contract/contracttest") && !standard(imported) && own != "contract" && own != "retry":
		return "contracttest imports the standard library, contract and retry: a user's test imports it"
	case under(f.dir, "contract/contracttest"):
		return ""
	case under(f.dir, "contract") && !standard(imported) && !under(own, "contract"):
		return "contract imports the standard library only"
	case under(f.dir, "providers") && ours && !under(own, "contract") && !under(own, f.dir):
		return "an adapter imports contract, and its provider's SDK, and nothing else of this module"
	case under(f.dir, "retry") && ours && (under(own, "providers") || under(own, "fakes") || under(own, "cmd") || under(own, "internal/catalog")):
		return "the loop knows no provider"
	case under(f.dir, "retry") && ours && under(own, "journal") && own != "journal":
		return "the loop knows no store: its caller opens one"
	case under(f.dir, "fakes") && ours && !under(own, "fakes"):
		return "a fake imports nothing of what it tests: a shared mistake would pass"
	case under(f.dir, "journal") && ours && !under(own, "journal") && !under(own, "contract"):
		return "the journal knows the vocabulary only"
	case ours && under(own, "internal/explore") && !under(f.dir, "internal/explore"):
		return "nothing that is shipped imports what explores it"
	case ours && under(own, "internal/gen") && !under(f.dir, "internal/gen") && f.dir != "cmd/idempact/internal/manual":
		return "a generator is run and not imported"
	case ours && under(own, "cmd") && !under(f.dir, "cmd"):
		return "nothing imports the command"
	default:
		return ""
	}
}

func TestImports(t *testing.T) {
	for _, f := range sources(t) {
		for _, imported := range f.imports {
			assert.Empty(t, broken(f, imported), "%s imports %s", f.path, imported)
		}
	}
}

// The rules themselves, each with an import that must break it.
func TestImportRulesBite(t *testing.T) {
	for _, c := range []struct {
		file     string
		pkg      string
		test     bool
		imported string
		breaks   bool
	}{
		{"contract/a.go", "contract", false, "github.com/google/uuid", true},
		{"contract/a.go", "contract", false, module + "/retry", true},
		{"contract/a.go", "contract", false, "net/http", false},
		{"providers/stripe/a.go", "stripe", false, module + "/retry", true},
		{"providers/stripe/a.go", "stripe", false, module + "/journal", true},
		{"providers/stripe/a.go", "stripe", false, module + "/fakes", true},
		{"providers/stripe/a.go", "stripe", false, module + "/providers/zepto", true},
		{"providers/stripe/a.go", "stripe", false, "github.com/stripe/stripe-go/v76", false},
		{"providers/stripe/a.go", "stripe", false, module + "/contract", false},
		{"fakes/a.go", "fakes", false, module + "/providers/stripe", true},
		{"fakes/a.go", "fakes", false, module + "/contract", true},
		{"fakes/a.go", "fakes", false, "github.com/jarcoal/httpmock", false},
		{"retry/a.go", "retry", false, "github.com/jarcoal/httpmock", true},
		{"retry/a.go", "retry", false, module + "/providers/stripe", true},
		{"retry/a.go", "retry", false, "github.com/hashicorp/go-retryablehttp", false},
		{"providers/stripe/a.go", "stripe", false, "github.com/hashicorp/go-retryablehttp", true},
		{"retry/a.go", "retry", false, "github.com/stretchr/testify/assert", true},
		{"retry/a_test.go", "retry", true, "github.com/stretchr/testify/assert", false},
		{"retry/a.go", "retry", false, "testing", true},
		{"retry/a.go", "retry", false, module + "/journal", false},
		{"retry/a.go", "retry", false, module + "/journal/sqlite", true},
		{"retry/a.go", "retry", false, module + "/journal/postgres", true},
		{"retry/a_test.go", "retry", true, module + "/journal/sqlite", false},
		{"contract/contracttest/a.go", "contracttest", false, "testing", false},
		{"contract/contracttest/a.go", "contracttest", false, module + "/contract", false},
		{"contract/contracttest/a.go", "contracttest", false, module + "/retry", false},
		{"contract/contracttest/a.go", "contracttest", false, module + "/fakes", true},
		{"contract/contracttest/a.go", "contracttest", false, module + "/providers/stripe", true},
		{"contract/contracttest/a.go", "contracttest", false, "github.com/stretchr/testify/assert", true},
		{"contract/contracttest/a.go", "contracttest", false, "golang.org/x/tools/txtar", true},
		{"contract/contracttest/a_test.go", "contracttest_test", true, module + "/fakes", false},
		{"contract/a.go", "contract", false, module + "/contract/contracttest", true},
		{"providers/stripe/a.go", "stripe", false, module + "/contract/contracttest", true},
		{"providers/stripe/a_test.go", "stripe_test", true, module + "/contract/contracttest", false},
		{"fakes/a.go", "fakes", false, module + "/contract/contracttest", true},
		{"retry/a.go", "retry", false, module + "/cmd/idempact", true},
		{"retry/a.go", "retry", false, module + "/internal/explore", true},
		{"retry/a.go", "retry", false, module + "/internal/catalog", true},
		{"cmd/idempact/main.go", "main", false, module + "/internal/catalog", false},
		{"internal/catalog/a.go", "catalog", false, module + "/providers/stripe", false},
		{"internal/catalog/a.go", "catalog", false, module + "/contract/contracttest", true},
		{"cmd/idempact/internal/check/a.go", "check", false, module + "/contract/contracttest", false},
		{"cmd/idempact/internal/cli/a.go", "cli", false, "github.com/spf13/cobra", false},
		{"retry/a.go", "retry", false, "github.com/spf13/cobra", true},
		{"journal/a.go", "journal", false, "github.com/jedib0t/go-pretty/v6/table", true},
		{"internal/catalog/a.go", "catalog", false, module + "/internal/gen", true},
		{"cmd/idempact/internal/manual/a.go", "main", false, module + "/internal/gen", false},
		{"cmd/idempact/internal/cli/a.go", "cli", false, module + "/internal/gen", true},
		{"internal/gen/page/a.go", "main", false, module + "/contract/contracttest", false},
		{"cmd/idempact/main.go", "main", false, module + "/internal/explore", true},
		{"internal/explore/a.go", "explore", false, module + "/fakes", false},
		{"internal/explore/a.go", "explore", false, module + "/providers/stripe", false},
		{"internal/explore/a.go", "explore", false, module + "/cmd/idempact", true},
		{"internal/explore/a.go", "explore", false, "testing/synctest", true},
		{"journal/sqlite/a.go", "sqlite", false, "modernc.org/sqlite", false},
		{"journal/a.go", "journal", false, "modernc.org/sqlite", true},
		{"journal/internal/sqlstore/a.go", "sqlstore", false, "modernc.org/sqlite/lib", true},
		{"retry/a_test.go", "retry", true, "modernc.org/sqlite", true},
		{"journal/postgres/a.go", "postgres", false, "github.com/jackc/pgx/v5/pgxpool", false},
		{"journal/postgres/a_test.go", "postgres", true, "github.com/jackc/pgx/v5", false},
		{"journal/sqlite/a.go", "sqlite", false, "github.com/jackc/pgx/v5", true},
		{"internal/pgtest/a.go", "pgtest", false, "github.com/jackc/pgx/v5", true},
		{"cmd/idempact/a.go", "main", false, "github.com/jackc/pgx/v5", true},
		{"journal/postgres/a.go", "postgres", false, module + "/journal/internal/sqlstore", false},
		{"journal/postgres/a.go", "postgres", false, module + "/internal/pgtest", true},
		{"journal/a.go", "journal", false, module + "/retry", true},
		{"journal/journaltest/a.go", "journaltest", false, "testing", false},
		{"journal/journaltest/a.go", "journaltest", false, "github.com/stretchr/testify/assert", true},
		{"journal/sqlite/a.go", "sqlite", false, "testing", true},
	} {
		f := goFile{path: c.file, dir: path.Dir(c.file), pkg: c.pkg, test: c.test}
		assert.Equal(t, c.breaks, broken(f, c.imported) != "", "%s imports %s", c.file, c.imported)
	}
}

// Every package says in one place what it is for.
func TestPackageDocs(t *testing.T) {
	docs := map[string][]string{}
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		if _, seen := docs[f.dir]; !seen {
			docs[f.dir] = nil
		}
		if f.syntax.Doc != nil {
			docs[f.dir] = append(docs[f.dir], f.syntax.Doc.Text())
		}
	}
	for dir, texts := range docs {
		if !assert.Len(t, texts, 1, "package comments of %s", dir) {
			continue
		}
		assert.Regexp(t, `^(Package|Command) `, texts[0], dir)
	}
}

// Every exported name says what it is, in a comment that starts with it.
func TestExportedNamesHaveDocs(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || f.pkg == "main" || strings.Contains(f.path, "internal/") {
			continue
		}
		for _, decl := range f.syntax.Decls {
			for name, doc := range exported(decl) {
				text := strings.TrimPrefix(strings.TrimPrefix(doc.Text(), "A "), "An ")
				assert.True(t, strings.HasPrefix(text, name), "%s: the comment of %s starts with its name", f.path, name)
			}
		}
	}
}

// exported returns the exported functions, methods of exported types, and types
// of a declaration, each with its comment.
func exported(decl ast.Decl) map[string]*ast.CommentGroup {
	docs := map[string]*ast.CommentGroup{}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && receiverExported(d) {
			docs[d.Name.Name] = d.Doc
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if s, ok := spec.(*ast.TypeSpec); ok && s.Name.IsExported() {
				docs[s.Name.Name] = d.Doc
				if s.Doc != nil {
					docs[s.Name.Name] = s.Doc
				}
			}
		}
	}
	return docs
}

func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if generic, ok := typ.(*ast.IndexExpr); ok {
		typ = generic.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}

// Package names are singular words that say what is in them.
func TestPackageNames(t *testing.T) {
	for _, f := range sources(t) {
		assert.False(t, slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc", "base"}, f.pkg), f.path)
	}
}

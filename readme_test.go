package idempact_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```")
	comment = regexp.MustCompile("//.*")
)

// Every Go block of the documents compiles: a complete file, which a test among them
// also passes, or declarations that need nothing but imports.
func TestDocumentsCompile(t *testing.T) {
	for _, document := range []string{"README.md", "CONTRIBUTING.md", "docs/journal.md"} {
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		blocks := goBlock.FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, blocks, document)
		for i, block := range blocks {
			t.Run(fmt.Sprintf("%s/%d", document, i+1), func(t *testing.T) { compile(t, complete(block[1])) })
		}
	}
}

// known are the packages that a block of declarations may name.
var known = []string{
	"context", "crypto/cipher", "time",
	"github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/pgxpool",
	module + "/contract", module + "/journal", module + "/journal/postgres", module + "/journal/sqlite", module + "/retry",
}

// complete makes a file of declarations, with the imports that they name.
func complete(block string) string {
	if strings.Contains(block, "\npackage ") || strings.HasPrefix(block, "package ") {
		return block
	}
	file := "package document\n\n"
	code := comment.ReplaceAllString(block, "")
	for _, p := range known {
		name := path.Base(strings.TrimSuffix(p, "/v5"))
		if regexp.MustCompile(`\b` + name + `\.`).MatchString(code) {
			file += fmt.Sprintf("import %q\n", p)
		}
	}
	return file + block
}

// compile builds one file as a package of this module, without writing into it,
// and runs it if it is a test.
func compile(t *testing.T, source string) {
	root, err := os.Getwd()
	require.NoError(t, err)
	temp := t.TempDir()
	file, build := "block.go", []string{"build"}
	isTest := strings.Contains(source, "\"testing\"")
	if isTest {
		file, build = "block_test.go", []string{"test", "-c", "-vet=off"}
	}
	written := filepath.Join(temp, file)
	require.NoError(t, os.WriteFile(written, []byte(source), 0o600))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "internal", "document", file): written}})
	require.NoError(t, err)
	overlayFile := filepath.Join(temp, "overlay.json")
	require.NoError(t, os.WriteFile(overlayFile, overlay, 0o600))

	binary := filepath.Join(temp, "block.bin")
	output, err := exec.Command("go", append(build, "-overlay="+overlayFile, "-o", binary, "./internal/document")...).CombinedOutput()
	require.NoError(t, err, "%s", output)
	if isTest {
		run := exec.Command(binary)
		run.Dir = temp
		output, err := run.CombinedOutput()
		require.NoError(t, err, "%s", output)
	}
}

// The README starts with the two commands that do all the set-up.
func TestReadmeStartsWithUse(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(text), "```go")
	assert.Contains(t, first, "go run ./cmd/idempact demo")
	assert.Contains(t, first, "go test ./...")
}

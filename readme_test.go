package idempact_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```")

// Every Go block of the documents is a complete file that compiles.
func TestDocumentsCompile(t *testing.T) {
	root, err := os.Getwd()
	require.NoError(t, err)
	overlay := map[string]string{}
	var packages []string
	for _, document := range []string{"README.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		blocks := goBlock.FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, blocks, document)
		for i, block := range blocks {
			name := fmt.Sprintf("%s%d", strings.ToLower(strings.TrimSuffix(document, ".md")), i+1)
			file := "block.go"
			if strings.Contains(block[1], "\"testing\"") {
				file = "block_test.go"
			}
			written := filepath.Join(t.TempDir(), file)
			require.NoError(t, os.WriteFile(written, []byte(block[1]), 0o600))
			overlay[filepath.Join(root, "internal", "document", name, file)] = written
			packages = append(packages, "./internal/document/"+name)
		}
	}
	config, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	configFile := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(configFile, config, 0o600))
	output, err := exec.Command("go", append([]string{"vet", "-overlay=" + configFile}, packages...)...).CombinedOutput()
	assert.NoError(t, err, "%s", output)
}

// The README starts with the two commands that do all the set-up.
func TestReadmeStartsWithUse(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(text), "```go")
	assert.Contains(t, first, "go run ./cmd/idempact demo")
	assert.Contains(t, first, "go test ./...")
}

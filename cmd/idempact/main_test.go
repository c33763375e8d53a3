package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/idempact/idempact/cmd/idempact/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"idempact": func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"http":     httpMain,
	})
}

// TestScripts runs the program as people do: testdata/script holds a script for each
// command, its errors and its JSON. Beside testscript's own there are the commands
//
//	http METHOD URL [BODY]    a client, as curl -si
//	fake NAME ARGS…           idempact fake on a free port, whose URL is $FAKE from then on
func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cache, err := exec.Command("go", "env", "GOMODCACHE", "GOCACHE", "GOFLAGS", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(cache), "\n")
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("ROOT", root)
			env.Setenv("NO_COLOR", "1")
			env.Setenv("IDEMPACT_AUTHORIZATION", "sk_test_1")
			env.Setenv("GOMODCACHE", lines[0])
			env.Setenv("GOCACHE", lines[1])
			env.Setenv("GOFLAGS", lines[2])
			env.Setenv("GOPROXY", lines[3])
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"fake": startFake},
	})
}

// Command idempact explains what the answers of payment APIs mean for the money, runs a
// provider on your desk, checks one against its contract, and shows what is unsettled.
package main

import (
	"os"

	"github.com/idempact/idempact/cmd/idempact/internal/cli"
)

//go:generate go run ./internal/manual

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

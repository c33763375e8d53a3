//go:build !unix

package pgtest

import (
	"errors"
	"os/exec"
)

func chown(string) error {
	return errors.New("private clusters are for unix: set IDEMPACT_POSTGRES_URL")
}

func dropRoot(*exec.Cmd) {}

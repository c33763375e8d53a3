//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// servant is whom root runs the server as, since it refuses to run as root; nil for
// anybody else.
func servant() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("no user postgres or nobody to run the server as")
}

// chown gives a folder to the one who runs the server.
func chown(dir string) error {
	c, err := servant()
	if err != nil || c == nil {
		return err
	}
	return os.Chown(dir, int(c.Uid), int(c.Gid))
}

func dropRoot(cmd *exec.Cmd) {
	if c, err := servant(); err == nil && c != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c}
	}
}

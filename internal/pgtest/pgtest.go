// Package pgtest starts private PostgreSQL clusters for tests, from the postgres and
// initdb of the machine: in a temporary folder, on a unix socket, and not as root.
//
// With IDEMPACT_POSTGRES_URL set, URL uses that server instead. Where there is
// neither, a test is skipped, and says so; with IDEMPACT_POSTGRES=required it fails.
package pgtest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Cluster is a private server. It ends with the process that started it.
type Cluster struct {
	bin   string // where postgres and initdb are
	dir   string // its folder: data, socket, log
	stdin io.WriteCloser
	done  chan struct{}
}

var shared = sync.OnceValues(start)

// URL returns the address of a server that all tests of the process share: a test
// works in a schema of its own.
func URL(t testing.TB) string {
	t.Helper()
	if url := os.Getenv("IDEMPACT_POSTGRES_URL"); url != "" {
		return url
	}
	c, err := shared()
	if err != nil {
		unavailable(t, err)
	}
	return c.URL()
}

// Start returns a cluster of the test's own, which it may stop. It ends with the test.
func Start(t testing.TB) *Cluster {
	t.Helper()
	c, err := start()
	if err != nil {
		unavailable(t, err)
	}
	t.Cleanup(func() {
		c.Stop()
		if err := os.RemoveAll(c.dir); err != nil {
			t.Error(err)
		}
	})
	return c
}

func unavailable(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("IDEMPACT_POSTGRES") == "required" {
		t.Fatalf("no PostgreSQL: %v", err)
	}
	fmt.Fprintf(os.Stderr, "\n*** NOT TESTED: %s needs PostgreSQL, and there is none: %v\n\n", t.Name(), err)
	t.Skipf("NOT TESTED, there is no PostgreSQL: %v", err)
}

// URL returns the cluster's address.
func (c *Cluster) URL() string { return "postgres://postgres@/postgres?host=" + c.dir }

// Socket returns the path of its unix socket.
func (c *Cluster) Socket() string { return filepath.Join(c.dir, ".s.PGSQL.5432") }

// Stop ends the server at once, as a crash would. Its data stay.
func (c *Cluster) Stop() {
	_, _ = io.WriteString(c.stdin, "stop\n") // it may have ended by itself
	_ = c.stdin.Close()
	<-c.done
}

// Restart starts a cluster that was stopped.
func (c *Cluster) Restart(t testing.TB) {
	t.Helper()
	if err := c.run(); err != nil {
		t.Fatal(err)
	}
}

// start makes a cluster and starts it.
func start() (*Cluster, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	parent := os.TempDir()
	if len(parent) > 60 {
		parent = "/tmp" // the path of a unix socket has a limit near 100 bytes
	}
	dir, err := os.MkdirTemp(parent, "idempact-pg-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{bin: bin, dir: dir}
	if err := chown(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	initdb := c.command(filepath.Join(bin, "initdb"), "-D", c.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("initdb: %w: %s", err, out), os.RemoveAll(dir))
	}
	if err := c.run(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

// programs returns the folder of postgres and initdb, of the newest version found.
func programs() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.SortFunc(found, func(a, b string) int { // 15 before 9
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(b, a))
	})
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	for _, initdb := range found {
		if real, err := filepath.EvalSymlinks(initdb); err == nil {
			if _, err := os.Stat(filepath.Join(filepath.Dir(real), "postgres")); err == nil {
				return filepath.Dir(real), nil
			}
		}
	}
	return "", errors.New("no initdb and postgres on this machine, neither in PATH nor in /usr/lib/postgresql")
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = c.dir
	dropRoot(cmd)
	return cmd
}

// guard runs the server until it is told to stop, or until its standard input ends,
// which it does with the process that holds the other end, whatever that dies of:
// then nothing stays.
const guard = `"$@" >>log 2>&1 </dev/null & server=$!
read word; kill -QUIT $server; wait $server
[ "$word" = stop ] || rm -rf "$PWD"`

// run starts the server and waits until it listens and lets somebody in.
func (c *Cluster) run() error {
	cmd := c.command("/bin/sh", "-c", guard, "sh",
		filepath.Join(c.bin, "postgres"), "-D", c.data(), "-k", c.dir, "-c", "listen_addresses=",
		"-c", "fsync=off", "-c", "max_connections=200", "-c", "timezone=Asia/Kolkata")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.stdin, c.done = stdin, make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(c.done)
	}()
	for range 300 {
		if c.answers() {
			return nil
		}
		select {
		case <-c.done:
			return c.failed("the server ended")
		case <-time.After(100 * time.Millisecond):
		}
	}
	c.Stop()
	return c.failed("the server does not answer")
}

func (c *Cluster) failed(what string) error {
	log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
	return fmt.Errorf("%s: %s", what, log)
}

// answers reports whether the server lets a client in: it answers the start of a
// connection with R (authentication), and with E while it starts.
func (c *Cluster) answers() bool {
	conn, err := net.Dial("unix", c.Socket())
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	hello := "\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00"
	if _, err := conn.Write(append([]byte{0, 0, 0, byte(len(hello) + 4)}, hello...)); err != nil {
		return false
	}
	var first [1]byte
	_, err = io.ReadFull(conn, first[:])
	return err == nil && first[0] == 'R'
}

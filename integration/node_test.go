package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// needNode returns the node command. Without it, or without the SDK that npm ci puts
// into the folder node, the test is skipped and says so; where IDEMPACT_NODE is
// "required" it fails.
func needNode(t *testing.T) string {
	lacks := func(format string, args ...any) {
		if os.Getenv("IDEMPACT_NODE") == "required" {
			t.Fatalf(format, args...)
		}
		t.Skipf("SKIPPED, and nothing of the Node SDK was tested: "+format, args...)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		lacks("there is no node: install Node 18 or newer, and npm")
	}
	if _, err := os.Stat("node/node_modules/stripe/package.json"); err != nil {
		lacks("there is no Stripe SDK for Node: run npm ci in integration/node")
	}
	return node
}

// serveFake builds the command, runs `idempact fake stripe` as a process of its own and
// returns its URL.
func serveFake(t *testing.T) string {
	binary := filepath.Join(t.TempDir(), "idempact.exe") // the name that Windows needs
	build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "./cmd/idempact")
	build.Dir = ".."
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	fake := exec.Command(binary, "fake", "stripe", "--listen", "127.0.0.1:0", "--json", "--quiet")
	var errs bytes.Buffer
	fake.Stderr = &errs
	stdout, err := fake.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, fake.Start())
	t.Cleanup(func() {
		_ = fake.Process.Kill() // it serves until it is ended
		_ = fake.Wait()
	})
	var at struct{ URL string }
	require.NoError(t, json.NewDecoder(bufio.NewReader(stdout)).Decode(&at), "%s", &errs)
	return at.URL
}

// The official Stripe SDK for Node pays at the fake that the command serves. Its own
// retry after a lost answer is replayed; what it cannot know is how old a key is, and
// that a payment whose answer was cut exists.
func TestStripeNode(t *testing.T) {
	node := needNode(t)
	play := exec.Command(node, "pay.mjs", serveFake(t))
	play.Dir = "node"
	play.WaitDelay = time.Second
	var errs bytes.Buffer
	play.Stderr = &errs
	out, err := play.Output()
	require.NoError(t, err, "%s", &errs)

	type payment struct {
		ID, Status string
		Replayed   bool
		Error      string
		Answer     int
	}
	var seen struct {
		Plain, Lost, OwnKey, Cut, Reused, Late payment
		Effects                                []struct {
			Resource, Key string
			Amount        int64
		}
		Requests []struct {
			Key, Fault string
			Status     int
			Replayed   bool
			Effects    []string
		}
	}
	require.NoError(t, json.Unmarshal(out, &seen))

	paid := func(p payment, replayed bool) {
		t.Helper()
		assert.Equal(t, "succeeded", p.Status)
		assert.Equal(t, replayed, p.Replayed)
	}
	paid(seen.Plain, false)
	paid(seen.Lost, true)
	paid(seen.OwnKey, true)
	paid(seen.Late, false)
	assert.Equal(t, payment{Error: "StripeIdempotencyError", Answer: 400}, seen.Reused)
	assert.Equal(t, "StripeConnectionError", seen.Cut.Error)

	var amounts []int64
	for _, e := range seen.Effects {
		amounts = append(amounts, e.Amount)
	}
	require.Equal(t, []int64{1000, 2500, 3000, 4000, 2500}, amounts, "2500 twice: the key was forgotten in between")
	assert.Equal(t, seen.Effects[1].Resource, seen.Lost.ID)
	assert.Equal(t, seen.Effects[4].Resource, seen.Late.ID)
	assert.Equal(t, seen.Effects[1].Key, seen.Effects[4].Key)

	// On the wire: the lost answer and its repeat have one key, and so has the call that
	// the SDK made up a key for.
	require.Len(t, seen.Requests, 8)
	for _, i := range []int{1, 3} {
		first, again := seen.Requests[i], seen.Requests[i+1]
		assert.Equal(t, "LoseReply", first.Fault)
		assert.Len(t, first.Effects, 1)
		assert.Equal(t, first.Key, again.Key)
		assert.NotEmpty(t, again.Key)
		assert.True(t, again.Replayed)
		assert.Empty(t, again.Effects)
	}
}

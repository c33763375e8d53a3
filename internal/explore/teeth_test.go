package explore

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patch takes a guard out of a source file: the old text, which stands there once,
// becomes the new one.
type patch struct{ file, old, new string }

// guards are what the invariants of the design rest on, each with the scenario and
// the depth at which its lack must show. A guard that has another behind it is
// taken out together with that one.
var guards = []struct {
	name     string
	scenario string
	depth    string
	patches  []patch
}{
	{"I1: what Authorize changed is put back", "stripe_v1", "2", []patch{
		{"retry/head.go", `"Accept-Encoding", terms.KeyHeader)`, `"Accept-Encoding")`},
	}},
	{"I2: no send once the key is old", "stripe_v1", "2", []patch{
		{"retry/loop.go", "case f.age(f.wait) >= f.life():", "case false:"},
		{"retry/loop.go", "if f.age(0) >= f.life() {", "if false {"},
	}},
	{"I2: the age is looked at again after the wait", "zepto_core", "2", []patch{
		{"retry/loop.go", "if f.age(0) >= f.life() {", "if false {"},
	}},
	{"I3: a request without a key is refused", "stripe_v1_with_the_key_forgotten", "1", []patch{
		{"retry/operation.go", "case !without:", "case false:"},
	}},
	{"I3: and is never sent twice where none is wanted", "stripe_v1_without_a_key", "2", []patch{
		{"retry/operation.go", `return op.call.Key != "" || op.terms.Idempotent`, "return true"},
	}},
	{"I3: nor where the provider knows none", "zepto_payto_retry", "2", []patch{
		{"retry/operation.go", `return op.call.Key != "" || op.terms.Idempotent`, "return true"},
		{"providers/zepto/classify.go", "o.NoResend = e.once && r.Sent", "o.NoResend = false"},
	}},
	{"I4: a success shows the object", "stripe_v1", "2", []patch{
		{"providers/stripe/classify.go", `return said(contract.Unknown, "a success without a readable object")`,
			`return said(contract.Succeeded, "a success without a readable object")`},
	}},
	{"I4: no answer is not nothing done", "zepto_payto", "2", []patch{
		{"contract/transport.go", "case r.StatusCode == 0 && !r.Sent:", "case r.StatusCode == 0:"},
		{"retry/loop.go", "return s == contract.NotExecuted && !r.Sent", "return s == contract.NotExecuted"},
	}},
	{"I5: the provider's wait is a floor", "stripe_v2", "2", []patch{
		{"retry/loop.go", "f.wait = max(asked, f.backoff())", "f.wait = f.backoff()"},
	}},
	{"I6: net/http has no body to rewind", "stripe_v1", "2", []patch{
		{"retry/head.go", "r.Body, r.GetBody, r.ContentLength = nil, nil, 0", "r.Body, r.ContentLength = nil, 0"},
		{"retry/send.go", "r.Body, r.GetBody, r.ContentLength = nil, nil, int64(len(body))", "r.Body, r.ContentLength = nil, int64(len(body))"},
	}},
	{"I6: nor does it see the key of a request without a body", "stripe_v1_capture", "3", []patch{
		{"retry/send.go", "if len(body) == 0 && !isRead(r) {", "if false {"},
	}},
	{"I7: written ahead of the first send", "zepto_core,_remembered", "3", []patch{
		// What the run came to writes the entry, when it is over.
		{"retry/claim.go", "stored, inserted, err := store.Begin(ctx, e)", `stored, err := store.Get(ctx, e.ID)
	if inserted = errors.Is(err, journal.ErrNotFound); inserted {
		stored, err = e, nil
	}`},
		{"retry/record.go", "store, base := f.client.options.Journal, f.hold.entry\n", `store, base := f.client.options.Journal, f.hold.entry
	if base.Version == 0 {
		base, _, _ = store.Begin(ctx, base)
	}
`},
	}},
	{"I7: the verdict is stored before it is told", "zepto_core,_remembered", "3", []patch{
		{"retry/record.go", "_, err = store.Update(ctx, next)", "_ = next"},
	}},
	{"I7: or it is not told", "stripe_v1,_remembered", "3", []patch{
		{"retry/record.go", "_, err = store.Update(ctx, next)", "_, _ = store.Update(ctx, next)"},
	}},
	{"I7: the key's age is that of its first send by any process", "zepto_core,_remembered", "3", []patch{
		{"retry/claim.go", "firstSent: e.FirstSent, skew: e.Skew}", "firstSent: time.Now(), skew: e.Skew}"},
	}},
	{"I7: who died may have sent", "zepto_core,_remembered", "3", []patch{
		{"retry/claim.go", "return !e.Settled && (e.Lease.Holder != \"\" || unknown(e.Verdict))", "return false"},
	}},
	{"I7: of two processes the one with the lease acts", "zepto_core,_remembered,_two_processes", "2", []patch{
		{"retry/claim.go", "case e.Lease.Free(time.Now()):", "case true:"},
	}},
	{"I7: a sweeper leaves what another is at work on", "zepto_core,_remembered,_a_process_and_a_sweeper", "2", []patch{
		{"journal/memory.go", "!e.Due.After(now) && e.Lease.Free(now)", "true"},
	}},
	{"I7: a lease that may end is renewed before a send", "zepto_core,_remembered,_two_processes", "3", []patch{
		{"retry/record.go", "if h.lost != nil || h.entry.Lease.Until.Sub(now) >= f.client.options.AttemptTimeout+leaseRest {", "if true {"},
	}},
	{"I7: of two writers of one version one writes", "zepto_core,_remembered,_two_processes", "3", []patch{
		{"journal/memory.go", "case known.Version != e.Version:", "case known.Version < 0:"},
	}},
	{"I7: of two sweepers, too", "zepto_core,_remembered,_a_process_and_a_sweeper", "3", []patch{
		{"journal/memory.go", "case known.Version != e.Version:", "case known.Version < 0:"},
	}},
	{"I7: who lost the lease stores no weaker verdict", "zepto_core,_remembered,_two_processes", "4", []patch{
		{"retry/record.go", "if base.Lease.Holder != f.hold.holder {", "if false {"},
		{"retry/record.go", "if base.Version != f.hold.entry.Version {", "if false {"},
	}},
	{"I8: a refusal is the provider's own", "stripe_v1", "2", []patch{
		{"providers/stripe/classify.go", `return said(contract.Unknown, "a refusal without a readable Stripe error")`,
			`return said(contract.Rejected, "a refusal without a readable Stripe error")`},
	}},
	{"I8: and in the form that it documents", "zepto_core", "2", []patch{
		{"providers/zepto/classify.go", `return unknown("a refusal that is not in the documented form")`,
			`return contract.Outcome{Status: contract.Rejected, Reason: "refused"}`},
	}},
	{"what exists is fetched and compared, so that the operation ends settled", "zepto_core", "2", []patch{
		{"retry/settle.go", "\t\tr.resolve(ctx)\n", ""},
	}},
	{"I8: a doubt is not overturned", "stripe_v1", "2", []patch{
		{"contract/verdict.go", "\tdefault:\n\t\treturn newRank >= oldRank\n", "\tdefault:\n\t\treturn true\n"},
	}},
}

// The explorer has teeth: without a guard it finds a counterexample. Guards are
// taken out of copies of the source, of which the go command is told with -overlay.
func TestTeeth(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("builds the explorer once for each guard; run it without -short and -race")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, g := range guards {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			overlay := filepath.Join(t.TempDir(), "overlay.json")
			write(t, overlay, replacements(t, root, g.patches))
			cmd := exec.Command("go", "test", "-count=1", "-vet=off", "-overlay="+overlay,
				"-run=^TestExplore$/^"+g.scenario+"$", "./internal/explore", "-explore.depth="+g.depth)
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			_, found, ok := strings.Cut(string(out), failureMark)
			if !assert.Error(t, err) || !assert.True(t, ok, "%s", out) {
				return
			}
			found, _, _ = strings.Cut(found, "\n---")
			t.Log(found)
		})
	}
}

// replacements writes the patched copies and returns what the go command reads.
func replacements(t *testing.T, root string, patches []patch) []byte {
	t.Helper()
	sources := map[string]string{}
	for _, p := range patches {
		file := filepath.Join(root, p.file)
		source, ok := sources[file]
		if !ok {
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			source = string(b)
		}
		require.Equal(t, 1, strings.Count(source, p.old), "%s has this once, or the guard has moved: %s", p.file, p.old)
		sources[file] = strings.Replace(source, p.old, p.new, 1)
	}
	replace := map[string]string{}
	for file, source := range sources {
		replace[file] = filepath.Join(t.TempDir(), filepath.Base(file))
		write(t, replace[file], []byte(source))
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	return b
}

func write(t *testing.T, name string, b []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, b, 0o600))
}

package zepto_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/providers/zepto"
	"github.com/idempact/idempact/retry"
)

// world is a program on plain net/http, the loop below it, and a Zepto with a ledger.
type world struct {
	t        testing.TB
	server   *fakes.Server
	http     *http.Client
	base     string
	pass     func(time.Duration) // lets time go by, for what is still under way
	attempts int
}

func newWorld(t testing.TB, server *fakes.Server, o retry.Options) *world {
	w := &world{t: t, server: server, base: "https://api.zeptopayments.com", pass: server.Advance}
	o.OnAttempt = func(_ context.Context, e retry.AttemptEvent) {
		if e.Step == contract.Resend {
			w.attempts++
		}
	}
	o.Authorize = func(r *http.Request) error { r.Header.Set("Authorization", "Bearer fake"); return nil }
	loop, err := retry.NewClient(zepto.New(nil), &o)
	require.NoError(t, err)
	t.Cleanup(loop.CloseIdleConnections)
	w.http = loop.StandardClient()
	return w
}

func inMemory(t *testing.T, play func(*testing.T, *world)) {
	synctest.Test(t, func(t *testing.T) {
		server := fakes.NewZepto(nil)
		w := newWorld(t, server, retry.Options{Transport: server.Transport(), AttemptTimeout: 5 * time.Second})
		w.pass = time.Sleep
		play(t, w)
	})
}

// operation is one POST that must take effect once. Its key is in the header, in the
// body as the uid, or nowhere.
type operation struct {
	effect, path, body string
	key                string // "header", "uid" or ""
	before             *operation
}

const (
	bank    = `"your_bank_account_id":"11111111-1111-4111-8111-111111111111"`
	contact = `"22222222-2222-4222-8222-222222222222"`
	creator = `"matures_at":"2030-01-01T00:00:00Z","description":"INV-1001",` + bank
	paysTo  = `{"uid":"UID","agreement_uid":"a-1","amount":2500,"priority":"unattended"}`
)

var operations = []operation{
	{"payment create", "/payments", `{` + creator + `,"channels":["new_payments_platform"],"metadata":{"invoice":"INV-1001"},` +
		`"payouts":[{"amount":2500,"description":"INV-1001","recipient_contact_id":` + contact + `}]}`, "header", nil},
	{"payment_request create", "/payment_requests", `{` + creator + `,"amount":2500,"authoriser_contact_id":` + contact + `}`, "header", nil},
	{"refund create", "/credits/C.1a/refunds", `{"amount":2500,"reason":"returned",` + bank + `}`, "header", nil},
	{"transfer create", "/transfers", `{"amount":2500,"description":"INV-1001","matures_at":"2030-01-01T00:00:00Z",` +
		`"from_bank_account_id":"11111111-1111-4111-8111-111111111111","to_bank_account_id":"33333333-3333-4333-8333-333333333333"}`, "header", nil},
	{"payto_agreement create", "/payto/agreements", `{"uid":"UID","purpose":"retail","description":"plan","payment_terms":` +
		`{"type":"fixed","frequency":"monthly","amount":2500},"debtor":{"party_name":"Payer","account_identifier":{"type":"bban","value":"123456-1234567"}}}`, "uid", nil},
	{"payto_payment create", "/payto/payments", paysTo, "uid", nil},
	{"payto_payment retry", "/payto/payments/first/retry", "", "", &operation{"", "/payto/payments", paysTo, "uid", nil}},
	{"contact create", "/contacts/anyone", `{"name":"Jenny","email":"jenny@example.com","branch_code":"123456","account_number":"1234567"}`, "", nil},
}

func (w *world) send(op operation, key string) (status int, body []byte, err error) {
	ctx := w.t.Context()
	if op.key == "header" {
		ctx = contract.WithKey(ctx, key)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.base+op.path, strings.NewReader(strings.ReplaceAll(op.body, "UID", key)))
	require.NoError(w.t, err)
	if op.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := w.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	return resp.StatusCode, body, nil
}

// play runs the operation while the faults happen. What it returns has been compared
// with the ledger and the wire, by a check that knows nothing of loop and adapter.
func (w *world) play(op operation, faults ...fakes.Fault) contract.Status {
	w.t.Helper()
	if op.before != nil {
		_, _, err := w.send(*op.before, "first")
		require.NoError(w.t, err)
		require.True(w.t, w.server.SetState("first", "failed"))
	}
	before, sent, refused := len(w.server.Effects()), len(w.server.Requests()), w.server.Refused()
	w.attempts = 0
	w.server.Script(faults...)
	status, body, err := w.send(op, "k")
	w.pass(time.Hour)
	effects := w.server.Effects()[before:]
	require.LessOrEqual(w.t, len(effects), 1, "one action, one effect")
	told := retry.OutcomeOf(err).Status
	switch {
	case err == nil && status < 300:
		require.Len(w.t, effects, 1, "told of a resource, so there is an effect")
		assert.Equal(w.t, op.effect, effects[0].Kind+" "+effects[0].Action)
		assert.Equal(w.t, effects[0].Resource, shown(w.t, body))
		told = contract.Succeeded
	case err == nil:
		assert.Empty(w.t, effects, "a refusal: status %d", status)
		told = contract.Rejected
	case told.Effect() == contract.EffectNone:
		assert.Empty(w.t, effects, "told that nothing happened: %v", err)
	case told.Effect() == contract.EffectApplied:
		assert.Len(w.t, effects, 1, "told that it happened: %v", err)
	}
	writes := 0
	for _, r := range w.server.Requests()[sent:] {
		if r.Method == http.MethodGet {
			continue
		}
		writes++
		assert.Equal(w.t, op.path, r.Path)
		assert.Equal(w.t, strings.ReplaceAll(op.body, "UID", "k"), string(r.Body), "the same bytes")
		assert.Equal(w.t, op.key != "", r.Key == "k", "one key, the program's")
	}
	assert.Equal(w.t, w.attempts, writes+w.server.Refused()-refused, "one attempt, one request")
	assert.LessOrEqual(w.t, w.attempts, 5)
	if op.body == "" {
		assert.LessOrEqual(w.t, writes, 1, "a PayTo retry that arrived is not sent again")
	}
	return told
}

// shown returns the reference in an answer; a retry is accepted without one.
func shown(t testing.TB, body []byte) string {
	if len(body) == 0 {
		return "first"
	}
	var o struct{ Data struct{ Ref, UID, ID string } }
	require.NoError(t, json.Unmarshal(body, &o))
	return o.Data.Ref + o.Data.UID + o.Data.ID // one of them
}

// trouble is a fault, and whether it leaves a doubt where no key may settle it.
type trouble struct {
	fault fakes.Fault
	doubt bool
	waits bool // how many repeats it meets is a matter of chance
}

var troubles = []trouble{
	{fakes.None, false, false},
	{fakes.LoseReply, true, false},
	{fakes.CutBody(0), true, false},
	{fakes.CutBody(1), true, false},
	{fakes.CutBody(20), true, false},
	{fakes.ResetAfterSend, true, false},
	{fakes.Hang, true, false},
	{fakes.HTMLPage(502), true, false},
	{fakes.HTMLPage(200), true, false},
	{fakes.InFlight(time.Second), false, true},
	{fakes.Slow(2 * time.Second), false, true},
	{fakes.SaveError(500), true, false},
	{fakes.SaveErrorNoEffect(500), true, false},
	{fakes.RefuseConnection, false, false},
	{fakes.Throttle(2 * time.Second), false, false},
	{fakes.Unavailable(time.Second), true, false},
	{fakes.Redirect("https://other.example/payments"), true, false},
}

// expected is what a program must be told: with a key every trouble passes, and
// without one a doubt stays a doubt. A PayTo retry that arrived is never sent again,
// not even when it was turned away.
func expected(op operation, ts []trouble) contract.Status {
	for _, t := range ts {
		bare := op.body == "" // its answer has no body that could be cut
		switch throttled := t.fault == fakes.Throttle(2*time.Second); {
		case op.key != "", t.fault == fakes.RefuseConnection, throttled && !bare:
			continue
		case throttled:
			return contract.NotExecuted
		case t.doubt && !(bare && strings.HasPrefix(t.fault.String(), "CutBody")):
			return contract.Unknown
		}
		break
	}
	return contract.Succeeded
}

// suffer plays one operation under troubles and says if it was told enough.
func (w *world) suffer(op operation, ts ...trouble) {
	w.t.Helper()
	var faults []fakes.Fault
	for _, t := range ts {
		faults = append(faults, t.fault)
	}
	told := w.play(op, faults...)
	if w.attempts == 5 && slices.ContainsFunc(ts, func(t trouble) bool { return t.waits }) {
		return // the attempts were used up by waiting; what it was told has been checked
	}
	assert.Equal(w.t, expected(op, ts).String(), told.String())
}

func TestEachOperationUnderEachFault(t *testing.T) {
	for _, op := range operations {
		for _, trouble := range troubles {
			t.Run(fmt.Sprintf("%s/%v", op.effect, trouble.fault), func(t *testing.T) {
				inMemory(t, func(_ *testing.T, w *world) { w.suffer(op, trouble) })
			})
		}
	}
}

func TestFaultsInARow(t *testing.T) {
	n, err := strconv.ParseUint(os.Getenv("E2E_SEED"), 10, 64)
	if err != nil {
		n = rand.Uint64()
	}
	t.Logf("E2E_SEED=%d", n)
	random := rand.New(rand.NewPCG(n, 0))
	for range 400 {
		op := operations[random.IntN(len(operations))]
		row := make([]trouble, 2+random.IntN(2))
		name := op.effect
		for i := range row {
			row[i] = troubles[random.IntN(len(troubles))]
			name += "/" + row[i].fault.String()
		}
		if !t.Run(name, func(t *testing.T) {
			inMemory(t, func(_ *testing.T, w *world) { w.suffer(op, row...) })
		}) {
			return
		}
	}
}

// The same as a program would meet it, over TCP and in real time.
func TestOverTCP(t *testing.T) {
	for _, op := range operations {
		for _, trouble := range troubles {
			switch trouble.fault {
			case fakes.InFlight(time.Second), fakes.Throttle(2 * time.Second), fakes.Unavailable(time.Second), fakes.Slow(2 * time.Second), fakes.Hang:
				continue // waits are for virtual time
			}
			t.Run(fmt.Sprintf("%s/%v", op.effect, trouble.fault), func(t *testing.T) {
				t.Parallel()
				server := fakes.NewZepto(nil)
				t.Cleanup(func() { require.NoError(t, server.Close()) })
				w := newWorld(t, server, retry.Options{Transport: server.TCPTransport(), MinWait: 10 * time.Millisecond})
				w.base = server.URL()
				w.suffer(op, trouble)
			})
		}
	}
}

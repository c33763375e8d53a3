package contract_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

// Evidence, in few letters.
func reply(s contract.Status, ref ...string) contract.Outcome {
	return contract.Outcome{Status: s, Resource: strings.Join(ref, "")}
}

func lookUp(s contract.Status, ref ...string) contract.Outcome {
	return contract.Outcome{Status: s, Resource: strings.Join(ref, ""), Source: contract.FromLookUp}
}

func outside(s contract.Status, ref ...string) contract.Outcome {
	return contract.Outcome{Status: s, Resource: strings.Join(ref, ""), Source: contract.FromOutside}
}

func fold(evidence ...contract.Outcome) contract.Verdict {
	var v contract.Verdict
	for _, o := range evidence {
		v = contract.Fold(v, o)
	}
	return v
}

func TestFoldingRules(t *testing.T) {
	const (
		unknown     = contract.Unknown
		succeeded   = contract.Succeeded
		duplicate   = contract.Duplicate
		inProgress  = contract.InProgress
		notExecuted = contract.NotExecuted
		declined    = contract.Declined
		rejected    = contract.Rejected
		keyReused   = contract.KeyReused
		keySpent    = contract.KeySpent
	)
	type seq = []contract.Outcome
	for _, c := range []struct {
		name     string
		evidence seq
		status   contract.Status
		settled  bool
		refs     []string
	}{
		{"first evidence stands: throttled", seq{reply(notExecuted)}, notExecuted, false, nil},
		{"first evidence stands: rejected", seq{reply(rejected)}, rejected, false, nil},
		{"first evidence stands: key reused", seq{reply(keyReused)}, keyReused, false, nil},
		{"first evidence stands: unknown", seq{reply(unknown)}, unknown, false, nil},
		{"without doubt the latest stands", seq{reply(notExecuted), reply(rejected)}, rejected, false, nil},
		{"doubt after proven nothing", seq{reply(notExecuted), reply(unknown)}, unknown, false, nil},

		{"rule 1: a refused connection leaves the doubt", seq{reply(unknown), reply(notExecuted)}, unknown, false, nil},
		{"rule 1: a 401 leaves the doubt", seq{reply(unknown), reply(rejected)}, unknown, false, nil},
		{"rule 1: a reply's key reused leaves the doubt", seq{reply(unknown), reply(keyReused)}, unknown, false, nil},
		{"rule 1: in progress is a doubt", seq{reply(inProgress), reply(rejected)}, inProgress, false, nil},
		{"rule 1: key spent is a doubt", seq{reply(keySpent), reply(notExecuted)}, keySpent, false, nil},
		{"rule 1: the strongest doubt: unknown over in progress", seq{reply(unknown), reply(inProgress)}, unknown, false, nil},
		{"rule 1: the strongest doubt: in progress to unknown", seq{reply(inProgress), reply(unknown)}, unknown, false, nil},
		{"rule 1: the strongest doubt: key spent over unknown", seq{reply(keySpent), reply(unknown), reply(inProgress)}, keySpent, false, nil},
		{"rule 1: the strongest doubt: unknown to key spent", seq{reply(unknown), reply(keySpent)}, keySpent, false, nil},
		{"rule 1: success settles", seq{reply(unknown), reply(succeeded, "A")}, succeeded, true, []string{"A"}},
		{"rule 1: a duplicate settles", seq{reply(keySpent), reply(duplicate, "A")}, duplicate, true, []string{"A"}},
		{"rule 1: an absence settles", seq{reply(unknown), lookUp(notExecuted)}, notExecuted, true, nil},
		{"rule 1: a new doubt opens again what was absent", seq{reply(unknown), lookUp(notExecuted), reply(unknown)}, unknown, false, nil},
		{"rule 1: after an absence nothing is in doubt", seq{reply(unknown), lookUp(notExecuted), reply(rejected)}, rejected, false, nil},
		{"rule 1: after an absence a reply's key reused is news", seq{reply(unknown), lookUp(notExecuted), reply(keyReused)}, keyReused, false, nil},
		{"rule 1: after an absence a throttle changes nothing", seq{reply(unknown), lookUp(notExecuted), reply(notExecuted)}, notExecuted, true, nil},
		{"rule 1: a later look-up finds what was absent", seq{lookUp(notExecuted), lookUp(duplicate, "A")}, duplicate, true, []string{"A"}},
		{"rule 1: comparing settles an earlier doubt", seq{reply(unknown), reply(duplicate, "A"), lookUp(keyReused, "A")}, keyReused, true, []string{}},
		{"rule 1: comparing without naming settles", seq{reply(unknown), reply(duplicate, "A"), lookUp(keyReused)}, keyReused, true, []string{}},
		{"rule 1: comparing a duplicate without reference settles", seq{reply(unknown), reply(duplicate), lookUp(keyReused, "A")}, keyReused, true, nil},
		{"rule 1: a reply's key reused resolves no duplicate", seq{reply(duplicate, "A"), reply(keyReused, "A")}, duplicate, true, []string{"A"}},
		{"rule 1: nobody outside resolves a duplicate", seq{reply(duplicate, "A"), outside(keyReused, "A")}, duplicate, true, []string{"A"}},
		{"rule 1: comparing something else settles nothing", seq{reply(duplicate, "A"), lookUp(keyReused, "C")}, duplicate, true, []string{"A"}},
		{"rule 1: a new doubt after the comparison", seq{reply(duplicate, "A"), lookUp(keyReused, "A"), reply(unknown)}, unknown, false, []string{}},
		{"rule 1: a key that is another's stays so", seq{reply(duplicate, "A"), lookUp(keyReused, "A"), reply(notExecuted)}, keyReused, true, []string{}},
		{"rule 1: a key that is another's stays so when rejected", seq{reply(duplicate, "A"), lookUp(keyReused, "A"), reply(rejected)}, keyReused, true, []string{}},

		{"rule 2: unknown after success", seq{reply(succeeded, "A"), reply(unknown)}, succeeded, true, []string{"A"}},
		{"rule 2: declined after success", seq{reply(succeeded, "A"), reply(declined)}, succeeded, true, []string{"A"}},
		{"rule 2: absence after success", seq{reply(succeeded, "A"), lookUp(notExecuted)}, succeeded, true, []string{"A"}},
		{"rule 2: comparison after success", seq{reply(succeeded, "A"), lookUp(keyReused, "A")}, succeeded, true, []string{"A"}},
		{"rule 2: the same resource as a duplicate", seq{reply(succeeded, "A"), reply(duplicate, "A")}, succeeded, true, []string{"A"}},
		{"rule 2: success without a reference", seq{reply(succeeded), reply(duplicate, "A"), lookUp(keyReused, "A")}, succeeded, true, []string{"A"}},
		{"rule 2: a resolved duplicate is a success", seq{reply(duplicate, "A"), lookUp(succeeded, "A")}, succeeded, true, []string{"A"}},
		{"rule 2: a failed fetch leaves the duplicate", seq{reply(duplicate, "A"), lookUp(unknown)}, duplicate, true, []string{"A"}},
		{"rule 2: an absence leaves the duplicate", seq{reply(duplicate, "A"), lookUp(notExecuted)}, duplicate, true, []string{"A"}},
		{"rule 2: a decline leaves the duplicate", seq{reply(duplicate, "A"), reply(declined)}, duplicate, true, []string{"A"}},

		{"rule 3: two successes", seq{reply(succeeded, "A"), reply(succeeded, "B")}, duplicate, true, []string{"A", "B"}},
		{"rule 3: a duplicate after a success", seq{reply(succeeded, "A"), reply(duplicate, "B")}, duplicate, true, []string{"A", "B"}},
		{"rule 3: a success after a duplicate", seq{reply(duplicate, "A"), reply(succeeded, "B")}, duplicate, true, []string{"A", "B"}},
		{"rule 3: two found", seq{reply(unknown), lookUp(duplicate, "A"), lookUp(duplicate, "B")}, duplicate, true, []string{"A", "B"}},
		{"rule 3: a webhook names another", seq{reply(succeeded, "A"), outside(succeeded, "B")}, duplicate, true, []string{"A", "B"}},
		{"rule 3: all of them", seq{reply(succeeded, "A"), outside(succeeded, "B"), lookUp(duplicate, "C")}, duplicate, true, []string{"A", "B", "C"}},
		{"rule 3: later answers do not silence it", seq{reply(succeeded, "A"), reply(succeeded, "B"), reply(succeeded, "A"), reply(rejected)}, duplicate, true, []string{"A", "B"}},
		{"rule 3: no reference is not another one", seq{reply(succeeded), reply(succeeded, "B")}, succeeded, true, []string{"B"}},
		{"rule 3: no alarm by a doubt's reference", seq{reply(unknown, "A"), reply(succeeded, "B")}, succeeded, true, []string{"B"}},
		{"rule 3: no alarm by a decline's reference", seq{reply(declined, "A"), reply(succeeded, "B")}, succeeded, true, []string{"B"}},
		{"rule 3: one of two was another's", seq{reply(duplicate, "A"), reply(duplicate, "B"), lookUp(keyReused, "A")}, duplicate, true, []string{"B"}},
		{"rule 3: both were another's", seq{reply(duplicate, "A"), reply(duplicate, "B"), lookUp(keyReused, "A"), lookUp(keyReused, "B")}, keyReused, true, []string{}},
		{"rules 2 and 3: a comparison does not silence a success", seq{reply(succeeded, "A"), reply(duplicate, "B"), lookUp(keyReused, "B")}, duplicate, true, []string{"A", "B"}},
		{"rules 2 and 3: comparisons do not overturn a success", seq{reply(succeeded, "A"), reply(duplicate, "B"), lookUp(keyReused, "B"), lookUp(keyReused, "A")}, duplicate, true, []string{"A", "B"}},
		{"rules 2 and 3: nor one without a reference", seq{reply(succeeded), reply(duplicate, "B"), reply(duplicate, "C"), lookUp(keyReused, "B"), lookUp(keyReused, "C")}, duplicate, true, []string{"B", "C"}},

		{"rule 4: declined settles", seq{reply(unknown), reply(declined)}, declined, true, nil},
		{"rule 4: declined settles a spent key", seq{reply(keySpent), reply(declined)}, declined, true, nil},
		{"rule 4: a decline is final", seq{reply(declined), reply(unknown)}, declined, true, nil},
		{"rule 4: an absence is weaker than a decline", seq{reply(declined), lookUp(notExecuted)}, declined, true, nil},
		{"rule 4: a comparison is weaker than a decline", seq{reply(declined), lookUp(keyReused)}, declined, true, nil},
		{"rule 4: but an effect is stronger", seq{reply(declined), reply(succeeded, "A")}, succeeded, true, []string{"A"}},
		{"rule 4: and so is a duplicate", seq{reply(declined), reply(duplicate, "A")}, duplicate, true, []string{"A"}},

		{"rule 6: not executed from outside settles nothing", seq{reply(unknown), outside(notExecuted)}, unknown, false, nil},
		{"rule 6: key reused from outside settles nothing", seq{reply(unknown), outside(keyReused)}, unknown, false, nil},
		{"rule 6: rejected by a look-up settles nothing", seq{reply(unknown), lookUp(rejected)}, unknown, false, nil},
		{"rule 6: an effect from outside settles", seq{reply(unknown), outside(succeeded, "A")}, succeeded, true, []string{"A"}},
		{"rule 6: a look-up that failed settles nothing", seq{reply(unknown), lookUp(unknown)}, unknown, false, nil},
		{"rule 6: one found is a duplicate", seq{reply(unknown), lookUp(duplicate, "A")}, duplicate, true, []string{"A"}},
		{"rule 6: absent at first sight", seq{lookUp(notExecuted)}, notExecuted, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := fold(c.evidence...)
			assert.Equal(t, c.status.String(), v.Status.String())
			assert.Equal(t, c.settled, v.Settled())
			assert.ElementsMatch(t, c.refs, v.Resources)
			unknownOther := v.Status == contract.KeyReused && v.Source != contract.FromLookUp
			assert.Equal(t, v.Effect() == contract.EffectNone && !unknownOther, v.AllowsNewKey(), "rule 5")
			assertAlarm(t, v)
		})
	}
}

// assertAlarm: two or more references are an alarm that names them all.
func assertAlarm(t *testing.T, v contract.Verdict) {
	t.Helper()
	alarm := v.DuplicateEffect()
	if len(v.Resources) < 2 {
		assert.Nil(t, alarm)
		assert.NotContains(t, v.Reason, "duplicate effect", "an alarm that is over")
		return
	}
	require.NotNil(t, alarm)
	assert.Equal(t, v.Resources, alarm.Resources)
	assert.Equal(t, contract.Duplicate, v.Status)
	assert.Equal(t, alarm.Error(), v.Reason)
	for _, r := range v.Resources {
		assert.Contains(t, alarm.Error(), r)
	}
}

// A verdict may come from a literal or a journal without its list of references.
func TestFoldAlarmsWithoutTheList(t *testing.T) {
	for _, s := range []contract.Status{contract.Succeeded, contract.Duplicate} {
		v := contract.Fold(contract.Verdict{Outcome: reply(s, "A")}, reply(contract.Duplicate, "B"))
		assert.Equal(t, []string{"A", "B"}, v.Resources)
		assertAlarm(t, v)
	}
	v := contract.Verdict{Outcome: reply(contract.Succeeded, "A")}
	for _, ref := range []string{"B", "C"} {
		v = contract.Fold(v, reply(contract.Duplicate, ref))
	}
	for _, ref := range []string{"A", "B", "C"} {
		v = contract.Fold(v, lookUp(contract.KeyReused, ref))
	}
	assert.Equal(t, []string{"A", "B", "C"}, v.Resources)
	assert.False(t, v.AllowsNewKey())
}

// What a verdict knows must survive a journal that stores it as JSON.
func TestVerdictSurvivesJSON(t *testing.T) {
	v := fold(reply(contract.Succeeded, "A"), reply(contract.Duplicate, "B"))
	data, err := json.Marshal(v)
	require.NoError(t, err)
	var back contract.Verdict
	require.NoError(t, json.Unmarshal(data, &back))
	assert.Equal(t, v, back)
	for _, ref := range []string{"A", "B"} {
		back = contract.Fold(back, lookUp(contract.KeyReused, ref))
	}
	assert.Equal(t, contract.EffectApplied, back.Effect())
}

func TestFoldKeepsWhatIsLeftOfSeveral(t *testing.T) {
	first := reply(contract.Duplicate, "A")
	first.State, first.Code, first.RequestID, first.Replayed = "paid", "exists", "req_1", true
	v := fold(first, lookUp(contract.Duplicate, "B"), lookUp(contract.KeyReused, "A"))
	assert.Equal(t, "B", v.Resource)
	assert.Empty(t, v.State, "A's state is not B's")
	assert.Empty(t, v.Code)
	assert.Empty(t, v.RequestID)
	assert.False(t, v.Replayed)
	assert.Equal(t, contract.Resolve, v.Next())
	assertAlarm(t, v)

	// Of several, a comparison that names none was of the one that stands first.
	v = fold(reply(contract.Duplicate, "A"), reply(contract.Duplicate, "B"), lookUp(contract.KeyReused))
	assert.Equal(t, []string{"B"}, v.Resources)
	assert.Equal(t, "B", v.Resource)

	v = fold(first, lookUp(contract.KeyReused, "C"))
	assert.Equal(t, "A", v.Resource)
	assert.Equal(t, []string{"A"}, v.Resources)
}

func TestFoldKeepsTheReference(t *testing.T) {
	for _, c := range []struct {
		name     string
		evidence []contract.Outcome
		want     string
	}{
		{"success that brings none", []contract.Outcome{reply(contract.Duplicate, "A"), lookUp(contract.Succeeded)}, "A"},
		{"success that brings one", []contract.Outcome{reply(contract.Duplicate), lookUp(contract.Succeeded, "A")}, "A"},
		{"success, then its reference", []contract.Outcome{reply(contract.Succeeded), lookUp(contract.Succeeded, "A")}, "A"},
		{"success with one, then without", []contract.Outcome{reply(contract.Succeeded, "A"), lookUp(contract.Succeeded)}, "A"},
		{"duplicate, then its reference", []contract.Outcome{reply(contract.Duplicate), lookUp(contract.Duplicate, "A")}, "A"},
		{"duplicate with one, then without", []contract.Outcome{reply(contract.Duplicate, "A"), reply(contract.Duplicate)}, "A"},
		{"a doubt's reference is no effect's", []contract.Outcome{reply(contract.Unknown, "A"), reply(contract.Succeeded)}, ""},
		{"an effect's reference is no refusal's", []contract.Outcome{reply(contract.Duplicate, "A"), lookUp(contract.KeyReused)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, fold(c.evidence...).Resource)
		})
	}
}

// The first success stands, with what its answer said; the latest is in Last.
func TestFoldKeepsTheFirstSuccess(t *testing.T) {
	first := contract.Outcome{Status: contract.Succeeded, Resource: "A", State: "pending", RequestID: "req_1"}
	again := contract.Outcome{Status: contract.Succeeded, Resource: "A", State: "paid", RequestID: "req_2", Source: contract.FromLookUp}
	v := fold(first, again)
	assert.Equal(t, first, v.Outcome)
	assert.Equal(t, again, v.Last)

	first.Resource, again.Resource = "", ""
	assert.Equal(t, first, fold(first, again).Outcome)

	v = fold(reply(contract.Succeeded, "A"), reply(contract.Succeeded, "B"), reply(contract.Succeeded, "C"))
	assert.Equal(t, "A", v.Resource)
}

// A duplicate stands likewise, until it is resolved.
func TestFoldKeepsTheFirstDuplicate(t *testing.T) {
	first := contract.Outcome{Status: contract.Duplicate, Resource: "A", RequestID: "req_1"}
	again := contract.Outcome{Status: contract.Duplicate, Resource: "A", RequestID: "req_2"}
	assert.Equal(t, first, fold(first, again).Outcome)
	first.Resource, again.Resource = "", ""
	assert.Equal(t, first, fold(first, again).Outcome)
}

// Of declines the latest stands: it may know more.
func TestFoldKeepsTheLatestDecline(t *testing.T) {
	late := contract.Outcome{Status: contract.Declined, Code: "insufficient_funds", Source: contract.FromLookUp}
	assert.Equal(t, late, fold(reply(contract.Declined), late).Outcome)
}

// A list of references is evidence, whatever a literal says besides.
func TestFoldOfReferencesAlone(t *testing.T) {
	v := contract.Fold(contract.Verdict{Resources: []string{"A"}}, reply(contract.NotExecuted))
	assert.False(t, v.AllowsNewKey())
}

func TestFoldCounts(t *testing.T) {
	v := fold(reply(contract.Unknown), lookUp(contract.Unknown), outside(contract.Unknown), reply(contract.Rejected))
	assert.Equal(t, 2, v.Attempts)
	assert.Equal(t, reply(contract.Rejected), v.Last)
	assert.Equal(t, contract.Unknown, v.Status)
	// Evidence that is all zero is evidence too.
	assert.Equal(t, contract.Unknown, fold(contract.Outcome{}, reply(contract.Rejected)).Status)
}

func TestFoldTakesTheAdviceOfTheLatestReply(t *testing.T) {
	with := func(o contract.Outcome, wait time.Duration, noResend bool) contract.Outcome {
		o.RetryAfter, o.NoResend = wait, noResend
		return o
	}
	const s = time.Second
	doubt, nothing := reply(contract.Unknown), reply(contract.NotExecuted)
	for _, c := range []struct {
		name     string
		evidence []contract.Outcome
		wait     time.Duration
		next     contract.Step
	}{
		{"first", []contract.Outcome{with(doubt, 3*s, true)}, 3 * s, contract.LookUp},
		{"a later wait holds for an older doubt", []contract.Outcome{doubt, with(nothing, 3*s, false)}, 3 * s, contract.Resend},
		{"a later reply without wait", []contract.Outcome{with(doubt, 3*s, false), doubt}, 0, contract.Resend},
		{"a wait is a floor for a look-up's end too", []contract.Outcome{with(doubt, 3*s, false), lookUp(contract.Unknown)}, 3 * s, contract.Resend},
		{"a wait outlives an absence", []contract.Outcome{with(doubt, 3*s, false), lookUp(contract.NotExecuted)}, 3 * s, contract.Resend},
		{"a look-up's longer wait", []contract.Outcome{with(doubt, 3*s, false), with(lookUp(contract.Unknown), 9*s, false)}, 9 * s, contract.Resend},
		{"a throttle after an absence", []contract.Outcome{doubt, lookUp(contract.NotExecuted), with(nothing, 3*s, false)}, 3 * s, contract.Resend},
		{"no resend after an absence", []contract.Outcome{doubt, lookUp(contract.NotExecuted), with(nothing, 0, true)}, 0, contract.Finish},
		{"no resend stays with the doubt", []contract.Outcome{with(doubt, 0, true), nothing}, 0, contract.LookUp},
		{"no resend comes to a doubt", []contract.Outcome{doubt, with(nothing, 0, true)}, 0, contract.LookUp},
		{"no resend by a look-up", []contract.Outcome{doubt, with(lookUp(contract.Unknown), 0, true)}, 0, contract.LookUp},
		{"no resend outlives a look-up", []contract.Outcome{with(doubt, 0, true), lookUp(contract.Unknown)}, 0, contract.LookUp},
		{"no resend outlives an absence", []contract.Outcome{with(doubt, 0, true), lookUp(contract.NotExecuted)}, 0, contract.Finish},
		{"no resend of a proven nothing is of its attempt", []contract.Outcome{with(nothing, 0, true), doubt}, 0, contract.Resend},
		{"success has no use for a wait", []contract.Outcome{with(doubt, 3*s, true), reply(contract.Succeeded)}, 0, contract.Finish},
		{"a decline has no use for a wait", []contract.Outcome{reply(contract.Declined), with(nothing, 3*s, true)}, 0, contract.Finish},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := fold(c.evidence...)
			assert.Equal(t, c.wait, v.RetryAfter)
			assert.Equal(t, c.next.String(), v.Next().String())
		})
	}
}

func TestFoldDoesNotTrustAdapters(t *testing.T) {
	for n := range 256 {
		o := contract.Outcome{
			Status: contract.Status(n), Source: contract.Evidence(n), RetryAfter: time.Duration(-n),
			Resource: "A", Reason: "the card was charged",
		}
		v := contract.Fold(contract.Verdict{}, o)
		assert.Zero(t, v.RetryAfter)
		assert.Zero(t, v.Last.RetryAfter)
		if n > 2 {
			assert.Equal(t, contract.FromReply, v.Source, n)
			assert.Equal(t, 1, v.Attempts)
		}
		if n > 8 {
			assert.Equal(t, contract.Unknown, v.Status)
			assert.Equal(t, v.Outcome, v.Last)
			assert.Empty(t, v.Resources)
			assert.Equal(t, fmt.Sprintf("the adapter returned an invalid status %d", n), v.Reason)
		}
	}
	least := time.Duration(-1 << 63)
	assert.Zero(t, fold(contract.Outcome{RetryAfter: least}, contract.Outcome{RetryAfter: least}).RetryAfter)
	assert.Equal(t, contract.Unknown, fold(reply(contract.Unknown), reply(77)).Status)
	// An absence whose source is not known settles nothing.
	assert.Equal(t, contract.Unknown, fold(reply(contract.Unknown), contract.Outcome{Status: contract.NotExecuted, Source: 3}).Status)
}

// Fold is a value function: two folds of one verdict do not see each other.
func TestFoldDoesNotShare(t *testing.T) {
	v := fold(reply(contract.Succeeded, "A"), reply(contract.Succeeded, "B"), reply(contract.Succeeded, "C"))
	v.Resources = slices.Grow(v.Resources, 8)
	one, two := contract.Fold(v, reply(contract.Succeeded, "D")), contract.Fold(v, reply(contract.Succeeded, "E"))
	assert.Equal(t, []string{"A", "B", "C", "D"}, one.Resources)
	assert.Equal(t, []string{"A", "B", "C", "E"}, two.Resources)
	assert.Equal(t, []string{"A", "B", "C"}, v.Resources)

	v = fold(reply(contract.Duplicate, "A"), reply(contract.Duplicate, "B"))
	contract.Fold(v, lookUp(contract.KeyReused, "A"))
	assert.Equal(t, []string{"A", "B"}, v.Resources)

	v.DuplicateEffect().Resources[0] = "changed"
	assert.Equal(t, []string{"A", "B"}, v.Resources)
}

// truth is the design's folding rules, written a second time: not as ranks of
// evidence, but as facts.
type truth struct {
	success bool            // rule 2
	held    bool            // a duplicate that no comparison has cleared
	refs    []string        // rule 3
	doubt   contract.Status // rule 1, where inDoubt
	inDoubt bool
	nothing contract.Status // where neither effect nor doubt
	final   bool            // nothing is proven for the operation
	known   bool
	replies int
}

func (f truth) learn(o contract.Outcome) truth {
	if o.Status > contract.KeySpent {
		o.Status = contract.Unknown
	}
	if o.Source > contract.FromOutside {
		o.Source = contract.FromReply
	}
	if o.Source == contract.FromReply {
		f.replies++
	}
	applied := f.success || f.held
	settle := func(s contract.Status) {
		f.nothing, f.final, f.inDoubt = s, true, false
	}
	looked := o.Source == contract.FromLookUp
	switch o.Status {
	case contract.Succeeded, contract.Duplicate:
		f.success = f.success || o.Status == contract.Succeeded
		f.held = true
		if o.Resource != "" && !slices.Contains(f.refs, o.Resource) {
			f.refs = append(slices.Clip(f.refs), o.Resource)
		}
	case contract.Declined: // rule 4
		if !applied {
			settle(contract.Declined)
		}
	case contract.Unknown, contract.InProgress, contract.KeySpent:
		if applied || f.final && f.nothing == contract.Declined {
			break
		}
		strength := map[contract.Status]int{contract.InProgress: 1, contract.Unknown: 2, contract.KeySpent: 3}
		if !f.inDoubt || strength[o.Status] > strength[f.doubt] {
			f.doubt = o.Status
		}
		f.inDoubt, f.final = true, false
	case contract.KeyReused:
		switch {
		case looked && f.success:
		case looked && f.held:
			gone := o.Resource
			if gone == "" && len(f.refs) > 0 {
				gone = f.refs[0]
			}
			f.refs = slices.DeleteFunc(slices.Clone(f.refs), func(r string) bool { return r == gone })
			if len(f.refs) == 0 {
				f.held = false
				settle(contract.KeyReused)
			}
		case looked && !(f.final && f.nothing == contract.Declined):
			settle(contract.KeyReused)
		default:
			f = f.attempt(o)
		}
	case contract.NotExecuted:
		if looked && !applied && !(f.final && f.nothing == contract.Declined) { // rule 6
			settle(contract.NotExecuted)
		} else {
			f = f.attempt(o)
		}
	default:
		f = f.attempt(o)
	}
	f.known = true
	return f
}

// attempt learns what speaks of one attempt alone.
func (f truth) attempt(o contract.Outcome) truth {
	switch {
	case f.success, f.held, f.inDoubt:
	case !f.final:
		f.nothing = o.Status
	case f.nothing == contract.NotExecuted && o.Status != contract.NotExecuted && o.Source == contract.FromReply:
		f.nothing, f.final = o.Status, false
	}
	return f
}

func (f truth) status() contract.Status {
	switch {
	case !f.known:
		return contract.Unknown
	case len(f.refs) > 1:
		return contract.Duplicate
	case f.success:
		return contract.Succeeded
	case f.held:
		return contract.Duplicate
	case f.inDoubt:
		return f.doubt
	default:
		return f.nothing
	}
}

func (f truth) settled() bool { return f.success || f.held || f.final && !f.inDoubt }

// check compares a verdict with the facts, and one step with the laws; it returns
// the law that was broken.
func check(before, after contract.Verdict, o contract.Outcome, f truth) string {
	settler := o.Source == contract.FromLookUp && (o.Status == contract.NotExecuted || o.Status == contract.KeyReused) ||
		o.Status == contract.Declined
	compared := o.Source == contract.FromLookUp && o.Status == contract.KeyReused
	alarm := after.DuplicateEffect()
	untouched := before.Attempts == 0 && before.Last == contract.Outcome{}
	switch {
	case after.Status != f.status():
		return "status, want " + f.status().String()
	case !slices.Equal(after.Resources, f.refs):
		return fmt.Sprint("resources, want ", f.refs)
	case after.Settled() != f.settled():
		return "settled"
	case after.Attempts != f.replies:
		return "attempts"
	case f.success && after.Effect() != contract.EffectApplied:
		return "success was overturned"
	case f.success && !after.Settled():
		return "success was opened again"
	case (alarm != nil) != (len(f.refs) > 1):
		return "alarm"
	case alarm != nil && (after.Status != contract.Duplicate || !slices.Equal(alarm.Resources, f.refs)):
		return "alarm without its names"
	case after.Effect() != contract.EffectNone && after.AllowsNewKey():
		return "a new key while the effect may exist"
	case before.Effect() == contract.EffectApplied && after.Effect() != contract.EffectApplied && !compared:
		return "an effect was lost without a comparison"
	case !untouched && before.Effect() == contract.EffectMaybe && after.Effect() == contract.EffectNone && !settler:
		return "a doubt was settled by evidence that cannot"
	case after.RetryAfter < 0:
		return "a negative wait"
	case after.Resource != "" && after.Effect() == contract.EffectApplied && !slices.Contains(after.Resources, after.Resource):
		return "a reference that is not listed"
	}
	return ""
}

func evidence(refs ...string) []contract.Outcome {
	var all []contract.Outcome
	for s := contract.Unknown; s <= contract.KeySpent; s++ {
		for source := contract.FromReply; source <= contract.FromOutside; source++ {
			switch s {
			case contract.Succeeded, contract.Duplicate, contract.KeyReused:
				for _, ref := range refs {
					all = append(all, contract.Outcome{Status: s, Source: source, Resource: ref})
				}
			default:
				all = append(all, contract.Outcome{Status: s, Source: source})
			}
		}
	}
	return all
}

// walk folds every sequence of up to depth pieces of evidence.
func walk(t *testing.T, all []contract.Outcome, depth int, v contract.Verdict, f truth, path []contract.Outcome) (folds int) {
	if depth == 0 {
		return 0
	}
	for _, o := range all {
		next, facts, way := contract.Fold(v, o), f.learn(o), append(path, o)
		if broken := check(v, next, o, facts); broken != "" {
			t.Fatalf("%s:\n%v\nis %v, of %v", broken, way, next.Outcome, next.Resources)
		}
		folds += 1 + walk(t, all, depth-1, next, facts, way)
	}
	return folds
}

func TestFoldEverySequence(t *testing.T) {
	for _, c := range []struct {
		name  string
		all   []contract.Outcome
		depth int
	}{
		{"four of two references", evidence("A", "B"), 4},
		{"three of three references and none", append(evidence("", "A", "B", "C"), reply(200), contract.Outcome{Status: contract.NotExecuted, Source: 9}), 3},
	} {
		for i, first := range c.all {
			t.Run(fmt.Sprintf("%s/%d", c.name, i), func(t *testing.T) {
				t.Parallel()
				v, f := contract.Fold(contract.Verdict{}, first), truth{}.learn(first)
				require.Empty(t, check(contract.Verdict{}, v, first, f))
				folds := walk(t, c.all, c.depth-1, v, f, []contract.Outcome{first})
				assert.Greater(t, folds, 1000)
			})
		}
	}
}

func TestFoldLongSequences(t *testing.T) {
	all := evidence("", "A", "B", "C")
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var v contract.Verdict
		var f truth
		for step := range 12 {
			o := all[r.IntN(len(all))]
			o.RetryAfter = time.Duration(r.Int64()) - 1<<62
			next := contract.Fold(v, o)
			f = f.learn(o)
			require.Empty(t, check(v, next, o, f), "seed %d, step %d", seed, step)
			v = next
		}
	}
}

// The same evidence told twice is no news.
func TestFoldTwiceIsOnce(t *testing.T) {
	all := evidence("A", "B")
	for _, first := range all {
		for _, second := range all {
			for _, o := range all {
				once := fold(first, second, o)
				twice := contract.Fold(once, o)
				assert.Equal(t, once.Status, twice.Status, "%v, %v, %v", first, second, o)
				assert.ElementsMatch(t, once.Resources, twice.Resources)
			}
		}
	}
}

package journaltest

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal"
)

// keep writes e with Begin and with Update, and requires that both kept it.
func (s *subject) keep(e journal.Entry) {
	e.Version = 1
	s.keptBy("Begin", e, s.begin(e))
	s.keptBy("Begin", e, s.get(e.ID))
	e.Key += ", updated"
	s.begin(journal.Entry{ID: e.ID})
	stored := s.update(e)
	e.Version = 2
	s.keptBy("Update", e, stored)
	s.keptBy("Update", e, s.get(e.ID))
}

func (s *subject) keptBy(method string, want, got journal.Entry) {
	if d := difference(want, got); d != "" {
		s.fail(2, "%s did not keep it: %s", method, d)
	}
}

func keepsEveryField(s *subject) {
	s.keep(full("k"))
	many := full("large numbers")
	many.Skew, many.Sweeps, many.Verdict.Attempts = math.MaxInt64, math.MaxInt32, math.MaxInt32
	s.keep(many)
}

func keepsNothing(s *subject) {
	s.keep(journal.Entry{})
	e := journal.Entry{ID: id("empty")}
	e.Request.Header, e.Request.Body = http.Header{}, []byte{}
	e.Response.Header, e.Response.Body = http.Header{}, []byte{}
	e.Verdict.Resources = []string{}
	s.keep(e)
}

func keepsBytes(s *subject) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for i, body := range [][]byte{
		every,
		{0},
		[]byte(" {\"b\": 1.0,\r\n \"a\":1}\n "),
		[]byte("\xff\xfe\xfd"),
		bytes.Repeat(every, 300),
	} {
		e := full(fmt.Sprintf("body %d", i))
		e.Request.Body, e.Response.Body = body, slices.Concat(body, []byte("."))
		s.keep(e)
	}
}

func keepsHeaders(s *subject) {
	e := full("k")
	e.Request.Header = http.Header{
		"Acme-Account":    {"acct_1"},
		"Accept":          {"b", "a", "b"},
		"Empty":           {""},
		"idempotency-key": {"not canonical"},
		"Idempotency-Key": {"canonical"},
	}
	e.Response.Header = http.Header{
		"Set":     {" spaces ", "a,b", `"quoted"`, "é", "\xff", "<&>\u2028"},
		"Request": {strings.Repeat("x", 10_000)},
	}
	s.keep(e)
}

func keepsTimes(s *subject) {
	east := time.FixedZone("east", 5*3600+1800)
	for i, t := range []time.Time{
		{},
		noon,
		noon.Add(time.Microsecond),
		noon.Add(999999 * time.Microsecond),
		noon.In(east),
		time.Unix(0, 0),
		time.Unix(-1, 1000),
		time.Date(1883, 11, 18, 12, 3, 58, 1000, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC),
	} {
		e := full(fmt.Sprintf("time %d", i))
		eachTime(reflect.ValueOf(&e).Elem(), func(field *time.Time) { *field = t })
		want := e
		eachTime(reflect.ValueOf(&want).Elem(), func(field *time.Time) { *field = t.UTC() })
		s.keptBy("Begin", want, s.begin(e))
		s.keptBy("Begin", want, s.get(e.ID))
	}
}

// eachTime visits every time below v.
func eachTime(v reflect.Value, f func(*time.Time)) {
	if t, ok := v.Addr().Interface().(*time.Time); ok {
		f(t)
		return
	}
	if v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			eachTime(v.Field(i), f)
		}
	}
}

func keepsText(s *subject) {
	for i, text := range []string{"é e\u0301 日本 \u2028", " a \n", "\xff\xfe", "a\x00b", `\xff`, `'";--`, strings.Repeat("x", 20_000)} {
		e := full(fmt.Sprintf("text %d", i))
		eachString(reflect.ValueOf(&e).Elem(), func(field *string) { *field = text })
		e.ID = id(fmt.Sprintf("text %d", i))
		s.keep(e)
	}
}

// eachString visits every string field below v.
func eachString(v reflect.Value, f func(*string)) {
	switch v.Kind() {
	case reflect.String:
		f(v.Addr().Interface().(*string))
	case reflect.Struct:
		if _, ok := v.Interface().(time.Time); ok {
			return
		}
		for i := range v.NumField() {
			eachString(v.Field(i), f)
		}
	}
}

func keepsVerdicts(s *subject) {
	for status := contract.Unknown; status.Valid(); status++ {
		for source := contract.FromReply; source <= contract.FromOutside; source++ {
			e := full(fmt.Sprintf("%v from %v", status, source))
			e.Verdict = contract.Verdict{
				Outcome:   contract.Outcome{Status: status, Source: source, RetryAfter: math.MaxInt64, Reason: "why"},
				Last:      contract.Outcome{Status: contract.KeySpent - status, NoResend: true, RetryAfter: 1},
				Resources: []string{"pay_2", "pay_1", "pay_1 "},
				Confirmed: status == contract.Succeeded,
			}
			s.keep(e)
		}
	}
	// What Fold made of evidence goes on from the same place.
	var v contract.Verdict
	for i, o := range []contract.Outcome{
		{Status: contract.Unknown, Reason: "no answer"},
		{Status: contract.Duplicate, Resource: "pay_1"},
		{Status: contract.Succeeded, Resource: "pay_1", Source: contract.FromLookUp},
		{Status: contract.Succeeded, Resource: "pay_2", Source: contract.FromOutside},
	} {
		v = contract.Fold(v, o)
		e := small(fmt.Sprintf("folded %d", i))
		e.Verdict = v
		s.keep(e)
	}
}

func copiesIn(s *subject) {
	e := full("k")
	want := e.Clone()
	s.begin(e)
	spoil(&e)
	s.same(want, s.get(e.ID), "the entry after what was given to Begin was changed")
	e = want.Clone()
	s.update(e)
	spoil(&e)
	want.Version++
	s.same(want, s.get(e.ID), "the entry after what was given to Update was changed")
}

func copiesOut(s *subject) {
	e := full("k")
	e.Settled, e.Due, e.Lease.Until = false, noon, noon
	want := e.Clone()
	stored := s.begin(e)
	spoil(&stored)
	s.same(want, s.get(e.ID), "the entry after what Begin returned was changed")
	known, _, err := s.store.Begin(s.ctx, e)
	s.is(err, nil, "a second Begin")
	spoil(&known)
	s.same(want, s.get(e.ID), "the entry after what a second Begin returned was changed")
	got := s.get(e.ID)
	spoil(&got)
	s.same(want, s.get(e.ID), "the entry after what Get returned was changed")
	found, err := s.store.Unsettled(s.ctx, e.Provider, e.Account, noon, 1)
	s.is(err, nil, "Unsettled")
	s.require(len(found) == 1, "Unsettled returned %d entries, want 1", len(found))
	spoil(&found[0])
	s.same(want, s.get(e.ID), "the entry after what Unsettled returned was changed")
	stored = s.update(want.Clone())
	spoil(&stored)
	want.Version++
	s.same(want, s.get(e.ID), "the entry after what Update returned was changed")
}

// spoil changes everything that e may share.
func spoil(e *journal.Entry) {
	for _, h := range []http.Header{e.Request.Header, e.Response.Header} {
		for _, values := range h {
			clear(values)
		}
		clear(h)
	}
	clear(e.Request.Body)
	clear(e.Response.Body)
	clear(e.Verdict.Resources)
}

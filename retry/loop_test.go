package retry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

// TestVerdicts runs scripts of answers to their verdict, through the whole loop
// (I4: a doubt is settled by an effect, a decline or a look-up, by nothing else).
func TestVerdicts(t *testing.T) {
	throttle, fail, refuse := respond(429, `{}`), respond(500, `{}`), respond(400, `{"code":"bad"}`)
	unauthorized, decline := respond(401, `{"code":"auth"}`), respond(402, `{"code":"card_declined"}`)
	busy, reused, spent := respond(423, `{}`), respond(412, `{}`), respond(410, `{}`)
	duplicate := respond(409, `{"existing":"pay_1"}`)
	for name, tc := range map[string]struct {
		script []act
		want   contract.Status
		sends  int
	}{
		"success":              {[]act{created()}, contract.Succeeded, 1},
		"throttled, success":   {[]act{throttle, throttle, created()}, contract.Succeeded, 3},
		"doubt, success":       {[]act{fail, drop(), created()}, contract.Succeeded, 3},
		"busy, success":        {[]act{busy, busy, created()}, contract.Succeeded, 3},
		"busy for ever":        {[]act{busy}, contract.InProgress, 5},
		"doubt for ever":       {[]act{fail}, contract.Unknown, 5},
		"throttled for ever":   {[]act{throttle}, contract.NotExecuted, 5},
		"decline":              {[]act{decline}, contract.Declined, 1},
		"refusal":              {[]act{refuse}, contract.Rejected, 1},
		"throttled, refusal":   {[]act{throttle, refuse}, contract.Rejected, 2},
		"throttled, reused":    {[]act{throttle, reused}, contract.KeyReused, 2},
		"doubt, decline":       {[]act{fail, decline}, contract.Declined, 2},
		"busy, decline":        {[]act{busy, decline}, contract.Declined, 2},
		"doubt, refusal":       {[]act{fail, refuse}, contract.Unknown, 2},
		"doubt, 401":           {[]act{fail, unauthorized}, contract.Unknown, 2},
		"doubt, reused":        {[]act{fail, reused}, contract.Unknown, 2},
		"doubt, throttled":     {[]act{fail, throttle}, contract.Unknown, 5},
		"busy, refusal":        {[]act{busy, refuse}, contract.InProgress, 2},
		"busy, doubt":          {[]act{busy, fail}, contract.Unknown, 5},
		"doubt, busy":          {[]act{fail, busy}, contract.Unknown, 5},
		"spent":                {[]act{spent}, contract.KeySpent, 1},
		"doubt, spent":         {[]act{fail, spent}, contract.KeySpent, 2},
		"duplicate":            {[]act{duplicate}, contract.Duplicate, 1},
		"doubt, duplicate":     {[]act{fail, duplicate}, contract.Duplicate, 2},
		"no resend, doubt":     {[]act{respond(500, `{}`, "Should-Retry: false")}, contract.Unknown, 1},
		"no resend, busy":      {[]act{respond(423, `{}`, "Should-Retry: false")}, contract.InProgress, 1},
		"doubt, then no more":  {[]act{fail, respond(500, `{}`, "Should-Retry: false")}, contract.Unknown, 2},
		"HTML 200":             {[]act{respond(200, `<html>hello</html>`)}, contract.Unknown, 5},
		"empty 200":            {[]act{respond(200, ``)}, contract.Unknown, 5},
		"204":                  {[]act{raw(true, "HTTP/1.1 204 No Content\r\n\r\n")}, contract.Unknown, 5},
		"304":                  {[]act{raw(true, "HTTP/1.1 304 Not Modified\r\n\r\n")}, contract.Unknown, 5},
		"200 without resource": {[]act{respond(200, `{}`)}, contract.Unknown, 5},
		"cut 200":              {[]act{raw(false, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":\"pay_1\"}")}, contract.Unknown, 5},
		"cut 402":              {[]act{raw(false, "HTTP/1.1 402 No\r\nContent-Length: 100\r\n\r\n{\"code\":\"x\"}")}, contract.Unknown, 5},
		"cut 400":              {[]act{raw(false, "HTTP/1.1 400 No\r\nContent-Length: 100\r\n\r\n{\"code\":\"x\"}")}, contract.Unknown, 5},
		"cut 429":              {[]act{raw(false, "HTTP/1.1 429 No\r\nContent-Length: 100\r\n\r\n")}, contract.NotExecuted, 5},
		"cut, success":         {[]act{raw(false, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":\"pay_1\"}"), created()}, contract.Succeeded, 2},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				p := newProvider(tc.script...)
				var events []AttemptEvent
				c := newClient(t, p, nil, &Options{OnAttempt: func(_ context.Context, e AttemptEvent) { events = append(events, e) }})
				result, err := c.Do(payment(context.Background()))
				wantVerdict(t, tc.want, result, err)
				assert.Equal(t, tc.sends, p.count())
				assert.Equal(t, tc.sends, result.Attempts)
				assert.Equal(t, tc.want.Effect() == contract.EffectNone && tc.want != contract.KeyReused, result.AllowsNewKey())
				require.Len(t, events, tc.sends)
				for i, e := range events {
					assert.Equal(t, i+1, e.Attempt)
					assert.Equal(t, i < tc.sends-1, e.Next == contract.Resend, "an event says what really follows: %v", e.Next)
				}
				assert.Equal(t, tc.want, events[tc.sends-1].Verdict.Status)
			})
		})
	}
}

// TestImpossible: what an adapter cannot know, it cannot say (I8).
func TestImpossible(t *testing.T) {
	cut := raw(false, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":\"pay_1\"}")
	for name, tc := range map[string]struct {
		script act
		says   contract.Outcome
		want   contract.Outcome // the parts that matter
	}{
		"success of nothing":        {drop(), contract.Outcome{Status: contract.Succeeded}, contract.Outcome{}},
		"decline of nothing":        {drop(), contract.Outcome{Status: contract.Declined}, contract.Outcome{}},
		"not executed, sent":        {drop(), contract.Outcome{Status: contract.NotExecuted}, contract.Outcome{}},
		"rejected of nothing":       {drop(), contract.Outcome{Status: contract.Rejected}, contract.Outcome{}},
		"duplicate of nothing":      {drop(), contract.Outcome{Status: contract.Duplicate, Resource: "pay_2"}, contract.Outcome{}},
		"reused of nothing":         {drop(), contract.Outcome{Status: contract.KeyReused}, contract.Outcome{}},
		"success of a cut body":     {cut, contract.Outcome{Status: contract.Succeeded, Resource: "pay_1"}, contract.Outcome{}},
		"decline of a cut body":     {cut, contract.Outcome{Status: contract.Declined}, contract.Outcome{}},
		"duplicate of a cut body":   {cut, contract.Outcome{Status: contract.Duplicate, Resource: "x"}, contract.Outcome{}},
		"success of a 500":          {respond(500, `{"id":"pay_1"}`), contract.Outcome{Status: contract.Succeeded, Resource: "pay_1"}, contract.Outcome{}},
		"success of a redirect":     {respond(303, `{"id":"pay_1"}`, "Location: /x"), contract.Outcome{Status: contract.Succeeded}, contract.Outcome{}},
		"success of a 402":          {respond(402, `{"id":"pay_1"}`), contract.Outcome{Status: contract.Succeeded}, contract.Outcome{}},
		"no status":                 {created(), contract.Outcome{Status: 77}, contract.Outcome{}},
		"a look-up's word":          {created(), contract.Outcome{Status: contract.NotExecuted, Source: contract.FromLookUp}, contract.Outcome{Status: contract.NotExecuted}},
		"outside's word":            {created(), contract.Outcome{Status: contract.KeyReused, Source: contract.FromOutside}, contract.Outcome{Status: contract.KeyReused}},
		"no such source":            {created(), contract.Outcome{Status: contract.Declined, Source: 99}, contract.Outcome{Status: contract.Declined}},
		"a negative wait":           {created(), contract.Outcome{Status: contract.NotExecuted, RetryAfter: -time.Hour}, contract.Outcome{Status: contract.NotExecuted}},
		"a status 000":              {raw(true, "HTTP/1.1 000 Odd\r\nContent-Length: 13\r\n\r\n{\"id\":\"pay\"}\n"), contract.Outcome{Status: contract.Succeeded}, contract.Outcome{}},
		"not executed, cut: a head": {cut, contract.Outcome{Status: contract.NotExecuted}, contract.Outcome{Status: contract.NotExecuted}},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				p := newProvider(tc.script)
				a := &stub{classify: func(contract.Call, contract.Reply) contract.Outcome { return tc.says }}
				c := newClient(t, p, a, &Options{MaxAttempts: 1})
				result, err := c.Do(payment(context.Background()))
				wantVerdict(t, tc.want.Status, result, err)
				assert.Equal(t, tc.want.Resource, result.Resource)
				assert.Zero(t, result.RetryAfter)
				assert.Equal(t, contract.FromReply, result.Source)
				assert.Empty(t, result.Resources)
			})
		})
	}
}

// TestClassifyPanics: the answer counts as unknown, and the loop goes on.
func TestClassifyPanics(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(created())
		n := 0
		a := &stub{classify: func(c contract.Call, r contract.Reply) contract.Outcome {
			if n++; n < 3 {
				panic("sk_live_secret")
			}
			return classify(c, r)
		}}
		c := newClient(t, p, a, nil)
		result, err := c.Do(payment(context.Background()))
		wantVerdict(t, contract.Succeeded, result, err)
		assert.Equal(t, 3, p.count())

		n = -100
		result, err = c.Do(payment(context.Background()))
		wantVerdict(t, contract.Unknown, result, err)
		assert.ErrorContains(t, err, "the adapter panicked in Classify")
		assert.NotContains(t, err.Error(), "sk_live")
	})
}

// TestKeyAge: no send once the key is too old (I2); it is looked up instead.
func TestKeyAge(t *testing.T) {
	for name, tc := range map[string]struct {
		retention time.Duration
		o         Options
		life      time.Duration // age that no send reaches
	}{
		"published":           {retention: 24 * time.Hour, life: 23 * time.Hour},
		"short":               {retention: time.Hour, life: 45 * time.Minute},
		"unpublished":         {life: 45 * time.Minute},
		"unpublished, chosen": {o: Options{UnpublishedRetention: 10 * time.Hour}, life: 9 * time.Hour},
		"small margin":        {retention: 24 * time.Hour, o: Options{KeyMargin: time.Minute}, life: 24*time.Hour - time.Minute},
		"huge margin":         {retention: 24 * time.Hour, o: Options{KeyMargin: 100 * time.Hour}, life: 18 * time.Hour},
		"for ever":            {retention: contract.RetentionForever, life: 48 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				p := newProvider(respond(500, `{}`))
				o := tc.o
				o.MaxElapsed, o.MaxAttempts = 48*time.Hour, 1<<30
				o.MinWait, o.MaxWait = 7*time.Minute, 7*time.Minute
				terms := with(func(terms *contract.Terms) { terms.Retention = tc.retention })
				c := newClient(t, p, &stub{terms: terms}, &o)
				result, err := c.Do(payment(context.Background()))
				wantVerdict(t, contract.Unknown, result, err)
				seen := p.requests()
				last := seen[len(seen)-1].At.Sub(seen[0].At)
				assert.Less(t, last, tc.life)
				assert.Greater(t, last, tc.life-8*time.Minute, "and it is used as long as it may be")
			})
		})
	}
}

// TestKeyAgesInCallbacks: the age counts at the moment of the send, also where a
// callback, Authorize or the machine slept meanwhile.
func TestKeyAgesInCallbacks(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(500, `{}`))
		c := newClient(t, p, nil, &Options{MaxElapsed: 48 * time.Hour, OnAttempt: func(context.Context, AttemptEvent) { time.Sleep(23 * time.Hour) }})
		result, err := c.Do(payment(context.Background()))
		wantVerdict(t, contract.Unknown, result, err)
		assert.Equal(t, 1, p.count(), "OnAttempt slept")
	})
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(500, `{}`))
		terms := with(func(t *contract.Terms) { t.Retention = 80 * time.Second })
		c := newClient(t, p, &stub{terms: terms}, &Options{Authorize: func(*http.Request) error { time.Sleep(59 * time.Second); return nil }})
		result, err := c.Do(payment(context.Background()))
		wantVerdict(t, contract.Unknown, result, err)
		assert.Equal(t, 1, p.count(), "Authorize slept")
	})
	virtual(t, func(t *testing.T) {
		p := newProvider(created())
		c := newClient(t, p, nil, &Options{MaxAttempts: 1, Authorize: func(*http.Request) error { time.Sleep(time.Hour); return nil }})
		result, err := c.Do(payment(context.Background()))
		wantVerdict(t, contract.NotExecuted, result, err)
		assert.Zero(t, p.count(), "the attempt's time was over before it began")
		assert.NotErrorIs(t, err, context.DeadlineExceeded, "which is not the caller's")
		assert.ErrorContains(t, err, "Authorize")
	})
}

// TestIdempotentHasNoAge: it needs no key, so that no key can grow old.
func TestIdempotentHasNoAge(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(500, `{}`))
		terms := with(func(t *contract.Terms) { t.Idempotent = true })
		c := newClient(t, p, &stub{terms: terms}, &Options{MaxElapsed: 1000 * time.Hour, MinWait: 30 * time.Hour, MaxWait: 30 * time.Hour})
		c.Do(payment(context.Background()))
		assert.Equal(t, 5, p.count())
	})
}

// TestContextEnds: the loop wakes at once and says what is known.
func TestContextEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		script []act
		cancel time.Duration
		want   contract.Status
		sends  int
	}{
		"before the call":     {[]act{created()}, 0, contract.NotExecuted, 0},
		"in the first send":   {[]act{hang()}, time.Second, contract.Unknown, 1},
		"in a wait, doubt":    {[]act{respond(423, `{}`, "Retry-After: 20")}, time.Second, contract.InProgress, 1},
		"in a wait, throttle": {[]act{respond(429, `{}`, "Retry-After: 20")}, time.Second, contract.NotExecuted, 1},
		"in the second send":  {[]act{respond(429, `{}`, "Retry-After: 20"), hang()}, 45 * time.Second, contract.Unknown, 2},
		"in a body":           {[]act{raw2hang("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":")}, time.Second, contract.Unknown, 1},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				p := newProvider(tc.script...)
				c := newClient(t, p, nil, nil)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				start := time.Now()
				if tc.cancel == 0 {
					cancel()
				} else {
					time.AfterFunc(tc.cancel, cancel)
				}
				result, err := c.Do(payment(ctx))
				assert.Equal(t, tc.cancel, time.Since(start), "at once")
				wantVerdict(t, tc.want, result, err)
				assert.ErrorIs(t, err, context.Canceled)
				assert.Equal(t, tc.sends, p.count())
				assert.Equal(t, tc.sends, result.Attempts)
			})
		})
	}
}

func raw2hang(head string) act {
	return func(conn net.Conn, r request) bool {
		io.WriteString(conn, head)
		return hang()(conn, r)
	}
}

// TestContextEndsWithTheWait: when both end together, nothing false is reported,
// whichever is seen first.
func TestContextEndsWithTheWait(t *testing.T) {
	for range 50 {
		virtual(t, func(t *testing.T) {
			p := newProvider(respond(429, `{}`), hang())
			c := newClient(t, p, nil, &Options{MinWait: 10 * time.Second, MaxWait: 10 * time.Second})
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(10*time.Second, cancel)
			result, err := c.Do(payment(ctx))
			switch {
			case result.Attempts == 1:
				wantVerdict(t, contract.NotExecuted, result, err)
			case p.count() == 2:
				wantVerdict(t, contract.Unknown, result, err)
			}
			assert.ErrorIs(t, err, context.Canceled)
		})
	}
}

// TestBudgets: the ends of the options' ranges.
func TestBudgets(t *testing.T) {
	for name, tc := range map[string]struct {
		o     Options
		sends int
		last  time.Duration // no attempt starts later
	}{
		"one attempt":     {Options{MaxAttempts: 1}, 1, 0},
		"two attempts":    {Options{MaxAttempts: 2}, 2, time.Second},
		"no time":         {Options{MaxElapsed: 1}, 1, 0},
		"a second":        {Options{MaxElapsed: time.Second, MinWait: time.Second, MaxWait: time.Second}, 2, time.Second},
		"smallest waits":  {Options{MinWait: 1, MaxWait: 1}, 5, 4},
		"equal waits":     {Options{MinWait: time.Second, MaxWait: time.Second}, 5, 4 * time.Second},
		"nanosecond each": {Options{MaxElapsed: 1, MinWait: 1, MaxWait: 1, AttemptTimeout: time.Minute, KeyMargin: 1, UnpublishedRetention: 1}, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				p := newProvider(respond(500, `{}`))
				c := newClient(t, p, nil, &tc.o)
				start := time.Now()
				result, err := c.Do(payment(context.Background()))
				wantVerdict(t, contract.Unknown, result, err)
				assert.Equal(t, tc.sends, p.count())
				seen := p.requests()
				assert.LessOrEqual(t, seen[len(seen)-1].At.Sub(start), tc.last)
			})
		})
	}
}

// TestAttemptTimeout: it covers the whole answer, and it is not the caller's end.
func TestAttemptTimeout(t *testing.T) {
	virtual(t, func(t *testing.T) {
		drip := func(conn net.Conn, r request) bool {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
			for {
				time.Sleep(time.Second)
				if _, err := io.WriteString(conn, " "); err != nil {
					return false
				}
			}
		}
		p := newProvider(hang(), drip, created())
		c := newClient(t, p, nil, &Options{MaxElapsed: time.Hour})
		start := time.Now()
		result, err := c.Do(payment(context.Background()))
		wantVerdict(t, contract.Succeeded, result, err)
		assert.Equal(t, 3, result.Attempts)
		assert.Less(t, time.Since(start), 2*80*time.Second+10*time.Second)

		p = newProvider(hang())
		c = newClient(t, p, nil, &Options{MaxAttempts: 1})
		_, err = c.Do(payment(context.Background()))
		assert.NotErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "timed out")
		var timeout interface{ Timeout() bool }
		assert.True(t, errors.As(err, &timeout) && timeout.Timeout())
	})
}

// TestLastAnswerIsKept: the error holds the last answer, its body and request id.
func TestLastAnswerIsKept(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(500, `{"first":1}`, "Request-Id: req_1"), respond(500, `{"second":2}`, "Request-Id: req_2"), drop())
		c := newClient(t, p, nil, nil)
		result, err := c.Do(payment(context.Background()))
		wantVerdict(t, contract.Unknown, result, err)
		var e *Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, "req_2", e.RequestID)
		assert.Equal(t, `{"second":2}`, string(e.Body))
		assert.Equal(t, 500, e.Response.StatusCode)
		body, _ := io.ReadAll(e.Response.Body)
		assert.Equal(t, `{"second":2}`, string(body))
		body, _ = io.ReadAll(result.Response.Body)
		assert.Equal(t, `{"second":2}`, string(body))
		assert.Contains(t, err.Error(), "req_2")
		assert.NotContains(t, err.Error(), "second")
		assert.ErrorIs(t, err, io.EOF, "the cause of the silence")
	})
}

// TestNotSentIsNotAnAnswer: a rejected answer, then a refused dial: the last
// answer is not the last attempt's.
func TestDoubtSaysWhy(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(500, `{}`), respond(400, `{"code":"bad"}`))
		c := newClient(t, p, nil, nil)
		_, err := c.Do(payment(context.Background()))
		assert.Equal(t, contract.Rejected, OutcomeOf(err).Last.Status, "the verdict is the doubt, and Last says what came after it")
		assert.Equal(t, "payment unknown after 2 attempt(s)", fmt.Sprint(err)[:34])
	})
}

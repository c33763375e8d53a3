package retry

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

// TestHostileAnswers: whatever a provider sends, the call ends in time, with a
// verdict that claims nothing, and without a panic.
func TestHostileAnswers(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	pay := `{"id":"pay_1"}`
	for name, tc := range map[string]struct {
		act  act
		want contract.Status
	}{
		"a body without end":           {endless(ok+"\r\n", strings.Repeat("x", 4096)), contract.Unknown},
		"chunks without end":           {endless(ok+"Transfer-Encoding: chunked\r\n\r\n", "5\r\nhello\r\n"), contract.Unknown},
		"an error without end":         {endless("HTTP/1.1 400 No\r\n\r\n", strings.Repeat("x", 4096)), contract.Unknown},
		"white space without end":      {endless(ok+"\r\n"+pay, strings.Repeat(" ", 4096)), contract.Unknown},
		"a header without end":         {endless(ok+"X: ", strings.Repeat("x", 4096)), contract.Unknown},
		"headers without end":          {endless(ok, "X-A: "+strings.Repeat("x", 1000)+"\r\n"), contract.Unknown},
		"a status line without end":    {endless("HTTP/1.1 200 ", strings.Repeat("x", 4096)), contract.Unknown},
		"100 without end":              {endless("", "HTTP/1.1 100 Continue\r\n\r\n"), contract.Unknown},
		"103 without end":              {endless("", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"), contract.Unknown},
		"102 and silence":              {raw2hang("HTTP/1.1 102 Processing\r\n\r\n"), contract.Unknown},
		"some 103, then success":       {raw(true, strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 10)+ok+"Content-Length: 14\r\n\r\n"+pay), contract.Succeeded},
		"another protocol":             {raw2hang("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n" + pay), contract.Unknown},
		"trailers":                     {raw(true, ok+"Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\ne\r\n"+pay+"\r\n0\r\nX-T: 1\r\n\r\n"), contract.Succeeded},
		"the last chunk is missing":    {raw(false, ok+"Transfer-Encoding: chunked\r\n\r\ne\r\n"+pay+"\r\n"), contract.Unknown},
		"a broken chunk":               {raw(false, ok+"Transfer-Encoding: chunked\r\n\r\nzz\r\n"+pay), contract.Unknown},
		"shorter than its length":      {raw(false, ok+"Content-Length: 15\r\n\r\n"+pay), contract.Unknown},
		"longer than its length":       {raw(true, ok+"Content-Length: 14\r\n\r\n"+pay+"HTTP/1.1 500 X\r\n\r\n"), contract.Succeeded},
		"two lengths":                  {raw(false, ok+"Content-Length: 14\r\nContent-Length: 15\r\n\r\n"+pay), contract.Unknown},
		"a negative length":            {raw(false, ok+"Content-Length: -1\r\n\r\n"+pay), contract.Unknown},
		"a huge length":                {raw(false, ok+"Content-Length: 9223372036854775807\r\n\r\n"+pay), contract.Unknown},
		"unframed, whole":              {raw(false, ok+"\r\n"+pay), contract.Succeeded},
		"unframed, cut":                {raw(false, ok+"\r\n"+pay[:8]), contract.Unknown},
		"unframed, empty":              {raw(false, ok+"\r\n"), contract.Unknown},
		"unframed, text":               {raw(false, ok+"\r\nOK"), contract.Unknown},
		"unframed decline, cut":        {raw(false, "HTTP/1.1 402 No\r\n\r\n{\"code\":"), contract.Unknown},
		"HTTP/1.0":                     {raw(false, "HTTP/1.0 200 OK\r\n\r\n"+pay), contract.Succeeded},
		"HTTP/1.0, cut":                {raw(false, "HTTP/1.0 200 OK\r\n\r\n"+pay[:13]), contract.Unknown},
		"HTTP/1.0 with a length":       {raw(false, "HTTP/1.0 200 OK\r\nContent-Length: 14\r\n\r\n"+pay), contract.Succeeded},
		"HTTP/1.0 with a length, cut":  {raw(false, "HTTP/1.0 200 OK\r\nContent-Length: 14\r\n\r\n"+pay[:13]), contract.Unknown},
		"HTTP/0.9":                     {raw(false, pay), contract.Unknown},
		"HTTP/9.9":                     {raw(false, "HTTP/9.9 200 OK\r\n\r\n"+pay[:8]), contract.Unknown},
		"a status of four digits":      {raw(false, "HTTP/1.1 2000 OK\r\n\r\n"+pay), contract.Unknown},
		"a status of 999":              {respond(999, pay), contract.Unknown},
		"nothing":                      {raw(false, ""), contract.Unknown},
		"a byte":                       {raw(false, "H"), contract.Unknown},
		"NULs":                         {raw(false, strings.Repeat("\x00", 1000)), contract.Unknown},
		"ambiguous JSON":               {respond(200, `{"id":"pay_1","id":"pay_2"}`), contract.Unknown},
		"two JSON values":              {respond(200, pay+pay), contract.Unknown},
		"deep JSON":                    {respond(200, `{"id":`+strings.Repeat("[", 100_000)), contract.Unknown},
		"not UTF-8":                    {respond(200, "{\"id\":\"\xff\"}"), contract.Unknown},
		"a BOM":                        {respond(200, "\ufeff"+pay), contract.Unknown},
		"the wrong content type":       {raw(true, ok+"Content-Type: text/html\r\nContent-Length: 14\r\n\r\n"+pay), contract.Succeeded}, // the adapter's affair
		"a keep-alive that is closed":  {raw(false, ok+"Connection: keep-alive\r\nContent-Length: 14\r\n\r\n"+pay), contract.Succeeded},
		"a wait of a year":             {respond(423, `{}`, "Retry-After: 31536000"), contract.InProgress},
		"a wait in words":              {respond(423, `{}`, "Retry-After: tomorrow"), contract.InProgress},
		"a negative wait":              {respond(423, `{}`, "Retry-After: -5"), contract.InProgress},
		"ten thousand waits":           {respond(423, `{}`, strings.TrimSuffix(strings.Repeat("Retry-After: 1\r\n", 10_000), "\r\n")), contract.InProgress},
		"a date before, in both":       {respond(423, `{}`, "Date: Sat, 01 Jan 2000 00:00:00 GMT", "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT"), contract.InProgress},
		"a redirect to itself":         {respond(307, `{}`, "Location: /v1/payments"), contract.Unknown},
		"a redirect to another host":   {respond(307, `{}`, "Location: http://evil.test/"), contract.Unknown},
		"a redirect without a target":  {respond(302, `{}`), contract.Unknown},
		"authentication is asked for":  {respond(401, `{}`, `WWW-Authenticate: Basic realm="x"`), contract.Rejected},
		"a proxy asks for credentials": {respond(407, `{}`, `Proxy-Authenticate: Basic realm="x"`), contract.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				p := newProvider(tc.act)
				c := newClient(t, p, nil, &Options{MaxAttempts: 2, MaxBodyBytes: 100_000, MaxErrorBytes: 100_000})
				start := time.Now()
				result, err := c.Do(payment(context.Background()))
				wantVerdict(t, tc.want, result, err)
				assert.LessOrEqual(t, p.count(), 2)
				assert.Less(t, time.Since(start), 4*time.Minute)
				assert.GreaterOrEqual(t, result.RetryAfter, time.Duration(0))
				for _, r := range p.requests() {
					assert.Equal(t, "pay.test", r.Host)
				}
			})
		})
	}
}

// TestLimits: a body of exactly the limit is read, a byte more is cut; and there
// are two limits.
func TestLimits(t *testing.T) {
	body := func(n int) string {
		return `{"id":"pay_1","pad":"` + strings.Repeat("x", n-len(`{"id":"pay_1","pad":""}`)) + `"}`
	}
	for name, tc := range map[string]struct {
		act  act
		o    Options
		want contract.Status
		kept int
	}{
		"success at its limit":        {respond(200, body(1000)), Options{MaxBodyBytes: 1000}, contract.Succeeded, 1000},
		"success over its limit":      {respond(200, body(1001)), Options{MaxBodyBytes: 1000}, contract.Unknown, 1000},
		"error at its limit":          {respond(402, body(1000)), Options{MaxErrorBytes: 1000}, contract.Declined, 1000},
		"error over its limit":        {respond(402, body(1001)), Options{MaxErrorBytes: 1000}, contract.Unknown, 1000},
		"default, success":            {respond(200, body(8<<20)), Options{}, contract.Succeeded, 8 << 20},
		"default, success, one more":  {respond(200, body(8<<20+1)), Options{}, contract.Unknown, 8 << 20},
		"default, error":              {respond(402, body(1<<20)), Options{}, contract.Declined, 1 << 20},
		"default, error, one more":    {respond(402, body(1<<20+1)), Options{}, contract.Unknown, 1 << 20},
		"throttled over the limit":    {respond(429, body(1001)), Options{MaxErrorBytes: 1000}, contract.NotExecuted, 1000},
		"unframed success over limit": {raw(false, "HTTP/1.1 200 OK\r\n\r\n"+body(1001)), Options{MaxBodyBytes: 1000}, contract.Unknown, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				p := newProvider(tc.act)
				tc.o.MaxAttempts = 1
				c := newClient(t, p, nil, &tc.o)
				result, err := c.Do(payment(context.Background()))
				wantVerdict(t, tc.want, result, err)
				got, _ := io.ReadAll(result.Response.Body)
				assert.Len(t, got, tc.kept)
				assert.False(t, strings.Contains(OutcomeOf(err).Reason, "xxx"))
			})
		})
	}
}

// TestPoisonedConnection: bytes after an answer are not the next answer.
func TestPoisonedConnection(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(
			raw(true, "HTTP/1.1 429 Slow\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 201 Created\r\nContent-Length: 15\r\n\r\n{\"id\":\"forged\"}"),
			created())
		c := newClient(t, p, nil, nil)
		result, err := c.Do(payment(context.Background()))
		wantVerdict(t, contract.Succeeded, result, err)
		assert.Equal(t, "pay_1", result.Resource)
		assert.Equal(t, 2, p.requests()[1].Conn, "on a new connection")
	})
}

// custom is a transport that answers in memory, as hand-made ones do.
type custom func(*http.Request) (*http.Response, error)

func (f custom) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestOddTransports: answers that net/http would not give.
func TestOddTransports(t *testing.T) {
	for name, tc := range map[string]struct {
		resp *http.Response
		err  error
		want contract.Status
	}{
		"no body":            {&http.Response{StatusCode: 200}, nil, contract.Unknown},
		"no body, throttled": {&http.Response{StatusCode: 429}, nil, contract.NotExecuted},
		"nothing":            {nil, nil, contract.Unknown},
		"both":               {&http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(`{"id":"pay_1"}`))}, io.EOF, contract.Unknown},
		"zero":               {&http.Response{}, nil, contract.Unknown},
		"negative status":    {&http.Response{StatusCode: -200, Body: io.NopCloser(strings.NewReader(`{"id":"pay_1"}`))}, nil, contract.Unknown},
		"no header":          {&http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(`{"id":"pay_1"}`))}, nil, contract.Succeeded},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := NewClient(&stub{}, &Options{MaxAttempts: 1, Transport: custom(func(*http.Request) (*http.Response, error) { return tc.resp, tc.err })})
			require.NoError(t, err)
			c.CloseIdleConnections() // which it does not offer
			result, err := c.Do(payment(context.Background()))
			wantVerdict(t, tc.want, result, err)
		})
	}
}

// TestDialEndsWithContext: a dial that hangs ends with the context, and nothing
// was sent.
func TestDialEndsWithContext(t *testing.T) {
	virtual(t, func(t *testing.T) {
		tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			time.Sleep(time.Minute) // deaf to the context
			return nil, io.ErrClosedPipe
		}}
		c := newClient(t, nil, nil, &Options{Transport: tr})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		start := time.Now()
		result, err := c.Do(payment(ctx))
		wantVerdict(t, contract.NotExecuted, result, err)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(start))
	})
}

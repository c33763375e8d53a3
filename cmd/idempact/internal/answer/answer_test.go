package answer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	busy    = `{"error":{"code":"idempotency_key_in_use"}}`
	fields  = "HTTP/1.1 409 Conflict\nContent-Type: application/json\nRequest-Id: req_1\n"
	whole   = fields + "\n" + busy
	meter   = "  % Total    % Received % Xferd  Average Speed   Time    Time     Time  Current\n                                 Dload  Upload   Total   Spent    Left  Speed\n\r  0     0    0     0    0     0      0      0 --:--:-- --:--:-- --:--:--     0"
	verbose = `*   Trying 192.0.2.1:443...
* Server auth using Basic with user 'sk_test_1'
> POST /v1/payment_intents HTTP/2
> Host: api.stripe.com
> Idempotency-Key: order-1001
>
} [67 bytes data]
< HTTP/2 409
< content-type: application/json
< request-id: req_1
<
{ [43 bytes data]
`
	nghttp = `[  0.012] Connected
The negotiated protocol: h2
[  0.023] recv SETTINGS frame <length=18, flags=0x00, stream_id=0>
          (niv=3)
          [SETTINGS_MAX_CONCURRENT_STREAMS(0x03):128]
[  0.023] send HEADERS frame <length=39, flags=0x25, stream_id=13>
          ; END_STREAM | END_HEADERS | PRIORITY
          (padlen=0, dep_stream_id=11, weight=16, exclusive=0)
          :method: POST
          :path: /v1/payment_intents
          :authority: api.stripe.com
          idempotency-key: order-1001
[  0.024] send DATA frame <length=10, flags=0x01, stream_id=13>
          ; END_STREAM
[  0.030] recv (stream_id=13) :status: 409
[  0.030] recv (stream_id=13) content-type: application/json
[  0.030] recv (stream_id=13) request-id: req_1
[  0.030] recv HEADERS frame <length=25, flags=0x04, stream_id=13>
          ; END_HEADERS
          (padlen=0)
          ; First response header
` + busy + `[  0.031] recv DATA frame <length=43, flags=0x01, stream_id=13>
          ; END_STREAM
[  0.031] send GOAWAY frame <length=8, flags=0x00, stream_id=0>
          (last_stream_id=0, error_code=NO_ERROR(0x00), opaque_data(0)=[])
`
)

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

func inUTF16(s string, order binary.ByteOrder) string {
	var b bytes.Buffer
	for _, u := range append([]uint16{0xfeff}, utf16.Encode([]rune(s))...) {
		_ = binary.Write(&b, order, u) // into memory
	}
	return b.String()
}

func har(entry string) string {
	return `{"log":{"version":"1.2","entries":[` + entry + `]}}`
}

func entry(response string) string {
	return `{"request":{"method":"POST","url":"https://api.stripe.com/v1/payment_intents","headers":[{"name":":method","value":"POST"}]},"response":` + response + `}`
}

// One answer, in the forms in which people have it.
func TestForms(t *testing.T) {
	inHAR := fmt.Sprintf(`{"status":409,"headers":[{"name":"content-type","value":"application/json"},{"name":"request-id","value":"req_1"}],"content":{"size":43,"text":%q}}`, busy)
	for _, c := range []struct {
		name, format, text string
		request            bool
	}{
		{"curl -i", "curl -i", whole, false},
		{"with CRLF", "curl -i", crlf(whole), false},
		{"HTTP/2", "curl -i", strings.Replace(whole, "HTTP/1.1 409 Conflict", "HTTP/2 409 ", 1), false},
		{"HTTP/3", "curl -i", strings.Replace(whole, "HTTP/1.1 409 Conflict", "HTTP/3 409", 1), false},
		{"lower case", "curl -i", strings.ToLower(fields[9:]) + "\n" + busy, false},
		{"a byte order mark", "curl -i", "\xef\xbb\xbf" + whole, false},
		{"UTF-16 of PowerShell", "curl -i", inUTF16(crlf(whole), binary.LittleEndian), false},
		{"UTF-16, big-endian", "curl -i", inUTF16(whole, binary.BigEndian), false},
		{"colours", "curl -i", strings.ReplaceAll(whole, "Request-Id", "\x1b[1mRequest-Id\x1b[0m"), false},
		{"a link", "curl -i", strings.ReplaceAll(whole, "req_1", "\x1b]8;;https://x.example\x1b\\req_1\x1b]8;;\x1b\\"), false},
		{"100 Continue", "curl -i", crlf("HTTP/1.1 100 Continue\n\n" + whole), false},
		{"a tunnel", "curl -i", "HTTP/1.1 200 Connection established\n\n" + whole, false},
		{"a tunnel that says OK", "curl -i", "HTTP/1.0 200 OK\nProxy-Agent: x\n\n" + whole, false},
		{"a redirect that was followed", "curl -i", "HTTP/1.1 307 Temporary Redirect\nLocation: /\nContent-Length: 5\n\nMoved\n" + whole, false},
		{"digest authentication", "curl -i", "HTTP/1.1 401 Unauthorized\nContent-Length: 30\n\n" + whole, false},
		{"the command before it", "curl -i", "user@host:~/x$ curl -si https://api.stripe.com/v1/payment_intents \\\n  -d amount=2500\n" + whole, false},
		{"the meter before it", "curl -i", meter + "\r100   618  100   553  100    65  40536   4764 --:--:-- --:--:-- --:--:-- 48000\n" + whole, false},
		{"recorded by script", "curl -i", "Script started on 2026-11-29 [TERM=\"xterm\"]\n" + strings.ReplaceAll(whole, "\n", "\r\r\n") + "\nScript done on 2026-11-29 [COMMAND_EXIT_CODE=\"0\"]\n", false},
		{"its request before it", "curl -i", "POST /v1/payment_intents HTTP/1.1\nHost: api.stripe.com\n\namount=2500\n\n" + whole, true},
		{"curl -v", "curl -v", verbose + busy + "\n* Connection #0 to host api.stripe.com left intact\n", true},
		{"curl -v with CRLF", "curl -v", crlf(verbose) + busy, true},
		{"curl -v with the meter", "curl -v", meter + verbose + "\r100   618  100   553  100    65  91677  10775 --:--:-- --:--:-- --:--:--  120k\n" + busy, true},
		{"curl -v -i", "curl -v", verbose + crlf(fields+"\n") + busy, true},
		{"curl -v through a tunnel", "curl -v", "> CONNECT api.stripe.com:443 HTTP/1.1\n> Host: api.stripe.com:443\n>\n< HTTP/1.1 200 Connection established\n<\n" + verbose + busy, true},
		{"curl -v, 100 Continue", "curl -v", strings.Replace(verbose, "< HTTP/2 409", "< HTTP/1.1 100 Continue\n<\n< HTTP/1.1 409 Conflict", 1) + busy, true},
		{"nghttp -v", "HTTP/2 dump", nghttp, true},
		{"fields of HTTP/2", "HTTP/2 dump", ":method: POST\n:path: /v1/payment_intents\n:authority: api.stripe.com\n\n:status: 409\ncontent-type: application/json\nrequest-id: req_1\n\n" + busy + "\n", true},
		{"a HAR file", "HAR", har(entry(inHAR)), true},
		{"a HAR file with a mark", "HAR", "\xef\xbb\xbf" + har(entry(inHAR)), true},
		{"a HAR entry", "HAR", entry(inHAR), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "lower case" {
				c.text = "HTTP/2 409" + c.text[strings.IndexByte(c.text, '\n'):]
			}
			a, err := Read(strings.NewReader(c.text), Options{})
			require.NoError(t, err)
			assert.Equal(t, c.format, a.Format)
			assert.Equal(t, 409, a.Status)
			assert.Equal(t, busy, string(a.Body))
			assert.Equal(t, "req_1", a.Header.Get("Request-Id"))
			assert.Empty(t, a.Cut)
			if c.request {
				require.Equal(t, "POST", a.Method)
				assert.Equal(t, "https://api.stripe.com/v1/payment_intents", a.URL.String())
			} else {
				assert.Empty(t, a.Method)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	cut := strings.Repeat("x", Limit+1)
	for _, c := range []struct {
		name, text string
		o          Options
		err        string
	}{
		{"nothing", "", Options{}, "the input is empty"},
		{"white space", " \r\n\n", Options{}, "the input is empty"},
		{"too large", cut, Options{}, "larger than 8 MiB"},
		{"gzip", "HTTP/1.1 200 OK\n\n\x1f\x8b\x08\x00", Options{}, "binary data"},
		{"NUL", "HTTP/1.1 200 OK\n\n\x00", Options{}, "binary data"},
		{"UTF-16 without a mark", inUTF16(whole, binary.LittleEndian)[2:], Options{}, "binary data"},
		{"a bare body", busy, Options{}, "--status"},
		{"a body that says HTTP", "It said:\n" + whole, Options{}, "--status"},
		{"a request alone", "POST /v1/payment_intents HTTP/1.1\nHost: api.stripe.com\n\n", Options{}, "--status"},
		{"100 alone is no answer", "HTTP/1.1 100 Continue\n\n", Options{Status: 409}, "the input says 100"},
		{"two statuses", whole, Options{Status: 200}, "the input says 409, and --status 200"},
		{"a HAR file that is cut", har(entry("{}"))[:60], Options{}, "is it whole?"},
		{"a HAR file without entries", har(""), Options{}, "no entry"},
		{"two entries", har(entry(`{"status":200}`) + "," + entry(`{"status":200}`)), Options{}, "has 2 entries"},
		{"not so many entries", har(entry(`{"status":200}`)), Options{Entry: 2}, "no entry 2"},
		{"no response", har(`{"request":{"method":"GET","url":"https://x.example"}}`), Options{}, "no response"},
		{"an answer that never came", har(entry(`{"status":0,"_error":"net::ERR_FAILED"}`)), Options{}, "its effect is unknown"},
		{"base64 that is none", har(entry(`{"status":200,"content":{"text":"*","encoding":"base64"}}`)), Options{}, "base64"},
		{"a method with a line break", har(`{"request":{"method":"PO\nST","url":"https://x.example"},"response":{"status":200}}`), Options{}, "no method"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.text), c.o)
			require.ErrorContains(t, err, c.err)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          Options
		cut        string
	}{
		{"JSON", whole[:len(whole)-1], Options{}, "ends in the middle"},
		{"a bare body", busy[:20], Options{Status: 409}, "ends in the middle"},
		{"by its length", "HTTP/1.1 502 Bad Gateway\nContent-Length: 100\n\n<html>", Options{}, "6 of the 100 bytes"},
		{"before the body", fields, Options{}, "ends before its body"},
		{"after the status", "HTTP/1.1 403 Forbidden", Options{}, "ends before its body"},
		{"before the type", "HTTP/1.1 403 Forbidden\nDate: x\n", Options{}, "ends before its body"},
		{"by curl's own word", whole + "\ncurl: (18) transfer closed with 5 bytes remaining to read\n", Options{}, "curl says"},
		{"curl --fail", verbose + "curl: (22) The requested URL returned error: 409\n", Options{}, "curl says"},
		{"a HAR file without content", har(entry(`{"status":409,"headers":[],"content":{"size":43}}`)), Options{}, "not in the HAR file"},
		{"the head of curl -v", verbose[:strings.Index(verbose, "< request-id")], Options{}, "ends before its body"},
		{"nothing is", "HTTP/1.1 204 No Content\nDate: x\n", Options{}, ""},
		{"a length of an older coding", "HTTP/1.1 200 OK\nContent-Type: application/json\nContent-Length: 900\n\n{}", Options{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := Read(strings.NewReader(c.text), c.o)
			require.NoError(t, err)
			if c.cut == "" {
				assert.Empty(t, a.Cut)
				assert.NoError(t, a.Reply().Err)
				return
			}
			assert.Contains(t, a.Cut, c.cut)
			assert.Error(t, a.Reply().Err, "an adapter must not take it for whole")
		})
	}
}

// A body is a body, whatever it looks like, where its status is told beside it.
func TestBodyThatLooksLikeHAR(t *testing.T) {
	for _, body := range []string{`{"log":{"entries":[]},"id":"pi_1"}`, `{"request":{"method":"GET","url":"https://x.example"},"response":{"status":200}}`} {
		a, err := Read(strings.NewReader(body), Options{Status: 402})
		require.NoError(t, err)
		assert.Equal(t, 402, a.Status)
		assert.Equal(t, body, string(a.Body))
		assert.Empty(t, a.Method)
	}
}

func TestReadRequest(t *testing.T) {
	for _, text := range []string{
		"POST /v1/refunds HTTP/1.1\nHost: api.stripe.com\nIdempotency-Key: k\n\namount=1\n",
		"\r\nPOST https://api.stripe.com/v1/refunds\r\nIdempotency-Key: k\r\n\r\namount=1",
		inUTF16("POST https://api.stripe.com/v1/refunds HTTP/2\nIdempotency-Key: k\n\namount=1", binary.LittleEndian),
	} {
		var a Answer
		require.NoError(t, a.ReadRequest(strings.NewReader(text)))
		assert.Equal(t, "POST https://api.stripe.com/v1/refunds", a.Method+" "+a.URL.String())
		assert.Equal(t, "k", a.RequestHeader.Get("Idempotency-Key"))
		assert.Equal(t, "amount=1", string(a.RequestBody))
	}
	for _, text := range []string{"", "nonsense", "{}", "HTTP/1.1 200 OK\n\n", "POST\n\n", "POST /x\x00\n\n", "POST https://[x/ HTTP/1.1\n\n"} {
		var a Answer
		assert.ErrorIs(t, a.ReadRequest(strings.NewReader(text)), ErrNoRequest, "%q", text)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{whole, verbose + busy, nghttp, har(entry(`{"status":200}`)), inUTF16(whole, binary.LittleEndian), meter + whole} {
		f.Add(s, 0, 0)
	}
	f.Add(busy, 409, 0)
	f.Fuzz(func(t *testing.T, text string, status, entry int) {
		a, err := Read(strings.NewReader(text), Options{Status: status, Entry: max(entry, 0)})
		if err != nil {
			assert.NotContains(t, err.Error(), "\n")
			return
		}
		assert.NotZero(t, a.Status)
		assert.NotNil(t, a.Header)
		assert.Equal(t, a.Method == "", a.URL == nil)
	})
}

// Package answer reads HTTP answers as people have them: what curl -i and curl -v
// print, the dumps of HTTP/2 tools, an entry of a HAR file, or a bare body whose status
// is told beside it.
package answer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/idempact/idempact/contract"
)

// Limit is the largest input that is read: 8 MiB.
const Limit = 8 << 20

// Answer is one answer, with what the input tells of its request.
type Answer struct {
	Format string // in words: "curl -v"
	Status int
	Header http.Header
	Body   []byte

	// Method is "" and URL is nil where the input does not show the request; a URL
	// may lack its host.
	Method        string
	URL           *url.URL
	RequestHeader http.Header
	RequestBody   []byte

	// Cut says why the answer is not whole, in words; "" if it is. What is cut proves
	// nothing.
	Cut string
}

// Errors of Read. Their texts show nothing of the input.
var (
	ErrEmpty     = errors.New("there is no answer: the input is empty")
	ErrBinary    = errors.New("this is binary data and no HTTP answer in text: save the answer with curl -i, without -o or --compressed output")
	ErrTooLarge  = fmt.Errorf("the input is larger than %d MiB", Limit>>20)
	ErrNoRequest = errors.New("the request is not one: it begins with a line such as POST https://api.example.com/payments")
	ErrNoStatus  = errors.New("no HTTP status is in it: a bare body needs --status 409")
)

// Options says what the input does not.
type Options struct {
	Status int // of a bare body, 0 if it is told by the input
	Entry  int // which entry of a HAR file, from 1; 0 is the only one
}

// Read reads one answer in whatever form it is.
func Read(r io.Reader, o Options) (*Answer, error) {
	raw, err := io.ReadAll(io.LimitReader(r, Limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the input cannot be read: %w", err)
	case len(raw) > Limit:
		return nil, ErrTooLarge
	}
	text := clean(raw)
	switch {
	case strings.TrimSpace(text) == "" && o.Status == 0:
		return nil, ErrEmpty
	case !readable(text):
		return nil, ErrBinary
	}
	a, err := parse(text, o)
	if err != nil {
		return nil, err
	}
	switch {
	case o.Status == 0:
	case a.Status == 0:
		a.Status = o.Status
	case a.Status != o.Status:
		return nil, fmt.Errorf("the input says %d, and --status %d: one of them is another answer's", a.Status, o.Status)
	}
	if a.Status < 100 || a.Status > 999 {
		return nil, ErrNoStatus
	}
	a.Header.Del("Content-Encoding") // text that can be read is not packed any more
	a.Cut = a.cut()
	return a, nil
}

// ReadRequest reads the request that the answer is to: its first line, its fields, an
// empty line and its body, as on the wire.
func (a *Answer) ReadRequest(r io.Reader) error {
	raw, err := io.ReadAll(io.LimitReader(r, Limit+1))
	switch {
	case err != nil:
		return fmt.Errorf("the request cannot be read: %w", err)
	case len(raw) > Limit:
		return ErrTooLarge
	}
	text := clean(raw)
	h, rest, _ := parseHead(strings.Split(strings.TrimLeft(text, "\n\t "), "\n"))
	if !readable(text) || !a.request(h) {
		return ErrNoRequest
	}
	a.RequestBody = join(rest)
	return nil
}

// clean returns the text without the mark of its encoding, carriage returns at the ends
// of lines (a recorded terminal has two), colours, and what script writes at its end.
func clean(raw []byte) string {
	text := string(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")))
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if len(raw)%2 == 0 && len(raw) > 1 && order.Uint16(raw) == 0xfeff { // PowerShell writes UTF-16
			units := make([]uint16, len(raw)/2-1)
			for i := range units {
				units[i] = order.Uint16(raw[2*i+2:])
			}
			text = string(utf16.Decode(units))
		}
	}
	text = terminal.ReplaceAllString(lineEnd.ReplaceAllString(text, "\n"), "")
	return recorderEnd.ReplaceAllString(text, "")
}

var (
	lineEnd     = regexp.MustCompile(`\r+\n`)
	recorderEnd = regexp.MustCompile(`\n+Script done on [^\n]*\n*$`)
)

// terminal is what colours text and makes links of it.
var terminal = regexp.MustCompile(`\x1b\[[0-9;]*m|\x1b\][^\x1b\x07]*(?:\x1b\\|\x07)`)

// readable reports whether the input is text: control characters other than white
// space and the escape of a coloured terminal are not.
func readable(text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	for _, r := range text {
		if r < ' ' && !strings.ContainsRune("\n\r\t\f\x1b", r) {
			return false
		}
	}
	return true
}

// forms are the ways in which an answer can be written, tried in this order.
var forms = []struct {
	name  string
	is    func(text string, o Options) bool
	parse func(text string, o Options) (*Answer, error)
}{
	{"HAR", isHAR, parseHAR},
	{"curl -v", isVerbose, parseVerbose},
	{"HTTP/2 dump", isDump, parseDump},
	{"curl -i", isRaw, parseRaw},
}

func parse(text string, o Options) (*Answer, error) {
	for _, f := range forms {
		if f.is(text, o) {
			a, err := f.parse(text, o)
			if err == nil {
				a.Format = f.name
			}
			return a, err
		}
	}
	if o.Status == 0 {
		return nil, ErrNoStatus
	}
	return &Answer{Format: "a body", Header: http.Header{}, Body: body(text)}, nil
}

// body drops the line break with which a terminal ends.
func body(text string) []byte { return []byte(strings.TrimSuffix(text, "\n")) }

// cut says why the answer is not whole. The text of a JSON body tells that by itself;
// of any other one the length that was announced does, with two bytes for line breaks
// that were lost on the way.
func (a *Answer) cut() string {
	if a.Cut != "" {
		return a.Cut
	}
	if curlError.Match(a.Body) {
		return "curl says that it failed"
	}
	trimmed := bytes.TrimSpace(a.Body)
	want, err := strconv.Atoi(contract.HeaderValue(a.Header, "Content-Length"))
	announced := err == nil && want > 0 && a.Method != http.MethodHead
	isJSON := bytes.HasPrefix(trimmed, []byte("{")) || bytes.HasPrefix(trimmed, []byte("[")) ||
		len(trimmed) > 0 && strings.Contains(contract.HeaderValue(a.Header, "Content-Type"), "json")
	switch {
	case isJSON && incomplete(trimmed):
		return "its body is JSON that ends in the middle"
	case isJSON:
		return ""
	case announced && len(a.Body)+2 < want:
		return fmt.Sprintf("%d of the %d bytes of its body are there", len(a.Body), want)
	default:
		return ""
	}
}

// incomplete reports whether a JSON text ends before it is one.
func incomplete(text []byte) bool {
	_, err := contract.DecodeObject(text)
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// Call returns the request as an adapter sees it; base fills in what the input does not
// show.
func (a *Answer) Call(base *http.Request, baseBody []byte) contract.Call {
	r := base.Clone(base.Context())
	r.Body, r.GetBody, r.ContentLength = nil, nil, 0
	c := contract.Call{Request: r, Body: baseBody}
	if a.Method == "" {
		return c
	}
	r.Method, r.Header, c.Body = a.Method, a.RequestHeader.Clone(), a.RequestBody
	u := *a.URL
	if u.Host == "" {
		u.Scheme, u.Host = base.URL.Scheme, base.URL.Host
	}
	r.URL, r.Host = &u, ""
	if r.Header == nil {
		r.Header = http.Header{}
	}
	return c
}

// Reply returns the answer as an adapter sees it.
func (a *Answer) Reply() contract.Reply {
	r := contract.Reply{StatusCode: a.Status, Header: a.Header, Body: a.Body, Sent: true}
	if a.Cut != "" {
		r.Err = io.ErrUnexpectedEOF
	}
	return r
}

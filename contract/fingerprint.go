package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// ErrMultipart is the error of Fingerprint for a multipart body, whose random
// boundary makes two equal requests differ.
var ErrMultipart = errors.New("a multipart body has no stable fingerprint: send the file in a request of its own, and refer to it by id in the payment")

// Fingerprint returns a hash that tells one request from another under the same
// key: method, host, path, query, body, and the headers that select account and
// version. The order of JSON members and of differently named form fields does
// not matter, nor does JSON's white space; everything else of these does, the
// spelling of a number or an escape too. Headers that may change between attempts
// (credentials, user agent, tracing) are not part of it.
//
// The hash is of what may hold personal data: it is not for logs.
func Fingerprint(c Call, t Terms) (string, error) {
	kind := bodyKind(c.Request.Header)
	if kind == "multipart" {
		return "", ErrMultipart
	}
	host := c.Request.Host
	if host == "" {
		host = c.Request.URL.Host
	}
	h := sha256.New()
	writeParts(h, "idempact fingerprint v1", c.Request.Method, strings.ToLower(host), c.Request.URL.RequestURI())
	for _, name := range contractNames(t) {
		// A header that is not sent leaves no trace, so that a name that the terms
		// gain later does not refuse what is in flight.
		if values := HeaderValues(c.Request.Header, name); len(values) > 0 {
			writeParts(h, name, strconv.Itoa(len(values)))
			writeParts(h, values...)
		}
	}
	writeParts(h, kind, string(canonicalBody(kind, c.Body)))
	return hex.EncodeToString(h.Sum(nil)), nil
}

// contractNames returns the names of the contract headers, each once and in one
// order, however the terms list them.
func contractNames(t Terms) []string { return canonicalNames(t.ContractHeaders()) }

func canonicalNames(names []string) []string {
	names = slices.Clone(names)
	for i, name := range names {
		names[i] = http.CanonicalHeaderKey(name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// writeParts writes each part behind its length, so that no two lists of parts
// write the same bytes.
func writeParts(h hash.Hash, parts ...string) {
	for _, p := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
}

// bodyKind returns what the body is read as: "json", "form", "multipart" or "raw".
func bodyKind(h http.Header) string {
	media, _, err := mime.ParseMediaType(HeaderValue(h, "Content-Type"))
	switch {
	case strings.HasPrefix(strings.ToLower(HeaderValue(h, "Content-Type")), "multipart/"):
		return "multipart"
	case err != nil:
		return "raw"
	case media == "application/json", strings.HasSuffix(media, "+json"):
		return "json"
	case media == "application/x-www-form-urlencoded":
		return "form"
	default:
		return "raw"
	}
}

func canonicalBody(kind string, body []byte) []byte {
	switch kind {
	case "json":
		if !json.Valid(body) {
			return body
		}
		text := compact(body)
		if depth(text) > maxDepth {
			return text
		}
		var out bytes.Buffer
		canonicalJSON(&out, text)
		return out.Bytes()
	case "form":
		pairs := bytes.Split(body, []byte("&"))
		slices.SortStableFunc(pairs, func(a, b []byte) int {
			return strings.Compare(fieldGroup(a), fieldGroup(b))
		})
		return bytes.Join(pairs, []byte("&"))
	}
	return body
}

// fieldGroup returns the name of a form field, or that of the list whose objects
// it belongs to: fields of one group keep their order, since it may mean
// something. One name may be spelled in several ways, and in items[][name] and
// items[][price] the order alone says which price is whose.
func fieldGroup(pair []byte) string {
	spelled, _, _ := strings.Cut(string(pair), "=")
	name, err := url.QueryUnescape(spelled)
	if err != nil {
		return spelled
	}
	if list, _, ok := strings.Cut(name, "[]["); ok {
		return list + "[]"
	}
	return name
}

func compact(valid []byte) []byte {
	var out bytes.Buffer
	_ = json.Compact(&out, valid) // valid JSON has no error
	return out.Bytes()
}

// depth returns how deep the objects and lists of a valid JSON text are nested. What
// is deeper than anybody writes is compared in the order in which it stands.
func depth(valid []byte) int {
	now, deepest, inString := 0, 0, false
	for i := 0; i < len(valid); i++ {
		switch c := valid[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{', c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}', c == ']':
			now--
		}
	}
	return deepest
}

// canonicalJSON writes one compact JSON value with the members of its objects
// sorted by name, and returns what follows it. Names, strings and numbers stay as
// they are spelled; members of one name, however spelled, keep their order.
func canonicalJSON(out *bytes.Buffer, in []byte) (rest []byte) {
	switch in[0] {
	case '{':
		return canonicalObject(out, in[1:])
	case '[':
		out.WriteByte('[')
		for in = in[1:]; in[0] != ']'; {
			if in[0] == ',' {
				out.WriteByte(',')
				in = in[1:]
			}
			in = canonicalJSON(out, in)
		}
		out.WriteByte(']')
		return in[1:]
	default:
		n := scalarLen(in)
		out.Write(in[:n])
		return in[n:]
	}
}

func canonicalObject(out *bytes.Buffer, in []byte) (rest []byte) {
	type member struct {
		name    string
		spelled []byte
		value   []byte
	}
	var members []member
	for in[0] != '}' {
		if in[0] == ',' {
			in = in[1:]
		}
		n := scalarLen(in)
		m := member{spelled: in[:n]}
		_ = json.Unmarshal(m.spelled, &m.name) // a valid string has no error
		var value bytes.Buffer
		in = canonicalJSON(&value, in[n+1:]) // past the colon
		m.value = value.Bytes()
		members = append(members, m)
	}
	slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	out.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(m.spelled)
		out.WriteByte(':')
		out.Write(m.value)
	}
	out.WriteByte('}')
	return in[1:]
}

// scalarLen returns the length of the string, number or literal that in starts with.
func scalarLen(in []byte) int {
	if in[0] != '"' {
		if n := bytes.IndexAny(in, ",]}"); n >= 0 {
			return n
		}
		return len(in)
	}
	for i := 1; ; i++ {
		switch in[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

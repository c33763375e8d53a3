package contract

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// KeyLen is the length of the keys that this package makes.
const KeyLen = 36

// NewKey returns a random key of 36 characters (a version 4 UUID). Store it
// beside the business action before the first send: a key that is made in the
// call that sends it dies with the process and cannot protect a retry. Prefer
// KeyFor.
func NewKey() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return uuid(b, 4)
}

// KeyFor returns the key of a business action: the same action and ids always
// give the same key, in every process. It has 36 characters (a version 8 UUID
// made of a SHA-256), never contains its inputs (of which a hexadecimal digit or
// two may stand in any key by chance), and tells ("a", "bc") from ("ab", "c").
//
// Name the business action and not the payload: "pay invoice", invoice number.
// A second, wanted payment of the same invoice is another action and needs
// another id. The key is not a secret: who knows the ids can compute it.
func KeyFor(action string, ids ...string) string {
	h := sha256.New()
	for _, part := range append([]string{"idempact key v1", action}, ids...) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write([]byte(part))
	}
	return uuid([16]byte(h.Sum(nil)[:16]), 8)
}

func uuid(b [16]byte, version byte) string {
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80
	x := hex.EncodeToString(b[:])
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
}

type keyContext struct{}

type keyChoice struct {
	key  string
	none bool
}

// WithKey returns a context that carries the operation's key, for a request that
// does not carry it itself.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyContext{}, keyChoice{key: key})
}

// WithoutKey returns a context that says: this request is meant to have no key.
// It is then sent at most until it may have reached the provider, and never
// again. A key that the request carries itself still counts.
func WithoutKey(ctx context.Context) context.Context {
	return context.WithValue(ctx, keyContext{}, keyChoice{none: true})
}

// KeyFrom returns the key that WithKey put into the context ("" if none), and
// whether WithoutKey was said. The later of the two holds.
func KeyFrom(ctx context.Context) (key string, without bool) {
	c, _ := ctx.Value(keyContext{}).(keyChoice)
	return c.key, c.none
}

// KeyTag returns a short hash of a key, for logs and errors: enough to tell keys
// apart, not enough to use one.
func KeyTag(key string) string {
	if key == "" {
		return "none"
	}
	m := hmac.New(sha256.New, []byte("idempact key tag"))
	m.Write([]byte(key))
	return hex.EncodeToString(m.Sum(nil)[:6])
}

// KeyIn returns the name of a key among all of an account's: the key itself, or
// the key behind its space where the endpoint has a space of keys of its own
// (KeyScope), or the request's headers select an account below the caller's. Two
// operations have one name only if the provider takes their keys for one. It is
// what a journal keeps an operation under.
func (t Terms) KeyIn(h http.Header, key string) string {
	space := []string{t.KeyScope}
	for _, name := range canonicalNames(t.AccountHeaders) {
		if values := HeaderValues(h, name); strings.Join(values, "") != "" {
			space = append(space, fmt.Sprintf("%s: %q", name, values))
		}
	}
	if len(space) == 1 && t.KeyScope == "" && !strings.HasPrefix(key, "[") {
		return key
	}
	// A list of quoted words can be read in one way only, and a bare key never
	// looks like one.
	return fmt.Sprintf("%q %s", space, key)
}

// FormatKey returns the key as KeyHeader carries it: as it is, or as a quoted string
// where KeyQuoted says so.
//
// Source: RFC 8941, sections 3.3.3 and 4.1.6 (read 2026-11-29).
func (t Terms) FormatKey(key string) string {
	if !t.KeyQuoted {
		return key
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
}

// ParseKey returns the key that a value of KeyHeader carries. Where KeyQuoted says
// that it is a quoted string, a value that does not begin with a quote is taken for the
// key itself: its caller leaves the quoting to others. The error, ErrKey, says that a
// quoted string is malformed.
func (t Terms) ParseKey(value string) (string, error) {
	quoted, ok := strings.CutPrefix(value, `"`)
	if !t.KeyQuoted || !ok {
		return value, nil
	}
	var key strings.Builder
	for i := 0; i < len(quoted); i++ {
		switch c := quoted[i]; {
		case c == '"' && i == len(quoted)-1:
			return key.String(), nil
		case c == '"':
			return "", fmt.Errorf("%w: something follows its closing quote", ErrKey)
		case c != '\\':
			key.WriteByte(c)
		case i+1 < len(quoted) && (quoted[i+1] == '"' || quoted[i+1] == '\\'):
			i++
			key.WriteByte(quoted[i])
		default:
			return "", fmt.Errorf("%w: a backslash stands before neither a quote nor a backslash", ErrKey)
		}
	}
	return "", fmt.Errorf("%w: its closing quote is missing", ErrKey)
}

// ErrKey is in every error of CheckKey and ParseKey.
var ErrKey = errors.New("malformed key")

// CheckKey returns an error that says what is wrong with a key for this
// endpoint, before anything is sent. Its text never shows the key.
func (t Terms) CheckKey(key string) error {
	switch n := utf8.RuneCountInString(key); {
	case key == "":
		return fmt.Errorf("%w: it is empty", ErrKey)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: it is not valid UTF-8", ErrKey)
	case n < t.KeyMinLen:
		return fmt.Errorf("%w: it has %d characters, and the endpoint wants at least %d", ErrKey, n, t.KeyMinLen)
	case t.KeyMaxLen > 0 && n > t.KeyMaxLen:
		return fmt.Errorf("%w: it has %d characters, and the endpoint takes at most %d", ErrKey, n, t.KeyMaxLen)
	case strings.TrimSpace(key) != key:
		return fmt.Errorf("%w: it starts or ends with white space, which the wire drops", ErrKey)
	}
	for i, r := range []rune(key) {
		if !t.allows(r) {
			return fmt.Errorf("%w: character %d (%s) is not allowed", ErrKey, i+1, kindOf(r))
		}
	}
	return nil
}

func (t Terms) allows(r rune) bool {
	if unicode.IsControl(r) {
		return false // whatever the alphabet says: it could end the header
	}
	if t.KeyAlphabet != "" {
		return strings.ContainsRune(t.KeyAlphabet, r)
	}
	return r <= unicode.MaxASCII
}

func kindOf(r rune) string {
	switch {
	case r == '\r' || r == '\n':
		return "a line break"
	case unicode.IsControl(r):
		return "a control character"
	case r > unicode.MaxASCII:
		return "not ASCII"
	default:
		return "not of the endpoint's alphabet"
	}
}

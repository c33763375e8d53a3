package journal_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/journal/journaltest"
)

// key returns an AES-GCM of one of 256 keys.
func key(t testing.TB, n byte) cipher.AEAD {
	t.Helper()
	block, err := aes.NewCipher(bytes.Repeat([]byte{n}, 32))
	require.NoError(t, err)
	gcm, err := cipher.NewGCM(block)
	require.NoError(t, err)
	return gcm
}

// secret is an entry with something to hide in every field that is sealed.
func secret(key string) journal.Entry {
	e := journal.Entry{ID: journal.ID{Provider: "acme", Account: "a", Key: key}}
	e.Request = journal.Request{Method: "POST", URL: "https://api.acme.example/v1", Header: http.Header{"Acme-Account": {"a"}}, Body: []byte("SECRET request")}
	e.Response = journal.Response{StatusCode: 201, Header: http.Header{"Name": {"SECRET", "\xff"}}, Body: []byte("SECRET response")}
	return e
}

func TestSealedIsAStore(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) journal.Store { return journal.Sealed(journal.NewMemory(), key(t, 1)) })
}

func TestSealed(t *testing.T) {
	memory := journal.NewMemory()
	s := journal.Sealed(memory, key(t, 1))
	e, inserted, err := s.Begin(t.Context(), secret("k"))
	require.NoError(t, err)
	assert.True(t, inserted)
	assert.Equal(t, "SECRET request", string(e.Request.Body))
	raw := func() journal.Entry {
		raw, err := memory.Get(t.Context(), e.ID)
		require.NoError(t, err)
		return raw
	}
	first := raw()
	for _, stored := range []string{string(first.Request.Body), string(first.Response.Body), strings.Join(first.Response.Header["Idempact-Sealed"], "")} {
		assert.NotContains(t, stored, "SECRET")
		assert.Greater(t, len(stored), 28)
	}
	assert.Len(t, first.Response.Header, 1)
	assert.Equal(t, secret("k").Request.Header, first.Request.Header, "what is needed to know what was done stays readable")
	e, err = s.Update(t.Context(), e)
	require.NoError(t, err)
	assert.Equal(t, []string{"SECRET", "\xff"}, e.Response.Header["Name"])
	assert.NotEqual(t, first.Request.Body, raw().Request.Body, "a nonce of its own for every write")
	found, err := s.Unsettled(t.Context(), e.Provider, e.Account, time.Time{}, 5)
	require.NoError(t, err)
	assert.Equal(t, []journal.Entry{e}, found)
}

// What does not open is an error, never an entry with an empty body.
func TestSealedDoesNotOpen(t *testing.T) {
	for name, spoil := range map[string]func(e *journal.Entry, other journal.Entry){
		"a bit of the request":         func(e *journal.Entry, _ journal.Entry) { e.Request.Body[20] ^= 1 },
		"a bit of the nonce":           func(e *journal.Entry, _ journal.Entry) { e.Request.Body[2] ^= 1 },
		"the format":                   func(e *journal.Entry, _ journal.Entry) { e.Request.Body[0]++ },
		"a bit of the response":        func(e *journal.Entry, _ journal.Entry) { e.Response.Body[20] ^= 1 },
		"no request body":              func(e *journal.Entry, _ journal.Entry) { e.Request.Body = nil },
		"no response body":             func(e *journal.Entry, _ journal.Entry) { e.Response.Body = nil },
		"a short body":                 func(e *journal.Entry, _ journal.Entry) { e.Request.Body = e.Request.Body[:13] },
		"no headers":                   func(e *journal.Entry, _ journal.Entry) { e.Response.Header = nil },
		"plain headers":                func(e *journal.Entry, _ journal.Entry) { e.Response.Header = http.Header{"Idempact-Sealed": {"e30="}} },
		"headers that are no base64":   func(e *journal.Entry, _ journal.Entry) { e.Response.Header = http.Header{"Idempact-Sealed": {"%"}} },
		"a plain body":                 func(e *journal.Entry, _ journal.Entry) { e.Request.Body = []byte(strings.Repeat("plain ", 10)) },
		"another entry's request":      func(e *journal.Entry, other journal.Entry) { e.Request.Body = other.Request.Body },
		"the response for the request": func(e *journal.Entry, _ journal.Entry) { e.Request.Body = e.Response.Body },
	} {
		t.Run(name, func(t *testing.T) {
			memory := journal.NewMemory()
			s := journal.Sealed(memory, key(t, 1))
			for _, k := range []string{"k", "other", "third"} {
				_, _, err := s.Begin(t.Context(), secret(k))
				require.NoError(t, err)
			}
			raw, err := memory.Get(t.Context(), secret("k").ID)
			require.NoError(t, err)
			other, err := memory.Get(t.Context(), secret("other").ID)
			require.NoError(t, err)
			spoil(&raw, other)
			_, err = memory.Update(t.Context(), raw)
			require.NoError(t, err)
			notOpened(t, s, 2)
		})
	}
}

// A sealed field belongs to its provider and account too, whose keys may be the same.
func TestSealedIsBoundToItsID(t *testing.T) {
	memory := journal.NewMemory()
	s := journal.Sealed(memory, key(t, 1))
	for _, id := range []journal.ID{{Provider: "acme", Account: "b", Key: "k"}, {Provider: "other", Account: "a", Key: "k"}} {
		e := secret("k")
		_, _, err := s.Begin(t.Context(), e)
		require.NoError(t, err)
		moved, err := memory.Get(t.Context(), e.ID)
		require.NoError(t, err)
		moved.ID = id
		_, _, err = memory.Begin(t.Context(), moved)
		require.NoError(t, err)
		_, err = s.Get(t.Context(), id)
		assert.ErrorIs(t, err, journal.ErrSealed)
	}
}

func TestSealedWithAnotherKey(t *testing.T) {
	memory := journal.NewMemory()
	_, _, err := journal.Sealed(memory, key(t, 1)).Begin(t.Context(), secret("k"))
	require.NoError(t, err)
	notOpened(t, journal.Sealed(memory, key(t, 2)), 0)
	e, err := memory.Get(t.Context(), secret("k").ID)
	require.NoError(t, err)
	assert.Equal(t, int64(1), e.Version, "and nothing was written over it")
}

// notOpened requires that the entry k is an error, and that others are found.
func notOpened(t *testing.T, s journal.Store, others int) {
	t.Helper()
	e, err := s.Get(t.Context(), secret("k").ID)
	require.ErrorIs(t, err, journal.ErrSealed)
	assert.Equal(t, journal.Entry{}, e)
	assert.NotContains(t, err.Error(), `"k"`)
	e, inserted, err := s.Begin(t.Context(), secret("k"))
	require.ErrorIs(t, err, journal.ErrSealed)
	assert.False(t, inserted)
	assert.Equal(t, journal.Entry{}, e)
	for _, limit := range []int{1, 2, 3, 10} {
		found, err := s.Unsettled(t.Context(), secret("k").Provider, secret("k").Account, time.Time{}, limit)
		assert.Len(t, found, min(limit, others))
		if limit > others {
			require.ErrorIs(t, err, journal.ErrSealed)
		}
		for _, e := range found {
			assert.NotEqual(t, "k", e.Key)
			assert.Equal(t, "SECRET request", string(e.Request.Body))
		}
	}
}

func TestSealedPassesErrorsOn(t *testing.T) {
	s := journal.Sealed(journal.NewMemory(), key(t, 1))
	_, err := s.Get(t.Context(), journal.ID{})
	require.ErrorIs(t, err, journal.ErrNotFound)
	_, err = s.Update(t.Context(), journal.Entry{})
	require.ErrorIs(t, err, journal.ErrNotFound)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = s.Begin(ended, journal.Entry{})
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Unsettled(ended, "", "", time.Time{}, 1)
	require.ErrorIs(t, err, context.Canceled)
}

func TestWithoutBodies(t *testing.T) {
	for name, wrap := range map[string]func(journal.Store) journal.Store{
		"alone":           journal.WithoutBodies,
		"around a sealed": func(s journal.Store) journal.Store { return journal.WithoutBodies(journal.Sealed(s, key(t, 1))) },
		"in a sealed":     func(s journal.Store) journal.Store { return journal.Sealed(journal.WithoutBodies(s), key(t, 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			memory := journal.NewMemory()
			s := wrap(memory)
			want := secret("k")
			want.Version = 1
			want.Request.Body, want.Request.Omitted = nil, true
			want.Response.Body, want.Response.Omitted = nil, true
			e, inserted, err := s.Begin(t.Context(), secret("k"))
			require.NoError(t, err)
			assert.True(t, inserted)
			assert.Equal(t, want.Clone(), e)
			e.Request.Body, e.Response.Body = []byte("SECRET again"), []byte("SECRET again")
			e, err = s.Update(t.Context(), e)
			require.NoError(t, err)
			want.Version++
			assert.Equal(t, want.Clone(), e)
			// What was left out stays left out: an empty body would be sent.
			e, err = s.Update(t.Context(), e)
			require.NoError(t, err)
			want.Version++
			assert.Equal(t, want.Clone(), e)
			raw, err := memory.Get(t.Context(), e.ID)
			require.NoError(t, err)
			assert.Empty(t, raw.Request.Body)
			assert.Empty(t, raw.Response.Body)
		})
	}
}

// Of a request without a body nothing is left out: it can be sent again.
func TestWithoutBodiesOfNone(t *testing.T) {
	s := journal.WithoutBodies(journal.NewMemory())
	e, _, err := s.Begin(t.Context(), journal.Entry{Response: journal.Response{StatusCode: 204}})
	require.NoError(t, err)
	assert.False(t, e.Request.Omitted)
	assert.False(t, e.Response.Omitted)
}

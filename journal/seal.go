package journal

import (
	"bytes"
	"context"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal/internal/record"
)

// ErrSealed: what is stored cannot be opened with this key. It is another key's, or
// was changed. Nothing of it is returned, least of all an empty body.
var ErrSealed = errors.New("journal: a sealed field does not open")

// Sealed returns a store that keeps the body of the request, and the headers and
// the body of the response, sealed with a in s. Each is bound to its entry and its
// place in it, and behind a random nonce, of which an AES-GCM key has enough for
// 2^32 fields: some 10^9 operations. To change keys, give an AEAD that seals with
// the new one and opens with both.
//
// Everything else stays readable: the ID, the URL, the headers of the request, the
// verdict, and the fingerprint, which lets a reader test a guess of the body.
//
// An entry that does not open is an error that is ErrSealed; Unsettled returns the
// others beside it.
func Sealed(s Store, a cipher.AEAD) Store { return &sealed{Store: s, aead: a} }

type sealed struct {
	Store
	aead cipher.AEAD
}

// sealVersion starts every sealed field, so that the format can change.
const sealVersion = 1

// sealedHeader is the one header of a response whose headers are sealed.
const sealedHeader = "Idempact-Sealed"

func (s *sealed) Begin(ctx context.Context, e Entry) (Entry, bool, error) {
	shut, err := s.shut(e)
	if err != nil {
		return Entry{}, false, err
	}
	stored, inserted, err := s.Store.Begin(ctx, shut)
	if err != nil {
		return Entry{}, false, err
	}
	stored, err = s.open(stored)
	return stored, inserted, err
}

func (s *sealed) Get(ctx context.Context, id ID) (Entry, error) {
	e, err := s.Store.Get(ctx, id)
	if err != nil {
		return Entry{}, err
	}
	return s.open(e)
}

func (s *sealed) Update(ctx context.Context, e Entry) (Entry, error) {
	shut, err := s.shut(e)
	if err != nil {
		return Entry{}, err
	}
	stored, err := s.Store.Update(ctx, shut)
	if err != nil {
		return Entry{}, err
	}
	return s.open(stored)
}

// Unsettled asks for more where some do not open, so that these cannot fill the
// limit and hide the others for ever.
func (s *sealed) Unsettled(ctx context.Context, provider, account string, now time.Time, limit int) ([]Entry, error) {
	for ask := limit; ; {
		found, err := s.Store.Unsettled(ctx, provider, account, now, ask)
		errs := []error{err}
		var opened []Entry
		for _, e := range found {
			e, err := s.open(e)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			opened = append(opened, e)
		}
		if len(opened) >= limit || len(found) < ask {
			return opened[:min(len(opened), max(limit, 0))], errors.Join(errs...)
		}
		ask = limit + len(found) - len(opened)
	}
}

// List opens what the store lists, where it lists at all.
func (s *sealed) List(ctx context.Context, f Filter) ([]Entry, error) {
	found, err := list(ctx, s.Store, f)
	errs := []error{err}
	var opened []Entry
	for _, e := range found {
		e, err := s.open(e)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		opened = append(opened, e)
	}
	return opened, errors.Join(errs...)
}

// list lists a store that may not be able to.
func list(ctx context.Context, s Store, f Filter) ([]Entry, error) {
	l, ok := s.(Lister)
	if !ok {
		return nil, fmt.Errorf("journal: list: %w", errors.ErrUnsupported)
	}
	return l.List(ctx, f)
}

// shut returns a copy of e with its secrets sealed. What was left out stays out.
func (s *sealed) shut(e Entry) (Entry, error) {
	e = e.Clone()
	if !e.Request.Omitted {
		e.Request.Body = s.seal(e.ID, "request body", e.Request.Body)
	}
	if answered(e.Response) {
		text, err := record.Header(e.Response.Header)
		if err != nil {
			return Entry{}, fmt.Errorf("journal: seal: %w", err)
		}
		header := s.seal(e.ID, "response header", []byte(text))
		e.Response.Header = http.Header{sealedHeader: {base64.StdEncoding.EncodeToString(header)}}
		if !e.Response.Omitted {
			e.Response.Body = s.seal(e.ID, "response body", e.Response.Body)
		}
	}
	return e, nil
}

// answered reports whether there is a response: what is not there is not sealed.
func answered(r Response) bool {
	return r.StatusCode != 0 || len(r.Header) > 0 || len(r.Body) > 0
}

func (s *sealed) open(e Entry) (Entry, error) {
	e = e.Clone()
	var errs [3]error
	if !e.Request.Omitted {
		e.Request.Body, errs[0] = s.unseal(e.ID, "request body", e.Request.Body)
	}
	if answered(e.Response) {
		e.Response.Header, errs[1] = s.openHeader(e.ID, e.Response.Header)
		if !e.Response.Omitted {
			e.Response.Body, errs[2] = s.unseal(e.ID, "response body", e.Response.Body)
		}
	}
	if err := errors.Join(errs[:]...); err != nil {
		return Entry{}, err
	}
	return e, nil
}

func (s *sealed) openHeader(id ID, stored http.Header) (http.Header, error) {
	const field = "response header"
	text, err := base64.StdEncoding.DecodeString(stored.Get(sealedHeader))
	if err != nil {
		return nil, notOpened(id, field)
	}
	text, err = s.unseal(id, field, text)
	if err != nil {
		return nil, err
	}
	return record.FromHeader(string(text))
}

func (s *sealed) seal(id ID, field string, plain []byte) []byte {
	out := make([]byte, 1+s.aead.NonceSize(), 1+s.aead.NonceSize()+len(plain)+s.aead.Overhead())
	out[0] = sealVersion
	_, _ = rand.Read(out[1:]) // it never fails
	return s.aead.Seal(out, out[1:], plain, boundTo(id, field))
}

func (s *sealed) unseal(id ID, field string, stored []byte) ([]byte, error) {
	start := 1 + s.aead.NonceSize()
	if len(stored) < start || stored[0] != sealVersion {
		return nil, notOpened(id, field)
	}
	plain, err := s.aead.Open(nil, stored[1:start], stored[start:], boundTo(id, field))
	if err != nil {
		return nil, notOpened(id, field)
	}
	return plain, nil
}

func notOpened(id ID, field string) error {
	return fmt.Errorf("%w: the %s of key %s at %s: another key sealed it, or it was changed",
		ErrSealed, field, contract.KeyTag(id.Key), id.Provider)
}

// boundTo is the additional data of a field: no two fields have the same.
func boundTo(id ID, field string) []byte {
	var b bytes.Buffer
	for _, part := range []string{"idempact journal", field, id.Provider, id.Account, id.Key} {
		b.Write(binary.AppendUvarint(nil, uint64(len(part))))
		b.WriteString(part)
	}
	return b.Bytes()
}

// WithoutBodies returns a store that keeps no bodies in s, neither of requests nor
// of responses. An operation is then resent only for a caller who presents the same
// request again, as its fingerprint shows, and a settled one answers with its
// verdict, status and headers alone. Together with Sealed it stands outside:
// WithoutBodies(Sealed(s, a)).
func WithoutBodies(s Store) Store { return &bodiless{s} }

type bodiless struct{ Store }

func (b *bodiless) Begin(ctx context.Context, e Entry) (Entry, bool, error) {
	return b.Store.Begin(ctx, stripped(e))
}

func (b *bodiless) Update(ctx context.Context, e Entry) (Entry, error) {
	return b.Store.Update(ctx, stripped(e))
}

// List lists the store, where it lists at all.
func (b *bodiless) List(ctx context.Context, f Filter) ([]Entry, error) {
	return list(ctx, b.Store, f)
}

// stripped returns e without its bodies. An empty body loses nothing, so it does
// not count as left out.
func stripped(e Entry) Entry {
	e.Request.Omitted = e.Request.Omitted || len(e.Request.Body) > 0
	e.Response.Omitted = e.Response.Omitted || len(e.Response.Body) > 0
	e.Request.Body, e.Response.Body = nil, nil
	return e
}

var (
	_ Store  = (*sealed)(nil)
	_ Store  = (*bodiless)(nil)
	_ Lister = (*sealed)(nil)
	_ Lister = (*bodiless)(nil)
)

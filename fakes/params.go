package fakes

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// params are the parameters of a request, nested as the provider nests them.
type params map[string]any

// parseForm reads a form with nested keys: metadata[order]=7, items[0][price]=p,
// types[]=a. Lists come back as maps with their index, "" keys as "0", "1", ….
func parseForm(body string) (params, error) {
	out := params{}
	for pair := range strings.SplitSeq(body, "&") {
		if pair == "" {
			continue
		}
		k, v, _ := strings.Cut(pair, "=")
		key, err := url.QueryUnescape(k)
		if err != nil {
			return nil, err
		}
		value, err := url.QueryUnescape(v)
		if err != nil {
			return nil, err
		}
		out.put(strings.Split(strings.ReplaceAll(key, "]", ""), "["), value)
	}
	return out, nil
}

func (p params) put(path []string, value string) {
	name := path[0]
	if name == "" {
		name = strconv.Itoa(len(p))
	}
	if len(path) == 1 {
		p[name] = value
		return
	}
	inner, ok := p[name].(params)
	if !ok {
		inner = params{}
		p[name] = inner
	}
	inner.put(path[1:], value)
}

// parseJSON reads one JSON object. Numbers keep their digits.
func parseJSON(body []byte) (params, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var out map[string]any
	if err := d.Decode(&out); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON value")
	}
	if out == nil {
		return nil, errors.New("not a JSON object")
	}
	return out, nil
}

// str returns a string parameter, "" if there is none.
func (p params) str(name string) string { s, _ := p[name].(string); return s }

// sub returns a nested object, nil if there is none.
func (p params) sub(name string) params {
	switch v := p[name].(type) {
	case params:
		return v
	case map[string]any:
		return v
	}
	return nil
}

// int64 returns an integer parameter and whether it is one, whole and in range.
func (p params) int64(name string) (int64, bool) {
	switch v := p[name].(type) {
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 64)
		return n, err == nil
	case int64:
		return v, true
	}
	return 0, false
}

// metadata returns the request's metadata as strings, nil if it gave none.
func (p params) metadata() map[string]string {
	m := p.sub("metadata")
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		if s, ok := v.(string); ok {
			out[k] = s
		} else if b, err := json.Marshal(v); err == nil {
			out[k] = string(b)
		}
	}
	return out
}

// fingerprint is equal for equal parameters in any order or encoding of theirs.
func fingerprint(c *call, p params) string {
	b, err := json.Marshal(p) // maps are sorted
	if err != nil || p == nil {
		b = c.body
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s\n%s\n%s", c.method, c.path, c.query.Encode(), b))
	return hex.EncodeToString(sum[:16])
}

// clone copies a tree of JSON values.
func clone(v any) any {
	switch v := v.(type) {
	case params:
		return clone(map[string]any(v))
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = clone(out[i])
		}
		return out
	}
	return v
}

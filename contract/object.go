package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Object is a JSON object as it was read: strings, json.Number, bool, nil, []any
// and Object. Names are matched exactly, and numbers keep their text, so that an
// amount is never rounded.
type Object map[string]any

// ErrAmbiguous is in the error of DecodeObject when a name stands twice in one
// object with different values: two readers would read two answers.
var ErrAmbiguous = errors.New("one name with two values")

// maxDepth is the deepest nesting that is read.
const maxDepth = 200

// DecodeObject reads a body that is one JSON object and nothing else. A body that
// is cut, followed by more, not UTF-8, or ambiguous is an error; its text shows
// nothing of the body.
func DecodeObject(body []byte) (Object, error) {
	v, err := decode(body)
	o, ok := v.(Object)
	if err == nil && !ok {
		err = errors.New("not a JSON object")
	}
	return o, err
}

// DecodeList reads a body that is one JSON array and nothing else, as DecodeObject
// reads an object: its objects are Objects.
func DecodeList(body []byte) ([]any, error) {
	v, err := decode(body)
	list, ok := v.([]any)
	if err == nil && !ok {
		err = errors.New("not a JSON array")
	}
	return list, err
}

// decode reads a body that is one JSON value; where there is an error there is no
// value.
func decode(body []byte) (any, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	v, err := decodeValue(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

func decodeValue(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errors.New("nested too deep")
	}
	t, err := d.Token()
	if err != nil {
		return nil, errNotJSON(err)
	}
	switch t {
	case json.Delim('{'):
		return decodeMembers(d, depth)
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := decodeValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, errNotJSON(err)
	default:
		return t, nil
	}
}

func decodeMembers(d *json.Decoder, depth int) (Object, error) {
	o := Object{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, errNotJSON(err)
		}
		name, _ := t.(string)
		v, err := decodeValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		if known, twice := o[name]; twice && !reflect.DeepEqual(known, v) {
			return nil, ErrAmbiguous
		}
		o[name] = v
	}
	_, err := d.Token()
	return o, errNotJSON(err)
}

// errNotJSON hides the decoder's text, which may quote the body.
func errNotJSON(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("not JSON: %w", io.ErrUnexpectedEOF)
	default:
		return errors.New("not JSON")
	}
}

// At returns the value at a dotted path ("error.payment_intent.id"), or nil. In a list a
// number is a place, from 0 ("errors.0.code").
func (o Object) At(path string) any {
	var v any = o
	for name := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case Object:
			v = in[name]
		case []any:
			i, err := strconv.ParseUint(name, 10, 16)
			if err != nil || int(i) >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// Object returns the object at a dotted path, or nil.
func (o Object) Object(path string) Object {
	v, _ := o.At(path).(Object)
	return v
}

// List returns the list at a dotted path, or nil.
func (o Object) List(path string) []any {
	v, _ := o.At(path).([]any)
	return v
}

// Objects returns the objects of the list at a dotted path. What is no object is an
// empty one, so that the length is the list's.
func (o Object) Objects(path string) []Object {
	var all []Object
	for _, v := range o.List(path) {
		x, _ := v.(Object)
		all = append(all, x)
	}
	return all
}

// Text returns the string at a dotted path, or "" if there is none or it is not a
// string.
func (o Object) Text(path string) string {
	v, _ := o.At(path).(string)
	return v
}

// Scalar returns a string, number or boolean of JSON as text, numbers as they are
// spelled, and false for anything else.
func Scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	default:
		return "", false
	}
}

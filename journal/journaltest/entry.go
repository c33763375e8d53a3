package journaltest

import (
	"bytes"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal"
)

// noon is now, in these tests.
var noon = time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)

// id is an ID with the given key.
func id(key string) journal.ID {
	return journal.ID{Provider: "acme", Account: "acct_1", Key: key}
}

// small is an unsettled entry that is due, and free.
func small(key string) journal.Entry {
	return journal.Entry{ID: id(key), Due: noon.Add(-time.Minute), Created: noon, Updated: noon}
}

// settled is a settled one, last updated at the given time.
func settled(key string, updated time.Time) journal.Entry {
	return journal.Entry{ID: id(key), Settled: true, Created: updated, Updated: updated}
}

// full is an entry of which every field says something, those that the journal
// gains later too.
func full(key string) journal.Entry {
	var e journal.Entry
	n := 0
	fill(reflect.ValueOf(&e).Elem(), &n)
	e.ID, e.Version = id(key), 1
	return e
}

// fill sets every field below v to a value of its own.
func fill(v reflect.Value, n *int) {
	*n++
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = noon.Add(time.Duration(*n)*time.Hour + 123456*time.Microsecond)
		return
	case *contract.Status:
		*x = contract.Duplicate
		return
	case *contract.Evidence:
		*x = contract.FromLookUp
		return
	case *http.Header:
		*x = http.Header{"Content-Type": {"application/json"}, "X-Number": {fmt.Sprint(*n)}}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(1000 + *n))
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(fmt.Appendf(nil, "bytes %d", *n))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	default:
		panic(fmt.Sprintf("journaltest: a field of type %v is new here: fill it", v.Type()))
	}
}

// difference names the first field in which two entries differ, "" if none: times
// that are the same instant in UTC, and nil for empty, are no difference.
func difference(want, got journal.Entry) string {
	return differ("Entry", reflect.ValueOf(want), reflect.ValueOf(got))
}

func differ(name string, want, got reflect.Value) string {
	differs := func(equal bool) string {
		if equal {
			return ""
		}
		return fmt.Sprintf("%s is %.80q, want %.80q", name, fmt.Sprint(got), fmt.Sprint(want))
	}
	switch w := want.Interface().(type) {
	case time.Time:
		g := got.Interface().(time.Time)
		return differs(g.Equal(w) && g.Location() == time.UTC)
	case []byte:
		return differs(bytes.Equal(w, got.Bytes()))
	}
	switch {
	case want.Kind() == reflect.Struct:
		for i := range want.NumField() {
			if d := differ(name+"."+want.Type().Field(i).Name, want.Field(i), got.Field(i)); d != "" {
				return d
			}
		}
		return ""
	case (want.Kind() == reflect.Slice || want.Kind() == reflect.Map) && want.Len() == 0:
		return differs(got.Len() == 0)
	case want.Kind() == reflect.Map:
		if want.Len() != got.Len() {
			return differs(false)
		}
		for _, k := range want.MapKeys() {
			if !got.MapIndex(k).IsValid() {
				return differs(false)
			}
			if d := differ(fmt.Sprintf("%s[%q]", name, k), want.MapIndex(k), got.MapIndex(k)); d != "" {
				return d
			}
		}
		return ""
	default:
		return differs(reflect.DeepEqual(want.Interface(), got.Interface()))
	}
}

package zepto

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

const (
	perPage = 100   // the most that a list gives
	maxPage = 10000 // a million entries; nobody looks further

	// clockSkew is how much earlier than our own first send an effect may be dated.
	clockSkew = time.Hour
)

// errLookUp ends a look-up that brought something unreadable.
var errLookUp = errors.New("zepto: the look-up could not be read")

// Find looks an operation up: on PayTo by its uid, on the core API in the list of
// what it makes, page by page, back to an hour before the first send.
//
// A list cannot be asked by key, and two equal payments may both be wanted. So an
// entry is this operation's only if it is not dated before then, equals all that is
// compared, and carries metadata of the request that tells operations apart (see
// Options). Without such metadata nothing is read, since nothing could be told.
//
// Find never claims an absence. Zepto documents neither the order of its lists
// nor when a new resource appears in them, or under its uid.
func (a *Adapter) Find(ctx context.Context, c contract.Call, so contract.Finding, last *contract.Reply) (*http.Request, contract.Finding, error) {
	e := endpointOf(c.Request)
	so.Absent = false
	switch {
	case c.FirstSent.IsZero():
		so.Reason = "nothing was sent yet"
		return nil, so, nil
	case e.makes == nil:
		so.Reason = "nothing that Zepto shows tells whether this request took effect"
		return nil, so, nil
	case e.payTo:
		return findUID(ctx, c, e.makes, so, last)
	}
	want, _ := asked(e, c) // what cannot be read carries no metadata
	if !a.marked(want) {
		so.Reason = "the request carries no metadata that tells it from an equal one, so no entry of a list can be taken for it"
		return nil, so, nil
	}
	if last == nil {
		return page(ctx, c, e.makes, so, 1)
	}
	return readPage(ctx, c, e.makes, want, so, *last)
}

// findUID asks for the one resource that the uid can name.
func findUID(ctx context.Context, c contract.Call, k *resource, so contract.Finding, last *contract.Reply) (*http.Request, contract.Finding, error) {
	ref := uid(c)
	if err := contract.CheckReference(ref); err != nil {
		return nil, so, err
	}
	if last == nil {
		r, err := contract.NewRead(ctx, c, "/"+k.get+"/"+ref, nil)
		return r, so, err
	}
	if _, ok := shownResource(k, ref, *last); ok {
		so.Resources = with(so.Resources, ref)
		so.Reason = "found under its uid"
		return nil, so, nil
	}
	if last.StatusCode == http.StatusNotFound && last.Err == nil {
		so.Reason = "nothing is shown under the uid yet, which proves nothing: when a new resource appears is not documented"
		return nil, so, nil
	}
	return nil, so, errLookUp
}

// page asks for one page of a list.
func page(ctx context.Context, c contract.Call, k *resource, so contract.Finding, n int) (*http.Request, contract.Finding, error) {
	so.Stage, so.Cursor = 1, strconv.Itoa(n)
	r, err := contract.NewRead(ctx, c, "/"+k.list, url.Values{"page": {so.Cursor}, "per_page": {strconv.Itoa(perPage)}})
	return r, so, err
}

// readPage takes what is this operation's from a page, and goes on to the next
// one unless this one was the last that matters.
func readPage(ctx context.Context, c contract.Call, k *resource, want contract.Object, so contract.Finding, last contract.Reply) (*http.Request, contract.Finding, error) {
	n, err := strconv.Atoi(so.Cursor)
	if err != nil || n < 1 || n > maxPage || strconv.Itoa(n) != so.Cursor {
		return nil, so, errLookUp
	}
	entries, ok := entriesOf(last)
	if !ok && len(so.Resources) == 0 {
		return nil, so, errLookUp
	}
	since := c.FirstSent.Add(-clockSkew)
	for _, x := range entries {
		ref := contract.Word(x.Text("ref"))
		if at, dated := createdAt(x); kindOf(ref) != k || dated && at.Before(since) {
			continue
		}
		if compare(k, want, x).Equal() { // its metadata, too
			so.Resources = with(so.Resources, ref)
		}
	}
	if ok && n < maxPage && more(last, len(entries)) && !reachesBack(entries, since) {
		return page(ctx, c, k, so, n+1)
	}
	if len(so.Resources) > 0 {
		so.Reason = fmt.Sprintf("found in the list of %ss by its metadata", k.name)
	} else {
		so.Reason = fmt.Sprintf("no %s since the first send carries what was asked, which proves nothing: the list's order and delay are not documented", k.name)
	}
	return nil, so, nil
}

// marked reports whether the request carries metadata that tells operations apart.
func (a *Adapter) marked(want contract.Object) bool {
	carried := map[string]bool{}
	for _, o := range append(objects(want.List("payouts")), want) {
		for key, v := range o.Object("metadata") {
			carried[key] = carried[key] || v != nil
		}
	}
	if a.operationMetadata == nil {
		delete(carried, remitter)
		return slices.Contains(slices.Collect(maps.Values(carried)), true)
	}
	missing := func(key string) bool { return !carried[key] }
	return len(a.operationMetadata) > 0 && !slices.ContainsFunc(a.operationMetadata, missing)
}

func entriesOf(r contract.Reply) ([]contract.Object, bool) {
	if r.Err != nil || r.StatusCode != http.StatusOK {
		return nil, false
	}
	body, err := contract.DecodeObject(r.Body)
	list, ok := body["data"].([]any)
	if err != nil || !ok || body["errors"] != nil {
		return nil, false
	}
	entries := objects(list)
	return entries, len(entries) == len(list)
}

// more reports whether another page may follow: Zepto says so in a Link header,
// and a full page suggests it. The link itself is not followed.
func more(r contract.Reply, entries int) bool {
	for _, v := range contract.HeaderValues(r.Header, "Link") {
		if strings.Contains(strings.ReplaceAll(v, `"`, ""), "rel=next") {
			return entries > 0
		}
	}
	full := perPage
	if n, err := strconv.Atoi(contract.HeaderValue(r.Header, "Per-Page")); err == nil && n > 0 {
		full = min(n, perPage)
	}
	return entries >= full
}

// reachesBack reports whether a page ends before the given time and is sorted from
// new to old, so that the next one is older still. The order is not documented,
// so every page must show it.
func reachesBack(entries []contract.Object, since time.Time) bool {
	var dates []time.Time
	for _, x := range entries {
		if at, ok := createdAt(x); ok {
			dates = append(dates, at)
		}
	}
	newestFirst := slices.IsSortedFunc(dates, func(a, b time.Time) int { return b.Compare(a) })
	return len(dates) > 0 && newestFirst && dates[len(dates)-1].Before(since)
}

// createdAt returns when an entry was created; a payment says so at its payouts.
func createdAt(x contract.Object) (time.Time, bool) {
	var latest time.Time
	for _, o := range append(objects(x.List("payouts")), x) {
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
			if at, err := time.Parse(layout, o.Text("created_at")); err == nil && at.After(latest) {
				latest = at
			}
		}
	}
	return latest, !latest.IsZero()
}

// with returns the list with ref in it, once, and leaves the old list as it is.
func with(list []string, ref string) []string {
	if slices.Contains(list, ref) {
		return list
	}
	return append(slices.Clone(list), ref)
}

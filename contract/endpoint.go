package contract

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Endpoint is one kind of request of a provider's, with an example of it. In the
// example's URL and Body these stand for what an operation has of its own:
//
//	{key}      its key
//	{amount}   its amount, in the smallest unit of the currency: 2500
//	{decimal}  the same with two decimals: 25.00
//	{order}    the caller's name for what is paid
type Endpoint struct {
	Name   string            // what it does: "create a payment"
	Method string            // of the request
	URL    string            // of the example, with the provider's own host
	Header map[string]string // of the example, beside its key, Content-Type and Authorization
	Body   string            // of the example: JSON, a form, or empty
}

// Catalog is implemented by an Adapter that lists the endpoints it knows, the main
// one that moves money first. The first one's example is a request that the provider
// executes and answers with a success; others may act on an object that must exist.
// The list is the caller's to change.
type Catalog interface {
	Endpoints() []Endpoint
}

// exampleOrder is the {order} of an example whose caller names none.
const exampleOrder = "INV-1001"

// Request returns the example for one operation. The same key and amount give the
// same request. It carries a made-up credential and no key header: where the key
// goes is for Terms to say.
func (e Endpoint) Request(key string, amount int64) (*http.Request, error) {
	fill := strings.NewReplacer(
		"{key}", key, "{amount}", strconv.FormatInt(amount, 10),
		"{decimal}", fmt.Sprintf("%d.%02d", amount/100, amount%100), "{order}", exampleOrder)
	var body io.Reader
	if e.Body != "" {
		body = strings.NewReader(fill.Replace(e.Body))
	}
	req, err := http.NewRequest(e.Method, fill.Replace(e.URL), body)
	if err != nil {
		return nil, fmt.Errorf("the example of %q: %w", e.Name, err)
	}
	switch {
	case e.Body == "":
	case strings.HasPrefix(strings.TrimSpace(e.Body), "{"):
		req.Header.Set("Content-Type", "application/json")
	default:
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	req.Header.Set("Authorization", "Bearer example")
	for name, value := range e.Header {
		req.Header.Set(name, value)
	}
	return req, nil
}

// NewRead returns a GET on the call's own host, for a look-up. The path is to be made
// of the adapter's own words and of references that passed CheckReference.
func NewRead(ctx context.Context, c Call, path string, query url.Values) (*http.Request, error) {
	u := url.URL{Scheme: c.Request.URL.Scheme, Host: c.Request.URL.Host, Path: path, RawQuery: query.Encode()}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("the request of a look-up: %w", err)
	}
	if c.Request.Host != "" {
		r.Host = c.Request.Host
	}
	r.Header.Set("Accept", "application/json")
	return r, nil
}

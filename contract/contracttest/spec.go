package contracttest

import (
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/retry"
)

// Spec is what an author hands to Check: an adapter, a provider to run against, and
// one request that succeeds there.
type Spec struct {
	// Adapter is what is tested.
	Adapter contract.Adapter

	// Request returns a new request for one operation, which the provider executes
	// and answers with a success. The same key and amount give the same request.
	// Where the key travels in the body it must stand there; a key in a header is
	// set by the suite if the request does not carry it. The amount is a whole
	// number of the smallest unit; where the request moves none, it is ignored. Nil:
	// the first of the adapter's Endpoints, if it is a contract.Catalog.
	Request func(key string, amount int64) (*http.Request, error)

	// Changed returns a request with the same key and other parameters. Nil: Request
	// with another amount.
	Changed func(key string) (*http.Request, error)

	// Fake returns a new provider that remembers nothing, once for each rule.
	Fake func() Fake

	// Sandbox is used where Fake is nil. Rules that need a ledger, a clock or an
	// empty provider are then skipped, and say so.
	Sandbox *Sandbox

	// Exchanges holds the documented exchanges, one .txtar file each (see Exchange):
	// os.DirFS("testdata").
	Exchanges fs.FS

	// Client makes the loop that is tested with the adapter. Nil: retry.NewClient.
	Client func(contract.Adapter, *retry.Options) (Doer, error)
}

// Doer runs one operation; a *retry.Client is one.
type Doer interface {
	Do(*http.Request) (*retry.Result, error)
}

// Fake is a provider in this process. It injects no fault: that is the suite's
// part, at the connection.
type Fake struct {
	// Handler answers requests as the provider's documents say. It sees the path and
	// the Host of the request; scheme and port do not matter.
	Handler http.Handler

	// Effects returns the ledger: the amount of every effect so far, in order, and
	// 0 for one that moves none.
	Effects func() []int64

	// Advance moves the provider's clock ahead. Nil where it has none: rules about
	// the age of a key are then skipped.
	Advance func(time.Duration)
}

// Sandbox is the provider's own test system. A run makes several hundred requests.
type Sandbox struct {
	URL    string       // scheme and host, in place of those of the Spec's request
	Client *http.Client // nil: http.DefaultClient
}

// fake returns a Fake that passes every request on.
func (s *Sandbox) fake() Fake {
	client := http.Client{}
	if s.Client != nil {
		client = *s.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return Fake{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target := strings.TrimSuffix(s.URL, "/") + r.URL.RequestURI()
		out, err := http.NewRequestWithContext(r.Context(), r.Method, target, r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		out.Header, out.ContentLength = r.Header.Clone(), r.ContentLength
		resp, err := client.Do(out)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer resp.Body.Close()
		for name, values := range resp.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(resp.StatusCode)
		if _, err := io.Copy(w, resp.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
	})}
}

// complete returns the Spec with what it leaves to the adapter filled in.
func (s Spec) complete() Spec {
	if c, ok := s.Adapter.(contract.Catalog); ok && s.Request == nil {
		if all := c.Endpoints(); len(all) > 0 {
			s.Request = all[0].Request
		}
	}
	return s
}

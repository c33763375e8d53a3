package check

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/idempact/idempact/cmd/idempact/internal/fakeserver"
	"github.com/idempact/idempact/contract/contracttest"
)

// remoteFake is a fake that idempact serves, reached over its control API, in a space of
// its own. It has a ledger and a clock, and there can be many.
type remoteFake struct {
	t     Target
	space string
}

// there reports whether the server is one.
func (f remoteFake) there(ctx context.Context) bool {
	var effects []struct{}
	return f.call(ctx, http.MethodGet, "effects", "", &effects) == nil
}

// anew returns a fake without a memory. The suite cannot take an error here, and takes a
// panic for a finding.
func (f remoteFake) anew(ctx context.Context) contracttest.Fake {
	return contracttest.Fake{
		Handler: http.HandlerFunc(f.forward),
		Effects: func() (amounts []int64) {
			var effects []struct {
				Amount int64 `json:"amount"`
			}
			f.must(f.call(ctx, http.MethodGet, "effects", "", &effects))
			for _, e := range effects {
				amounts = append(amounts, e.Amount)
			}
			return amounts
		},
		Advance: func(d time.Duration) {
			f.must(f.call(ctx, http.MethodPost, "clock", fmt.Sprintf(`{"advance":%q}`, d), nil))
		},
	}
}

// forget gives up the space.
func (f remoteFake) forget(ctx context.Context) {
	_ = f.call(ctx, http.MethodPost, "reset", "", nil) // the server may be gone, and its memory with it
}

func (f remoteFake) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("the fake's control API: %v", err))
	}
}

func (f remoteFake) call(ctx context.Context, method, what, body string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, f.t.URL.String()+"/_fake/"+what, strings.NewReader(body))
	if err != nil {
		return err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set(fakeserver.SpaceHeader, f.space)
	resp, err := f.t.Client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	if into == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	return json.NewDecoder(io.LimitReader(resp.Body, 8<<20)).Decode(into)
}

// forward passes a request on to the server, and its answer back.
func (f remoteFake) forward(w http.ResponseWriter, r *http.Request) {
	out, err := http.NewRequestWithContext(r.Context(), r.Method, f.t.URL.String()+r.URL.RequestURI(), r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	out.Header, out.ContentLength = r.Header.Clone(), r.ContentLength
	out.Header.Set(fakeserver.SpaceHeader, f.space)
	resp, err := f.t.Client.Transport.RoundTrip(out)
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
}

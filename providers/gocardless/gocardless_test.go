package gocardless_test

import (
	"net/http"
	"os"
	"testing"

	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/providers/gocardless"
)

func fake() contracttest.Fake {
	server := fakes.NewGoCardless(nil)
	effects := func() (amounts []int64) {
		for _, e := range server.Effects() {
			amounts = append(amounts, e.Amount)
		}
		return amounts
	}
	return contracttest.Fake{Handler: server, Effects: effects, Advance: server.Advance}
}

// TestContract runs the suite for every endpoint's own example.
func TestContract(t *testing.T) {
	a := gocardless.New(nil)
	for _, e := range a.Endpoints() {
		t.Run(e.Name, func(t *testing.T) {
			contracttest.Run(t, contracttest.Spec{
				Adapter: a, Fake: fake, Exchanges: os.DirFS("testdata"),
				Request: func(key string, amount int64) (*http.Request, error) { return e.Request(key, amount) },
			})
		})
	}
}

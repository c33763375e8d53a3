package moderntreasury_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/internal/explore"
	"github.com/idempact/idempact/internal/explore/exploretest"
	"github.com/idempact/idempact/providers/moderntreasury"
)

func fake() contracttest.Fake {
	s := fakes.NewModernTreasury(nil)
	return contracttest.Fake{Handler: s, Advance: s.Advance, Effects: func() (amounts []int64) {
		for _, e := range s.Effects() {
			amounts = append(amounts, e.Amount)
		}
		return amounts
	}}
}

func TestContract(t *testing.T) {
	a := moderntreasury.New(nil)
	for _, e := range a.Endpoints() {
		t.Run(e.Name, func(t *testing.T) {
			contracttest.Run(t, contracttest.Spec{Adapter: a, Request: e.Request, Fake: fake, Exchanges: os.DirFS("testdata")})
		})
	}
}

func TestExplore(t *testing.T) {
	order := explore.Subject{
		Name: "payment order", Adapter: moderntreasury.New(nil), Fake: fakes.NewModernTreasury, Action: "create",
		Endpoint: moderntreasury.New(nil).Endpoints()[0], KeyHeader: "Idempotency-Key", Retention: 24 * time.Hour,
		Refusal: fakes.Status(http.StatusUnauthorized, `{"errors":{"code":"invalid_key","message":"The API key is not valid."}}`),
	}
	named := order
	named.Name = "payment order with an external id"
	named.Endpoint.Body = strings.Replace(named.Endpoint.Body, `"metadata"`, `"external_id":"{order}","metadata"`, 1)
	exploretest.Run(t, order, named)
}

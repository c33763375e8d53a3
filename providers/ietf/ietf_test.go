package ietf_test

import (
	"net/http"
	"os"
	"testing"

	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/internal/explore"
	"github.com/idempact/idempact/internal/explore/exploretest"
	"github.com/idempact/idempact/internal/faketest"
	"github.com/idempact/idempact/providers/ietf"
)

func fake() contracttest.Fake { return faketest.Of(fakes.NewIETF(nil)) }

func TestContract(t *testing.T) {
	contracttest.Run(t, contracttest.Spec{Adapter: ietf.New(nil), Fake: fake, Exchanges: os.DirFS("testdata")})
}

func TestExplore(t *testing.T) {
	draft := ietf.New(nil)
	exploretest.Run(t, explore.Subject{
		Name: "the draft", Adapter: draft, Fake: fakes.NewIETF, Action: "create", Endpoint: draft.Endpoints()[0],
		KeyHeader: "Idempotency-Key", KeyQuoted: true, Unmarked: true,
		Refusal: fakes.Status(http.StatusUnauthorized, `{"title":"Credentials are missing"}`),
	})
}

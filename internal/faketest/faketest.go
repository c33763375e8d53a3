// Package faketest hands the fakes of this module to the conformance suite.
package faketest

import (
	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/fakes"
)

// Of returns a fake as the suite sees it: its handler, its clock, and the amounts of its
// ledger.
func Of(s *fakes.Server) contracttest.Fake {
	return contracttest.Fake{Handler: s, Advance: s.Advance, Effects: func() (amounts []int64) {
		for _, e := range s.Effects() {
			amounts = append(amounts, e.Amount)
		}
		return amounts
	}}
}

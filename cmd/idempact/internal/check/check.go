// Package check runs the conformance suite against a server that runs: a fake, or a
// provider's own test system.
package check

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/internal/catalog"
)

// Target is what is checked.
type Target struct {
	Provider catalog.Provider
	Endpoint contract.Endpoint // whose example is sent
	URL      *url.URL          // scheme and host of the server
	Header   http.Header       // credentials, and what selects the account; replaces that of the example
	Client   *http.Client      // reaches it
}

// Report is what the suite found.
type Report struct {
	Provider string  `json:"provider"`
	Endpoint string  `json:"endpoint"`
	URL      string  `json:"url"`
	Ledger   bool    `json:"ledger"` // the server told its effects, as a fake does
	Rules    []Rule  `json:"rules"`
	Drift    []Drift `json:"drift"`

	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

// Rule is one rule with its result: passed, failed or skipped.
type Rule struct {
	Name   string   `json:"name"`
	Demand string   `json:"demand"`
	Result string   `json:"result"`
	Why    string   `json:"why,omitempty"`   // it was skipped
	Found  []string `json:"found,omitempty"` // it failed
}

// Run runs the suite. The error says that it could not be run.
func Run(ctx context.Context, t Target) (*Report, error) {
	r := &Report{Provider: t.Provider.Name, Endpoint: t.Endpoint.Method + " " + t.Endpoint.URL, URL: t.URL.String()}
	if err := t.reach(ctx); err != nil {
		return nil, err
	}
	spec := contracttest.Spec{
		Adapter: t.Provider.New(), Exchanges: t.Provider.Exchanges, Request: t.request,
		Sandbox: &contracttest.Sandbox{URL: t.URL.String(), Client: t.Client},
	}
	if (remoteFake{t: t}).there(ctx) {
		r.Ledger = true
		var made []remoteFake
		spec.Fake = func() contracttest.Fake {
			made = append(made, remoteFake{t, contract.NewKey()})
			return made[len(made)-1].anew(ctx)
		}
		defer func() {
			for _, f := range made {
				f.forget(ctx)
			}
		}()
	}
	var err error
	if r.Drift, err = t.drift(ctx); err != nil {
		return nil, err
	}
	for _, result := range contracttest.Report(spec) {
		r.add(result)
	}
	return r, ctx.Err()
}

func (r *Report) add(result contracttest.Result) {
	rule := Rule{Name: result.Rule, Demand: result.Doc, Result: "passed"}
	var failure *contracttest.Failure
	switch {
	case errors.As(result.Err, &failure):
		rule.Result, rule.Found = "failed", failure.Found
		r.Failed++
	case result.Skipped != "":
		rule.Result, rule.Why = "skipped", result.Skipped
		r.Skipped++
	default:
		r.Passed++
	}
	r.Rules = append(r.Rules, rule)
}

// request returns the example with the caller's credentials.
func (t Target) request(key string, amount int64) (*http.Request, error) {
	r, err := t.Endpoint.Request(key, amount)
	if err != nil {
		return nil, err
	}
	for name, values := range t.Header {
		r.Header[name] = values
	}
	return r, nil
}

// reach reports whether there is a server at all.
func (t Target) reach(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL.String()+"/", nil)
	if err != nil {
		return err
	}
	resp, err := t.Client.Do(req)
	if err != nil {
		return fmt.Errorf("no server answers at %s: %s", t.URL.Host, contract.DescribeError(err))
	}
	return resp.Body.Close()
}

// ErrLive is the error of Safe.
var ErrLive = errors.New("this may be a live system, and the suite makes payments")

// Safe returns an error unless it is clear that no real money can move: the server is on
// this machine or its name says that it is a test system, or the credentials say so.
// Credentials that say that they are live are refused everywhere.
func (t Target) Safe() error {
	marks := credentialMarks(t.Header)
	host := strings.ToLower(t.URL.Hostname())
	switch {
	case marks.live:
		return fmt.Errorf("%w: the credentials are live ones", ErrLive)
	case isLoopback(host), marks.test && !saysLive(host), saysTest(host):
		return nil
	case saysLive(host):
		return fmt.Errorf("%w: %s is a live host", ErrLive, host)
	default:
		return fmt.Errorf("%w: neither %s nor the credentials say that it is a test", ErrLive, host)
	}
}

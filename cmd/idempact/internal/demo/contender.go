package demo

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/retry"
)

// The names of the clients, in the order in which they are shown.
const (
	naiveName     = "naive, fresh key a try"
	retryableName = "go-retryablehttp, stable key"
	idempactName  = "idempact"
)

// payer makes one payment and says what it would report of it.
type payer func(ctx context.Context, base string, p payment) (told, story)

// contender is one client. All waits are short, so that the demo is: what
// differs is whether and under which key a client sends again.
type contender struct {
	name string
	// open starts the client in a new process. The journal is nil where nothing is
	// to outlive the call; only idempact has a use for one.
	open func(ctx context.Context, s shop, t http.RoundTripper, j journal.Store) (payer, error)
}

func contenders() []contender {
	return []contender{
		{naiveName, openNaive},
		{retryableName, openRetryable},
		{idempactName, openIdempact},
	}
}

const (
	tries      = 5
	sweepLimit = 10_000 // more than one run of the demo leaves open
)

// openNaive returns the client that people write first: try again on anything
// that is not an answer, each time as a new request.
func openNaive(_ context.Context, s shop, t http.RoundTripper, _ journal.Store) (payer, error) {
	client := &http.Client{Transport: t}
	return func(ctx context.Context, base string, p payment) (told, story) {
		for range tries {
			req, err := s.request(ctx, base, p)
			if err != nil {
				return toldFailed, nil
			}
			req.Header.Set("Idempotency-Key", contract.NewKey())
			status, whole := call(client.Do(req))
			if whole && status < 300 {
				return toldSucceeded, nil
			}
			if status >= 400 && status < 500 && status != http.StatusConflict && status != http.StatusTooManyRequests {
				return toldFailed, nil
			}
			time.Sleep(20 * time.Millisecond)
		}
		return toldFailed, nil
	}, nil
}

// openRetryable returns go-retryablehttp with its own policy and number of tries,
// and one key a payment. Its waits are a hundredth of its defaults.
func openRetryable(_ context.Context, s shop, t http.RoundTripper, _ journal.Store) (payer, error) {
	client := retryablehttp.NewClient()
	client.HTTPClient = &http.Client{Transport: t}
	client.Logger = nil
	client.RetryWaitMin, client.RetryWaitMax = client.RetryWaitMin/100, client.RetryWaitMax/100
	return func(ctx context.Context, base string, p payment) (told, story) {
		req, err := s.request(ctx, base, p)
		if err != nil {
			return toldFailed, nil
		}
		req.Header.Set("Idempotency-Key", contract.KeyFor("pay order", p.order))
		wrapped, err := retryablehttp.FromRequest(req)
		if err != nil {
			return toldFailed, nil
		}
		if status, whole := call(client.Do(wrapped)); whole && status < 300 {
			return toldSucceeded, nil
		}
		return toldFailed, nil
	}, nil
}

// call returns the status of an answer (0 for none), and whether its body is
// whole JSON.
func call(resp *http.Response, err error) (status int, whole bool) {
	if err != nil {
		return 0, false
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, err == nil && json.Valid(body)
}

// openIdempact returns this toolkit, with nothing set but its waits and what a
// journal needs. With a journal it first settles what an earlier process left open.
func openIdempact(ctx context.Context, s shop, t http.RoundTripper, j journal.Store) (payer, error) {
	maxWait := 2 * time.Second // the throttles ask for up to a second
	if j != nil {
		maxWait /= 10 // an outage and a crash ask for nothing
	}
	client, err := retry.NewClient(s.adapter, &retry.Options{
		Transport: t,
		Journal:   j,
		Authorize: func(r *http.Request) error {
			r.Header.Set("Authorization", credentials)
			return nil
		},
		MinWait: 20 * time.Millisecond,
		MaxWait: maxWait,
		OnAttempt: func(ctx context.Context, e retry.AttemptEvent) {
			if events, ok := ctx.Value(storyKey{}).(*story); ok {
				*events = append(*events, e)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	if j != nil {
		if _, err := client.Sweep(ctx, retry.SweepOptions{Limit: sweepLimit, Concurrency: workers}); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, base string, p payment) (told, story) {
		var events story
		req, err := s.request(context.WithValue(ctx, storyKey{}, &events), base, p)
		if err != nil {
			return toldFailed, nil
		}
		req.Header.Set("Idempotency-Key", contract.KeyFor("pay order", p.order))
		result, err := client.Do(req)
		events = append(events, retry.AttemptEvent{Verdict: result.Verdict})
		return report(err), events
	}, nil
}

// report says in the words of the table what an error of idempact's told.
func report(err error) told {
	switch {
	case err == nil:
		return toldSucceeded
	case retry.OutcomeOf(err).AllowsNewKey() && !errors.Is(err, contract.KeyReused):
		return toldFailed
	default:
		return toldUnknown
	}
}

type storyKey struct{}

package retry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal"
)

// Options are the settings of a Client. A zero field means its default.
type Options struct {
	// Transport sends the requests, at most one a call. Default: a pooled
	// transport of the client's own. A transport that retries by itself defeats
	// the client.
	Transport http.RoundTripper

	// Journal remembers operations durably. With it they survive the process, and
	// of several processes one sends; without it they are remembered for one call.
	// It stays the caller's to close.
	Journal journal.Store
	// Account names the provider's account in the journal: whose keys these are,
	// where programs with other accounts share it.
	Account string
	// ReturnInProgress hands back InProgress at once, with when to come again, where
	// another process is at work on the operation. Default: wait for it, for as long
	// as the context and MaxElapsed let.
	ReturnInProgress bool

	MaxAttempts int           // sends of one operation in one call; 5
	MaxElapsed  time.Duration // no attempt starts later than this after the call; 2 min. One that runs may end.
	MinWait     time.Duration // shortest wait of our own between attempts; 500 ms
	MaxWait     time.Duration // longest wait between attempts, the provider's included; 30 s

	AttemptTimeout time.Duration // for one request with its whole answer; 80 s

	// KeyMargin is kept between a key's age and the end of the provider's
	// promise to remember it, at most a quarter of that promise; 1 h.
	KeyMargin time.Duration
	// UnpublishedRetention is how long a key counts as remembered where the
	// provider publishes nothing; 1 h.
	UnpublishedRetention time.Duration

	MaxRequestBytes int64 // longest request body; 8 MiB
	MaxBodyBytes    int64 // longest body of a success or of a read; 8 MiB. A longer one counts as cut.
	MaxErrorBytes   int64 // longest body of any other answer; 1 MiB

	// Authorize adds credentials to a request before every send: first sends,
	// resends, look-ups, reads, and what a sweep does. It may be called by several goroutines, and
	// changes headers only; what identifies the operation is put back after it.
	// An error means that nothing was sent. Default: the credentials that the
	// caller's request carries.
	Authorize func(*http.Request) error

	// Logger gets one line for each request. Keys appear as short hashes; bodies,
	// credentials and texts of the provider never. Default: silent.
	Logger *slog.Logger

	// OnAttempt is told of every request of an operation after it was decided
	// what comes next. It is called in the goroutine that runs the operation.
	OnAttempt func(context.Context, AttemptEvent)
}

const (
	standardMinWait = 500 * time.Millisecond
	standardMaxWait = 30 * time.Second
)

func (o *Options) withDefaults() (Options, error) {
	var d Options
	if o != nil {
		d = *o
	}
	if d.MaxAttempts < 0 || d.MaxRequestBytes < 0 || d.MaxBodyBytes < 0 || d.MaxErrorBytes < 0 {
		return d, errors.New("retry: an option is negative")
	}
	// One bound alone moves the default of the other.
	if d.MinWait == 0 && d.MaxWait > 0 {
		d.MinWait = min(d.MaxWait, standardMinWait)
	}
	if d.MaxWait == 0 {
		d.MaxWait = max(d.MinWait, standardMaxWait)
	}
	for _, f := range []struct {
		field    *time.Duration
		standard time.Duration
	}{
		{&d.MaxElapsed, 2 * time.Minute},
		{&d.MinWait, standardMinWait},
		{&d.MaxWait, standardMaxWait},
		{&d.AttemptTimeout, 80 * time.Second},
		{&d.KeyMargin, time.Hour},
		{&d.UnpublishedRetention, time.Hour},
	} {
		if *f.field < 0 {
			return d, errors.New("retry: an option is negative")
		}
		if *f.field == 0 {
			*f.field = f.standard
		}
	}
	if d.Journal != nil && d.AttemptTimeout > maxLeasedAttempt {
		return d, fmt.Errorf("retry: with a journal AttemptTimeout is at most %v, since an attempt must end within its lease", maxLeasedAttempt)
	}
	if d.MinWait > d.MaxWait {
		return d, errors.New("retry: MinWait is longer than MaxWait")
	}
	d.MaxAttempts = orDefault(d.MaxAttempts, 5)
	d.MaxRequestBytes = orDefault(d.MaxRequestBytes, 8<<20)
	d.MaxBodyBytes = orDefault(d.MaxBodyBytes, 8<<20)
	d.MaxErrorBytes = orDefault(d.MaxErrorBytes, 1<<20)
	if d.Transport == nil {
		d.Transport = newTransport()
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d, nil
}

func orDefault[T int | int64](v, standard T) T {
	if v == 0 {
		return standard
	}
	return min(v, math.MaxInt-1) // room for the byte that shows that there is more
}

// keyLife returns for how long after its first send a key of the given terms may
// be sent; it is the retention less the margin.
func (o *Options) keyLife(t contract.Terms) time.Duration {
	retention := o.retention(t)
	if retention == contract.RetentionForever {
		return contract.RetentionForever
	}
	return retention - min(o.KeyMargin, retention/4)
}

// retention returns for how long a key of the given terms counts as remembered.
func (o *Options) retention(t contract.Terms) time.Duration {
	if t.Retention <= 0 {
		return o.UnpublishedRetention
	}
	return t.Retention
}

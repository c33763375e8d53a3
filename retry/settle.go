package retry

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/idempact/idempact/contract"
)

const (
	maxReads    = 100 // requests of all look-ups of one operation
	triesOfRead = 3   // of one of them, while its answer is a passing fault

	// Adapters look from an hour before the first send. Where clocks differ by more,
	// what they did not find may be there all the same.
	lookUpSkew = time.Hour
)

// settle reads what sending could not show: a doubt is looked up, and what a
// duplicate refers to is fetched and compared.
func (f *flight) settle(ctx context.Context) {
	if f.later || f.hold.isLost() || ctx.Err() != nil || f.verdict.DuplicateEffect() != nil {
		return
	}
	o := f.client.options
	ctx, cancel := context.WithTimeout(ctx, max(o.MaxElapsed, o.AttemptTimeout))
	defer cancel()
	r := &reader{flight: f, left: maxReads}
	if f.verdict.Effect() == contract.EffectMaybe || f.verdict.Status == contract.Duplicate && f.verdict.Resource == "" {
		r.lookUp(ctx)
	}
	if f.verdict.Status == contract.Duplicate && f.verdict.Resource != "" && f.verdict.DuplicateEffect() == nil {
		r.resolve(ctx)
	}
}

// reader makes the reads of one operation.
type reader struct {
	*flight
	left int // how many it may still make
}

// lookUp asks the adapter's Finder, step by step, and folds what it found.
func (r *reader) lookUp(ctx context.Context) {
	finder, ok := r.client.adapter.(contract.Finder)
	if !ok {
		return
	}
	found, whole := r.find(ctx, finder)
	for _, ref := range found.Resources {
		r.fold(contract.Outcome{Status: contract.Duplicate, Resource: ref, Reason: "found by look-up"})
	}
	switch {
	case len(found.Resources) > 0:
	case found.Applied:
		r.fold(contract.Outcome{Status: contract.Duplicate, Reason: "found by look-up, without a reference: " + found.Reason})
	case found.Absent && r.skew > lookUpSkew:
		r.note(errSkewed)
	case found.Absent && whole:
		r.fold(contract.Outcome{Status: contract.NotExecuted, Reason: "a look-up proved that there is none: " + found.Reason})
	}
}

// find runs the Finder to its end and reports whether every read of it brought an
// answer: only then an absence counts.
func (r *reader) find(ctx context.Context, finder contract.Finder) (found contract.Finding, whole bool) {
	type step struct {
		req   *http.Request
		found contract.Finding
		err   error
	}
	whole = true
	var last *contract.Reply
	for {
		s, err := guard("Find", func() (s step) {
			s.req, s.found, s.err = finder.Find(ctx, r.call(), found, last)
			return s
		})
		if err == nil && s.err != nil {
			err = &lookUpError{s.err} // what came with the error proves nothing
		}
		if err != nil {
			r.note(err)
			return found, false
		}
		found = s.found
		if s.req == nil {
			return found, whole
		}
		reply, _, err := r.read(ctx, contract.LookUp, s.req)
		if err != nil {
			r.note(err)
			return found, false
		}
		whole = whole && !passing(reply)
		last = &reply
	}
}

// resolve fetches what a duplicate refers to and folds the comparison. Where that
// is not possible the verdict stays Duplicate.
func (r *reader) resolve(ctx context.Context) {
	o, got := r.fetch(ctx, r.verdict.Outcome)
	switch {
	case got == nil:
	case o.Status == contract.Duplicate:
		r.verdict.State, r.verdict.Reason = o.State, o.Reason // why it is not confirmed
	default:
		r.fold(o)
	}
	if r.verdict.Status == contract.Succeeded {
		r.last = got
	}
}

// note keeps why a read did not help.
func (r *reader) note(err error) {
	r.causes = append(r.causes, err)
	r.verdict.Reason = strings.TrimPrefix(r.verdict.Reason+"; "+err.Error(), "; ")
}

// lookUpError hides the text of an adapter's error, which is not ours to show.
type lookUpError struct{ err error }

func (e *lookUpError) Error() string { return "the adapter's look-up ended with an error" }
func (e *lookUpError) Unwrap() error { return e.err }

// fetch returns what is known to exist, and whether it is this operation's: a
// Succeeded, a KeyReused, or a Duplicate with the reason why it is neither. Without
// an answer it says nothing.
func (r *reader) fetch(ctx context.Context, known contract.Outcome) (o contract.Outcome, got *answer) {
	resolver, ok := r.client.adapter.(contract.Resolver)
	if !ok || known.Resource == "" || steers(known.Resource) {
		return o, nil
	}
	req, err := guard("ResolveRequest", func() (req *http.Request) {
		req, err := resolver.ResolveRequest(ctx, r.call(), known)
		if err != nil {
			return nil
		}
		return req
	})
	if err != nil {
		r.note(err)
	}
	if err != nil || req == nil {
		return o, nil
	}
	reply, got, err := r.read(ctx, contract.Resolve, req)
	if err != nil {
		r.note(err)
	}
	if err != nil || got == nil {
		return o, nil
	}
	o, err = guard("ClassifyResolve", func() contract.Outcome {
		return resolver.ClassifyResolve(r.call(), known, reply)
	})
	if err != nil {
		r.note(err)
	}
	if err != nil || !good(reply) {
		return o, nil
	}
	switch o.Status {
	case contract.Succeeded, contract.KeyReused, contract.Duplicate:
		return o, got
	default:
		return o, nil
	}
}

// fold adds what was read to the verdict.
func (r *reader) fold(o contract.Outcome) {
	o.Source = contract.FromLookUp
	r.verdict = contract.Fold(r.verdict, o)
}

var (
	errSkewed  = errors.New("the look-up found none, but clocks differ too much for that to prove anything")
	errReads   = errors.New("the look-up takes more requests than an operation may")
	errForeign = errors.New("the adapter's read is not a GET on the operation's own host")
	errSteered = errors.New("the adapter's read has a path that may lead elsewhere")
)

// steers reports whether a path, or a reference that may become a part of one,
// could lead a read elsewhere. Adapters check what they expect of a reference
// (contract.CheckReference); this is what none may hold.
func steers(path string) bool {
	if strings.ContainsAny(path, "?#%\\") || strings.Contains(path, "//") {
		return true
	}
	if strings.ContainsFunc(path, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return true
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// read makes one read of an adapter's, again after a passing fault.
func (r *reader) read(ctx context.Context, step contract.Step, req *http.Request) (contract.Reply, *answer, error) {
	head, err := r.readHead(req)
	if err != nil {
		return contract.Reply{}, nil, err
	}
	for try := 1; ; try++ {
		if r.left == 0 {
			return contract.Reply{}, nil, errReads
		}
		r.left--
		started := time.Now()
		reply, got := r.client.exchange(ctx, head, nil, r.op.terms, func() error { return nil })
		r.noteSkew(started, reply)
		r.tell(ctx, step, started, reply)
		wait := max(reply.Wait(), r.backoff())
		if !passing(reply) || try == triesOfRead || wait > r.client.options.MaxWait || !sleep(ctx, wait) {
			if u := (*unsent)(nil); errors.As(reply.Err, &u) {
				return contract.Reply{}, nil, u // ours to mend, so it is told
			}
			return reply, got, nil
		}
	}
}

// readHead gives a read what the operation's own request carries: the account,
// the version and the credentials. It goes nowhere but to the operation's host.
func (r *reader) readHead(req *http.Request) (*http.Request, error) {
	own := r.op.call.Request
	if req.URL == nil || req.Method != http.MethodGet || req.URL.Scheme != own.URL.Scheme || req.URL.Host != own.URL.Host {
		return nil, errForeign
	}
	if req.URL.Opaque != "" || steers(req.URL.Path) || malformed(req) != "" {
		return nil, errSteered
	}
	head := freezeHead(req)
	head.Host = own.Host
	names := append(r.op.terms.ContractHeaders(), "User-Agent")
	if r.client.options.Authorize == nil {
		names = append(append(names, "Authorization"), r.op.terms.CredentialHeaders...)
	}
	for _, name := range names {
		if values := contract.HeaderValues(own.Header, name); len(values) > 0 {
			setHeader(head.Header, name, "")
			head.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	return head, nil
}

// passing reports whether a read may bring another answer soon.
func passing(r contract.Reply) bool {
	return r.StatusCode == 0 || r.Err != nil || r.StatusCode == http.StatusTooManyRequests || r.StatusCode >= 500
}

package zepto

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/idempact/idempact/contract"
)

// ErrReference is in the error of ResolveRequest for a reference that is well
// formed and names nothing that can be fetched for this call.
var ErrReference = errors.New("the reference names nothing that can be fetched for this call")

// ResolveRequest returns the GET of what the reference names: on the core API by
// the kind of reference, on PayTo by the endpoint that was called.
func (a *Adapter) ResolveRequest(ctx context.Context, c contract.Call, o contract.Outcome) (*http.Request, error) {
	if err := contract.CheckReference(o.Resource); err != nil {
		return nil, err
	}
	e := endpointOf(c.Request)
	k := fetched(e, o.Resource)
	if k == nil || e.payTo && o.Resource != uid(c) {
		return nil, ErrReference
	}
	return contract.NewRead(ctx, c, "/"+k.get+"/"+o.Resource, nil)
}

// fetched returns the kind of resource to fetch for a reference, or nil. A uid
// may look like a reference of the core API, so the endpoint is asked first; a
// reference may name another kind than the endpoint makes, and then the fetch
// shows that the key is another operation's.
func fetched(e endpoint, ref string) *resource {
	if e.makes == nil || e.payTo {
		return e.makes
	}
	return kindOf(ref)
}

// ClassifyResolve says whether the resource that a fetch showed is the one that
// was asked for. What it does not show is not confirmed: the operation then stays
// a Duplicate.
func (a *Adapter) ClassifyResolve(c contract.Call, o contract.Outcome, r contract.Reply) contract.Outcome {
	out := contract.Outcome{
		Status:    contract.Duplicate,
		Resource:  o.Resource,
		State:     o.State,
		Code:      o.Code,
		RequestID: contract.Word(contract.HeaderValue(r.Header, "X-Request-Id")),
		Source:    contract.FromLookUp,
	}
	e := endpointOf(c.Request)
	k := fetched(e, o.Resource)
	data, ok := shownResource(k, o.Resource, r)
	ok = ok && (!e.payTo || o.Resource == uid(c))
	want, err := asked(e, c)
	switch {
	case !ok:
		out.Reason = "the resource could not be read, so nothing is known beside its reference"
		return out
	case k != e.makes:
		out.Status = contract.KeyReused
		out.Reason = fmt.Sprintf("the key belongs to the %s %s, and a %s was asked", k.name, o.Resource, e.makes.name)
		return out
	case err != nil:
		out.Reason = "the request itself could not be read, so the resource cannot be compared with it"
		return out
	}
	out.State = state(data)
	return compare(k, want, data).Resolve(out)
}

// shownResource returns the resource that a fetch showed, if it is the one that
// the reference names.
func shownResource(k *resource, ref string, r contract.Reply) (contract.Object, bool) {
	if k == nil || r.Err != nil || r.StatusCode != http.StatusOK || contract.CheckReference(ref) != nil {
		return nil, false
	}
	body, err := contract.DecodeObject(r.Body)
	if err != nil || body["errors"] != nil {
		return nil, false
	}
	data := body.Object("data")
	return data, data != nil && data.Text(k.idField()) == ref
}

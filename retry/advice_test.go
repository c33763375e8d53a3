package retry

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

// A doubt on an endpoint without keys is never to be sent again, whatever wait the
// provider asks for.
func TestKeylessDoubtIsNoInvitation(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(503, `{}`, "Retry-After: 2"))
		c := newClient(t, p, &stub{terms: func(contract.Call) contract.Terms { return contract.Terms{} },
			classify: func(_ contract.Call, r contract.Reply) contract.Outcome {
				return contract.Outcome{RetryAfter: r.Wait()}
			}}, nil)
		result, err := c.Do(payment(context.Background()))
		require.ErrorIs(t, err, contract.Unknown)
		assert.Equal(t, 2*time.Second, result.RetryAfter)
		assert.Equal(t, contract.LookUp, result.Next())
		assert.NotContains(t, err.Error(), "come again")
	})
}

// Two callers with other credentials are two accounts: neither gets the other's
// verdict.
func TestCredentialsAreAccounts(t *testing.T) {
	op := func(authorization string) *operation {
		c, err := NewClient(&stub{}, nil)
		require.NoError(t, err)
		req := payment(context.Background())
		req.Header.Set("Authorization", authorization)
		o, refused := c.prepare(req)
		require.Nil(t, refused)
		return o
	}
	assert.Equal(t, op("Bearer a").flight, op("Bearer a").flight)
	assert.NotEqual(t, op("Bearer a").flight, op("Bearer b").flight)
	assert.Equal(t, op("Bearer a").scope, op("Bearer b").scope)
	assert.NotContains(t, op("Bearer a").flight, "Bearer")
}

// What an adapter does to the bytes that it is shown does not reach the wire.
func TestAdapterWritesIntoTheBody(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(429, `{}`), created())
		scribble := func(c contract.Call) {
			for i := range c.Body {
				c.Body[i] = '9'
			}
		}
		a := &stub{
			terms: func(c contract.Call) contract.Terms {
				scribble(c)
				return (&stub{}).Terms(c)
			},
			classify: func(c contract.Call, r contract.Reply) contract.Outcome {
				scribble(c)
				return (&stub{}).Classify(c, r)
			},
		}
		_, err := newClient(t, p, a, nil).Do(payment(context.Background()))
		require.NoError(t, err)
		assert.Equal(t, 2, p.count())
		bodies := map[string]bool{}
		for _, r := range p.requests() {
			bodies[string(r.Body)] = true
		}
		assert.Len(t, bodies, 1)
		assert.NotContains(t, string(p.requests()[0].Body), "999")
	})
}

// An Error in JSON shows no body.
func TestErrorInJSON(t *testing.T) {
	b, err := json.Marshal(&Error{Verdict: contract.Verdict{}, Body: []byte("4242424242424242"), Cause: errors.New("x")})
	require.NoError(t, err)
	assert.NotContains(t, string(b), "Body")
	assert.False(t, strings.Contains(string(b), "NDI0"), "in base64 either")
}

// Credentials in a URL become a header and leave the URL.
func TestCredentialsLeaveTheURL(t *testing.T) {
	req, err := http.NewRequest(http.MethodPost, "https://sk_test:@api.example/v1/x", nil)
	require.NoError(t, err)
	head := freezeHead(req)
	assert.Nil(t, head.URL.User)
	name, _, ok := head.BasicAuth()
	assert.True(t, ok)
	assert.Equal(t, "sk_test", name)
}

// An answer that names two resources for one key is the alarm, and neither is
// fetched and taken for the operation.
func TestTwoReferencesAreTheAlarm(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(409, `{}`))
		a := &stub{classify: func(contract.Call, contract.Reply) contract.Outcome {
			return contract.Outcome{Status: contract.Duplicate, Resource: "PB.1, PB.2"}
		}}
		result, err := newClient(t, p, a, nil).Do(payment(context.Background()))
		require.ErrorIs(t, err, contract.Duplicate)
		var alarm *contract.DuplicateEffectError
		require.ErrorAs(t, err, &alarm)
		assert.Equal(t, []string{"PB.1", "PB.2"}, alarm.Resources)
		assert.Equal(t, 1, p.count())
		assert.Equal(t, contract.Duplicate, result.Status)
	})
}

// Why a fetched duplicate is not confirmed reaches the caller, and not the guess
// that stood before the fetch.
func TestReasonOfAnUnconfirmedDuplicate(t *testing.T) {
	virtual(t, func(t *testing.T) {
		p := newProvider(respond(409, `{}`), respond(200, `{"id":"pay_1"}`))
		a := resolving{
			stub: &stub{classify: func(contract.Call, contract.Reply) contract.Outcome {
				return contract.Outcome{Status: contract.Duplicate, Resource: "pay_1", Reason: "already done"}
			}},
			compare: func(_ contract.Call, o contract.Outcome, _ contract.Reply) contract.Outcome {
				o.State, o.Reason = "partial", "another amount was taken"
				return o
			},
		}
		result, err := newClient(t, p, a, nil).Do(payment(context.Background()))
		require.ErrorIs(t, err, contract.Duplicate)
		assert.Equal(t, "partial", result.State)
		require.ErrorContains(t, err, "another amount was taken")
		assert.NotContains(t, err.Error(), "already done")
	})
}

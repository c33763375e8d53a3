package fakes_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/fakes"
)

const (
	increaseURL = "https://api.increase.com"
	achBody     = `{"account_id":"a_1","amount":2500,"external_account_id":"x_1","statement_descriptor":"INV-7"}`
)

func TestIncreaseOneObjectForAKey(t *testing.T) {
	s := fakes.NewIncrease(nil)
	c := s.Client()
	one := send(t, c, "POST", increaseURL+"/ach_transfers", "k1", achBody)
	require.Equal(t, 200, one.status)
	assert.Equal(t, "ach_transfer", one.at("type"))
	assert.Equal(t, "k1", one.at("idempotency_key"))
	assert.Empty(t, one.header.Get("Idempotent-Replayed"))
	id, _ := one.at("id").(string)
	require.True(t, s.SetState(id, "returned"))
	s.Advance(3 * 365 * 24 * time.Hour)
	two := send(t, c, "POST", increaseURL+"/ach_transfers", "k1", `{"statement_descriptor":"INV-7", "external_account_id":"x_1","amount":2500,"account_id":"a_1"}`)
	assert.Equal(t, 200, two.status, "the same arguments, in any order, for ever")
	assert.Equal(t, "true", two.header.Get("Idempotent-Replayed"))
	assert.Equal(t, id, two.at("id"))
	assert.Equal(t, "returned", two.at("status"))

	for path, body := range map[string]string{"/ach_transfers": strings.Replace(achBody, "2500", "9", 1), "/account_transfers": achBody} {
		other := send(t, c, "POST", increaseURL+path, "k1", body)
		assert.Equal(t, 409, other.status)
		assert.Equal(t, "idempotency_key_already_used_error", other.at("type"))
		assert.Equal(t, id, other.at("resource_id"))
	}
	e := s.Effects()
	require.Len(t, e, 1)
	assert.Equal(t, fakes.Effect{Time: e[0].Time, Kind: "ach_transfer", Action: "create", Resource: id, Key: "k1", Method: "POST", Path: "/ach_transfers",
		Amount: 2500, Currency: "usd", Metadata: map[string]string{"statement_descriptor": "INV-7"}, Params: e[0].Params, RequestID: e[0].RequestID}, e[0])
	send(t, c, "POST", increaseURL+"/ach_transfers", "", achBody)
	send(t, c, "POST", increaseURL+"/ach_transfers", "", achBody)
	assert.Len(t, s.Effects(), 3, "without a key each is an effect")
	assert.False(t, s.SetState("none", "returned"))
	assert.Equal(t, 400, send(t, c, "POST", increaseURL+"/ach_transfers", strings.Repeat("k", 201), achBody).status)
	assert.Equal(t, 200, send(t, c, "POST", increaseURL+"/ach_transfers", strings.Repeat("k", 200), achBody).status)
}

func TestIncreaseErrorsHoldNoKey(t *testing.T) {
	s := fakes.NewIncrease(nil)
	c := s.Client()
	broke := send(t, c, "POST", increaseURL+"/ach_transfers", "k1", strings.Replace(achBody, "a_1", "account_empty", 1))
	assert.Equal(t, 409, broke.status)
	assert.Equal(t, "invalid_operation_error", broke.at("type"))
	assert.Equal(t, "invalid_parameters_error", send(t, c, "POST", increaseURL+"/ach_transfers", "k1", `{"amount":1}`).at("type"))
	assert.Equal(t, "malformed_request_error", send(t, c, "POST", increaseURL+"/ach_transfers", "k1", `{`).at("type"))
	s.Script(fakes.SaveErrorNoEffect(500), fakes.SaveErrorNoEffect(500), fakes.SaveError(500))
	assert.Equal(t, "internal_server_error", send(t, c, "POST", increaseURL+"/ach_transfers", "k1", achBody).at("type"))
	another := strings.Replace(achBody, "2500", "9", 1)
	assert.Equal(t, 500, send(t, c, "POST", increaseURL+"/ach_transfers", "k1", another).status, "no object, no other arguments")
	assert.Empty(t, s.Effects())
	assert.Equal(t, 500, send(t, c, "POST", increaseURL+"/ach_transfers", "k1", another).status)
	assert.Equal(t, "true", send(t, c, "POST", increaseURL+"/ach_transfers", "k1", another).header.Get("Idempotent-Replayed"), "it took effect, whatever was said")
	assert.Equal(t, 409, send(t, c, "POST", increaseURL+"/ach_transfers", "k1", achBody).status)
	assert.Len(t, s.Effects(), 1)
	s.Script(fakes.InFlight(time.Hour))
	assert.Equal(t, 200, send(t, c, "POST", increaseURL+"/ach_transfers", "k2", achBody).status, "no in-flight answer is documented")
}

func TestIncreaseThrottle(t *testing.T) {
	s := fakes.NewIncrease(nil)
	s.Script(fakes.Throttle(30*time.Second), fakes.Throttle(0), fakes.Unavailable(0))
	r := send(t, s.Client(), "POST", increaseURL+"/ach_transfers", "k1", achBody)
	assert.Equal(t, 429, r.status)
	assert.Equal(t, "rate_limited_error", r.at("type"))
	assert.Equal(t, "30", r.header.Get("Retry-After"))
	assert.Equal(t, 30.0, r.at("retry_after"))
	assert.Nil(t, send(t, s.Client(), "POST", increaseURL+"/ach_transfers", "k1", achBody).at("retry_after"))
	assert.Equal(t, 503, send(t, s.Client(), "POST", increaseURL+"/ach_transfers", "k1", achBody).status)
	assert.Empty(t, s.Effects())
}

func TestIncreaseLists(t *testing.T) {
	s := fakes.NewIncrease(nil)
	c := s.Client()
	for i := range 102 {
		send(t, c, "POST", increaseURL+"/ach_transfers", fmt.Sprint("k", i), achBody)
	}
	one := send(t, c, "GET", increaseURL+"/ach_transfers?idempotency_key=k7", "", "")
	require.Len(t, one.at("data"), 1)
	assert.Equal(t, "ach_transfer_000008", one.at("data").([]any)[0].(map[string]any)["id"])
	assert.Nil(t, one.at("next_cursor"))
	assert.Empty(t, send(t, c, "GET", increaseURL+"/ach_transfers?idempotency_key=other", "", "").at("data"))
	assert.Empty(t, send(t, c, "GET", increaseURL+"/wire_transfers?idempotency_key=k7", "", "").at("data"))
	first := send(t, c, "GET", increaseURL+"/ach_transfers", "", "")
	require.Len(t, first.at("data"), 100)
	rest := send(t, c, "GET", increaseURL+"/ach_transfers?cursor="+first.at("next_cursor").(string), "", "")
	assert.Len(t, rest.at("data"), 2)
	assert.Equal(t, "ach_transfer_000008", send(t, c, "GET", increaseURL+"/ach_transfers/ach_transfer_000008", "", "").at("id"))
	assert.Equal(t, "object_not_found_error", send(t, c, "GET", increaseURL+"/wire_transfers/ach_transfer_000008", "", "").at("type"))
	assert.Equal(t, "api_method_not_found_error", send(t, c, "GET", increaseURL+"/nothing", "", "").at("type"))

	late := fakes.NewIncrease(&fakes.Options{VisibilityDelay: time.Minute})
	send(t, late.Client(), "POST", increaseURL+"/ach_transfers", "k1", achBody)
	assert.Empty(t, send(t, late.Client(), "GET", increaseURL+"/ach_transfers?idempotency_key=k1", "", "").at("data"))
	late.Advance(time.Minute)
	assert.Len(t, send(t, late.Client(), "GET", increaseURL+"/ach_transfers?idempotency_key=k1", "", "").at("data"), 1)
}

func TestIncreaseActionsAndChanges(t *testing.T) {
	s := fakes.NewIncrease(nil)
	c := s.Client()
	held := send(t, c, "POST", increaseURL+"/ach_transfers", "k1", strings.Replace(achBody, "{", `{"require_approval":true,`, 1))
	assert.Equal(t, "pending_approval", held.at("status"))
	path := increaseURL + "/ach_transfers/" + held.at("id").(string)
	approved := send(t, c, "POST", path+"/approve", "k2", "")
	assert.Equal(t, "pending_submission", approved.at("status"))
	again := send(t, c, "POST", path+"/approve", "k2", "")
	assert.Equal(t, 409, again.status, "a key means nothing for an action")
	assert.Equal(t, "invalid_operation_error", again.at("type"))
	assert.Equal(t, "canceled", send(t, c, "POST", increaseURL+"/wire_transfers/w_1/cancel", "", "").at("status"), "one that is older than the fake")
	e := s.Effects()
	require.Len(t, e, 3)
	assert.Equal(t, "approve", e[1].Action)
	assert.Equal(t, int64(2500), e[1].Amount)

	number := increaseURL + "/account_numbers/n_1"
	assert.Equal(t, "disabled", send(t, c, "PATCH", number, "k1", `{"status":"disabled"}`).at("status"))
	assert.Equal(t, "disabled", send(t, c, "PATCH", number, "k1", `{"status":"disabled"}`).at("status"))
	assert.Len(t, s.Effects(), 4, "inherently idempotent")
	assert.Equal(t, "malformed_request_error", send(t, c, "PATCH", number, "", `{`).at("type"))
	assert.Equal(t, "api_method_not_found_error", send(t, c, "PATCH", path, "", `{}`).at("type"), "a transfer cannot be changed")
}

func TestIncreaseCardPush(t *testing.T) {
	s := fakes.NewIncrease(nil)
	body := `{"card_token_id":"t_1","presentment_amount":{"value":"%s","currency":"USD"}}`
	assert.Equal(t, 200, send(t, s.Client(), "POST", increaseURL+"/card_push_transfers", "k1", fmt.Sprintf(body, "25.00")).status)
	assert.Equal(t, 400, send(t, s.Client(), "POST", increaseURL+"/card_push_transfers", "k2", fmt.Sprintf(body, "25")).status)
	require.Len(t, s.Effects(), 1)
	assert.Equal(t, int64(2500), s.Effects()[0].Amount)
}

func TestIncreaseNeedsAKeyOfTheAPI(t *testing.T) {
	s := fakes.NewIncrease(nil)
	r := newRequest(t, "POST", increaseURL+"/ach_transfers", "k1", achBody)
	r.Header.Del("Authorization")
	got, err := try(t, s.Client(), r)
	require.NoError(t, err)
	assert.Equal(t, 401, got.status)
	assert.Equal(t, "invalid_api_key_error", got.at("type"))
	assert.Empty(t, s.Effects())
}

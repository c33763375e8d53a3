package contract_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
)

func TestEndpointRequest(t *testing.T) {
	e := contract.Endpoint{
		Name: "create", Method: http.MethodPost, URL: "https://a.example/{order}", Header: map[string]string{"X-API-Key": "example"},
		Body: `{"id":"{key}","cents":{amount},"value":"{decimal}","name":"{order}"}`,
	}
	r, err := e.Request("k-1", 2505)
	require.NoError(t, err)
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	assert.Equal(t, `{"id":"k-1","cents":2505,"value":"25.05","name":"INV-1001"}`, string(body))
	assert.Equal(t, "https://a.example/INV-1001", r.URL.String())
	assert.Equal(t, "application/json", r.Header.Get("Content-Type"))
	assert.Equal(t, "example", r.Header.Get("X-API-Key"))
	assert.Equal(t, "Bearer example", r.Header.Get("Authorization"))

	r, err = contract.Endpoint{Method: http.MethodPost, URL: "https://a.example/", Body: "amount={amount}"}.Request("k", 7)
	require.NoError(t, err)
	assert.Equal(t, "application/x-www-form-urlencoded", r.Header.Get("Content-Type"))
	r, err = contract.Endpoint{Method: http.MethodPost, URL: "https://a.example/"}.Request("k", 7)
	require.NoError(t, err)
	assert.Nil(t, r.Body)
	assert.Empty(t, r.Header.Get("Content-Type"))
	_, err = contract.Endpoint{Name: "bad", URL: "://"}.Request("k", 7)
	assert.ErrorContains(t, err, `"bad"`)
}

func TestNewRead(t *testing.T) {
	req, err := http.NewRequest(http.MethodPost, "https://a.example/v1/payments?x=1", nil)
	require.NoError(t, err)
	req.Host = "eu.example"
	r, err := contract.NewRead(context.Background(), contract.Call{Request: req}, "/v1/payments/pay_1", url.Values{"key": {"a&b"}})
	require.NoError(t, err)
	assert.Equal(t, "https://a.example/v1/payments/pay_1?key=a%26b", r.URL.String())
	assert.Equal(t, "eu.example", r.Host)
	assert.Equal(t, http.MethodGet, r.Method)
}

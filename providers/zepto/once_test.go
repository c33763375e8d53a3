package zepto_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/providers/zepto"
)

// A retry of a PayTo payment is never sent again once it may have arrived, not
// even after a throttle; one that never left may be.
func TestPayToRetryIsSentOnce(t *testing.T) {
	req, err := http.NewRequest(http.MethodPost, "https://api.zeptopayments.com/payto/payments/u-1/retry", nil)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		reply contract.Reply
		next  contract.Step
	}{
		"throttled": {contract.Reply{StatusCode: 429, Sent: true}, contract.Finish},
		"outage":    {contract.Reply{StatusCode: 503, Sent: true}, contract.LookUp},
		"lost":      {contract.Reply{Sent: true, Err: errors.New("reset")}, contract.LookUp},
		"not sent":  {contract.Reply{Err: errors.New("refused")}, contract.Resend},
	} {
		o := zepto.New(nil).Classify(contract.Call{Request: req}, c.reply)
		assert.Equal(t, c.next, o.Next(), name)
	}
}

package ietf_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/idempact/idempact/contract/contracttest"
	"github.com/idempact/idempact/providers/ietf"
)

// The three APIs of the examples pass the suite too, each against what its documents
// say.
func TestContractOfAPIs(t *testing.T) {
	for name, api := range map[string]struct {
		options ietf.Options
		server  server
	}{
		"truelayer": {trueLayer, server{
			key: "Idempotency-Key", retention: 30 * 24 * time.Hour, amount: regexp.MustCompile(`"amount_in_minor":(\d+)`), status: 201,
			success:  `{"id":"p-{id}","status":"authorization_required"}`,
			missing:  answer{401, `{"type":"https://docs.truelayer.com/docs/error-types#unauthenticated","title":"Unauthenticated"}`},
			mismatch: &answer{422, `{"type":"https://docs.truelayer.com/docs/error-types#idempotency-key-reuse","title":"Idempotency-Key Reuse"}`},
		}},
		"column": {column, server{
			key: "Idempotency-Key", longest: 255, optional: true, retention: 30 * 24 * time.Hour, amount: regexp.MustCompile(`"amount":(\d+)`), status: 200,
			success: `{"id":"book_{id}","amount":{amount},"currency_code":"USD","status":"COMPLETED"}`,
		}},
		"openbanking": {openBanking, server{
			key: "x-idempotency-key", longest: 40, retention: 24 * time.Hour, amount: regexp.MustCompile(`"Amount":"(\d+\.\d\d)"`), status: 201,
			success: `{"Data":{"DomesticPaymentId":"p-{id}","ConsentId":"c-1","Status":"RCVD","Initiation":{"InstructedAmount":{"Amount":"{amount}","Currency":"GBP"}}}}`,
			missing: answer{400, `{"Errors":[{"ErrorCode":"U009"}]}`},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			contracttest.Run(t, contracttest.Spec{
				Adapter: ietf.New(&api.options), Exchanges: os.DirFS("testdata/" + name),
				Fake: func() contracttest.Fake {
					s := api.server
					s.saved = map[string]saved{}
					return contracttest.Fake{Handler: &s, Effects: func() []int64 { return s.effects }, Advance: func(d time.Duration) { s.ahead += d }}
				},
			})
		})
	}
}

// server is an API of the common pattern, as data.
type server struct {
	key       string // header
	longest   int    // key; 0 is any
	optional  bool   // the key is
	retention time.Duration
	amount    *regexp.Regexp // in a request
	status    int            // of a success
	success   string         // with an {id} of its own and the {amount}
	missing   answer         // to a request without a key
	mismatch  *answer        // to the key with another body; nil is what was saved

	ahead   time.Duration // how far its clock has been moved
	saved   map[string]saved
	effects []int64
}

type answer struct {
	status int
	body   string
}

type saved struct {
	at      time.Time
	request string
	answer
}

// ServeHTTP is called for one request at a time.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	key, now := r.Header.Get(s.key), time.Now().Add(s.ahead)
	old, known := s.saved[key]
	a := old.answer
	amount := s.amount.FindSubmatch(body)
	switch {
	case r.Method != http.MethodPost || !json.Valid(body) || amount == nil:
		a = answer{404, `{}`}
	case key == "" && !s.optional:
		a = s.missing
	case s.longest > 0 && len(key) > s.longest:
		a = answer{400, `{"code":"key_too_long"}`}
	case known && now.Sub(old.at) < s.retention && old.request != string(body) && s.mismatch != nil:
		a = *s.mismatch
	case known && now.Sub(old.at) < s.retention:
	default:
		a = s.pay(string(amount[1]))
		if key != "" {
			s.saved[key] = saved{now, string(body), a}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

func (s *server) pay(amount string) answer {
	var n int64
	_, _ = fmt.Sscan(strings.Replace(amount, ".", "", 1), &n)
	s.effects = append(s.effects, n)
	return answer{s.status, strings.NewReplacer("{id}", fmt.Sprint(len(s.effects)), "{amount}", amount).Replace(s.success)}
}

// Each documented exchange is of the API of its folder.
func TestExchangesOfAPIs(t *testing.T) {
	for name, options := range map[string]ietf.Options{"truelayer": trueLayer, "column": column, "openbanking": openBanking} {
		all, err := contracttest.Exchanges(os.DirFS("testdata/" + name))
		require.NoError(t, err)
		for _, x := range all {
			require.NoError(t, x.Check(ietf.New(&options)))
		}
	}
}

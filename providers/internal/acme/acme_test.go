package acme

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/idempact/idempact/contract/contracttest"
)

func TestContract(t *testing.T) {
	contracttest.Run(t, contracttest.Spec{
		Adapter: New(nil),
		Request: func(_ string, amount int64) (*http.Request, error) {
			body := fmt.Sprintf(`{"amount":%d,"currency":"usd","reference":"INV-1001"}`, amount)
			req, err := http.NewRequest(http.MethodPost, "https://api.acme.example/v1/payments", strings.NewReader(body))
			if err != nil {
				return nil, err
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer test")
			return req, nil
		},
		Fake: func() contracttest.Fake {
			s := &server{saved: map[string]*saved{}}
			return contracttest.Fake{
				Handler: s,
				Effects: func() []int64 { return s.effects },
				Advance: func(d time.Duration) { s.ahead += d },
			}
		},
		Exchanges: os.DirFS("testdata"),
	})
}

// server does what Acme's documents say, and nothing of what the adapter says: a
// mistake has to be made twice to pass.
type server struct {
	effects []int64
	saved   map[string]*saved
	ahead   time.Duration // how far its clock has been moved
}

type saved struct {
	at       time.Time
	request  string
	response string
}

// ServeHTTP is called for one request at a time.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	key, now := r.Header.Get("Idempotency-Key"), time.Now().Add(s.ahead)
	old := s.saved[key]
	if old != nil && now.Sub(old.at) >= 24*time.Hour {
		old = nil // forgotten
	}
	var payment struct{ Amount int64 }
	switch err := json.Unmarshal(body, &payment); {
	case r.Method != http.MethodPost || r.URL.Path != "/v1/payments":
		answer(w, http.StatusNotFound, `{"error":{"code":"no_route"}}`)
	case len(key) > 64:
		answer(w, http.StatusBadRequest, `{"error":{"code":"key_too_long"}}`)
	case old != nil && old.request != string(body):
		answer(w, http.StatusUnprocessableEntity, `{"error":{"code":"key_reused"}}`)
	case old != nil:
		w.Header().Set("Acme-Replayed", "true")
		answer(w, http.StatusCreated, old.response)
	case err != nil || payment.Amount < 1:
		answer(w, http.StatusBadRequest, `{"error":{"code":"amount_invalid"}}`)
	default:
		s.effects = append(s.effects, payment.Amount)
		response := fmt.Sprintf(`{"id":"pay_%d","amount":%d,"status":"accepted"}`, len(s.effects), payment.Amount)
		if key != "" {
			s.saved[key] = &saved{now, string(body), response}
		}
		answer(w, http.StatusCreated, response)
	}
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

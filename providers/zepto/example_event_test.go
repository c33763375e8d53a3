package zepto_test

import (
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/idempact/idempact/contract"
	"github.com/idempact/idempact/journal"
	"github.com/idempact/idempact/providers/zepto"
	"github.com/idempact/idempact/retry"
)

// A handler of webhooks. Each payment was made with the metadata {"invoice": …} and the
// key KeyFor("pay invoice", …), so that the one leads to the other.
func ExampleReadEvent() {
	payments, err := retry.NewClient(zepto.New(nil), &retry.Options{Journal: journal.NewMemory()})
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("POST /zepto", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, "unreadable", http.StatusBadRequest)
			return
		}
		e, err := zepto.ReadEvent(r.Header, body, os.Getenv("ZEPTO_WEBHOOK_SECRET"), time.Now(), 5*time.Minute)
		if err != nil {
			http.Error(w, "not an event", http.StatusBadRequest)
			return
		}
		for _, told := range e.Told {
			key := told.Key
			if key == "" {
				key = contract.KeyFor("pay invoice", told.Metadata["invoice"])
			}
			_, err := payments.Learn(r.Context(), key, told.Outcome, "zepto event "+e.ID)
			if err != nil && !errors.Is(err, journal.ErrNotFound) { // not ours
				log.Print(err) // a sweep will find it out
			}
		}
	})
}

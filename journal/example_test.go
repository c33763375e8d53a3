package journal_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"fmt"

	"github.com/idempact/idempact/journal"
)

// Bodies are sealed before they reach the store; with another key they do not open.
func ExampleSealed() {
	newKey := func() cipher.AEAD {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret)
		block, _ := aes.NewCipher(secret)
		gcm, _ := cipher.NewGCM(block)
		return gcm
	}
	ctx := context.Background()
	memory := journal.NewMemory()
	e := journal.Entry{ID: journal.ID{Provider: "acme", Key: "k"}}
	e.Request.Body = []byte(`{"iban":"DE02120300000000202051"}`)
	e, inserted, err := journal.Sealed(memory, newKey()).Begin(ctx, e)
	fmt.Println(string(e.Request.Body), inserted, err)
	_, err = journal.Sealed(memory, newKey()).Get(ctx, e.ID)
	fmt.Println(err)
	// Output:
	// {"iban":"DE02120300000000202051"} true <nil>
	// journal: a sealed field does not open: the request body of key 324e3d44c20b at acme: another key sealed it, or it was changed
}

// The version is the fence: of two that saw the same entry one writes.
func ExampleStore() {
	ctx := context.Background()
	var store journal.Store = journal.NewMemory()
	seen, _, _ := store.Begin(ctx, journal.Entry{ID: journal.ID{Provider: "acme", Key: "k"}})
	seen.Settled = true
	stored, err := store.Update(ctx, seen)
	fmt.Println(stored.Version, err)
	_, err = store.Update(ctx, seen)
	fmt.Println(err)
	// Output:
	// 2 <nil>
	// journal: the entry has changed since it was read
}

// A message that comes twice runs once. For writes to a database, give Once the Tx of
// the transaction that writes: see the examples of package journal/sqlite.
func ExampleOnce() {
	ctx := context.Background()
	store := journal.NewMemory()
	id := journal.ID{Provider: "orders queue", Key: "message 7"}
	for range 2 {
		result, err := journal.Once(ctx, store, id, "", func(context.Context) ([]byte, error) {
			fmt.Println("running")
			return []byte("invoice 7"), nil
		})
		fmt.Println(string(result), err)
	}
	// Output:
	// running
	// invoice 7 <nil>
	// invoice 7 <nil>
}

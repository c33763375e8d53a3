package fakes

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// answer is what a provider says to one request.
type answer struct {
	status   int
	header   http.Header
	body     []byte
	replayed bool
}

// jsonAnswer panics on what cannot be marshalled: a bug of this package.
func jsonAnswer(status int, v any) answer {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("fakes: %v", err))
	}
	return answer{status: status, header: http.Header{"Content-Type": {"application/json"}}, body: b}
}

// retryAfter adds a wait in whole seconds, rounded up, if there is one.
func (a answer) retryAfter(wait time.Duration) answer {
	if wait > 0 {
		a.header = a.header.Clone()
		a.header.Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
	}
	return a
}

func proxyPage(code int) answer {
	return answer{
		status: code,
		header: http.Header{"Content-Type": {"text/html"}},
		body:   fmt.Appendf(nil, "<html><head><title>%d</title></head><body><h1>%d</h1><hr>proxy</body></html>\n", code, code),
	}
}

// deliver sends an answer as the plan says.
func deliver(w http.ResponseWriter, r *http.Request, a answer, p plan) {
	if !waitFor(r.Context().Done(), p.slow) {
		panic(http.ErrAbortHandler)
	}
	switch p.delivery {
	case deliverNothing:
		panic(http.ErrAbortHandler)
	case deliverNever:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case deliverReset:
		reset(w)
		panic(http.ErrAbortHandler)
	}
	for k, v := range a.header {
		w.Header()[k] = v
	}
	body := a.body
	if p.delivery == deliverCut {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		body = body[:min(p.cut, len(body))]
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(body) // the client may be gone: that is its right
	if p.delivery == deliverCut {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// waitFor waits for d and reports true, or false when gone closes first.
func waitFor(gone <-chan struct{}, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-gone:
		return false
	}
}

// reset ends the connection with a reset, where it has a way to.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	switch c := conn.(type) {
	case *serverEnd:
		c.broken.Store(true)
	case *net.TCPConn:
		_ = c.SetLinger(0)
	}
	_ = conn.Close()
}

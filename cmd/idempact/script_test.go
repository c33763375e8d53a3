package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/idempact/idempact/cmd/idempact/internal/fakeserver"
	"github.com/idempact/idempact/fakes"
	"github.com/idempact/idempact/internal/catalog"
)

// startFake serves a fake until the script ends, as the command does; what it logs is
// of no interest there.
func startFake(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: fake NAME [FAULT…]")
	}
	p, ok := catalog.Find(args[0])
	if !ok || p.Fake == nil {
		ts.Fatalf("no fake of %s", args[0])
	}
	faults, err := fakeserver.ParseFaults(args[1:])
	ts.Check(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	server := fakeserver.New(func() *fakes.Server { return p.Fake(&fakes.Options{Seed: 1}) }, nil)
	server.Script(faults...)
	s := &http.Server{Handler: server}
	go func() { _ = s.Serve(l) }()
	ts.Defer(func() { _ = s.Close() })
	ts.Setenv("ADDRESS", l.Addr().String())
	ts.Setenv("FAKE", "http://"+l.Addr().String())
}

// httpMain is a client for scripts: it prints an answer as curl -si does, and exits with
// 52 where none comes.
func httpMain() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: http METHOD URL [BODY [HEADER…]]")
		os.Exit(2)
	}
	body := ""
	if len(os.Args) > 3 {
		body = os.Args[3]
	}
	req, err := http.NewRequest(os.Args[1], os.Args[2], strings.NewReader(body))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	req.Header.Set("Authorization", "Bearer sk_test_1")
	if !strings.HasPrefix(body, "{") {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range os.Args[min(4, len(os.Args)):] {
		name, value, _ := strings.Cut(h, ":")
		req.Header.Set(name, strings.TrimSpace(value))
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		fmt.Fprintln(os.Stderr, "no answer")
		os.Exit(52)
	}
	defer resp.Body.Close()
	if err := resp.Write(os.Stdout); err != nil {
		os.Exit(56)
	}
}

package fakes

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// ParseFault reads a fault as its String writes it: "LoseReply", "Throttle(3s)",
// "CutBody(9)", "SaveError(500)". Status takes a body after a comma, "Status(402,
// {"error":{}})". An error names what is not understood.
func ParseFault(s string) (Fault, error) {
	name, argument, has := strings.Cut(strings.TrimSpace(s), "(")
	argument, closed := strings.CutSuffix(argument, ")")
	parse := parsers[name]
	switch {
	case parse == nil:
		return nil, fmt.Errorf("no fault is named %q: they are %s", name, strings.Join(faultNames(), ", "))
	case has != closed:
		return nil, fmt.Errorf("%s: its bracket is not closed", name)
	}
	f, err := parse(strings.TrimSpace(argument))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// parsers read the argument of each fault.
var parsers = map[string]func(string) (Fault, error){
	"None": plain(None), "LoseReply": plain(LoseReply), "Hang": plain(Hang),
	"RefuseConnection": plain(RefuseConnection), "ResetAfterSend": plain(ResetAfterSend),
	"CutBody":           number(0, 1<<30, CutBody),
	"SaveError":         number(400, 599, SaveError),
	"SaveErrorNoEffect": number(400, 599, SaveErrorNoEffect),
	"HTMLPage":          number(200, 599, HTMLPage),
	"InFlight":          duration(InFlight),
	"Throttle":          duration(Throttle),
	"Unavailable":       duration(Unavailable),
	"Slow":              duration(Slow),
	"Redirect":          redirectTo,
	"Status":            statusAndBody,
}

// faultNames are all of them, with what each takes.
func faultNames() []string {
	return []string{"None", "LoseReply", "Hang", "RefuseConnection", "ResetAfterSend", "CutBody(bytes)", "InFlight(5s)",
		"SaveError(500)", "SaveErrorNoEffect(500)", "Throttle(3s)", "Unavailable(3s)", "Status(402, body)", "Slow(3s)",
		"HTMLPage(502)", "Redirect(url)"}
}

func plain(f Fault) func(string) (Fault, error) {
	return func(argument string) (Fault, error) {
		if argument != "" {
			return nil, fmt.Errorf("it takes nothing")
		}
		return f, nil
	}
}

func number(least, most int, of func(int) Fault) func(string) (Fault, error) {
	return func(argument string) (Fault, error) {
		n, err := strconv.Atoi(argument)
		if err != nil || n < least || n > most {
			return nil, fmt.Errorf("it takes a number from %d to %d", least, most)
		}
		return of(n), nil
	}
}

func duration(of func(time.Duration) Fault) func(string) (Fault, error) {
	return func(argument string) (Fault, error) {
		d, err := time.ParseDuration(argument)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("it takes a duration such as 3s")
		}
		return of(d), nil
	}
}

func redirectTo(argument string) (Fault, error) {
	if u, err := url.Parse(argument); err != nil || argument == "" || u.Host == "" {
		return nil, fmt.Errorf("it takes a URL")
	}
	return Redirect(argument), nil
}

func statusAndBody(argument string) (Fault, error) {
	code, body, _ := strings.Cut(argument, ",")
	n, err := strconv.Atoi(strings.TrimSpace(code))
	if err != nil || n < 200 || n > 599 {
		return nil, fmt.Errorf("it takes a status from 200 to 599, and a body after a comma")
	}
	return Status(n, strings.TrimSpace(body)), nil
}

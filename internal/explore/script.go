package explore

import (
	"fmt"
	"slices"
	"strings"
)

// Script is a schedule to read and to replay: the scenario's name and, a line
// each, where it was not fine.
//
//	stripe v1
//	A send 1: LoseReply
//	A send 2: the process dies after it
//	A restart 1: after 4h0m0s
type Script string

// script writes down what was chosen.
func (s *Scenario) script(path []choice) Script {
	a := s.alphabet()
	lines := []string{s.String()}
	for _, c := range path {
		if c.pick > 0 {
			lines = append(lines, fmt.Sprintf("%v: %s", c.place, a[c.kind][c.pick].name))
		}
	}
	return Script(strings.Join(lines, "\n"))
}

// replay answers as a script says, and with the first answer elsewhere.
type replay struct {
	alphabet alphabet
	lines    map[string]string // by place
	bad      error
}

func (r *replay) choose(p place, n int, _ func() string) int {
	what, ok := r.lines[p.String()]
	if !ok {
		return 0
	}
	delete(r.lines, p.String())
	pick := slices.IndexFunc(r.alphabet[p.kind], func(e event) bool { return e.name == what })
	if pick < 0 || pick >= n {
		r.bad = fmt.Errorf("%v: %q cannot happen there", p, what)
		return 0
	}
	return pick
}

// unused returns an error if the run did not do all that the script says.
func (r *replay) unused() error {
	if r.bad == nil && len(r.lines) > 0 {
		return fmt.Errorf("the run never came to: %v", r.lines)
	}
	return r.bad
}

// parse reads a script for one of the scenarios.
func parse(text Script, scenarios []Scenario) (*Scenario, *replay, error) {
	var lines []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return nil, nil, fmt.Errorf("an empty script")
	}
	at := slices.IndexFunc(scenarios, func(s Scenario) bool { return s.String() == lines[0] })
	if at < 0 {
		return nil, nil, fmt.Errorf("no scenario %q", lines[0])
	}
	r := &replay{alphabet: scenarios[at].alphabet(), lines: map[string]string{}}
	for _, line := range lines[1:] {
		where, what, ok := strings.Cut(line, ": ")
		if _, twice := r.lines[where]; !ok || twice {
			return nil, nil, fmt.Errorf("%q is no line of a script, or the second of its place", line)
		}
		r.lines[where] = what
	}
	return &scenarios[at], r, nil
}

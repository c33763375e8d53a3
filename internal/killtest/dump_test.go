package killtest

import (
	"fmt"
	"strings"
)

// story tells what is known of the orders that are objected to, for whoever must
// find out why.
func (b *books) story(broken []string) string {
	var s strings.Builder
	for order := range b.orders {
		for _, text := range broken {
			if !strings.HasPrefix(text, orderName(order)+" ") && !strings.HasPrefix(text, orderName(order)+":") {
				continue
			}
			fmt.Fprintf(&s, "\n%s at %s\n", orderName(order), providerOf(order))
			for _, l := range b.reports {
				if l.Order == order {
					fmt.Fprintf(&s, "  %s report %+v\n", l.At.UTC().Format(stamp), l)
				}
			}
			for _, q := range b.requests[order] {
				fmt.Fprintf(&s, "  %s request %s %s %d, replayed %t\n", q.Time.UTC().Format(stamp), q.ID, q.Fault, q.Status, q.Replayed)
			}
			for _, e := range b.effects[order] {
				fmt.Fprintf(&s, "  %s effect %s of %s\n", e.Time.UTC().Format(stamp), e.Resource, e.RequestID)
			}
			e := b.entries[order]
			fmt.Fprintf(&s, "  journal: settled %t, %d sweeps, %+v\n", e.Settled, e.Sweeps, e.Verdict)
			break
		}
	}
	return s.String()
}

const stamp = "15:04:05.000000"

package cli

import (
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/jedib0t/go-pretty/v6/text"
)

// bar is a progress bar on a terminal, and nothing elsewhere.
type bar struct {
	writer  progress.Writer
	tracker *progress.Tracker
}

func newBar(c *console, what string, total int) *bar {
	if !isTerminal(c.errs) || total == 0 || c.json {
		return &bar{}
	}
	b := &bar{writer: progress.NewWriter(), tracker: &progress.Tracker{Message: what, Total: int64(total)}}
	b.writer.SetOutputWriter(c.errs)
	b.writer.SetUpdateFrequency(100 * time.Millisecond)
	b.writer.SetAutoStop(false)
	b.writer.AppendTracker(b.tracker)
	if !c.coloredE {
		text.DisableColors()
	}
	go b.writer.Render()
	return b
}

func (b *bar) set(done int) {
	if b.tracker != nil {
		b.tracker.SetValue(int64(done))
	}
}

func (b *bar) stop() {
	if b.writer == nil {
		return
	}
	b.tracker.MarkAsDone()
	b.writer.Stop()
	for b.writer.IsRenderInProgress() {
		time.Sleep(10 * time.Millisecond)
	}
}

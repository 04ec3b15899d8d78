package main

import (
	"fmt"
	"io"
	"sync"
)

// console speaks to the person at the terminal, in short lines on standard
// error. Several goroutines may use it.
type console struct {
	mu    sync.Mutex
	w     io.Writer
	quiet bool
}

// progress is for lines a reader can do without.
func (c *console) progress(format string, args ...any) {
	if !c.quiet {
		c.line(format, args...)
	}
}

// warn is for lines a reader should see whatever they asked for.
func (c *console) warn(format string, args ...any) { c.line(format, args...) }

func (c *console) line(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = fmt.Fprintf(c.w, "devstack: "+format+"\n", args...)
}

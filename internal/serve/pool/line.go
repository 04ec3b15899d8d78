package pool

import (
	"context"
	"slices"
)

// ticket is a place in the line for the device. Whoever comes first goes first, so
// that nobody waits for ever while others share a server.
type ticket struct{ _ byte } // of a size, so that no two are one

// turn waits until the caller is first in line and may go. May is called with the
// lock, and takes what it needs where it says yes; where not, it says for what it
// waits. Until leave is called nobody else goes.
func (p *Pool) turn(ctx context.Context, may func() (bool, string), report func(string)) (leave func(), err error) {
	t := new(ticket)
	leave = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.line = slices.DeleteFunc(p.line, func(other *ticket) bool { return other == t })
		p.broadcast()
	}
	p.mu.Lock()
	p.line = append(p.line, t)
	told := ""
	for {
		if p.closed {
			p.mu.Unlock()
			leave()
			return nil, ErrClosed
		}
		note, ok := "waiting for others who want the device before", false
		if p.line[0] == t {
			ok, note = may()
		}
		changed := p.changed
		p.mu.Unlock()
		if ok {
			return leave, nil
		}
		if note != told {
			told = note
			report(note)
		}
		select {
		case <-ctx.Done():
			leave()
			return nil, context.Cause(ctx)
		case <-changed:
		}
		p.mu.Lock()
	}
}

// unused says whether no server on the device is in use but one, and which is.
func (p *Pool) unused(but *server) (bool, string) {
	for _, s := range p.servers {
		if s != but && s.own && s.users > 0 {
			return false, "waiting for the device: server " + s.name + " is in use"
		}
	}
	return true, ""
}

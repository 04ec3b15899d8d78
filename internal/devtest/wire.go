package devtest

import (
	"errors"
	"net"
	"sync"
	"time"
)

// Wire is a TCP proxy before a server on this machine, which a test can cut.
type Wire struct {
	target   string
	listener net.Listener
	wg       sync.WaitGroup

	mu     sync.Mutex
	state  wireState
	mended chan struct{} // closed while bytes pass
	open   map[net.Conn]bool
}

type wireState int

const (
	whole wireState = iota
	cut
	stalled
	closed
)

// NewWire starts a proxy before the server at target, HOST:PORT.
func NewWire(target string) (*Wire, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &Wire{target: target, listener: l, mended: make(chan struct{}), open: map[net.Conn]bool{}}
	close(w.mended)
	w.wg.Go(w.accept)
	return w, nil
}

// Address is where to connect instead of to the server.
func (w *Wire) Address() string { return w.listener.Addr().String() }

// Cut breaks all connections, and refuses new ones until Mend.
func (w *Wire) Cut() { w.set(cut) }

// Stall lets nothing through until Mend, in either direction, and tells nobody:
// connections stay open, and new ones open.
func (w *Wire) Stall() { w.set(stalled) }

// Mend lets everything through again.
func (w *Wire) Mend() { w.set(whole) }

// Close ends the proxy and all that goes through it.
func (w *Wire) Close() error {
	w.set(closed)
	err := w.listener.Close()
	w.wg.Wait()
	return err
}

func (w *Wire) set(s wireState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == closed {
		return
	}
	if w.state == stalled && s != stalled {
		close(w.mended)
	}
	if w.state != stalled && s == stalled {
		w.mended = make(chan struct{})
	}
	w.state = s
	if s == cut || s == closed {
		for c := range w.open {
			_ = c.Close() // whoever uses it gets an error, as is meant
		}
	}
}

func (w *Wire) accept() {
	for {
		c, err := w.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			w.wg.Go(func() { w.carry(c) })
		}
	}
}

// carry connects a client with the server until one of them is gone.
func (w *Wire) carry(client net.Conn) {
	defer w.drop(client)
	if !w.take(client) {
		return
	}
	<-w.passing()
	server, err := net.DialTimeout("tcp", w.target, 5*time.Second)
	if err != nil {
		return
	}
	defer w.drop(server)
	if !w.take(server) {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { w.copy(server, client) })
	w.copy(client, server)
	wg.Wait()
}

func (w *Wire) copy(to, from net.Conn) {
	// One side's end is the other's: no protocol here goes on half open.
	defer func() { _ = errors.Join(to.Close(), from.Close()) }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		<-w.passing()
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}

// passing is closed as soon as bytes may pass.
func (w *Wire) passing() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mended
}

// take keeps a connection for Cut; false if there is none to be had now.
func (w *Wire) take(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == cut || w.state == closed {
		return false
	}
	w.open[c] = true
	return true
}

func (w *Wire) drop(c net.Conn) {
	_ = c.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, c)
}

package devtest_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"floe/internal/devtest"
)

// echo answers each line with the same line.
func echo(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c) }() // until the client is gone
		}
	}()
	return l.Addr().String()
}

func wire(t *testing.T) *devtest.Wire {
	t.Helper()
	w, err := devtest.NewWire(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func connected(t *testing.T, w *devtest.Wire) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", w.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // the wire may have closed it
	return c
}

// hears sends a line and waits for the answer.
func hears(c net.Conn, within time.Duration) error {
	if err := c.SetDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(c, "are you there?"); err != nil {
		return err
	}
	_, err := bufio.NewReader(c).ReadString('\n')
	return err
}

func TestACutWireBreaksConnectionsAndAMendedOneTakesNewOnes(t *testing.T) {
	w := wire(t)
	c := connected(t, w)
	if err := hears(c, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	w.Cut()
	if err := hears(c, 10*time.Second); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("over a cut wire: %v; want a broken connection", err)
	}
	if err := hears(connected(t, w), 10*time.Second); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a new connection over a cut wire: %v; want it broken", err)
	}
	w.Mend()
	if err := hears(connected(t, w), 10*time.Second); err != nil {
		t.Errorf("after mending: %v", err)
	}
}

func TestAStalledWireLosesNothing(t *testing.T) {
	w := wire(t)
	c := connected(t, w)
	w.Stall()
	if err := hears(c, 100*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("over a stalled wire: %v; want silence", err)
	}
	w.Mend()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || line != "are you there?\n" {
		t.Errorf("after mending: %q, %v; want what was sent before", line, err)
	}
}

func TestAProxyBeforeADeadServerBreaksTheConnection(t *testing.T) {
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	proxy, err := devtest.Between(dead.URL, func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) })
	if err != nil {
		t.Fatal(err)
	}
	proxy.Start()
	defer proxy.Close()
	out, err := http.Get(proxy.URL)
	if err == nil {
		t.Errorf("got %s; want no answer", out.Status)
		if err := out.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

package chaos

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"floe/internal/devtest"
)

// storeLine is the way from one worker to the store.
type storeLine struct {
	server *httptest.Server

	mu     sync.Mutex
	drop   int // answers to writes that still get lost
	lost   int // answers that got lost
	cut    bool
	delay  time.Duration
	victim sync.Mutex
}

func newStoreLine(target string) (*storeLine, error) {
	l := &storeLine{}
	server, err := devtest.Between(target, l.carry)
	if err != nil {
		return nil, err
	}
	l.server = server
	server.Start()
	return l, nil
}

func (l *storeLine) carry(w http.ResponseWriter, r *http.Request, next http.Handler) {
	l.mu.Lock()
	cut, delay := l.cut, l.delay
	drop := l.drop > 0 && (r.Method == http.MethodPut || r.Method == http.MethodPost || r.Method == http.MethodDelete)
	if drop {
		l.drop--
		l.lost++
	}
	l.mu.Unlock()
	if cut {
		panic(http.ErrAbortHandler)
	}
	select {
	case <-time.After(delay):
	case <-r.Context().Done():
		panic(http.ErrAbortHandler)
	}
	if drop {
		next.ServeHTTP(&nowhere{header: http.Header{}}, r)
		panic(http.ErrAbortHandler)
	}
	next.ServeHTTP(w, r)
}

// set changes the line for a while.
func (l *storeLine) set(change func(*storeLine)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

// sever breaks what is under way, and lets nothing through.
func (l *storeLine) sever() {
	l.set(func(l *storeLine) { l.cut = true })
	l.server.CloseClientConnections()
}

// dropping says how many answers are still to get lost, and how many did.
func (l *storeLine) dropping() (left, lost int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.drop, l.lost
}

// nowhere takes an answer and keeps nothing of it.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n *nowhere) WriteHeader(int)             {}

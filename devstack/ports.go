package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
	"time"
)

// loopback is the only address anything here listens on.
const loopback = "127.0.0.1"

// portWish is a port a user may choose.
type portWish struct {
	what string
	flag string
	port int // 0: any
}

func (o *options) ports() []portWish {
	return []portWish{
		{"Temporal", "--temporal-port", o.temporalPort},
		{"the Web UI", "--ui-port", o.uiPort},
		{"S3", "--s3-port", o.s3Port},
	}
}

// ports says who listens where. The last three are Temporal's own: its parts
// talk to each other over the network even inside one process.
type ports struct {
	temporal, ui, s3          int
	history, matching, worker int
}

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// choosePorts checks the ports the user named and finds free ones for the rest.
// It reports every port that is taken, not only the first.
//
// The check is made before anything starts because Temporal only logs a line
// when its port is taken, and the Web UI ends the process.
func choosePorts(o options) (ports, error) {
	var errs []error
	for _, wish := range o.ports() {
		if wish.port != 0 {
			errs = append(errs, checkPort(wish))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return ports{}, err
	}

	p := ports{temporal: o.temporalPort, ui: o.uiPort, s3: o.s3Port}
	used := map[int]bool{p.temporal: true, p.ui: true, p.s3: true}
	for _, port := range []*int{&p.temporal, &p.ui, &p.s3, &p.history, &p.matching, &p.worker} {
		if *port != 0 {
			continue
		}
		free, err := freePort(used)
		if err != nil {
			return ports{}, err
		}
		used[free] = true
		*port = free
	}
	return p, nil
}

// portPatience covers the S3 child of a stack that was killed this instant and
// is still on its way out.
const portPatience = time.Second

func checkPort(wish portWish) error {
	deadline := time.Now().Add(portPatience)
	for {
		err := tryListen(wish.port)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EADDRINUSE):
			return fmt.Errorf("port %d for %s: %w; choose another with %s", wish.port, wish.what, err, wish.flag)
		case time.Now().After(deadline):
			return fmt.Errorf("port %d for %s is taken by %s; stop it or choose another port with %s",
				wish.port, wish.what, portHolder(wish.port), wish.flag)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func tryListen(port int) error {
	l, err := net.Listen("tcp", address(port))
	if err != nil {
		return err
	}
	return l.Close()
}

// freePort looks below the range from which the kernel takes the near ends of
// outgoing connections: a port found there by listening on :0 may be such an
// end before its server gets to it.
func freePort(used map[int]bool) (int, error) {
	const low, high, attempts = 16384, 32768, 200
	for range attempts {
		port := low + rand.IntN(high-low) // #nosec G404 -- a port number is no secret
		if !used[port] && tryListen(port) == nil && reserve(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port between %d and %d in %d attempts", low, high, attempts)
}

package main

import (
	"fmt"
	"net"
)

// reserved keeps reservations until the process ends.
var reserved []net.Listener

// reserve keeps a port from other development stacks that choose theirs at this moment,
// until this process ends: between choosing a port and listening on it another could
// take it. The name of an abstract socket lives as long as its process, and in the same
// network namespace as the port.
func reserve(port int) bool {
	l, err := net.Listen("unix", fmt.Sprintf("@floe-devstack-port-%d", port))
	if err != nil {
		return false
	}
	reserved = append(reserved, l)
	return true
}

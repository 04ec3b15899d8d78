package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// portHolder names the process that listens on a port, as far as this user may
// know.
func portHolder(port int) string {
	inodes := listeningInodes(port)
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(inodes) == 0 {
		return unknownHolder
	}
	for _, proc := range processes {
		if hasSocket(proc, inodes) {
			return fmt.Sprintf("pid %s (%s)", filepath.Base(proc), programName(proc))
		}
	}
	return unknownHolder
}

// listeningInodes returns the links, as they appear in /proc/PID/fd, of the
// sockets that listen on a port at any address.
func listeningInodes(port int) map[string]bool {
	links := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table) // #nosec G304 -- a fixed path
		if err != nil {
			continue
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			if inode, ok := listener(lines.Text(), port); ok {
				links["socket:["+inode+"]"] = true
			}
		}
		_ = f.Close()
	}
	return links
}

// listener reads a line of /proc/net/tcp: slot, local address, remote address,
// state, ..., and the inode as tenth field; state 0A is LISTEN.
func listener(line string, port int) (inode string, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 10 || fields[3] != "0A" {
		return "", false
	}
	_, hexPort, _ := strings.Cut(fields[1], ":")
	got, err := strconv.ParseUint(hexPort, 16, 16)
	return fields[9], err == nil && int(got) == port
}

func hasSocket(proc string, links map[string]bool) bool {
	fds, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		return false // gone, or not ours to look at
	}
	for _, fd := range fds {
		if link, err := os.Readlink(filepath.Join(proc, "fd", fd.Name())); err == nil && links[link] {
			return true
		}
	}
	return false
}

func programName(proc string) string {
	comm, err := os.ReadFile(filepath.Join(proc, "comm")) // #nosec G304 -- below /proc
	if err != nil {
		return "name unknown"
	}
	return strings.TrimSpace(string(comm))
}

package main

import (
	"encoding/json"
	"path/filepath"
	"sync"
)

// servicesFile is where a supervisor declares, in its data folder, what it runs.
const servicesFile = "services.json"

// running is a service as its supervisor declares it.
type running struct {
	Name   string `json:"name"`
	PID    int    `json:"pid"`    // of the latest start; 0 between two starts
	Starts int    `json:"starts"` // since the supervisor's own start
}

// declaration keeps the file of a supervisor's services up to date.
type declaration struct {
	file string
	say  func(format string, args ...any)

	mu  sync.Mutex
	all []running
}

func declareIn(data string, say func(string, ...any)) *declaration {
	return &declaration{file: filepath.Join(data, servicesFile), say: say}
}

// runs declares a start of a service by its process, and with 0 its end.
func (d *declaration) runs(name string, pid int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.service(name)
	if s.PID = pid; pid > 0 {
		s.Starts++
	}
	body, err := json.MarshalIndent(d.all, "", "  ")
	if err == nil {
		err = writeFile(d.file, append(body, '\n'))
	}
	if err != nil {
		d.say("%s does not say what runs: %v", d.file, err)
	}
}

func (d *declaration) service(name string) *running {
	for i := range d.all {
		if d.all[i].Name == name {
			return &d.all[i]
		}
	}
	d.all = append(d.all, running{Name: name})
	return &d.all[len(d.all)-1]
}

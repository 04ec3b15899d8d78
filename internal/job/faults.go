package job

import (
	"encoding/json"
	"errors"
	"fmt"
)

// faults collects what is wrong with a file, so that all of it is told at once.
type faults struct {
	name string // of the file
	errs []error
}

// add notes a fault at a path of the file.
func (f *faults) add(path, format string, args ...any) {
	where := f.name
	if path != "" {
		where += ": " + path
	}
	f.errs = append(f.errs, fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...)))
}

// want notes a fault unless something holds.
func (f *faults) want(holds bool, path string, found any, want string) {
	if !holds {
		f.add(path, "found %s; want %s", shown(found), want)
	}
}

// digest notes a fault unless value is a sha256, or nil.
func (f *faults) digest(path string, value *string) {
	if value != nil {
		f.want(sumForm.MatchString(*value), path, *value, "64 lower-case hex digits")
	}
}

func (f *faults) err() error { return errors.Join(f.errs...) }

// shown is a value as a fault shows it: short.
func shown(v any) string {
	body, err := json.Marshal(v)
	if err != nil { // a NaN
		return fmt.Sprint(v)
	}
	return short(string(body))
}

func short(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		return string(r[:most-3]) + "..."
	}
	return text
}

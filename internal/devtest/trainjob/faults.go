package trainjob

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Variables of a trainer that is to have trouble. A fault is KIND:STEP, and with
// @ATTEMPT in that attempt alone; several are joined by commas:
//
//	kill:3@1      after step 3, and before its checkpoint, it kills itself with -9
//	tear:4        likewise, in the middle of the checkpoint of step 4
//	hang:2        it goes on for ever after step 2, and does not hear SIGTERM
//	hold:2        it waits after step 2 until the file that EnvGo names is there, or
//	              until it is asked to stop
//	exit=78:0     it ends with code 78 after step 0, which is before the first
//	nan:2         the loss of step 2 is not finite
//	empty:0       it ends with code 0 and has done nothing
const (
	EnvFaults = "TRAINJOB_FAULTS"
	EnvGo     = "TRAINJOB_GO"
	EnvSlow   = "TRAINJOB_SLOW" // longer steps, such as 200ms
)

type fault struct {
	kind                 string
	value, step, attempt int
}

type faults struct {
	list []fault
	slow time.Duration
}

var (
	faultForm  = regexp.MustCompile(`^([a-z]+)(?:=(\d+))?:(\d+)(?:@(\d+))?$`)
	faultKinds = []string{"kill", "tear", "hang", "hold", "exit", "nan", "empty"}
)

// readFaults keeps the faults of one attempt.
func readFaults(text string, attempt int) (faults, error) {
	var f faults
	var errs []error
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		m := faultForm.FindStringSubmatch(part)
		if m == nil || !slices.Contains(faultKinds, m[1]) || (m[1] == "exit") != (m[2] != "") {
			errs = append(errs, fmt.Errorf("%s: found %q; want KIND:STEP or KIND:STEP@ATTEMPT with one of %s", EnvFaults, part, strings.Join(faultKinds, ", ")))
			continue
		}
		n := func(i int) int { v, _ := strconv.Atoi(cmp.Or(m[i], "0")); return v } // digits, by the form
		if one := (fault{m[1], n(2), n(3), n(4)}); one.attempt == 0 || one.attempt == attempt {
			f.list = append(f.list, one)
		}
	}
	if slow := os.Getenv(EnvSlow); slow != "" {
		var err error
		if f.slow, err = time.ParseDuration(slow); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", EnvSlow, err))
		}
	}
	return f, errors.Join(errs...)
}

// due finds the fault of a kind after a step.
func (f faults) due(kind string, step int) *fault {
	i := slices.IndexFunc(f.list, func(x fault) bool { return x.kind == kind && x.step == step })
	if i < 0 {
		return nil
	}
	return &f.list[i]
}

func (f faults) empty() bool { return f.due("empty", 0) != nil }

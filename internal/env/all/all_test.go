package all

import (
	"strings"
	"testing"
)

func TestEveryNameOpensItsEnvironment(t *testing.T) {
	for _, name := range Names() {
		e, err := Open(name)
		if err != nil || e.Name() != name {
			t.Errorf("open %q: %v, %v", name, e, err)
		}
	}
}

func TestUnknownNamesAreToldWhatThereIs(t *testing.T) {
	for name, wantHint := range map[string]bool{"": false, "Lake": true, "lak": true, "laek": true, "sokoban": false} {
		_, err := Open(name)
		if err == nil || !strings.Contains(err.Error(), "there is lake") {
			t.Errorf("%q: error %v; want one that lists the names", name, err)
			continue
		}
		if got := strings.Contains(err.Error(), `did you mean "lake"?`); got != wantHint {
			t.Errorf("%q: %v; want a hint: %v", name, err, wantHint)
		}
	}
}

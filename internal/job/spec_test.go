package job_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"floe/internal/job"
)

func TestASpecThatIsWrittenIsRead(t *testing.T) {
	want := example()
	body, digest, err := want.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, sum, err := job.ReadSpec(bytes.NewReader(body))
	if err != nil || sum != digest || digest != job.Digest(body) {
		t.Fatalf("read with digest %s, %v; want %s", sum, err, digest)
	}
	var compact bytes.Buffer // the writer lays the settings out anew
	if err := json.Compact(&compact, got.Settings); err != nil {
		t.Fatal(err)
	}
	got.Settings = compact.Bytes()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v; want %+v", got, want)
	}
}

func TestTheDocumentedSpecIsRead(t *testing.T) {
	s, _, err := job.ReadSpec(strings.NewReader(documented(t)))
	if err != nil {
		t.Fatal(err)
	}
	if s.ExpectedSteps != 250 || s.Init == nil || s.Reward.State.Within != 41230 {
		t.Errorf("read %+v; want the numbers of docs/jobs.md", s)
	}
}

func TestAbsentKeysOfASpecHaveTheirDefaults(t *testing.T) {
	s, _, err := job.ReadSpec(strings.NewReader(minimal))
	if err != nil {
		t.Fatal(err)
	}
	if s.Init != nil || s.Resume != job.ResumeLatest || s.Limits != (job.Limits{GraceSeconds: 120}) || string(s.Settings) != "{}" {
		t.Errorf("got %+v; want the defaults of docs/jobs.md", s)
	}
}

const minimal = `{"schema":"floe.job/v1","trainer":"trl","base_model":{"uri":"m"},
 "dataset":{"uri":"d","sha256":"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd","rows":3},
 "reward":{"referee":["starter"],"environment":"lake","settings":{"floor":0.3,"free_tokens":1,"full_tokens":2,"accuracy_low":0.5,"accuracy_top":0.8,"length_of":"valid"},"state":{"answers":0,"within":0}},
 "epochs":1,"seed":"s","expected_steps":3}`

func TestEveryFaultOfASpecIsTold(t *testing.T) {
	for _, c := range []struct{ old, text, want string }{
		{`"epochs":1`, `"epochs":1,"epoch":2`, "epoch: unknown key"},
		{`"epochs":1`, `"epochs":1,"epochs":2`, "epochs: found it more than once"},
		{`"rows":3`, `"row":3`, "dataset.rows: missing"},
		{`"rows":3`, `"rows":3.5`, "dataset.rows: found 3.5; want a whole number"},
		{`"rows":3`, `"rows":"3"`, `dataset.rows: found "3"; want a whole number`},
		{`"rows":3`, `"rows":null`, "dataset.rows: found null"},
		{`"rows":3`, `"rows":0`, "dataset.rows: found 0; want 1 or more"},
		{`"floor":0.3`, `"floor":1e999`, "reward.settings.floor: found 1e999"},
		{`"floor":0.3`, `"floor":NaN`, "invalid character 'N'"},
		{`"floor":0.3`, `"floor":1.5`, "reward.settings.floor: found 1.5; want a share"},
		{`"full_tokens":2`, `"full_tokens":1`, "want more than free_tokens = 1"},
		{`"within":0`, `"within":1`, "want at most answers = 0"},
		{`"schema":"floe.job/v1"`, `"schema":"floe.job/v2"`, `schema: found "floe.job/v2"; want floe.job/v1`},
		{`"seed":"s"`, `"seed":""`, "seed: found"},
		{`"seed":"s"`, `"seed":"s","settings":[]`, "settings: found []; want an object"},
		{`"seed":"s"`, `"seed":"s","settings":{"a":{"b":1,"b":2}}`, "settings.a.b: found it more than once"},
		{`"seed":"s"`, `"seed":"s","settings":{"a":[1e400]}`, "settings.a[0]: found 1e400"},
		{`["starter"]`, `[]`, "reward.referee: found []"},
		{`"expected_steps":3}`, `"expected_steps":3} {}`, "found more after the end"},
		{`"expected_steps":3}`, `"expected_steps":3`, "torn or empty"},
		{`dddd"`, `ddd"`, "want 64 lower-case hex digits"},
	} {
		text := strings.Replace(minimal, c.old, c.text, 1)
		_, _, err := job.ReadSpec(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s instead of %s: got %v; want %q", c.text, c.old, err, c.want)
		}
	}
	both := strings.NewReplacer(`"rows":3`, `"rows":-1`, `"epochs":1`, `"epochs":0`).Replace(minimal)
	if _, _, err := job.ReadSpec(strings.NewReader(both)); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v; want both faults", err)
	}
}

func TestASpecWithFaultsIsNotWritten(t *testing.T) {
	s := example()
	s.Epochs, s.Settings = 0, json.RawMessage(`{"a":1,"a":2}`)
	if _, _, err := s.Marshal(); err == nil || !strings.Contains(err.Error(), "epochs") {
		t.Errorf("got %v; want the epochs named", err)
	}
	s.Epochs = 1
	if _, _, err := s.Marshal(); err == nil || !strings.Contains(err.Error(), "settings.a") {
		t.Errorf("got %v; want the repeated setting named", err)
	}
}

func FuzzReadSpec(f *testing.F) {
	f.Add(minimal)
	f.Add(`{"a":[{}],"a":1e999}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, _, err := job.ReadSpec(strings.NewReader(text))
		if err != nil {
			return
		}
		body, _, err := s.Marshal()
		if err != nil {
			t.Fatalf("it was read and cannot be written: %v", err)
		}
		again, _, err := job.ReadSpec(bytes.NewReader(body))
		if err != nil || again.Seed != s.Seed || again.ExpectedSteps != s.ExpectedSteps {
			t.Fatalf("written and read again it is %+v, %v; want %+v", again, err, s)
		}
	})
}

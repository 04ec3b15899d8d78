package skill_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"floe/internal/designer"
	"floe/internal/devtest/skill"
	"floe/internal/endpoint"
	"floe/internal/env"
	"floe/internal/env/all"
	"floe/internal/experiment"
	"floe/internal/serve/servetest"
)

func TestAModelIsReadAsItWasWritten(t *testing.T) {
	dir := t.TempDir()
	if err := skill.Skill(0.375).WriteModel(dir); err != nil {
		t.Fatal(err)
	}
	adapter, err := skill.Skill(0.75).Adapter(dir, 8)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := skill.Read(os.DirFS(dir)); err != nil || s != 0.375 {
		t.Errorf("the model has the skill %v, %v", s, err)
	}
	for name, body := range adapter {
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := skill.Read(os.DirFS(dir)); err != nil || s != 0.75 {
		t.Errorf("the adapter has the skill %v, %v", s, err)
	}
	for _, spoilt := range [][]byte{nil, []byte("12345678"), append(adapter["adapter_model.safetensors"], 0)} {
		if err := os.WriteFile(filepath.Join(dir, "adapter_model.safetensors"), spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := skill.Read(os.DirFS(dir)); err == nil {
			t.Errorf("%q was read as the skill %v", spoilt, s)
		}
	}
}

func tasks(t *testing.T) (env.Environment, []env.Task) {
	t.Helper()
	e, err := all.Open("lake")
	if err != nil {
		t.Fatal(err)
	}
	var rows []experiment.Row
	for _, size := range []string{"3x3", "4x4"} {
		rows = append(rows, experiment.Row{Size: size, DataRatio: 0.5, Knobs: []experiment.Knob{{Name: "hole_ratio", Value: 0.1}, {Name: "wait_ratio", Value: 0.2}}})
	}
	drawn, _, err := env.Tasks(t.Context(), e, env.Order{
		Split: env.SplitValidation, Seed: "a test", IDPrefix: "v", Agents: 2, Objective: "sum_of_costs", Samples: 100,
		Curriculum: experiment.Curriculum{Rows: rows},
	}, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	return e, drawn
}

// served is a server of base models and adapters of two skills.
func served(t *testing.T) endpoint.Endpoint {
	t.Helper()
	dir := t.TempDir()
	if err := skill.Skill(0.25).WriteModel(filepath.Join(dir, "base")); err != nil {
		t.Fatal(err)
	}
	if err := skill.Skill(0.75).WriteModel(filepath.Join(dir, "better")); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(servetest.New("vllm", filepath.Join(dir, "base"), "base", skill.Answer))
	t.Cleanup(server.Close)
	body := fmt.Sprintf(`{"lora_name":"better","lora_path":%q}`, filepath.Join(dir, "better"))
	resp, err := server.Client().Post(server.URL+"/v1/load_lora_adapter", "application/json", strings.NewReader(body))
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	_ = resp.Body.Close()
	e, err := endpoint.New(server.URL+"/v1", "")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func asked(t *testing.T, e endpoint.Endpoint, model, prompt string, temperature float64, seed int) string {
	t.Helper()
	r, trouble := e.Call(t.Context(), endpoint.Request{
		Model: model, MaxTokens: 4096, Temperature: temperature, Seed: seed,
		Messages: []endpoint.Message{{Role: endpoint.RoleUser, Content: prompt}},
	})
	if trouble != nil {
		t.Fatal(trouble)
	}
	return r.Text
}

func TestAServedModelSolvesItsShareOfTasks(t *testing.T) {
	at := served(t)
	e, drawn := tasks(t)
	solved := map[string]map[string]bool{}
	for model, want := range map[string]float64{"base": 0.25, "better": 0.75} {
		solved[model] = map[string]bool{}
		for i, task := range drawn {
			p, err := e.Open(task)
			if err != nil {
				t.Fatal(err)
			}
			text := asked(t, at, model, task.Prompt, 0, i)
			if v := p.Judge(text); v.Valid && v.Optimal {
				solved[model][task.ID] = true
			}
			if again := asked(t, at, model, task.Prompt, 0, i+1); again != text {
				t.Errorf("%s answers %s in two ways, without a temperature", model, task.ID)
			}
		}
		share := float64(len(solved[model])) / float64(len(drawn))
		if deviation := math.Sqrt(want * (1 - want) / float64(len(drawn))); math.Abs(share-want) > 4*deviation {
			t.Errorf("%s solves %v; want about %v", model, share, want)
		}
	}
	for id := range solved["base"] {
		if !solved["better"][id] {
			t.Errorf("the better model does not solve %s", id)
		}
	}
	different := false
	for seed := range 20 {
		different = different || asked(t, at, "base", drawn[0].Prompt, 1, seed) != asked(t, at, "base", drawn[0].Prompt, 1, seed+1)
	}
	if !different {
		t.Error("with a temperature, 20 seeds give the same answer")
	}
}

func TestAServedModelDesignsACurriculumThatCanBeUsed(t *testing.T) {
	at := served(t)
	lake, err := all.Open("lake")
	if err != nil {
		t.Fatal(err)
	}
	golden, err := filepath.Glob("../../designer/testdata/golden/V*.md")
	if err != nil || len(golden) == 0 {
		t.Fatal(golden, err)
	}
	space := lake.Space()
	space.Sizes = []string{"3x3", "4x4", "10x10"} // those of the prompts
	present := experiment.Curriculum{}
	for _, size := range space.Sizes {
		present.Rows = append(present.Rows, experiment.Row{Size: size, DataRatio: 1.0 / 3})
	}
	forms := map[string]bool{}
	for _, name := range golden {
		prompt, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := asked(t, at, "better", string(prompt), 0, 1)
		read := designer.NewReader(space, present, "refuse").Read(text, "stop")
		if read.Class != "ok" {
			t.Errorf("%s: the reply is %s: %s\n%s", filepath.Base(name), read.Class, read.Fault, text)
		}
		if !strings.Contains(text, "skill 0.75") {
			t.Errorf("%s: the reply does not say who designed:\n%s", name, text)
		}
		forms[strings.SplitN(text, "\n", 2)[0]] = true
	}
	if len(forms) < 3 {
		t.Errorf("replies come in the forms %v only", forms)
	}
}

func TestOtherQuestionsGetAnAnswerToo(t *testing.T) {
	if text := asked(t, served(t), "base", "Say hello.", 0, 1); text == "" {
		t.Error("nothing was answered")
	}
}

func TestADiaryIsReadAsItWasWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "diary")
	t.Setenv(skill.EnvDiary, name)
	want := skill.Entry{Event: skill.EventStep, Step: 3, IDs: []string{"a", "b"}}
	if err := skill.Write(want); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"event":"half`)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	want.PID = os.Getpid()
	got, err := json.Marshal(skill.Diary(t, name))
	if wanted, _ := json.Marshal([]skill.Entry{want}); err != nil || string(got) != string(wanted) {
		t.Errorf("read %s, %v; want %s", got, err, wanted)
	}
}

package all_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"floe/internal/experiment"
	"floe/internal/importtest"
	"floe/internal/job"
	"floe/internal/job/backend/all"
)

func TestImports(t *testing.T) { importtest.Check(t, importtest.NoTemporal, importtest.NoAWS) }

// kubeconfig makes a cluster known whose API is a handler.
func kubeconfig(t *testing.T, h http.Handler) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{"apiVersion":"v1","kind":"Config","current-context":"here","clusters":[{"name":"here","cluster":{"server":"` + server.URL + `"}}],
		"users":[{"name":"me","user":{}}],"contexts":[{"name":"here","context":{"cluster":"here","user":"me","namespace":"lab"}}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
}

func TestEveryBackEndOfTheFileFormatIsMade(t *testing.T) {
	kubeconfig(t, http.NotFoundHandler())
	specs := map[string]experiment.JobSpec{
		"process":    {},
		"slurm":      {},
		"ray":        {Ray: &experiment.RaySpec{Address: "http://head:8265", Resources: []string{"H100=1", "slots=0.5"}}},
		"kubernetes": {Kubernetes: &experiment.KubernetesSpec{Image: "lab/trainer:1"}},
		"command": {Commands: &experiment.CommandsSpec{
			Submit: []string{"submit", "{name}"}, Status: []string{"status", "{id}"}, Stop: []string{"stop", "{id}"}, States: []string{"QUEUED=pending", "DONE=ended"},
		}},
	}
	f, _ := reflect.TypeFor[experiment.JobSpec]().FieldByName("Backend")
	for name := range strings.SplitSeq(f.Tag.Get("enum"), "|") {
		j, ok := specs[name]
		if !ok {
			t.Errorf("this test does not know the back end %s", name)
			continue
		}
		j.Backend = name
		b, err := all.Open(j, experiment.TrainerTRL, t.TempDir())
		if err != nil || b == nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Split(reflect.TypeOf(b).Elem().PkgPath(), "/"); got[len(got)-1] != name {
			t.Errorf("%s is made by package %v", name, got)
		}
	}
}

func TestFaultsNameTheSetting(t *testing.T) {
	kubeconfig(t, http.NotFoundHandler())
	template := func(text string) experiment.JobSpec {
		return experiment.JobSpec{Backend: "kubernetes", Kubernetes: &experiment.KubernetesSpec{Template: text, Image: "lab/trainer:1"}}
	}
	commands := func(change func(*experiment.CommandsSpec)) experiment.JobSpec {
		c := &experiment.CommandsSpec{Submit: []string{"a"}, Status: []string{"b"}, Stop: []string{"c"}, States: []string{"Q=pending"}}
		change(c)
		return experiment.JobSpec{Backend: "command", Commands: c}
	}
	ray := func(address string, resources ...string) experiment.JobSpec {
		return experiment.JobSpec{Backend: "ray", Ray: &experiment.RaySpec{Address: address, Resources: resources}}
	}
	for name, c := range map[string]struct {
		j     experiment.JobSpec
		wants []string
	}{
		"no such back end": {experiment.JobSpec{Backend: "lsf"}, []string{`job.backend: found "lsf"`, "kubernetes"}},
		"folder of Slurm":  {experiment.JobSpec{Backend: "slurm", Folder: "/data/50%"}, []string{"job.folder: ", "%"}},
		"no Ray":           {experiment.JobSpec{Backend: "ray"}, []string{"job.ray: found nothing"}},
		"address of Ray":   {ray("head:8265"), []string{"job.ray: ", "address"}},
		"resources of Ray": {ray("http://head:8265", "H100", "x=0", "y=1", "y=2", "z=NaN"), []string{
			`job.ray.resources[0]: found "H100"`, "job.ray.resources[1]", "job.ray.resources[3]", "job.ray.resources[4]",
		}},
		"no commands":     {experiment.JobSpec{Backend: "command"}, []string{"job.commands: found nothing"}},
		"states":          {commands(func(c *experiment.CommandsSpec) { c.States = []string{"Q", "R=running", "r=ended"} }), []string{"job.commands.states[0]", `job.commands.states[2]: found "r" a second time`}},
		"state's meaning": {commands(func(c *experiment.CommandsSpec) { c.States = []string{"Q=waiting"} }), []string{"job.commands: ", `"waiting"`}},
		"placeholders":    {commands(func(c *experiment.CommandsSpec) { c.Submit = []string{"{nme}"} }), []string{"job.commands: ", "submit", "{nme}"}},
		"no image":        {experiment.JobSpec{Backend: "kubernetes"}, []string{"job.kubernetes.image: found nothing"}},
		"unknown key":     {template("spec:\n  containres: []\n"), []string{"job.kubernetes.template: ", `"spec.containres"`}},
		"a pod":           {template("apiVersion: v1\nkind: Pod\nspec: {}\n"), []string{"job.kubernetes.template: ", `"kind"`, "without apiVersion and kind"}},
		"a key twice":     {template("spec: {}\nspec: {}\n"), []string{"job.kubernetes.template: ", "spec"}},
		"no YAML":         {template("spec: ["), []string{"job.kubernetes.template: "}},
		"two documents":   {template("spec: {}\n---\nspec: {}\n"), []string{"job.kubernetes.template: ", "one document"}},
		"wrong type":      {template("spec: {hostNetwork: maybe}\n"), []string{"job.kubernetes.template: ", "hostNetwork"}},
		"which container": {template("spec: {containers: [{name: a}, {name: b}]}\n"), []string{"job.kubernetes.template: spec.containers: found 2", "trainer"}},
	} {
		b, err := all.Open(c.j, experiment.TrainerTRL, t.TempDir())
		if err == nil || b != nil {
			t.Errorf("%s: made %v; want an error", name, b)
			continue
		}
		for _, want := range c.wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error says %q; want %q in it", name, err, want)
			}
		}
	}
	for _, backend := range []string{"process", "slurm"} {
		if _, err := all.Open(experiment.JobSpec{Backend: backend}, "", ""); err == nil || !strings.Contains(err.Error(), "job.") {
			t.Errorf("%s without a folder: %v; want to be told which setting lacks", backend, err)
		}
	}
}

// request is an attempt to submit.
func request(t *testing.T) job.Request {
	t.Helper()
	dir := t.TempDir()
	return job.Request{
		Job: "train-1", Attempt: 1, Command: []string{"python", "-m", "floe_trainer"}, Spec: filepath.Join(dir, "spec.json"), Dir: dir,
		SpecSHA256: job.Digest(nil), Resources: job.Resources{GPUs: 4, CPUs: 2}, Grace: time.Minute,
	}
}

// sent is the body of what a back end posts when it submits.
func sent(t *testing.T, open func(address string) (job.Backend, error)) (header http.Header, body string) {
	t.Helper()
	server := httptest.NewServer(posts(&header, &body))
	defer server.Close()
	b, err := open(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = b.Submit(t.Context(), request(t)) // what posts answers is no job
	if body == "" {
		t.Fatal("nothing was submitted")
	}
	return header, body
}

func posts(header *http.Header, body *string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			var sent json.RawMessage
			if json.NewDecoder(r.Body).Decode(&sent) == nil {
				*header, *body = r.Header, string(sent)
			}
		}
		w.WriteHeader(http.StatusNotFound)
	})
}

func TestRayIsAskedForNoGPUsWhereVerlReservesThem(t *testing.T) {
	t.Setenv("RAY_AUTH_TOKEN", "some-token")
	for _, c := range []struct {
		trainer string
		given   *int
		want    float64
	}{
		{experiment.TrainerTRL, nil, 4}, {experiment.TrainerVerl, nil, 0}, {experiment.TrainerVerl, new(1), 1}, {experiment.TrainerTRL, new(0), 0},
	} {
		header, body := sent(t, func(address string) (job.Backend, error) {
			j := experiment.JobSpec{Backend: "ray", Ray: &experiment.RaySpec{Address: address, EntrypointGPUs: c.given, Resources: []string{"H100=0.5"}, WorkingDir: "s3://lab/code.zip"}}
			return all.Open(j, c.trainer, "")
		})
		var got struct {
			GPUs       float64            `json:"entrypoint_num_gpus"`
			Resources  map[string]float64 `json:"entrypoint_resources"`
			RuntimeEnv map[string]string  `json:"runtime_env"`
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		if got.GPUs != c.want || got.Resources["H100"] != 0.5 || got.RuntimeEnv["working_dir"] != "s3://lab/code.zip" {
			t.Errorf("%s: Ray got %s; want %v GPUs for the entrypoint", c.trainer, body, c.want)
		}
		if header.Get("Authorization") != "Bearer some-token" {
			t.Errorf("Ray got the authorization %q; want the token of the environment", header.Get("Authorization"))
		}
	}
}

func TestThePodTemplateBecomesTheJobsPod(t *testing.T) {
	submit := func(k experiment.KubernetesSpec) string {
		var header http.Header
		var body string
		kubeconfig(t, posts(&header, &body))
		b, err := all.Open(experiment.JobSpec{Backend: "kubernetes", Kubernetes: &k}, experiment.TrainerTRL, "")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = b.Submit(t.Context(), request(t)) // what posts answers is no job
		return body
	}
	const text = `
metadata: {labels: {team: mapf}}
spec:
  tolerations: [{key: gpu, operator: Exists}]
  containers:
  - {name: side, image: lab/side:1}
  - name: trainer
    image: lab/old:1
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`
	for _, c := range []struct {
		k     experiment.KubernetesSpec
		wants []string
	}{
		{experiment.KubernetesSpec{Image: "lab/new:2"}, []string{`"name":"trainer"`, `"image":"lab/new:2"`, `"nvidia.com/gpu":"4"`, `"namespace":"lab"`}},
		{experiment.KubernetesSpec{Template: text}, []string{`"team":"mapf"`, `"claimName":"data"`, `"operator":"Exists"`, `"image":"lab/old:1"`, `"image":"lab/side:1"`}},
		{experiment.KubernetesSpec{Template: text, Image: "lab/new:2"}, []string{`"image":"lab/new:2"`, `"image":"lab/side:1"`, `"mountPath":"/data"`}},
		{
			experiment.KubernetesSpec{Template: "spec: {nodeSelector: {zone: a}}", Image: "lab/new:2", Queue: "gpus", Priority: "low", GPUResource: "amd.com/gpu", Namespace: "other"},
			[]string{`"zone":"a"`, `"name":"trainer"`, `"gpus"`, `"low"`, `"amd.com/gpu":"4"`, `"namespace":"other"`},
		},
		{experiment.KubernetesSpec{Template: "spec: {containers: [{name: main, image: x}]}", Image: "lab/new:2"}, []string{`"name":"main","image":"lab/new:2"`}},
	} {
		body := submit(c.k)
		for _, want := range c.wants {
			if !strings.Contains(body, want) {
				t.Errorf("%+v: Kubernetes got %s; want %s in it", c.k, body, want)
			}
		}
	}
}

func TestRecordsLieWhereTheirWorkersLook(t *testing.T) {
	bin := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("say", `case $1 in submit) echo 7;; status) echo "$STATE_OF_IT";; esac`)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("STATE_OF_IT", "done=well 0")
	for _, shared := range []bool{false, true} {
		own, common := t.TempDir(), t.TempDir()
		j := experiment.JobSpec{Backend: "command", Commands: &experiment.CommandsSpec{
			Submit: []string{"say", "submit"}, Status: []string{"say", "status"}, Stop: []string{"say", "stop"}, States: []string{"done=well=ended"}, Timeout: 60,
		}}
		want := own
		if shared {
			j.Folder, want = common, common
		}
		b, err := all.Open(j, experiment.TrainerTRL, own)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := b.Submit(t.Context(), request(t)); err != nil || s.State != job.Ended || s.ExitCode == nil || *s.ExitCode != 0 {
			t.Errorf("got %s, %v; want it ended, as the table says", s, err)
		}
		if _, err := os.Stat(filepath.Join(want, "records", "train-1-a1", "request.json")); err != nil {
			t.Errorf("no record in %s: %v", want, err)
		}
	}
}

package config

import (
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"floe/internal/config/strict"
	"floe/internal/experiment"
)

// groups are the sections of job that one back end reads.
var groups = []string{"slurm", "ray", "kubernetes", "commands"}

// groupOf is the section that a back end reads, if it has one.
func groupOf(backend string) string {
	if backend == "command" {
		return "commands"
	}
	return backend
}

func (d *decoder) checkJob(spec *experiment.Spec) {
	j := spec.Job
	if j == nil || !d.sound("job.backend") {
		return
	}
	d.checkGroups(j)
	if j.Wall > 0 && j.Wall*60 <= j.Grace && d.sound("job.wall_minutes", "job.grace_seconds") {
		d.Add(d.at("job.wall_minutes"), "job.wall_minutes", "found %d minutes; want more than grace_seconds, which is %d: an attempt needs that time to save", j.Wall, j.Grace)
	}
	d.checkEnv(j.Env)
	d.checkArguments("job.command", j.Command)
	if j.Slurm != nil {
		d.checkShell("job.slurm.setup", j.Slurm.Setup)
	}
	if j.Ray != nil {
		d.checkURL("job.ray.address", j.Ray.Address)
		d.checkPairs("job.ray.resources", j.Ray.Resources, "NAME=number, such as H100=1", func(v string) bool {
			x, err := strconv.ParseFloat(v, 64)
			return err == nil && x > 0 && !math.IsInf(x, 1)
		})
	}
	if j.Commands != nil {
		d.checkCommands(j.Commands)
	}
}

// checkGroups wants the section of the back end and no other.
func (d *decoder) checkGroups(j *experiment.JobSpec) {
	v, own := reflect.ValueOf(*j), groupOf(j.Backend)
	for _, f := range fieldsOf(v.Type()) {
		if at := strict.Join("job", f.key); slices.Contains(groups, f.key) && f.key != own && !v.Field(f.index).IsNil() {
			d.Add(d.at(at), at, "found settings that job.backend %s does not read; want them only with their own back end", j.Backend)
		}
	}
	switch {
	case j.Backend == "ray" && j.Ray == nil:
		d.Add(d.at("job.backend"), "job.ray", "found nothing; want the cluster's address, such as {address: http://head:8265}")
	case j.Backend == "command" && j.Commands == nil:
		d.Add(d.at("job.backend"), "job.commands", "found nothing; want submit, status, stop and states (docs/backends.md)")
	case j.Backend == "kubernetes" && (j.Kubernetes == nil || j.Kubernetes.Image == "" && j.Kubernetes.Template == ""):
		d.Add(d.at("job.kubernetes", "job.backend"), "job.kubernetes.image", "found nothing; want the image with trainer and referee, or a template that has one")
	}
}

func (d *decoder) checkCommands(c *experiment.CommandsSpec) {
	states := []string{"pending", "running", "ended", "preempted", "lost"}
	d.checkPairs("job.commands.states", c.States, "STATE=meaning with "+strict.OneOf(states), func(v string) bool { return slices.Contains(states, v) })
	if re, err := regexp.Compile(c.StateForm); err != nil || c.StateForm != "" && re.SubexpIndex("state") < 0 {
		d.Refuse(d.at("job.commands.state_form"), "job.commands.state_form", "a regular expression with a group called state")
	}
}

func (d *decoder) checkPairs(path string, list []string, want string, fits func(value string) bool) {
	seen := map[string]bool{}
	for i, text := range list {
		at, cut := indexed(path, i), strings.LastIndexByte(text, '=') // a name may hold one
		switch {
		case !d.sound(at):
			continue
		case cut < 1 || !fits(text[cut+1:]):
			d.Refuse(d.at(at), at, want)
			continue
		case seen[strings.ToLower(text[:cut])]:
			d.Add(d.at(at), at, "found %.60q a second time; want it once, whatever its case", text[:cut])
		}
		seen[strings.ToLower(text[:cut])] = true
	}
}

var (
	variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// secretName is what variables and flags with secrets are called.
	secretName = regexp.MustCompile(`(?i)api_?key|access_?key|secret|passw|credential|bearer|(^|[_-])(token|key|pwd)$`)
	// export is a line of shell that gives a variable a value of its own, and not
	// that of another variable or of a command.
	export = regexp.MustCompile(`(?m)^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)=["']?[^"'$` + "`" + `\s]`)
)

const noSecrets = "want no secrets in files: set them where the training runs"

// checkEnv refuses variables that are no variables, the contract's own, and
// secrets. What could be one is not repeated.
func (d *decoder) checkEnv(env []string) {
	seen := map[string]bool{}
	for i, v := range env {
		at := indexed("job.env", i)
		name, value, ok := strings.Cut(v, "=")
		switch {
		case !d.sound(at):
		case !ok:
			d.Add(d.at(at), at, "found a text without =; want NAME=value")
		case secretName.MatchString(name) || userInfo.MatchString(value):
			d.Add(d.at(at), at, "found the variable %.60q with what looks like a secret; %s", name, noSecrets)
		case !variable.MatchString(name):
			d.Add(d.at(at), at, "found the name %.60q; want NAME=value with letters, digits and _ in the name", name)
		case strings.HasPrefix(name, "FLOE_"):
			d.Add(d.at(at), at, "found %s; want no name that begins with FLOE_: those are the contract's", name)
		case seen[name]:
			d.Add(d.at(at), at, "found the variable %s a second time; want it once", name)
		}
		seen[name] = true
	}
}

// checkArguments refuses flags that are called like secrets.
func (d *decoder) checkArguments(path string, args []string) {
	for i, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		if at := indexed(path, i); strings.HasPrefix(name, "-") && secretName.MatchString(strings.ReplaceAll(name, "-", "_")) && d.sound(at) {
			d.Add(d.at(at), at, "found the flag %.60q; %s", name, noSecrets)
		}
	}
}

// checkShell refuses lines that give a variable called like a secret its value.
func (d *decoder) checkShell(path, lines string) {
	for _, found := range export.FindAllStringSubmatch(lines, -1) {
		if secretName.MatchString(found[1]) {
			d.Add(d.at(path), path, "found a value for the variable %.60s; %s", found[1], noSecrets)
		}
	}
}

// Package slurm is the back end for Slurm, by its commands: sbatch, squeue,
// scontrol, sacct and scancel. They are everywhere and change little, unlike its
// REST interface, whose versions come and go.
//
// Slurm does not mind two jobs of one name, and forgets a job minutes after its
// end. So a folder an attempt, on the disk that workers and nodes share, holds
// what was submitted, its number, and how the program ended, which the job's own
// script writes:
//
//	request.json    what was submitted
//	submitted.json  its number
//	exit.json       how the program ended; written on the node
//	end.json        the final status, once it was seen
//	log             what the program printed
package slurm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"floe/internal/job"
	"floe/internal/job/backend/internal/attempt"
	"floe/internal/job/backend/internal/cli"
)

// Settings of the back end. What is empty is left to the cluster.
type Settings struct {
	Root      string // folder of the records, on a disk that workers and nodes share
	Partition string
	Account   string
	QOS       string
	// Options are more options of sbatch, as they are: "--constraint=h100".
	Options []string
	// Setup are lines of shell that the job runs first: "module load cuda".
	Setup string
	// Timeout bounds one call of a command; 0: one minute.
	Timeout time.Duration
}

const (
	defaultTimeout = time.Minute
	goneWithin     = 5 * time.Minute // after the kill; nodes clean up
	fileExit       = "exit.json"
	fileLog        = "log"
)

// New returns the back end.
func New(s Settings) (*Backend, error) {
	if s.Root == "" {
		return nil, errors.New("slurm back end: no folder for its records")
	}
	root, err := filepath.Abs(s.Root) // sbatch and its job run in other folders
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(root, "%\\") {
		return nil, fmt.Errorf("slurm back end: folder %q; want it without %% and \\, which sbatch expands", root)
	}
	s.Root = root
	if s.Timeout <= 0 {
		s.Timeout = defaultTimeout
	}
	return &Backend{s}, nil
}

// Backend implements job.Backend.
type Backend struct{ settings Settings }

var _ job.Backend = (*Backend)(nil)

// Check implements job.Backend: the commands are there, the controller answers,
// and has the partition.
func (b *Backend) Check(ctx context.Context) error {
	var errs []error
	for _, name := range []string{"sbatch", "squeue", "scontrol", "scancel", "sinfo"} {
		if _, err := exec.LookPath(name); err != nil {
			errs = append(errs, fmt.Errorf("slurm back end: %w", err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	args := []string{"--noheader", "--format=%R"}
	if b.settings.Partition != "" {
		args = append(args, "--partition="+b.settings.Partition)
	}
	out, err := b.call(ctx, "", "sinfo", args...)
	if err != nil {
		return fmt.Errorf("slurm back end: %w", err)
	}
	if strings.TrimSpace(out) == "" {
		return fmt.Errorf("slurm back end: found no partition %q", b.settings.Partition)
	}
	return nil
}

// Submit implements job.Backend.
func (b *Backend) Submit(ctx context.Context, r job.Request) (job.Status, error) {
	known := func(rec attempt.Folder) (bool, error) {
		_, ok, err := b.find(ctx, rec, r.SpecSHA256)
		return ok, err
	}
	if err := attempt.Submit(b.settings.Root, r, known, func(rec attempt.Folder) error { return b.batch(ctx, rec, r) }); err != nil {
		return job.Status{}, err
	}
	return b.Status(ctx, r.Name())
}

// find is the number of an attempt: noted, or asked of Slurm, in case that a
// worker died between submitting and noting. A job that has ended and was
// forgotten since has left how it ended.
func (b *Backend) find(ctx context.Context, rec attempt.Folder, digest string) (submitted, bool, error) {
	var s submitted
	if ok, err := rec.Read(attempt.FileSubmitted, &s); ok || err != nil {
		return s, ok, err
	}
	var e exit
	if ok, err := rec.Read(fileExit, &e); err != nil {
		return s, false, err
	} else if ok {
		s = submitted{ID: e.ID, Time: e.Started}
		return s, true, rec.Write(attempt.FileSubmitted, s)
	}
	out, err := b.call(ctx, "", "squeue", "--noheader", "--me", "--states=all", "--name="+rec.Name, "--format=%A|%k|%V")
	if err != nil {
		return s, false, err
	}
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 3 {
			continue
		}
		if f[1] != comment(digest) {
			return s, false, &job.ConflictError{Name: rec.Name, Found: strings.TrimPrefix(f[1], comment("")), Want: digest}
		}
		if s.ID, err = strconv.Atoi(f[0]); err != nil {
			return s, false, fmt.Errorf("squeue: found the number %q: %w", f[0], err)
		}
		s.Time, s.Since = clock(f[2]), clock(f[2])
		return s, true, rec.Write(attempt.FileSubmitted, s)
	}
	return s, false, nil
}

// comment carries the digest of the spec where Slurm shows it.
func comment(digest string) string { return "floe spec " + digest }

// batch submits the script and notes its number at once.
func (b *Backend) batch(ctx context.Context, rec attempt.Folder, r job.Request) error {
	s := submitted{Time: time.Now().UTC()}
	out, err := b.call(ctx, script(rec, r, b.settings.Setup), "sbatch", b.options(rec, r)...)
	if err != nil {
		return err // the next call finds out whether it was submitted
	}
	number, _, _ := strings.Cut(strings.TrimSpace(out), ";") // a cluster may follow
	if s.ID, err = strconv.Atoi(number); err != nil {
		return fmt.Errorf("sbatch: found %q; want a job's number", cli.Brief(out))
	}
	return rec.Write(attempt.FileSubmitted, s)
}

func (b *Backend) options(rec attempt.Folder, r job.Request) []string {
	o := []string{
		"--parsable", "--job-name=" + rec.Name, "--comment=" + comment(r.SpecSHA256), "--output=" + rec.Path(fileLog),
		"--open-mode=append", "--export=ALL", "--requeue", "--nodes=1", "--ntasks=1",
		// Should two jobs of one name ever be there, they do not run together.
		"--dependency=singleton",
	}
	for _, f := range []struct{ option, value string }{
		{"--partition", b.settings.Partition}, {"--account", b.settings.Account}, {"--qos", b.settings.QOS},
	} {
		if f.value != "" {
			o = append(o, f.option+"="+f.value)
		}
	}
	if n := r.Resources.GPUs; n > 0 {
		o = append(o, "--gpus-per-node="+strconv.Itoa(n))
	}
	if n := r.Resources.CPUs; n > 0 {
		o = append(o, "--cpus-per-task="+strconv.Itoa(n))
	}
	if n := r.Resources.MemoryBytes; n > 0 {
		o = append(o, fmt.Sprintf("--mem=%dM", (n+1<<20-1)>>20))
	}
	if wall := r.Resources.Wall; wall > 0 {
		o = append(o,
			"--time="+strconv.FormatInt(int64((wall+time.Minute-1)/time.Minute), 10),
			fmt.Sprintf("--signal=B:TERM@%d", int(r.Grace.Seconds()))) // so that it can save before its time is up
	}
	return append(o, b.settings.Options...)
}

// Logs implements job.Backend.
func (b *Backend) Logs(ctx context.Context, name string, o job.LogOptions, w io.Writer) error {
	rec, err := attempt.Open(b.settings.Root, name)
	if err != nil {
		return err
	}
	return attempt.Follow(ctx, rec.Path(fileLog), o, w, func(ctx context.Context) (bool, error) {
		s, err := b.Status(ctx, name)
		return s.State.Final(), err
	})
}

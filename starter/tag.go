package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"

	"floe/activities"
	"floe/internal/experiment"
	"floe/workflows"
)

var tagPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._=-]{0,62}$`)

func (a *app) tagCmd() *cobra.Command {
	var remove bool
	c := &cobra.Command{
		Use:   "tag NAME [TAG...]",
		Short: "Tag an experiment; without tags, show its tags",
		Example: `  starter tag demo paper figure=3
  starter tag demo --remove figure=3
  starter list --tag paper`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(c *cobra.Command, args []string) error {
			return a.tag(c.Context(), args[0], args[1:], remove)
		},
	}
	c.Flags().BoolVar(&remove, "remove", false, "take the tags away")
	return c
}

func (a *app) tag(ctx context.Context, name string, tags []string, remove bool) error {
	var faults []string
	for _, t := range tags {
		if !tagPattern.MatchString(t) {
			faults = append(faults, fmt.Sprintf("tag %q; want letters, digits and . _ = - only, at most 63", t))
		}
	}
	if len(faults) > 0 {
		return fail(exitUsage, "%s", strings.Join(faults, "\n"))
	}
	if err := a.known(ctx, name); err != nil {
		return err
	}
	for _, t := range tags {
		var err error
		if remove {
			err = a.steps.DeleteDoc(ctx, name, activities.DocTag+t)
		} else {
			err = a.steps.PutDoc(ctx, name, activities.DocTag+t, []byte(utc(time.Now())+"\n"))
		}
		if err != nil {
			return err
		}
	}
	now, err := a.tagsOf(ctx, name)
	if err != nil {
		return err
	}
	if len(tags) > 0 {
		if err := a.showTags(ctx, name, now); err != nil {
			return err
		}
	}
	return a.emit(now, func(w io.Writer) error {
		for _, t := range now {
			fmt.Fprintln(w, t)
		}
		return nil
	})
}

// showTags makes the tags visible in the Temporal UI, while there is a workflow
// that runs.
func (a *app) showTags(ctx context.Context, name string, tags []string) error {
	err := a.temporal.SignalWorkflow(ctx, workflows.ExperimentID(name), "", workflows.SignalTags, tags)
	if _, ended := errors.AsType[*serviceerror.NotFound](err); ended {
		return nil
	}
	return err
}

// known wants an experiment to be there, in Temporal or among the artifacts.
func (a *app) known(ctx context.Context, name string) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	if _, err := a.store(ctx); err != nil {
		return err
	}
	spec, _, err := a.registered(ctx, c, name)
	if err == nil && spec == nil {
		return notThere(name)
	}
	return err
}

// docsOf are the names of an experiment's documents.
func (a *app) docsOf(ctx context.Context, name string) ([]string, error) {
	steps, err := a.store(ctx)
	if err != nil {
		return nil, err
	}
	return steps.ListDocs(ctx, name)
}

// tagsOf are the tags of an experiment, in order.
func (a *app) tagsOf(ctx context.Context, name string) ([]string, error) {
	docs, err := a.docsOf(ctx, name)
	if err != nil {
		return nil, err
	}
	tags := []string{}
	for _, d := range docs {
		if t, ok := strings.CutPrefix(d, activities.DocTag); ok {
			tags = append(tags, t)
		}
	}
	slices.Sort(tags)
	return tags, nil
}

// tagged are the experiments whose documents say that they have a tag: one
// that was tagged after its end cannot say so in visibility.
func (a *app) tagged(ctx context.Context, tag string) (map[string]bool, error) {
	if tag == "" {
		return nil, nil
	}
	steps, err := a.store(ctx)
	if err != nil {
		return nil, err
	}
	return steps.ExperimentsWith(ctx, activities.DocTag+tag)
}

// remark is something that a person wrote about an experiment.
type remark = experiment.DiaryEntry

func (a *app) noteCmd() *cobra.Command {
	c := &cobra.Command{
		Use:         "note NAME [TEXT]",
		Short:       "Add a note to an experiment; without text, show the notes",
		Annotations: map[string]string{knowsJSONL: ""},
		Example: `  starter note demo "round 1 was trained while another job held the GPU"
  starter note demo`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: a.names,
		RunE: func(c *cobra.Command, args []string) error {
			return a.note(c.Context(), args[0], args[1:])
		},
	}
	return c
}

func (a *app) note(ctx context.Context, name string, text []string) error {
	if err := a.known(ctx, name); err != nil {
		return err
	}
	if len(text) == 1 {
		if a.output == "jsonl" {
			return fail(exitUsage, "--output jsonl is for the list of notes; want table, json or yaml")
		}
		if strings.TrimSpace(text[0]) == "" {
			return fail(exitUsage, "the note is empty; want a text")
		}
		now := time.Now().UTC()
		body, err := json.Marshal(remark{At: utc(now), By: whoami(), Text: text[0]})
		if err != nil {
			return err
		}
		file := fmt.Sprintf("%s%s-%d.json", activities.DocNote, now.Format("20060102T150405.000000000Z"), os.Getpid())
		if err := a.steps.PutDoc(ctx, name, file, append(body, '\n')); err != nil {
			return err
		}
		return a.emitResult(result{Name: name, Text: "noted with " + name})
	}
	notes, err := a.notesOf(ctx, name)
	if err != nil {
		return err
	}
	if a.output == "jsonl" {
		return emitLines(a.out, notes)
	}
	return a.emit(notes, func(w io.Writer) error {
		for _, n := range notes {
			fmt.Fprintf(w, "%s  %s  %s\n", local(n.At), n.By, n.Text)
		}
		return nil
	})
}

func whoami() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// notesOf are the notes about an experiment, oldest first.
func (a *app) notesOf(ctx context.Context, name string) ([]remark, error) {
	docs, err := a.docsOf(ctx, name)
	if err != nil {
		return nil, err
	}
	notes := []remark{}
	for _, d := range docs {
		if !strings.HasPrefix(d, activities.DocNote) {
			continue
		}
		var n remark
		if err := a.readDoc(ctx, name, d, &n); err != nil {
			return nil, err
		}
		notes = append(notes, n)
	}
	return notes, nil
}

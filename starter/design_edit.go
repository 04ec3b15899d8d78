package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"floe/activities"
	"floe/internal/curriculum"
	"floe/internal/designer"
	"floe/internal/env"
	"floe/internal/env/all"
	"floe/internal/experiment"
	"floe/internal/orders"
	"floe/internal/report"
	"floe/internal/textfile"
	"floe/workflows"
)

// mostEdit is the largest file that is read; a curriculum has a few KiB.
const mostEdit = 1 << 20

type editFlags struct {
	file, note string
	yes        bool
	who        byFlag
}

func (a *app) designEditCmd() *cobra.Command {
	var f editFlags
	c := &cobra.Command{
		Use:   "edit NAME",
		Short: "Replace the pending proposal with your own curriculum",
		Long: `Opens the pending proposal in $VISUAL or $EDITOR, or reads --file, and uses the
result. A file has the form that designers write, or the key curriculum as in an
experiment file:

  rationale: why, in a few sentences
  sizes:
    3x3: {data_ratio: 0.10, hole_ratio: 0.10, wait_ratio: 0.25}

Unknown keys and non-numeric values are rejected with their position. Values out of
range are moved into the legal range, and every repair is shown; on a terminal you
confirm before anything is sent.`,
		Example:           "  starter design edit demo\n  starter design edit demo --file mine.yaml --note \"more waiting\" --yes",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE:              func(c *cobra.Command, args []string) error { return a.edit(c.Context(), args[0], f) },
	}
	c.Flags().StringVarP(&f.file, "file", "f", "", "`FILE` with the curriculum; - for stdin (default: an editor)")
	c.Flags().StringVar(&f.note, "note", "", "`TEXT` to keep with the decision")
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	f.who.register(c)
	return c
}

func (a *app) edit(ctx context.Context, name string, f editFlags) error {
	by, err := f.who.name()
	if err != nil {
		return err
	}
	w, err := a.mustWait(ctx, name)
	if err != nil {
		return err
	}
	d, err := a.readDesign(ctx, design{Name: name, Round: w.Round, Waiting: &w}, w.Curriculum, w.Proposal)
	if err != nil {
		return err
	}
	spec, err := a.specOf(ctx, name)
	if err != nil {
		return err
	}
	e, err := all.Open(spec.Environment)
	if err != nil {
		return err
	}
	edit, err := a.written(ctx, d, e.Space(), f.file)
	if err != nil {
		return err
	}
	used, repairs, err := orders.Legal(spec, e, w.Round+1, edit.Curriculum, d.Present)
	if err != nil {
		return fail(exitUsage, "%w", err)
	}
	if len(curriculum.Diff(d.Transcript.Used, used)) == 0 {
		return fail(exitUsage, "that is the proposal as it stands, and nothing was sent; to use it: %s", a.decideWith(name)[0])
	}
	var card experiment.Scorecard
	if err := a.readStep(ctx, w.Scorecard.ID, activities.FileScorecard, &card); err != nil {
		return err
	}
	if warning := designer.TrivialWarning(used, card); warning != "" && spec.Designer.Trivial != designer.TrivialIgnore {
		repairs = append(repairs, warning)
	}
	if err := a.agree(d, used, repairs, f.yes); err != nil {
		return err
	}
	return a.decide(ctx, name, w.Round, workflows.UpdateEdit, workflows.Edit{By: by, Note: f.note, Rationale: edit.Rationale, Curriculum: edit.Curriculum})
}

// written is what the person wrote: in a file, or in an editor that begins with
// the proposal. What was typed there is never lost: a refusal says where it is.
func (a *app) written(ctx context.Context, d design, space env.Space, file string) (curriculum.Edit, error) {
	if file != "" {
		src, err := a.readEdit(file)
		if err != nil {
			return curriculum.Edit{}, fail(exitUsage, "%w", err)
		}
		return parseEdit(file, src, space)
	}
	file, err := compose(ctx, editText(d))
	if err != nil {
		return curriculum.Edit{}, err
	}
	src, err := os.ReadFile(file) //nolint:gosec // just written
	if err != nil {
		return curriculum.Edit{}, err
	}
	if strings.TrimSpace(string(src)) == "" {
		return curriculum.Edit{}, errors.Join(fail(exitUsage, "the file is empty, and nothing was sent"), os.Remove(file))
	}
	edit, err := parseEdit(file, src, space)
	if err != nil {
		return edit, fail(exitUsage, "%w\nyour edits are kept; fix them and send them with: %s", err,
			a.command("design edit "+d.Name+" --file "+file))
	}
	return edit, os.Remove(file)
}

func (a *app) readEdit(file string) ([]byte, error) {
	if file == "-" {
		return textfile.ReadAll(a.in, mostEdit)
	}
	return textfile.ReadFile(file, mostEdit)
}

// parseEdit reads an edit strictly; the error has a line per fault.
func parseEdit(file string, src []byte, space env.Space) (curriculum.Edit, error) {
	edit, faults := curriculum.ParseEdit(src, space)
	if len(faults) == 0 {
		return edit, nil
	}
	if file == "-" {
		file = "stdin"
	}
	lines := make([]string, len(faults))
	for i, f := range faults {
		lines[i] = file + ":" + f.String()
	}
	return edit, fail(exitUsage, "%s", strings.Join(lines, "\n"))
}

// editText is the proposal for an editor, with the present settings beside it.
func editText(d design) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# The curriculum of round %d of %s, as %s proposes it.
# Change it, save and close; an empty file sends nothing. What is not legal is
# brought into the legal space, and shown to you before it is used.
rationale: # why, in a few sentences; the next designer may be told
`, d.Round+1, d.Name, d.Transcript.Designer)
	present := strings.Split(curriculum.Format(d.Present), "\n")
	for i, line := range strings.Split(strings.TrimRight(curriculum.Format(d.Transcript.Used), "\n"), "\n") {
		if i < len(present) && present[i] != line {
			_, now, _ := strings.Cut(present[i], ": ")
			line += "  # now " + now
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// compose opens an editor on a text and returns the file it is in.
func compose(ctx context.Context, text string) (string, error) {
	editor := os.Getenv("VISUAL")
	if editor == "" {
		editor = os.Getenv("EDITOR")
	}
	if editor == "" {
		return "", fail(exitUsage, "neither VISUAL nor EDITOR names an editor; set one, or name a file with --file")
	}
	f, err := os.CreateTemp("", "floe-curriculum-*.yaml")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	// Through the shell, as git does: an editor may come with arguments.
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", f.Name()) //nolint:gosec // the person's own editor
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stderr, os.Stderr          // stdout is for data
	if err := cmd.Run(); err != nil {
		return "", errors.Join(fail(exitFailed, "the editor %s failed: %w; nothing was sent", editor, err), os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// agree shows what would be used and what is to be said about it, and on a
// terminal asks.
func (a *app) agree(d design, used experiment.Curriculum, remarks []string, yes bool) error {
	opts := report.Options{Width: width(a.err, textWidth), Color: a.color(a.err)}
	if err := report.Edit(a.err, d.Present, used, remarks, opts); err != nil {
		return err
	}
	if yes || !terminal(a.err) || !inTerminal(a.in) {
		return nil
	}
	fmt.Fprintf(a.err, "Use this in round %d of %s? [y/N] ", d.Round+1, d.Name)
	answer, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return fail(exitFailed, "nothing was sent; %s still waits", d.Name)
	}
	return nil
}

func inTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && terminal(f)
}

package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"floe/internal/config"
	"floe/internal/curriculum"
	"floe/internal/designer"
	"floe/internal/env/all"
	"floe/internal/experiment"
	"floe/internal/orders"
)

// parsedReply is all that floe makes of a text.
type parsedReply struct {
	Class     designer.Class         `json:"class"`
	Usable    bool                   `json:"usable"`
	Fault     string                 `json:"fault,omitempty"` // as a model would be told
	Rationale string                 `json:"rationale,omitempty"`
	Trace     []string               `json:"trace"`
	Outcome   string                 `json:"outcome,omitempty"` // what the design's outcome would be; empty unless usable
	Present   experiment.Curriculum  `json:"present"`           // in force before
	Asked     *experiment.Curriculum `json:"asked,omitempty"`
	Used      *experiment.Curriculum `json:"used,omitempty"`
	Repairs   []string               `json:"repairs,omitempty"` // how asked was brought into form and into the legal space
	Changes   []experiment.Change    `json:"changes,omitempty"` // used against present
}

type parseFlags struct {
	spec, finish string
	sets         []string
}

func (a *app) designParseCmd() *cobra.Command {
	var f parseFlags
	c := &cobra.Command{
		Use:   "parse FILE|-",
		Short: "Parse a text as a designer's reply and explain the result",
		Long: `Parses a text like a model's reply and explains each decision in order: the class,
the proposed curriculum, and the curriculum that would be used. The current
curriculum, the environment and the settings (missing, min_share, agents) come from
round 0 of --spec; without it, from an experiment with all defaults.

The exit code is 1 if the text contains no curriculum.`,
		Example:           "  starter design parse reply.txt\n  pbpaste | starter design parse - --spec examples/demo.yaml -o json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: yamlFiles,
		RunE: func(_ *cobra.Command, args []string) error {
			reply, err := a.readReply(args[0])
			if err != nil {
				return err
			}
			p, err := parseReply(reply, f)
			if err != nil {
				return err
			}
			return a.showParsed(p)
		},
	}
	c.Flags().StringVar(&f.spec, "spec", "", "experiment `FILE` to parse the reply for")
	c.Flags().StringArrayVar(&f.sets, "set", nil, "override a field of the experiment, such as `designer.missing=refuse`; can be repeated")
	c.Flags().StringVar(&f.finish, "finish-reason", "stop", "`WORD` with which the endpoint says why the reply ended, such as stop, length, content_filter or abort")
	return c
}

// readReply reads a file, or stdin for -. What is beyond the reader's own bound gets
// a class, not an error.
func (a *app) readReply(file string) (string, error) {
	body, err := a.readAll(file)
	return string(body), err
}

// parseReply reads a reply and settles what would be used of it.
func parseReply(reply string, f parseFlags) (parsedReply, error) {
	spec, err := parseSpec(f)
	if err != nil {
		return parsedReply{}, err
	}
	e, err := all.Open(spec.Environment)
	if err != nil {
		return parsedReply{}, err
	}
	present, err := orders.FirstCurriculum(spec, e)
	if err != nil {
		return parsedReply{}, err
	}
	r := designer.NewReader(e.Space(), present, spec.Designer.Missing).Read(reply, f.finish)
	p := parsedReply{Class: r.Class, Usable: r.Class.Usable(), Fault: r.Fault, Rationale: r.Rationale, Trace: r.Trace, Present: present}
	if p.Usable {
		s := designer.Settling{
			Space: e.Space(), Previous: present, MinShare: spec.Designer.MinShare,
			Feasible: curriculum.Feasible(e, orders.Training(spec, 1, experiment.Curriculum{})),
		}.Settle(designer.ProposalOf(r))
		p.Outcome, p.Asked, p.Used, p.Repairs, p.Changes = s.Outcome, &s.Asked, &s.Used, s.Repairs, s.Changes
		p.Rationale = s.Rationale
	}
	return p, nil
}

func parseSpec(f parseFlags) (experiment.Spec, error) {
	if f.spec != "" {
		return loadSpec(f.spec, f.sets)
	}
	return config.Load("no file", []byte("name: parse\ndesigner: {kind: openai, model: any}\n"), f.sets, all.Open)
}

func (a *app) showParsed(p parsedReply) error {
	if err := a.emit(p, p.table); err != nil {
		return err
	}
	if !p.Usable {
		return fail(exitFailed, "the text gives no curriculum (%s)", p.Class)
	}
	return nil
}

func (p parsedReply) table(w io.Writer) error {
	fmt.Fprintf(w, "class      %s\n", p.Class)
	if p.Usable {
		fmt.Fprintf(w, "outcome    %s\n", p.Outcome)
	}
	if p.Rationale != "" {
		fmt.Fprintf(w, "rationale  %s\n", plainLine(p.Rationale))
	}
	fmt.Fprintln(w, "\nHow it was read")
	for i, line := range p.Trace {
		fmt.Fprintf(w, "%3d. %s\n", i+1, plainLine(line))
	}
	if len(p.Repairs) > 0 {
		fmt.Fprintln(w, "\nWhat was done to it")
		for _, line := range p.Repairs {
			fmt.Fprintf(w, "  - %s\n", plainLine(line))
		}
	}
	if !p.Usable {
		return nil
	}
	fmt.Fprintln(w, "\nAsked, and used where that differs")
	return p.settings(w)
}

// settings are the numbers of each size: as asked, and as used if that differs.
func (p parsedReply) settings(w io.Writer) error {
	head := []string{"SIZE", strings.ToUpper(curriculum.FieldShare)}
	var lines [][]string
	for i, used := range p.Used.Rows {
		asked := experiment.Row{}
		if i < len(p.Asked.Rows) {
			asked = p.Asked.Rows[i]
		}
		line := []string{used.Size, moved(asked.DataRatio, used.DataRatio)}
		for _, k := range used.Knobs {
			v, _ := asked.Knob(k.Name)
			line = append(line, moved(v, k.Value))
			if name := strings.ToUpper(k.Name); !slices.Contains(head, name) {
				head = append(head, name)
			}
		}
		lines = append(lines, line)
	}
	return rows(w, head, lines)
}

// moved writes a number, and what became of it.
func moved(asked, used float64) string {
	text := strconv.FormatFloat(asked, 'g', 4, 64)
	if asked != used {
		text += " -> " + strconv.FormatFloat(used, 'g', 4, 64)
	}
	return text
}

// plainLine keeps what a model wrote from steering the terminal.
func plainLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return ' '
	}, s)
}

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"floe/internal/env"
	"floe/internal/env/all"
	"floe/internal/textfile"
)

type solveFlags struct {
	in, objective, environment, grid, scenario string
	agents                                     int
}

func (a *app) solveCmd() *cobra.Command {
	var f solveFlags
	c := &cobra.Command{
		Use:   "solve",
		Short: "Find optimal plans, or prove that none exists",
		Long: `Reads instances, one JSON object per line, and writes the result for each, in the
same order:

  {"id":"a","grid":["FFF","FHF","FFF"],"starts":[[0,0],[2,2]],"goals":[[2,0],[0,2]]}

Other fields are ignored. An invalid row is reported with its line number and all its
errors; the other rows are still solved, and the exit code is 2.
With --map and --scen it solves the first agents of a scenario in the format of
movingai.com instead; docs/datasets.md says which maps fit.

The objective selects the plan; both optima are always computed. Plans appear in -o
jsonl, json and yaml.`,
		Example: `  starter solve --in instances.jsonl -o jsonl > solved.jsonl
  starter solve --in - --objective makespan < instances.jsonl
  starter solve --map room.map --scen room-random-1.scen --agents 3 -o jsonl`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{knowsJSONL: ""},
		RunE:        func(c *cobra.Command, _ []string) error { return a.solve(c.Context(), f) },
	}
	c.Flags().StringVar(&f.in, "in", "-", "`FILE` of instances, plain or packed; - for stdin")
	c.Flags().StringVar(&f.grid, "map", "", "map `FILE` in the format of movingai.com, instead of --in")
	c.Flags().StringVar(&f.scenario, "scen", "", "scenario `FILE` for --map")
	c.Flags().IntVar(&f.agents, "agents", 2, "the first `N` agents of --scen")
	c.Flags().StringVar(&f.objective, "objective", "sum_of_costs", "objective of the plan: sum_of_costs or makespan")
	c.Flags().StringVar(&f.environment, "environment", all.Names()[0], "the family of tasks")
	must(c.RegisterFlagCompletionFunc("objective", cobra.FixedCompletions([]string{"sum_of_costs", "makespan"}, cobra.ShellCompDirectiveNoFileComp)))
	return c
}

func (a *app) solve(ctx context.Context, f solveFlags) error {
	e, err := solvingEnv(f.environment)
	if err != nil {
		return err
	}
	if !slices.Contains(e.Objectives(), f.objective) {
		return fail(exitUsage, "--objective is %q; want %s", f.objective, strings.Join(e.Objectives(), " or "))
	}
	in, done, err := a.openInstances(e, f)
	if err != nil {
		return err
	}
	defer done()
	s := solving{app: a, file: inputName(cmp.Or(f.scenario, f.in)), out: newSolvedWriter(a.out, a.output)}
	in, end := a.withProgress(in, "solving")
	err = eachLine(ctx, in, func() func(numbered) solved {
		solver := e.NewSolver()
		return func(l numbered) solved { return solveRow(ctx, solver, l, f.objective) }
	}, s.take)
	end()
	if err = errors.Join(inFile(s.file, err), s.out.close()); err != nil {
		return err
	}
	if s.bad > 0 {
		return fail(exitUsage, "%s: %d of %d rows are not instances", s.file, s.bad, s.bad+s.good)
	}
	return nil
}

// openInstances opens the rows, or makes one of a map and a scenario.
func (a *app) openInstances(e env.Solving, f solveFlags) (rows io.Reader, done func(), err error) {
	switch {
	case (f.grid == "") != (f.scenario == ""):
		return nil, nil, fail(exitUsage, "found one of --map and --scen; want both")
	case f.grid != "" && f.in != "-":
		return nil, nil, fail(exitUsage, "found --in beside --map; want one of them")
	case f.grid == "":
		if name := plainName(f.in); strings.HasSuffix(name, ".map") || strings.HasSuffix(name, ".scen") {
			return nil, nil, fail(exitUsage, "--in is %s; want rows, or both --map and --scen", f.in)
		}
		return a.openRows(f.in)
	}
	m, ok := e.(env.Mapping)
	if !ok {
		return nil, nil, fail(exitUsage, "environment %s reads no maps; want --in", e.Name())
	}
	var texts [2]env.Text
	for i, file := range []string{f.grid, f.scenario} {
		body, err := readText(file)
		if err != nil {
			return nil, nil, err
		}
		texts[i] = env.Text{Name: file, Body: body}
	}
	row, err := m.FromMap(texts[0], texts[1], f.agents)
	if err != nil {
		return nil, nil, fail(exitUsage, "%w", err)
	}
	return bytes.NewReader(row), func() {}, nil
}

// solvingEnv opens an environment that solves instances.
func solvingEnv(name string) (env.Solving, error) {
	e, err := all.Open(name)
	if err != nil {
		return nil, fail(exitUsage, "--environment: %w", err)
	}
	s, ok := e.(env.Solving)
	if !ok {
		return nil, fail(exitUsage, "environment %s has no solver for instances of others", name)
	}
	return s, nil
}

// solved is one row's outcome.
type solved struct {
	line int
	id   string
	env.Solution
	err error
}

func solveRow(ctx context.Context, solver env.Solver, l numbered, objective string) solved {
	s := solved{line: l.line, err: l.err}
	if s.err != nil {
		return s
	}
	var row struct {
		ID any `json:"id"`
	}
	var errID error
	if json.Unmarshal(l.text, &row) == nil {
		id, isText := row.ID.(string)
		if s.id = id; !isText || id == "" {
			errID = fmt.Errorf("id is %v; want a text", shownID(row.ID))
		}
	}
	s.Solution, s.err = solver.Solve(ctx, textfile.WholeNumbers(l.text), objective)
	s.err = errors.Join(errID, s.err)
	return s
}

func shownID(id any) string {
	if id == nil {
		return "missing"
	}
	body, err := json.Marshal(id)
	if err != nil {
		return err.Error()
	}
	return cut(string(body), 40)
}

// solving takes outcomes in the order of the rows.
type solving struct {
	app       *app
	file      string
	out       *solvedWriter
	good, bad int
}

func (s *solving) take(batch []solved, _ bool) error {
	for _, r := range batch {
		if r.err != nil {
			if s.bad++; s.bad <= shownRowFaults {
				s.app.badRow(s.file, r.line, r.err)
			}
			continue
		}
		s.good++
		if err := s.out.write(r); err != nil {
			return err
		}
	}
	return s.out.Flush()
}

// badRow tells everything that is wrong with a row, each with its place.
func (a *app) badRow(file string, line int, err error) {
	for text := range strings.SplitSeq(err.Error(), "\n") {
		a.say("%s:%d: %s", file, line, text)
	}
}

// solvedWriter writes outcomes as they come.
type solvedWriter struct {
	*bufio.Writer
	format string
	rows   int
}

func newSolvedWriter(w io.Writer, format string) *solvedWriter {
	return &solvedWriter{Writer: bufio.NewWriterSize(w, 1<<16), format: format}
}

func (w *solvedWriter) write(r solved) error {
	w.rows++
	switch w.format {
	case "json":
		_, err := w.Write(append([]byte(map[bool]string{true: "[\n", false: ",\n"}[w.rows == 1]), r.json()...))
		return err
	case "yaml":
		return emitYAML(w, []json.RawMessage{r.json()})
	case "jsonl":
		_, err := w.Write(append(r.json(), '\n'))
		return err
	default:
		return w.line(r)
	}
}

// close ends the output. An empty one is an empty list.
func (w *solvedWriter) close() error {
	switch {
	case w.format == "json" && w.rows > 0:
		fmt.Fprint(w, "\n]\n")
	case w.format == "json", w.format == "yaml" && w.rows == 0:
		fmt.Fprint(w, "[]\n")
	}
	return w.Flush()
}

// line writes a row of a table. Its columns have fixed widths: nothing is known
// of the rows to come.
func (w *solvedWriter) line(r solved) error {
	if w.rows == 1 {
		fmt.Fprintf(w, "%-24s  %-5s  %-8s", "ID", "SIZE", "SOLVABLE")
		for _, name := range r.names() {
			fmt.Fprintf(w, "  %s", strings.ToUpper(name))
		}
		fmt.Fprint(w, "  EXPANSIONS\n")
	}
	fmt.Fprintf(w, "%-24s  %-5s  %-8s", r.id, r.Size, yesNo(r.Solvable))
	for i, name := range r.names() {
		fmt.Fprintf(w, "  %-*s", len(name), r.cell(i))
	}
	_, err := fmt.Fprintf(w, "  %d\n", r.Expansions)
	return err
}

// names are those of the optima and traits, which differ between environments.
func (r solved) names() []string {
	var names []string
	for _, o := range r.Optima {
		names = append(names, o.Objective)
	}
	for _, t := range r.Traits {
		names = append(names, t.Name)
	}
	return names
}

func (r solved) cell(i int) string {
	switch {
	case !r.Solvable:
		return "-"
	case i < len(r.Optima):
		return strconv.Itoa(r.Optima[i].Cost)
	default:
		return yesNo(r.Traits[i-len(r.Optima)].Holds)
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// json is the row as an object. What is not known of an unsolvable instance is
// null.
func (r solved) json() []byte {
	id, err := json.Marshal(r.id)
	must(err) // texts can always be written
	b := append([]byte(`{"id":`), id...)
	b = strconv.AppendBool(append(b, `,"solvable":`...), r.Solvable)
	for _, o := range r.Optima {
		b = r.value(b, "optimal_"+o.Objective, strconv.Itoa(o.Cost))
	}
	for _, t := range r.Traits {
		b = r.value(b, t.Name, strconv.FormatBool(t.Holds))
	}
	b = r.value(b, "plan", string(r.Plan))
	b = strconv.AppendInt(append(b, `,"expansions":`...), int64(r.Expansions), 10)
	return append(b, '}')
}

func (r solved) value(b []byte, name, text string) []byte {
	if !r.Solvable {
		text = "null"
	}
	return append(b, `,"`+name+`":`+text...)
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"gopkg.in/yaml.v3"
)

// emit writes data in the format asked for. Table is called for the table.
func (a *app) emit(data any, table func(w io.Writer) error) error {
	switch a.output {
	case "json":
		enc := json.NewEncoder(a.out)
		enc.SetIndent("", "  ")
		return enc.Encode(data)
	case "yaml":
		return emitYAML(a.out, data)
	default:
		return table(a.out)
	}
}

// emitLines writes one JSON value a line.
func emitLines[T any](w io.Writer, all []T) error {
	enc := json.NewEncoder(w)
	for _, v := range all {
		if err := enc.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

// emitYAML goes through JSON, so that both formats have the same names.
func emitYAML(w io.Writer, data any) error {
	body, err := json.Marshal(data)
	if err != nil {
		return err
	}
	var node yaml.Node
	if err := yaml.Unmarshal(body, &node); err != nil {
		return err
	}
	blockStyle(&node)
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(&node); err != nil {
		return err
	}
	return enc.Close()
}

// blockStyle undoes the flow style and the quotes that JSON brings.
func blockStyle(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		blockStyle(c)
	}
}

// rows writes aligned columns.
func rows(w io.Writer, head []string, lines [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, l := range lines {
		fmt.Fprintln(t, strings.Join(l, "\t"))
	}
	return t.Flush()
}

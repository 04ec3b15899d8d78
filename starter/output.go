package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"gopkg.in/yaml.v3"

	"floe/internal/cleantext"
)

// emit writes data in the format asked for. Table is called for the table; its
// text is made safe to print, since notes, reasons and errors are written by
// others.
func (a *app) emit(data any, table func(w io.Writer) error) error {
	return a.emitStyled(data, func(w io.Writer) error {
		p := a.plain(w)
		return errors.Join(table(p), p.flush())
	})
}

// emitStyled is emit for tables in colour, which clean the text of others themselves.
func (a *app) emitStyled(data any, table func(w io.Writer) error) error {
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

// versioned is a document with the name of its form in front. The name changes
// whenever a reader of the old form would misread the new one.
type versioned struct {
	schema string // such as "floe.show/v1"
	data   any
}

// MarshalJSON puts the field "schema" first.
func (v versioned) MarshalJSON() ([]byte, error) {
	body, err := json.Marshal(v.data)
	if err != nil {
		return nil, err
	}
	schema, err := json.Marshal(v.schema)
	if err != nil {
		return nil, err
	}
	rest, ok := bytes.CutPrefix(body, []byte("{"))
	if !ok {
		return nil, errors.New("only an object has a schema")
	}
	head := append([]byte(`{"schema":`), schema...)
	if !bytes.Equal(rest, []byte("}")) {
		head = append(head, ',')
	}
	return append(head, rest...), nil
}

// plainWriter cleans the text that it passes on, line by line, so that nothing
// that steers a terminal escapes it by coming in pieces.
type plainWriter struct {
	w       io.Writer
	columns int // of the terminal that tables should fit; 0 is any width
	line    []byte
}

// plain is a writer for the text of others.
func (a *app) plain(w io.Writer) *plainWriter {
	p := &plainWriter{w: w}
	if !a.wide {
		p.columns = width(w, 0)
	}
	return p
}

func (p *plainWriter) Write(b []byte) (int, error) {
	end := bytes.LastIndexByte(b, '\n') + 1
	if end > 0 {
		whole := append(p.line, b[:end]...)
		p.line = nil
		if _, err := io.WriteString(p.w, cleantext.Text(string(whole))); err != nil {
			return 0, err
		}
	}
	p.line = append(p.line, b[end:]...)
	return len(b), nil
}

// flush writes a last line without an end.
func (p *plainWriter) flush() error {
	_, err := io.WriteString(p.w, cleantext.Text(string(p.line)))
	p.line = nil
	return err
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

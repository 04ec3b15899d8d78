package designer

import (
	"encoding/json"
	"fmt"
	"strings"

	"floe/internal/env"
)

// Schema is the form of an answer as a JSON Schema, for endpoints that hold a
// reply to one: every size with every setting, and nothing else. It gives no
// bounds for the numbers, because endpoints differ in whether they take them; the
// reader checks those. Properties stand in the order in which they are to be
// written, the rationale first.
func Schema(space env.Space) json.RawMessage {
	fields := []property{{dataRatio, `{"type":"number"}`}}
	for _, k := range space.Knobs {
		fields = append(fields, property{k.Name, `{"type":"number"}`})
	}
	row := object(fields)
	sizes := make([]property, len(space.Sizes))
	for i, size := range space.Sizes {
		sizes[i] = property{size, row}
	}
	return json.RawMessage(object([]property{{"rationale", `{"type":"string"}`}, {"sizes", object(sizes)}}))
}

// property is one key of an object with its schema.
type property struct{ name, schema string }

// object is the schema of an object that has exactly these properties. It is
// written by hand: a map would sort "10x10" before "3x3", and models write in the
// order of the schema.
func object(properties []property) string {
	written, names := make([]string, len(properties)), make([]string, len(properties))
	for i, p := range properties {
		names[i] = quoted(p.name)
		written[i] = names[i] + ":" + p.schema
	}
	return fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%s],"additionalProperties":false}`,
		strings.Join(written, ","), strings.Join(names, ","))
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string always marshals
	return string(b)
}

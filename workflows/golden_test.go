package workflows_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/workflow"

	"floe/activities"
	"floe/workflows"
)

var update = flag.Bool("update", false, "write the golden files anew")

// registry takes in what is registered with a worker.
type registry struct{ workflows []any }

func (r *registry) RegisterWorkflow(w any) { r.workflows = append(r.workflows, w) }
func (r *registry) RegisterWorkflowWithOptions(w any, _ workflow.RegisterOptions) {
	r.workflows = append(r.workflows, w)
}
func (r *registry) RegisterDynamicWorkflow(any, workflow.DynamicRegisterOptions) {}

// payloads are the types of all inputs and results that histories hold, and of
// what signals, updates, queries and heartbeats carry.
func payloads() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	add := func(ts ...reflect.Type) {
		for _, t := range ts {
			if t.Kind() == reflect.Struct {
				types[t.String()] = t
			}
		}
	}
	r := &registry{}
	workflows.Register(r)
	for _, w := range r.workflows {
		t := reflect.TypeOf(w)
		add(t.In(1), t.Out(0))
	}
	for m := range reflect.TypeFor[*activities.Activities]().Methods() {
		add(m.Type.In(2), m.Type.Out(0))
	}
	for m := range reflect.TypeFor[*activities.Sweeps]().Methods() {
		add(m.Type.In(2), m.Type.Out(0).Elem())
	}
	for _, v := range []any{
		workflows.SweepExtend{},
		workflows.SweepRetry{},
		workflows.SweepAnswer{},
		workflows.Status{},
		workflows.Retry{},
		workflows.Control{},
		workflows.Held{},
		workflows.Failure{},
		activities.Progress{},
		activities.CellState{},
		activities.Attempted{},
		activities.Attempt{},
		activities.Operations{},
	} {
		add(reflect.TypeOf(v))
	}
	return types
}

// fill gives every field a value that is not its zero, so that no key is left
// out as empty.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(0.5)
	default:
		panic("a payload holds a " + v.Type().String())
	}
}

// TestPayloadsKeepTheirShape compares the JSON of every input and result with a
// file: replaying compares commands, not payloads, so a field that was renamed
// would be lost without a word by a run in flight. A new field is fine: renew
// the files with -update, and see in the diff that nothing but lines was added.
func TestPayloadsKeepTheirShape(t *testing.T) {
	dir := filepath.Join("testdata", "golden")
	types := payloads()
	for name, typ := range types {
		t.Run(name, func(t *testing.T) {
			v := reflect.New(typ)
			fill(v.Elem())
			body, err := json.MarshalIndent(v.Interface(), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got := append(body, '\n')
			file := filepath.Join(dir, name+".json")
			if *update {
				if err := os.MkdirAll(dir, 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v; a new payload needs a file: go test ./workflows -run Payloads -update", err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the JSON has changed. A key that is gone or renamed breaks runs in flight; new ones are fine: go test ./workflows -run Payloads -update\ngot\n%s\nwant\n%s", got, want)
			}
			// What an older version wrote reads back whole.
			back := reflect.New(typ)
			d := json.NewDecoder(bytes.NewReader(want))
			d.DisallowUnknownFields()
			if err := d.Decode(back.Interface()); err != nil {
				t.Errorf("the stored JSON does not read back: %v", err)
			}
			again, err := json.MarshalIndent(back.Interface(), "", "  ")
			if err != nil || !bytes.Equal(append(again, '\n'), want) {
				t.Errorf("the stored JSON does not survive reading and writing: %v\n%s", err, again)
			}
		})
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".json"); types[name] == nil {
			t.Errorf("%s belongs to no payload any more; runs in flight may still send it", f)
		}
	}
}

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"floe/internal/connect"
	"floe/internal/endpoint"
)

// textForms are the forms in which people have a text.
var textForms = map[string]func(text string) string{
	"mark":       func(text string) string { return "\ufeff" + text },
	"CRLF":       func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") },
	"UTF-16, LE": func(text string) string { return twoBytes(binary.LittleEndian, text) },
	"UTF-16, BE": func(text string) string { return twoBytes(binary.BigEndian, text) },
	"gzip":       zipped,
	"zstd":       func(text string) string { return string(must1(packZstd(text))) },
}

// rowForms are the forms in which people have rows of JSON.
var rowForms = map[string]func(lines string) string{
	"array": func(lines string) string {
		return "[" + strings.Join(strings.Split(strings.TrimSpace(lines), "\n"), ",") + "]"
	},
	"pretty array": prettyArray,
	"pretty objects": func(lines string) string {
		var b bytes.Buffer
		for l := range strings.Lines(lines) {
			must(json.Indent(&b, []byte(strings.TrimSpace(l)), "", "  "))
			b.WriteString("\n")
		}
		return b.String()
	},
	"floats": func(lines string) string { return wholes.ReplaceAllString(lines, "$1$2.0$3") },
}

// wholes are whole numbers outside of texts, as far as rows of tests go.
var wholes = regexp.MustCompile(`([:\[,])(\d+)([,\]}])`)

func prettyArray(lines string) string {
	var rows []json.RawMessage
	for l := range strings.Lines(lines) {
		rows = append(rows, json.RawMessage(strings.TrimSpace(l)))
	}
	body, err := json.MarshalIndent(rows, "", "    ")
	must(err)
	return string(body) + "\n"
}

func twoBytes(order binary.AppendByteOrder, text string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	must(err)
	must(z.Close())
	return b.String()
}

func packZstd(text string) ([]byte, error) {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		return nil, err
	}
	return z.EncodeAll([]byte(text), nil), nil
}

// TestRowsAreReadInEveryFormThatPeopleHave holds what each verb makes of a file in
// any form against what it makes of plain JSON lines.
func TestRowsAreReadInEveryFormThatPeopleHave(t *testing.T) {
	tasks, answers := drawTasks(t, "4x4", 2, 3)
	var set, replies, stored, instances, published string
	for i, task := range tasks {
		set += jsonl(t, task)
		replies += jsonl(t, row("id", task.ID, "answer", answers[i], "tokens", 64+i))
		stored += jsonl(t, row("id", task.ID, "answer", answers[i], "completion_tokens", 7))
		published += jsonl(t, row("sample_id", task.ID, "num_agents", 2, "text", task.Prompt))
		in := map[string]any{}
		must(json.Unmarshal(task.Instance, &in))
		in["id"] = task.ID
		instances += jsonl(t, in)
	}
	plain := put(t, "plain.jsonl", set)
	forms := map[string]func(string) string{}
	maps.Copy(forms, textForms)
	for name, form := range rowForms {
		forms[name] = form
		forms[name+", zstd"] = func(text string) string { return textForms["zstd"](form(text)) }
	}
	for _, verb := range []struct {
		name, rows string
		args       func(file string) []string
	}{
		{"score", replies, func(file string) []string { return []string{"score", "--tasks", plain, "--in", file} }},
		{"score --tasks", set, func(file string) []string {
			return []string{"score", "--tasks", file, "--in", put(t, "answers.jsonl", replies)}
		}},
		{"solve", instances, func(file string) []string { return []string{"solve", "-o", "jsonl", "--in", file} }},
		{"rescore", stored, func(file string) []string {
			return []string{"rescore", "-o", "json", "--tasks", plain, "--answers", file}
		}},
		{"rescore --tasks", set, func(file string) []string {
			return []string{"rescore", "-o", "json", "--tasks", file, "--answers", put(t, "rows", stored)}
		}},
		{"render --dataset", set, func(file string) []string {
			return []string{"render", "--plan", "optimal", "--dataset", file, "--id", tasks[1].ID}
		}},
		{"dataset stats", set, func(file string) []string { return []string{"dataset", "stats", file} }},
		{"dataset show", set, func(file string) []string { return []string{"dataset", "show", file, tasks[2].ID} }},
		{"benchmark --import", published, nil},
	} {
		work := func(file string) (string, string, int) {
			if verb.args != nil {
				out, errOut, code := cli(t, verb.args(file)...)
				return paths.ReplaceAllString(out, "FILE"), errOut, code
			}
			items, err := importFileOf(t, file, 2)
			return jsonl(t, items), errorText(err), exitOK
		}
		want, errOut, code := work(put(t, "rows.jsonl", verb.rows))
		if code != exitOK || strings.Contains(errOut, "not valid") || want == "" {
			t.Fatalf("%s: exit code %d\n%s%s", verb.name, code, want, errOut)
		}
		for form, make := range forms {
			got, errOut, code := work(put(t, "rows", make(verb.rows)))
			if verb.name == "dataset show" && code == exitOK {
				got, want = withoutLine(got), withoutLine(want) // arrays and objects have other lines
			}
			if code != exitOK || got != want {
				t.Errorf("%s, %s: exit code %d\n%s\n%s\nwant\n%s", verb.name, form, code, errOut, got, want)
			}
		}
	}
}

var paths = regexp.MustCompile(`/[^ ",]*/rows(\.jsonl)?`)

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

var lineNumber = regexp.MustCompile(`line \d+, |("instance":.*)|(?m)^\{"grid".*$|^\{"n".*$`)

func withoutLine(text string) string {
	text = lineNumber.ReplaceAllString(text, "")
	from, to := strings.Index(text, "\nInstance\n"), strings.Index(text, "\nAn optimal")
	if from < 0 || to < from {
		return text
	}
	return text[:from] + text[to:]
}

// TestStdinIsReadInEveryFormToo pipes what files hold.
func TestStdinIsReadInEveryFormToo(t *testing.T) {
	tasks, answers := drawTasks(t, "4x4", 2, 2)
	plain := taskFile(t, "plain.jsonl", tasks)
	lines := jsonl(t, row("id", tasks[0].ID, "answer", answers[0]), row("id", tasks[1].ID, "answer", answers[1]))
	want, errOut, code := cliIn(t, lines, "score", "--tasks", plain)
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	for form, make := range textForms {
		if got, errOut, code := cliIn(t, make(lines), "score", "--tasks", plain); code != exitOK || got != want {
			t.Errorf("%s: exit code %d\n%s%s", form, code, got, errOut)
		}
	}
	for form, make := range rowForms {
		if got, errOut, code := cliIn(t, make(lines), "score", "--tasks", plain); code != exitOK || got != want {
			t.Errorf("%s: exit code %d\n%s%s", form, code, got, errOut)
		}
	}
	task := jsonl(t, tasks[0])
	for form, make := range textForms {
		if got, errOut, code := cliIn(t, make(task), "render", "--task", "-"); code != exitOK || !strings.HasPrefix(got, tasks[0].ID) {
			t.Errorf("render, %s: exit code %d\n%s%s", form, code, got, errOut)
		}
		if _, errOut, code := cliIn(t, make(goodReply), "design", "parse", "-"); code != exitOK {
			t.Errorf("design parse, %s: exit code %d: %s", form, code, errOut)
		}
	}
}

// TestFilesOfSettingsAreReadInEveryForm reads what people write by hand.
func TestFilesOfSettingsAreReadInEveryForm(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for name, c := range map[string]struct {
		text string
		read func(file string) error
	}{
		"experiment": {datasetSpec, func(file string) error { _, err := loadSpec(file, nil); return err }},
		"curriculum": {datasetCurriculum, func(file string) error {
			_, errOut, code := cli(t, "dataset", "build", put(t, "spec.yaml", datasetSpec), "--round", "0", "--curriculum", file, "--out", filepath.Join(t.TempDir(), "a.jsonl"))
			if code != exitOK {
				return fail(code, "%s", errOut)
			}
			return nil
		}},
		"sweep": {"name: s\nbase: {samples: 60}\narms: {a: {rounds: 1}, b: {rounds: 2}}\n", func(file string) error { _, err := loadSweep(file); return err }},
		"base": {datasetSpec, func(file string) error {
			_, err := loadSweep(put(t, "s.yaml", "name: s\nbase: "+file+"\narms: {a: {rounds: 1}}\n"))
			return err
		}},
		"endpoints": {"lab:\n  url: http://127.0.0.1:1/v1\n", func(file string) error { _, err := endpoint.Load(file); return err }},
		"project":   {"s3:\n  bucket: abc\n", func(file string) error { _, err := connect.Resolve(connect.Flags{Project: file}); return err }},
		"reply": {goodReply, func(file string) error {
			_, errOut, code := cli(t, "design", "parse", file)
			if code != exitOK {
				return fail(code, "%s", errOut)
			}
			return nil
		}},
	} {
		if err := c.read(put(t, "plain", c.text)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for form, make := range textForms {
			if err := c.read(put(t, "other", make(c.text))); err != nil {
				t.Errorf("%s, %s: %v", name, form, err)
			}
		}
	}
}

// TestARowThatIsNoneIsOneFault: a file of another kind does not bury its fault.
func TestAFileThatIsNoTextIsOneFault(t *testing.T) {
	for body, says := range map[string]string{
		"PK\x03\x04" + strings.Repeat("\n\x00x", 50):                   "unzip -p",
		"PAR1" + strings.Repeat("\n\x00x", 50):                         "read_parquet",
		zipped(strings.Repeat("\n", 50))[:24]:                          "cut off",
		"[\n{\"id\": 1},\n{\"id\" 2},\n" + strings.Repeat("{},\n", 40): "value 2 is not JSON",
	} {
		file := put(t, "rows", body)
		for _, args := range [][]string{{"solve", "--in", file}, {"score", "--in", file}, {"dataset", "stats", file}} {
			_, errOut, code := cli(t, args...)
			if code != exitUsage || strings.Count(errOut, says) != 1 || strings.Count(errOut, "\n") > 4 {
				t.Errorf("%s: exit code %d, want %d and one fault with %q\n%s", args[0], code, exitUsage, says, errOut)
			}
		}
	}
}

func TestNumbersThatPythonWritesAreNamed(t *testing.T) {
	tasks, answers := drawTasks(t, "4x4", 2, 1)
	plain := taskFile(t, "plain.jsonl", tasks)
	for tokens, says := range map[string]string{"64.5": "want a whole number", "NaN": "want null", "Infinity": "want null", "-1.0": "want 0 or more", "1e-400": "want a whole number"} {
		line := strings.Replace(jsonl(t, row("id", tasks[0].ID, "answer", answers[0], "tokens", 77)), "77", tokens, 1)
		if _, errOut, code := cliIn(t, line, "score", "--tasks", plain); code != exitUsage || !strings.Contains(errOut, says) {
			t.Errorf("tokens %s: exit code %d, want %d and %q\n%s", tokens, code, exitUsage, says, errOut)
		}
	}
	if _, ok := readPlainLine(new(plainReader), []byte(`{"id":"a","answer":"b","tokens":64.0}`)); !ok {
		t.Error("what pandas writes is read the slow way")
	}
}

func TestAKeyFileMayHaveAByteOrderMark(t *testing.T) {
	key := put(t, "key", twoBytes(binary.LittleEndian, "sk-test\r\n"))
	file := put(t, "endpoints.yaml", "lab: {url: 'http://127.0.0.1:1/v1', key_file: '"+key+"'}\n")
	d, err := endpoint.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open("lab"); err != nil {
		t.Error(err)
	}
}

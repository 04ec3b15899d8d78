package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
)

// puts is a store that counts what is written.
type puts struct {
	artifact.Store
	sizes []int
}

func (p *puts) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	n, err := body.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = body.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	p.sizes = append(p.sizes, int(n))
	return p.Store.Put(ctx, key, body)
}

func testJournal() (*journal, *puts) {
	store := &puts{Store: artifacttest.NewMemory()}
	j := &journal{steps: artifact.Steps{Store: store}, name: "tiny", file: "attempt-1.json", doc: Attempt{Step: "train"}}
	j.whole.file = partPrefix + "1"
	return j, store
}

// stored is the document as a reader finds it, and the whole log.
func stored(t *testing.T, j *journal) (a Attempt, whole []string) {
	t.Helper()
	body, err := j.steps.GetDoc(t.Context(), j.name, j.file)
	if err == nil {
		err = json.Unmarshal(body, &a)
	}
	if err == nil {
		err = WholeLog(t.Context(), j.steps, j.name, a, func(line string) error {
			whole = append(whole, strings.SplitN(line, " ", 3)[2])
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return a, whole
}

func TestALongLogIsKeptWholeBesideItsDocument(t *testing.T) {
	j, store := testJournal()
	random := rand.New(rand.NewPCG(1, 2))
	line := func(i int) string {
		return fmt.Sprintf("step %d of many %s", i, strings.Repeat(fmt.Sprintf("%x ", random.Uint64()), 6))
	}
	var want []string
	for i := range 20000 {
		text := strings.TrimSpace(line(i))
		want = append(want, text)
		j.line("INFO", text)
		if i%300 == 0 {
			j.write(t.Context())
		}
		if i == 15000 { // as a crash leaves it, at most what came since the last writing is lost
			a, whole := stored(t, j)
			if len(whole) != 15001 || a.Left != 15001-logKept {
				t.Errorf("in between: %d lines, %d left out; want all 15001", len(whole), a.Left)
			}
		}
	}
	j.write(t.Context())
	a, whole := stored(t, j)
	if a.Left != 19000 || a.LeftAfter != logHead || len(a.Log) != logKept || !strings.HasSuffix(a.Log[logHead-1], want[logHead-1]) || !strings.HasSuffix(a.Log[logHead], want[19000+logHead]) {
		t.Errorf("the document has %d lines, lacks %d after %d", len(a.Log), a.Left, a.LeftAfter)
	}
	if len(whole) != len(want) {
		t.Fatalf("the whole log has %d lines; want %d", len(whole), len(want))
	}
	for i := range want {
		if whole[i] != want[i] {
			t.Fatalf("line %d is %q; want %q", i, whole[i], want[i])
		}
	}
	for _, size := range store.sizes {
		if size > 2*partSize {
			t.Errorf("%d bytes were written at once; want little", size)
		}
	}
	if a.Parts < 5 {
		t.Errorf("%d parts; want the log in several", a.Parts)
	}
}

func TestAShortLogCostsNoMoreThanItsDocument(t *testing.T) {
	j, store := testJournal()
	for i := range logKept {
		j.line("INFO", fmt.Sprint(i))
	}
	j.write(t.Context())
	if a, whole := stored(t, j); len(store.sizes) != 1 || a.Parts != 0 || a.Left != 0 || len(whole) != logKept {
		t.Errorf("%d writings, %d parts, %d lines; want the document alone", len(store.sizes), a.Parts, len(whole))
	}
	j.line("ERROR", strings.Repeat("x", logWidth+1))
	j.write(t.Context())
	if a, whole := stored(t, j); a.Parts != 1 || len(whole[logKept]) != logWidth+1 {
		t.Errorf("%d parts; want the long line whole", a.Parts)
	}
}

func TestARedrawnLineIsOneLine(t *testing.T) {
	var told []string
	w := &lines{tell: func(line string) { told = append(told, line) }}
	for _, text := range []string{
		"begins\r\n", "\r  0%|  | 0/3", "\r 33%|# |", " 1/3\r", " 66%|##| 2/3", "\r100%|###| 3/3\n", "bar\r\n", "bar\r     \n",
		"\x1b[32mINFO\x1b[0m done\x1b]0;T\a\x00\n", "\n", "\rlast\r",
	} {
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	w.flush()
	want := []string{"begins", "100%|###| 3/3", "bar", "bar", "INFO done\ufffd", "last"}
	if strings.Join(told, "\n") != strings.Join(want, "\n") {
		t.Errorf("told %q; want %q", told, want)
	}
}

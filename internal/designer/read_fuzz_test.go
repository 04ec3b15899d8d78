package designer_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"floe/internal/designer"
)

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		block(body), body, asJSON, "<think>" + body, "</think>```\n" + body, "```yaml\n```", "{", "{}", "[", "---\n---", "3: {data_ratio: 1}", "sizes: {3: {data_ratio: 100%}}",
		"sizes:\n  ? [a]\n  : b\n", "rationale: &x\nsizes: *x", "sizes: !!binary aGk=", "~~~\nsizes: {}\n~~~", "\x00", "sizes: \xff", "rationale: |\n   a\n  b\nsizes:", "{\"sizes\": {\"3x3\": {\"data_ratio\": 1}}}{",
		"%YAML 1.3\n---\nsizes: {}", "sizes: {<<: {3x3: {data_ratio: 1}}}",
	} {
		f.Add(seed, "stop", "keep")
		f.Add(seed, "", "zero")
		f.Add(seed, "length", "refuse")
	}
	space, present := pond(), inForce()
	f.Fuzz(func(t *testing.T, reply, finish, missing string) {
		got := designer.NewReader(space, present, missing).Read(reply, finish)
		if n := len(got.Trace); n == 0 || n > 30 || !strings.HasPrefix(got.Trace[n-1], "Class "+string(got.Class)) {
			t.Fatalf("trace %q", got.Trace)
		}
		if len(got.Fault) > 4096 {
			t.Fatalf("a fault of %d bytes", len(got.Fault))
		}
		if got.Class.Usable() == (got.Fault != "") {
			t.Fatalf("class %q with fault %q", got.Class, got.Fault)
		}
		if !got.Class.Usable() {
			return
		}
		if len(got.Asked.Rows) != len(space.Sizes) {
			t.Fatalf("asked %+v", got.Asked)
		}
		sum := 0.0
		for _, r := range got.Asked.Rows {
			if sum += r.DataRatio; !(r.DataRatio >= 0 && r.DataRatio <= 1) || len(r.Knobs) != 2 {
				t.Fatalf("asked %+v", got.Asked)
			}
			for _, k := range r.Knobs {
				if !(k.Value >= 0 && k.Value <= 1) {
					t.Fatalf("asked %+v", got.Asked)
				}
			}
		}
		if !(math.Abs(sum-1) <= 1e-5) {
			t.Fatalf("shares sum to %v", sum)
		}
	})
}

// Whatever an endpoint sends, reading it takes time in proportion to its length:
// four times the text takes about four times as long, where a reader that is
// quadratic anywhere takes sixteen. A machine that is busy elsewhere gets more
// than one chance.
func TestReadingTakesLinearTime(t *testing.T) {
	const most = 10
	for _, unit := range []string{
		"{}\n", "{\"sizes\":1}\n", "{a: ", "[", "? ", "- ", "&a ", "#\n", "```\n", "```yaml\nsizes: 1\n```\n", "sizes:\n", " sizes:\n  ",
		"\"", "%", "a: &b\n", "</think>", "word ", "~~~\n", "3x3: 1\n", "|\n", "'", "a", "\n",
	} {
		part := strings.Repeat(unit, 12<<10/len(unit))
		for name, text := range map[string]string{"bare": part, "in fences": block("sizes: "+part) + "\n"} {
			ratio := math.Inf(1)
			for tries := 0; tries < 4 && ratio > most; tries++ {
				ratio = min(ratio, fastest(strings.Repeat(text, 8))/fastest(strings.Repeat(text, 2)))
			}
			if ratio > most {
				t.Errorf("%q %s: four times the text takes %.1f times as long; want about 4", unit, name, ratio)
			}
		}
	}
}

// fastest is the least time of some readings: the one that nothing disturbed.
func fastest(reply string) (seconds float64) {
	least := time.Duration(math.MaxInt64)
	for range 3 {
		start := time.Now()
		read(reply)
		least = min(least, time.Since(start))
	}
	return least.Seconds()
}

package designer_test

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

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

// troublesome are texts that, repeated, make careless readers slow.
var troublesome = []string{
	"{}\n", "{\"sizes\":1}\n", "{a: ", "[", "? ", "- ", "&a ", "#\n", "```\n", "```yaml\nsizes: 1\n```\n", "sizes:\n", " sizes:\n  ",
	"\"", "%", "a: &b\n", "</think>", "word ", "~~~\n", "3x3: 1\n", "|\n", "'", "a", "\n",
}

// repeated are a troublesome text bare and in blocks of 4 KiB, so many times over.
func repeated(unit string, times int) []string {
	part := strings.Repeat(unit, 4<<10/len(unit))
	return []string{strings.Repeat(part, times), strings.Repeat(block("sizes: "+part)+"\n", times)}
}

// Work is measured in bytes allocated, which no other load on the machine changes:
// sixteen times the text may take about sixteen times as much, where a reader that
// copies what it has read again and again takes 256. BenchmarkRead has the time.
func TestReadingWorksInProportionToTheReply(t *testing.T) {
	for _, unit := range troublesome {
		short, long := repeated(unit, 1), repeated(unit, 16)
		for i, name := range []string{"bare", "in fences"} {
			const fixed = 64 << 10 // buffers that any reading needs
			if a, b := allocated(short[i]), allocated(long[i]); b > 40*max(a, fixed) {
				t.Errorf("%q %s: sixteen times the text takes %d bytes of work against %d", unit, name, b, a)
			}
		}
	}
}

// allocated is how many bytes reading a reply allocates.
func allocated(reply string) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	read(reply)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func BenchmarkRead(b *testing.B) {
	for _, times := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("%dKiB", 4*times), func(b *testing.B) {
			var texts []string
			size := 0
			for _, unit := range troublesome {
				texts = append(texts, repeated(unit, times)...)
			}
			for _, text := range texts {
				size += len(text)
			}
			b.SetBytes(int64(size))
			for b.Loop() {
				for _, text := range texts {
					read(text)
				}
			}
		})
	}
}

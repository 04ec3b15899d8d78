package curriculum_test

import (
	"reflect"
	"strings"
	"testing"

	"floe/internal/curriculum"
)

const written = `sizes:
  3x3: {data_ratio: 0.50, hole_ratio: 0.10, wait_ratio: 0.20, depth: 2.00}
  4x4: {data_ratio: 0.25, hole_ratio: 0.20, wait_ratio: 0.30, depth: 3.00}
  5x5: {data_ratio: 0.25, hole_ratio: 0.30, wait_ratio: 0.40, depth: 4.00}
`

func TestFormatIsALinePerSize(t *testing.T) {
	if got := curriculum.Format(even()); got != written {
		t.Errorf("got\n%s\nwant\n%s", got, written)
	}
}

func TestParseReadsWhatFormatWrites(t *testing.T) {
	for seed := range uint64(300) {
		c := random(t, seed)
		c.Rows[0].Knobs[0].Value = 0.1234567890123 / float64(seed+1)
		got, err := parse([]byte(curriculum.Format(c)), pond())
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Fatalf("seed %d: got %v, %v; want %v", seed, got, err, c)
		}
	}
}

func TestWhatIsNotNamedHasNoSamplesAndDefaults(t *testing.T) {
	got, err := parse([]byte("sizes:\n  5x5: {data_ratio: 0.25}\n  3x3: {hole_ratio: .1, data_ratio: 7.5e-1}\n"), pond())
	if err != nil {
		t.Fatal(err)
	}
	want := of(row("3x3", 0.75, 0.1, 0.5, 2), row("4x4", 0, 0.3, 0.5, 2), row("5x5", 0.25, 0.3, 0.5, 2))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v; want %v", got, want)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"nothing", "", "curriculum:1:1: found nothing; want a YAML document"},
		{"a list", "[1]", "curriculum:1:1: found a list; want a mapping with the key sizes"},
		{"no sizes", "{}", "curriculum:1:1: found no key sizes; want a mapping with the key sizes"},
		{"empty sizes", "sizes:", "curriculum:1:7: sizes: found nothing; want a mapping from size to data_ratio and knobs"},
		{
			"another key", "sizes: {3x3: {data_ratio: 1}}\nrationale: x",
			`curriculum:2:1: found unknown key "rationale"; want sizes`,
		},
		{
			"unknown size", "sizes:\n  3x3: {data_ratio: 1}\n  11x11: {data_ratio: 0}",
			`curriculum:3:3: sizes: found unknown key "11x11"; want one of 3x3, 4x4, 5x5`,
		},
		{
			"unknown knob", "sizes: {3x3: {data_ratio: 1, hole_ration: 0.1}}",
			`curriculum:1:30: sizes.3x3: found unknown key "hole_ration"; did you mean hole_ratio?`,
		},
		{
			"no share", "sizes: {3x3: {hole_ratio: 0.1}}",
			"curriculum:1:14: sizes.3x3: found no key data_ratio; want the size's share of the samples",
		},
		{
			"no row", "sizes: {3x3: 0.5}",
			"curriculum:1:14: sizes.3x3: found 0.5; want a mapping such as {data_ratio: 0.5}",
		},
		{
			"twice", "sizes:\n  3x3: {data_ratio: 1}\n  3x3: {data_ratio: 1}",
			`curriculum:3:3: sizes.3x3: found the key "3x3" a second time; want it once`,
		},
		{
			"short sum", "sizes: {3x3: {data_ratio: 0.5}, 4x4: {data_ratio: 0.4}}",
			"curriculum:1:8: sizes: found a data_ratio that sums to 0.9 over the sizes; want 1",
		},
		{
			"out of range", "sizes:\n  3x3: {data_ratio: 1.1, hole_ratio: 0.51}",
			"curriculum:2:21: sizes.3x3.data_ratio: found 1.1; want a number from 0 to 1\n" +
				"curriculum:2:38: sizes.3x3.hole_ratio: found 0.51; want a number from 0 to 0.5",
		},
		{
			"no numbers", "sizes:\n  3x3: {data_ratio: 50%, hole_ratio: .nan, wait_ratio: '0.1', depth: .inf}",
			"curriculum:2:21: sizes.3x3.data_ratio: found \"50%\"; want a number from 0 to 1 (write 0.5)\n" +
				"curriculum:2:38: sizes.3x3.hole_ratio: found .nan; want a number from 0 to 0.5\n" +
				"curriculum:2:56: sizes.3x3.wait_ratio: found \"0.1\"; want a number from 0 to 1 (without quotes)\n" +
				"curriculum:2:70: sizes.3x3.depth: found .inf; want a number from 1 to 9",
		},
		{"a fence", "```yaml\nsizes: {}\n```", "curriculum:1:1: not YAML: found character that cannot start any token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse([]byte(c.src), pond())
			if err == nil || err.Error() != c.want {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, src := range []string{
		written, "sizes: {3x3: {data_ratio: 1}}", "sizes: {3x3: &a {data_ratio: 1}, 4x4: *a}",
		"sizes: {3x3: {data_ratio: 1e0, depth: 9.}}", "? [a]\n: b", "--- !!map {}\n---\n", "sizes: {3x3: {<<: 1}}", "\"\\x00\": 1",
	} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		c, err := parse(src, pond())
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("a fault without a message")
			}
			return
		}
		if err := legal(c, pond()); err != nil {
			t.Fatalf("Parse read an illegal curriculum: %v", err)
		}
		again, err := parse([]byte(curriculum.Format(c)), pond())
		if err != nil || !reflect.DeepEqual(again, c) {
			t.Fatalf("%v became %v, %v", c, again, err)
		}
	})
}

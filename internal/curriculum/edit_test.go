package curriculum_test

import (
	"reflect"
	"strings"
	"testing"

	"floe/internal/curriculum"
)

func TestAnEditIsReadInEitherForm(t *testing.T) {
	indented := "  " + strings.ReplaceAll(strings.TrimSpace(written), "\n", "\n  ") + "\n"
	for name, src := range map[string]string{
		"as designers write":    "rationale: |\n  two\n  lines\n" + written,
		"as in experiment file": "curriculum:\n" + indented + "rationale: \"two\\nlines\"\n",
	} {
		got, faults := curriculum.ParseEdit([]byte(src), pond())
		if len(faults) > 0 || got.Rationale != "two\nlines" || !reflect.DeepEqual(got.Curriculum, even()) {
			t.Errorf("%s: got %+v, %v", name, got, faults)
		}
	}
}

func TestAnEditsValuesAreLeftToTheProjection(t *testing.T) {
	got, faults := curriculum.ParseEdit([]byte("sizes:\n  4x4: {data_ratio: 3, hole_ratio: 0.9}\n  3x3: {data_ratio: -1}\n"), pond())
	if len(faults) > 0 || got.Rationale != "" || len(got.Curriculum.Rows) != 2 {
		t.Fatalf("got %+v, %v", got, faults)
	}
	used, repairs := curriculum.Project(got.Curriculum, even(), pond(), 0)
	if err := legal(used, pond()); err != nil || len(repairs) == 0 {
		t.Errorf("used %v with repairs %q: %v", used, repairs, err)
	}
}

func TestAnEditIsRefusedWithAllItsFaults(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"nothing", "", "1:1: found nothing; want a YAML document"},
		{"a list", "[1]", "1:1: found a list; want a mapping with the keys rationale and sizes"},
		{"no sizes", "rationale: x", "1:1: found no key sizes; want a mapping with the keys rationale and sizes"},
		{"no size", "sizes: {}", "1:8: sizes: found no size; want at least one"},
		{"both forms", "sizes: {3x3: {data_ratio: 1}}\ncurriculum: {}", "2:1: curriculum: found both sizes and curriculum; want one of them"},
		{"an empty curriculum", "curriculum: {}", "1:13: curriculum: found no key sizes; want a mapping with the key sizes"},
		{"a whole file", "name: x\nsizes: {3x3: {data_ratio: 1}}", "1:1: found unknown key \"name\"; want one of rationale, sizes, curriculum"},
		{
			"many faults", "sizes:\n  3x3: {data_ratio: 40%}\n  6x6: {data_ratio: 1}\n  4x4: {hole_ration: 0.1}\n",
			`2:21: sizes.3x3.data_ratio: found "40%"; want a number (write 0.4)` + "\n" +
				`3:3: sizes: found unknown key "6x6"; want one of 3x3, 4x4, 5x5` + "\n" +
				`4:8: sizes.4x4: found no key data_ratio; want the size's share of the samples` + "\n" +
				`4:9: sizes.4x4: found unknown key "hole_ration"; did you mean hole_ratio?`,
		},
	} {
		_, faults := curriculum.ParseEdit([]byte(c.src), pond())
		var got []string
		for _, f := range faults {
			got = append(got, f.String())
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), c.want)
		}
	}
}

// FuzzParseEdit wants of any text: no panic, and either faults or a curriculum
// that the projection can make legal.
func FuzzParseEdit(f *testing.F) {
	f.Add([]byte("rationale: why\n" + written))
	f.Add([]byte("curriculum: {sizes: {3x3: {data_ratio: 1e300}, 4x4: {data_ratio: -0}}}"))
	f.Add([]byte("sizes: {3x3: &a {data_ratio: 1}, 4x4: *a}"))
	f.Fuzz(func(t *testing.T, src []byte) {
		e, faults := curriculum.ParseEdit(src, pond())
		if len(faults) > 0 {
			return
		}
		used, _ := curriculum.Project(e.Curriculum, even(), pond(), 0)
		if err := legal(used, pond()); err != nil {
			t.Errorf("%q: %v", src, err)
		}
	})
}

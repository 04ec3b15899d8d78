package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func tables(t *testing.T) []Table {
	t.Helper()
	all, err := Tables()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestEveryTableHasItsModelsAndCells(t *testing.T) {
	var models []string
	for i, table := range tables(t) {
		agents := i + 3
		if table.Agents != agents || len(table.Sizes) != 11-agents || table.Sizes[0] != fmt.Sprintf("%dx%d", agents, agents) || table.Sizes[len(table.Sizes)-1] != "10x10" {
			t.Errorf("table of %d agents has sizes %v", table.Agents, table.Sizes)
		}
		if want := map[int]int{3: 1200, 4: 1050, 5: 900}[agents]; table.Instances() != want {
			t.Errorf("%d agents: %d instances; want %d", agents, table.Instances(), want)
		}
		var names []string
		whole := 0
		for _, r := range table.Rows {
			names = append(names, r.Model)
			if len(r.Cells) == len(table.Sizes) {
				whole++
			} else if len(r.Cells) != 0 {
				t.Errorf("%d agents, %s: %d cells", agents, r.Model, len(r.Cells))
			}
		}
		if whole != 7 || len(names) != 9 {
			t.Errorf("%d agents: %d models, %d with cells; want 9 and 7", agents, len(names), whole)
		}
		if i > 0 && !slices.Equal(names, models) {
			t.Errorf("%d agents: models %v; want %v", agents, names, models)
		}
		models = names
	}
}

func TestTheHeadlineIsAsPrinted(t *testing.T) {
	want := map[string]string{
		"Qwen3-4B + GRPO + Ours":                            "51.67/31.67 33.14/21.33 18.67/11.00",
		"Qwen3-4B + GRPO (random)":                          "40.42/26.08 26.67/16.10 15.11/9.11",
		"Qwen3-4B + GRPO + base designer":                   "45.21/30.00 27.62/19.62 16.00/10.89",
		"Qwen3-4B + GRPO + Ours with full training details": "38.83/26.50 24.76/18.19 14.22/10.11",
		"Qwen3-4B (base)":                                   "14.83/14.00 3.43/3.05 1.44/1.22",
	}
	got := map[string]string{}
	for _, table := range tables(t) {
		for _, r := range table.Rows {
			got[r.Model] = strings.TrimSpace(fmt.Sprintf("%s %.2f/%.2f", got[r.Model], r.Sum.Valid, r.Sum.Optimal))
		}
	}
	for model, figures := range want {
		if got[model] != figures {
			t.Errorf("%s: %s; want %s", model, got[model], figures)
		}
	}
}

// TestTheSlipsAreAllThatDoesNotAddUp recomputes every figure: cells must be whole
// counts of 150, sums the mean of their cells or at least whole counts.
func TestTheSlipsAreAllThatDoesNotAddUp(t *testing.T) {
	var found []string
	for _, table := range tables(t) {
		for _, r := range table.Rows {
			for name, rate := range map[string]func(Rates) float64{
				"valid":   func(c Rates) float64 { return c.Valid },
				"optimal": func(c Rates) float64 { return c.Optimal },
			} {
				total := 0
				for i, c := range r.Cells {
					k, exact := whole(rate(c), PerSize)
					total += k
					if !exact {
						found = append(found, slip(table.Agents, r.Model, table.Sizes[i], name, rate(c), percent(k, PerSize)))
					}
				}
				_, exact := whole(rate(r.Sum), table.Instances())
				switch {
				case len(r.Cells) == 0 && !exact:
					found = append(found, slip(table.Agents, r.Model, "sum", name, rate(r.Sum), 0))
				case len(r.Cells) > 0 && math.Abs(percent(total, table.Instances())-rate(r.Sum)) > rounding:
					found = append(found, slip(table.Agents, r.Model, "sum", name, rate(r.Sum), percent(total, table.Instances())))
				}
			}
		}
	}
	listed := []string{ // as in docs/benchmark.md
		slip(3, "GPT-5.4", "9x9", "optimal", 11.31, percent(17, 150)),
		slip(3, "Qwen3-4B + GRPO + base designer", "sum", "valid", 45.21, 0), // no multiple of 1/1200
		slip(4, "Gemini-3.1-Pro", "sum", "valid", 12.95, percent(137, 1050)),
		slip(5, "Kimi-K2.5", "sum", "valid", 13.47, percent(128, 900)),
	}
	slices.Sort(found)
	slices.Sort(listed)
	if !slices.Equal(found, listed) {
		t.Errorf("found\n%s\nlisted\n%s", strings.Join(found, "\n"), strings.Join(listed, "\n"))
	}
}

// rounding is half of the last printed digit, and what binary fractions add.
const rounding = 0.005 + 1e-9

// whole is the count that a percentage is nearest to, and whether it rounds to it.
func whole(p float64, n int) (count int, exact bool) {
	count = int(math.Round(p / 100 * float64(n)))
	return count, math.Abs(percent(count, n)-p) <= rounding
}

func percent(k, n int) float64 { return 100 * float64(k) / float64(n) }

func slip(agents int, model, column, rate string, printed, computed float64) string {
	return fmt.Sprintf("%d agents, %s, %s, %s: %.2f, not %.2f", agents, model, column, rate, printed, computed)
}

func TestBadTablesSpeak(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"empty":                {"", "no head"},
		"no sum":               {"model,3x3\n", "want model, sizes, sum"},
		"a cell is missing":    {"model,3x3,4x4,sum\nm,1.00/1.00,,1.00/1.00\n", `line 2: cell ""`},
		"a field is missing":   {"model,3x3,sum\nm,1.00/1.00\n", "wrong number of fields"},
		"one decimal":          {"model,3x3,sum\nm,1.0/1.00,1.00/1.00\n", `cell "1.0/1.00"`},
		"more than all":        {"model,3x3,sum\nm,101.00/1.00,1.00/1.00\n", "at most 100"},
		"optimal beyond valid": {"model,3x3,sum\nm,1.00/2.00,1.00/1.00\n", "optimal at most valid"},
		"a model twice":        {"model,3x3,sum\nm,,1.00/1.00\nm,,1.00/1.00\n", "line 3: model m comes twice"},
		"no name":              {"model,3x3,sum\n,,1.00/1.00\n", "line 2: no model"},
	} {
		if _, err := parseTable(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %q", name, err, c.says)
		}
	}
}

func FuzzParseTable(f *testing.F) {
	f.Add("model,3x3,sum\nm,1.00/1.00,1.00/1.00\n")
	f.Add("model,3x3,sum\nm,,45.21/30.00\n")
	f.Add("model,sum\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := parseTable(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, r := range table.Rows {
			if len(r.Cells) != 0 && len(r.Cells) != len(table.Sizes) || r.Sum.Optimal > r.Sum.Valid {
				t.Errorf("row %+v of sizes %v", r, table.Sizes)
			}
		}
	})
}

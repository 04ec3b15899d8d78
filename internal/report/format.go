package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"floe/internal/experiment"
)

const (
	unknown     = "–"  // stands where a number is not known
	percentSign = " %" // with a narrow space that does not break
	minus       = "−"
)

// tenths writes a number with one decimal.
func tenths(x float64) string { return decimals(x, 1) }

func decimals(x float64, places int) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return unknown
	}
	return strings.Replace(experiment.Decimals(x, places), "-", minus, 1)
}

// signed writes a change with its sign, "+47.8" or "−1.2".
func signed(x float64) string {
	s := tenths(x)
	if x > 0 && s != "0.0" {
		return "+" + s
	}
	return s
}

// number writes a value of unknown kind with up to four decimals, as short as
// it goes: 0.25, 3, 0.0125.
func number(x float64) string {
	s := decimals(x, 4)
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// share writes a fraction in percent, "12.5 %".
func share(x float64) string {
	s := shareFigure(x)
	if s == unknown {
		return s
	}
	return s + percentSign
}

// shareFigure is share without the sign, for columns.
func shareFigure(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return unknown
	}
	return strings.Replace(experiment.Tenths(x), "-", minus, 1)
}

// fieldValue writes a curriculum's value: the share of samples in percent, knobs
// as they are.
func fieldValue(field string, x float64) string {
	if field == dataRatio {
		return share(x)
	}
	return number(x)
}

// fieldNumber is fieldValue without the sign of percent, for narrow columns.
func fieldNumber(field string, x float64) string {
	return strings.TrimSuffix(fieldValue(field, x), percentSign)
}

// fieldColumn writes values of a field under each other: a function that gives
// all of them as many decimals as the longest of those in the curricula needs.
func fieldColumn(field string, curricula ...experiment.Curriculum) func(float64) string {
	if field == dataRatio {
		return func(x float64) string { return fieldNumber(field, x) }
	}
	var values []float64
	for _, c := range curricula {
		for _, row := range c.Rows {
			if v, ok := row.Knob(field); ok {
				values = append(values, v)
			}
		}
	}
	return column(values)
}

// column writes numbers under each other: with as many decimals, four at most,
// as the longest of the values needs.
func column(values []float64) func(float64) string {
	places := 0
	for _, v := range values {
		_, fraction, _ := strings.Cut(number(v), ".")
		places = max(places, len(fraction))
	}
	return func(x float64) string { return decimals(x, places) }
}

// count writes a whole number in groups of three, "12,000".
func count[T int | int64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	sign := ""
	if s[0] == '-' {
		sign, s = minus, s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// seconds writes a length of time in the unit that suits it.
func seconds(s float64) string {
	switch {
	case math.IsNaN(s) || math.IsInf(s, 0) || s < 0:
		return unknown
	case s < 59.95:
		return tenths(s) + " s"
	case s < 3600:
		whole := int64(math.Round(s))
		return fmt.Sprintf("%d min %02d s", whole/60, whole%60)
	default:
		minutes := int64(math.Round(s / 60))
		return fmt.Sprintf("%d h %02d min", minutes/60, minutes%60)
	}
}

// plural is "1 round", "3 rounds".
func plural[T int | int64](n T, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return count(n) + " " + word + "s"
}

// designerName is who proposed, as one phrase: "openai (qwen3-4b), context V6".
func designerName(kind, model, context string) string {
	s := kind
	if model != "" {
		s += " (" + model + ")"
	}
	if context != "" {
		s += ", context " + context
	}
	return s
}

func transcriptDesigner(t experiment.Transcript) string {
	return designerName(t.Designer, t.Model, t.Context)
}

package experiment

import (
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestSharesAreRoundedByTheirExactRatio(t *testing.T) {
	for n := 1; n <= 400; n++ {
		for k := 0; k <= n; k++ {
			want := big.NewRat(int64(100*k), int64(n)).FloatString(1) + " %"
			if got := Percent((Rates{N: n, Valid: k}).ValidRate()); got != want {
				t.Fatalf("%d of %d reads %q; want %q", k, n, got, want)
			}
		}
	}
}

func TestPercentRoundsHalvesAwayFromZero(t *testing.T) {
	for _, c := range []struct {
		got, want string
	}{
		{Percent(378.0 / 800), "47.3 %"},
		{Percent(249.0 / 400), "62.3 %"},
		{Percent(1), "100.0 %"},
		{Tenths(0), "0.0"},
		{Tenths(math.NaN()), "-"},
		{Tenths(math.Inf(1)), "-"},
		{Points(0.0125), "+1.3"},
		{Points(-0.0125), "-1.3"},
		{Points(-0.0001), "0.0"},
		{Points(0.0001), "0.0"},
		{Decimals(62.25, 1), "62.3"},
		{Decimals(1e-9, 3), "0.000"},
	} {
		if c.got != c.want {
			t.Errorf("got %q; want %q", c.got, c.want)
		}
	}
}

// TestSharesHaveOneFormatter looks for shares that are formatted by hand.
func TestSharesHaveOneFormatter(t *testing.T) {
	byHand := regexp.MustCompile(`%[-+ 0-9]*\.1f[^\n]*\b100 ?\*`)
	for _, dir := range []string{"../../starter", "../../workflows", "../../activities", "../report", "../sweep"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no Go files (%v)", dir, err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(src), "\n") {
				if byHand.MatchString(line) {
					t.Error(fmt.Sprintf("%s:%d: %s", file, i+1, strings.TrimSpace(line)), "\nwant experiment.Percent, Tenths or Points")
				}
			}
		}
	}
}

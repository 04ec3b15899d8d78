package curriculum

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"floe/internal/env"
	"floe/internal/experiment"
)

// decimals is the grain of shares that a repair has moved: ten-thousandths,
// fine beside any round's number of samples and still a number to read.
const decimals = 10000

// Project brings a proposal into the legal space and says in a sentence per
// repair how: what is no number, or not said, stays as in the previous
// curriculum; what is out of range goes to its nearest end; shares are divided
// by their sum; and no share is left below minShare (at most one size's even
// share). A legal proposal comes back as it is, without repairs. What comes
// back is legal whatever was asked, and projecting it again changes nothing.
//
// A size that is not proposed keeps its previous settings, but gets no samples
// if the proposed sizes take them all.
func Project(asked, previous experiment.Curriculum, space env.Space, minShare float64) (used experiment.Curriculum, repairs []string) {
	base := projection{base: Uniform(space), space: space}
	p := projection{base: base.project(previous, 0), space: space}
	return p.project(asked, minShare), p.repairs
}

// projection is one projection under way. What is missing comes from base,
// which is legal.
type projection struct {
	base    experiment.Curriculum
	space   env.Space
	repairs []string
}

func (p *projection) repair(format string, args ...any) {
	p.repairs = append(p.repairs, fmt.Sprintf(format, args...))
}

func (p *projection) project(asked experiment.Curriculum, minShare float64) experiment.Curriculum {
	p.drop(asked)
	used := p.base.Clone()
	for i, last := range used.Rows {
		if row, ok := asked.Row(last.Size); ok {
			p.row(&used.Rows[i], row)
		}
	}
	p.missing(used, asked)
	least := p.least(minShare)
	normalised := p.normalise(used)
	lifted := p.lift(used, least)
	if normalised || lifted {
		tidy(used, least)
	}
	return used
}

// drop tells of rows that mean nothing here.
func (p *projection) drop(asked experiment.Curriculum) {
	seen := map[string]bool{}
	for _, row := range asked.Rows {
		switch {
		case rowIndex(p.base, row.Size) < 0:
			p.repair("%.20q dropped: no such size", row.Size)
		case seen[row.Size]:
			p.repair("%s given again: the first counts", row.Size)
		}
		seen[row.Size] = true
	}
}

// row moves what was asked for one size into the row that is to be used.
func (p *projection) row(to *experiment.Row, asked experiment.Row) {
	seen := map[string]bool{}
	for _, k := range asked.Knobs {
		switch {
		case knobIndex(p.space, k.Name) < 0:
			p.repair("%s %.20q dropped: no such knob", to.Size, k.Name)
		case seen[k.Name]:
			p.repair("%s %s given again: the first counts", to.Size, k.Name)
		}
		seen[k.Name] = true
	}
	to.DataRatio = p.share(to.Size, asked.DataRatio, to.DataRatio)
	for i, k := range p.space.Knobs {
		v, said := asked.Knob(k.Name)
		if !said {
			p.repair("%s %s missing -> %s: the last value stays", to.Size, k.Name, show(to.Knobs[i].Value))
			continue
		}
		to.Knobs[i].Value = p.knob(to.Size, k, v, to.Knobs[i].Value)
	}
}

func (p *projection) share(size string, asked, last float64) float64 {
	switch {
	case math.IsNaN(asked) || math.IsInf(asked, 0):
		p.repair("%s %s %v -> %s: not a number, the last value stays", size, FieldShare, asked, show(last))
		return last
	case asked < 0:
		p.repair("%s %s %s -> 0.00: at least 0", size, FieldShare, show(asked))
		return 0
	}
	return asked
}

func (p *projection) knob(size string, k env.Knob, asked, last float64) float64 {
	switch {
	case math.IsNaN(asked) || math.IsInf(asked, 0):
		p.repair("%s %s %v -> %s: not a number, the last value stays", size, k.Name, asked, show(last))
		return last
	case asked < k.Min:
		p.repair("%s %s %s -> %s: at least %v", size, k.Name, show(asked), show(k.Min), k.Min)
	case asked > k.Max:
		p.repair("%s %s %s -> %s: at most %v", size, k.Name, show(asked), show(k.Max), k.Max)
	}
	return clamp(asked, k)
}

// missing settles the sizes that were not proposed.
func (p *projection) missing(used, asked experiment.Curriculum) {
	taken := 0.0
	for _, row := range used.Rows {
		if _, ok := asked.Row(row.Size); ok {
			taken += row.DataRatio
		}
	}
	for i, row := range used.Rows {
		if _, ok := asked.Row(row.Size); ok {
			continue
		}
		if taken >= 1-sumTolerance {
			used.Rows[i].DataRatio = 0
			p.repair("%s missing: no samples, since the others take them all; its last knobs stay", row.Size)
			continue
		}
		p.repair("%s missing: its last settings stay", row.Size)
	}
}

// normalise makes shares sum to 1 and says whether it had to.
func (p *projection) normalise(c experiment.Curriculum) bool {
	largest, sum := largestShare(c), shareSum(c)
	switch {
	case len(c.Rows) == 0 || (math.Abs(sum-1) <= sumTolerance && largest <= 1):
		return false
	case !(largest > 0):
		p.repair("%s is 0 for all sizes: the last shares stay", FieldShare)
		for i, row := range p.base.Rows {
			c.Rows[i].DataRatio = row.DataRatio
		}
		return false
	}
	p.repair("%s of all sizes divided by %s, their sum; want a sum of 1", FieldShare, show(sum))
	scale(c)
	return true
}

// least is the least share that all sizes can keep.
func (p *projection) least(minShare float64) float64 {
	if !(minShare > 0) || len(p.space.Sizes) == 0 {
		return 0
	}
	return min(minShare, 1/float64(len(p.space.Sizes)))
}

// slack keeps rounding in the last place from counting as a share too small.
const slack = 1e-9

// lift gives every size at least the least share, at the cost of the others in
// proportion, and says whether it had to.
func (p *projection) lift(c experiment.Curriculum, least float64) (lifted bool) {
	held := make([]bool, len(c.Rows)) // rows that stand at least already
	for {
		spent, rest, more := 0.0, 0.0, false
		for i, row := range c.Rows {
			if !held[i] && row.DataRatio < least-slack {
				p.repair("%s %s %s -> %s: at least min_share; the others give way", row.Size, FieldShare, show(row.DataRatio), show(least))
				c.Rows[i].DataRatio, held[i], more = least, true, true
			}
			if held[i] {
				spent += least
			} else {
				rest += row.DataRatio
			}
		}
		if !more {
			return lifted
		}
		lifted = true
		for i := range c.Rows {
			if !held[i] {
				c.Rows[i].DataRatio *= (1 - spent) / rest
			}
		}
	}
}

// tidy rounds moved shares to numbers that can be read, unless that would push
// one below the least share.
func tidy(c experiment.Curriculum, least float64) {
	rounded := c.Clone()
	round(rounded, decimals)
	for _, row := range rounded.Rows {
		if row.DataRatio < least {
			return
		}
	}
	copy(c.Rows, rounded.Rows)
}

// show writes a number for a sentence: two to four decimals.
func show(v float64) string {
	if math.Abs(v) >= 1e6 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	s := strconv.FormatFloat(v, 'f', 4, 64)
	whole, fraction, _ := strings.Cut(s, ".")
	return whole + "." + fraction[:2] + strings.TrimRight(fraction[2:], "0")
}

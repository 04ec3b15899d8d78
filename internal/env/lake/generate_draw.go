package lake

import (
	"math/rand/v2"
	"slices"
	"strconv"

	"floe/internal/env"
	"floe/internal/experiment"
)

// source gives the candidates of a quota by number. All are uniform over the
// instances with so many holes whose starts and goals are distinct cells: rare
// classes are found by drawing often, not by construction, so nothing but the
// class distinguishes them. A source is safe for concurrent use.
//
// Candidates come in chunks, each with a stream of random numbers of its own, so
// that one is a function of the order, the row and its number alone, whoever
// draws it and when.
type source struct {
	n, holes, agents int
	split            string
	stream           []string // name of the streams, without the chunk's number
	ground           field    // of the map without holes
	// all lists the numbers of all instances in random order, where they are few
	// enough to be gone through. Otherwise it is nil, and draws never end.
	all []int
}

const (
	chunkSize = 32
	// fewInstances is how many are gone through one by one. All spaces of 3x3 maps
	// with two agents have less; there the classes are small and soon used up.
	fewInstances = 100_000
)

func newSource(o env.Order, q quota) *source {
	s := &source{
		n: q.n, holes: q.holes, agents: o.Agents, split: o.Split, ground: walled,
		stream: []string{o.Seed, "lake", q.row.Size, strconv.Itoa(q.holes), strconv.Itoa(o.Agents), strconv.Itoa(q.part)},
	}
	for i := range q.n * q.n {
		s.ground[s.place(i)] = unseen
	}
	if size := s.instances(); size <= fewInstances {
		s.all = s.rand("all").Perm(int(size))
	}
	return s
}

func (s *source) rand(name string) *rand.Rand {
	return experiment.Rand(append(slices.Clip(s.stream), name)...)
}

// place is where the i-th cell of the map is on the board.
func (s *source) place(i int) place { return placeOf(Cell{i / s.n, i % s.n}) }

// ends says whether a chunk lies behind the last candidate.
func (s *source) ends(chunk int) bool { return s.all != nil && chunk*chunkSize >= len(s.all) }

// chunk gives each of a chunk's candidates to use, in a puzzle that is used
// again for the next one.
func (s *source) chunk(number int, use func(*puzzle)) {
	rng := s.rand(strconv.Itoa(number))
	p := &puzzle{n: s.n, agents: s.agents}
	for i := number * chunkSize; i < (number+1)*chunkSize; i++ {
		switch {
		case s.all == nil:
			s.draw(p, rng)
		case i < len(s.all):
			s.number(p, s.all[i], rng)
		default:
			return
		}
		use(p)
	}
}

// draw puts holes, starts and goals on distinct cells.
func (s *source) draw(p *puzzle, rng *rand.Rand) {
	cells := identityOrder
	deal := cells[:s.n*s.n]
	next := func() place {
		i := rng.IntN(len(deal))
		c := deal[i]
		deal[i] = deal[len(deal)-1]
		deal = deal[:len(deal)-1]
		return s.place(int(c))
	}
	p.ground = s.ground
	for range s.holes {
		p.ground[next()] = wall
	}
	for i := range s.agents {
		p.starts[i], p.goals[i] = next(), next()
	}
}

var identityOrder = func() (order [MaxSize * MaxSize]uint8) {
	for i := range order {
		order[i] = uint8(i)
	}
	return order
}()

// instances is the number of instances up to the names of agents: sets of holes,
// of starts in what is left, and goals for them in what is left then.
func (s *source) instances() float64 {
	cells := s.n * s.n
	return combinations(cells, s.holes) * combinations(cells-s.holes, s.agents) * arrangements(cells-s.holes-s.agents, s.agents)
}

// combinations is the number of sets of k out of n, exact where it is used as an
// integer.
func combinations(n, k int) float64 {
	product := 1.0
	for i := range k {
		product = product * float64(n-i) / float64(i+1)
	}
	return max(product, 0)
}

// arrangements is the number of sequences of k out of n.
func arrangements(n, k int) float64 {
	product := 1.0
	for i := range k {
		product *= float64(n - i)
	}
	return max(product, 0)
}

// number makes the instance with a number below instances. Its agents are named
// at random.
func (s *source) number(p *puzzle, number int, rng *rand.Rand) {
	left := identityOrder[:s.n*s.n]
	left = append(make([]uint8, 0, len(left)), left...)
	take := func(count int) (places []place) {
		sets := int(combinations(len(left), count))
		for _, i := range subset(number%sets, len(left), count) {
			places = append(places, s.place(int(left[i])))
			left = append(left[:i], left[i+1:]...)
		}
		number /= sets
		return places
	}
	p.ground = s.ground
	for _, h := range take(s.holes) {
		p.ground[h] = wall
	}
	starts := take(s.agents)
	for i, name := range rng.Perm(s.agents) {
		goal := number % len(left)
		number /= len(left)
		p.starts[name], p.goals[name] = starts[i], s.place(int(left[goal]))
		left = append(left[:goal], left[goal+1:]...)
	}
}

// subset is a set of k of the numbers below n, descending, by its rank.
func subset(rank, n, k int) (set []int) {
	for c := n - 1; k > 0; c-- {
		if sets := int(combinations(c, k)); rank >= sets {
			rank -= sets
			set = append(set, c)
			k--
		}
	}
	return set
}

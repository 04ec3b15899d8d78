package lake

// arrangement is an order of up to five tokens, three bits a slot.
type arrangement uint16

// identity has token i in slot i, for any number of tokens.
const identity arrangement = 4<<12 | 3<<9 | 2<<6 | 1<<3

func (a arrangement) at(slot int) int { return int(a >> (3 * slot) & 7) }

func (a arrangement) with(slot, token int) arrangement {
	return a&^(7<<(3*slot)) | arrangement(token)<<(3*slot)
}

// times is the arrangement that has in every slot what a has in the slot that b
// names.
func (a arrangement) times(b arrangement, k int) arrangement {
	product := identity
	for slot := range k {
		product = product.with(slot, a.at(b.at(slot)))
	}
	return product
}

func (a arrangement) inverse(k int) arrangement {
	inverse := identity
	for slot := range k {
		inverse = inverse.with(a.at(slot), slot)
	}
	return inverse
}

// after is the permutation that makes a of b: what it gives for b's token in a
// slot is a's token there.
func (a arrangement) after(b arrangement, k int) arrangement { return a.times(b.inverse(k), k) }

// permutations is the group that the permutations added to it generate.
type permutations struct {
	k          int
	elements   []arrangement // the identity first
	generators []arrangement
	member     map[arrangement]bool
}

func newPermutations(k int) permutations {
	return permutations{k: k, elements: []arrangement{identity}, member: map[arrangement]bool{identity: true}}
}

func (p *permutations) has(a arrangement) bool { return p.member[a] }

// add puts in a permutation with all that follows from it, and says whether
// these are all permutations now.
func (p *permutations) add(a arrangement) (all bool) {
	if p.has(a) {
		return false
	}
	p.generators = append(p.generators, a)
	for i := 0; i < len(p.elements); i++ {
		for _, g := range p.generators {
			if product := p.elements[i].times(g, p.k); !p.member[product] {
				p.member[product] = true
				p.elements = append(p.elements, product)
			}
		}
	}
	return len(p.elements) == factorials[p.k]
}

var factorials = [MaxAgents + 1]int{1, 1, 2, 6, 24, 120}

package lake

// EstimateTokens estimates how many tokens a language model needs for a text. It
// counts the pieces that the pre-tokenizer of the paper's backbone (Qwen3) makes:
// every digit is one, with a space before it two, a run of signs or line ends is
// one, a letter outside ASCII is one, a word is one per eight letters begun. So
// a step, "(1, 2) -> ", counts 7; a quarter of its length would say 2.5.
func EstimateTokens(text string) int {
	tokens, run := 0, 0
	var last class
	for i := range len(text) {
		now := classes[text[i]]
		if now != last {
			run = 0
		}
		switch now {
		case aDigit:
			tokens++
			if last == aSpace {
				tokens++
			}
		case aLetter:
			if run&7 == 0 {
				tokens++
			}
		case aSign, aLineEnd:
			if run == 0 {
				tokens++
			}
		case aRune:
			tokens++
		case aSpace, anOther: // part of what stands beside them
		}
		last = now
		run++
	}
	return tokens
}

// class is what the estimate tells apart among bytes.
type class byte

const (
	anOther class = iota // control characters, the inner bytes of a rune
	aSpace
	aLineEnd
	aDigit
	aLetter
	aSign
	aRune
)

var classes = classify()

func classify() (table [256]class) {
	for i := range table {
		switch c := byte(i); {
		case c == '\n' || c == '\r':
			table[i] = aLineEnd
		case c == ' ' || c == '\t':
			table[i] = aSpace
		case isDigit(c):
			table[i] = aDigit
		case isLetter(c):
			table[i] = aLetter
		case c > ' ' && c < 127:
			table[i] = aSign
		case c >= 0xc0:
			table[i] = aRune
		}
	}
	return table
}

package strict

import (
	"strconv"
	"strings"
)

// longestShown bounds how much of a wrong value a fault repeats.
const longestShown = 40

func clip(s string) string {
	if r := []rune(s); len(r) > longestShown {
		return string(r[:longestShown]) + "..."
	}
	return s
}

func quote(s string) string { return strconv.Quote(clip(s)) }

// OneOf lists words: "one of a, b, c", or the only one.
func OneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return "one of " + strings.Join(words, ", ")
}

// Nearest is the word that was probably meant. Ties go to the first.
func Nearest(word string, words []string) (string, bool) {
	best, least := "", 1+min(3, max(1, len(word)/3))
	for _, w := range words {
		if d := distance(strings.ToLower(clip(word)), strings.ToLower(w)); d < least {
			best, least = w, d
		}
	}
	return best, best != ""
}

// distance counts the letters to insert, drop, replace or swap with their
// neighbour to get from a to b (optimal string alignment).
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	rows := make([][]int, len(s)+1)
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(s); i++ {
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(s)][len(t)]
}

package designer

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// names are the words that an answer is made of.
type names struct {
	sizes  []string // with their other spellings
	fields []string // data_ratio and the knobs
}

func (r Reader) names() names {
	n := names{fields: r.fields()}
	for _, s := range r.space.Sizes {
		n.sizes = append(n.sizes, spellings(s)...)
	}
	return n
}

// blocks finds the texts in a reply that may be the answer, in order. Fenced
// blocks come before bare text: with a fence about, what stands outside is talk.
// Blocks that mention nothing of an answer are dropped, unless there are no others.
func blocks(text string, n names) []string {
	found := fenced(text)
	if len(found) == 0 {
		return bare(text, n)
	}
	answers := slices.DeleteFunc(slices.Clone(found), func(b string) bool { return !n.mentionedIn(b) })
	if len(answers) == 0 {
		return found[len(found)-1:]
	}
	return answers
}

func (n names) mentionedIn(block string) bool {
	return strings.Contains(block, "sizes") || slices.ContainsFunc(n.fields, func(f string) bool { return strings.Contains(block, f) })
}

var fence = regexp.MustCompile("^([ \t]*)(`{3,}|~{3,})[ \t]*([A-Za-z0-9_+-]*)([^`]*)$")

// fenced collects the blocks between ``` or ~~~ that are yaml, json or unnamed.
// A fence that is never closed reaches to the end: models stop right there.
func fenced(text string) []string {
	var found []string
	var block []string
	var open []string // the match of the opening fence; nil outside
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		m := fence.FindStringSubmatch(line)
		switch {
		case open == nil:
			open, block = m, nil
		case m != nil && strings.TrimSpace(m[3]+m[4]) == "" && strings.HasPrefix(m[2], open[2]):
			found = appendBlock(found, open[3], block)
			open = nil
		default:
			block = append(block, strings.TrimPrefix(line, open[1])) // a block inside a list is indented as its fence
		}
	}
	if open != nil {
		found = appendBlock(found, open[3], block)
	}
	return found
}

func appendBlock(found []string, language string, lines []string) []string {
	switch strings.ToLower(language) {
	case "", "yaml", "yml", "json", "text", "txt", "plaintext":
		return append(found, strings.Join(lines, "\n"))
	}
	return found
}

// bare finds answers without a fence: JSON objects, or YAML from the first line
// that begins like an answer up to the first line of prose.
func bare(text string, n names) []string {
	var found []string
	for {
		text = n.from(text)
		if text == "" {
			return found
		}
		if !strings.HasPrefix(text, "{") {
			return append(found, untilProse(text))
		}
		var object string
		object, text = firstObject(text)
		found = append(found, object)
	}
}

// from is the text from the first line on that begins an answer.
func (n names) from(text string) string {
	at := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "{") || n.begins(line) {
			return text[at:]
		}
		at += len(line)
	}
	return ""
}

var key = regexp.MustCompile(`^["']?([^\s:"'][^:"']*?)["']?[ \t]*:([ \t]|$)`)

// begins says whether an unindented line opens an answer.
func (n names) begins(line string) bool {
	m := key.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
	return m != nil && (m[1] == "rationale" || m[1] == "sizes" || slices.Contains(n.sizes, canonical(m[1])))
}

// untilProse cuts bare YAML before the first unindented line that is neither a
// key, a comment nor a closing bracket. A one-word key is kept, for the faults to
// name it.
func untilProse(text string) string {
	at := 0
	for line := range strings.Lines(text) {
		if l := strings.TrimRight(line, "\r\n"); l != "" && !strings.ContainsAny(l[:1], " \t#}]-") && !oneWordKey(l) {
			return text[:at]
		}
		at += len(line)
	}
	return text
}

func oneWordKey(line string) bool {
	m := key.FindStringSubmatch(line)
	return m != nil && !strings.ContainsAny(m[1], " \t")
}

// firstObject splits text, which begins with {, after its first JSON object. What
// is not JSON is taken whole, to be tried as YAML.
func firstObject(text string) (object, rest string) {
	d := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if d.Decode(&raw) != nil {
		return text, ""
	}
	return string(raw), text[d.InputOffset():]
}

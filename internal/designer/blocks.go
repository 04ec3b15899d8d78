package designer

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// candidate is a text in a reply that may be the answer.
type candidate struct {
	text        string
	what        string // "the fenced block"
	first, last int    // lines of the reply, from 1
}

// String names a candidate: "the fenced block in lines 3 to 9".
func (c candidate) String() string {
	if c.first == c.last {
		return fmt.Sprintf("%s in line %d", c.what, c.first)
	}
	return fmt.Sprintf("%s in lines %d to %d", c.what, c.first, c.last)
}

func (c candidate) upper() string {
	s := c.String()
	return strings.ToUpper(s[:1]) + s[1:]
}

// blocks finds the texts in a reply that may be the answer, in order. Fenced
// blocks come before bare text: with a fence about, what stands outside is talk.
// Blocks that mention nothing of an answer are dropped, unless there are no others.
func (r Reader) blocks(text string, line int, t *trace) []candidate {
	found := fenced(text, line)
	if len(found) == 0 {
		found = r.bare(text, line)
		t.found("without a fence", found)
		return found
	}
	answers := slices.DeleteFunc(slices.Clone(found), func(c candidate) bool { return !r.mentionedIn(c.text) })
	if len(answers) == 0 {
		t.found("in fences, none of which names a setting", found)
		return found[len(found)-1:]
	}
	t.found("in fences", answers)
	if n := len(found) - len(answers); n > 0 {
		t.say("%s that names no setting is left aside.", plural(n, "fenced block"))
	}
	return answers
}

func (t *trace) found(where string, candidates []candidate) {
	if len(candidates) == 0 {
		t.say("No YAML or JSON was found.")
		return
	}
	const most = 8
	var names []string
	for _, c := range candidates[:min(most, len(candidates))] {
		names = append(names, c.String())
	}
	if n := len(candidates) - most; n > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	t.say("%s found %s: %s.", plural(len(candidates), "possible answer"), where, strings.Join(names, ", "))
}

func (r Reader) mentionedIn(block string) bool {
	return strings.Contains(block, "sizes") || slices.ContainsFunc(r.fields, func(f string) bool { return strings.Contains(block, f) })
}

// mostLine is the longest line that can be a fence. Of a longer one only the start
// is looked at, since a key stands there.
const mostLine = 500

// match looks for a pattern in the start of a line.
func match(pattern *regexp.Regexp, line string) []string {
	if len(line) > mostLine {
		if pattern == fence {
			return nil
		}
		line = line[:mostLine]
	}
	return pattern.FindStringSubmatch(line)
}

var fence = regexp.MustCompile("^([ \t]*)(`{3,}|~{3,})[ \t]*([A-Za-z0-9_+-]*)([^`]*)$")

// fenced collects the blocks between ``` or ~~~ that are yaml, json or unnamed.
// A fence that is never closed reaches to the end: models stop right there.
func fenced(text string, line int) []candidate {
	var found []candidate
	var block []string
	var open []string // the match of the opening fence; nil outside
	first := 0
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\r\n")
		m := match(fence, l)
		switch {
		case open == nil:
			open, block, first = m, nil, line
		case m != nil && strings.TrimSpace(m[3]+m[4]) == "" && strings.HasPrefix(m[2], open[2]):
			found = appendBlock(found, open[3], block, first)
			open = nil
		default:
			block = append(block, strings.TrimPrefix(l, open[1])) // a block inside a list is indented as its fence
		}
		line++
	}
	if open != nil {
		found = appendBlock(found, open[3], block, first)
	}
	return found
}

func appendBlock(found []candidate, language string, lines []string, first int) []candidate {
	switch strings.ToLower(language) {
	case "", "yaml", "yml", "json", "text", "txt", "plaintext":
		return append(found, candidate{strings.Join(lines, "\n"), "the fenced block", first, first + len(lines) + 1})
	}
	return found
}

// bare finds answers without a fence: JSON objects, or YAML from the first line
// that begins like an answer up to the first line of prose.
func (r Reader) bare(text string, line int) []candidate {
	var found []candidate
	for {
		skipped := r.before(text)
		line += strings.Count(text[:skipped], "\n")
		if text = text[skipped:]; text == "" {
			return found
		}
		if !strings.HasPrefix(text, "{") {
			return append(found, place(untilProse(text), "the bare YAML", line))
		}
		object, rest := firstObject(text)
		c := place(object, "the bare JSON", line)
		found = append(found, c)
		line, text = c.last, rest
	}
}

func place(text, what string, line int) candidate {
	return candidate{text, what, line, line + strings.Count(strings.TrimRight(text, "\n"), "\n")}
}

// before is how much of a text stands before the first line that begins an
// answer; all of it if none does.
func (r Reader) before(text string) int {
	at := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "{") || r.begins(line) {
			return at
		}
		at += len(line)
	}
	return at
}

var key = regexp.MustCompile(`^["']?([^\s:"'][^:"']*?)["']?[ \t]*:([ \t]|$)`)

// begins says whether an unindented line opens an answer.
func (r Reader) begins(line string) bool {
	m := match(key, strings.TrimRight(line, "\r\n"))
	return m != nil && (m[1] == "rationale" || m[1] == "sizes" || r.sizes[canonical(m[1])] != "")
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
	m := match(key, line)
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

package designer

import (
	"fmt"
	"math"
	"strings"

	"floe/internal/ending"
	"floe/internal/env"
	"floe/internal/experiment"
)

// Class says how a reply was read: usable, or why not.
type Class string

// Classes of replies. All but the first two are refusals.
const (
	ClassOK         Class = "ok"
	ClassNormalised Class = "normalised" // usable once percent signs or a sum within 2 % were mended

	ClassEmpty      Class = "empty"        // nothing was said, or nothing after thinking
	ClassNoBlock    Class = "no_block"     // prose without YAML or JSON
	ClassNotYAML    Class = "not_yaml"     // neither YAML nor JSON
	ClassWrongKeys  Class = "wrong_keys"   // not the form asked for
	ClassNotNumber  Class = "not_a_number" // a setting that is no plain number
	ClassOutOfRange Class = "out_of_range" // a ratio below 0 or above 1
	ClassBadSum     Class = "bad_sum"      // shares that do not sum to 1
	ClassMissing    Class = "missing_size" // a size without data_ratio, where the experiment refuses that
	ClassDuplicate  Class = "duplicate"    // the same thing said twice
	ClassAmbiguous  Class = "ambiguous"    // two different answers
	ClassTruncated  Class = "truncated"    // cut off by the token limit
	ClassDeclined   Class = "declined"     // the model would not
	ClassBroken     Class = "broken_off"   // cut by trouble at the endpoint

	// ClassUnavailable marks a model call that brought no reply to read.
	ClassUnavailable Class = "unavailable"
)

// Usable says whether a reply of this class gave a curriculum.
func (c Class) Usable() bool { return c == ClassOK || c == ClassNormalised }

// Reading is what was understood of a reply.
type Reading struct {
	Class     Class                 `json:"class"`
	Rationale string                `json:"rationale,omitempty"`
	Asked     experiment.Curriculum `json:"asked"` // all sizes, in the space's order; empty unless usable
	Notes     []string              `json:"notes,omitempty"`
	Fault     string                `json:"fault,omitempty"` // everything that was wrong, for the model to mend
	// Trace tells in order what was found in the reply and what was decided.
	Trace []string `json:"trace,omitempty"`
}

// sumTolerance is how far shares may be from 1 and still be normalised;
// sumExact is what rounding of decimals explains.
const (
	sumTolerance = 0.02 + 1e-9 // so that 0.98 counts
	sumExact     = 1e-6
)

// mostText bounds what is searched for an answer, which has under 2 KiB.
const mostText = 256 << 10

// What becomes of a size that a reply leaves out, as in DesignerSpec.Missing.
const (
	MissingKeep   = "keep"   // it keeps its row; no samples if the other sizes take them all
	MissingZero   = "zero"   // it gets no samples
	MissingRefuse = "refuse" // the reply cannot be used
)

// Reader reads replies to one request.
type Reader struct {
	space    env.Space
	previous experiment.Curriculum
	missing  string
	fields   []string          // data_ratio and the knobs
	sizes    map[string]string // the size of each spelling
}

// NewReader reads replies about this space. Settings that a reply leaves out stay
// as they are in previous; missing says what becomes of sizes (the empty word is
// MissingKeep).
func NewReader(space env.Space, previous experiment.Curriculum, missing string) Reader {
	r := Reader{space: space, previous: previous.Clone(), missing: missing, fields: []string{dataRatio}, sizes: map[string]string{}}
	for _, k := range space.Knobs {
		r.fields = append(r.fields, k.Name)
	}
	for _, size := range space.Sizes {
		for _, spelling := range spellings(size) {
			r.sizes[spelling] = size
		}
	}
	return r
}

// Read understands a reply, or says why it cannot be used. finishReason is the
// endpoint's; package ending knows what it means.
//
// It takes the text after the last </think>, in it the last fenced block that
// says something about sizes, or bare YAML or JSON. It never guesses: where two
// readings are possible it refuses. It takes time in proportion to the reply.
func (r Reader) Read(reply, finishReason string) Reading {
	text, line := afterThinking(reply)
	t := trace{}
	t.opened(reply, text, finishReason)
	reading := r.read(text, finishReason, line, &t)
	if reading.Class.Usable() {
		t.say("Class %s: the curriculum can be used.", reading.Class)
	} else {
		t.say("Class %s: %s.", reading.Class, reading.Fault)
	}
	reading.Trace = t.lines
	return reading
}

func (r Reader) read(text, finishReason string, line int, t *trace) Reading {
	switch ending.Of(finishReason) {
	case ending.Truncated:
		return refuse(ClassTruncated, "the answer was cut off at the token limit; be shorter")
	case ending.Refused:
		return refuse(ClassDeclined, "no curriculum was given (%s)", finishReason)
	case ending.Broken, ending.TooLong:
		return refuse(ClassBroken, "the answer was broken off (%s); give all of it", finishReason)
	case ending.Whole:
	}
	switch {
	case text == "":
		return refuse(ClassEmpty, "the answer is empty")
	case len(text) > mostText:
		return refuse(ClassNotYAML, "the answer has %d bytes; want at most %d", len(text), mostText)
	}
	return r.choose(text, r.blocks(text, line, t), t)
}

// AfterThinking is the part of a reply after the last </think>, trimmed. A reply
// that opens <think> and never closes it has none.
func AfterThinking(reply string) string {
	text, _ := afterThinking(reply)
	return text
}

// afterThinking also says in which line of the reply the text begins, from 1.
func afterThinking(reply string) (text string, line int) {
	const end = "</think>"
	from := 0
	if i := strings.LastIndex(reply, end); i >= 0 {
		from = i + len(end)
	} else if strings.HasPrefix(strings.TrimSpace(reply), "<think>") {
		return "", 1
	}
	text = strings.TrimSpace(reply[from:])
	from += strings.Index(reply[from:], text)
	return text, 1 + strings.Count(reply[:from], "\n")
}

// choose reads the candidates. The last one counts; another one that says
// something else makes the reply ambiguous, unless it only repeats the
// curriculum in force, as models do before they change it.
func (r Reader) choose(text string, candidates []candidate, t *trace) Reading {
	if len(candidates) == 0 {
		return nothingFound(text)
	}
	counts := candidates[len(candidates)-1]
	if len(candidates) > 1 {
		t.say("The last one counts: %s.", counts)
	}
	last := r.block(counts.text, t)
	if !last.Class.Usable() {
		return last
	}
	inForce := complete(experiment.Curriculum{}, r.previous, r.space)
	for _, c := range candidates[:len(candidates)-1] {
		switch other := r.block(c.text, nil); {
		case !other.Class.Usable():
			t.say("%s does not count, and could not (%s).", c.upper(), other.Class)
		case same(other.Asked, last.Asked):
			t.say("%s says the same.", c.upper())
		case same(other.Asked, inForce):
			t.say("%s repeats the curriculum in force.", c.upper())
		default:
			t.say("%s says something else.", c.upper())
			return refuse(ClassAmbiguous, "it holds two different curricula; give only the one to use")
		}
	}
	return last
}

func nothingFound(text string) Reading {
	if declines(text) {
		return refuse(ClassDeclined, "no curriculum was given: %s", opening(text))
	}
	return refuse(ClassNoBlock, "no YAML block was found; it begins %s", opening(text))
}

// declines recognises a refusal by how it begins. It only names the trouble
// better: without a block the reply is unusable either way.
func declines(text string) bool {
	start := strings.ToLower(strings.ReplaceAll(opening(text), "’", "'"))
	for _, phrase := range []string{"i'm sorry", "i am sorry", "sorry,", "i can't", "i cannot", "i won't", "i will not", "i'm unable", "i am unable", "i'm not able", "i am not able"} {
		if strings.HasPrefix(strings.TrimLeft(start, `"`), phrase) {
			return true
		}
	}
	return false
}

// opening quotes the start of a text.
func opening(text string) string {
	const most = 60
	runes := []rune(text)
	if len(runes) > most {
		return fmt.Sprintf("%q...", string(runes[:most]))
	}
	return fmt.Sprintf("%q", text)
}

func refuse(c Class, format string, args ...any) Reading {
	return Reading{Class: c, Fault: fmt.Sprintf(format, args...)}
}

// same compares two complete curricula, up to what rounding explains.
func same(a, b experiment.Curriculum) bool {
	for i, row := range a.Rows {
		if !near(row.DataRatio, b.Rows[i].DataRatio) {
			return false
		}
		for j, k := range row.Knobs {
			if !near(k.Value, b.Rows[i].Knobs[j].Value) {
				return false
			}
		}
	}
	return true
}

func near(a, b float64) bool { return math.Abs(a-b) <= 5e-4 }

package lake

import (
	"fmt"
	"slices"
	"strings"
)

// reading is what an answer text was understood to say, and by which rule.
type reading struct {
	plan  Plan // by agent, nil for an agent without a path; nil if the text could not be read
	extra int  // paths of agents that the task does not have
	rule  string
	fault string // why the text could not be read; "" if it was
	cut   bool   // the text could not be read because it breaks off
}

// The rules by which texts are accepted or refused.
const (
	ruleCanonical  = "canonical lines" // exactly the form that the prompt asks for
	ruleCells      = "lists of cells"
	ruleMoves      = "move words"
	ruleLiteral    = "JSON"
	ruleNothing    = "no path"
	ruleThinking   = "unfinished thinking"
	ruleCut        = "cut off"
	ruleUnreadable = "unreadable path"
	ruleTwo        = "two readings"
)

// parseAnswer reads the plan out of an answer text. It takes what models write
// around and instead of the form asked for: thinking, fences, markup, remarks,
// JSON, full-width signs, move words, answers given more than once. It never
// chooses between two readings of one text; it refuses both. Its time is linear
// in the length of the text.
//
// Of several answers the last complete one counts. A later path that says
// something else about one agent only makes two readings.
func parseAnswer(text string, in *Instance) reading { return new(scratch).parse(text, in) }

// parse is parseAnswer with a plan that may last only until the scratch is used
// again.
func (s *scratch) parse(text string, in *Instance) reading {
	text, finished := afterThinking(text)
	if !finished {
		return reading{rule: ruleThinking, fault: "the text ends inside its thinking", cut: true}
	}
	if plan, ok := s.canonical(text, in.Agents()); ok {
		return reading{plan: plan, rule: ruleCanonical}
	}
	return scanned(text, in)
}

// scanned reads all forms but the canonical one.
func scanned(text string, in *Instance) reading {
	s := scanner{text: plain.Replace(text), in: in}
	s.scan()
	if strings.Count(text, "```")%2 == 1 {
		s.cut = true
	}
	return s.conclude()
}

// afterThinking is the text behind the last closed block of thinking. Models
// whose prompt opens the block write only its end.
func afterThinking(text string) (rest string, finished bool) {
	if strings.IndexByte(text, '<') < 0 {
		return text, true
	}
	for _, tag := range []string{"think>", "thinking>"} {
		if i := strings.LastIndex(text, "</"+tag); i >= 0 {
			text = text[i+len("</"+tag):]
		}
		if strings.Contains(text, "<"+tag) {
			return "", false
		}
	}
	return text, true
}

// statement is one path that a text gives for an agent. Statements with other
// text between them are of different groups. Of a path that cannot be read,
// fault says why.
type statement struct {
	agent int
	group int
	cells []Cell
	rule  string
	fault string
}

// conclude decides what all statements of a text together say.
func (s *scanner) conclude() reading {
	agents := s.in.Agents()
	if len(s.said) == 0 {
		return s.refuse(ruleNothing, s.why("no path of an agent found"))
	}
	ours := slices.DeleteFunc(slices.Clone(s.said), func(st statement) bool { return st.agent >= agents })
	latest := make([]*statement, agents)
	for i := range ours {
		latest[ours[i].agent] = &ours[i]
	}
	r := reading{plan: make(Plan, agents), extra: len(s.said) - len(ours), rule: s.said[0].rule}
	missing := false
	for agent, st := range latest {
		switch {
		case st == nil:
			missing = true
			continue
		case st.fault != "":
			return s.refuse(ruleUnreadable, fmt.Sprintf("agent %d: %s", agent, st.fault))
		}
		r.plan[agent], r.rule = st.cells, st.rule
	}
	if missing && s.cut {
		return s.refuse(ruleCut, "the text breaks off before every agent has a path")
	}
	if !missing && !agrees(ours, r.plan) {
		return s.refuse(ruleTwo, "the last complete answer and the latest path of each agent differ")
	}
	return r
}

// agrees says whether the last complete answer is this plan. Answers are parted
// by other text, if that leaves one complete, else only where an agent comes
// again.
func agrees(said []statement, plan Plan) bool {
	answer := lastComplete(said, len(plan), true)
	if answer == nil {
		answer = lastComplete(said, len(plan), false)
	}
	return answer != nil && !slices.ContainsFunc(answer, func(st statement) bool {
		return !slices.Equal(st.cells, plan[st.agent])
	})
}

// lastComplete is the last run of statements that speaks of each agent once.
func lastComplete(said []statement, agents int, parted bool) (last []statement) {
	var seen [MaxAgents]bool
	begin := 0
	for i, st := range said {
		if seen[st.agent] || parted && st.group != said[begin].group {
			begin, seen = i, [MaxAgents]bool{}
		}
		seen[st.agent] = true
		if i-begin+1 == agents {
			last = said[begin : i+1]
		}
	}
	return last
}

func (s *scanner) refuse(rule, fault string) reading {
	if s.cut {
		return reading{rule: ruleCut, fault: "the text breaks off: " + fault, cut: true}
	}
	return reading{rule: rule, fault: fault}
}

// why adds what the scanner saw and left aside.
func (s *scanner) why(fault string) string {
	if s.tables {
		return fault + "; a table by time step is not read"
	}
	return fault
}

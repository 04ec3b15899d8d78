package lake

import (
	"slices"
	"strconv"
	"strings"
)

// node is a value of a literal: JSON, or the like of it that models write
// (single quotes, tuples, trailing commas).
type node struct {
	text   string // of a string, number or bare word
	isText bool
	keys   []string // of an object
	items  []node   // of a list or object
}

// deepest is more than any answer nests: an object around a list of agents
// around a path around cells.
const deepest = 6

// literals reads the literals at pos. What they say about agents becomes
// statements; the lines of a broken one are left to be read one by one.
func (s *scanner) literals() {
	for s.at("{") || s.at("[") {
		start := s.pos
		n, ok := s.node(0)
		if !ok {
			s.cut = s.cut || s.atEnd()
			s.pos = start
			return
		}
		s.fromNode(n)
		s.skip(" ,;")
	}
}

func (s *scanner) node(depth int) (n node, ok bool) {
	s.skip(" \n")
	switch {
	case s.at("{") && depth < deepest:
		return s.collection("}", depth)
	case s.at("[") && depth < deepest:
		return s.collection("]", depth)
	case s.at("(") && depth < deepest:
		return s.collection(")", depth)
	case s.at(`"`) || s.at("'"):
		return s.quoted()
	}
	from := s.pos
	for c := s.byte(); isDigit(c) || isLetter(c) || c == '_' || c == '-'; c = s.byte() {
		s.pos++
	}
	return node{text: s.text[from:s.pos], isText: true}, s.pos > from && !s.atEnd()
}

func (s *scanner) quoted() (n node, ok bool) {
	quote, from := s.byte(), s.pos+1
	for s.pos = from; !s.atEnd(); s.pos++ {
		switch s.byte() {
		case quote:
			s.pos++
			return node{text: s.text[from : s.pos-1], isText: true}, true
		case '\\':
			s.pos++
		}
	}
	s.pos = len(s.text)
	return n, false
}

// collection reads a list or, in braces, an object.
func (s *scanner) collection(closer string, depth int) (n node, ok bool) {
	s.pos++
	for {
		s.skip(" \n")
		if s.accept(closer) {
			return n, true
		}
		item, ok := s.node(depth + 1)
		if !ok {
			return n, false
		}
		s.skip(" \n")
		if closer == "}" {
			if !item.isText || !s.accept(":") {
				return n, false
			}
			n.keys = append(n.keys, item.text)
			if item, ok = s.node(depth + 1); !ok {
				return n, false
			}
			s.skip(" \n")
		}
		n.items = append(n.items, item)
		if !s.accept(",") && !s.at(closer) {
			return n, false
		}
	}
}

// fromNode finds the agents in a literal: by key, by an "agent" field, or by
// position in a list of paths. A single collection inside an object, such as
// {"plan": ...}, is looked into.
func (s *scanner) fromNode(n node) {
	said := len(s.said)
	var inner []node
	for i, item := range n.items {
		if len(n.keys) > 0 {
			if agent, ok := agentKey(n.keys[i]); ok {
				s.sayNode(agent, item)
			} else if !item.isText {
				inner = append(inner, item)
			}
		}
	}
	switch {
	case len(s.said) > said:
	case len(inner) == 1:
		s.fromNode(inner[0])
	case len(n.keys) == 0:
		s.fromList(n.items)
	}
}

// agentKey reads "agent 0", "Agent_0", "agent0" or "0".
func agentKey(key string) (agent int, ok bool) {
	key = strings.ToLower(strings.TrimSpace(key))
	key = strings.TrimLeft(strings.TrimPrefix(key, "agent"), " _#-")
	v, err := strconv.ParseUint(key, 10, 8)
	return int(v), err == nil
}

// fromList reads a list of records, or of one path per agent. A list with a cell
// in it is a path itself, of nobody knows whom.
func (s *scanner) fromList(items []node) {
	paths := !slices.ContainsFunc(items, func(n node) bool {
		return len(n.keys) > 0 || isCell(n) || n.isText && !strings.Contains(n.text, "->")
	})
	for i, item := range items {
		if paths {
			s.sayNode(i, item)
		} else {
			s.fromRecord(item)
		}
	}
}

// fromRecord reads {"agent": 0, "path": [...]}.
func (s *scanner) fromRecord(n node) {
	agent, known := 0, false
	var paths []node
	for i, key := range n.keys {
		switch strings.ToLower(key) {
		case "agent", "agent_id", "id":
			agent, known = agentKey(n.items[i].text)
		case "path", "route", "plan", "moves", "actions", "positions", "cells":
			paths = append(paths, n.items[i])
		}
	}
	if known && len(paths) == 1 {
		s.sayNode(agent, paths[0])
	}
}

// sayNode records a path from a literal. The path is written out again in the
// form of a line, so that one reader decides what a path is.
func (s *scanner) sayNode(agent int, n node) {
	if len(n.keys) == 1 { // {"path": [...]}
		n = n.items[0]
	}
	sub := scanner{text: n.line(), in: s.in}
	st, ok := sub.path(agent, false)
	if sub.skip(" \n"); !ok || !sub.atEnd() {
		st.fault = "its value in the literal is no path"
	}
	if st.fault == "" {
		st.rule = ruleLiteral
	}
	s.say(st)
}

func (n node) line() string {
	var b strings.Builder
	n.writeTo(&b)
	return b.String()
}

func (n node) writeTo(b *strings.Builder) {
	if n.isText {
		b.WriteString(n.text)
		return
	}
	if len(n.keys) > 0 && !rowFirst(n.keys) {
		b.WriteString("{}") // an object is no part of a path
		return
	}
	b.WriteByte('[')
	for i, item := range n.items {
		if i > 0 {
			b.WriteByte(',')
		}
		item.writeTo(b)
	}
	b.WriteByte(']')
}

// rowFirst says whether an object is a cell written {"row": 0, "col": 1}.
func rowFirst(keys []string) bool {
	return slices.Equal(keys, []string{"row", "col"}) || slices.Equal(keys, []string{"r", "c"})
}

func isCell(n node) bool {
	return len(n.items) == 2 && isNumber(n.items[0].text) && isNumber(n.items[1].text)
}

func isNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

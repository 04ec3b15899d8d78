package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// mention is a command line of starter in a sentence, a help text or a guide.
var mention = regexp.MustCompile(`\bstarter ((?:[a-z][a-z0-9-]*)(?:[ \t]+[^\s` + "`" + `"|;·)]+)*)`)

// mentions finds command lines in a text. Sentences about starter are none: what
// follows must be a verb, or the text is code.
func mentions(text string) [][]string {
	var all [][]string
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		all = append(all, strings.Fields(m[1]))
	}
	return all
}

// prose are words that follow "starter" where it is the program that is spoken of.
var prose = strings.Fields("is and or supervises that runs starts to in of needs keeps with has binary command")

func TestEveryCommandThatIsMentionedExists(t *testing.T) {
	root := (&app{out: io.Discard, err: io.Discard}).root()
	check := func(where string, words []string) {
		if len(words) == 0 || slices.Contains(prose, words[0]) {
			return
		}
		c := root
		for len(words) > 0 {
			next := child(c, strings.TrimRight(words[0], ".,:"))
			if next == nil {
				break
			}
			c, words = next, words[1:]
		}
		if c == root || c.HasSubCommands() && len(words) > 0 && verbLike.MatchString(words[0]) && !slices.Contains(prose, words[0]) {
			t.Errorf("%s: starter %s: there is no such verb", where, strings.Join(words, " "))
			return
		}
		for _, w := range words {
			if w == "#" || w == "→" {
				return
			}
			flag, ok := strings.CutPrefix(w, "--")
			name, _, _ := strings.Cut(strings.TrimRight(flag, "].,:'"), "=")
			if ok && name != "" && lookup(c, name) == nil {
				t.Errorf("%s: %s has no flag --%s", where, c.CommandPath(), name)
			}
		}
	}
	seen := 0
	for file, text := range texts(t) {
		for _, words := range mentions(text) {
			seen++
			check(file, words)
		}
	}
	if seen < 100 {
		t.Errorf("found %d mentions; the pattern has lost them", seen)
	}
}

var verbLike = regexp.MustCompile(`^[a-z]+$`)

func child(c *cobra.Command, name string) *cobra.Command {
	for _, sub := range c.Commands() {
		if sub.Name() == name {
			return sub
		}
	}
	return nil
}

func lookup(c *cobra.Command, name string) *pflag.Flag {
	if f := c.Flags().Lookup(name); f != nil {
		return f
	}
	if name == "help" {
		return &pflag.Flag{}
	}
	return c.InheritedFlags().Lookup(name)
}

// texts are the guides line by line, and the string literals of the programs, by
// where they stand.
func texts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../examples/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(body), "\n") {
				all[file+":"+strconv.Itoa(i+1)] = line
			}
		}
	}
	for _, dir := range []string{"../starter", "../workflows", "../activities", "../worker", "../internal"} {
		err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			return literals(path, all)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func literals(path string, into map[string]string) error {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, 0)
	if err != nil {
		return err
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				into[files.Position(lit.Pos()).String()] = s
			}
		}
		return true
	})
	return nil
}

// TestFlagsSayWhatTheyTake wants no backquotes in the help of switches: pflag takes
// what stands between them for the name of a value.
func TestFlagsSayWhatTheyTake(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "bool" && strings.Contains(f.Usage, "`") {
				t.Errorf("%s --%s: %q has backquotes", c.CommandPath(), f.Name, f.Usage)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&app{out: io.Discard, err: io.Discard}).root())
}

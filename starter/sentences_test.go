package main

import (
	"regexp"
	"strings"
	"testing"

	"floe/internal/artifact/s3"
	planning "floe/internal/plan"
	"floe/internal/stack"
	"floe/workflows"
)

// bucket opens the store of a machine's services.
func (m *machine) bucket() *s3.Store {
	m.t.Helper()
	info, err := stack.Read(m.data)
	if err != nil {
		m.t.Fatal(err)
	}
	store, err := s3.Open(m.t.Context(), s3.Settings{Bucket: info.Bucket, Endpoint: info.S3, Region: info.Region, CredentialsFile: info.Credentials})
	if err != nil {
		m.t.Fatal(err)
	}
	return store
}

// eachScorecard does something to every object of the scorecards whose name ends so.
func (m *machine) eachScorecard(end string, do func(*s3.Store, string) error) {
	m.t.Helper()
	store := m.bucket()
	listed, err := store.List(m.t.Context(), "steps/"+planning.KindEvaluate+"/")
	if err != nil {
		m.t.Fatal(err)
	}
	n := 0
	for _, o := range listed {
		if strings.HasSuffix(o.Key, end) {
			n++
			if err := do(store, o.Key); err != nil {
				m.t.Fatal(err)
			}
		}
	}
	if n == 0 {
		m.t.Fatalf("no %s among %d objects", end, len(listed))
	}
}

// inSentence finds the commands that a sentence names, without the program.
var inSentence = regexp.MustCompile(`starter ((?:[a-z]+ )+small(?: --[a-z]+(?: [a-z]+)?)*)`)

// TestWhatASentenceSaysLeadsOut follows the sentences of failures word by word: every
// command that one names works in the state in which it is printed, and the retry comes
// to a good end.
func TestWhatASentenceSaysLeadsOut(t *testing.T) {
	t.Parallel()
	m := boot(t, "OPENAI_API_KEY=sk-wrong")
	url := chat(t, refuses)
	attention := func() (kind, sentence string) {
		t.Helper()
		var s shown
		m.until("a failure", func() bool {
			s = m.look("small")
			return s.State == workflows.StateAttention && s.Status != nil && s.Status.Failure != nil
		})
		return s.Status.Failure.Kind, s.Failure
	}
	obey := func(sentence string) {
		t.Helper()
		commands := inSentence.FindAllStringSubmatch(sentence, -1)
		if len(commands) == 0 {
			t.Fatalf("no command in %q", sentence)
		}
		for _, c := range commands {
			args := strings.Fields(c[1])
			switch verb := args[0]; verb {
			case "skip", "abort": // the other ways out
				m.must(verb, "--help")
			default:
				m.must(args...)
			}
			if args[0] == "retry" {
				return
			}
		}
	}
	// until follows sentences until a failure is of a kind, and says of which they were.
	until := func(kind string) (kinds []string) {
		t.Helper()
		for range 4 {
			got, sentence := attention()
			kinds = append(kinds, got)
			if got == kind {
				break
			}
			obey(sentence)
		}
		return kinds
	}
	wants := func(got []string, want string) {
		t.Helper()
		if strings.Join(got, " ") != want {
			t.Fatalf("failures of kind %v; want %s", got, want)
		}
	}
	m.starter(append([]string{"run", specFile(t, small), "--set", "limits.attempts=1"}, designedBy(url)...)...)
	wants(until("Model"), "Model")

	m.eachScorecard("/manifest.json", func(s *s3.Store, key string) error { return s.Delete(t.Context(), key) })
	m.must("retry", "small")
	wants(until("Model"), "Missing Model")

	// All are damaged: the untrained policy's too, which is missed once it is set aside.
	m.eachScorecard("/scorecard.json", func(s *s3.Store, key string) error {
		return s.Put(t.Context(), key, strings.NewReader("{}"))
	})
	m.must("retry", "small")
	wants(until("Model"), "Corrupt Missing Corrupt Model")

	m.must("retry", "small", "--set", "designer.kind=learnability")
	m.reaches("small", workflows.StateDone)
	m.must("artifacts", "verify", "small")
}

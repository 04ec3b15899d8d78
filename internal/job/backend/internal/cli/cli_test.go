package cli_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"floe/internal/importtest"
	"floe/internal/job/backend/internal/cli"
)

func TestImports(t *testing.T) {
	importtest.Check(t, importtest.NoTemporal, importtest.NoAWS, importtest.NoNetwork)
}

func shell(script string) cli.Call {
	return cli.Call{Name: "query", Argv: []string{"sh", "-c", script}, Within: time.Minute}
}

func TestACommandReadsItsInputAndPrints(t *testing.T) {
	c := shell(`cat; printf %s "$ODD"; echo aside >&2`)
	c.Input, c.Env = "some lines\n", []string{"ODD=a $b 'c'"}
	if out, err := c.Output(t.Context()); err != nil || out != "some lines\na $b 'c'" {
		t.Errorf("got %q, %v; want its input and its variable", out, err)
	}
}

func TestAFailureSaysWhatTheCommandSaid(t *testing.T) {
	for script, want := range map[string]string{
		"echo no such partition >&2; exit 3":       "query: exit code 3: no such partition",
		"echo no such partition; exit 3":           "query: exit code 3: no such partition",
		"echo 17; echo quota exceeded >&2; exit 3": "query: exit code 3: quota exceeded",
	} {
		_, err := shell(script).Output(t.Context())
		if failed, ok := errors.AsType[*cli.Error](err); !ok || failed.Code != 3 || err.Error() != want {
			t.Errorf("%s: got %v; want %s", script, err, want)
		}
	}
	_, err := shell("for i in $(seq 1000); do echo a long story; done >&2; echo the end >&2; exit 1").Output(t.Context())
	if err == nil || len(err.Error()) > 500 || !strings.HasSuffix(err.Error(), "the end") {
		t.Errorf("got %v; want the end of the story", err)
	}
}

func TestACommandThatIsNotThereIsNamed(t *testing.T) {
	c := cli.Call{Name: "query", Argv: []string{"no-such-program-anywhere"}, Within: time.Minute}
	if _, err := c.Output(t.Context()); err == nil || !strings.Contains(err.Error(), "query: ") || !strings.Contains(err.Error(), c.Argv[0]) {
		t.Errorf("got %v; want it named", err)
	}
}

func TestACommandThatDoesNotAnswerIsGivenUp(t *testing.T) {
	c := shell("exec sleep 1000")
	c.Within = 50 * time.Millisecond
	if _, err := c.Output(t.Context()); err == nil || err.Error() != "query: no answer within 50ms" {
		t.Errorf("got %v; want that it gave no answer", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := shell("exec sleep 1000").Output(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v; want that the context has ended", err)
	}
}

func TestOutputHasALimit(t *testing.T) {
	out, err := shell("head -c 3000000 /dev/zero").Output(t.Context())
	if err != nil || len(out) != 1<<20 {
		t.Errorf("got %d bytes, %v; want a MiB", len(out), err)
	}
}

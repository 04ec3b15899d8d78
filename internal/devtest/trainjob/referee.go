package trainjob

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strconv"
	"syscall"

	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/job"
)

// answer is a line for the referee (docs/score.md).
type answer struct {
	ID   string `json:"id"`
	Task string `json:"task"`
	Text string `json:"answer"`
}

// verdict is its reply.
type verdict struct {
	ID        string `json:"id"`
	Valid     bool   `json:"valid"`
	Optimal   bool   `json:"optimal"`
	Truncated bool   `json:"truncated"`
	Tokens    int    `json:"tokens"`
	Reward    struct {
		Total    float64 `json:"total"`
		Accuracy float64 `json:"accuracy"`
		Length   float64 `json:"length"`
	} `json:"reward"`
	Weights weights `json:"weights"`
	Error   string  `json:"error"`
}

type weights struct {
	Accuracy float64 `json:"accuracy"`
	Length   float64 `json:"length"`
}

// referee is one process that scores for as long as the attempt lives.
type referee struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	replies *bufio.Reader
	spec    experiment.RewardSpec
}

func startReferee(ctx context.Context, r job.Reward, tasks string, log io.Writer) (*referee, error) {
	argv := append([]string{}, r.Referee...)
	argv = append(argv, "--environment", r.Environment, "--tasks", tasks)
	s := r.Settings
	for _, set := range []struct{ key, value string }{
		{"floor", text(s.Floor)},
		{"free_tokens", strconv.Itoa(s.FreeTokens)},
		{"full_tokens", strconv.Itoa(s.FullTokens)},
		{"accuracy_low", text(s.AccuracyLow)},
		{"accuracy_top", text(s.AccuracyTop)},
		{"length_of", s.LengthOf},
	} {
		argv = append(argv, "--set", "reward."+set.key+"="+set.value)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // the spec names it
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a signal to the job's group must not take it from under a step
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &referee{cmd, in, bufio.NewReader(out), s}, nil
}

func text(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// end lets the process end, as its input does.
func (r *referee) end() { _ = errors.Join(r.in.Close(), r.cmd.Wait()) } // it keeps nothing

// score has answers judged, all with the weights of the state.
func (r *referee) score(answers []answer, state job.RewardState) ([]verdict, error) {
	lines := []any{map[string]any{"reward_state": state}}
	for _, a := range answers {
		lines = append(lines, a)
	}
	wrote := make(chan error, 1)
	go func() { wrote <- r.write(lines) }()
	first, err := r.read()
	if err != nil {
		return nil, err
	}
	accuracy, _ := env.Weights(r.spec, env.RewardState(state))
	if math.Abs(first.Weights.Accuracy-accuracy) > 1e-9 {
		return nil, fmt.Errorf("the referee weighs accuracy %v; want %v", first.Weights.Accuracy, accuracy)
	}
	verdicts := make([]verdict, len(answers))
	for i, a := range answers {
		if verdicts[i], err = r.read(); err != nil {
			return nil, err
		}
		if verdicts[i].ID != a.ID || verdicts[i].Error != "" {
			return nil, ends(job.ExitBadData, "the referee answers %s to task %s with %q: %s", a.ID, a.Task, verdicts[i].ID, verdicts[i].Error)
		}
	}
	return verdicts, <-wrote
}

func (r *referee) write(lines []any) error {
	e := json.NewEncoder(r.in)
	for _, line := range lines {
		if err := e.Encode(line); err != nil {
			return fmt.Errorf("write to the referee: %w", err)
		}
	}
	return nil
}

func (r *referee) read() (v verdict, err error) {
	line, err := r.replies.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &v)
	}
	if err != nil {
		return v, fmt.Errorf("read from the referee: %w", err)
	}
	return v, nil
}

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"floe/internal/endpoint"
)

// benchAnswer is one line of a set's answers, as it came from the model.
type benchAnswer struct {
	ID               string `json:"id"`
	Answer           string `json:"answer"`
	Reasoning        string `json:"reasoning,omitempty"`
	FinishReason     string `json:"finish_reason"`
	PromptTokens     int    `json:"prompt_tokens"`
	CompletionTokens int    `json:"completion_tokens"`
	LatencyMS        int64  `json:"latency_ms"`
}

func (a benchAnswer) truncated() bool { return a.FinishReason == endpoint.FinishLength }

func (a benchAnswer) refused() bool {
	return a.FinishReason == endpoint.FinishRefusal || a.FinishReason == endpoint.FinishFilter
}

func (b *bench) answersFile(set benchSet) string {
	return filepath.Join(b.dir, fmt.Sprintf("answers-%d.jsonl", set.agents))
}

// answers reads the answers to a set in the order they came, each with the number
// of its task. A last line without an end is torn: its writer was killed, and it
// is no answer. Whole is where the whole lines end.
func (b *bench) answers(set benchSet, take func(item int, a benchAnswer) error) (whole int64, err error) {
	name := b.answersFile(set)
	f, err := os.Open(name) //nolint:gosec // a file of the folder
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	open := map[string]int{}
	for i, item := range set.items {
		open[item.ID] = i
	}
	r := bufio.NewReaderSize(f, 1<<16)
	for line := 1; ; line++ {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return whole, nil
		}
		if err != nil {
			return whole, err
		}
		whole += int64(len(text))
		var a benchAnswer
		if err := strictJSON(text, &a); err != nil {
			return whole, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		item, known := open[a.ID]
		if !known {
			return whole, fmt.Errorf("%s:%d: task %q is not in the set or is answered already", name, line, a.ID)
		}
		delete(open, a.ID)
		if err := take(item, a); err != nil {
			return whole, fmt.Errorf("%s:%d: %w", name, line, err)
		}
	}
}

// answerLog appends answers. It is safe for concurrent use.
type answerLog struct {
	mu sync.Mutex
	f  *os.File
}

// openLog opens a set's answers to append to, without a torn line.
func (b *bench) openLog(set benchSet, whole int64) (*answerLog, error) {
	f, err := os.OpenFile(b.answersFile(set), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(whole); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &answerLog{f: f}, nil
}

// add writes an answer through to the disk: it was paid for.
func (l *answerLog) add(a benchAnswer) error {
	line, err := jsonLines([]benchAnswer{a})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.f.Write(line); err != nil {
		return err
	}
	return l.f.Sync()
}

func (l *answerLog) close() error { return l.f.Close() }

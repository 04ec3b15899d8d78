package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// BenchmarkScore scores optimal answers of a middling size from JSONL to JSONL,
// tasks by id and in the lines. It reports answers per second of the whole way.
func BenchmarkScore(b *testing.B) {
	for _, size := range []struct {
		name   string
		agents int
	}{{"6x6", 2}, {"10x10", 5}} {
		tasks, answers := drawTasks(b, size.name, size.agents, 100)
		byID, inline := make([]string, len(tasks)), make([]string, len(tasks))
		for i, task := range tasks {
			byID[i] = jsonl(b, row("id", task.ID, "answer", answers[i]))
			inline[i] = jsonl(b, row("task", task, "answer", answers[i]))
		}
		file := taskFile(b, "tasks.jsonl", tasks)
		name := fmt.Sprintf("%s,%d-agents", size.name, size.agents)
		b.Run(name+",by-id", func(b *testing.B) { benchmarkScore(b, file, byID) })
		b.Run(name+",inline", func(b *testing.B) { benchmarkScore(b, file, inline) })
	}
}

func benchmarkScore(b *testing.B, file string, lines []string) {
	s, err := newScorer(b.Context(), scoreFlags{tasks: file, environment: "lake"})
	if err != nil {
		b.Fatal(err)
	}
	block := []byte(strings.Join(lines, ""))
	b.SetBytes(int64(len(block) / len(lines)))
	b.ReportAllocs()
	b.ResetTimer()
	tally, err := s.run(b.Context(), &repeated{block: block, times: 1 + b.N/len(lines)}, io.Discard)
	if err != nil || tally.valid != tally.answers || tally.faults.count > 0 {
		b.Fatalf("%v: %s", err, tally)
	}
	b.ReportMetric(float64(tally.answers)/b.Elapsed().Seconds(), "answers/s")
}

// repeated reads a block again and again.
type repeated struct {
	block []byte
	times int
	rest  bytes.Reader
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.rest.Len() == 0 {
		if r.times == 0 {
			return 0, io.EOF
		}
		r.times--
		r.rest.Reset(r.block)
	}
	return r.rest.Read(p)
}

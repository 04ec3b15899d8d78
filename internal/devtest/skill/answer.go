package skill

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"floe/internal/serve/servetest"
)

// EnvHold names a file that says which questions get no answer for as long as it
// says so: EventAnswer for tasks, EventDesign for designs.
const EnvHold = "SKILL_HOLD"

// held waits until questions of a kind are answered.
func held(event string) {
	name := os.Getenv(EnvHold)
	for name != "" {
		text, err := os.ReadFile(name) //nolint:gosec // the test that started us named it
		if err != nil || string(text) != event {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Answer answers as the model or the adapter that is asked. It depends on its skill
// and the prompt and, where a temperature is asked for, on the seed. A model that
// cannot be read answers nothing: the connection breaks, and the server's log says
// why.
func Answer(q servetest.Question) string {
	dir := q.Adapter
	if dir == "" {
		dir = q.Base
	}
	s, err := load(dir)
	if err != nil {
		panic(err)
	}
	prompt := ""
	if len(q.Messages) > 0 {
		prompt = q.Messages[0].Content // later ones are of a repair, which has the same answer
	}
	if text, ok := s.design(prompt); ok {
		held(EventDesign)
		write(Entry{Event: EventDesign, Model: q.Model, Skill: float64(s)})
		return text
	}
	e, p, ok := understand(prompt)
	if !ok {
		return "I am but a number."
	}
	held(EventAnswer)
	text, err := s.Solve(e, p, prompt+"/"+sampling(q.Body))
	if err != nil {
		panic(err)
	}
	write(Entry{Event: EventAnswer, Model: q.Model, Skill: float64(s)})
	return text
}

// sampling names the draw that a request asks for; greedy ones all have the same.
func sampling(request []byte) string {
	var r struct {
		Temperature float64 `json:"temperature"`
		Seed        int     `json:"seed"`
	}
	if err := json.Unmarshal(request, &r); err != nil || r.Temperature == 0 {
		return "greedy"
	}
	return fmt.Sprint(r.Seed)
}

package env

// Formats of a drawing.
const (
	FormatText        = "text"         // for a terminal
	FormatSVG         = "svg"          // one still picture
	FormatAnimatedSVG = "animated-svg" // an answer as it unfolds, without scripts
)

// Scene is what a drawing shows: a task, and what an answer does in it.
type Scene struct {
	Format   string
	Answered bool
	Answer   string // shown if Answered
}

// Drawable is a Problem that can be looked at. Not every environment has them.
type Drawable interface {
	Problem
	// Draw draws a scene. What the referee finds is part of it: faults are marked
	// where they happen, as far as they have a place, and written out. An answer
	// that cannot be read leaves the task alone with the reason. It fails only for
	// a format that it does not know.
	Draw(Scene) ([]byte, error)
}

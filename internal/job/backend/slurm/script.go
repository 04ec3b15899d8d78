package slurm

import (
	"strings"

	"floe/internal/job"
	"floe/internal/job/backend/internal/attempt"
	"floe/internal/job/backend/internal/cli"
)

// script is the job: it starts the program, passes SIGTERM on to it, and writes
// down how it ended, for Slurm forgets.
func script(rec attempt.Folder, r job.Request, setup string) string {
	var s strings.Builder
	line := func(words ...string) { s.WriteString(strings.Join(words, "") + "\n") }
	line("#!/bin/sh")
	line("record=", cli.Quote(rec.Dir))
	line(`began=$(date +%s)`)
	line(`rm -f "$record/exit.json" # of a start before a requeue`)
	for _, v := range r.Environ() {
		line("export ", v.Name, "=", cli.Quote(v.Value))
	}
	line(setup)
	line(cli.QuoteAll(r.Command), " &")
	s.WriteString(waiting)
	return s.String()
}

// waiting waits for the program. A wait that a signal cuts short says 128 and
// more while the program still runs; a program that was killed says so, too, but
// does not run.
const waiting = `program=$!
trap 'kill -TERM "$program" 2>/dev/null' TERM
while :; do
  wait "$program"
  code=$?
  if [ "$code" -le 128 ] || ! kill -0 "$program" 2>/dev/null; then break; fi
done
if [ "$code" -gt 128 ]; then
  wait "$program" 2>/dev/null
  again=$?
  [ "$again" -eq 127 ] || code=$again
fi
printf '{"id":%d,"code":%d,"started":"%s","ended":"%s"}\n' "$SLURM_JOB_ID" "$code" \
  "$(date -u -d "@$began" +%Y-%m-%dT%H:%M:%SZ)" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >"$record/.exit.json.$$" &&
  mv "$record/.exit.json.$$" "$record/exit.json"
exit "$code"
`

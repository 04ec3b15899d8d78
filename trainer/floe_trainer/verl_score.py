"""The referee for a run of many processes: verl's reward workers ask here, one answer at a time.

One service scores for the whole run, so that the weights of a step can depend on
the answers of all steps before, and one place measures them.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from floe_trainer.exits import JobError
from floe_trainer.referee import Referee
from floe_trainer.reward import Answer, Verdict, Weights, summary, within
from floe_trainer.spec import RewardSettings, RewardState

_MOST = 16 << 20  # bytes of a request; the referee takes no longer line


class Scores:
    """Scores answers by step and keeps count of them. Safe to call from many threads."""

    def __init__(self, referee: Referee, settings: RewardSettings, start: RewardState, first_step: int, group: int) -> None:
        self._referee, self._settings, self._group = referee, settings, group
        self._start, self._first = start, first_step
        self._lock = threading.Lock()
        self._steps: dict[int, list[tuple[Answer, Verdict]]] = defaultdict(list)
        self._weights: dict[int, Weights] = {}
        self._counts: dict[int, tuple[int, int]] = {}
        self.answers = 0  # scored by this attempt
        self.failure: Exception | None = None

    def score(self, step: int, answer: Answer) -> Verdict:
        """The verdict of an answer, weighed with the counts of all steps before its own."""
        with self._lock:
            try:
                verdicts, weights = self._referee.score([answer], self._before(step))
            except Exception as err:
                self.failure = err  # a worker only sees a failed request; the launcher ends the job with this
                raise
            self._steps[step].append((answer, verdicts[0]))
            self._weights[step] = weights
            self.answers += 1
            return verdicts[0]

    def state(self, step: int) -> RewardState:
        """Counts of all answers up to and with a step."""
        with self._lock:
            return self._before(step + 1)

    def measured(self, step: int) -> dict[str, float]:
        """A step in numbers, and the end of its answers in memory; {} if none of them was seen."""
        with self._lock:
            scored = self._steps.pop(step, [])
            if not scored:
                return {}
            self._counts[step] = self._count(scored)
        scored.sort(key=lambda pair: pair[0].task)  # answers come as they are done; a task's belong together
        answers, verdicts = [a for a, _ in scored], [v for _, v in scored]
        return summary(answers, verdicts, self._weights[step], self._settings.free_tokens, self._group)

    def _before(self, step: int) -> RewardState:
        state = self._start
        for earlier in range(self._first + 1, step):
            counted = self._counts.get(earlier) or self._count(self._steps[earlier])
            state = state.seen(*counted)
        return state

    def _count(self, scored: list[tuple[Answer, Verdict]]) -> tuple[int, int]:
        return len(scored), within([v for _, v in scored], self._settings.free_tokens)


class Service:
    """Scores over HTTP. Where it listens, and the token without which it answers nobody, are in a file
    that only this user can read; a run on several machines has the job directory on all of them anyhow."""

    def __init__(self, scores: Scores, told: Path, loopback: bool) -> None:
        token = secrets.token_urlsafe(32)
        host = "127.0.0.1" if loopback else socket.gethostbyname(socket.gethostname())
        self._server = ThreadingHTTPServer((host, 0), _handler(scores, token))
        self._server.daemon_threads = True
        told.unlink(missing_ok=True)
        told.touch(mode=0o600)
        told.write_text(json.dumps({"url": f"http://{host}:{self._server.server_address[1]}/score", "token": token}))
        self._told = told
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stops listening and removes the token."""
        self._server.shutdown()
        self._server.server_close()
        self._told.unlink(missing_ok=True)


def _handler(scores: Scores, token: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            if not hmac.compare_digest(self.headers.get("Authorization", ""), f"Bearer {token}"):
                return self._say(401, {"error": "want the token of this run"})
            try:
                size = int(self.headers.get("Content-Length", "0"))
                if size > _MOST:
                    return self._say(413, {"error": f"found {size} bytes; want at most {_MOST}"})
                asked = json.loads(self.rfile.read(size))
                answer = Answer(asked["task"], asked["answer"], int(asked["tokens"]), bool(asked["truncated"]))
                step = int(asked["step"])
            except (ValueError, KeyError, TypeError) as err:
                return self._say(400, {"error": f"{err!r}; want step, task, answer, tokens and truncated"})
            try:
                verdict = scores.score(step, answer)
            except JobError as err:
                return self._say(500, {"error": str(err)})
            return self._say(200, vars(verdict))

        def _say(self, code: int, body: dict[str, Any]) -> None:
            text = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
            """Silent: a round has a hundred thousand requests."""

    return Handler

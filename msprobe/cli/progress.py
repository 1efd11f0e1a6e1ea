"""Shows how far a build is: a bar on a terminal, one line per pair anywhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from builder.work.outcome import PairOutcome

WIDTH = 30


class Progress:
    """Called with (done, total, outcome) after each pair; `close` ends the bar's line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._open = False

    def __call__(self, done: int, total: int, outcome: PairOutcome) -> None:
        line = _line(outcome)
        if not self._terminal:
            print(f"[{done}/{total}] {line}", file=self._stream, flush=True)
            return
        if outcome.error is not None:
            self._write(f"\r\x1b[K{line}\n")
        filled = WIDTH * done // total
        bar = "#" * filled + "." * (WIDTH - filled)
        self._write(f"\r\x1b[K[{bar}] {done}/{total} {line}"[: WIDTH + 90])
        self._open = True

    def close(self) -> None:
        """End the line of the bar, if there is one."""
        if self._open:
            self._write("\n")
            self._open = False

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _line(outcome: PairOutcome) -> str:
    place = f"step {outcome.step} rank {outcome.rank}"
    if outcome.error is not None:
        return f"{place}: failed: {' '.join(outcome.error.split())}"
    unmatched = outcome.unmatched_problem + outcome.unmatched_benchmark
    if not outcome.matched and not unmatched:  # a graph alone, or a rank whose step is joined later
        return f"{place}: read"
    return f"{place}: {outcome.matched} nodes matched, {unmatched} not"

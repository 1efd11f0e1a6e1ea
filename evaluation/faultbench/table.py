"""The table of tools from their results: one row a tool, one column a metric."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

Results = list[dict[str, Any]]


def read(path: Path) -> Results:
    """The results of a file that `run` wrote: JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def table(runs: Sequence[Results]) -> str:
    """Markdown, one row a run."""
    head = ["tool", *METRICS]
    body = [[run[0]["tool"], *(metric(run) for metric in METRICS.values())] for run in runs if run]
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def by_layer(run: Results) -> str:
    """Markdown: for each layer how many faults a tool names first."""
    faults = _faults(run)
    lines = ["| layer | faults | first | in three |", "|---|---|---|---|"]
    for layer in dict.fromkeys(result["layer"] for result in faults):
        those = [result for result in faults if result["layer"] == layer]
        counts = (len(those), _within(those, 1), _within(those, 3))
        lines.append("| " + " | ".join([layer, *map(str, counts)]) + " |")
    return "\n".join(lines)


def missed(run: Results) -> list[str]:
    """The ids of the faults that the first row does not name."""
    return [result["id"] for result in _faults(run) if result["place"] != 1]


def _faults(run: Results) -> Results:
    return [result for result in run if result["script"] == "wrong.py"]


def _twins(run: Results) -> Results:
    return [result for result in run if result["script"] == "twin.py"]


def _within(results: Results, places: int) -> int:
    return sum(result["place"] is not None and result["place"] <= places for result in results)


def _share(count: int, of: int) -> str:
    return f"{count}/{of}"


def _mean(values: list[float], form: str) -> str:
    return format(fmean(values), form) if values else "–"


def _median(values: list[float], form: str) -> str:
    return format(median(values), form) if values else "–"


METRICS: dict[str, Callable[[Results], str]] = {
    "first": lambda run: _share(_within(_faults(run), 1), len(_faults(run))),
    "in three": lambda run: _share(_within(_faults(run), 3), len(_faults(run))),
    "mean first rank": lambda run: _mean([r["place"] for r in _faults(run) if r["place"]], ".1f"),
    "rows shown": lambda run: _mean([len(r["rows"]) for r in _faults(run)], ".1f"),
    "false alarms": lambda run: _share(
        sum(bool(result["rows"]) for result in _twins(run)), len(_twins(run))
    ),
    "certain and wrong": lambda run: str(sum(r["certain_and_wrong"] for r in _faults(run))),
    "failed": lambda run: str(sum(bool(result["error"]) for result in run)),
    "seconds": lambda run: _mean([r["record_seconds"] + r["answer_seconds"] for r in run], ".1f"),
    "kB written": lambda run: _mean([result["bytes"] / 1000 for result in run], ".0f"),
    "slow-down": lambda run: _median([r["slow_down"] for r in run if r["slow_down"]], ".1f"),
}

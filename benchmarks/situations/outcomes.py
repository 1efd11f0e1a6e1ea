"""What situations came to, in a file of one JSON line each: a run that was broken off goes on."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from benchmarks.situations.run import Outcome
from benchmarks.situations.situation import Situation

Result = list[Outcome] | str
"""An outcome for each level and task, or what has kept the situation from having any."""


def is_good(result: Result) -> bool:
    """Whether a situation left no trace; one whose packages are not installed was not run."""
    if isinstance(result, str):
        return result.startswith("not run")
    return all(each.is_good for each in result)


def read_results(file: Path) -> dict[str, Result]:
    """The last result of each situation in a file that need not be there."""
    found: dict[str, Result] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        name, result = json.loads(line)
        found[name] = result if isinstance(result, str) else [Outcome(**each) for each in result]
    return found


def append_result(file: Path, situation: Situation, result: Result) -> None:
    """Add a result; it takes the place of an earlier one."""
    plain = result if isinstance(result, str) else [asdict(each) for each in result]
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps([situation.name, plain]) + "\n")

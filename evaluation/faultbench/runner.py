"""Runs a tool over faults: both sides recorded, the answer graded, one result a pair."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from faultbench import fault as faults
from faultbench import processes
from faultbench.processes import RunError, Tool
from faultbench.row import Row, first_right, is_right

PLAIN = "plain"


@dataclass(slots=True)
class Result:
    """One pair: a program against right.py. `place` is that of the first right row, from 1."""

    id: str
    tool: str
    script: str
    layer: str
    area: str
    place: int | None = None
    certain_and_wrong: bool = False
    rows: list[dict[str, Any]] = field(default_factory=list)
    record_seconds: float = 0.0
    answer_seconds: float = 0.0
    slow_down: float | None = None
    bytes: int = 0
    error: str = ""

    def told(self) -> dict[str, Any]:
        """The result as a JSON object."""
        return asdict(self)


def run(tool: Tool, identifier: str, keep: Path | None = None) -> Iterator[Result]:
    """All pairs of one fault; a pair that fails is a result with its error.

    `keep` is a folder that keeps programs and records, by fault.
    """
    fault = faults.load(identifier)
    work = (
        Path(tempfile.mkdtemp(prefix="faultbench-"))
        if keep is None
        else keep.resolve() / identifier
    )
    shutil.rmtree(work, ignore_errors=True)
    try:
        plain = processes.record(_plain(tool), fault, "right.py", work / PLAIN)
        right = processes.record(tool, fault, "right.py", work / "right")
        for script in fault.scripts[1:]:
            yield _pair(tool, fault, script, work, right / plain if plain else None)
    except RunError as error:
        for script in fault.scripts[1:]:
            yield _result(tool, fault, script, error=str(error))
    finally:
        if keep is None:
            shutil.rmtree(work, ignore_errors=True)


def _plain(tool: Tool) -> Tool:
    return Tool(PLAIN, tool.python, tool.timeout)


def _pair(
    tool: Tool, fault: faults.Fault, script: str, work: Path, slow_down: float | None
) -> Result:
    result = _result(tool, fault, script)
    folder = work / Path(script).stem
    try:
        result.record_seconds = processes.record(tool, fault, script, folder)
        result.rows, result.answer_seconds = processes.answer(tool, fault, script, work)
    except RunError as error:
        result.error = str(error)
    result.slow_down = slow_down
    result.bytes = processes.bytes_in(folder)
    rows = [Row(**row) for row in result.rows]
    if script == "wrong.py":
        result.place = first_right(rows, fault.answers)
        result.certain_and_wrong = bool(
            rows and rows[0].certain and not is_right(rows[0], fault.answers)
        )
    return result


def _result(tool: Tool, fault: faults.Fault, script: str, error: str = "") -> Result:
    return Result(fault.id, tool.name, script, fault.layer, fault.area, error=error)

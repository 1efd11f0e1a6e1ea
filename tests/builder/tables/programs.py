"""Records two runs of a small program as a user's script does, and makes their table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from builder.tables.comparing import TablesResult, compare_into_tables
from msprobe_core import PrecisionDebugger
from tests.builder.tables.recorded import Row, read_table

Step = Callable[[], torch.Tensor]


def recorded(
    folder: Path,
    step: Step,
    model: nn.Module | None = None,
    *,
    task: str = "statistics",
    level: str = "mix",
    passes_back: bool = True,
    **config: object,
) -> Path:
    """Record one step; the folder of the step."""
    folder.mkdir(parents=True)
    path = folder / "config.json"
    path.write_text(
        json.dumps({"task": task, "level": level, "rank": [], "step": [], task: {}, **config})
    )
    debugger = PrecisionDebugger(config_path=str(path), dump_path=str(folder / "dump"))
    try:
        debugger.start(model=model)
        loss = step()
        if passes_back:
            loss.backward()
        debugger.stop()
        debugger.step()
    finally:
        debugger.close()
    return folder / "dump" / "step0"


def compared(problem: Path, benchmark: Path, output: Path) -> tuple[list[Row], TablesResult]:
    """The rows of the one table of two recorded steps."""
    result = compare_into_tables(problem, benchmark, output)
    assert [outcome.error for outcome in result.failed] == []
    (file,) = result.files
    return read_table(file)[1], result


def spoken(rows: list[Row]) -> dict[str, str]:
    """What is said of the rows that do not pass, by their names."""
    return {
        row["NPU Name"] if row["NPU Name"] != "N/A" else row["Bench Name"]: row["Err_message"]
        for row in rows
        if row["Result"] != "pass"
    }

"""msprobe of this repository: statistics of every call and module, then `diagnose --json`."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

from faultbench.answer import Pair
from faultbench.program import Program
from faultbench.row import Row


def record(program: Program, folder: Path) -> None:
    """Record all steps at level mix."""
    from msprobe.pytorch import PrecisionDebugger

    debugger = PrecisionDebugger(dump_path=str(folder), level="mix", task="statistics")
    for step in program.steps():
        with debugger.recording(program.model):
            step()
    debugger.close()


def answer(pair: Pair) -> list[Row]:
    """The findings in the order of the tool."""
    from msprobe.cli import main

    sides = ["-tp", str(pair.problem), "-gp", str(pair.benchmark)]
    main(["graph_visualize", *sides, "-o", str(pair.work), "--workers", "1"])
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        main(["diagnose", str(next(pair.work.glob("*.vis.db"))), "--json"])
    # One that heals is said to be another way to the same result, and no alarm.
    found = json.loads(printed.getvalue())["findings"]
    return [_row(finding) for finding in found if not finding["heals"]]


def _row(finding: dict[str, Any]) -> Row:
    is_module = finding["type"] == "module"
    name = finding["node"] if is_module else finding["inside"] or ""
    call = None if is_module else finding["node"].split(".")[1]
    source = finding["source"] or {"file": "", "line": 0}
    certain = (finding["certainty"] or {}).get("word") == "certain"
    path = ".".join(name.split(".")[1:-3])  # `Module.layers.2.mlp.MLP.forward.0` is layers.2.mlp
    return Row(path, call, Path(source["file"]).name, source["line"], certain)

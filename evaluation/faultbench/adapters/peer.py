"""mindstudio-probe: statistics of calls and modules, then `msprobe compare`; --python names its own."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

from faultbench.answer import Pair
from faultbench.program import Program
from faultbench.row import Row

FRAME = re.compile(r"(right|wrong|twin)\.py, line (\d+)")


def record(program: Program, folder: Path) -> None:
    """Record all steps at level mix."""
    from msprobe.pytorch import PrecisionDebugger

    config = folder.parent / f"{folder.name}_config.json"
    config.write_text(json.dumps({"task": "statistics", "dump_path": str(folder), "level": "mix"}))
    debugger = PrecisionDebugger(config_path=str(config))
    for step in program.steps():
        debugger.start(model=program.model)
        step()
        debugger.stop()
        debugger.step()


def answer(pair: Pair) -> list[Row]:
    """The rows of the tables whose Result is no `pass`, a call once, in the order of the tables."""
    rows: dict[Row, None] = {}
    for step in sorted(pair.problem.glob("step*")):
        out = pair.work / step.name
        out.mkdir()
        words = ["-tp", str(step), "-gp", str(pair.benchmark / step.name), "-o", str(out)]
        program = Path(sys.executable).with_name("msprobe")
        subprocess.run([program, "compare", *words], check=True, stdout=subprocess.DEVNULL)
        for table in sorted(out.glob("*.csv")):
            frames: dict[str, tuple[str, int]] = {}
            with table.open(newline="") as file:
                for line in csv.DictReader(file):
                    side = "NPU Name" if line["NPU Name"] != "N/A" else "Bench Name"
                    node = re.split(r"\.(?:input|output|parameters)", line[side])[0]
                    found = FRAME.search(line["NPU_Stack_Info"])
                    if found:
                        frames[node] = (f"{found[1]}.py", int(found[2]))
                    if line["Result"] != "pass":
                        rows.setdefault(_row(node, *frames.get(node, ("", 0))))
    return list(rows)


def _row(node: str, file: str, number: int) -> Row:
    words = node.split(".")
    if words[0] in ("Module", "Cell"):
        return Row(".".join(words[1:-3]))
    return Row(None, words[1] if len(words) > 1 else node, file, number)

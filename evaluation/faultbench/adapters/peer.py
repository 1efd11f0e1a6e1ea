"""mindstudio-probe in an environment of its own (--python): statistics, then its `compare`."""

from __future__ import annotations

import csv
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

    debugger = PrecisionDebugger(task="statistics", dump_path=str(folder), level="mix")
    for step in program.steps():
        debugger.start(model=program.model)
        step()
        debugger.stop()
        debugger.step()


def answer(pair: Pair) -> list[Row]:
    """The rows of its tables whose Result is no `pass`, a call once, in the order of the tables."""
    rows: dict[Row, None] = {}
    tool = Path(sys.executable).with_name("msprobe")
    for step in sorted(pair.problem.glob("step*")):
        (out := pair.work / step.name).mkdir()
        words: list[str | Path] = ["-tp", step, "-gp", pair.benchmark / step.name, "-o", out]
        subprocess.run([tool, "compare", *words], check=True, stdout=subprocess.DEVNULL)
        frames: dict[str, tuple[str, int]] = {}
        texts = [table.read_text().splitlines() for table in sorted(out.glob("*.csv"))]
        for line in (line for text in texts for line in csv.DictReader(text)):
            name = line["NPU Name"] if line["NPU Name"] != "N/A" else line["Bench Name"]
            node = re.split(r"\.(?:input|output|parameters)", name)[0]
            if found := FRAME.search(line["NPU_Stack_Info"]):
                frames.setdefault(node, (f"{found[1]}.py", int(found[2])))
            if line["Result"] != "pass":
                parts = node.split(".")
                module = Row(".".join(parts[1:-3])) if parts[0] == "Module" else None
                rows.setdefault(module or Row(None, parts[1], *frames.get(node, ("", 0))))
    return list(rows)

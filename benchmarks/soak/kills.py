"""Processes killed at random moments: what was complete must be readable, nothing half-written."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.generate import Size, generate
from benchmarks.soak.outcome import ROOT, Outcome, finished, half_written, msprobe, parses

_ANNOUNCED = re.compile(r"step (\d+): (\d+) entries, .* s to write, (.+)")
_TRAINING = """
import sys, torch
from msprobe.pytorch import PrecisionDebugger
torch.set_num_threads(1)
model = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(12)])
debugger = PrecisionDebugger(dump_path=sys.argv[1], level="mix", task=sys.argv[2])
print("ready", flush=True)
while True:
    debugger.start(model)
    model(torch.ones(4, 8)).sum().backward()
    debugger.stop()
    debugger.step()
"""


def kill_builder(work: Path, times: int, entries: int) -> Outcome:
    """Kill a build with all its processes; the folder must hold whole results only."""
    outcome = Outcome("builder killed at random moments")
    generate(work / "dump", Size(entries, ranks=2))
    sides = ("-tp", work / "dump" / "problem", "-gp", work / "dump" / "benchmark")
    began = time.perf_counter()
    code, said = finished(msprobe("graph_visualize", *sides, "-o", work / "out"))
    whole = time.perf_counter() - began
    outcome.check(code == 0, said)
    chance = random.Random(1)
    for _ in range(times):
        process = msprobe("graph_visualize", *sides, "-o", work / "out")
        time.sleep(chance.uniform(0.05, 1.0) * whole)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        broken = half_written(work / "out")
        outcome.check(not broken, "; ".join(broken))
    code, said = finished(msprobe("graph_visualize", *sides, "-o", work / "out"))
    outcome.check(code == 0, f"the build after the kills: {said}")
    outcome.seen = f"a whole build takes {whole:.1f} s; all files under a final name open"
    return outcome


def kill_dumper(work: Path, times: int) -> Outcome:
    """Kill a training that dumps; each step that was said to be written must be there in full.

    Of the step that was being written a file may be cut, where the kill fell into the write itself.
    """
    outcome = Outcome("dumper killed at random moments")
    chance = random.Random(2)
    complete = readable = 0
    cut: list[Path] = []
    for number in range(times):
        folder = work / f"dump{number}"
        task = "tensor" if number % 2 else "statistics"
        said = _train_until_killed(folder, task, chance.uniform(0.05, 1.5))
        announced = _ANNOUNCED.findall(said)
        written = {Path(place) for _, _, place in announced}
        for path in folder.rglob("*.json"):
            if path.parent not in written and not parses(path):
                cut.append(path.parent)  # the kill fell into its one write
                continue
            readable += 1
            outcome.check(parses(path), f"{path.relative_to(work)} is no JSON")
        outcome.check(len(set(cut)) <= number + 1, f"more than the step of the kill is cut: {cut}")
        for _, entries, place in announced:
            complete += 1
            count = len(json.loads((Path(place) / "dump.json").read_text())["data"])
            outcome.check(count == int(entries), f"{place}: {count} of {entries} entries")
    outcome.seen = (
        f"{times} kills; {complete} complete steps whole, {readable} JSON files parse, "
        f"{len(cut)} cut in the step of the kill"
    )
    return outcome


def _train_until_killed(folder: Path, task: str, seconds: float) -> str:
    process = subprocess.Popen(
        [sys.executable, "-c", _TRAINING, str(folder), task],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(seconds)
    process.kill()
    return process.communicate()[1]

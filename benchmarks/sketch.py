"""What sketches cost on the way to a result: dump.json, the result file and the time to build it.

`python -m benchmarks.sketch [--layers N …] [--repeats N]` records a training step of the GPT of
benchmarks/dump.py with sketches and without, against the same step on other kernels, and prints
the ratios of one run.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.command import measure
from benchmarks.dump import build as debugger_in
from benchmarks.dump import dumped_step, header, small_gpt
from msprobe_core.format import DUMP_FILE

OURS = (sys.executable, "-m", "msprobe")
WIDTHS = {6: 256}  # the model of benchmarks/dump.py; deeper ones are there for their entries
_NARROW = 32


@dataclass(frozen=True, slots=True)
class Cost:
    """Bytes of one side's dump.json and of the result, and the fastest build in seconds."""

    dump: int
    result: int
    seconds: float


def main() -> None:
    """Print a row for each depth."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sketch", description=__doc__)
    parser.add_argument("--layers", type=int, nargs="+", default=[6, 96])
    parser.add_argument("--repeats", type=int, default=5, help="builds of each, in alternation")
    options = parser.parse_args()
    print(header().partition("\n")[0], end="\n\n")
    print("| layers, entries | with sketches | without | dump.json | result | build |")
    print("|---|---|---|---|---|---|")
    for layers in options.layers:
        with tempfile.TemporaryDirectory() as folder:
            print(row_of(layers, Path(folder), options.repeats), flush=True)


def row_of(layers: int, folder: Path, repeats: int) -> str:
    """Both costs of a model of some depth and their ratios."""
    roots = {sketch: folder / ("with" if sketch else "without") for sketch in (True, False)}
    for sketch, root in roots.items():
        for side in ("problem", "benchmark"):
            apart(layers, root / side, sketch, side == "benchmark")
    rounds = [{sketch: cost_of(root) for sketch, root in roots.items()} for _ in range(repeats)]
    on, off = (min((r[sketch] for r in rounds), key=lambda c: c.seconds) for sketch in roots)
    ratios = (on.dump / off.dump, on.result / off.result, on.seconds / off.seconds)
    entries = (next(roots[True].rglob(DUMP_FILE))).read_text().count('\n  "')
    cells = " | ".join([told(on), told(off), *(f"{ratio:.2f}" for ratio in ratios)])
    return f"| {layers}, {entries} | {cells} |"


def told(cost: Cost) -> str:
    """A cost in megabytes and seconds."""
    return f"{cost.dump / 1e6:.2f} MB, {cost.result / 1e6:.2f} MB, {cost.seconds:.2f} s"


def cost_of(root: Path) -> Cost:
    """One build of a pair of dumps."""
    sides = ("-tp", root / "problem", "-gp", root / "benchmark")
    measured = measure((*OURS, "graph_visualize", *sides))
    (dump,) = (root / "problem").rglob(DUMP_FILE)
    return Cost(dump.stat().st_size, measured.written, measured.seconds)


def apart(layers: int, folder: Path, sketch: bool, onednn: bool) -> None:
    """Record one side in a process of its own: a dumper patches torch, and settings are global."""
    work = (layers, folder, sketch, onednn)
    process = multiprocessing.get_context("spawn").Process(target=recorded, args=work)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"recording {layers} layers ended with {process.exitcode}")


def recorded(layers: int, folder: Path, sketch: bool, onednn: bool) -> None:
    """One dumped step of task statistics at level mix."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch._C._set_mkldnn_enabled(onednn)
    model, step = small_gpt(layers, WIDTHS.get(layers, _NARROW))
    folder.mkdir(parents=True)
    dumped_step(debugger_in(str(folder), "statistics", "mix", "statistics", sketch), model, step)


if __name__ == "__main__":
    main()

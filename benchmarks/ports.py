"""What it costs to compare two programs of one model, beside two runs of one program of that size.

`python -m benchmarks.ports [--layers N …] [--repeats N]` records a training step of the GPT of
benchmarks/dump.py, sound and with a fault between two blocks, and builds each pair as it is and
with other names on one side, in alternation; it prints the ratios of one run.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.command import measure
from benchmarks.dump import build as debugger_in
from benchmarks.dump import dumped_step, header, small_gpt
from msprobe_core.format import CONSTRUCT_FILE, DUMP_FILE, STACK_FILE

OURS = (sys.executable, "-m", "msprobe")
FAULT = 1.01
_WIDTH = 32
# Every module of the model under another name, as a port has them.
_NAMES = {
    "tokens": "wte",
    "positions": "wpe",
    "blocks": "h",
    "ln1": "norm_1",
    "ln2": "norm_2",
    "qkv": "attn_in",
    "proj": "attn_out",
    "fc1": "mlp_in",
    "fc2": "mlp_out",
    "norm": "ln_f",
    "head": "lm_head",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each depth, sound and with the fault."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ports", description=__doc__)
    parser.add_argument("--layers", type=int, nargs="+", default=[12, 96])
    parser.add_argument("--repeats", type=int, default=5, help="builds of each, in alternation")
    options = parser.parse_args(arguments)
    print(header().partition("\n")[0], end="\n\n")
    print("| layers, entries | pair | one program | a port | port / one program |")
    print("|---|---|---|---|---|")
    for layers in options.layers:
        with tempfile.TemporaryDirectory() as folder:
            for is_faulty in (False, True):
                print(row_of(layers, Path(folder), options.repeats, is_faulty), flush=True)


def row_of(layers: int, folder: Path, repeats: int, is_faulty: bool) -> str:
    """The fastest build of either pair, and their ratio."""
    benchmark, problem = folder / "benchmark", folder / ("faulty" if is_faulty else "sound")
    if not benchmark.exists():
        record_apart(layers, benchmark, 1.0)
    record_apart(layers, problem, FAULT if is_faulty else 1.0)
    port = folder / f"{problem.name} port"
    rename_modules(problem, port)
    builds = {True: port, False: problem}
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(repeats):
        for is_port, side in builds.items():
            # The kind is told by the tool itself: what that takes is a part of the cost.
            command = (*OURS, "graph_visualize", "-tp", side, "-gp", benchmark)
            seconds[is_port].append(measure(command).seconds)
    one, other = min(seconds[False]), min(seconds[True])
    entries = len(json.loads(next(benchmark.rglob(DUMP_FILE)).read_text("utf-8"))["data"])
    named = "fault" if is_faulty else "sound"
    return f"| {layers}, {entries} | {named} | {one:.2f} s | {other:.2f} s | {other / one:.2f} |"


def rename_modules(dump: Path, to: Path) -> None:
    """Copy a dump with every module under another name; all else stays."""
    shutil.copytree(dump, to)
    for name in (DUMP_FILE, CONSTRUCT_FILE, STACK_FILE):
        for file in to.rglob(name):
            file.write_text(_MODULE.sub(_renamed, file.read_text("utf-8")), "utf-8")


_MODULE = re.compile(r"\bModule\.[\w.]+")


def _renamed(found: re.Match[str]) -> str:
    return ".".join(_NAMES.get(part, part) for part in found[0].split("."))


def record_apart(layers: int, folder: Path, factor: float) -> None:
    """Record one side in a process of its own: a dumper patches torch."""
    work = (layers, folder, factor)
    process = multiprocessing.get_context("spawn").Process(target=recorded, args=work)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"recording {layers} layers ended with {process.exitcode}")


def recorded(layers: int, folder: Path, factor: float) -> None:
    """One dumped step at level mix; what the middle block reads is `factor` times as large."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, step = small_gpt(layers, _WIDTH)
    if factor != 1.0:
        model.blocks[layers // 2].register_forward_pre_hook(lambda _, args: (args[0] * factor,))
    folder.mkdir(parents=True)
    dumped_step(debugger_in(str(folder), "statistics", "mix", "statistics", True), model, step)


if __name__ == "__main__":
    main()

"""Records runs of one port: `python -m evaluation.ports.run FOLDER PORT DTYPE LEVEL RUN [RUN …]`.

A run is `original`, `sound` or the name of a fault; each has a process of its own.
"""

from __future__ import annotations

import multiprocessing
import sys
from pathlib import Path

import torch

from evaluation.ports.port import Port, seeded
from evaluation.ports.programs import port_named
from msprobe.pytorch import PrecisionDebugger

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
ORIGINAL, SOUND = "original", "sound"


def record(folder: Path, port: Port, dtype: str, level: str, run: str) -> None:
    """One step, forward and backward, of the original or of its port."""
    torch.set_num_threads(1)
    model = seeded(port).to(DTYPES[dtype])
    if run != ORIGINAL:
        model = port.ported(model, None if run == SOUND else run)
    debugger = PrecisionDebugger(dump_path=str(folder), task="statistics", level=level, step=[0])
    debugger.start(model=model)
    port.loss(model).backward()
    debugger.stop()
    debugger.step()


def main() -> None:
    """Record what the command line asks for."""
    root, name, dtype, level, *runs = sys.argv[1:]
    port = port_named(name)
    context = multiprocessing.get_context("fork")
    for run in runs:
        process = context.Process(target=record, args=(Path(root) / run, port, dtype, level, run))
        process.start()
        process.join()
        if process.exitcode:
            sys.exit(process.exitcode)


if __name__ == "__main__":
    main()

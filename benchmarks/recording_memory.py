"""Memory of recording: the peak of a recorded training step over a plain one, and 1,000 steps.

usage: python -m benchmarks.recording_memory

Each row is a process. What is read is the resident memory that Linux counts for it, with the peak
reset before each step; blocks of 64 KB and more go back to the system when they are freed, so that
it is the memory in use. What the process had before the model was built is taken off, among it the
code of torch and msprobe.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEVELS = ("plain", "L0", "mix")
_WIDTH, _LAYERS, _BATCH = 512, 24, 512
"""25 MB of weights, 25 MB of gradients, and 50 MB of activations that autograd keeps."""
_STEPS, _FIRST = 1_000, 100


def main() -> None:
    """Print both tables."""
    if len(sys.argv) > 1:
        {"peak": peak, "growth": growth}[sys.argv[1]](sys.argv[2])
        return
    print("| training step | peak above what was imported | of plain |\n|---|---|---|")
    plain = 0.0
    for level in LEVELS:
        megabytes = _measured("peak", level)[0]
        plain = plain or megabytes
        print(f"| {level} | {megabytes:.1f} MB | {megabytes / plain:.3f} |", flush=True)
    print(f"\n| {_STEPS:,} steps | after {_FIRST} | at the end |\n|---|---|---|")
    for level in LEVELS:
        first, last = _measured("growth", level)
        print(f"| {level} | {first:.1f} MB | {last:.1f} MB |", flush=True)


def peak(level: str) -> None:
    """Print the largest peak of three steps after two."""
    import torch
    from torch import nn

    import msprobe_core.torch.torch_recording  # noqa: F401 - code is no part of a step, in any row

    before, peaks = resident("VmRSS"), []
    layers = [each for _ in range(_LAYERS) for each in (nn.Linear(_WIDTH, _WIDTH), nn.GELU())]
    model, x = nn.Sequential(*layers), torch.randn(_BATCH, _WIDTH)

    def step() -> None:
        model.zero_grad()
        model(x).square().mean().backward()

    for run in _steps(level, model, step, 5):
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        run()
        peaks.append(resident("VmHWM"))
    print(max(peaks[2:]) - before)


def growth(level: str) -> None:
    """Print the memory after the first steps and after the last one."""
    import torch
    from torch import nn

    model, found = nn.Sequential(*(nn.Linear(64, 64) for _ in range(8))), []

    def step() -> None:
        model.zero_grad()
        model(torch.ones(4, 64)).sum().backward()

    for number, run in enumerate(_steps(level, model, step, _STEPS), 1):
        run()
        if number in (_FIRST, _STEPS):
            found.append(resident("VmRSS"))
    print(*found)


def _steps(level: str, model: object, step: Callable[[], None], count: int):  # type: ignore[no-untyped-def]  # noqa: ANN202
    """The steps one after the other, recorded at the level but where it is `plain`."""
    import torch

    torch.set_num_threads(1)
    if level == "plain":
        yield from [step] * count
        return
    from msprobe_core import PrecisionDebugger

    with tempfile.TemporaryDirectory() as folder:
        debugger = PrecisionDebugger(level=level, task="statistics", dump_path=folder)

        def recorded() -> None:
            debugger.start(model=model)
            step()
            debugger.stop()
            debugger.step()

        yield from [recorded] * count


def resident(kind: str) -> float:
    """Megabytes of this process as the system names them: `VmRSS` now, `VmHWM` at most."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    found = next(line for line in lines if line.startswith(f"{kind}:"))
    return int(found.split()[1]) * 1024 / 1e6


def _measured(what: str, level: str) -> list[float]:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.recording_memory", what, level]
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return [float(word) for word in done.stdout.split()]


if __name__ == "__main__":
    main()

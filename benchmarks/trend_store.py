"""What the store of trends costs: python -m benchmarks.trend_store [STEPS] [TARGETS] [FOLDER]

CPU time a step of writing (segments included), size, and reading cold: a heat map and a line.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from builder.series.run import TrendRun
from msprobe_core.format.series import STATISTICS, TrendTarget
from msprobe_core.monitor.store import SeriesWriter, write_run


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    targets = int(sys.argv[2]) if len(sys.argv) > 2 else 2_000
    place = Path(sys.argv[3]) if len(sys.argv) > 3 else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        run = Path(folder)
        cpu, walls = write(run, steps, targets)
        size = sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
        values = steps * targets * len(STATISTICS)
        print(f"{steps} steps of {targets} targets with {len(STATISTICS)} statistics")
        print(f"write: {cpu / steps * 1e3:.2f} ms CPU a step")
        print(f"wall of one write: median {walls[len(walls) // 2] * 1e3:.2f} ms")
        print(f"size: {size / values:.2f} bytes a value, {size / 1e6:.0f} MB")
        read(run, targets)


def write(run: Path, steps: int, targets: int) -> tuple[float, list[float]]:
    """CPU seconds of all writes, and the sorted wall times of each."""
    chance = np.random.default_rng(0)
    base = np.exp(chance.normal(0, 3, (len(STATISTICS), targets))).astype(np.float32)
    tables = [base * np.float32(1 + 0.01 * i) for i in range(64)]
    write_run(run, {})
    writer = SeriesWriter(run, 0)
    writer.add_targets(
        [TrendTarget("grad", f"layers.{i}", (), "float32", i) for i in range(targets)]
    )
    walls = []
    began = time.process_time()
    for step in range(steps):
        at = time.perf_counter()
        writer.write(step, tables[step % 64])
        walls.append(time.perf_counter() - at)
    writer.close()
    return time.process_time() - began, sorted(walls)


def read(run: Path, targets: int) -> None:
    for path in run.rglob("*.npy"):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
    began = time.perf_counter()
    opened = TrendRun(run)
    print(f"open: {(time.perf_counter() - began) * 1e3:.0f} ms")
    keys = [("grad", f"layers.{i}") for i in range(targets)]
    for name in ("cold", "warm"):
        began = time.perf_counter()
        heat = opened.heat(keys, "norm", columns=1500)
        print(f"heat map {heat.values.shape} {name}: {(time.perf_counter() - began) * 1e3:.0f} ms")
        began = time.perf_counter()
        steps, _ = opened.line(keys[777 % targets], "max")
        print(f"line of {len(steps)} {name}: {(time.perf_counter() - began) * 1e3:.0f} ms")


if __name__ == "__main__":
    main()

"""The cost of the trend store: python -m benchmarks.trend_store [STEPS] [TARGETS] [FOLDER] [--keep]

CPU time a step of writing (segments included), size, and reading cold: a heat map and a line. With
`--keep` FOLDER/trends stays, for benchmarks/trends_page.mjs.
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
    given = [word for word in sys.argv[1:] if word != "--keep"]
    steps = int(given[0]) if given else 10_000
    targets = int(given[1]) if len(given) > 1 else 2_000
    place = Path(given[2]) if len(given) > 2 else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        run = place / "trends" if place is not None and "--keep" in sys.argv else Path(folder)
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
        [TrendTarget(*key, (), "float32", place) for place, key in enumerate(keys_of(targets))]
    )
    walls = []
    began = time.process_time()
    for step in range(steps):
        at = time.perf_counter()
        writer.write(step, tables[step % 64])
        walls.append(time.perf_counter() - at)
    writer.close()
    return time.process_time() - began, sorted(walls)


def keys_of(targets: int) -> list[tuple[str, str]]:
    """Eight gradients a layer, and the loss."""
    return [("grad", f"layers.{i // 8}.m{i % 8}") for i in range(targets - 1)] + [("loss", "loss")]


def read(run: Path, targets: int) -> None:
    for path in run.rglob("*.npy"):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
    began = time.perf_counter()
    opened = TrendRun(run)
    print(f"open: {(time.perf_counter() - began) * 1e3:.0f} ms")
    keys = keys_of(targets)
    for name in ("cold", "warm"):
        began = time.perf_counter()
        heat = opened.heat(keys, "norm", columns=1500)
        print(f"heat map {heat.values.shape} {name}: {(time.perf_counter() - began) * 1e3:.0f} ms")
        began = time.perf_counter()
        steps, _ = opened.line(keys[777 % targets], "max")
        print(f"line of {len(steps)} {name}: {(time.perf_counter() - began) * 1e3:.0f} ms")


if __name__ == "__main__":
    main()

"""The cost of the trend store: python -m benchmarks.trend_store [STEPS] [TARGETS] [FOLDER] [--keep]

CPU time a step of writing (segments included), size, and reading cold: a heat map and a line. With
`--keep` FOLDER/trends stays, for benchmarks/trends_page.mjs; `--read` looks at one that is there.
The exit code is 1 where a goal is missed.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from builder.series.run import TrendRun
from msprobe_core.format.series import STATISTICS, TrendTarget
from msprobe_core.monitor.store import SeriesWriter, write_run

WRITE_MS, HEAT_MS, LINE_MS = 1.0, 300.0, 400.0
REPEATS = 5


def main() -> int:
    given = [word for word in sys.argv[1:] if not word.startswith("--")]
    steps = int(given[0]) if given else 10_000
    targets = int(given[1]) if len(given) > 1 else 2_000
    place = Path(given[2]) if len(given) > 2 else None
    if place is not None and "--read" in sys.argv:
        return 0 if read(place / "trends", targets) else 1
    with tempfile.TemporaryDirectory(dir=place) as folder:
        run = place / "trends" if place is not None and "--keep" in sys.argv else Path(folder)
        cpu, walls = write(run, steps, targets)
        size = sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
        values = steps * targets * len(STATISTICS)
        print(f"{steps} steps of {targets} targets with {len(STATISTICS)} statistics")
        print(f"write: {cpu / steps * 1e3:.2f} ms CPU a step, goal {WRITE_MS:.0f}")
        print(f"wall of one write: median {walls[len(walls) // 2] * 1e3:.2f} ms")
        print(f"size: {size / values:.2f} bytes a value, {size / 1e6:.0f} MB")
        print("opened and looked at, the median of five (least to most), and the goal:")
        return 0 if read(run, targets) and cpu / steps * 1e3 <= WRITE_MS else 1


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


def read(run: Path, targets: int) -> bool:
    """Look as a page does, with nothing of the files in memory and again; whether all goals hold.

    Each look opens the run anew, so that a cold one waits for the disk as a server that has just
    been started does.
    """
    keys = keys_of(targets)
    looks: dict[str, tuple[Callable[[TrendRun], object], float]] = {
        "heat map": (lambda opened: opened.heat(keys, "norm", columns=1500), HEAT_MS),
        "line": (lambda opened: opened.line(keys[777 % targets], "max"), LINE_MS),
    }
    kept = True
    for what, (look, goal) in looks.items():
        for name in ("cold", "warm"):
            times = sorted(timed(run, look, name == "cold") for _ in range(REPEATS))
            middle = times[len(times) // 2]
            kept &= middle <= goal
            between = f"{times[0]:.0f} to {times[-1]:.0f}"
            print(f"{what}, {name}: {middle:.0f} ms ({between}), goal {goal:.0f}")
    return kept


def timed(run: Path, look: Callable[[TrendRun], object], is_cold: bool) -> float:
    """Milliseconds from opening the run to what is looked at."""
    if is_cold:
        forget(run)
    began = time.perf_counter()
    look(TrendRun(run))
    return (time.perf_counter() - began) * 1e3


def forget(run: Path) -> None:
    """Let the system drop what it holds of the files; it still knows where they lie."""
    for path in run.rglob("*.npy"):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main())

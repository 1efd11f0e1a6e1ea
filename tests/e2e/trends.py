"""Trends for the browser: `python -m tests.e2e.trends DIR` writes a small pair and a large run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from msprobe_core.format.series import STATISTICS, TrendTarget
from msprobe_core.monitor.store import SeriesWriter, write_run

ROOT = Path(__file__).resolve().parents[2]
TARGETS, STEPS = 2000, 10_000


def main(folder: Path) -> None:
    """Write `sound`, `spiked` and `large` below a folder."""
    script = str(ROOT / "examples" / "loss_spike.py")
    for name, flags in (("sound", []), ("spiked", ["--fault"])):
        subprocess.run([sys.executable, script, str(folder / name), *flags], check=True)
    write_large(folder / "large")


def write_large(run: Path) -> None:
    """2,000 targets over 10,000 steps, of which one leaps at step 7,000."""
    modules = [[f"layers.{layer}", "Block"] for layer in range(TARGETS // 20)]
    write_run(run, {"modules": modules})
    writer = SeriesWriter(run, 0)
    names = [f"layers.{i // 20}.part{i % 20}.weight" for i in range(TARGETS)]
    writer.add_targets(
        [TrendTarget("grad", name, (8, 8), "float32", i) for i, name in enumerate(names)]
    )
    chance = np.random.default_rng(0)
    base = chance.lognormal(0, 2, TARGETS).astype(np.float32)
    noise = [np.exp(0.1 * chance.standard_normal(TARGETS)).astype(np.float32) for _ in range(32)]
    table = np.zeros((len(STATISTICS), TARGETS), dtype=np.float32)
    table[STATISTICS.index("size")] = 64
    for step in range(STEPS):
        made = table.copy()
        made[0] = base * noise[step % 32]
        if step >= 7000:
            made[0, 777] *= 16
        writer.write(step, made)
    writer.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

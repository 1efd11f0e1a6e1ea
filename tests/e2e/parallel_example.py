"""Makes the comparison of docs/howto/parallel.md, two ranks with one process, for its picture.

`python -m tests.e2e.parallel_example FOLDER` writes FOLDER/parallel.vis.db.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import builder
from builder.work.options import BuildOptions

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "tensor_parallel.py"
RUNS = {"parallel": ("--ranks", "2", "--fault"), "single": ()}


def main(folder: Path) -> None:
    """Record both runs beside, and remove them afterwards."""
    with tempfile.TemporaryDirectory() as work:
        runs = Path(work) / "runs"  # the page shows the end of their paths
        runs.mkdir()
        for run, options in RUNS.items():
            command = [sys.executable, str(EXAMPLE), run, *options]
            subprocess.run(command, cwd=runs, check=True, capture_output=True)
        sides = (runs / run for run in RUNS)
        built = builder.build(*sides, Path(work) / "built", BuildOptions(workers=1))
        folder.mkdir(parents=True)
        built.path.rename(folder / f"{folder.name}.vis.db")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

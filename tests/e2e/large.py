"""Makes a comparison of 100,000 nodes a side for the journeys on a large one.

`python -m tests.e2e.large FOLDER` writes FOLDER/large.vis.db; it appears when it is complete.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import builder
from benchmarks.generate import Size, generate
from builder.work.options import BuildOptions

ENTRIES = 100_000


def main(folder: Path) -> None:
    """Write the dumps beside, and remove them afterwards."""
    with tempfile.TemporaryDirectory(dir=folder.parents[1]) as work:
        dumps = Path(work)
        generate(dumps, Size(ENTRIES))
        sides = (dumps / "problem", dumps / "benchmark")
        built = builder.build(*sides, dumps / "built", BuildOptions(workers=1))
        folder.mkdir(parents=True)
        built.path.replace(folder / "large.vis.db")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Makes a comparison of 64 ranks × 4 steps in which three ranks go wrong from step 2 on.

`python -m tests.e2e.many_ranks FOLDER` writes FOLDER/many.vis.db; it appears when it is complete.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import builder
from builder.work.options import BuildOptions

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "msprobe-26.2.0" / "ranks"
STEPS, RANKS = 4, 64
CULPRITS = (17, 18, 40)
ONSET = 2


def main(folder: Path) -> None:
    """Compose the dumps of links to those of one rank, and compare them."""
    with tempfile.TemporaryDirectory(dir=folder.parents[1]) as work:
        dumps = Path(work)
        for step in range(STEPS):
            for rank in range(RANKS):
                wrong = rank in CULPRITS and step >= ONSET
                link(dumps / "benchmark", "bench", step, rank)
                link(dumps / "problem", "problem" if wrong else "bench", step, rank)
        sides = dumps / "problem", dumps / "benchmark"
        built = builder.build(*sides, dumps / "built", BuildOptions(workers=1))
        folder.mkdir(parents=True)
        built.path.replace(folder / "many.vis.db")


def link(side: Path, sample: str, step: int, rank: int) -> None:
    """The recorded files of one rank under another number."""
    place = side / f"step{step}" / f"rank{rank}"
    place.mkdir(parents=True)
    for file in (SAMPLES / sample / "step0" / "rank0").iterdir():
        (place / file.name).symlink_to(file)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Builds and diagnoses recorded pairs with whichever builder is first on the path.

A program of its own, run by path: it imports nothing but `builder`, so that an old checkout of it
can be asked the same way as today's.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path


def main(pairs: Path, said: Path, processes: int) -> None:
    """Write a line of JSON for each pair of a list of `{title, problem, benchmark}`."""
    listed = json.loads(pairs.read_text())
    with multiprocessing.Pool(processes, maxtasksperchild=20) as pool, said.open("a") as lines:
        for line in pool.imap(answer, listed):
            lines.write(json.dumps(line) + "\n")
            lines.flush()


def answer(pair: dict[str, str]) -> dict[str, object]:
    """The findings of one pair; a pair that cannot be built has its error instead."""
    from builder import BuildOptions, build, diagnose

    with tempfile.TemporaryDirectory() as folder:
        try:
            # Stated for the workers of a pool, which may not start processes of their own.
            made = build(
                Path(pair["problem"]),
                Path(pair["benchmark"]),
                Path(folder) / "out",
                BuildOptions(workers=1),
            )
            diagnosis = diagnose(made.path)
        except Exception as error:  # an answer like any other: the other version may have one
            return {"title": pair["title"], "error": f"{type(error).__name__}: {error}"}
    shown = diagnosis.as_json()["findings"]
    assert isinstance(shown, list)
    for finding, suspect in zip(shown, diagnosis.named, strict=True):
        finding.update(inside=suspect.inside, stack=suspect.stack)
    return {"title": pair["title"], "refusal": diagnosis.refusal, "findings": shown}


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))

"""A folder with two results: a run with a fault beside the sound one, and the sound one twice."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from builder import BuildOptions, build
from msprobe.answers.result_folder import ResultFolder


@dataclass(frozen=True)
class Served:
    """The folder, and its results as they are named below it."""

    root: Path
    faulty: str
    sound: str

    @property
    def folder(self) -> ResultFolder:
        return ResultFolder(self.root, self.root / "built")


@pytest.fixture(scope="module")
def served(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Served:
    root = tmp_path_factory.mktemp("served")
    for side, source in (("problem", "problem"), ("benchmark", "bench")):
        shutil.copytree(samples / "statistics" / source, root / side)
    (root / "built").mkdir()
    options = BuildOptions(workers=1)
    names = []
    for problem in ("problem", "benchmark"):
        made = build(root / problem, root / "benchmark", root / f"of_{problem}", options)
        names.append(made.path.relative_to(root).as_posix())
    return Served(root, *names)

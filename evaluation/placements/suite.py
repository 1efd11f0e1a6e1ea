"""Records the programs and asks `msprobe check` alone about each, or a comparison with its twin."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Literal, NamedTuple

import torch

from builder import BuildOptions, build, diagnose
from builder.dump.sources import find_sources
from builder.errors import InputError
from builder.ranks.checks.self_check import check_dump
from builder.ranks.layout.coordinates import Sizes
from evaluation.placements.case import Case
from evaluation.placements.run import Run
from tests.rank_processes import run_ranks

Against = Literal["none", "same"]
Answer = Literal["first", "near", "silent", "elsewhere", "error"]
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_NEAR = 3
_PROGRAMS = "evaluation/placements/families/"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was said of one run of a case; `wrong` tells whether its fault was in it."""

    case: Case
    wrong: bool
    precision: str
    answer: Answer
    said: tuple[str, ...] = ()

    @property
    def is_right(self) -> bool:
        """Whether a fault is named first, or a sound run left alone."""
        return self.answer == ("first" if self.wrong else "silent")


def judge(
    cases: Sequence[Case], precisions: Sequence[str], against: Against = "none"
) -> Iterator[Verdict]:
    """Two verdicts of every case in each format, of the fault and of its right twin."""
    for case in cases:
        for precision in precisions:
            for wrong in (True, False):
                yield judge_one(case, wrong, precision, against)


def judge_one(case: Case, wrong: bool, precision: str, against: Against = "none") -> Verdict:
    """Record a program and hold its ranks against each other, or against its right twin's."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            record(case, wrong, precision, Path(folder) / "problem")
            if against == "same":
                record(case, False, precision, Path(folder) / "twin")
            found = list(_alone(Path(folder)) if against == "none" else _compared(Path(folder)))
        except (RuntimeError, InputError) as error:
            return Verdict(case, wrong, precision, "error", (str(error)[-600:],))
    answer = _answer(case, [(each.node, each.inside, each.line) for each in found])
    said = tuple(f"{each.node} (step {each.step}): {each.text}" for each in found)
    return Verdict(case, wrong, precision, answer, said)


class _Found(NamedTuple):
    """What was found: where, in which module, and at which line of a program's own."""

    step: int
    node: str
    inside: str
    line: str
    text: str


def _alone(folder: Path) -> Iterator[_Found]:
    for f in check_dump(find_sources(folder / "problem" / "dump"), Sizes()).findings:
        yield _Found(f.step, f.node, f.inside, "", f.text)


def _compared(folder: Path) -> Iterator[_Found]:
    sides = (folder / "problem" / "dump", folder / "twin" / "dump")
    made = build(*sides, folder / "out", BuildOptions(workers=1))
    failed = [outcome.error for outcome in made.outcomes if outcome.error is not None]
    if failed:
        raise RuntimeError(failed[0])
    for f in diagnose(made.path).findings:
        lines = [line for line in (f.stack or "").splitlines() if "-packages" not in line]
        line = lines[0] if lines and _PROGRAMS in lines[0] else ""
        yield _Found(f.step, f.node, f.inside or "", line, "; ".join(f.reasons))


def _answer(case: Case, named: Sequence[tuple[str, str, str]]) -> Answer:
    """How early a finding is right: it names a culprit, or the line where the program does it."""
    expressions = [re.compile(each) for each in (*case.culprits, _PROGRAMS)]
    hits = [any(e.search(name) for e in expressions for name in names) for names in named]
    if not hits:
        return "silent"
    if hits[0]:
        return "first"
    return "near" if any(hits[:_NEAR]) else "elsewhere"


def record(case: Case, wrong: bool, precision: str, folder: Path) -> None:
    """Run a program in one process a rank and leave the dump in `folder`/dump.

    Raises RuntimeError with the text of the first process that failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config = {"task": "statistics", "level": "mix", "dump_path": str(folder / "dump")}
    config |= {"rank": [], "step": [], "statistics": {}}
    (folder / "config.json").write_text(json.dumps(config))
    world = prod(case.axes.values())
    run_ranks(partial(_work, case, wrong, precision, folder), world, folder, case.name)


def _work(case: Case, wrong: bool, precision: str, folder: Path, rank: int) -> None:
    config = folder / "config.json"
    case.program(Run(case.axes, rank, wrong, PRECISIONS[precision], config, case.is_told))

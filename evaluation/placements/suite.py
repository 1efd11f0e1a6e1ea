"""Records the programs and asks `msprobe check` alone about each: no benchmark, no hint."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Literal

import torch

from builder.dump.sources import find_sources
from builder.errors import InputError
from builder.ranks.checks.self_check import CheckFinding, check_dump
from builder.ranks.layout.coordinates import Sizes
from evaluation.placements.case import Case
from evaluation.placements.run import Run
from tests.rank_processes import run_ranks

Answer = Literal["first", "near", "silent", "elsewhere", "error"]
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_NEAR = 3


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


def judge(cases: Sequence[Case], precisions: Sequence[str]) -> Iterator[Verdict]:
    """Two verdicts of every case in each format, of the fault and of its right twin."""
    for case in cases:
        for precision in precisions:
            for wrong in (True, False):
                yield judge_one(case, wrong, precision)


def judge_one(case: Case, wrong: bool, precision: str) -> Verdict:
    """Record a program and hold its ranks against each other."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            record(case, wrong, precision, Path(folder))
            findings = check_dump(find_sources(Path(folder) / "dump"), Sizes()).findings
        except (RuntimeError, InputError) as error:
            return Verdict(case, wrong, precision, "error", (str(error)[-600:],))
    said = tuple(f"{f.node} (step {f.step}): {f.text}" for f in findings)
    return Verdict(case, wrong, precision, _answer(case, findings), said)


def _answer(case: Case, findings: Sequence[CheckFinding]) -> Answer:
    expressions = [re.compile(each) for each in case.culprits]
    named = [(finding.node, finding.inside) for finding in findings]
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

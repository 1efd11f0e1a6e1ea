"""What to record next: what proves a finding, or shows more where none is named."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from builder import Diagnosis
from builder.errors import InputError
from builder.results.confirmation import (
    finding_of,
    names_near,
    opened,
    plan_confirmation,
    recorded_as,
)
from builder.results.database import ResultDatabase
from builder.results.records import Finding, Pair
from msprobe.answers.arguments import OfFinding
from msprobe.answers.overview import diagnosis_of
from msprobe.answers.result_folder import ResultFolder
from tb_graph_ascend.logdirs import ResultFile

# The dumps of these configurations lie below the folder that the scripts are started in.
_FOLDER = Path("next_recording")
_FOR = {
    "closer_benchmark.json": "1. record the benchmark run with this: every element near the "
    "finding, for the graft and to look closer",
    "graft.json": "2. run the problem run with this: it takes the benchmark's values at the "
    "finding; compare its dump with the benchmark, then ask compare_results",
    "closer_problem.json": "optional: record the problem run with this, every element near the "
    "finding",
}


class Recording(msgspec.Struct, frozen=True):
    """A configuration of PrecisionDebugger and what it is for."""

    purpose: str
    config: dict[str, Any]


class NextRecordings(msgspec.Struct, frozen=True):
    """What to record next and why; no recordings where nothing more is to be seen.

    `finding` is the number of the one that they are about.
    """

    result: str
    finding: int | None
    node: str | None
    why: str
    recordings: list[Recording]


def record_next(folder: ResultFolder, asked: OfFinding) -> NextRecordings:
    """The recordings that prove a finding, or that show more where there is none."""
    file = folder.result(asked.result)
    known = diagnosis_of(file)
    if not known.named:
        return _closer(file, known)
    with closing(opened(file.path)) as database:
        finding = finding_of(database, asked.finding)
        told = (file.shown, asked.finding, finding.node.name)
        try:
            plan = plan_confirmation(file.path, asked.finding, _FOLDER)
        except InputError as error:
            # Nothing can be grafted there: what is around it can still be seen.
            return NextRecordings(*told, error.message, [_elements(database, finding)])
    recordings = [Recording(purpose, plan.files[name]) for name, purpose in _FOR.items()]
    why = "if all behind the finding agrees once the benchmark's values are taken there, it is it"
    return NextRecordings(*told, why, recordings)


def _closer(file: ResultFile, known: Diagnosis) -> NextRecordings:
    """What shows more of two runs of which no beginning is named."""
    if known.refusal is not None:
        raise InputError(known.refusal, "compare again with other names paired; record no more")
    why, recordings = _without_finding(file, known)
    return NextRecordings(file.shown, None, None, why, recordings)


def _without_finding(file: ResultFile, known: Diagnosis) -> tuple[str, list[Recording]]:
    claim = known.claim
    with closing(opened(file.path)) as database:
        if not database.comparison:
            return "one run was drawn alone: compare it with another (build_result)", []
    if claim.code == "nothing":
        wanted = {"task": "statistics", "level": "mix", "rank": [], "step": [0]}
        return (
            "nothing was compared: both dumps need values",
            [Recording("record both runs with this", wanted)],
        )
    if claim.is_clear and not claim.evidence.count("statistics", "extremes"):
        return "nothing differs beyond rounding in all there is; no further recording", []
    why = {
        True: "statistics alone are equal: a permuted tensor has the same; elements tell",
        False: "the runs differ or were not compared whole, and no beginning is named",
    }[claim.is_clear]
    with closing(opened(file.path)) as database:
        summary = database.summary()
        compared = [pair for pair in summary.pairs if pair.status == "ok"]
        if summary.task == "tensor" or not compared:
            return why, []
        worst = max(compared, key=lambda pair: pair.worst or 0.0)
        return why, [_elements(database, worst)]


def _elements(database: ResultDatabase, at: Pair | Finding) -> Recording:
    """Every element of a step and rank; of a finding those of its call and around it."""
    config = {**recorded_as(database, at.step, at.rank), "task": "tensor"}
    if isinstance(at, Finding):
        config["tensor"] = {"list": sorted(set.union(*names_near(database, at)))}
    return Recording("record both runs with this: every element there", config)

"""Which results there are, what one of them holds, and where it begins to differ."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import msgspec

from builder import Diagnosis, diagnose
from builder.claim import claim_facts, told
from builder.errors import DatabaseError
from builder.reasons import sentence
from builder.results.opening import runs_of
from builder.results.records import Pair
from msprobe.answers.arguments import OfFolder, OfResult
from msprobe.answers.known_findings import ListedFinding, known_of
from msprobe.answers.result_folder import ResultFolder
from tb_graph_ascend.logdirs import ResultFile


class ListedResult(msgspec.Struct, frozen=True):
    """A result file: what it compares, or why it cannot be opened."""

    result: str
    modified: str
    bytes: int
    problem: str | None
    benchmark: str | None
    error: str | None


class ResultList(msgspec.Struct, frozen=True):
    """The results below the folder, newest first."""

    results: list[ListedResult]


class ResultOverview(msgspec.Struct, frozen=True, kw_only=True):
    """A result as a whole: what may be said of the two runs, and its pairs of step and rank.

    `claim` is what `msprobe diagnose --json` has under that key: an all-clear stands there alone,
    beside what was not compared. `notes` are what the build had to say.
    """

    result: str
    task: str
    comparison: bool
    threshold: float
    created: str
    problem: str
    benchmark: str | None
    claim: dict[str, Any]
    refusal: str | None
    findings: int
    first_finding: str | None
    notes: list[str]
    pairs: list[Pair]


class FindingList(msgspec.Struct, frozen=True):
    """Where the problem run begins to differ, the best suspect first."""

    result: str
    claim: str
    refusal: str | None
    findings: list[ListedFinding]


def list_results(folder: ResultFolder, _: OfFolder) -> ResultList:
    """The results below the folder."""
    return ResultList([_listed(file) for file in folder.results()])


def _listed(file: ResultFile) -> ListedResult:
    at = datetime.fromtimestamp(file.modified, timezone.utc).isoformat(timespec="seconds")
    try:
        problem, benchmark = runs_of(file.path)
    except DatabaseError as error:
        return ListedResult(file.shown, at, file.size, None, None, str(error))
    return ListedResult(file.shown, at, file.size, problem, benchmark, None)


def open_result(folder: ResultFolder, asked: OfResult) -> ResultOverview:
    """What a result holds and what may be said of its two runs."""
    file = folder.result(asked.result)
    results = folder.open(file)
    summary = results.summary()
    known = known_of(file, results)
    return ResultOverview(
        result=file.shown,
        task=summary.task,
        comparison=summary.comparison,
        threshold=results.threshold,
        created=summary.created,
        problem=summary.problem,
        benchmark=summary.benchmark,
        claim=claim_facts(known.claim),
        refusal=known.refusal,
        findings=len(known.findings),
        first_finding=known.findings[0].node if known.findings else None,
        notes=[sentence(reason) for reason in summary.summary],
        pairs=summary.pairs,
    )


def findings(folder: ResultFolder, asked: OfResult) -> FindingList:
    """The findings of a result."""
    file = folder.result(asked.result)
    known = known_of(file, folder.open(file))
    return FindingList(file.shown, told(known.claim), known.refusal, known.findings)


def diagnosis_of(file: ResultFile) -> Diagnosis:
    """The diagnosis that a result file holds; raises DatabaseError for one that holds none."""
    return diagnose(file.path)

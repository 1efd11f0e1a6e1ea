"""Which results there are, what one of them holds, and where it begins to differ."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import msgspec

from builder import Diagnosis, diagnose
from builder.claim import claim_facts
from builder.errors import DatabaseError
from builder.reasons import sentence
from builder.results.finding_facts import FindingFacts
from builder.results.opening import format_of, runs_of
from builder.results.records import Pair
from msprobe.answers.arguments import OfFolder, OfResult
from msprobe.answers.result_folder import ResultFolder
from tb_graph_ascend.logdirs import ResultFile
from tb_graph_ascend.view.answer import answer


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


class ListedFinding(FindingFacts, frozen=True, kw_only=True):
    """A finding as `msprobe diagnose --json` has it, with the id of its node in this file.

    Both runs may have a node of one name.
    """

    node_id: int


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
    known = None if format_of(file.path) == "msprobe" else diagnosis_of(file)
    named = [] if known is None else known.named
    # The page's answer says what may be said of a file of msprobe's own builder as well.
    claim = answer(results).claim if known is None else known.claim
    return ResultOverview(
        result=file.shown,
        task=summary.task,
        comparison=summary.comparison,
        threshold=results.threshold,
        created=summary.created,
        problem=summary.problem,
        benchmark=summary.benchmark,
        claim=claim_facts(claim),
        refusal=None if known is None else known.refusal,
        findings=len(named),
        first_finding=named[0].node if named else None,
        notes=[sentence(reason) for reason in summary.summary],
        pairs=summary.pairs,
    )


def findings(folder: ResultFolder, asked: OfResult) -> FindingList:
    """The findings of a result."""
    file = folder.result(asked.result)
    known = diagnosis_of(file)
    text = str(claim_facts(known.claim)["text"])
    listed = [
        ListedFinding(node_id=suspect.node_id, **msgspec.structs.asdict(facts))
        for suspect, facts in zip(known.named, known.facts(), strict=True)
    ]
    return FindingList(file.shown, text, known.refusal, listed)


def diagnosis_of(file: ResultFile) -> Diagnosis:
    """The diagnosis that a result file holds; raises DatabaseError for one that holds none."""
    return diagnose(file.path)

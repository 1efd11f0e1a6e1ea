"""Two results of the same runs, before and after a change: which findings go, stay and come."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from builder import Diagnosis
from builder.claim import told
from builder.errors import InputError
from builder.results.proof import Proof, prove
from msprobe.answers.arguments import OfTwoResults
from msprobe.answers.overview import diagnosis_of
from msprobe.answers.result_folder import ResultFolder
from tb_graph_ascend.logdirs import ResultFile


class ResultState(msgspec.Struct, frozen=True):
    """What one of the two results says of its runs; `divergent` nodes are above the threshold."""

    result: str
    claim: str
    text: str
    findings: int
    divergent: int
    worst: float | None


class FirstFinding(msgspec.Struct, frozen=True):
    """The first finding of the result before: of `behind` nodes that it explained, `agree` now.

    `remain` nodes of its step and rank still differ in the result after. It is `proven` where all
    behind it agrees.
    """

    node: str
    behind: int
    agree: int
    remain: int
    proven: bool


class ChangedFinding(msgspec.Struct, frozen=True):
    """A finding that is `gone`, `stays` or is `new`, known again by step, rank, node and kind."""

    change: str
    step: int
    rank: int
    node: str
    kind: str
    reason: str


class TwoResults(msgspec.Struct, frozen=True):
    """Both results and what became of each finding: what is new first, then what stays."""

    before: ResultState
    after: ResultState
    first_before: FirstFinding | None
    changes: list[ChangedFinding]


def compare_results(folder: ResultFolder, asked: OfTwoResults) -> TwoResults:
    """What a change did to the findings."""
    before, after = folder.result(asked.before), folder.result(asked.after)
    first, second = diagnosis_of(before), diagnosis_of(after)
    return TwoResults(
        _state(folder, before, first),
        _state(folder, after, second),
        _first(before, after) if first.named else None,
        list(_changes(first, second)),
    )


def _state(folder: ResultFolder, file: ResultFile, known: Diagnosis) -> ResultState:
    divergent = sum(pair.divergent for pair in folder.open(file).summary().pairs)
    claim = known.claim
    named = len(known.named)
    return ResultState(file.shown, claim.code, told(claim), named, divergent, known.worst)


def _first(before: ResultFile, after: ResultFile) -> FirstFinding | None:
    try:
        proof: Proof = prove(before.path, after.path, 1)
    except InputError:
        return None  # the result after has no such step and rank
    return FirstFinding(proof.node, proof.behind, proof.agree, proof.remain, proof.is_proven)


def _changes(first: Diagnosis, second: Diagnosis) -> Iterator[ChangedFinding]:
    before, after = _known(first), _known(second)
    for change, places, found in (
        ("new", after.keys() - before.keys(), after),
        ("stays", after.keys() & before.keys(), after),
        ("gone", before.keys() - after.keys(), before),
    ):
        # In the order of the findings, the best suspect first.
        for place in (each for each in found if each in places):
            yield ChangedFinding(change, *place, found[place])


def _known(diagnosis: Diagnosis) -> dict[tuple[int, int, str, str], str]:
    return {
        (one.step, one.rank, one.node, one.kind): one.reasons[0] if one.reasons else ""
        for one in diagnosis.named
    }

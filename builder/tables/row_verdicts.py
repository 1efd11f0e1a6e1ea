"""What is said of one row: its verdict, the messages behind it, score and reasons.

The documented rules speak first. What they let pass although the value diverges is a warning where
the call was fed divergent values. Where the divergence begins it is an error, whatever they say. A
call of one side alone is a warning, and an error where the diagnosis names it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from math import isnan

from builder.compare.comparison import Comparison
from builder.compare.modes import unlike
from builder.diagnosis.finding import BEGINS_BEFORE, Finding
from builder.dump.joined_tensors import JoinedTensor
from builder.judge.verdict import Judgement, Verdict
from builder.match.tree import TreeNode
from builder.match.value_pairing import SURPLUS
from builder.reasons import (
    AttributeDiffers,
    ChecksumDiffers,
    CosineDrops,
    FuzzyGuess,
    MeasureTaken,
    NonfiniteHere,
    NormErrorAppears,
    NormErrorGrows,
    ParameterUnmatched,
    Reason,
    Surplus,
    ThousandthDrops,
    UnlikeAttributes,
    ValueNote,
    sentence,
    sentences,
    value_of,
)
from builder.tables.cells import holds_zeros
from builder.tables.row_order import NULL, Call, Place
from builder.work.pair import PairResult

_NO_MESSAGES = "[]"
_NO_MATCH = "warning: No bench data matched."
_NO_PROBLEM = "warning: The NPU run has no such value."
_PARAMETER = "warning: The parameter of NPU does not match the bench."
_NO_MEASURE = "warning: NPU and Bench have no measure in common."
_LEAP = "warning: The norm relative error of output is 10 times that of input."
# The sentences that mindstudio-probe writes for the rules that both tools have.
_MESSAGES: dict[type[Reason], tuple[str, ...]] = {
    NonfiniteHere: ("error: There is nan/inf/-inf in the maximum or minimum value of NPU.",),
    NormErrorAppears: ("error: The NormRelativeErr of output is greater than 0.5.", _LEAP),
    NormErrorGrows: (_LEAP,),
    ThousandthDrops: (
        "error: The input/parameters of One Thousandth Err Ratio > 0.9 while the output < 0.6.",
    ),
    CosineDrops: (
        "warning: The input/parameters of Cosine > 0.9, and input/parameters - output > 0.1",
    ),
    ChecksumDiffers: ("error: The CRC-32 value of NPU differs from that of the bench.",),
    ParameterUnmatched: (_PARAMETER,),
}
_RULES_OVER_INPUTS = (NormErrorAppears, NormErrorGrows, ThousandthDrops, CosineDrops)
_ATTRIBUTES = {
    "dtype": "error: The dtype of NPU and Bench are inconsistent.",
    "shape": "error: The shape of NPU and Bench are inconsistent.",
    "requires_grad": "error: The Required_Grad of NPU and Bench are inconsistent",
    "value": "error: The scalar parameters of NPU and Bench are inconsistent.",
}
# What a reader should know beside the rules stands among the reasons: it is no verdict on a value.
# Of what one run alone has the row says itself which of them has it.
_NO_MESSAGE = (ValueNote, MeasureTaken, Surplus)
_SIDES = ("NPU", "Bench")
# Buffers that something else fills later hold whatever was there.
_UNINITIALISED = ("empty", "new_empty")


@dataclass(frozen=True, slots=True)
class RowVerdict:
    """The last cells of a row; score and introduced are None where nothing was compared."""

    result: Verdict
    messages: str
    score: float | None
    introduced: float | None
    reason: str


class RowVerdicts:
    """Says of each row of one compared pair what is wrong with it."""

    def __init__(self, result: PairResult, threshold: float) -> None:
        comparison = result.pair.comparison
        assert comparison is not None
        self._comparison: Comparison = comparison
        self._threshold = threshold
        self._score: list[float] = comparison.scores.stated.tolist()
        self._is_output: list[bool] = comparison.is_output.tolist()
        self._input_score: list[float] = comparison.nodes.inputs.tolist()
        self._reasons = _by_value(result.judgements)
        self._named = _named_calls(result.walked.findings)
        trees = comparison.matching.problem, comparison.matching.benchmark
        self._apart = unlike(trees[0].dump, trees[1].dump)
        self._joined = trees[0].dump.joined, trees[1].dump.joined
        self._multiplies = any(self._joined)  # asked once, not at every row
        self._fuzzy = {
            node: sentence(FuzzyGuess(comparison.matching.partner[node].name, score))
            for node, score in comparison.matching.guess.items()
        }

    def named(self, call: Call) -> list[Finding]:
        """The findings of the diagnosis that name a call."""
        per_node = [
            self._named.get(id(node), []) for node in (call.problem, call.benchmark) if node
        ]
        return [finding for findings in per_node for finding in findings]

    def verdict(self, call: Call, place: Place, findings: list[Finding]) -> RowVerdict:
        """What is said of a row; `findings` are those that its call begins with."""
        messages, reasons = self._spoken(call, place)
        if self._apart is not None and self._holds_tensors(place):
            reasons.append(sentence(self._apart))
            if isinstance(self._apart, UnlikeAttributes):
                messages.append(_NO_MEASURE)
        if self._multiplies:
            reasons += self._products(place)
        score = self._score_of(place)
        before = self._before(call.problem)
        messages = _worse(messages, self._own(call, place, score, before, bool(findings)))
        reasons += [text for finding in findings for text in sentences(finding.reasons)]
        if call.problem is not None and call.problem in self._fuzzy:
            reasons.append(self._fuzzy[call.problem])
        introduced = None
        if place.row is not None and score is not None and self._is_output[place.row]:
            begins = any(finding.kind in BEGINS_BEFORE for finding in findings)
            introduced = score if begins else max(0.0, score - before)
        return RowVerdict(
            result=_worst(messages),
            messages=json.dumps(messages) if messages else _NO_MESSAGES,
            score=score,
            introduced=introduced,
            reason="; ".join(reasons),
        )

    def _spoken(self, call: Call, place: Place) -> tuple[list[str], list[str]]:
        if call.problem is None or place.row is None:
            return [], []
        said = self._reasons.get((call.problem.exec_order, place.key))
        if said is None:
            return [], []
        attributes = self._comparison.differs.get(place.row, ())
        shaped = place.problem >= 0 and self._comparison.records[0][place.row].type == "torch.Size"
        messages = []
        for level, reason in said:
            if isinstance(reason, AttributeDiffers):
                if reason.attribute in attributes:
                    messages.append(_ATTRIBUTES["shape" if shaped else reason.attribute])
            elif self._is_beside_the_point(reason, call.problem, place.row):
                continue
            elif not isinstance(reason, _NO_MESSAGE):
                own = (f"{level}: {sentence(reason)}",)
                messages += _MESSAGES.get(type(reason), own)
        return list(dict.fromkeys(messages)), [sentence(reason) for _, reason in said]

    def _holds_tensors(self, place: Place) -> bool:
        if place.row is None or SURPLUS in (place.problem, place.benchmark):
            return False
        return any(side[place.row].dtype is not None for side in self._comparison.records)

    def _products(self, place: Place) -> list[str]:
        """What the tensors of a row were multiplied with."""
        if place.row is None:
            return []
        said = []
        for side, record in zip(_SIDES, (r[place.row] for r in self._comparison.records)):
            tensor = self._joined[side == _SIDES[1]].get(record.data_name or "")
            if isinstance(tensor, JoinedTensor) and (tensor.left or tensor.right):
                factors = (tensor.left, side, tensor.right)
                said.append(f"compared as {' · '.join(factor for factor in factors if factor)}")
        return said

    def _is_beside_the_point(self, reason: Reason, node: TreeNode, row: int) -> bool:
        # A saved value has no inputs to be set against, and zeros have no cosine.
        ours, theirs = self._comparison.records
        one_is_zero = holds_zeros(ours[row]) != holds_zeros(theirs[row])
        no_cosine = isinstance(reason, CosineDrops) and one_is_zero
        return no_cosine or (node.entry is None and isinstance(reason, _RULES_OVER_INPUTS))

    def _own(
        self, call: Call, place: Place, score: float | None, before: float, is_named: bool
    ) -> list[str]:
        if {place.problem, place.benchmark} == {NULL, SURPLUS} and None not in (
            call.problem,
            call.benchmark,
        ):
            return []  # one tool writes null where another writes nothing: neither is a value
        if SURPLUS in (place.problem, place.benchmark):
            return [self._one_sided(call, place, is_named)]
        if NULL in (place.problem, place.benchmark):
            differ = place.problem != place.benchmark
            return [_ATTRIBUTES["value"]] if differ else []
        if score is None or score <= self._threshold or _is_uninitialised(call.problem):
            return []
        explained = place.row in self._comparison.scores.let_pass
        begins = is_named or (before <= self._threshold and not explained)
        if begins and place.row is not None and self._is_output[place.row]:
            return [f"error: The value diverges here (score {score:.2f})."]
        return [f"warning: The value diverges (score {score:.2f}) before this call."]

    def _one_sided(self, call: Call, place: Place, is_named: bool) -> str:
        if self._comparison.mode == "md5" and place.problem != SURPLUS:
            text = _PARAMETER
        else:
            text = _NO_MATCH if place.benchmark == SURPLUS else _NO_PROBLEM
        alone = call.problem is None or call.benchmark is None
        return text.replace("warning:", "error:", 1) if is_named and alone else text

    def _score_of(self, place: Place) -> float | None:
        if place.row is None or isnan(self._score[place.row]):
            return None
        return self._score[place.row]

    def _before(self, node: TreeNode | None) -> float:
        if node is None:
            return 0.0
        score = self._input_score[node.exec_order]
        return 0.0 if isnan(score) else score


def _by_value(
    judgements: dict[int, Judgement],
) -> dict[tuple[int, str], list[tuple[Verdict, Reason]]]:
    by_value: defaultdict[tuple[int, str], list[tuple[Verdict, Reason]]] = defaultdict(list)
    for order, judgement in judgements.items():
        for reason in judgement.reasons:
            value = value_of(reason)
            if value is not None:
                by_value[order, value].append((judgement.verdict, reason))
    return by_value


def _named_calls(findings: list[Finding]) -> dict[int, list[Finding]]:
    named: dict[int, list[Finding]] = defaultdict(list)
    for finding in findings:
        named[id(finding.node)].append(finding)
    return named


def _worse(spoken: list[str], own: list[str]) -> list[str]:
    """What the documented rules say, and with it what we say where that is worse."""
    if not spoken:
        return own
    return [*spoken, *own] if _worst(spoken) == "warning" and _worst(own) == "error" else spoken


def _worst(messages: list[str]) -> Verdict:
    if any(message.startswith("error") for message in messages):
        return "error"
    return "warning" if messages else "pass"


def _is_uninitialised(node: TreeNode | None) -> bool:
    return (
        node is not None
        and node.entry is not None
        and node.entry.type_name.startswith(_UNINITIALISED)
    )

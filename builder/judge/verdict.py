"""The documented msprobe rules: pass, warning or error per node, each with its reason.

Kept beside the score because users know them; the worst rule that applies wins.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from builder.compare.comparison import Comparison
from builder.compare.statistics import Floats
from builder.compare.told_apart import told_by_elements
from builder.dump.values import Record
from builder.match.tree import Tree
from builder.match.value_pairing import SURPLUS
from builder.reasons import (
    AttributeDiffers,
    ChecksumDiffers,
    CosineDrops,
    Fused,
    Incomparable,
    NonfiniteHere,
    NormErrorAppears,
    NormErrorGrows,
    ParameterUnmatched,
    Reason,
    Side,
    Surplus,
    ThousandthDrops,
    Unread,
    Unreadable,
    Unrecorded,
    Unwritten,
)
from msprobe_core.format import canonical_dtype, machine_epsilon

Verdict = Literal["pass", "warning", "error"]

_NO_INPUT_RULES = frozenset(
    ("_reduce_scatter_base", "_all_gather_base", "all_to_all_single", "batch_isend_irecv")
)
_NO_RULES = frozenset(
    (
        "empty",
        "empty_like",
        "numpy",
        "to",
        "__setitem__",
        "empty_with_format",
        "new_empty_strided",
        "new_empty",
        "empty_strided",
    )
)
# What one run alone has was compared with nothing: no error, and no pass.
_ONE_SIDED = (ParameterUnmatched, Surplus, Unrecorded)


@dataclass(slots=True)
class Judgement:
    """The verdict of one node and the facts behind it."""

    verdict: Verdict = "pass"
    reasons: list[Reason] = field(default_factory=list)

    def add(self, verdict: Verdict, reason: Reason) -> None:
        """Note a rule that applies; an error is never softened to a warning."""
        self.verdict = "error" if "error" in (verdict, self.verdict) else "warning"
        self.reasons.append(reason)

    def note(self, reason: Reason) -> None:
        """Note a fact that no documented rule is about; the verdict stays."""
        self.reasons.append(reason)


def judge(comparison: Comparison) -> dict[int, Judgement]:
    """Apply all rules; returns a judgement for every compared node by its execution order."""
    nodes = comparison.pairs.node.tolist()
    judged = {node: Judgement() for node in dict.fromkeys(nodes)}
    names = _names(comparison.matching.problem, judged)
    exempt = {node for node, name in names.items() if name in _NO_RULES}
    for row, reason in _row_reasons(comparison):
        if nodes[row] not in exempt:
            verdict: Verdict = "warning" if isinstance(reason, _ONE_SIDED) else "error"
            judged[nodes[row]].add(verdict, reason)
    without = {node for node, name in names.items() if name in _NO_INPUT_RULES}
    _apply_input_rules(comparison, judged, exempt | without)
    for row, reason in _notes(comparison):
        judged[nodes[row]].note(reason)
    return judged


def _notes(comparison: Comparison) -> Iterable[tuple[int, Reason]]:
    """What a reader should know of a value beside the rules: notes, no rule."""
    for row in np.flatnonzero(comparison.distances.unseen).tolist():
        said = told_by_elements(comparison, row)
        if said is not None:
            yield row, said
    for row in comparison.blank.unwritten:
        yield row, Unwritten(comparison.keys[row])
    for row in comparison.blank.fused:
        yield row, Fused(comparison.keys[row])
    for row in comparison.blank.unread:
        yield row, Unread(comparison.keys[row])
    for row in comparison.blank.incomparable:
        yield row, Incomparable(comparison.keys[row])


def _names(problem: Tree, nodes: Iterable[int]) -> dict[int, str]:
    in_order = problem.in_order
    entries = ((node, in_order[node].entry) for node in nodes)
    return {node: entry.type_name for node, entry in entries if entry is not None}


def _row_reasons(comparison: Comparison) -> list[tuple[int, Reason]]:
    """The rules that look at one value pair alone."""
    reasons = _nonfinite(comparison)
    for row, attributes in comparison.differs.items():
        reasons += [(row, _difference(comparison, row, attribute)) for attribute in attributes]
    if comparison.mode == "md5":
        reasons += _checksums(comparison)
    reasons += _one_sided(comparison)
    for row, text in comparison.elements.unreadable.items():
        reasons.append((row, Unreadable(comparison.keys[row], text)))
    return reasons


def _difference(comparison: Comparison, row: int, attribute: str) -> AttributeDiffers:
    ours, theirs = (attribute_text(side[row], attribute) for side in comparison.records)
    return AttributeDiffers(comparison.keys[row], attribute, ours, theirs)


def _checksums(comparison: Comparison) -> list[tuple[int, Reason]]:
    reasons: list[tuple[int, Reason]] = []
    for row, (key, p, b) in enumerate(zip(comparison.keys, *comparison.records, strict=True)):
        if p.md5 is not None and b.md5 is not None and p.md5 != b.md5:
            reasons.append((row, ChecksumDiffers(key)))
    return reasons


def _one_sided(comparison: Comparison) -> list[tuple[int, Reason]]:
    """Values, or all numbers of a value, that one run alone has."""
    reasons: list[tuple[int, Reason]] = []
    incomparable = set(comparison.blank.incomparable)
    for row in comparison.surplus_rows():
        if row in incomparable:
            continue
        key = comparison.keys[row]
        is_ours = comparison.pairs.benchmark[row] == SURPLUS
        if comparison.mode == "md5" and key.startswith("parameters."):
            reasons.append((row, ParameterUnmatched(key)))
        else:
            reasons.append((row, Surplus(key, "problem" if is_ours else "benchmark")))
    ours = comparison.statistics[0].recorded
    for row in comparison.blank.unrecorded:
        side: Side = "problem" if ours[:, row].any() else "benchmark"
        reasons.append((row, Unrecorded(comparison.keys[row], side)))
    return reasons


def _nonfinite(comparison: Comparison) -> list[tuple[int, Reason]]:
    ours, theirs = comparison.statistics
    reasons: list[tuple[int, Reason]] = []
    for index, what in ((0, "Max"), (1, "Min")):
        bad = ours.recorded[index] & ~np.isfinite(ours.table[index])
        fine = theirs.recorded[index] & np.isfinite(theirs.table[index])
        for row in np.flatnonzero(bad & fine).tolist():
            state = _state(float(ours.table[index, row]))
            reasons.append((row, NonfiniteHere(comparison.keys[row], what, state)))
    return reasons


def _state(number: float) -> str:
    if np.isnan(number):
        return "NaN"
    return "Inf" if number > 0 else "-Inf"


def _apply_input_rules(
    comparison: Comparison, judged: dict[int, Judgement], exempt: set[int]
) -> None:
    if comparison.mode == "statistics":
        _apply_norm_rules(comparison, judged, exempt)
    elif comparison.mode == "tensor":
        _apply_tensor_rules(comparison, judged, exempt)


def _apply_norm_rules(
    comparison: Comparison, judged: dict[int, Judgement], exempt: set[int]
) -> None:
    error = comparison.distances.norm_error
    worst_in = _worst_input(comparison, error)
    # An input without any error still carries rounding: ten times nothing is no warning.
    rounding = max(machine_epsilon(dtype) or 0.0 for dtype in comparison.setting.precision)
    for row in np.flatnonzero(_diverging_outputs(comparison) & (error > 10 * rounding)).tolist():
        node = int(comparison.pairs.node[row])
        if node in exempt:
            continue
        e, before = float(error[row]), float(worst_in[node])
        key = comparison.keys[row]
        if before < 0.1 and e > 0.5:
            judged[node].add("error", NormErrorAppears(key, e))
        elif e > 10 * max(before, rounding):
            judged[node].add("warning", NormErrorGrows(key, e))


def _diverging_outputs(comparison: Comparison) -> NDArray[np.bool_]:
    """The outputs that rounding does not explain: the rules over inputs are about no others.

    Where terms cancel (the gradient of a bias before a norm is a sum of zero) what is left is
    rounding, and its relative error is any number in two sound runs.
    """
    return np.asarray(comparison.is_output & (comparison.scores.score > 0))


def _worst_input(comparison: Comparison, error: Floats) -> Floats:
    worst = np.zeros(len(comparison.matching.problem.in_order))
    usable = ~comparison.is_output & ~np.isnan(error)
    np.maximum.at(worst, comparison.pairs.node[usable], error[usable])
    return worst


def _apply_tensor_rules(
    comparison: Comparison, judged: dict[int, Judgement], exempt: set[int]
) -> None:
    thousandth: dict[int, float] = {}
    cosine: dict[int, float] = {}
    for row, measures in comparison.elements.tensors.items():
        node = int(comparison.pairs.node[row])
        if not comparison.is_output[row]:
            thousandth[node] = min(thousandth.get(node, 1.0), measures.one_thousandth)
            cosine[node] = min(cosine.get(node, 1.0), measures.cosine)
    diverges = _diverging_outputs(comparison)
    for row, measures in comparison.elements.tensors.items():
        node = int(comparison.pairs.node[row])
        if not diverges[row] or node in exempt:
            continue
        key = comparison.keys[row]
        if thousandth.get(node, 1.0) > 0.9 and measures.one_thousandth < 0.6:
            judged[node].add("error", ThousandthDrops(key, measures.one_thousandth))
        before = cosine.get(node, 1.0)
        if before > 0.9 and before - measures.cosine > 0.1:
            judged[node].add("warning", CosineDrops(key, measures.cosine))


def attribute_text(record: Record, attribute: str) -> str:
    """What a value shows where type, dtype, shape, requires_grad or its value differs."""
    if attribute == "dtype":
        return canonical_dtype(record.dtype) if record.dtype else record.type
    if attribute == "value":
        if record.dtype is not None:
            return f"a {canonical_dtype(record.dtype)} tensor"
        return repr(record.group_ranks if record.group_ranks is not None else record.value)
    if attribute == "shape":
        return str(list(record.shape or ()))
    return str(getattr(record, attribute))

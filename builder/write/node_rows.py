"""Turns the nodes of one side into database rows, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import numpy as np
from numpy.typing import NDArray

from builder.compare.comparison import Comparison, NodeScores
from builder.judge.acc_check import SCORES
from builder.match.nodes import Matching
from builder.match.tree import TreeNode
from builder.reasons import FuzzyGuess, Reason, encode
from builder.work.pair import ComparedPair, PairResult
from builder.write.placement import Placed, last_below, worst_below

Full = dict[str, Sequence[str | float]]
Sparse = dict[str, Sequence[str | bytes | int | None]]


def node_columns(side: Placed, other: Placed | None, pair: ComparedPair) -> tuple[Full, Sparse]:
    """One side's nodes in pre-order as full and sparse columns of the table `node`.

    These are all columns that a benchmark's node has.
    """
    full, sparse = _place_columns(side)
    sparse["match"], sparse["match_reason"] = _matches(side, other, pair)
    sparse["overflow"] = _overflow(side, pair)
    return full, sparse


def judged_columns(
    problem: Placed, benchmark: Placed, comparison: Comparison, result: PairResult, threshold: float
) -> tuple[Full, Sparse]:
    """What the problem's nodes have beyond that: scores, verdicts, where a difference began."""
    depth = comparison.setting.depth.astype(np.int64)
    sparse: Sparse = {"block": depth[_order(problem)].tolist()}
    sparse["verdict"], sparse["reasons"] = _judged(problem, comparison, result)
    sparse["source"] = _sources(problem, benchmark, result)
    return _score_columns(problem, comparison.nodes, result, threshold), sparse


def checked_columns(side: Placed, result: PairResult, threshold: float) -> tuple[Full, Sparse]:
    """What the nodes of a single graph have whose calls were checked alone."""
    score = np.full(len(side.listed), np.nan)
    verdicts: list[str | None] = [None] * len(side.listed)
    reasons: list[str | None] = [None] * len(side.listed)
    for order, judgement in result.judgements.items():
        index = side.tree.in_order[order].index
        score[index] = SCORES[judgement.verdict]
        verdicts[index], reasons[index] = judgement.verdict, encode(judgement.reasons)
    worst, divergent = worst_below(side.listed, score, threshold)
    full: Full = {"score": score.tolist(), "worst_below": worst, "divergent_below": divergent}
    return full, {"verdict": verdicts, "reasons": reasons}


def _place_columns(side: Placed) -> tuple[Full, Sparse]:
    """What a node has without any comparison."""
    listed, base = side.listed, side.node_base
    starts = [node.values[0] for node in listed]
    full: Full = {
        "id": range(base, base + len(listed)),
        "graph": [side.graph] * len(listed),
        "position": _positions(listed),
        "exec_order": [node.exec_order for node in listed],
        "depth": [node.depth for node in listed],
        "last": [base + index for index in last_below(listed)],
        "children": [len(node.children) for node in listed],
        "name": [node.name for node in listed],
        "label": [node.label for node in listed],
        "kind": [node.kind for node in listed],
        "recomputed": [int(node.recomputed) for node in listed],
        "micro_step": [node.micro_step for node in listed],
        "first_value": [side.value_base + start for start in starts],
        "value_count": [node.values[1] - node.values[0] for node in listed],
    }
    stack_base = side.stack_base
    return full, {
        "parent": [None if n.parent is None else base + n.parent.index for n in listed],
        "direction": [node.direction for node in listed],
        "stack": [None if node.stack is None else stack_base + node.stack for node in listed],
    }


def _score_columns(side: Placed, scores: NodeScores, result: PairResult, threshold: float) -> Full:
    """The scores of the problem's nodes; NaN where there is none.

    The nodes at which something begins introduce what their findings say.
    """
    order = _order(side)
    shown = np.array([node.kind != "collection" for node in side.listed], dtype=bool)
    score = np.where(shown, scores.stated[order], np.nan)
    before = np.where(shown, scores.inputs[order], np.nan)
    introduced = np.maximum(0.0, score - np.nan_to_num(before))
    for finding in result.walked.findings:
        at = finding.node.index
        if finding.side == "problem" and finding.introduced is not None and not isnan(score[at]):
            introduced[at] = min(finding.introduced, score[at])
    worst, divergent = worst_below(side.listed, score, threshold)
    return {
        "score": score.tolist(),
        "input_score": before.tolist(),
        "introduced": introduced.tolist(),
        "worst_below": worst,
        "divergent_below": divergent,
    }


def _order(side: Placed) -> NDArray[np.int64]:
    # A collection has no place in the execution order of its own; that of its last call stands in.
    return np.array([node.exec_order for node in side.listed], dtype=np.int64)


def _positions(listed: list[TreeNode]) -> list[int]:
    positions = [0] * len(listed)
    for node in listed:
        for position, child in enumerate(node.children):
            positions[child.index] = position
    return positions


def _matches(
    side: Placed, other: Placed | None, pair: ComparedPair
) -> tuple[list[int | None], list[str | None]]:
    if pair.comparison is None or other is None:
        return [None] * len(side.listed), [None] * len(side.listed)
    matching = pair.comparison.matching
    match: list[int | None] = []
    reason: list[str | None] = []
    for node in side.listed:
        partner = matching.partner.get(node)
        known = matching.reason.get(node)
        if node.kind == "collection":
            partner = _collection_partner(node, matching.partner)
            known = "aligned" if partner is not None else None
        match.append(other.id_of(partner) if partner is not None else None)
        reason.append(known)
    return match, reason


def _collection_partner(node: TreeNode, partners: dict[TreeNode, TreeNode]) -> TreeNode | None:
    for child in node.children:
        partner = partners.get(child)
        if partner is not None and partner.parent is not None:
            return partner.parent if partner.parent.kind == "collection" else None
    return None


def _judged(
    side: Placed, comparison: Comparison, result: PairResult
) -> tuple[list[str | None], list[str | None]]:
    verdicts: list[str | None] = [None] * len(side.listed)
    reasons: list[str | None] = [None] * len(side.listed)
    in_order = side.tree.in_order
    for order, judgement in result.judgements.items():
        index = in_order[order].index
        verdicts[index] = judgement.verdict
        if judgement.reasons:
            reasons[index] = encode(judgement.reasons)
    for node, facts in _guesses(comparison.matching).items():
        judged = result.judgements.get(node.exec_order)
        reasons[node.index] = encode([facts, *(judged.reasons if judged is not None else [])])
    return verdicts, reasons


def _guesses(matching: Matching) -> dict[TreeNode, Reason]:
    return {
        node: FuzzyGuess(matching.partner[node].name, score)
        for node, score in matching.guess.items()
    }


def _overflow(side: Placed, pair: ComparedPair) -> list[str | None]:
    levels = pair.overflow[0 if side.tree is pair.problem else 1]
    if not levels:
        return [None] * len(side.listed)
    return [None if n.kind == "collection" else levels[n.exec_order] for n in side.listed]


def _sources(problem: Placed, benchmark: Placed, result: PairResult) -> list[int | None]:
    sources: list[int | None] = [None] * len(problem.listed)
    for finding in result.walked.findings:
        home = problem if finding.side == "problem" else benchmark
        source = home.id_of(finding.node)
        for node in finding.carriers:
            sources[node.index] = source
        if home is problem:
            sources[finding.node.index] = source
    return sources

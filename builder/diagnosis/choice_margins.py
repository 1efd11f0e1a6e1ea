"""By how much a call chose: whether the numbers that it ranks lie nearer than the runs are apart.

Where they do, a difference of rounding, or of whatever began before, becomes one of other elements:
the call amplifies it and is no cause. It takes the tensors themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builder.compare.comparison import Comparison
from builder.compare.statistics import Floats
from builder.diagnosis.finding import Finding
from builder.dump.tensor_files import TensorFileError, open_tensor
from builder.dump.values import Record
from builder.match.nodes import Matching
from builder.match.sequences.aligned_values import RunOfTokens, has_sequence_first
from builder.match.tree import Tree, TreeNode, subtree
from builder.reasons import AmplifiedAt
from msprobe_core.format import is_integer_dtype

# Calls that put out which elements are the first by size. Sorting puts out all of them.
_RANKING = frozenset(("topk", "argmax", "argmin", "max", "min"))
_MOST_ELEMENTS = 1 << 22  # of the tensors of one call that are read for this: a router's are few
_MOST_CALLS = 512
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ChoiceMargin:
    """A call of the problem that chose otherwise in `rows` of `of` rows.

    Of the row that is the clearest case, `margin` is how much larger the benchmark's choice is than
    the problem's by the benchmark's numbers, and `apart` by how much the problem's numbers moved
    against that. `within` is the innermost module around the call that has a partner.
    """

    node: TreeNode
    within: TreeNode | None
    margin: float
    apart: float
    rows: int
    of: int

    @property
    def is_inside(self) -> bool:
        """Whether the difference of the numbers explains the choice: each run chose its largest."""
        return self.margin <= self.apart


def choice_margins(comparison: Comparison) -> list[ChoiceMargin]:
    """The calls that chose otherwise of numbers whose tensors both runs have, in their order.

    Calls of two programs pair by their order in modules that correspond.
    """
    matching = comparison.matching
    if matching.token_errors is not None:
        return list(token_margins(matching, matching.token_errors.runs))
    if comparison.mode != "tensor":
        return []
    found = []
    for ours, theirs, within in list(_paired_calls(matching))[:_MOST_CALLS]:
        one, other = (_Choice.of(*side) for side in ((ours, matching.problem), theirs))
        told = None if one is None or other is None else _apart(one, other)
        if told is not None:
            found.append(ChoiceMargin(ours, within, *told))
    return found


def say_amplified(findings: Sequence[Finding], margins: Sequence[ChoiceMargin]) -> None:
    """Say of each finding at which call behind it other elements are chosen because of it."""
    for finding in findings:
        behind = (
            each
            for each in margins
            if each.is_inside and each.node.exec_order > finding.order and finding.side == "problem"
        )
        first = next(behind, None)
        if first is not None:
            told = (first.margin, first.apart, first.rows, first.of)
            finding.reasons.append(AmplifiedAt(first.node.name, *told))


def _paired_calls(
    matching: Matching,
) -> Iterator[tuple[TreeNode, tuple[TreeNode, Tree], TreeNode | None]]:
    """Ranking calls of the problem, their partners, and the innermost module that pairs them."""
    ours, theirs = (
        _ranking_calls(tree, matching) for tree in (matching.problem, matching.benchmark)
    )
    for within, calls in ours.items():
        partner = None if within is None else matching.partner.get(within)
        others = theirs.get(partner, [])
        if [node.call for node in calls] == [node.call for node in others]:
            for one, other in zip(calls, others):
                yield one, (other, matching.benchmark), within


def _ranking_calls(tree: Tree, matching: Matching) -> dict[TreeNode | None, list[TreeNode]]:
    found: dict[TreeNode | None, list[TreeNode]] = defaultdict(list)
    for node in tree.in_order:
        if node.kind == "api" and node.direction == "forward" and node.call in _RANKING:
            found[_paired_module(node, matching)].append(node)
    return found


def _paired_module(node: TreeNode, matching: Matching) -> TreeNode | None:
    around = node.parent
    while around is not None and (around.kind != "module" or around not in matching.partner):
        around = around.parent
    return around


# --- aligned tokens -------------------------------------------------------------------------------


def token_margins(matching: Matching, runs: Sequence[RunOfTokens]) -> Iterator[ChoiceMargin]:
    """The same of runs whose tokens are aligned: a row is a token, of all forward passes."""
    paths = {
        node.entry.path: matching.partner[node].entry
        for node in matching.problem.in_order
        if node.kind == "module" and node.direction == "forward" and node in matching.partner
        if node.entry is not None
    }
    others = {path: entry.path for path, entry in paths.items() if entry is not None}
    for path, other in others.items():
        ours, theirs = (
            _calls_of_passes(run, own, known)
            for run, own, known in zip(runs, (path, other), (set(others), set(others.values())))
        )
        if ours is None or theirs is None:
            continue
        for mine, his in zip(ours, theirs):
            within = runs[0].passes[0].calls[path]
            one = _choice_of_tokens(runs[0], path, mine)
            two = _choice_of_tokens(runs[1], other, his)
            told = None if one is None or two is None else _apart(one, two)
            if told is not None:
                yield ChoiceMargin(mine[0], within, *told)


def _calls_of_passes(
    run: RunOfTokens, path: str, paired: Collection[str]
) -> list[tuple[TreeNode, ...]] | None:
    """The ranking calls of a module by their order, over the passes; None where these differ."""
    found = []
    for each in run.passes:
        call = each.calls.get(path)
        if call is None:
            return None
        found.append(
            [
                node
                for node in subtree(call)
                if node.kind == "api" and node.call in _RANKING
                if _innermost(node, paired) is call
            ]
        )
    if len({tuple(node.call for node in calls) for calls in found}) != 1:
        return None
    return list(zip(*found))


def _innermost(node: TreeNode, paired: Collection[str]) -> TreeNode | None:
    around = node.parent
    while around is not None and (around.entry is None or around.entry.path not in paired):
        around = around.parent
    return around


def _choice_of_tokens(run: RunOfTokens, path: str, calls: Sequence[TreeNode]) -> _Choice | None:
    """What a call ranked and chose for each aligned token, from the passes that computed them."""
    ranked: list[Floats] = []
    chosen: list[Integers] = []
    order: list[Integers] = []
    for number, (each, call) in enumerate(zip(run.passes, calls)):
        mine = np.flatnonzero(run.rows[:, 0] == number)
        choice = _Choice.of(call, each.tree)
        if choice is None or len(choice.ranked) != each.rows:
            return None
        rows = run.rows[mine, 1]
        shape = (each.value(path, "input.0") or Record("")).shape or ()
        if has_sequence_first(shape, each, path):
            batch, length = each.batch[-2:]
            rows = (rows % length) * batch + rows // length
        ranked.append(choice.ranked[rows])
        chosen.append(choice.chosen[rows])
        order.append(mine)
    places = np.argsort(np.concatenate(order))
    return _Choice(np.concatenate(ranked)[places], np.concatenate(chosen)[places])


# --- one choice -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Choice:
    """What a call ranked, rows × elements, and which of each row it chose, rows × chosen."""

    ranked: Floats
    chosen: Integers

    @classmethod
    def of(cls, node: TreeNode, tree: Tree) -> _Choice | None:
        """The choice of a call, None where its tensors are not there or too large."""
        values = tree.dump.values
        records = {values.keys[i]: values.records[i] for i in range(*node.values)}
        read = next((r for k, r in records.items() if _is_ranked(k, r)), None)
        made = next((r for k, r in records.items() if _is_chosen(k, r)), None)
        if read is None or made is None:
            return None
        dimension = _ranked_dimension(read.shape or (), made.shape or ())
        numbers, picks = (_numbers(record, tree) for record in (read, made))
        if dimension is None or numbers is None or picks is None:
            return None
        if len(read.shape or ()) != len(made.shape or ()):
            picks = np.expand_dims(picks, dimension)
        rows = [np.moveaxis(each, dimension, -1) for each in (numbers, picks)]
        ranked, chosen = (each.reshape(-1, each.shape[-1]) for each in rows)
        return cls(ranked.astype(np.float64), chosen.astype(np.int64))


def _is_ranked(key: str, record: Record) -> bool:
    return key.startswith("input.") and record.dtype is not None and bool(record.shape)


def _is_chosen(key: str, record: Record) -> bool:
    return key.startswith("output.") and is_integer_dtype(record.dtype or "float32")


def _ranked_dimension(read: tuple[int, ...], made: tuple[int, ...]) -> int | None:
    """Along which dimension was chosen; None where all was, or no shape says it."""
    if len(made) == len(read):
        unlike = [at for at, (one, other) in enumerate(zip(read, made)) if one != other]
        return unlike[0] if len(unlike) == 1 else None
    if len(made) != len(read) - 1:
        return None
    fitting = [at for at in range(len(read)) if read[:at] + read[at + 1 :] == made]
    return fitting[-1] if fitting else None


def _numbers(record: Record, tree: Tree) -> NDArray[Any] | None:
    shape = record.shape or ()
    if record.data_name is None or prod(shape) > _MOST_ELEMENTS:
        return None
    file = tree.dump.tensor_finder()(record.data_name)
    if not isinstance(file, str):
        return None  # joined from ranks
    try:
        with open_tensor(file) as data:
            return data.block(0, data.size).reshape(shape)
    except (TensorFileError, ValueError):
        return None  # said where values are compared


def _apart(ours: _Choice, theirs: _Choice) -> tuple[float, float, int, int] | None:
    """Margin, how far apart, rows that differ, and all; None where both chose the same."""
    if ours.ranked.shape != theirs.ranked.shape or ours.chosen.shape != theirs.chosen.shape:
        return None
    comparable = _in_one_unit(ours, theirs)
    if comparable is None:
        return None
    ours, theirs = comparable
    told = [
        swapped
        for row in range(len(ours.ranked))
        if (swapped := _swapped(ours, theirs, row)) is not None
    ]
    if not told:
        return None
    # A choice that the numbers do not explain says more than any that they do.
    margin, apart = max(told, key=lambda each: (each[0] - each[1], each[0]))
    return margin, apart, len(told), len(ours.ranked)


def _in_one_unit(ours: _Choice, theirs: _Choice) -> tuple[_Choice, _Choice] | None:
    """Both choices by numbers that agree but for a difference: as ranked, or one side's as shares.

    One program may rank scores and another their softmax or sigmoid, which leave the order as it
    is. None where no such pair agrees: then they rank unlike things, or in unlike rows.
    """
    for left, right in _UNITS:
        one, other = left(ours.ranked), right(theirs.ranked)
        spread = float(np.std(other))
        if float(np.median(np.abs(one - other))) <= _ALIKE * spread:
            return replace(ours, ranked=one), replace(theirs, ranked=other)
    return None


def _as_ranked(numbers: Floats) -> Floats:
    return numbers


def _softmax(numbers: Floats) -> Floats:
    raised = np.exp(numbers - numbers.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def _sigmoid(numbers: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(numbers, -60.0, 60.0))))


_UNITS = (
    (_as_ranked, _as_ranked),
    (_softmax, _as_ranked),
    (_as_ranked, _softmax),
    (_sigmoid, _as_ranked),
    (_as_ranked, _sigmoid),
)
# Half of the numbers of two runs are nearer than this share of their spread where both rank the
# same: a router behind a fault of ten percent still is.
_ALIKE = 0.2


def _swapped(ours: _Choice, theirs: _Choice, row: int) -> tuple[float, float] | None:
    """How much larger the benchmark's choice is than the problem's, and how far that moved."""
    mine, other = set(ours.chosen[row].tolist()), set(theirs.chosen[row].tolist())
    if mine == other:
        return None
    sign = _direction(theirs, row)
    one, two = ours.ranked[row] * sign, theirs.ranked[row] * sign
    lost = max(other - mine, key=lambda at: two[at])
    gained = min(mine - other, key=lambda at: two[at])
    margin = float(two[lost] - two[gained])
    return margin, margin + float(one[gained] - one[lost])


def _direction(choice: _Choice, row: int) -> float:
    """1 where the largest are chosen, −1 where the smallest are."""
    chosen = choice.ranked[row][choice.chosen[row]]
    return 1.0 if chosen.mean() >= choice.ranked[row].mean() else -1.0

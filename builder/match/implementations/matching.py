"""Matches two programs of one model at the edges of the modules that correspond.

What either side calls inside a module is how it computes it, and is held against nothing. Values at
an edge pair by size: a port may keep them in another shape, or in another order of axes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from msgspec import UNSET, UnsetType

from builder.dump.stack_frames import model_frame
from builder.match.implementations.met_values import MetValues
from builder.match.implementations.module_tensors import (
    Calls,
    FirstTensors,
    edge_values,
    size_of,
    tensors_of,
)
from builder.match.implementations.modules import pair_modules, unpaired_in
from builder.match.implementations.moved_elements import made_alike
from builder.match.implementations.parameters import (
    Parameter,
    call_path,
    has_modules,
    parameters_of,
)
from builder.match.implementations.uniform_weights import pair_constants
from builder.match.implementations.weight_pairs import Side, WeightPair, pair_weights, rest_of
from builder.match.nodes import Matching, MatchRules
from builder.match.shared_calls import ENOUGH_SHARED
from builder.match.tree import Tree, TreeNode
from builder.match.value_pairing import ValuePairs
from builder.reasons import TwoImplementations

# Of the run with fewer weights as many must be found in the other for the two to be one model. One
# number throughout, as of norms that were folded into the next weight, is found in any model.
_FOUND = 0.5
# Of the calls of two copies of one script so many are the same, behind most faults of it, and of
# their weights so many stand in the same calls.
_SAME_CALLS = 0.9
# A copy that makes more calls, as in each turn of a loop, makes no more than twice as many.
_MOST_CALLS = 2
# Distinct values that calls put out. What reads a weight that is found is one; two more are none
# that another model comes by.
_ENOUGH_MET = 3


@dataclass(frozen=True, slots=True)
class Correspondence:
    """Two programs of one model: their nodes matched, and which weights are which."""

    matching: Matching
    weights: Sequence[WeightPair]
    recorded: int  # weights of the run that has fewer of them, each once

    def said(self) -> TwoImplementations:
        """What was found, in numbers."""
        by_value = [pair for pair in self.weights if pair.relation != "differs"]
        found = min(_weights(by_value, 0), _weights(by_value, 1))
        fused = sum(
            pair.relation in ("joined", "split")
            for pair in by_value
            if not any(each.repeated for each in (*pair.problem, *pair.benchmark))
        )
        has_any = has_modules(self.matching.problem)
        kind = "module" if has_any else "api"
        modules = {
            node.entry.path if kind == "module" else node.name
            for node in self.matching.problem.in_order
            if node.kind == kind and node.direction == "forward" and node.entry is not None
            if node in self.matching.partner
        }
        of: Literal["calls"] | UnsetType = UNSET if has_any else "calls"
        return TwoImplementations(found, self.recorded, fused, len(modules), of)


PutOut = Callable[[TreeNode, Tree], int]


@dataclass(frozen=True, slots=True)
class Found:
    """Which weights and modules correspond: paths of the benchmark by those of the problem.

    `calls` are the forward calls of each module on either side; `recorded` counts the weights of
    the run that has fewer.
    """

    weights: list[WeightPair]
    paths: dict[str, str]
    calls: tuple[Calls, Calls]
    recorded: int

    @property
    def told(self) -> list[WeightPair]:
        """The pairs that are of weights, and those that a person made."""
        return [
            pair
            for pair in self.weights
            if pair.by_hand or any(not each.repeated for each in (*pair.problem, *pair.benchmark))
        ]


_NOTHING_TOLD = MatchRules()


def match_implementations(
    problem: Tree, benchmark: Tree, rules: MatchRules = _NOTHING_TOLD
) -> Correspondence | None:
    """The correspondence of two programs; None where they do not share half of their weights.

    Of `rules` the weights and modules count that were paired by hand. Raises MappingError where
    weights so paired are not of one size.
    """
    trees = (problem, benchmark)
    found = corresponding(problem, benchmark, _put_out, rules)
    if found is None:
        return None
    nodes = [*_in_turn(*found.calls, found.paths), *_outside_in_turn(trees)]
    return Correspondence(_matched(trees, nodes, found.weights), found.told, found.recorded)


def corresponding(
    problem: Tree, benchmark: Tree, put_out: PutOut, rules: MatchRules = _NOTHING_TOLD
) -> Found | None:
    """The weights and modules of two programs that correspond; None and raises as above.

    `put_out` tells how much a module puts out: of those that hold the same weights, modules that
    put out as much pair.
    """
    trees = (problem, benchmark)
    ours, theirs = (Side(parameters_of(tree), tree.dump.values.records) for tree in trees)
    pairs = pair_weights(ours, theirs, rules.weights)
    fewer = min(sum(not p.repeated for p in side.parameters) for side in (ours, theirs))
    if not (_tell_apart(ours) and _tell_apart(theirs)):
        return None
    is_told = any(pair.by_hand for pair in pairs)
    if not (is_told or _tell_one_model(pairs, ours, theirs) or _share_values(pairs, trees)):
        return None
    calls = _modules(problem), _modules(benchmark)
    ran = [
        {path: put_out(nodes[0], tree) for path, nodes in found.items()}
        for found, tree in zip(calls, trees)
    ]
    edges = FirstTensors(trees, calls)
    alike = edges.alike
    telling = pair_modules(pairs, *ran, alike=alike)
    pairs += pair_constants(telling, rest_of(ours, pairs, 0), rest_of(theirs, pairs, 1), edges)
    paths = pair_modules(pairs, *ran, alike=alike)
    pairs += _differing(pairs, paths, ours.parameters, theirs.parameters)
    paths |= {k: v for k, v in pair_modules(pairs, *ran, alike=alike).items() if k not in paths}
    for path, other in _modules_by_hand(trees, rules):
        paths = {k: v for k, v in paths.items() if path != k and other != v}
        paths[path] = other
    return Found(pairs, paths, calls, fewer)


def _modules_by_hand(trees: tuple[Tree, Tree], rules: MatchRules) -> Iterator[tuple[str, str]]:
    """The paths of modules that a person has paired."""
    for pair in rules.manual:
        ours, theirs = trees[0].by_name.get(pair.problem), trees[1].by_name.get(pair.benchmark)
        if ours is None or theirs is None or ours.kind != "module" or theirs.kind != "module":
            continue
        if ours.entry is not None and theirs.entry is not None:
            yield ours.entry.path, theirs.entry.path


def _tell_apart(side: Side) -> bool:
    """Whether weights tell one module from another: not where they are all equal."""
    told = [p.numbers for p in side.parameters if not p.is_constant]
    return len(set(told)) >= min(2, len(told))


def _tell_one_model(pairs: Sequence[WeightPair], ours: Side, theirs: Side) -> bool:
    """Whether enough weights of the run with fewer are found in the other.

    Constant ones tell nothing of a model.
    """
    telling = min(sum(not p.is_constant for p in side.parameters) for side in (ours, theirs))
    evidence = [pair for pair in pairs if not any(p.is_constant for p in pair.problem)]
    return telling > 0 and min(_count(evidence, 0), _count(evidence, 1)) >= _FOUND * telling


def _share_values(pairs: Sequence[WeightPair], trees: tuple[Tree, Tree]) -> bool:
    """Whether two programs come by the same values, though most of their weights are others.

    So it is where norms are folded into weights, or gates stand in another order. What programs of
    two models share, such as angles, is made without weights; one weight at least has to be found.
    """
    found = any(not p.is_constant for pair in pairs for p in pair.problem)
    return found and MetValues(*trees).put_out(trees[0]) >= _ENOUGH_MET


def are_unlike_calls(matching: Matching) -> bool:
    """Whether calls that share their names are those of two programs of one model.

    It is asked where calls alone are recorded, which share names in any two programs. Most weights
    that are found by value then stand in calls that are no partners, and half of all are found,
    which behind an update of other gradients they are not; or most calls that are partners are
    made in other functions. Copies of one script are other files, but make the same
    calls of the same sizes, each with its own weight.
    """
    trees = (matching.problem, matching.benchmark)
    if any(has_modules(tree) for tree in trees):
        return False
    elsewhere = _share_of_weights_elsewhere(matching)
    if elsewhere > 1 - ENOUGH_SHARED:
        return True
    if not _are_of_other_code(matching):
        return False
    return elsewhere > 1 - _SAME_CALLS or not _make_the_same_calls(matching)


def _make_the_same_calls(matching: Matching) -> bool:
    """Whether of the calls of the run with fewer nearly all have a partner that puts out as much.

    A fault may leave out or resize a few, or make some once in each turn of a loop.
    """
    trees = (matching.problem, matching.benchmark)
    made = [
        [n for n in tree.in_order if n.kind == "api" and n.direction == "forward"] for tree in trees
    ]
    alike = sum(
        _put_out(node, trees[0]) == _put_out(partner, trees[1])
        for node in made[0]
        if (partner := matching.partner.get(node)) is not None
    )
    fewer, more = sorted(map(len, made))
    return alike >= _SAME_CALLS * fewer and more <= _MOST_CALLS * fewer


def _are_of_other_code(matching: Matching) -> bool:
    """Whether most partners are called in other functions, or of other files."""
    ours, theirs = (_functions(tree) for tree in (matching.problem, matching.benchmark))
    places = [
        (ours[node.stack], theirs[partner.stack])
        for node in matching.problem.in_order
        if node.kind == "api" and (partner := matching.partner.get(node)) is not None
        if node.stack is not None and partner.stack is not None
    ]
    told = [(one, other) for one, other in places if one is not None and other is not None]
    return 2 * sum(one != other for one, other in told) > len(told)


def _functions(tree: Tree) -> list[tuple[str, str] | None]:
    """The file and the function that each stack of a run calls from, outside the framework."""
    frames = (model_frame(stack.splitlines()) for stack in tree.dump.frames)
    return [
        None if frame is None else (frame.line.rpartition(":")[0], frame.function)
        for frame in frames
    ]


def _share_of_weights_elsewhere(matching: Matching) -> float:
    """Which share of the weights that are found by value stand in calls that are no partners.

    None does where too few are found to tell one model: the few may be alike by chance.
    """
    trees = (matching.problem, matching.benchmark)
    ours, theirs = (Side(parameters_of(tree), tree.dump.values.records) for tree in trees)
    pairs = pair_weights(ours, theirs)
    partners = {
        call_path(node): call_path(matching.partner[node])
        for node in matching.problem.in_order
        if node.direction == "forward" and node in matching.partner
    }
    elsewhere = [
        pair
        for pair in pairs
        if any(partners.get(p.module) != b.module for p in pair.problem for b in pair.benchmark)
    ]
    is_telling = _tell_one_model(pairs, ours, theirs)
    return len(elsewhere) / len(pairs) if is_telling else 0.0


def _count(pairs: Sequence[WeightPair], side: int) -> int:
    return sum(len((pair.problem, pair.benchmark)[side]) for pair in pairs)


def _weights(pairs: Sequence[WeightPair], side: int) -> int:
    """How many weights of a side are in some pairs, each counted once."""
    found = (each for pair in pairs for each in (pair.problem, pair.benchmark)[side])
    return sum(not each.repeated for each in found)


def whole_weights(pairs: Sequence[WeightPair]) -> dict[int, int]:
    """The benchmark's value by the problem's, of weights that are one tensor on either side."""
    return {
        pair.problem[0].index: pair.benchmark[0].index
        for pair in pairs
        if len(pair.problem) == len(pair.benchmark) == 1 and pair.relation != "scaled"
    }


def _differing(
    pairs: Sequence[WeightPair],
    paths: Mapping[str, str],
    ours: Sequence[Parameter],
    theirs: Sequence[Parameter],
) -> list[WeightPair]:
    known = {id(each) for pair in pairs for each in (*pair.problem, *pair.benchmark)}
    left, right = ([p for p in side if id(p) not in known] for side in (ours, theirs))
    return [WeightPair((p,), (b,), "differs") for p, b in unpaired_in(paths, left, right)]


def _modules(tree: Tree) -> Calls:
    """The forward calls of each module by its path, in their order; without any, of each call."""
    found: Calls = defaultdict(list)
    if not has_modules(tree):
        calls = [n for n in tree.in_order if n.kind == "api" and n.direction == "forward"]
        return {call_path(node): [node] for node in calls}
    for node in tree.in_order:
        if node.kind == "module" and node.entry is not None and node.direction == "forward":
            found[node.entry.path].append(node)
    return found


def _put_out(node: TreeNode, tree: Tree) -> int:
    """How many elements the first output of a module has."""
    outputs = tensors_of(node, tree).get("output", ())
    return size_of(tree.dump.values.records[outputs[0]]) if outputs else 0


def _in_turn(
    ours: Calls, theirs: Calls, paths: Mapping[str, str]
) -> Iterator[tuple[TreeNode, TreeNode]]:
    """The calls of modules that correspond, in their order.

    One weight is read by several calls of an update: those of one name do the same with it.
    """
    for path, other in paths.items():
        for pair in zip(ours[path], theirs[other]):
            if not _are_other_updates(*pair):
                yield pair


def _are_other_updates(ours: TreeNode, theirs: TreeNode) -> bool:
    if ours.kind == "module" or {ours.phase, theirs.phase} != {"after"}:
        return False
    # By the whole name: in place or not is all that two calls of one update may differ in.
    return _named(ours) != _named(theirs)


def _named(call: TreeNode) -> str | None:
    return call.entry.type_name if call.entry is not None else None


def _outside_in_turn(trees: tuple[Tree, Tree]) -> Iterator[tuple[TreeNode, TreeNode]]:
    """The calls outside all modules that both runs make as often."""
    ours, theirs = map(_outside, trees)
    for name, calls in ours.items():
        if len(calls) == len(theirs.get(name, ())):
            yield from zip(calls, theirs[name])


def _outside(tree: Tree) -> Calls:
    """The calls outside all modules, by name: the loss. Where calls alone are recorded: those that
    put out one number, as a loss does.
    """
    found: Calls = defaultdict(list)
    is_among_modules = has_modules(tree)
    for node in tree.root.children:
        if not node.call or node.direction != "forward":
            continue
        if is_among_modules or _put_out(node, tree) == 1:
            found[node.call].append(node)
    return found


# --- the values at the edges ----------------------------------------------------------------------


def _matched(
    trees: tuple[Tree, Tree],
    nodes: Sequence[tuple[TreeNode, TreeNode]],
    pairs: Sequence[WeightPair],
) -> Matching:
    problem, benchmark = (copied(tree) for tree in trees)
    matching = Matching(problem, benchmark)
    matching.pair(problem.root, benchmark.root, "name")
    for ours, theirs in nodes:
        matching.pair(ours, theirs, "weights")
        if ours.backward is not None and theirs.backward is not None:
            matching.pair(ours.backward, theirs.backward, "weights")
    weights = whole_weights(pairs)
    rows = [
        (node.exec_order, p, b)
        for node in problem.in_order
        if (partner := matching.partner.get(node)) is not None
        for p, b in edge_values(node, partner, (problem, benchmark), weights)
    ]
    matching.moved = made_alike(problem, benchmark, rows)
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    matching.rows = ValuePairs(table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy())
    return matching


def copied(tree: Tree) -> Tree:
    """The tree over a dump whose values may be given another shape."""
    values = replace(tree.dump.values, records=list(tree.dump.values.records))
    return replace(tree, dump=replace(tree.dump, values=values))

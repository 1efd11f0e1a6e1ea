"""A weight that is apart beside weights that are the very same, and when that says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.compare.comparison import Comparison, compare
from builder.compare.score import Tolerance
from builder.diagnosis.blame import walk_by_scores
from builder.diagnosis.policies.by_scores.unlike_parameters import unlike_parameters
from builder.dump.reader import read_dump
from builder.match.nodes import match_trees
from builder.match.tree import Tree, build_tree
from tests.builder.dumps import Json, forward, tensor, write_dump

_MODULES = [f"Module.part{at}.Linear.forward.0" for at in range(5)]
_GRADIENT = "Module.part0.Linear.parameters_grad.0"


def _bf16(norm: float) -> Json:
    return tensor(norm, dtype="torch.bfloat16", requires_grad=True)


def _update(at: int, weight: float) -> dict[str, Json]:
    values = {"gradient": _bf16(0.1)}
    entry = {"input": values, "parameters": {"value": _bf16(weight)}, "output": {}}
    return {f"Optimizer.part{at}.weight.0.forward": entry}


def _side(folder: Path, weights: list[float], *, trained: bool, updated: list[int]) -> Tree:
    data: dict[str, Json] = {
        name: forward([_bf16(1.0)], [_bf16(2.0)], parameters={"weight": _bf16(weight)})
        for name, weight in zip(_MODULES, weights, strict=True)
    }
    if trained:
        data[_GRADIENT] = {"weight": [_bf16(0.1)]}
    for at in updated:
        data |= _update(at, weights[at])
    return build_tree(read_dump(write_dump(folder, data, dict.fromkeys(data))))


def _compared(
    folder: Path, factors: list[float], *, trained: bool = False, updated: tuple[int, ...] = ()
) -> Comparison:
    weights = [3.0 + at for at in range(len(_MODULES))]
    ours = [weight * factor for weight, factor in zip(weights, factors, strict=True)]
    sides = (
        _side(folder / side, own, trained=trained, updated=list(updated))
        for side, own in (("p", ours), ("b", weights))
    )
    return compare(match_trees(*sides), Tolerance())


def _named(comparison: Comparison) -> list[str]:
    found = [finding.node.name for finding in walk_by_scores(comparison).findings]
    rows = comparison.pairs.node[unlike_parameters(comparison)]
    assert found == [comparison.matching.problem.in_order[at].name for at in rows]
    return found


@pytest.mark.parametrize("trained", [False, True])
def test_a_weight_that_is_apart_below_the_threshold_is_named(tmp_path: Path, trained: bool) -> None:
    updated = tuple(range(5)) if trained else ()
    factors = [1.0, 1.0, 1.05, 1.0, 1.0]
    comparison = _compared(tmp_path, factors, trained=trained, updated=updated)
    assert _named(comparison) == [_MODULES[2]]


@pytest.mark.parametrize(
    "factors",
    [
        [1.0, 1.0, 1.0 + 2.0**-8, 1.0, 1.0],  # stored in the coarser format in one run alone
        [1.002, 0.999, 1.05, 1.001, 0.998],  # all were moved by gradients
        [1.0, 1.0, 1.05, 1.0, 1.004],  # a first step of Adam moved most by the very same
    ],
)
def test_a_weight_that_is_rounded_or_moved_is_none(tmp_path: Path, factors: list[float]) -> None:
    assert _named(_compared(tmp_path, factors)) == []


@pytest.mark.parametrize("updated", [(), (2,)])
def test_weights_that_nothing_updates_say_nothing_of_one_that_is(
    tmp_path: Path, updated: tuple[int, ...]
) -> None:
    factors = [1.0, 1.0, 1.05, 1.0, 1.0]
    assert _named(_compared(tmp_path, factors, trained=True, updated=updated)) == []

"""When weights say that two programs are of one model."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.dump.reader import read_dump
from builder.match.implementations.matching import match_implementations
from builder.match.tree import Tree, build_tree
from tests.builder.dumps import Json, backward, forward, tensor, write_dump


@pytest.mark.parametrize(
    ("norms", "found"),
    [
        ([5.0, 6.0, 7.0, 8.0], 4),
        ([5.0, 6.0, 5.0, 6.0], 4),  # layers that were copied from one
        ([5.0], 1),
        ([5.0, 5.0, 5.0, 5.0], None),  # nothing tells one from another
    ],
)
def test_weights_that_are_all_equal_tell_nothing(
    norms: list[float], found: int | None, tmp_path: Path
) -> None:
    trees = [_tree(tmp_path / name, name, norms) for name in ("a", "b")]
    correspondence = match_implementations(*trees)
    assert (None if correspondence is None else correspondence.said().found) == found


def _tree(folder: Path, name: str, norms: list[float]) -> Tree:
    entries = {
        f"Module.{name}{at}.Linear.forward.0": forward(
            [tensor(1.0 + at)], [tensor(2.0 + at)], parameters={"weight": tensor(norm)}
        )
        for at, norm in enumerate(norms)
    }
    return build_tree(read_dump(write_dump(folder, entries, dict.fromkeys(entries), {})))


@pytest.mark.parametrize(("update", "is_partner"), [("add_", True), ("add", False)])
def test_calls_of_an_update_that_read_one_weight_pair_by_their_whole_name(
    update: str, is_partner: bool, tmp_path: Path
) -> None:
    trees = [_updating(tmp_path / call, call) for call in ("add_", update)]
    correspondence = match_implementations(*trees)
    assert correspondence is not None
    partner = correspondence.matching.partner
    updates = [n for n in correspondence.matching.problem.in_order if n.call == "add"]
    assert [node in partner for node in updates] == [is_partner] * 2


def _updating(folder: Path, update: str) -> Tree:
    """Two calls that read a weight each, and a call of an update that reads the same weight."""
    weights = (5.0, 7.0)
    entries = {
        f"Functional.linear.{at}.forward": forward([tensor(1.0), _weight(norm)], [tensor(2.0 + at)])
        for at, norm in enumerate(weights)
    }
    entries["Functional.linear.1.backward"] = backward([tensor(3.0)], [tensor(4.0)])
    entries |= {
        f"Tensor.{update}.{at}.forward": forward([_weight(norm)], [tensor(8.0 + at)])
        for at, norm in enumerate(weights)
    }
    return build_tree(read_dump(write_dump(folder, entries, dict.fromkeys(entries), {})))


def _weight(norm: float) -> Json:
    return tensor(norm, requires_grad=True)

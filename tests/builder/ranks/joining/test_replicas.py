"""Replicas that differ are named with their ranks, whatever else the value is cut by."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder import BuildOptions, build
from builder.ranks.joining.layouts import AxisLayout
from builder.ranks.joining.replicas import parts_at, sketches_at
from tests.builder.dumps import forward, tensor
from tests.told import facts

_INSTANCES = 2
_STATISTICS = 4
_SKETCH = 8


@st.composite
def _places(draw: st.DrawFn) -> tuple[list[AxisLayout], int, int]:
    """Axes, innermost first, with one of them and a place on it."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    axes = [AxisLayout(name, size, "R") for name, size in zip(("tp", "cp", "dp"), sizes)]
    axis = draw(st.integers(0, len(axes) - 1))
    return axes, axis, draw(st.integers(0, sizes[axis] - 1))


def _part_numbers(axes: list[AxisLayout], axis: int, place: int) -> list[int]:
    """The numbers of the parts at a place, counted with the first axis the fastest."""
    stride = int(np.prod([one.size for one in axes[:axis]], dtype=int))
    count = int(np.prod([one.size for one in axes], dtype=int))
    return [part for part in range(count) if part // stride % axes[axis].size == place]


@given(_places())
def test_parts_at_a_place_are_all_that_have_this_coordinate(
    given_place: tuple[list[AxisLayout], int, int],
) -> None:
    axes, axis, place = given_place
    count = int(np.prod([one.size for one in axes], dtype=int))
    shape = (_STATISTICS, _INSTANCES, count)
    table = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    expected = table[:, :, _part_numbers(axes, axis, place)]
    np.testing.assert_array_equal(parts_at(table, axes, axis, place), expected)


@given(_places())
def test_sketches_at_a_place_leave_the_other_axes(
    given_place: tuple[list[AxisLayout], int, int],
) -> None:
    axes, axis, place = given_place
    count = int(np.prod([one.size for one in axes], dtype=int))
    shape = (1, count, _SKETCH)
    table = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    picked, left = sketches_at(table, axes, axis, place)
    np.testing.assert_array_equal(picked, table[:, _part_numbers(axes, axis, place)])
    assert [one.axis for one in left] == [one.axis for one in axes if one is not axes[axis]]


_ODD = "Module.layers.2.Linear.forward.0"


def _run(root: Path, weights: list[list[float]]) -> Path:
    """Layers on ranks of one tensor-parallel group, by the norms of their weights on each rank."""
    size = len(weights[0])
    for rank in range(size):
        folder = root / "step0" / f"rank{rank}"
        folder.mkdir(parents=True)
        data = {
            f"Module.layers.{layer}.Linear.forward.0": forward(
                [tensor(1)], [tensor(2)], parameters={"weight": tensor(norms[rank])}
            )
            for layer, norms in enumerate(weights)
        }
        axes = {"tp": {"rank": rank, "size": size, "ranks": list(range(size))}}
        parallel = {"world_size": size, "rank": rank, "axes": axes}
        head = {"task": "statistics", "level": "mix", "framework": "pytorch"}
        (folder / "dump.json").write_text(json.dumps({**head, "parallel": parallel, "data": data}))
        (folder / "construct.json").write_text(json.dumps(dict.fromkeys(data)))
    return root


@pytest.mark.parametrize("odd", [0, 1, 2])
def test_the_rank_whose_replica_differs_is_named(tmp_path: Path, odd: int) -> None:
    norms = [[2.0] * 3, [3.0] * 3, [4.0] * 3, [5.0] * 3]
    benchmark = _run(tmp_path / "b", [row[:1] for row in norms])
    norms[2][odd] = 4.4
    problem = _run(tmp_path / "p", norms)
    made = build(problem, benchmark, tmp_path / "out", BuildOptions(workers=1))
    (found,) = made.findings
    assert found.name == _ODD
    said = facts(found.reasons[0])
    assert (said["code"], said["value"]) == ("replica_differs", "parameters.weight")
    assert (said["axis"], said["ranks"]) == ("tp", str(odd))


def test_replicas_that_agree_are_no_finding(tmp_path: Path) -> None:
    norms = [[2.0] * 3, [3.0] * 3, [4.0] * 3]
    benchmark = _run(tmp_path / "b", [row[:1] for row in norms])
    made = build(_run(tmp_path / "p", norms), benchmark, tmp_path / "out", BuildOptions(workers=1))
    assert made.findings == ()


@pytest.mark.parametrize(
    ("held", "codes"),
    [
        ([1.0, 1.5, 1.5], ["replica_differs", "not_reduced"]),
        ([4.4, 4.0, 4.0], ["replica_differs"]),
    ],
)
def test_parts_that_nobody_has_added_up_are_said_to_be_such(
    tmp_path: Path, held: list[float], codes: list[str]
) -> None:
    norms = [[2.0] * 3, [3.0] * 3, [4.0] * 3, [5.0] * 3]
    benchmark = _run(tmp_path / "b", [row[:1] for row in norms])
    norms[2] = held
    problem = _run(tmp_path / "p", norms)
    made = build(problem, benchmark, tmp_path / "out", BuildOptions(workers=1))
    (found,) = made.findings
    assert [facts(reason)["code"] for reason in found.reasons[: len(codes)]] == codes
    assert ("not_reduced" in codes) == any(facts(r)["code"] == "not_reduced" for r in found.reasons)

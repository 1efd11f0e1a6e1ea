"""Ways in steps of several passes: an optimizer between them, a gradient that sums over them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import builder
from builder import BuildOptions
from builder.results.database import ResultDatabase
from builder.results.followers.spread import shares_of
from builder.results.followers.step import StepFollowers, step_followers
from builder.results.followers.told_way import told_way
from builder.results.open_results import open_results
from tests.builder.dumps import Json, backward, forward, tensor, write_dump

FIRST, SECOND = "Module.q.Linear.forward.0", "Module.q.Linear.forward.1"
FIRST_BACK, SECOND_BACK = "Module.q.Linear.backward.0", "Module.q.Linear.backward.1"
GRADIENT, UPDATE = "Module.q.Linear.parameters_grad.0", "Tensor.addcdiv_.0.forward"
MOMENT = "Tensor.lerp_.0.forward"
LATE = [f"Torch.relu.{number}.forward" for number in range(3)]


def step(number: int, made: float) -> Json:
    """Two passes with an optimizer between them, of which `made` is what the first step wrote.

    The gradient that the first pass recorded is the sum of both.
    """
    written = (number + 11) * made
    weight = 7.0 if number == 0 else 11 * made
    data = {
        FIRST: forward([tensor(1)], [tensor(weight * 2)], parameters={"weight": tensor(weight)}),
        FIRST_BACK: backward([tensor(6)], [tensor(8)]),
        GRADIENT: {"weight": [tensor(5 * made)]},
        MOMENT: forward([tensor(3), tensor(5 * made)], [tensor(37 * made)]),
        UPDATE: forward([tensor(weight), tensor(9)], [tensor(written)]),
        SECOND: forward([tensor(1)], [tensor(17 * made)], parameters={"weight": tensor(written)}),
        SECOND_BACK: backward([tensor(19 * made)], [tensor(23 * made)]),
    }
    if number == 1:  # a longer step than the one before
        data |= {name: forward([tensor(11 * made)], [tensor(29 * made)]) for name in LATE}
    return data


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[ResultDatabase]:
    for side, made in (("problem", 9.0), ("benchmark", 5.0)):
        for number in range(2):
            data = step(number, made)
            above = {**dict.fromkeys(data), UPDATE: "optimizer", MOMENT: "optimizer"}
            write_dump(tmp_path / side / f"step{number}" / "rank0", data, above)
    sides = tmp_path / "problem", tmp_path / "benchmark"
    file = builder.build(*sides, tmp_path / "o", BuildOptions(workers=1)).path
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE node SET source = NULL")  # the flow alone is to lead back
        named = "(SELECT id FROM node WHERE name = ?)"
        connection.execute(f"DELETE FROM finding WHERE node IN {named}", (GRADIENT,))
        connection.commit()
    results = open_results(file)
    assert isinstance(results, ResultDatabase)
    yield results
    results.close()


def ways(results: ResultDatabase, index: StepFollowers, name: str, number: int) -> list[str]:
    """The names on the way of a node of the problem, itself left out."""
    nodes = results.nodes_by_id(index.rows.problem.id.tolist())
    node = next(one.id for one in nodes if one.name == name)
    way = told_way(results, lambda *at: step_followers(results, *at), node)
    assert way.step == number
    return [hop.name for hop in way.hops[1:]]


def test_a_gradient_that_sums_over_passes_goes_back_to_the_one_that_differs(
    opened: ResultDatabase,
) -> None:
    index = step_followers(opened, 0, 0)
    assert ways(opened, index, GRADIENT, 0)[0] == SECOND_BACK
    assert ways(opened, index, MOMENT, 0)[:2] == [GRADIENT, SECOND_BACK]


def test_what_an_optimizer_between_two_passes_wrote_is_followed_into_its_step(
    opened: ResultDatabase,
) -> None:
    index = step_followers(opened, 1, 0)
    for name in (FIRST, *LATE):
        assert ways(opened, index, name, 1)[0] == UPDATE
    assert shares_of(index).earlier > 0

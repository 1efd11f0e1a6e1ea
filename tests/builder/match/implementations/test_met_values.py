"""Values of one program that the other comes by as well, by numbers and by elements."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from builder.dump.reader import read_dump
from builder.match.implementations.met_values import MetValues
from builder.match.tree import Tree, build_tree
from msprobe.pytorch import PrecisionDebugger
from tests.builder.dumps import forward, tensor, write_dump


def tree(folder: Path, *outputs: object) -> Tree:
    entries = {
        f"Torch.exp.{n}.forward": forward([tensor(90.0 + n)], [output])
        for n, output in enumerate(outputs)
    }
    return build_tree(read_dump(write_dump(folder, entries, dict.fromkeys(entries), {})))


def met(tmp_path: Path, ours: object, *theirs: object) -> int:
    problem = tree(tmp_path / "ours", ours)
    return MetValues(problem, tree(tmp_path / "theirs", *theirs)).put_out(problem)


def test_a_value_is_met_wherever_the_other_run_makes_it(tmp_path: Path) -> None:
    assert met(tmp_path, tensor(3.0), tensor(7.0), tensor(5.0), tensor(3.0)) == 1


@pytest.mark.parametrize(
    "other",
    [
        tensor(3.0 * 1.001),
        tensor(3.0, shape=[2, 2, 2]),
        tensor(3.0, Min=-1.4),
        tensor(3.0, Max=float("nan")),
    ],
)
def test_a_value_of_other_numbers_or_another_size_is_not(other: object, tmp_path: Path) -> None:
    assert met(tmp_path, tensor(3.0), other) == 0


def test_constants_are_met_by_anything_and_count_nothing(tmp_path: Path) -> None:
    ones = tensor(2.0, Max=1.0, Min=1.0, Mean=1.0)
    assert met(tmp_path, ones, ones) == 0


def test_many_equal_values_count_once(tmp_path: Path) -> None:
    problem = tree(tmp_path / "ours", *[tensor(3.0)] * 5)
    values = MetValues(problem, tree(tmp_path / "theirs", tensor(3.0)))
    assert values.put_out(problem) == 1
    assert len(values.indices) == 6  # of each call what it put out, and what the first read


def recorded(folder: Path, *values: torch.Tensor) -> Tree:
    debugger = PrecisionDebugger(dump_path=str(folder), task="statistics", level="L1", step=[0])
    debugger.start()
    for value in values:
        torch.abs(value)
    debugger.stop()
    debugger.step()
    return build_tree(read_dump(next(folder.glob("step0/*"))))


def test_elements_tell_values_of_equal_numbers_apart_but_for_their_order(tmp_path: Path) -> None:
    torch.manual_seed(3)
    value = torch.rand(64)
    nudged = value.clone()
    middle = torch.argsort(value)[10:50]
    # A tenth of the elements' spread moves between them: norm, mean and extremes stay.
    nudged[middle] = value[middle].flip(0) * 0.02 + value[middle] * 0.98
    nudged[middle] *= value[middle].norm() / nudged[middle].norm()
    theirs = recorded(tmp_path / "theirs", value)
    for name, ours, wanted in (
        ("same", value, 1),
        ("permuted", value[torch.from_numpy(np.random.default_rng(1).permutation(64))], 1),
        ("nudged", nudged, 0),
    ):
        problem = recorded(tmp_path / name, ours)
        assert MetValues(problem, theirs).put_out(problem) == wanted, name

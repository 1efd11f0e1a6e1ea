"""Gradients and quotients that are nothing but rounding are told from those that differ."""

from __future__ import annotations

from math import isnan
from pathlib import Path

import numpy as np
import pytest

from builder.compare.comparison import compare
from builder.compare.rounding import MovedTokens
from builder.compare.score import Tolerance, score_of
from builder.compare.statistics import relative_error
from builder.compare.told_apart import told_by
from builder.dump.reader import read_dump
from builder.match.nodes import match_trees
from builder.match.tree import Tree, build_tree
from tests.builder.dumps import Json, backward, forward, saved_tensor, tensor, write_dump

A = "Torch.mul.0.forward"
MODULE = "Module.key.Linear.backward.0"
GRADIENT = "Module.key.Linear.parameters_grad.0"


def score(tmp_path: Path, ours: dict[str, Json], theirs: dict[str, Json], name: str) -> float:
    def make(side: str, data: dict[str, Json]) -> Tree:
        return build_tree(read_dump(write_dump(tmp_path / side, data, dict.fromkeys(data))))

    matching = match_trees(make("p", ours), make("b", theirs))
    node = matching.problem.by_name[name]
    return float(compare(matching, Tolerance()).nodes.outputs[node.exec_order])


def gradient(norm: float) -> dict[str, Json]:
    flowing = tensor(1.0, shape=[64, 2])
    return {
        MODULE: backward([flowing], [flowing]),
        GRADIENT: {"bias": [tensor(norm, shape=[2])]},
    }


def test_a_sum_that_cancels_to_rounding_agrees(tmp_path: Path) -> None:
    assert score(tmp_path, gradient(2e-8), gradient(5e-8), GRADIENT) == 0.0


def test_a_sum_that_is_halved_differs(tmp_path: Path) -> None:
    assert score(tmp_path, gradient(0.05), gradient(0.1), GRADIENT) > 0.9


def test_a_small_gradient_of_full_size_is_no_sum(tmp_path: Path) -> None:
    def entry(norm: float) -> dict[str, Json]:
        call = "Torch.mul.0.backward"
        return {call: backward([tensor(1.0)], [tensor(norm)])}

    assert score(tmp_path, entry(2e-8), entry(5e-8), "Torch.mul.0.backward") > 0.9


@pytest.mark.parametrize(
    ("dtype", "apart", "agrees"),
    [
        ("torch.float16", 2.0**-24, True),
        ("torch.float16", 2.0**-21, False),
        ("torch.bfloat16", 2.0**-24, False),
        ("torch.float32", 2.0**-24, False),
    ],
)
def test_numbers_near_zero_are_as_far_apart_as_their_format_has_any(
    tmp_path: Path, dtype: str, apart: float, agrees: bool
) -> None:
    def entry(size: float) -> dict[str, Json]:
        # Sixteen elements of 2⁻²⁴, the smallest number of float16.
        made = tensor(4 * size, Max=size, Min=0.0, Mean=size, dtype=dtype, shape=[16])
        return {A: forward([tensor(1.0, dtype=dtype)], [made])}

    found = score(tmp_path, entry(2.0**-24), entry(2.0**-24 + apart), A)
    assert (found == 0.0) is agrees


@pytest.mark.parametrize(("smallest", "agrees"), [(1e-8, True), (1.0, False)])
def test_a_quotient_by_nearly_nothing_is_rounding(
    tmp_path: Path, smallest: float, agrees: bool
) -> None:
    def entry(mean: float) -> dict[str, Json]:
        divisor = tensor(2.0, Min=smallest, Max=1.5)
        values = [tensor(1.0), tensor(0.01), divisor]
        return {"Tensor.addcdiv_.0.forward": forward(values, [tensor(1.0, Mean=mean)])}

    found = score(tmp_path, entry(0.126), entry(0.125), "Tensor.addcdiv_.0.forward")
    assert (found == 0.0) is agrees


@pytest.mark.parametrize(("value", "agrees"), [(-0.01, True), (-0.02, False)])
def test_a_quotient_by_another_factor_is_no_rounding(
    tmp_path: Path, value: float, agrees: bool
) -> None:
    def entry(mean: float, factor: float) -> dict[str, Json]:
        values = [tensor(1.0), tensor(0.01), tensor(2.0, Min=0.0, Max=1.5)]
        made = forward(values, [tensor(1.0, Mean=mean)])
        made["input_kwargs"] = {"value": {"type": "float", "value": factor}}
        return {"Tensor.addcdiv_.0.forward": made}

    ours, theirs = entry(0.126, value), entry(0.125, -0.01)
    assert (score(tmp_path, ours, theirs, "Tensor.addcdiv_.0.forward") == 0.0) is agrees


def test_gradients_of_another_kernel_are_set_aside(tmp_path: Path) -> None:
    call = "Functional.scaled_dot_product_attention.0.backward"

    def entry(shape: list[int], norm: float) -> dict[str, Json]:
        return {call: backward([tensor()], [tensor(norm, shape=shape)])}

    assert isnan(score(tmp_path, entry([4, 1], 1.0), entry([2, 2], 9.0), call))
    assert score(tmp_path, entry([2, 2], 1.0), entry([2, 2], 9.0), call) > 0.9


@pytest.mark.parametrize(("norm", "agrees"), [(1e-6, True), (1.0, False)])
def test_a_weights_gradient_that_cancels_is_rounding(
    tmp_path: Path, norm: float, agrees: bool
) -> None:
    def entry(weight: float) -> dict[str, Json]:
        read, flowing = tensor(10.0, shape=[64, 2]), tensor(1.0, shape=[64, 2])
        return {
            "Module.key.Linear.forward.0": forward([read], [tensor(1.0, shape=[64, 2])]),
            MODULE: backward([flowing], [flowing]),
            GRADIENT: {"weight": [tensor(weight, shape=[2, 2])]},
        }

    found = score(tmp_path, entry(0.7 * norm), entry(norm), GRADIENT)
    assert (found == 0.0) is agrees


@pytest.mark.parametrize(
    ("share", "apart", "agrees"),
    [(0.0, 0.1, False), (0.01, 0.1, True), (0.01, 0.5, False), (0.25, 0.5, True)],
)
def test_gradients_are_apart_by_the_tokens_that_ties_moved(
    tmp_path: Path, share: float, apart: float, agrees: bool
) -> None:
    call, back = "Torch.mul.0.forward", "Torch.mul.0.backward"

    def entry(side: str, norm: float) -> Tree:
        data = {call: forward([tensor(1.0)], [tensor(norm)])}
        data[back] = backward([tensor(1.0)], [tensor(norm)])
        return build_tree(read_dump(write_dump(tmp_path / side, data, dict.fromkeys(data))))

    matching = match_trees(entry("p", 1.0 + apart), entry("b", 1.0))
    at = {name: node.exec_order for name, node in matching.problem.by_name.items()}
    for moved in (MovedTokens(share), MovedTokens(unseen={back: share, call: 1.0})):
        found = compare(matching, Tolerance(), moved=moved)
        assert (float(found.nodes.outputs[at[back]]) == 0.0) is agrees
        assert found.nodes.outputs[at[call]] > 0.5  # what was put out before is not excused
    elsewhere = compare(matching, Tolerance(), moved=MovedTokens(unseen={"another": share}))
    assert elsewhere.nodes.outputs[at[back]] > 0


@pytest.mark.parametrize(("apart", "agrees"), [(0.1, True), (0.5, False)])
def test_answers_of_experts_are_apart_by_moved_tokens_where_their_order_is_unknown(
    tmp_path: Path, apart: float, agrees: bool
) -> None:
    def entry(side: str, norm: float) -> Tree:
        data = {A: forward([tensor(1.0)], [tensor(norm)])}
        return build_tree(read_dump(write_dump(tmp_path / side, data, dict.fromkeys(data))))

    matching = match_trees(entry("p", 1.0 + apart), entry("b", 1.0))
    for unordered, is_excused in ((frozenset([A]), agrees), (frozenset[str](), False)):
        moved = MovedTokens(0.01, unordered=unordered)
        found = compare(matching, Tolerance(), moved=moved)
        assert (float(found.nodes.outputs[0]) == 0.0) is is_excused


def test_elements_tell_the_size_of_a_sum_of_which_nothing_else_does(tmp_path: Path) -> None:
    back = "Torch.mul.0.backward"

    def entry(side: str, values: list[float]) -> Tree:
        folder = tmp_path / side
        folder.mkdir()
        made = saved_tensor(np.array(values, dtype=np.float32), folder, "made")
        made |= dict.fromkeys(("Max", "Min", "Mean", "Norm"))
        data = {back: backward([tensor(1.0)], [made])}
        construct = dict.fromkeys(data)
        return build_tree(read_dump(write_dump(folder, data, construct, task="tensor")))

    matching = match_trees(entry("p", [1.0, 2.2]), entry("b", [1.0, 2.0]))
    assert compare(matching, Tolerance()).nodes.outputs[0] > 0.5
    moved = compare(matching, Tolerance(), moved=MovedTokens(0.01))
    assert moved.nodes.outputs[0] == 0.0


@pytest.mark.parametrize(("read", "by"), [(0.02, "inputs"), (0.01, "rounding")])
def test_what_is_let_pass_keeps_its_error_and_says_why(
    tmp_path: Path, read: float, by: str
) -> None:
    def entry(moment: float, mean: float) -> dict[str, Json]:
        values = [tensor(1.0), tensor(moment), tensor(2.0, Min=0.0, Max=1.5)]
        return {"Tensor.addcdiv_.0.forward": forward(values, [tensor(1.0, Mean=mean)])}

    def make(side: str, data: dict[str, Json]) -> Tree:
        return build_tree(read_dump(write_dump(tmp_path / side, data, dict.fromkeys(data))))

    matching = match_trees(make("p", entry(read, 0.126)), make("b", entry(0.01, 0.125)))
    found = compare(matching, Tolerance())
    row = found.keys.index("output.0")
    apart = relative_error(*found.statistics)[row]
    assert found.scores.error[row] == apart > found.scores.limit[row] == found.scores.judged[row]
    assert found.scores.score[row] == 0.0 and found.scores.let_pass == {row: by}
    measured = float(score_of(found.scores.error, found.scores.limit)[row])
    stated = min(measured, float(found.nodes.inputs[0])) if by == "inputs" else 0.0
    assert found.scores.stated[row] == found.nodes.stated[0] == stated and (stated > 0) is (
        by == "inputs"
    )
    assert told_by(found, row) is not None

"""The bounds of what sums and products hand on, against what torch computes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from builder.diagnosis.sensitivity import Operand, furthest
from tests.builder.diagnosis.small_runs import Entries, findings, names
from tests.builder.diagnosis.test_element_calls import half
from tests.builder.dumps import Json, forward, tensor

Computed = Callable[..., Tensor]
CALLS: list[tuple[str, Computed, list[tuple[int, ...]]]] = [
    ("add", torch.add, [(8, 16), (16,)]),
    ("sub", torch.sub, [(8, 16), (8, 16)]),
    ("mul", torch.mul, [(8, 16), (8, 1)]),
    ("matmul", torch.matmul, [(3, 8, 16), (3, 16, 5)]),
    ("matmul", torch.matmul, [(3, 8, 16), (16, 5)]),
    ("mv", torch.mv, [(8, 16), (16,)]),
    ("linear", functional.linear, [(3, 8, 16), (5, 16), (5,)]),
    ("conv2d", functional.conv2d, [(2, 4, 9, 9), (6, 4, 3, 3), (6,)]),
    ("addcmul", torch.addcmul, [(8, 16), (8, 16), (8, 16)]),
    ("addmm", torch.addmm, [(8, 5), (8, 16), (16, 5)]),
]


def operand(one: Tensor, other: Tensor) -> Operand:
    largest = max(float(one.abs().max()), float(other.abs().max()))
    mean, norm = float(one.mean().abs()), float(one.norm())
    return Operand(float((one - other).norm()), norm, mean, largest, tuple(one.shape))


@pytest.mark.parametrize(("name", "call", "shapes"), CALLS)
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_holds_and_is_of_the_right_size(
    name: str, call: Computed, shapes: list[tuple[int, ...]], seed: int
) -> None:
    torch.manual_seed(seed)
    read = [torch.randn(shape) for shape in shapes]
    moved = [one + 0.01 * torch.randn(one.shape) for one in read]
    result, other = call(*read), call(*moved)
    operands = [operand(one, two) for one, two in zip(read, moved)]
    apart = float((result - other).norm())
    bound = furthest(name, operands, {}, result.numel())
    assert apart < 2 * bound < 16 * apart


def test_numbers_multiply_what_is_added() -> None:
    x, moved = torch.ones(4), torch.full((4,), 1.5)
    operands = [operand(x, x), operand(x, moved)]
    assert furthest("add", operands, {"alpha": -3.0}, 4) == pytest.approx(3.0)


def test_a_power_grows_by_its_derivative() -> None:
    x, moved = torch.full((4,), 2.0), torch.full((4,), 2.01)
    three = Operand(0.0, 3.0, 3.0, 3.0, ())
    apart = float((moved**3 - x**3).norm())
    assert furthest("pow", [operand(x, moved), three], {}, 4) == pytest.approx(apart, rel=0.01)


@pytest.mark.parametrize("name", ["", "softmax", "mul"])
def test_nothing_is_known_of_other_calls_and_of_too_few_operands(name: str) -> None:
    assert furthest(name, [Operand(1.0, 1.0, 0.0, 1.0, (4,))], {}, 4) == 0.0


def test_an_error_that_all_terms_have_in_common_adds_up() -> None:
    """Probabilities times values that a weight moved all alike."""
    torch.manual_seed(0)
    probabilities, values = torch.rand(64, 32).softmax(-1), torch.randn(32, 8)
    moved = values + 0.1 * torch.randn(8)
    apart = float((probabilities @ moved - probabilities @ values).norm())
    operands = [operand(probabilities, probabilities), operand(values, moved)]
    bound = furthest("matmul", operands, {}, 64 * 8)
    assert apart < 2 * bound < 8 * apart


# --- what the walk makes of it --------------------------------------------------------------------


def matrix(norm: float, **more: object) -> Json:
    return half(norm, shape=[16, 16], Max=norm / 8, Min=-norm / 8, Mean=0.0, **more)


def product(call: str, read: float, put_out: float) -> Entries:
    return {call: forward([matrix(read), matrix(10.0)], [matrix(put_out)])}


@pytest.mark.parametrize(
    ("call", "put_out", "named"),
    [
        ("Torch.matmul", 0.9, False),  # the terms cancel: 25 is usual, 1 % of it is a quarter of 1
        ("Torch.matmul", 2.0, True),  # further than 1 % of what is usual
        ("Torch.einsum", 0.9, True),  # nobody knows what it sums
    ],
)
def test_a_product_that_cancels_is_judged_by_its_terms(
    tmp_path: Path, call: str, put_out: float, named: bool
) -> None:
    name = f"{call}.0.forward"
    found = findings(tmp_path, product(name, 10.1, put_out), product(name, 10.0, 0.7))
    assert names(found) == ([name] if named else [])


def test_a_product_of_equal_factors_has_to_be_equal(tmp_path: Path) -> None:
    name = "Torch.matmul.0.forward"
    found = findings(tmp_path, product(name, 10.0, 0.9), product(name, 10.0, 0.7))
    assert names(found) == [name]


def test_a_mask_among_the_operands_excuses_nothing(tmp_path: Path) -> None:
    name = "Tensor.mul.0.forward"
    mask = tensor(1.0, Min=-3.4e38, Mean="-inf", Norm="inf")

    def entries(read: float, put_out: float) -> Entries:
        return {name: forward([half(read), mask], [half(put_out)])}

    assert names(findings(tmp_path, entries(10.1, 7.0), entries(10.0, 5.0))) == [name]

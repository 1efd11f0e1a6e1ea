"""By scores: what sums and products make of what they read is no finding, further is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builder.diagnosis.small_runs import Entries, findings, names
from tests.builder.diagnosis.test_element_calls import half
from tests.builder.dumps import Json, forward, tensor


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

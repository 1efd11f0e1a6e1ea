"""A model that computes otherwise where it is compiled: to the same results, or to other ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from msprobe.cli.compile_check import _said
from msprobe.compile_check import Answer, Case, check_compilation
from tests.msprobe.compile_check.test_compile_check import WRONG


@pytest.fixture(autouse=True)
def _fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


class Branching(nn.Module):
    """Sums product by product, or where it is compiled by one product of matrices."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.first, self.last, self.act = nn.Linear(8, 8), nn.Linear(8, 8), nn.GELU()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        x = self.act(self.first(x))
        if torch.compiler.is_compiling():
            y = torch.mm(x, x.t()) * self.factor
        else:
            y = torch.stack([(x * row).sum(-1) for row in x], 1)
        out: Tensor = self.last(torch.matmul(y, x))
        return out


def _checked(folder: Path, factor: float = 1.0, backend: object = "aot_eager") -> Answer:
    def make() -> Case:
        torch.manual_seed(0)
        return Case(Branching(factor), (torch.randn(4, 8),), {})

    return check_compilation(make, folder, backend)  # type: ignore[arg-type]


def test_another_way_to_the_same_results_agrees_and_is_told(tmp_path: Path) -> None:
    answer = _checked(tmp_path)
    assert answer.diagnosis.named
    assert answer.agrees and answer.claim.code == "heals"
    assert "come to the same results, and differ on the way there, first at" in _said(answer)[1]


def test_another_way_to_other_results_differs(tmp_path: Path) -> None:
    answer = _checked(tmp_path, 1.001)
    assert not answer.agrees and answer.claim.code != "heals"
    assert "compiled and eager differ, first at" in _said(answer)[1]


def test_a_fault_beside_another_way_differs(tmp_path: Path) -> None:
    assert not _checked(tmp_path, backend=WRONG).agrees


class Masking(nn.Module):
    """Makes a mask where it is compiled, and elsewhere asks whether it needs one."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor, ids: Tensor) -> Tensor:
        x = self.first(x)
        if torch.compiler.is_compiling():
            x = x.masked_fill(~(ids[:, None] == ids[None, :]).any(1, keepdim=True), 0.0)
        elif not (ids == ids[0]).any():
            x = torch.zeros_like(x)
        out: Tensor = self.last(x)
        return out


def test_calls_of_one_number_and_other_shapes_are_another_way(tmp_path: Path) -> None:
    def make() -> Case:
        torch.manual_seed(0)
        return Case(Masking(), (torch.randn(4, 8), torch.tensor([1, 2, 3, 4])), {})

    answer = check_compilation(make, tmp_path, "aot_eager")
    assert answer.other_calls[0] == "Tensor.__eq__.0.forward"
    assert answer.agrees and answer.claim.code == "heals"

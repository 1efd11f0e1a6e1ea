"""Results in half formats are held against eager's own distance from the exact ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func  # type: ignore[attr-defined]

from msprobe.compile_check import Case, check_compilation
from msprobe.compile_check.results import Apart, results_apart

MODULES = 40
Change = Callable[[Tensor], Tensor]
GRADIENT, LARGE = "gradient of fc.weight", "gradient of head.weight"


def found(change: Change, dtype: torch.dtype = torch.bfloat16, norm: float = 1.0) -> list[Apart]:
    """What is said of a compiled gradient; eager's is the exact one, rounded twice."""
    drawn = torch.Generator().manual_seed(0)
    true, large = (torch.randn(64, 8, generator=drawn).double() for _ in range(2))
    exact = {GRADIENT: true * norm, LARGE: large}
    eager = {name: ((value * 3).to(dtype) / 3).to(dtype) for name, value in exact.items()}
    alone = {**eager, GRADIENT: change(exact[GRADIENT]).to(dtype)}
    # The records have seen as much, and called it rounding.
    return results_apart(alone, alone, eager, MODULES, exact)


@pytest.mark.parametrize("change", [lambda g: g * 1.3, lambda g: g.roll(1, 0), lambda g: g * 0])
def test_a_wrong_gradient_in_a_half_format_diverges_however_deep_the_model(change: Change) -> None:
    for norm in (1.0, 0.05):  # a small one beside the largest, too
        (apart,) = found(change, norm=norm)
        assert (apart.name, apart.is_judged) == (GRADIENT, False)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_one_rounding_more_or_less_is_none(dtype: torch.dtype) -> None:
    assert found(lambda g: g, dtype) == []
    assert found(lambda g: (g * 7).to(dtype) / 7, dtype) == []


def test_a_gradient_that_is_zero_but_for_rounding_is_no_difference() -> None:
    eps = torch.finfo(torch.bfloat16).eps
    assert found(lambda g: g.roll(1, 0), norm=eps / 4) == []


class Deep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(16, 16) for _ in range(40)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + torch.tanh(layer(x)) / 8
        return x


def weaker_in_one(gradient: Tensor, out: Tensor) -> Tensor:
    """The gradient of tanh without its square."""
    return gradient * (1 - out.abs())


def test_a_backward_formula_in_bfloat16_is_no_agreement(tmp_path: Path) -> None:
    def make() -> Case:
        torch.manual_seed(0)
        return Case(Deep().bfloat16(), (torch.randn(8, 16, dtype=torch.bfloat16),), {})

    def boxed(graph: object, _: object) -> object:
        return make_boxed_func(graph.forward)  # type: ignore[attr-defined]

    wrong = {torch.ops.aten.tanh_backward.default: weaker_in_one}
    for backend in ("aot_eager", aot_autograd(fw_compiler=boxed, decompositions=wrong)):
        answer = check_compilation(make, tmp_path, backend, "L0")
        assert answer.agrees is (backend == "aot_eager")
        assert bool(answer.apart) is (backend != "aot_eager")

"""Results in half formats are held against eager's own distance from the exact ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def test_what_rounding_would_explain_is_told_by_how_much_less_exact_it_is() -> None:
    (apart,) = found(lambda g: g * 1.3)
    assert apart.less_exact is not None
    assert apart.less_exact.compiled == pytest.approx(0.3, rel=0.01)
    assert apart.less_exact.times > 3
    (apart,) = found(lambda g: g * 2)  # further than any rounding of forty modules
    assert apart.less_exact is None


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_one_rounding_more_or_less_is_none(dtype: torch.dtype) -> None:
    assert found(lambda g: g, dtype) == []
    assert found(lambda g: (g * 7).to(dtype) / 7, dtype) == []


def test_a_gradient_that_is_zero_but_for_rounding_is_no_difference() -> None:
    eps = torch.finfo(torch.bfloat16).eps
    assert found(lambda g: g.roll(1, 0), norm=eps / 4) == []


@pytest.mark.parametrize(("change", "is_apart"), [(1.01, False), (1.5, True)])
def test_a_wider_loss_of_a_half_format_is_rounded_as_that_format_is(
    change: float, is_apart: bool
) -> None:
    eager = {"loss": torch.tensor(2.0), GRADIENT: torch.ones(4, 4, dtype=torch.bfloat16)}
    alone = {**eager, "loss": eager["loss"] * change}
    for modules in (MODULES, 10 * MODULES):
        assert bool(results_apart(alone, alone, eager, modules)) is is_apart


def test_a_running_mean_that_is_zero_but_for_rounding_is_no_difference() -> None:
    eager = {"buffer mean": torch.full((8,), 1e-9), "buffer var": torch.ones(8)}
    alone = {**eager, "buffer mean": torch.full((8,), 2e-9)}
    assert results_apart(alone, alone, eager, MODULES) == []
    (apart,) = results_apart({**eager, "buffer mean": torch.ones(8) / 10}, {}, eager, MODULES)
    assert (apart.name, apart.diverges) == ("buffer mean", True)


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


def boxed(graph: Any, _: object) -> object:
    return make_boxed_func(graph.forward)


def rewriting(target: object, **changed: Any) -> Any:
    """A compiler that gives an operator of the forward graph other arguments, by `a<place>`."""

    def compiled(graph: Any, inputs: object) -> object:
        found = [node for node in graph.graph.nodes if node.target is target]
        for node in found:
            places = enumerate(node.args)
            node.args = tuple(changed.get(f"a{at}", given) for at, given in places)
        graph.recompile()
        return boxed(graph, inputs)

    return aot_autograd(fw_compiler=compiled, bw_compiler=boxed)


class Gated(nn.Module):
    """What a mask of booleans lets pass, of which the extremes are those of any other mask."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.head = nn.Linear(16, 16), nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = self.fc(x)
        out: Tensor = self.head(torch.where(y < 0.25, y, 0.01 * y))
        return out


class Attending(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return (x @ x.mT / 4).softmax(-1) @ x


class Attentive(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project, self.attend, self.head = nn.Linear(16, 16), Attending(), nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.attend(self.project(x)))
        return out


class Averaged(nn.Module):
    """A running mean that nothing reads in the step that writes it."""

    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(16, 4)
        self.register_buffer("mean", torch.zeros(16))

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            self.mean.lerp_(x.mean(0), 0.1)
        out: Tensor = self.fc(x)
        return out


class Teacher(Averaged):
    """The same, and a parameter that follows another."""

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            self.fc.bias.mul_(0.5)
        return super().forward(x)


class Cached(nn.Module):
    """A cache that the caller hands in and reads itself."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(16, 16)

    def forward(self, x: Tensor, cache: Tensor) -> Tensor:
        out: Tensor = self.fc(x)
        cache[2:10] = 3.0 * out.detach()
        return out


def weaker_rows(gradient: Tensor, out: Tensor, dim: int, dtype: torch.dtype) -> Tensor:
    """The gradient of softmax, computed in bfloat16 with four fifths of its sum."""
    low, weights = gradient.bfloat16(), out.bfloat16()
    made: Tensor = weights * (low - 0.8 * (low * weights).sum(dim, keepdim=True))
    return made.to(gradient.dtype)


aten = torch.ops.aten
_SOFTMAX = {aten._softmax_backward_data.default: weaker_rows}
_LERP = rewriting(aten.lerp.Scalar, a2=0.11)


@pytest.mark.parametrize("level", ["L0", "mix"])
@pytest.mark.parametrize(
    ("model", "wrong", "dtype", "name"),
    [
        (Gated, rewriting(aten.lt.Scalar, a1=0.2), torch.float32, "output 0"),
        (
            Attentive,
            aot_autograd(fw_compiler=boxed, decompositions=_SOFTMAX),
            torch.bfloat16,
            "gradient of project.weight",
        ),
        (Averaged, _LERP, torch.float32, "buffer mean"),
        (Averaged, _LERP, torch.bfloat16, "buffer mean"),
        (Teacher, rewriting(aten.mul.Tensor, a1=0.51), torch.float32, "parameter fc.bias"),
        (Cached, rewriting(aten.mul.Tensor, a1=3.1), torch.float32, "argument 1"),
    ],
)
def test_what_differs_in_the_results_is_no_agreement(
    model: type[nn.Module], wrong: Any, dtype: torch.dtype, name: str, level: str, tmp_path: Path
) -> None:
    def make() -> Case:
        torch.manual_seed(0)
        given = torch.randn(8, 16).to(dtype)
        more = (torch.zeros(12, 16),) if model is Cached else ()
        return Case(model().to(dtype), (given, *more), {})

    sound = check_compilation(make, tmp_path / "sound", "aot_eager", level)
    assert sound.agrees and not sound.changed
    answer = check_compilation(make, tmp_path / "wrong", wrong, level)
    assert not answer.agrees
    if not answer.diagnosis.findings:
        assert name in [each.name for each in answer.apart]

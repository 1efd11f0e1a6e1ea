"""Gradients that are zero but for rounding diverge in the records; float64 tells what they are."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from builder.claim import Counted, Evidence, claim
from builder.diagnosis.end_results import EndResult
from msprobe.compile_check import Answer
from msprobe.compile_check.compilation import _are_gradients_alone, _parameter
from msprobe.compile_check.results import Apart, LessExact, less_exact_gradients

NAME = "layers.0.attention.k_proj.bias"
END = EndResult(
    "Module.layers.0.attention.k_proj.Linear.parameters_grad.0",
    "parameters_grad.bias",
    "gradient",
    1.0,
    0.7,
)
ENDS = (Counted("divergent", 1), Counted("ends", 3, END.name))


def _diagnosis(*differences: Counted, named: tuple[Any, ...] = ()) -> Any:
    evidence = Evidence((Counted("sketch", 9),), (), differences, beyond=1)
    return SimpleNamespace(named=named, claim=claim(evidence, len(named)))


def _results(size: float) -> dict[str, torch.Tensor]:
    return {f"gradient of {NAME}": torch.full((8,), size), "gradient of w": torch.ones(8)}


@pytest.mark.parametrize(
    ("ours", "true", "is_exact"),
    [
        (1.1e-6, 1e-6, True),
        (1.2e-6, 1e-6, True),
        (1.5e-6, 1e-6, False),
        (1e-9, 1e-22, True),  # zero, and a last bit of the largest gradient
        (1e-5, 1e-22, False),
    ],
)
def test_a_gradient_may_be_as_far_from_float64_as_eagers_is(
    ours: float, true: float, is_exact: bool
) -> None:
    exact = {name: each.double() for name, each in _results(true).items()}
    wanted = _results(true + 1e-7 if true > 1e-9 else 3e-13)
    found = less_exact_gradients([NAME], _results(ours), wanted, exact, 4)
    assert (found == []) is is_exact
    assert less_exact_gradients(["unknown"], _results(ours), wanted, exact, 4) is None


def test_by_how_much_a_gradient_is_less_exact_is_told() -> None:
    exact = {name: each.double() for name, each in _results(1e-6).items()}
    found = less_exact_gradients([NAME], _results(1.5e-6), _results(1.1e-6), exact, 4)
    assert found is not None
    (told,) = found
    assert told.name == f"gradient of {NAME}"
    assert told.compiled == pytest.approx(0.5, rel=1e-4)
    assert told.times == pytest.approx(5.0, rel=1e-4)


def test_the_parameter_of_an_end_is_that_of_its_module() -> None:
    assert _parameter(END) == NAME
    own = EndResult("Module.CLIP.parameters_grad.0", "parameters_grad.scale", "gradient", 1.0, 1.0)
    assert _parameter(own) == "scale"


def test_only_gradients_that_are_all_that_diverges_are_asked_of() -> None:
    loss = EndResult("Module.head.Linear.forward.0", "output.0", "loss", 1.0, 1.0)
    assert _are_gradients_alone(_diagnosis(*ENDS), [END.name], [END], False)
    assert not _are_gradients_alone(_diagnosis(), [], [], True)
    assert not _are_gradients_alone(_diagnosis(*ENDS), [END.name], [END, loss], True)
    assert not _are_gradients_alone(
        _diagnosis(*ENDS, Counted("infinite", 1)), [END.name], [END], True
    )
    assert not _are_gradients_alone(_diagnosis(*ENDS), [END.name, "Torch.mul.0"], [END], True)


@pytest.mark.parametrize(
    ("direction", "is_wide", "asked"),
    [("backward", True, True), ("backward", False, False), ("forward", True, False)],
)
def test_in_a_wide_format_a_call_of_the_backward_pass_may_be_named(
    direction: str, is_wide: bool, asked: bool
) -> None:
    named = _diagnosis(*ENDS, named=(SimpleNamespace(direction=direction),))
    assert _are_gradients_alone(named, [END.name], [END], is_wide) is asked


@pytest.mark.parametrize("rounded", [0, 1])
def test_they_are_told_as_close(rounded: int) -> None:
    answer = Answer(
        _diagnosis(*ENDS),
        Path(),
        2,
        [],
        [],
        {},
        ends=1 - rounded,
        same_results=True,
        rounded=rounded,
    )
    assert answer.agrees is bool(rounded)
    assert answer.claim.code == ("close" if rounded else "differs")
    if rounded:
        assert answer.claim.evidence.differences == (Counted("ends_close", 1, END.name),)


def test_less_exact_alone_is_told_where_nothing_else_differs() -> None:
    less = LessExact(f"gradient of {NAME}", 0.27, 0.07)
    within = Apart(less.name, 0.25, 0.25, diverges=True, less_exact=less)
    beyond = Apart("output 0", 3.0, 3.0, diverges=True)

    def told(*apart: Apart, named: tuple[Any, ...] = ()) -> tuple[LessExact, ...]:
        answer = Answer(_diagnosis(named=named), Path(), 2, [], [], {}, apart=apart)
        assert not answer.agrees
        return answer.only_less_exact

    assert told(within) == (less,)
    assert told(within, beyond) == ()
    assert told(within, named=(SimpleNamespace(direction="backward"),)) == ()

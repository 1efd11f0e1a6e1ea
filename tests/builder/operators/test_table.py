"""The table of operators: what its rows say holds of the calls themselves."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from builder.operators.table import TABLE, Trait, has, operator, plain_name

READ = torch.linspace(-2.0, 3.0, 24, dtype=torch.float64).reshape(2, 3, 4)
# How to call what cannot be called with a tensor alone.
HOW: dict[str, Callable[[Tensor], Tensor]] = {
    "view": lambda x: x.view(6, 4),
    "reshape": lambda x: x.reshape(6, 4),
    "view_as": lambda x: x.view_as(torch.empty(6, 4)),
    "reshape_as": lambda x: x.reshape_as(torch.empty(6, 4)),
    "unflatten": lambda x: x.unflatten(2, (2, 2)),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(0, 2),
    "swapaxes": lambda x: x.swapaxes(0, 2),
    "swapdims": lambda x: x.swapdims(0, 2),
    "movedim": lambda x: x.movedim(0, 2),
    "moveaxis": lambda x: x.moveaxis(0, 2),
    "t": lambda x: x[0].t(),
    "relu": functional.relu,
    "relu6": functional.relu6,
    "hardtanh": functional.hardtanh,
    "threshold": lambda x: functional.threshold(x, 0.0, 0.0),
    "leaky_relu": functional.leaky_relu,
    "clamp": lambda x: x.clamp(-1, 1),
    "clip": lambda x: x.clip(-1, 1),
    "clamp_min": lambda x: x.clamp_min(0),
    "clamp_max": lambda x: x.clamp_max(0),
    "maximum": lambda x: torch.maximum(x, torch.zeros_like(x)),
    "minimum": lambda x: torch.minimum(x, torch.zeros_like(x)),
    "add": lambda x: x + 0.0,
    "neg": torch.neg,
}


def call(name: str) -> Callable[[Tensor], Tensor] | None:
    """What a name computes of one tensor; None where that takes more than a tensor."""
    return HOW.get(name) or getattr(torch.Tensor, name, None)


def _names_with(trait: Trait) -> set[str]:
    return {name for name, row in TABLE.items() if trait in row.traits}


@pytest.mark.parametrize("name", sorted(_names_with("ordered") & HOW.keys()))
def test_an_ordered_call_keeps_the_order_of_elements(name: str) -> None:
    computed = call(name)
    assert computed is not None
    flat = computed(READ).flatten()
    assert torch.equal(flat.abs(), READ.flatten().abs())


@pytest.mark.parametrize("name", sorted(_names_with("turn") & HOW.keys()))
def test_a_turn_changes_the_order_of_elements(name: str) -> None:
    computed = call(name)
    assert computed is not None and not has(name, "ordered")
    assert not torch.equal(computed(READ).flatten(), READ.flatten()[: computed(READ).numel()])


@pytest.mark.parametrize("name", sorted(_names_with("linear") & HOW.keys()))
def test_a_sum_of_parts_goes_through_a_linear_call(name: str) -> None:
    computed = call(name)
    assert computed is not None
    parts = torch.randn(2, *READ.shape, dtype=torch.float64)
    assert torch.allclose(computed(parts.sum(0)), computed(parts[0]) + computed(parts[1]))


@pytest.mark.parametrize("name", sorted(_names_with("gates") & HOW.keys() - {"leaky_relu"}))
def test_a_gate_lets_pass_a_part_of_its_gradient(name: str) -> None:
    """Some elements of the gradient are as they came, the others are nothing."""
    computed = call(name)
    assert computed is not None and not has(name, "linear")
    read = READ.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(computed(read).sum(), read)
    assert set(gradient.unique().tolist()) == {0.0, 1.0}


def test_forms_of_one_call_share_a_row() -> None:
    assert operator("mul_") is operator("mul") is operator("__imul__")
    assert plain_name("__add__") == "__add__" and plain_name("masked_fill_") == "masked_fill"


def test_an_unknown_call_has_no_traits_and_no_gains() -> None:
    row = operator("no_such_call")
    assert not row.traits and row.gain is None and row.gradient is None


@pytest.mark.parametrize("name", sorted(TABLE))
def test_a_call_with_a_gradient_has_a_gain(name: str) -> None:
    assert TABLE[name].gradient is None or TABLE[name].gain is not None

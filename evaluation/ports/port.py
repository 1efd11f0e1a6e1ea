"""What a pair of programs of one model is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import nn

Loss = Callable[[nn.Module], torch.Tensor]


@dataclass(frozen=True)
class Port:
    """A model in two programs; the port takes the weights of the original.

    `ported` makes the port of an original, with a fault or (None) without. `faults` says for each
    fault in which module of the port, by its path, the first wrong number is made, or by which call
    outside all modules, or `in` which function; ` or ` stands before the module around it or next
    to it, where values are recorded too coarsely to tell. `dtypes` are the formats that both
    programs can compute in. A model that `is_trained` has norms and biases that are none alike.
    """

    name: str
    original: Callable[[], nn.Module]
    ported: Callable[[nn.Module, str | None], nn.Module]
    loss: Loss
    faults: Mapping[str, str]
    dtypes: tuple[str, ...] = ("float32", "bfloat16")
    is_trained: bool = True


def taken(parameter: torch.Tensor, value: torch.Tensor) -> None:
    """Copy a weight of the original into the port."""
    with torch.no_grad():
        parameter.copy_(value)


def seeded(port: Port) -> nn.Module:
    """The original; where it is trained every parameter is drawn, so that no two are equal."""
    torch.manual_seed(7)
    model = port.original()
    if not port.is_trained:
        return model
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter) * 0.05)
    return model

"""What ports of packages have in common: converted weights, and faults set into a finished port."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from evaluation.ports.port import Loss, Port, taken

Weights = dict[str, torch.Tensor]
Rename = tuple[str, str]  # a pattern of the original's names, and what it becomes


@dataclass(frozen=True)
class Fault:
    """What is wrong in a port: `sets` changes the module at `path`, in which it begins.

    `begins` is another module where the fault's first wrong number is made there.
    """

    path: str
    sets: Callable[[Any], None]
    begins: str | None = None


def port_of(
    name: str,
    original: Callable[[], nn.Module],
    port: Callable[[], nn.Module],
    convert: Callable[[Weights], Weights],
    loss: Loss,
    faults: Mapping[str, Fault],
    dtypes: tuple[str, ...] = ("float32", "bfloat16"),
) -> Port:
    """A port whose weights are converted by name and whose faults are set into it."""

    def ported(model: nn.Module, fault: str | None) -> nn.Module:
        made = port().to(next(model.parameters()).dtype)
        filled(made, convert(dict(model.named_parameters(remove_duplicate=False))))
        if fault is not None:
            faults[fault].sets(made.get_submodule(faults[fault].path))
        return made

    expected = {name: fault.begins or fault.path for name, fault in faults.items()}
    return Port(name, original, ported, loss, expected, dtypes)


def filled(port: nn.Module, weights: Weights) -> None:
    """Give a port its weights; all of them, for one left out would be a fault of its own."""
    own = dict(port.named_parameters())
    missing = own.keys() - weights.keys()
    assert not missing, f"no weight for {sorted(missing)}"
    for name, parameter in own.items():
        taken(parameter, weights[name].reshape(parameter.shape))


def renamed(weights: Weights, renames: Sequence[Rename]) -> Weights:
    """Weights under the names that the first fitting pattern gives; the rest is left out."""
    found: Weights = {}
    for name, weight in weights.items():
        for pattern, template in renames:
            if match := re.fullmatch(pattern, name):
                found[match.expand(template)] = weight
                break
    return found


def joined(weights: Weights, parts: Sequence[str], whole: str) -> None:
    """Put weights that differ in one part of their names in one, under another name."""
    first, *rest = parts
    for name in [each for each in weights if first in each]:
        others = [weights.pop(name.replace(first, other)) for other in rest]
        weights[name.replace(first, whole)] = torch.cat([weights.pop(name), *others])


def converting(
    renames: Sequence[Rename], parts: Sequence[str], whole: str
) -> Callable[[Weights], Weights]:
    """A conversion that renames weights and joins those of `parts`, as of query, key and value."""

    def convert(weights: Weights) -> Weights:
        found = renamed(weights, renames)
        joined(found, parts, whole)
        return found

    return convert


def set_attribute(name: str, value: Any) -> Callable[[nn.Module], None]:
    """A fault: another value of an attribute."""

    def sets(module: nn.Module) -> None:
        assert hasattr(module, name), f"{type(module).__name__} has no {name}"
        setattr(module, name, value)

    return sets


def scale_parameter(name: str, factor: float) -> Callable[[nn.Module], None]:
    """A fault: a weight that is a multiple of what it should be."""

    def sets(module: nn.Module) -> None:
        with torch.no_grad():
            module.get_parameter(name).mul_(factor)

    return sets


def replace_forward(
    change: Callable[..., Any],
) -> Callable[[nn.Module], None]:
    """A fault: `change(forward, *arguments)` stands for the module's own forward."""

    def sets(module: nn.Module) -> None:
        forward = module.forward
        module.forward = lambda *a, **k: change(forward, *a, **k)  # type: ignore[method-assign]

    return sets

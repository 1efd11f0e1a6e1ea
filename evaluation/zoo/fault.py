"""A seeded bug: what it does to an experiment, and which entries count as having found it.

A culprit is the faulty call itself. Where that call is not recorded, the module that directly
contains it and the recorded call that takes its result count. A wrong parameter is found at the
module that owns it or at that module's own call. Nothing else does: not a carrier further on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import torch

from evaluation.zoo.experiment import Experiment

Kind = Literal[
    "forward", "backward", "optimizer", "data", "parameter", "dtype", "mask", "missing", "extra",
    "nan", "order",
]  # fmt: skip
Direction = Literal["forward", "backward"]
Change = Callable[[Experiment], None]
BOTH = (torch.float32, torch.bfloat16)


@dataclass(frozen=True, slots=True)
class Place:
    """Calls of `api` directly inside the module at `path` ('' = top level), or the module itself.

    `nth` picks one of several in call order. `optimizer` and `clip_grad` are paths too, `*` is
    every module and `**` anywhere.
    """

    path: str
    api: str | None = None
    nth: int | None = None
    direction: Direction = "forward"
    step: int = 0


@dataclass(frozen=True, slots=True)
class Fault:
    """`apply` puts the bug into a fresh experiment; any of `culprits` is a right answer."""

    name: str
    kind: Kind
    apply: Change
    culprits: tuple[Place, ...]
    dtypes: tuple[torch.dtype, ...] = BOTH


def call(path: str, *apis: str, nth: int | None = None, step: int = 0) -> tuple[Place, ...]:
    """The faulty call."""
    return tuple(Place(path, api, nth, step=step) for api in apis)


def module(*paths: str, step: int = 0) -> tuple[Place, ...]:
    """A module that directly contains the faulty, unrecorded call, or owns the parameter."""
    return tuple(Place(path, step=step) for path in paths)


def owner(path: str, api: str, step: int = 0) -> tuple[Place, ...]:
    """The module that owns a wrong parameter, and its own call."""
    return (*module(path, step=step), *call(path, api, step=step))


def hook(api: str) -> tuple[Place, ...]:
    """The call that a gradient hook makes: the last of that API in the step, in no module."""
    return (Place("**", api, nth=-1),)


def backward(places: tuple[Place, ...]) -> tuple[Place, ...]:
    """The same places in the backward pass."""
    return tuple(replace(place, direction="backward") for place in places)


def update(*paths: str, step: int = 0) -> tuple[Place, ...]:
    """Any call of the optimizer in that step, or, a step later, a module it updated wrongly.

    Without `paths` it updates every parameter wrongly.
    """
    wrong = tuple(Place(path, step=step + 1) for path in paths or ("*",))
    return (Place("optimizer", "*", step=step), *wrong)

"""Memory that nobody has written yet: what `empty` returned, what a call is about to overwrite.

Its elements are what happened to lie there, so two equal runs differ in them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

ALLOCATING: frozenset[Callable[..., Any]] = frozenset(
    function
    for owner, names in (
        (torch, "empty empty_like empty_strided empty_permuted"),
        (torch.Tensor, "new_empty new_empty_strided"),
    )
    for function in (getattr(owner, name, None) for name in names.split())
    if function is not None
)
"""Functions whose result holds memory that was not written."""

_OVERWRITING = frozenset(
    """
    bernoulli_ cauchy_ copy_ exponential_ fill_ geometric_ log_normal_ normal_ random_ uniform_
    zero_
    """.split()
)
"""Methods that write every element of their tensor and read none."""


@dataclass(frozen=True, slots=True)
class Overwritten:
    """An argument that a call fills whatever it held before."""

    tensor: torch.Tensor


def mark_overwritten(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with those that it only fills marked."""
    if name in _OVERWRITING and args and isinstance(args[0], torch.Tensor):
        args = (Overwritten(args[0]), *args[1:])
    out = kwargs.get("out") if kwargs else None
    if isinstance(out, torch.Tensor):
        kwargs = {**kwargs, "out": Overwritten(out)}
    elif isinstance(out, (tuple, list)):
        kwargs = {**kwargs, "out": [Overwritten(each) for each in out]}
    return args, kwargs

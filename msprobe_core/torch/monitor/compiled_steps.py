"""Finds steps of optimizers that compiled code has made, where no hook tells of them.

What tells is that parameters with a gradient were written meanwhile. The gradient that is left then
is the one that the step has taken: what compiled code itself clips or clears is not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import islice

import torch

from msprobe_core.torch.gradients.optimizers import Optimizer

_LOOKED_AT = 8
"""Parameters of an optimizer that are looked at: the first may have no gradient."""


class CompiledSteps:
    """Calls `stepped` with the number of an optimizer. `told`: those that hooks have told of."""

    def __init__(
        self,
        optimizers: Collection[Optimizer],
        told: Callable[[], Collection[int]],
        stepped: Callable[[int], None],
    ) -> None:
        self._optimizers, self._told, self._stepped = optimizers, told, stepped
        self._before: list[list[tuple[torch.Tensor, int]]] = []
        self._told_before: frozenset[int] = frozenset()

    def begins(self) -> None:
        """Compiled code begins."""
        self._told_before = frozenset(self._told())
        self._before = [
            [(each, each._version) for each in islice(_trained(optimizer), _LOOKED_AT)]
            for optimizer in self._optimizers
        ]

    def ends(self) -> None:
        """Compiled code has ended."""
        before, self._before = self._before, []
        by_hooks = set(self._told()) - self._told_before
        for number, looked_at in enumerate(before):
            written = any(p._version != v and p.grad is not None for p, v in looked_at)
            if written and number not in by_hooks:
                self._stepped(number)


def _trained(optimizer: Optimizer) -> Iterator[torch.Tensor]:
    return (p for group in optimizer.param_groups for p in group["params"] if p.requires_grad)

"""What torch itself says of a run: the gradients that each step's optimizer takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn


@dataclass(slots=True)
class Truth:
    """The 2-norms of gradients by step and parameter, of what is there when an optimizer steps."""

    norms: dict[tuple[int, str], float] = field(default_factory=dict)

    def take(self, step: int, model: object, optimizer: Any) -> None:
        """Note the gradients that an optimizer finds now."""
        if not isinstance(model, nn.Module) or optimizer is None:
            return
        taken = {id(each) for group in optimizer.param_groups for each in group["params"]}
        for name, parameter in model.named_parameters():
            norm = _norm(parameter.grad) if id(parameter) in taken else None
            if norm is not None:
                self.norms[step, name] = norm

    def take_with(
        self, step: int, model: object, optimizer: Any, args: Any, kwargs: Any
    ) -> tuple[Any, Any] | None:
        """Note the gradients of a step that is about to begin: where it has a closure, those that
        the closure's first run leaves. What is returned are the arguments with that closure.
        """
        closure = kwargs.get("closure", args[1] if len(args) > 1 else None)
        if closure is None:
            self.take(step, model, optimizer)
            return None
        runs: list[Any] = []

        def noted() -> Any:
            loss = closure()
            if not runs:
                self.take(step, model, optimizer)
            runs.append(None)
            return loss

        return (args[0],), {**kwargs, "closure": noted}


def _norm(gradient: torch.Tensor | None) -> float | None:
    """The norm in float64, of a distributed tensor that of the whole; None for what has none."""
    if gradient is None or gradient.is_meta:
        return None
    with torch.no_grad():
        whole: Any = gradient.full_tensor() if hasattr(gradient, "full_tensor") else gradient
        if whole.is_sparse:
            whole = whole.coalesce().values()
        wide = torch.complex128 if whole.is_complex() else torch.float64
        return float(torch.linalg.vector_norm(whole.detach().to(wide)))


class OwnOptimizer:
    """Steps a model that nobody else steps, by nothing: what it takes is there, and no bit moves.

    One whose step raises stays away from then on, from every run alike.
    """

    def __init__(self, model: object) -> None:
        parameters = list(model.parameters()) if isinstance(model, nn.Module) else []
        taken = [p for p in parameters if p.requires_grad and not p.is_meta]
        self.optimizer = torch.optim.SGD(taken, lr=0.0) if taken else None

    def step(self) -> None:
        """A step, if it can be made."""
        if self.optimizer is not None:
            self.optimizer.step()

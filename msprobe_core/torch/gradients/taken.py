"""Which tensor is the gradient that an optimizer takes, and by what it is still scaled."""

from __future__ import annotations

from typing import NamedTuple

import torch

_OWN = ("main_grad", "decoupled_grad")
"""Where Megatron keeps gradients: what it accumulates into, and what TransformerEngine reads."""


class Scaling(NamedTuple):
    """What a fused optimizer does to gradients itself, as torch's GradScaler has told it.

    `scale` divides them; where `found_inf` is not 0 the step changes nothing.
    """

    scale: torch.Tensor | None = None
    found_inf: torch.Tensor | None = None


def gradient_of(parameter: torch.Tensor) -> torch.Tensor | None:
    """The gradient that the optimizer reads: `main_grad` where Megatron keeps it, else `grad`."""
    for name in _OWN:
        own = getattr(parameter, name, None)
        if isinstance(own, torch.Tensor):
            return own
    return parameter.grad


def scaling_of(optimizer: object) -> Scaling:
    """What an optimizer is about to do to its gradients, copied: the scaler changes it in place."""
    scale, found = (getattr(optimizer, name, None) for name in ("grad_scale", "found_inf"))
    return Scaling(_copied(scale), _copied(found))


def unscaled(gradient: torch.Tensor, scaling: Scaling) -> torch.Tensor:
    """A gradient as the fused step computes with it."""
    if scaling.scale is None:
        return gradient
    return gradient / scaling.scale.to(gradient.device)


def _copied(value: object) -> torch.Tensor | None:
    return value.detach().clone() if isinstance(value, torch.Tensor) else None

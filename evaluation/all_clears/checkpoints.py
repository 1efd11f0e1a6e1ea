"""Changes of a saved model beside the model as it was saved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from evaluation.all_clears.answers import Said, asked
from msprobe.checkpoints import compare_checkpoints

Weights = dict[str, torch.Tensor]
SUFFIXES = (".pt", ".safetensors")


def said_of_models(suffix: str, numbers: Iterable[int], folder: Path, seed: int) -> Iterator[Said]:
    """What `ckpt_compare` says of models of which either has a drawn change.

    First of models without one, which must be an all-clear.
    """
    model = _model()
    if suffix == ".safetensors":
        del model["layers.4.weight"]  # complex numbers have no name there
    sound, other = folder / f"sound{suffix}", folder / f"changed{suffix}"
    _save(model, sound)
    _save(model, other)
    yield _said(other, sound)
    for number in numbers:
        chance = np.random.default_rng([seed, number, len(suffix)])
        changed = {name: tensor.clone() for name, tensor in model.items()}
        told = _change(changed, chance)
        _save(changed, other)
        sides = (sound, other) if number % 2 else (other, sound)
        yield replace(_said(*sides), change=f"model in {suffix[1:]} {number}: {told}")


def _said(first: Path, second: Path) -> Said:
    return asked("ckpt_compare", lambda: compare_checkpoints(first, second, None).claim)


def _save(weights: Weights, path: Path) -> None:
    if path.suffix == ".pt":
        torch.save(weights, path)
    else:
        save_file(weights, path)


def _model() -> Weights:
    """Parameters of every family of number formats, of all sizes, and a scale for each of them."""
    generator = torch.Generator().manual_seed(0)
    drawn = {
        f"layers.{at}.weight": torch.randn(shape, generator=generator).to(dtype)
        for at, (shape, dtype) in enumerate(
            [
                ((8, 4), torch.float32),
                ((64, 8), torch.bfloat16),
                ((3,), torch.float16),
                ((5, 5), torch.float64),
                ((4, 4), torch.complex64),
                ((), torch.float32),
            ]
        )
    }
    counts = torch.arange(5) + 2**54
    flags = torch.tensor([True, False, True])
    return drawn | {
        "embedding.tiny": 1e-170 * torch.randn(6, generator=generator, dtype=torch.float64),
        "optimus.weight": torch.zeros(4),
        "lr_scheduler_proj.weight": torch.randn(3, generator=generator),
        "rng_head.bias": torch.randn(2, generator=generator),
        "scaler.scale": torch.full((2,), 3e4, dtype=torch.float16),
        "steps": counts,
        "bytes": torch.arange(7, dtype=torch.uint8),
        "mask": flags,
    }


def _change(weights: Weights, chance: np.random.Generator) -> str:
    # Not drawn: another name. Each row says what its parameters were matched by.
    name = str(chance.choice(sorted(weights)))
    how = str(chance.choice(["one", "order", "not finite", "shape", "lost"]))
    tensor, flat = weights[name], weights[name].view(-1)
    if how == "lost":
        del weights[name]
    elif how == "shape":
        weights[name] = tensor.reshape(1, *tensor.shape)
    elif how == "order" and not torch.equal(flat, flat.roll(1)):
        flat.copy_(flat.clone().roll(1))
    else:
        at = int(chance.integers(len(flat)))
        flat[at] = _other(flat[at], chance, finite=how != "not finite")
        return f"element {at} of {name}"
    return f"{how} of {name}"


def _other(number: torch.Tensor, chance: np.random.Generator, *, finite: bool) -> torch.Tensor:
    """Another number: by 2 % or more, which no format here rounds away; whole ones by one."""
    if number.dtype is torch.bool:
        return ~number
    if not (number.is_floating_point() or number.is_complex()):
        return number + 1
    if not finite:
        return torch.full_like(number, float(chance.choice(["nan", "inf", "-inf"])))
    if number == 0:
        return torch.full_like(number, 1e-3)
    return number * -1 if chance.random() < 0.3 else number * (1 + 10 ** chance.uniform(-1.7, 0))

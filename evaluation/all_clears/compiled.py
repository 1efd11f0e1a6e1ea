"""Changes of what a compiled model hands out, while all records of it agree with eager's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

import builder
from evaluation.all_clears.answers import Said, asked
from evaluation.all_clears.recorded import recorded_run, write_run
from msprobe.compile_check.compilation import Answer
from msprobe.compile_check.results import results_apart

_MODULES = 4
Results = dict[str, torch.Tensor]


def said_of_compiled(numbers: Iterable[int], folder: Path, seed: int) -> Iterator[Said]:
    """What `compile_check` says of a model of which one result alone differs from eager's.

    First of one without a difference, which must be an all-clear.
    """
    for name in ("compiled", "eager"):
        write_run(recorded_run("sketch"), folder / name)
    built = builder.build(folder / "compiled", folder / "eager", folder)
    diagnosis, eager = builder.diagnose(built.path), _results()

    def said(alone: Results, recorded: Results) -> Said:
        apart = tuple(
            each for each in results_apart(alone, recorded, eager, _MODULES) if not each.is_judged
        )
        answer = Answer(diagnosis, built.path, len(eager), [], [], {}, apart=apart)
        return asked("compile_check", lambda: answer.claim)

    yield said(eager, eager)
    for number in numbers:
        alone = {name: tensor.clone() for name, tensor in eager.items()}
        told = _change(alone, np.random.default_rng([seed, number]))
        yield replace(said(alone, eager), change=f"compiled {number}: {told}")


def _results() -> Results:
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(4, 6, generator=generator)
    return {
        "output 0": drawn,
        "output 1": drawn.to(torch.bfloat16),
        "output 2": drawn.argmax(-1),
        "output 3": drawn > 0,
        "output 4": torch.complex(drawn, drawn.flip(0)),
        "loss": drawn.square().mean(),
        "gradient of fc.weight": drawn / 12,
        "gradient of fc.bias": drawn.sum(0) / 12,
    }


def _change(results: Results, chance: np.random.Generator) -> str:
    """Any element of any result moves by a fifth of the largest or more. 4 modules round by less:
    4 eps of bfloat16 are 3 % of a norm of 24 elements, which is at most 5 times the largest.
    """
    name = str(chance.choice(sorted(results)))
    how = str(chance.choice(["one", "order", "not finite", "dtype", "shape", "lost", "more"]))
    tensor = results[name]
    flat = tensor.view(-1)
    if how == "lost":
        del results[name]
    elif how == "more":
        results["output 5"] = tensor
    elif how == "dtype":
        results[name] = tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)
    elif how == "shape":
        results[name] = tensor[None]
    elif how == "order" and not torch.equal(flat, flat.roll(1)):
        flat.copy_(flat.clone().roll(1))
    else:
        at = int(chance.integers(len(flat)))
        flat[at] = _other(flat, at, chance, finite=how != "not finite")
        return f"element {at} of {name}"
    return f"{how} of {name}"


def _other(
    flat: torch.Tensor, at: int, chance: np.random.Generator, *, finite: bool
) -> torch.Tensor:
    if flat.dtype is torch.bool:
        return ~flat[at]
    if not (flat.is_floating_point() or flat.is_complex()):
        return flat[at] + 1
    if not finite:
        return torch.full_like(flat[at], float(chance.choice(["nan", "inf", "-inf"])))
    return flat[at] + flat.abs().max() * 10 ** chance.uniform(-0.7, 1)

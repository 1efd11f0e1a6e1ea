"""What became of the gradients of the open step: measured when, clipped by what, still scaled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from weakref import ref

import numpy as np
import torch

from msprobe_core.monitor.moments import HIGH, LOW, SIZE, SQUARES, SUM, Rows, empty_rows
from msprobe_core.torch.gradients.clipping import EPS, Clip
from msprobe_core.torch.gradients.taken import Scaling

_FOLLOWS_FROM_MOMENTS = (2.0, float("inf"))
"""Types of a norm that the moments of all shards tell without a reduction of our own."""


@dataclass(slots=True)
class Clipped:
    """A clipping of parameters by their numbers; its parameters themselves are not held."""

    numbers: set[int]
    factor: torch.Tensor | float | None
    max_norm: float | None
    norm_type: float | None

    @property
    def is_measured(self) -> bool:
        """Whether only the gradients themselves say what it did to them."""
        known = self.max_norm is not None and self.norm_type in _FOLLOWS_FROM_MOMENTS
        return self.factor is None and not known

    def factor_of(self, rows: Rows, squares: float) -> float:
        """By what gradients with these moments, and these squares by now, were multiplied."""
        if self.factor is not None:
            return float(self.factor)
        assert self.max_norm is not None
        largest = float(np.abs(rows[:, [LOW, HIGH]]).max())
        total = largest if self.norm_type == float("inf") else squares**0.5
        return min(1.0, self.max_norm / (total + EPS))


class StepGradients:
    """A gradient is measured once: where clipping is about to change it, else where it is taken.

    What is written between those two (a further backward pass, the scaler) makes it another one:
    it is measured anew, and no earlier clipping is told of it.
    """

    def __init__(self) -> None:
        self._seen: dict[int, tuple[ref[torch.Tensor], int]] = {}
        self._clips: list[Clipped] = []
        self._scalings: list[tuple[list[int], Scaling]] = []

    def knows(self, number: int, gradient: torch.Tensor) -> bool:
        """Whether a parameter's gradient is the one that was measured, up to its clipping."""
        known = self._seen.get(number)
        return known is not None and known[0]() is gradient and known[1] == gradient._version

    def note(self, number: int, gradient: torch.Tensor) -> bool:
        """Note that a gradient is measured now; True where an earlier one was."""
        again = number in self._seen
        self._seen[number] = (ref(gradient), gradient._version)
        if again:
            for clipped in self._clips:
                clipped.numbers.discard(number)
        return again

    def clipped(self, gradients: Mapping[int, torch.Tensor], clip: Clip) -> bool:
        """Note that known gradients were clipped; True where they have to be measured for it."""
        self._seen |= {number: (ref(one), one._version) for number, one in gradients.items()}
        clipped = Clipped(set(gradients), clip.factor, clip.max_norm, clip.norm_type)
        self._clips.append(clipped)
        return clipped.is_measured

    def scaled(self, numbers: Sequence[int], scaling: Scaling) -> None:
        """Note what a fused optimizer is about to do to gradients."""
        if scaling.scale is not None or scaling.found_inf is not None:
            self._scalings.append((list(numbers), scaling))

    def told(self, rows: Rows, gradient_rows: Sequence[int]) -> GradientsTold:
        """Divide gradients of [kind][parameter][moment] by their scale, and empty all rows of steps
        that were skipped. What is returned holds no tensor any more.
        """
        skipped = []
        for numbers, scaling in self._scalings:
            scale, found = scaling
            skipped.append(found is not None and float(found) > 0)
            if skipped[-1]:
                rows[:, numbers] = empty_rows(len(numbers))
            elif scale is not None:
                chosen = np.ix_(gradient_rows, numbers)
                rows[chosen] = _times(rows[chosen], 1.0 / float(scale))
        for clipped in self._clips:
            if clipped.factor is not None:
                clipped.factor = float(clipped.factor)
        return GradientsTold(bool(skipped) and all(skipped), self._clips)


@dataclass(slots=True)
class GradientsTold:
    """What is known of a step's gradients beside their moments.

    `skipped`: each step that a scaler could skip was.
    """

    skipped: bool
    clips: list[Clipped]

    def clip_factors(
        self, names: Sequence[str], gradients: Rows, clipped: Rows
    ) -> dict[str, float]:
        """By what clipping multiplied the norm of all gradients, as `clip`; empty without clipping.

        Where parts were clipped by themselves, of each part, too, by the name of what it holds.
        """
        there = {int(n) for n in np.flatnonzero(gradients[:, SIZE] > 0)}
        clips = [(one, one.numbers & there) for one in self.clips]
        clips = [(one, numbers) for one, numbers in clips if numbers]
        if not clips:
            return {}
        parts: dict[str, float] = {}
        after = gradients[:, SQUARES].copy()
        for one, numbers in clips:
            chosen = sorted(numbers)
            before = float(after[chosen].sum())
            if one.is_measured:
                after[chosen] = clipped[chosen, SQUARES]
                factor = _quotient(float(after[chosen].sum()), before)
            else:
                factor = one.factor_of(gradients[chosen], before)
                after[chosen] *= factor**2
            name = "clip" if numbers == there else _shared_name([names[n] for n in chosen])
            parts[name] = parts.get(name, 1.0) * factor
        if set(parts) != {"clip"}:
            chosen = sorted(there)
            parts["clip"] = _quotient(after[chosen].sum(), gradients[chosen, SQUARES].sum())
        return parts


def _times(rows: Rows, factor: float) -> Rows:
    result: Rows = rows.copy()
    result[..., [LOW, HIGH, SUM]] *= factor
    result[..., SQUARES] *= factor**2
    return result


def _quotient(after: float, before: float) -> float:
    """Of two norms by their squares; what was 0 was multiplied by nothing."""
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.float64(after) / np.float64(before))) if before else 1.0


def _shared_name(names: Sequence[str]) -> str:
    """The module that all are in, or the first of them and how many more there are."""
    paths = [name.split(".")[:-1] for name in names]
    pairs = zip(min(paths), max(paths), strict=False)
    shared = ".".join(part for part, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return shared or names[0] + (f" + {len(names) - 1}" if len(names) > 1 else "")

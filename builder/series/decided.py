"""What a script decides and no result is: rates, settings of optimizers, clipping, loss scale,
skipped steps. Where it differs the trainings are others from there on, whatever moves first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from builder.series.pieces import Steps
from builder.series.run import Key, TrendRun
from msprobe_core.format.series import KINDS, SETTING

# They are written as float32, whose last bit is 1.2e-7 of them.
_ROUNDING = 1e-6
_BEHIND = {"loss_scale": "loss", "skipped": "actv_grad", "clip": "grad_norm", "lr": "grad_norm"}
"""The last kind that a step has made when it is decided; settings are used with the rate, and what
is in a group has its gradients taken."""
_ORDER = ("loss_scale", "skipped", "lr", SETTING, "clip")
_OF_GRADIENTS = frozenset({"clip", "skipped"})
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Decided:
    """The first `step` at which the runs decide differently, and how; None where one decides none:
    it has no such setting, clips nothing, skips nothing.
    """

    step: int
    target: Key
    own: float | None
    other: float | None

    def comes_before(self, step: int, target: Key) -> bool:
        """Whether it can be what made a target differ in a step."""
        if self.step != step:
            return self.step < step
        kind, name = self.target
        last = "actv_grad" if name.endswith(".elements") else _BEHIND.get(kind, "grad_norm")
        behind = KINDS.index(last)
        return target[0] in KINDS[behind + 1 :]


def first_decided(problem: TrendRun, benchmark: TrendRun, steps: Steps) -> Decided | None:
    """What is decided otherwise first, of one step what is used first; None where all is alike."""
    found = list(_apart(problem, benchmark, steps)) if len(steps) else []
    return min(found, key=lambda each: (each.step, _ORDER.index(each.target[0])), default=None)


def _apart(problem: TrendRun, benchmark: TrendRun, steps: Steps) -> Iterator[Decided]:
    runs = problem, benchmark
    for key in _keys(problem, benchmark):
        own, other = (_values(run, key, steps) for run in runs)
        apart = _apart_in(key, runs, own, other)
        if key[0] in _OF_GRADIENTS:
            norms = [_values(run, ("grad_norm", "grad_norm"), steps) for run in runs]
            apart = _one_sided(key[0], own, other, np.isfinite(norms[0] + norms[1]))
        if apart.any():
            at = int(np.argmax(apart))
            yield Decided(int(steps[at]), key, _known(own[at]), _known(other[at]))


def _apart_in(key: Key, runs: tuple[TrendRun, TrendRun], own: Floats, other: Floats) -> Mask:
    """Where numbers differ, or where one run has a group, or a setting of one, that the other has
    not, although it tells of such.
    """
    if all(key in _known_to(run) for run in runs):
        with np.errstate(invalid="ignore"):  # NaN is not known
            unlike: Mask = np.abs(own - other) > _ROUNDING * np.maximum(np.abs(own), np.abs(other))
        return unlike
    owner = key[1].partition(".")[0] if key[0] == SETTING else ""
    alike = all(
        any(kind == key[0] and name.startswith(owner) for kind, name in _known_to(run))
        for run in runs
    )
    return (np.isfinite(own) | np.isfinite(other)) & (alike and key[0] != "loss_scale")


def _one_sided(kind: str, own: Floats, other: Floats, both: Mask) -> Mask:
    """Where one run alone skips its step, or clips gradients that `both` have.

    Two factors differ as the norms do that they are made of, which is a result, and a factor of 1
    clips nothing.
    """
    alone: Mask = np.isnan(own) ^ np.isnan(other)
    return alone if kind == "skipped" else alone & both & (np.fmin(own, other) < 1)


def _keys(problem: TrendRun, benchmark: TrendRun) -> list[Key]:
    """What either has decided. Who follows no optimizer tells of neither clipping nor skips."""
    runs = problem, benchmark
    found = dict.fromkeys(key for run in runs for key in _known_to(run) if key[0] in _ORDER)
    follow = all(any(kind == "lr" for kind, _ in _known_to(run)) for run in runs)
    return [key for key in found if follow or key[0] not in _OF_GRADIENTS]


def _known_to(run: TrendRun) -> dict[Key, None]:
    return dict.fromkeys(target.key for target in run.targets)


def _values(run: TrendRun, key: Key, steps: Steps) -> Floats:
    """A decision at each step, NaN where none was made; a setting holds until the next one."""
    if key not in _known_to(run):
        return np.full(len(steps), np.nan)
    at, values = run.table([key])
    known = values[:, 0].astype(np.float64)
    known[known == -np.inf] = np.nan
    if key[0] == SETTING:
        last = np.maximum.accumulate(np.where(np.isnan(known), -1, np.arange(len(known))))
        known = np.where(last >= 0, known[last], np.nan)
    return known[np.searchsorted(at, steps)]


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None

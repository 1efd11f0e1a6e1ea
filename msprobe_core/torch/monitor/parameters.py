"""Measures parameters: gradients before clipping, then weights, state and update after the step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from msprobe_core.monitor.moments import SIZE, SQUARES, SUM, Rows, empty_rows, scalar_row
from msprobe_core.monitor.targets import TargetBook
from msprobe_core.torch.gradients.clipping import Clip
from msprobe_core.torch.gradients.optimizers import Optimizer
from msprobe_core.torch.gradients.taken import gradient_of, scaling_of
from msprobe_core.torch.monitor.followed_parameters import FollowedParameters, Numbered
from msprobe_core.torch.monitor.lane import Lane
from msprobe_core.torch.monitor.rank_joining import Joined, Pieces
from msprobe_core.torch.monitor.ratio import UpdateRatios
from msprobe_core.torch.monitor.settings import Settings
from msprobe_core.torch.monitor.shards import local_part
from msprobe_core.torch.monitor.step_gradients import GradientsTold, StepGradients

KINDS = ("grad", "exp_avg", "exp_avg_sq", "ratio", "param")
_GRAD, _RATIO, _PARAM = KINDS.index("grad"), KINDS.index("ratio"), KINDS.index("param")
_CLIPPED = len(KINDS)
"""A row more: gradients after a clipping of which only they themselves tell the factor."""
_ROWS = len(KINDS) + 1
_STATE = {
    "exp_avg": ("exp_avg", "momentum_buffer"),
    "exp_avg_sq": ("exp_avg_sq", "square_avg", "sum"),
}
"""What optimizers of torch call the first and the second moment of the gradient."""


class ParameterWatch:
    """The trained parameters of a model, each with one place a kind in a lane."""

    def __init__(self, models: Sequence[nn.Module], settings: Settings, lane: Lane) -> None:
        self._settings, self._lane = settings, lane
        self._followed = FollowedParameters(models, alone=settings.local)
        self._first: list[int] = []
        self._put: set[int] = set()
        self._gradients = StepGradients()
        self._columns: dict[tuple[int, int], int] = {}
        self._updated: list[int] = []
        self._ratios: UpdateRatios | None = None
        self._moved: torch.Tensor | None = None
        self._reserve()

    @property
    def has_others(self) -> bool:
        """Whether other ranks hold some of its parameters, too."""
        return any(family is not None for family in self._followed.families)

    def expect_updates(self, optimizers: Sequence[Optimizer]) -> None:
        """Remember what optimizers are about to change; what none of them has is not watched."""
        trained = {n: each for one in optimizers for n, each in self._followed.trained_by(one)}
        self._reserve()
        updated = sorted(trained)
        if self._settings.every.get("ratio", 1) and updated != self._updated:
            self._updated = updated
            self._ratios = UpdateRatios([local_part(trained[n]) for n in updated])

    def clipped_of(self, clip: Clip, optimizers: Sequence[Optimizer]) -> Numbered:
        """What is clipped of that which optimizers are going to take."""
        clipped = {id(parameter) for parameter in clip.parameters}
        trained = {n: each for one in optimizers for n, each in self._followed.trained_by(one)}
        return [(number, each) for number, each in trained.items() if id(each) in clipped]

    def measure_gradients(self, numbered: Numbered, step: int) -> None:
        """Measure gradients that were not measured yet, or that are others by now."""
        self._reserve()
        fresh = {
            number: gradient
            for number, gradient in self._due(numbered, step).items()
            if not self._gradients.knows(number, gradient)
        }
        self._measure(_GRAD, fresh)
        for number, gradient in fresh.items():
            self._gradients.note(number, gradient)

    def measure_factor(self, numbered: Numbered, clip: Clip, step: int) -> None:
        """Note what a clipping has done to gradients that were measured before it."""
        clipped = self._due(numbered, step)
        if clipped and self._gradients.clipped(clipped, clip):
            self._measure(_CLIPPED, clipped)

    def measure_taken(self, optimizer: Optimizer, step: int) -> None:
        """Measure the gradients that a step of an optimizer computes with."""
        trained = self._followed.trained_by(optimizer)
        self.measure_gradients(trained, step)
        self._gradients.scaled([number for number, _ in trained], scaling_of(optimizer))

    def measure_updated(self, optimizer: Optimizer, step: int) -> None:
        """Measure weights and optimizer state, which belong to the step that has just ended."""
        state = getattr(optimizer, "state", {})
        trained = self._followed.trained_by(optimizer)
        for kind in ("exp_avg", "exp_avg_sq", "param"):
            row = KINDS.index(kind)
            if self._settings.is_due(kind, step):
                found = {
                    number: parameter if row == _PARAM else _state_of(state, parameter, kind)
                    for number, parameter in trained
                    if self._is_measured(number, row, step)
                }
                self._measure(row, {n: one for n, one in found.items() if one is not None})

    def measure_ratios(self, step: int) -> None:
        """Measure how far the update went, and no more than that of one step; to be read with the
        rest.
        """
        if self._ratios is None:
            return
        if self._settings.is_due("ratio", step):
            self._moved = self._ratios.measure()
        elif self._settings.is_due("ratio", step + 1):
            self._ratios.remember()

    def collect(
        self, reserved: Rows, step: int, complete: Callable[[Joined, GradientsTold], None]
    ) -> Pieces:
        """What this rank holds of a step, for `complete` to take when it is whole."""
        rows: Rows = reserved.reshape(len(self._first), _ROWS, -1).swapaxes(0, 1).copy()
        gradients, self._gradients, self._put = self._gradients, StepGradients(), set()
        if self._moved is not None:
            squares = np.asarray(self._moved.to("cpu", torch.float64).tolist())
            rows[_RATIO, self._updated] = _ratio_rows(squares)
            self._moved = None
        told = gradients.told(rows, (_GRAD, _CLIPPED))
        followed, tie = self._followed, self._settings.tie_every
        return Pieces(
            step,
            rows,
            list(followed.families),
            list(followed.names),
            [each.numel() if hasattr(each, "to_local") else None for each in followed.tensors],
            lambda joined: complete(joined, told),
            counts=frozenset({_RATIO}),
            compared=_PARAM if tie and step % tie == 0 else None,
        )

    def finish(self, joined: Joined, book: TargetBook, told: GradientsTold) -> Finished:
        """The rows of a step that this rank writes."""
        rows, names = joined.rows, self._followed.names
        found = Finished({names[number]: ranks for number, ranks in joined.differing.items()})
        written = (rows[..., SIZE] > 0) & joined.written
        if joined.is_whole and written[_GRAD].any():
            found.add("grad_norm", "grad_norm", _total_norm(rows[_GRAD][written[_GRAD]]), book)
            whole = np.where(written[_GRAD][:, None], rows[_GRAD], empty_rows(1))
            for name, factor in told.clip_factors(names, whole, rows[_CLIPPED]).items():
                found.add("clip", name, factor, book)
        if told.skipped:
            found.add("skipped", "skipped", 1.0, book)
        rows[_RATIO] = _quotients(rows[_RATIO])
        for row, number in np.argwhere(written[: len(KINDS)]).tolist():
            found.rows.append((self._column(book, row, number), rows[row, number]))
        return found

    def _reserve(self) -> None:
        while len(self._first) < len(self._followed):
            self._first.append(self._lane.reserve(_ROWS))

    def _due(self, numbered: Numbered, step: int) -> dict[int, torch.Tensor]:
        """The gradients that are measured in a step, as far as there are any."""
        if not self._settings.is_due("grad", step):
            return {}
        return {
            number: gradient
            for number, parameter in numbered
            if (gradient := gradient_of(parameter)) is not None
            and self._is_measured(number, _GRAD, step)
        }

    def _measure(self, row: int, tensors: Mapping[int, torch.Tensor]) -> None:
        places = {number: self._first[number] + row for number in tensors}
        again = self._put.intersection(places.values())
        if again:  # the same parameter again in this step: the last one holds
            self._lane.moments.forget(again)
        self._put.update(places.values())
        for number, tensor in tensors.items():
            self._lane.moments.put(places[number], local_part(tensor))

    def _is_measured(self, number: int, row: int, step: int) -> bool:
        """Replicas are measured by the rank that writes them, and by all when they are compared."""
        family = self._followed.families[number]
        if family is None or family.role != "silent":
            return True
        tie = self._settings.tie_every
        return family.compared and row == _PARAM and tie > 0 and step % tie == 0

    def _column(self, book: TargetBook, row: int, number: int) -> int:
        column = self._columns.get((row, number))
        if column is None:
            parameter = self._followed.tensors[number]
            # Gradients are made from the last parameter to the first.
            place = len(self._first) - number if row == _GRAD else number
            shape = () if row == _RATIO else tuple(parameter.shape)
            name = self._followed.names[number]
            column = book.column(KINDS[row], name, shape, parameter.dtype, place)
            self._columns[row, number] = column
        return column


class Finished:
    """The rows of a finished step by column, and replicas that differ."""

    def __init__(self, differing: dict[str, list[int]]) -> None:
        self.rows: list[tuple[int, Rows]] = []
        self.differing = differing

    def add(self, kind: str, name: str, value: float, book: TargetBook) -> None:
        """Add a number of the step."""
        self.rows.append((book.column(kind, name), scalar_row(value)[0]))


def _state_of(state: Mapping[Any, Any], parameter: torch.Tensor, kind: str) -> torch.Tensor | None:
    found = state.get(parameter) or {}
    for name in _STATE[kind]:
        value = found.get(name)
        if isinstance(value, torch.Tensor) and value.shape == parameter.shape:
            return value
    return None


def _ratio_rows(squares: Rows) -> Rows:
    """[2][parameter] squares of updates and of weights as rows that add up over shards."""
    rows = empty_rows(squares.shape[1])
    rows[:, SUM], rows[:, SQUARES], rows[:, SIZE] = squares[0], squares[1], 1
    return rows


def _quotients(rows: Rows) -> Rows:
    """Norm of the update by that of the weights, as rows of scalars; 0/0 is 0."""
    with np.errstate(all="ignore"):
        ratios = np.sqrt(rows[:, SUM] / rows[:, SQUARES])
    ratios[(rows[:, SUM] == 0) & (rows[:, SQUARES] == 0)] = 0
    found = np.concatenate([scalar_row(value) for value in ratios]) if len(rows) else rows
    found[rows[:, SIZE] == 0] = empty_rows(1)
    return found


def _total_norm(rows: Rows) -> float:
    return float(np.sqrt(rows[:, SQUARES].sum()))

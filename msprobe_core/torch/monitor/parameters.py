"""Measures parameters: gradients before clipping, then weights, state and update after the step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from msprobe_core.monitor.moments import SIZE, SQUARES, SUM, Rows, empty_rows, scalar_row
from msprobe_core.monitor.targets import TargetBook
from msprobe_core.report import say
from msprobe_core.torch.monitor.followed_modules import clean_name
from msprobe_core.torch.monitor.optimizer_steps import Optimizer
from msprobe_core.torch.monitor.ratio import UpdateRatios
from msprobe_core.torch.monitor.settings import Settings
from msprobe_core.torch.monitor.shards import (
    Placement,
    differing,
    exchange_of,
    local_part,
    placements,
)
from msprobe_core.torch.monitor.tensor_moments import MomentTable

KINDS = ("grad", "exp_avg", "exp_avg_sq", "ratio", "param")
_GRAD, _RATIO, _PARAM = KINDS.index("grad"), KINDS.index("ratio"), KINDS.index("param")
_STATE = {
    "exp_avg": ("exp_avg", "momentum_buffer"),
    "exp_avg_sq": ("exp_avg_sq", "square_avg", "sum"),
}
"""What optimizers of torch call the first and the second moment of the gradient."""


class ParameterWatch:
    """The trained parameters of a model, each with one place a kind."""

    def __init__(self, models: Sequence[nn.Module], settings: Settings) -> None:
        self._settings = settings
        listed = list(_listed(models))
        self.names = [name for name, _, _ in listed]
        self._parameters = [parameter for _, parameter, _ in listed]
        self._placed = [placement for _, _, placement in listed]
        if settings.local:
            self._placed = [Placement()] * len(listed)
        self._number = {id(parameter): i for i, parameter in enumerate(self._parameters)}
        self._exchange = exchange_of(self._parameters, self._placed) if listed else None
        self._columns = np.full((len(KINDS), len(listed)), -1, dtype=np.intp)
        self._updated: list[int] = []
        self._ratios: UpdateRatios | None = None
        self._moved: torch.Tensor | None = None

    @property
    def places(self) -> int:
        """How many places it needs."""
        return len(KINDS) * len(self._parameters)

    @property
    def is_cut(self) -> bool:
        """Whether other ranks take part in making its numbers."""
        return self._exchange is not None

    def expect_updates(self, optimizers: Sequence[Optimizer]) -> None:
        """Remember what optimizers are about to change; what none of them has is not watched."""
        if not self._settings.every.get("ratio", 1):
            return
        updated = sorted({number for each in optimizers for number, _ in self._of(each)})
        if updated != self._updated:
            self._updated = updated
            self._ratios = UpdateRatios([local_part(self._parameters[n]) for n in updated])

    def measure_gradients(self, moments: MomentTable, optimizer: Optimizer, step: int) -> None:
        """Measure the gradients of an optimizer's parameters as they are."""
        if not self._settings.is_due("grad", step):
            return
        for number, parameter in self._of(optimizer):
            if parameter.grad is not None and self._is_measured(number, _GRAD, step):
                moments.put(self._place(_GRAD, number), local_part(parameter.grad))

    def measure_updated(self, moments: MomentTable, optimizer: Optimizer, step: int) -> None:
        """Measure weights and optimizer state, which belong to the step that has just ended."""
        state = getattr(optimizer, "state", {})
        for kind in (name for name in KINDS if self._settings.is_due(name, step)):
            row = KINDS.index(kind)
            for number, parameter in self._of(optimizer):
                if kind not in ("grad", "ratio") and self._is_measured(number, row, step):
                    tensor = parameter if row == _PARAM else _state_of(state, parameter, kind)
                    if tensor is not None:
                        moments.put(self._place(row, number), local_part(tensor))

    def measure_ratios(self, step: int) -> None:
        """Measure how far the update went; to be read with the rest."""
        if self._ratios is not None and self._settings.is_due("ratio", step):
            self._moved = self._ratios.measure()

    def finish(self, reserved: Rows, book: TargetBook, step: int) -> Finished:
        """Make the rows of a step global where parameters are cut. Raises nothing of a group."""
        rows = reserved.reshape(len(KINDS), len(self._parameters), -1)
        if self._moved is not None:
            squares = np.asarray(self._moved.to("cpu", torch.float64).tolist())
            rows[_RATIO, self._updated] = _ratio_rows(squares)
            self._moved = None
        rows = self._globalized(rows)
        found = Finished(self._differing(rows, step))
        there = rows[..., SIZE] > 0
        found.grad_norm = _total_norm(rows[_GRAD][there[_GRAD]])
        rows[_RATIO] = _quotients(rows[_RATIO])
        for row, number in np.argwhere(there).tolist():
            if self._placed[number].writes:
                found.rows.append((self._column(book, row, number), rows[row, number]))
        return found

    def _globalized(self, rows: Rows) -> Rows:
        if self._exchange is None:
            return rows
        try:
            return self._exchange.reduce(rows)
        except Exception as error:  # a group is gone; what this rank holds is still worth showing
            say(f"monitoring: {error}; from now on each rank shows its own pieces only")
            self._exchange = None
            return rows

    def _differing(self, rows: Rows, step: int) -> dict[str, list[int]]:
        groups = {p.replicas for p in self._placed if p.replicas is not None}
        if not groups or not self._settings.tie_every or step % self._settings.tie_every:
            return {}
        chosen = [i for i, placed in enumerate(self._placed) if placed.replicas is not None]
        try:
            found = differing(
                rows[_PARAM][chosen][:, [SUM, SQUARES]], groups.pop(), self._parameters[0].device
            )
        except Exception as error:
            say(f"monitoring: {error}; replicas are not compared any more")
            self._placed = [Placement(p.groups, p.writes) for p in self._placed]
            return {}
        return {self.names[chosen[row]]: ranks for row, ranks in found.items()}

    def _is_measured(self, number: int, row: int, step: int) -> bool:
        """Replicas are measured by the rank that writes them, and by all when they are compared."""
        placed = self._placed[number]
        if placed.replicas is None or placed.writes:
            return True
        tie = self._settings.tie_every
        return row == _PARAM and tie > 0 and step % tie == 0

    def _of(self, optimizer: Optimizer) -> Iterator[tuple[int, torch.Tensor]]:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                number = self._number.get(id(parameter))
                if number is not None:
                    yield number, parameter

    def _place(self, row: int, number: int) -> int:
        return row * len(self._parameters) + number

    def _column(self, book: TargetBook, row: int, number: int) -> int:
        column = int(self._columns[row, number])
        if column < 0:
            parameter = self._parameters[number]
            # Gradients are made from the last parameter to the first.
            place = len(self._parameters) - number if row == _GRAD else number
            shape = () if row == _RATIO else tuple(parameter.shape)
            column = book.column(KINDS[row], self.names[number], shape, parameter.dtype, place)
            self._columns[row, number] = column
        return column


class Finished:
    """The rows of a finished step by column, the norm of all gradients, replicas that differ."""

    def __init__(self, differing: dict[str, list[int]]) -> None:
        self.rows: list[tuple[int, Rows]] = []
        self.grad_norm: float | None = None
        self.differing = differing

    def add_norm(self, book: TargetBook, clips: float | None, eps: float) -> None:
        """Add the norm of all gradients, and by what clipping to `clips` multiplied them."""
        if self.grad_norm is None:
            return
        scalars = {"grad_norm": self.grad_norm}
        if clips is not None:
            scalars["clip"] = min(1.0, clips / (self.grad_norm + eps))
        for kind, value in scalars.items():
            self.rows.append((book.column(kind, kind), scalar_row(value)[0]))


def _listed(models: Sequence[nn.Module]) -> Iterator[tuple[str, nn.Parameter, Placement]]:
    seen: set[int] = set()
    for index, model in enumerate(models):
        prefix = f"{index}." if len(models) > 1 else ""
        named = [
            (prefix + clean_name(name), parameter)
            for name, parameter in model.named_parameters()
            if parameter.requires_grad and id(parameter) not in seen
        ]
        seen |= {id(parameter) for _, parameter in named}
        placed = placements(model, [parameter for _, parameter in named])
        for (name, parameter), placement in zip(named, placed, strict=True):
            yield name, parameter, placement


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


def _total_norm(rows: Rows) -> float | None:
    return float(np.sqrt(rows[:, SQUARES].sum())) if len(rows) else None

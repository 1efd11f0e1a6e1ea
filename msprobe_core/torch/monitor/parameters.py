"""Measures parameters: gradients before clipping, then weights, state and update after the step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from msprobe_core.monitor.moments import SIZE, SQUARES, SUM, Rows, empty_rows, scalar_row
from msprobe_core.monitor.targets import TargetBook
from msprobe_core.torch.monitor.followed_modules import clean_name
from msprobe_core.torch.monitor.optimizer_steps import Optimizer
from msprobe_core.torch.monitor.rank_joining import Joined, Pieces
from msprobe_core.torch.monitor.ratio import UpdateRatios
from msprobe_core.torch.monitor.settings import Settings
from msprobe_core.torch.monitor.shards import Family, families, local_part
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
        self._families = [None if settings.local else family for _, _, family in listed]
        self._number = {id(parameter): i for i, parameter in enumerate(self._parameters)}
        self._columns = np.full((len(KINDS), len(listed)), -1, dtype=np.intp)
        self._updated: list[int] = []
        self._ratios: UpdateRatios | None = None
        self._moved: torch.Tensor | None = None

    @property
    def places(self) -> int:
        """How many places it needs."""
        return len(KINDS) * len(self._parameters)

    @property
    def has_others(self) -> bool:
        """Whether other ranks hold some of its parameters, too."""
        return any(family is not None for family in self._families)

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

    def collect(self, reserved: Rows, step: int, complete: Callable[[Joined], None]) -> Pieces:
        """What this rank holds of a step, for `complete` to take when it is whole."""
        rows: Rows = reserved.reshape(len(KINDS), len(self._parameters), -1).copy()
        if self._moved is not None:
            squares = np.asarray(self._moved.to("cpu", torch.float64).tolist())
            rows[_RATIO, self._updated] = _ratio_rows(squares)
            self._moved = None
        tie = self._settings.tie_every
        return Pieces(
            step,
            rows,
            self._families,
            self.names,
            [each.numel() if hasattr(each, "to_local") else None for each in self._parameters],
            complete,
            counts=frozenset({_RATIO}),
            compared=_PARAM if tie and step % tie == 0 else None,
        )

    def finish(self, joined: Joined, book: TargetBook) -> Finished:
        """The rows of a step that this rank writes."""
        rows = joined.rows
        found = Finished({self.names[number]: r for number, r in joined.differing.items()})
        there = (rows[..., SIZE] > 0) & joined.written
        if joined.is_whole:
            found.grad_norm = _total_norm(rows[_GRAD][there[_GRAD]])
        rows[_RATIO] = _quotients(rows[_RATIO])
        for row, number in np.argwhere(there).tolist():
            found.rows.append((self._column(book, row, number), rows[row, number]))
        return found

    def _is_measured(self, number: int, row: int, step: int) -> bool:
        """Replicas are measured by the rank that writes them, and by all when they are compared."""
        family = self._families[number]
        if family is None or family.role != "silent":
            return True
        tie = self._settings.tie_every
        return family.compared and row == _PARAM and tie > 0 and step % tie == 0

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


def _listed(models: Sequence[nn.Module]) -> Iterator[tuple[str, nn.Parameter, Family | None]]:
    seen: set[int] = set()
    for index, model in enumerate(models):
        prefix = f"{index}." if len(models) > 1 else ""
        named = [
            (prefix + clean_name(name), parameter)
            for name, parameter in model.named_parameters()
            if parameter.requires_grad and id(parameter) not in seen
        ]
        seen |= {id(parameter) for _, parameter in named}
        lying = families(model, [parameter for _, parameter in named])
        for (name, parameter), family in zip(named, lying, strict=True):
            yield name, parameter, family


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

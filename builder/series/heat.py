"""The heat map over the module tree: rows of folded and open modules, columns of steps.

A leaf's colour is log2 of its value against its own median over the whole window, or against the
other run's value. A folded row shows, step by step, the one of its leaves that lies farthest out.
Cells are bytes: 0 where nothing was measured, 255 where a value is not finite, else 1 to 254 for
-RANGE to RANGE octaves (one run) or 2^LEAST to 2^MOST octaves apart (two).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from builder.series.pieces import Steps, Values
from builder.series.run import Key, TrendRun
from msprobe_core.format.series import TENSOR_KINDS

DRAWN = frozenset(TENSOR_KINDS) | {"ratio"}
"""The kinds that have a heat map; all others are scalars."""

RANGE = 4.0
"""Octaves at the ends of the scale: sixteen times, or a sixteenth of, a row's own median."""
LEAST, MOST = -24.0, 2.0
"""log2 of octaves apart: float32 rounding at one end, a factor of 16 at the other."""
ABSENT, BROKEN = 0, 255
_FIRST, _LAST = 1, 254
Cells = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One row: a target, or a module that stands for all below it (`leaves` of them)."""

    name: str
    depth: int
    leaves: int
    is_open: bool
    target: str | None = None


@dataclass(frozen=True, slots=True)
class HeatRows:
    """The visible rows, all of them, and the cells of those that were asked for."""

    rows: list[HeatRow]
    steps: Steps
    cells: Cells


@dataclass(slots=True)
class _Branch:
    name: str
    depth: int
    leaf: int | None = None
    children: dict[str, _Branch] = field(default_factory=dict)
    leaves: list[int] = field(default_factory=list)


def heat_rows(names: Sequence[str], cells: Cells, steps: Steps, opened: frozenset[str]) -> HeatRows:
    """All visible rows of targets `names` whose [target][column] cells are known."""
    branches = _visible(_tree(names), opened)
    parts = [
        cells[branch.leaves[0]] if len(branch.leaves) == 1 else _farthest(cells[branch.leaves])
        for branch in branches
    ]
    drawn = np.stack(parts) if parts else np.zeros((0, len(steps)), np.uint8)
    return HeatRows([_row(branch, names, opened) for branch in branches], steps, drawn)


def visible_rows(names: Sequence[str], opened: frozenset[str]) -> list[HeatRow]:
    """All visible rows of targets `names`, without their cells."""
    return [_row(branch, names, opened) for branch in _visible(_tree(names), opened)]


def one_run_cells(values: Values, absolute: bool = False) -> Cells:
    """Bytes of [target][column]: octaves from each row's median, or from 1 where `absolute`."""
    with np.errstate(all="ignore"):
        octaves = np.log2(np.abs(values, dtype=np.float64))
        usable = np.where(np.isfinite(octaves), octaves, np.nan)
        middle = np.zeros((len(values), 1)) if absolute else _medians(usable)[:, None]
        share = (usable - middle + RANGE) / (2 * RANGE)
    return _as_bytes(share, values)


def two_run_cells(first: Values, second: Values) -> Cells:
    """Bytes of how many octaves two runs are apart, on a logarithmic scale of its own."""
    with np.errstate(all="ignore"):
        apart = np.abs(np.log2(np.abs(first.astype(np.float64)) / np.abs(second)))
        share = (np.log2(np.maximum(apart, 2.0**LEAST)) - LEAST) / (MOST - LEAST)
    share[(first == second) & np.isfinite(first)] = 0
    both = np.where((first == -np.inf) | (second == -np.inf), -np.inf, first + second)
    return _as_bytes(share, both)


def ordered_names(run: TrendRun, kind: str) -> list[str]:
    """The names of a kind as the model orders its modules, whatever order a step makes them in."""
    modules: Mapping[str, int] = {
        name: i for i, (name, *_) in enumerate(run.facts.get("modules", []))
    }
    parameters = {t.name: t.place for t in run.targets if t.kind == "param"}
    backwards = kind in ("grad", "actv_grad")
    own = {t.name: -t.place if backwards else t.place for t in run.targets if t.kind == kind}

    def order(name: str) -> tuple[int, int]:
        owner = name.partition("[")[0]
        while owner and owner not in modules:
            owner = owner.rpartition(".")[0]
        return modules.get(owner, -1), parameters.get(name, own[name])

    return sorted(own, key=order)


def keys_of(kind: str, names: Sequence[str]) -> list[Key]:
    """The keys of names of one kind."""
    return [(kind, name) for name in names]


def _row(branch: _Branch, names: Sequence[str], opened: frozenset[str]) -> HeatRow:
    target = names[branch.leaves[0]] if len(branch.leaves) == 1 else None
    is_open = branch.name in opened
    return HeatRow(target or branch.name, branch.depth, len(branch.leaves), is_open, target)


def _tree(names: Sequence[str]) -> _Branch:
    root = _Branch("", -1)
    for index, name in enumerate(names):
        branch = root
        branch.leaves.append(index)
        parts = name.split(".")
        for depth, part in enumerate(parts):
            path = ".".join(parts[: depth + 1])
            branch = branch.children.setdefault(part, _Branch(path, depth))
            branch.leaves.append(index)
        branch.leaf = index
    return root


def _visible(branch: _Branch, opened: frozenset[str]) -> list[_Branch]:
    """The rows below a branch, from top to bottom; a module that was measured itself is a row of
    its own above those inside it.
    """
    found: list[_Branch] = []
    for child in branch.children.values():
        folded = len(child.leaves) > 1 and child.name not in opened
        if folded or not child.children:
            found.append(child)
            continue
        if len(child.leaves) == 1:
            found.append(child)
            continue
        if child.leaf is not None:
            found.append(_Branch(child.name, child.depth, child.leaf, {}, [child.leaf]))
        else:
            found.append(child)
        found += _visible(child, opened)
    return found


def _farthest(cells: Cells) -> Cells:
    """Of several rows the byte that lies farthest from the middle, column by column."""
    middle = (_FIRST + _LAST) / 2
    distance = np.where(cells == ABSENT, -1.0, np.abs(cells.astype(np.float32) - middle))
    distance = np.where(cells == BROKEN, 1000.0, distance)
    chosen = distance.argmax(0)
    found: Cells = cells[chosen, np.arange(cells.shape[1])]
    return found


def _medians(values: NDArray[np.float64]) -> NDArray[np.float64]:
    ordered = np.sort(values, axis=1)  # NaN comes last
    count = (~np.isnan(values)).sum(1)
    rows = np.arange(len(values))
    at = np.clip((count - 1) // 2, 0, max(values.shape[1] - 1, 0))
    found: NDArray[np.float64] = ordered[rows, at] if values.shape[1] else np.zeros(len(values))
    return found


def _as_bytes(share: NDArray[np.float64], values: Values) -> Cells:
    with np.errstate(all="ignore"):
        scaled = np.clip(share, 0, 1) * (_LAST - _FIRST) + _FIRST
    cells: Cells = np.nan_to_num(np.rint(scaled), nan=_FIRST).astype(np.uint8)
    cells[np.isnan(values) | (values == np.inf)] = BROKEN
    cells[values == -np.inf] = ABSENT
    return cells

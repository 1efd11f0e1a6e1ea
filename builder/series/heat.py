"""The heat map over the module tree: rows of folded and open modules, columns of steps.

A leaf's colour is log2 of its value against its own median over the whole window, or against the
other run's value. A folded row shows, step by step, the one of its leaves that lies farthest out.
Cells are bytes: 0 where nothing was measured, 255 where a value is not finite, else 1 to 254 for
-RANGE to RANGE octaves (one run) or 2^LEAST to 2^MOST octaves apart (two).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builder.series.medians import row_medians
from builder.series.octaves import octaves_apart
from builder.series.pieces import Values
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
_FROM_THE_MIDDLE = np.abs(2 * np.arange(256, dtype=np.int16) - (_FIRST + _LAST))
_FROM_ALIKE = np.arange(256, dtype=np.int16)
"""How far out a byte is, on the scale of one run (in halves) and of two; what is no number is
farther than any, what was not measured nearer."""
for _far in (_FROM_THE_MIDDLE, _FROM_ALIKE):
    _far[ABSENT], _far[BROKEN] = -1, 1000


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One row: a target, or a module that stands for all below it.

    `leaves`: the places of their names among those that the rows were made of.
    """

    name: str
    depth: int
    leaves: tuple[int, ...]
    is_open: bool
    target: str | None = None


@dataclass(slots=True)
class _Branch:
    name: str
    depth: int
    leaf: int | None = None
    children: dict[str, _Branch] = field(default_factory=dict)
    leaves: list[int] = field(default_factory=list)


def heat_rows(names: Sequence[str], opened: frozenset[str]) -> list[HeatRow]:
    """All visible rows of targets `names`, from top to bottom."""
    rows = []
    for branch in _visible(_tree(names), opened):
        target = names[branch.leaves[0]] if len(branch.leaves) == 1 else None
        is_open = branch.name in opened
        leaves = tuple(branch.leaves)
        rows.append(HeatRow(target or branch.name, branch.depth, leaves, is_open, target))
    return rows


def leaves_of(rows: Sequence[HeatRow]) -> list[int]:
    """The targets that some rows are drawn from, each once."""
    return sorted({leaf for row in rows for leaf in row.leaves})


def cells_of(
    rows: Sequence[HeatRow], leaves: Sequence[int], cells: Cells, *, two: bool = False
) -> Cells:
    """[row][column] of some rows, from the [target][column] cells of their `leaves`.

    `two`: the cells say how far two runs are apart.
    """
    far = _FROM_ALIKE if two else _FROM_THE_MIDDLE
    place = {leaf: at for at, leaf in enumerate(leaves)}
    parts = []
    for row in rows:
        own = cells[[place[leaf] for leaf in row.leaves]]
        parts.append(own[0] if len(own) == 1 else _farthest(own, far))
    return np.stack(parts) if parts else np.zeros((0, cells.shape[1]), np.uint8)


def one_run_cells(values: Values, absolute: bool = False) -> Cells:
    """Bytes of [target][column]: octaves from each row's median, or from 1 where `absolute`."""
    with np.errstate(all="ignore"):
        # float32 has 250 times the resolution of a byte over eight octaves
        share = np.log2(np.abs(values.astype(np.float32, copy=False)))
        share[~np.isfinite(share)] = np.nan
        if not absolute:
            share -= row_medians(share)[:, None]
        share += RANGE
        share /= 2 * RANGE
    return _as_bytes(share, values)


def two_run_cells(first: Values, second: Values) -> Cells:
    """Bytes of how many octaves two runs are apart, on a logarithmic scale of its own."""
    with np.errstate(all="ignore"):
        apart = octaves_apart(first.astype(np.float64), second.astype(np.float64))
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


def _farthest(cells: Cells, far: NDArray[np.int16]) -> Cells:
    """Of several rows the byte that is farthest out, column by column."""
    chosen = far[cells].argmax(0)
    found: Cells = cells[chosen, np.arange(cells.shape[1])]
    return found


def _as_bytes(share: NDArray[np.floating[Any]], values: Values) -> Cells:
    """Bytes of shares of the scale, which are used up; what is no number is its least end."""
    share *= _LAST - _FIRST
    share += _FIRST + 0.5  # so that cutting off rounds
    np.clip(share, _FIRST, _LAST, out=share)
    share[np.isnan(share)] = _FIRST
    cells: Cells = share.astype(np.uint8)
    cells[~np.isfinite(values)] = BROKEN
    cells[values == -np.inf] = ABSENT
    return cells

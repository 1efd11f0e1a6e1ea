"""Weights that one run stores (in, out) and the other (out, in), as GPT-2's layers and `Linear` do.

The extents of most weights tell. A square one is stored as the others of its classes are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from builder.ranks.assembly.alignment import parse
from builder.ranks.joining.layouts import Candidate
from builder.ranks.joining.parts import RunValues
from builder.ranks.joining.resolution import Sides
from builder.ranks.joining.roles import Pairs, Reading, Role, readings
from builder.ranks.joining.told import names_of

Classes = tuple[str, str]
_OTHER_DIM = {"S(0)": "S(1)", "S(1)": "S(0)"}


class Transposition:
    """Which pairs of module classes store their weights the other way round."""

    def __init__(self, values: tuple[RunValues, RunValues], roles: Iterable[Role]) -> None:
        self._modules = (_ModuleClasses(values[0]), _ModuleClasses(values[1]))
        self._classes = frozenset(
            classes
            for role in roles
            if _is_matrix(role)
            and not readings(role, (False, False))
            and _turned(role)
            and (classes := self._classes_of(role)) is not None
        )

    def readings(self, role: Role) -> list[Reading]:
        """The readings of a weight, or of its gradient, that is stored so; none of others."""
        if not self._classes or not _is_matrix(role) or self._classes_of(role) not in self._classes:
            return []
        return _turned(role)

    def _classes_of(self, role: Role) -> Classes | None:
        ours, theirs = (
            classes.of(index) for classes, index in zip(self._modules, role.rows[0], strict=True)
        )
        return None if ours is None or theirs is None else (ours, theirs)


def turned_matrices(sides: Sides, pairs: Pairs) -> NDArray[np.bool_]:
    """Which pairs [n] are of matrices, if among parameters that are whole some are transposed."""
    ours, theirs = (run.dump.values.records for run in sides.runs)
    values = sides.values[0]
    found = np.zeros(len(pairs), dtype=bool)
    is_turned = False
    for at, (left, right) in enumerate(pairs.tolist()):
        own = values.keys[left].startswith("parameters")
        if not own and not values.owner[left].startswith("Optimizer."):
            continue
        mine, other = ours[left].shape, theirs[right].shape
        if mine is not None and other is not None and len(mine) == len(other) == 2:
            found[at] = True
            is_turned = is_turned or (mine != other and mine == other[::-1])
    return found if is_turned else np.zeros_like(found)


class _ModuleClasses:
    """The class of the module that a parameter belongs to."""

    def __init__(self, values: RunValues) -> None:
        self._values = values

    def of(self, index: int) -> str | None:
        owner = self._values.owner[index]
        name = self._values.run.updates.get(owner)
        name = name or next(names_of(owner, self._values.keys[index]))
        return self._by_path.get(name.rpartition(".")[0])

    @cached_property
    def _by_path(self) -> dict[str, str]:
        entries = map(parse, self._values.run.dump.ranges)
        return {e.path: e.type_name for e in entries if e is not None and e.kind == "module"}


def _is_matrix(role: Role) -> bool:
    is_parameter = role.value_class in ("parameter", "gradient")
    return is_parameter and all(len(s) == 2 for grid in role.grids for s in grid.shapes)


def _turned(role: Role) -> list[Reading]:
    """The readings under which the problem's whole is the benchmark's, transposed."""
    ours, theirs = role.grids
    shapes = tuple(shape[::-1] for shape in ours.shapes)
    placements = tuple((axis, _OTHER_DIM.get(placed, placed)) for axis, placed in ours.placements)
    turned = replace(ours, shapes=shapes, placements=placements)
    found = readings(replace(role, grids=(turned, theirs)), (False, False))
    return [replace(r, problem=_turned_back(r.problem), is_transposed=True) for r in found]


def _turned_back(candidate: Candidate) -> Candidate:
    axes = tuple(replace(a, dim=1 - a.dim) if a.kind == "S" else a for a in candidate.axes)
    return replace(candidate, axes=axes, shape=candidate.shape[::-1])

"""What lists of nodes filter and sort by, as one array per column: a list over 200,000 nodes in ms.

Rows stand problem side first, each side from the root down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from builder.database.node_filter import NodeFilter, Show
from builder.database.patches import NodePatch

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Column = TypeVar("Column", Ints, Floats)

KINDS = ("root", "module", "api", "collection")
DIRECTIONS = ("forward", "backward")
VERDICTS = ("pass", "warning", "error")
LEVELS = ("medium", "high", "critical")
# The columns that `from_rows` wants of each node.
WANTED = (
    *("id", "exec_order", "kind", "direction", "match", "score", "introduced"),
    *("verdict", "overflow", "source", "name"),
)


@dataclass(frozen=True, slots=True)
class PairColumns:
    """The nodes of one pair of graphs; -1 and NaN mean none."""

    id: Ints
    problem: Bools
    order: Ints
    kind: Ints
    direction: Ints
    match: Ints
    score: Floats
    introduced: Floats
    verdict: Ints
    overflow: Ints
    source: Ints

    def patched(self, patches: Mapping[int, NodePatch]) -> PairColumns:
        """The columns with other states of some nodes."""
        place = {id_: index for index, id_ in enumerate(self.id.tolist()) if id_ in patches}
        changed = replace(
            self,
            match=self.match.copy(),
            score=self.score.copy(),
            introduced=self.introduced.copy(),
            verdict=self.verdict.copy(),
        )
        for id_, index in place.items():
            patch = patches[id_]
            changed.match[index] = -1 if patch.match is None else patch.match
            changed.score[index] = _number(patch.score)
            changed.introduced[index] = _number(patch.introduced)
            changed.verdict[index] = _code(VERDICTS, patch.verdict)
        return changed

    def chosen(self, wanted: NodeFilter, threshold: float | None) -> Bools:
        """Which nodes a filter lets through, names left aside.

        `threshold` is None in a file without comparison.
        """
        keep = np.ones(len(self.id), dtype=bool)
        if wanted.side is not None:
            keep &= self.problem == (wanted.side == "problem")
        for column, codes, name in (
            (self.kind, KINDS, wanted.kind),
            (self.direction, DIRECTIONS, wanted.direction),
            (self.verdict, VERDICTS, wanted.verdict),
        ):
            if name is not None:
                keep &= column == _code(codes, name)
        if wanted.source is not None:
            keep &= self.source == wanted.source
        if wanted.min_score is not None:
            keep &= self.score >= wanted.min_score
        return keep if wanted.show is None else keep & self._shown(wanted.show, threshold)

    def ordered(self, chosen: Bools, wanted: NodeFilter, name_rank: Ints | None) -> Ints:
        """The ids of the chosen nodes in the order wanted; those without a value come last."""
        places = np.flatnonzero(chosen)
        key = self._key(wanted, name_rank)[places]
        missing = np.isnan(key)
        ranked = np.where(missing, np.inf, -key if wanted.descending else key)
        return self.id[places[np.argsort(ranked, kind="stable")]]

    def _key(self, wanted: NodeFilter, name_rank: Ints | None) -> Floats:
        if wanted.sort == "name":
            assert name_rank is not None
            return name_rank.astype(np.float64)
        column = {"order": self.order, "score": self.score, "introduced": self.introduced}
        return np.asarray(column[wanted.sort], dtype=np.float64)

    def _shown(self, show: Show, threshold: float | None) -> Bools:
        if show == "overflow":
            return np.asarray(self.overflow >= 0)
        if threshold is None:
            return np.zeros(len(self.id), dtype=bool)
        if show == "divergent":
            return np.asarray(self.score > threshold)
        if show == "propagated":
            return np.asarray((self.source >= 0) & (self.source != self.id))
        views = (self.kind == KINDS.index("root")) | (self.kind == KINDS.index("collection"))
        return np.asarray((self.match < 0) & ~views)


def from_rows(problem: Sequence[Any], benchmark: Sequence[Any]) -> PairColumns:
    """Columns of plain rows with the cells of WANTED."""
    rows = [*problem, *benchmark]
    # A file made by hand may hold any type in any cell: what is no number is none.
    cells = dict(zip(WANTED, zip(*rows))) if rows else dict.fromkeys(WANTED, ())
    columns: dict[str, Any] = {
        "id": np.array([_integer(cell) for cell in cells["id"]], np.int64),
        "problem": np.arange(len(rows)) < len(problem),
        "order": np.array([_integer(cell) for cell in cells["exec_order"]], np.int64),
        "match": np.array([_integer(cell) for cell in cells["match"]], np.int64),
        "source": np.array([_integer(cell) for cell in cells["source"]], np.int64),
        "score": np.array([_number(cell) for cell in cells["score"]], np.float64),
        "introduced": np.array([_number(cell) for cell in cells["introduced"]], np.float64),
    }
    for name, codes in (
        ("kind", KINDS),
        ("direction", DIRECTIONS),
        ("verdict", VERDICTS),
        ("overflow", LEVELS),
    ):
        known = {text: index for index, text in enumerate(codes)}
        columns[name] = np.array([known.get(cell, -1) for cell in cells[name]], np.int64)
    return PairColumns(**{field.name: columns[field.name] for field in fields(PairColumns)})


def _code(codes: Sequence[str], name: str | None) -> int:
    return codes.index(name) if name in codes else -1


def _integer(cell: object) -> int:
    return cell if type(cell) is int else -1


def _number(cell: object) -> float:
    return float(cell) if isinstance(cell, int | float) else np.nan

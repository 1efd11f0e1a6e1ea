"""What lists of nodes filter and sort by, as one array per column: a list over 200,000 nodes in ms.

Rows stand problem side first, each side from the root down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from builder.results.manual.patches import NodePatch
from builder.results.node_words import (
    DIRECTIONS,
    KINDS,
    VERDICTS,
    Bools,
    Floats,
    Ints,
    code_of,
    number_of,
)
from tb_graph_ascend.view.search.node_filter import NodeFilter, Show

FIELD_CODES: dict[str, Sequence[str]] = {
    "kind": KINDS,
    "direction": DIRECTIONS,
    "verdict": VERDICTS,
}


@dataclass(frozen=True, slots=True)
class PairColumns:
    """The nodes of one pair of graphs; -1 and NaN mean none."""

    id: Ints
    problem: Bools
    order: Ints
    kind: Ints
    direction: Ints
    matched: Bools
    score: Floats
    introduced: Floats
    verdict: Ints
    overflow: Ints
    source: Ints
    input: Floats
    match: Ints

    def patched(self, patches: Mapping[int, NodePatch]) -> PairColumns:
        """The columns with other states of some nodes."""
        places = np.flatnonzero(np.isin(self.id, np.array(list(patches), dtype=np.int64)))
        changed = replace(
            self,
            matched=self.matched.copy(),
            score=self.score.copy(),
            introduced=self.introduced.copy(),
            verdict=self.verdict.copy(),
            input=self.input.copy(),
            match=self.match.copy(),
        )
        for index in places.tolist():
            patch = patches[int(self.id[index])]
            changed.matched[index] = patch.match is not None
            changed.score[index] = number_of(patch.score)
            changed.introduced[index] = number_of(patch.introduced)
            changed.verdict[index] = code_of(VERDICTS, patch.verdict)
            changed.input[index] = number_of(patch.input_score)
            changed.match[index] = -1 if patch.match is None else patch.match
        return changed

    def partner_places(self) -> Ints:
        """For each node the place of its partner among all nodes, -1 where it has none here."""
        order = np.argsort(self.id, kind="stable")
        position = np.searchsorted(self.id[order], self.match)
        place = order[np.minimum(position, len(order) - 1)] if len(order) else position
        known = (self.match >= 0) & (self.id[place] == self.match) if len(order) else position > 0
        return np.where(known, place, -1)

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
                keep &= column == code_of(codes, name)
        if wanted.source is not None:
            keep &= self.source == wanted.source
        if wanted.min_score is not None:
            keep &= self.score >= wanted.min_score
        return keep if wanted.show is None else keep & self.shown(wanted.show, threshold)

    def ordered(self, places: Ints, wanted: NodeFilter, name_rank: Ints | None) -> Ints:
        """The ids of the nodes at places in the order wanted; those without a value come last."""
        return self.ordered_with_keys(places, wanted, name_rank)[0]

    def ordered_with_keys(
        self, places: Ints, wanted: NodeFilter, name_rank: Ints | None
    ) -> tuple[Ints, Floats]:
        """The same, with the numbers that rise along that order."""
        key = self._key(wanted, name_rank)[places].astype(np.float64)
        missing = np.isnan(key)
        ranked = np.where(missing, np.inf, -key if wanted.descending else key)
        order = np.argsort(ranked, kind="stable")
        return self.id[places[order]], ranked[order]

    def _key(self, wanted: NodeFilter, name_rank: Ints | None) -> Ints | Floats:
        if wanted.sort == "name":
            assert name_rank is not None
            return name_rank
        if wanted.sort == "order":
            return self.order
        if wanted.sort == "overflow":
            # Where it begins first: the worst level, and within a level in order of execution.
            return self.order - self.overflow * (int(self.order.max(initial=0)) + 1)
        return self.score if wanted.sort == "score" else self.introduced

    def shown(self, show: Show, threshold: float | None) -> Bools:
        """Which nodes a list is about."""
        if show == "overflow":
            return np.asarray(self.overflow >= 0)
        if threshold is None:
            return np.zeros(len(self.id), dtype=bool)
        if show == "divergent":
            # What one run alone makes may have a score, that of what it hands on; it has no match.
            return np.asarray(self.matched & (self.score > threshold))
        views = (self.kind == KINDS.index("root")) | (self.kind == KINDS.index("collection"))
        return np.asarray(~self.matched & ~views)

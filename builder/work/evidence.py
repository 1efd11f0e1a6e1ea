"""What one pair's comparison rests on: by which measure each value was compared, or why not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from builder.claim import Counted, Evidence, Largest
from builder.compare.columns import Columns
from builder.compare.comparison import Comparison
from builder.compare.modes import unlike
from builder.compare.statistics import relative_error
from builder.dump.forms import Forms
from builder.match.nodes import Matching
from builder.match.value_pairing import SURPLUS
from builder.reasons import UnlikeAttributes, UnlikeNames
from msprobe_core.format import roundings

Rows = NDArray[np.bool_]


def pair_evidence(
    comparison: Comparison,
    place: tuple[int, int],
    threshold: float,
    told: Sequence[Counted],
    set_aside: Collection[int] = (),
) -> Evidence:
    """The evidence of one pair at a step and rank; `told` are differences that others know of.

    `set_aside` are values of the problem run that merging left without numbers, and says so.
    """
    dumps = (comparison.matching.problem.dump, comparison.matching.benchmark.dump)
    apart = unlike(*dumps)
    # Where dumps have no measure of a tensor in common, arguments alone would be compared.
    if isinstance(apart, UnlikeAttributes | UnlikeNames):
        return Evidence(differences=tuple(each for each in told if each.count))
    rows = _Rows(comparison, set_aside)
    kinds = rows.kinds()
    gaps = [*rows.gaps(), *_one_sided_nodes(comparison.matching)]
    scores = comparison.nodes.outputs[~np.isnan(comparison.nodes.outputs)]
    divergent = Counted("divergent", int((scores > threshold).sum()))
    infinite = Counted("infinite", int(np.isinf(comparison.scores.error).sum()))
    return Evidence(
        tuple(Counted(name, int(chosen.sum())) for name, chosen in kinds.items() if chosen.any()),
        tuple(gap for gap in gaps if gap.count),
        tuple(each for each in (divergent, infinite, *told) if each.count),
        int((comparison.scores.score > 0).sum()),
        len(comparison.scores.let_pass),
        _largest(comparison, place),
    )


def _largest(comparison: Comparison, place: tuple[int, int]) -> Largest | None:
    finite = np.where(np.isfinite(comparison.scores.error), comparison.scores.error, -1.0)
    if not finite.size or finite.max() < 0:
        return None
    # Of equal errors an output's is the one to look at.
    row = int(np.lexsort((~comparison.is_output, -finite))[0])
    error, dtype = float(finite[row]), comparison.records[0][row].dtype or ""
    known = (error, comparison.keys[row], _node_name(comparison, row), *place)
    return Largest(*known, *roundings(error, dtype))


def _node_name(comparison: Comparison, row: int) -> str:
    return comparison.matching.problem.in_order[int(comparison.pairs.node[row])].name


class _Rows:
    """The rows of a comparison by what could be compared of them."""

    def __init__(self, comparison: Comparison, set_aside: Collection[int] = ()) -> None:
        self._comparison = comparison
        pairs, columns = comparison.pairs, comparison.columns
        self._is_set_aside = np.isin(pairs.problem, list(set_aside))
        ours, theirs = pairs.problem, pairs.benchmark
        self.surplus = (ours == SURPLUS) | (theirs == SURPLUS)
        self.tensor = _are_tensors(comparison.forms, columns[0], ours) & _are_tensors(
            comparison.forms, columns[1], theirs
        )
        left, right = comparison.statistics
        self.recorded = (left.recorded, right.recorded)
        self.size = np.fmax(left.size, right.size)
        self.known = ~np.isnan(comparison.scores.error)
        self.aside = {
            "unwritten": self._chosen(comparison.blank.unwritten),
            "fused": self._chosen(comparison.blank.fused),
            "unread": self._chosen(comparison.blank.unread),
            "incomparable": self._chosen(comparison.blank.incomparable),
        }
        self.blank = np.logical_or.reduce(list(self.aside.values()))

    def _chosen(self, rows: Iterable[int]) -> Rows:
        chosen = np.zeros(len(self._comparison.scores.error), dtype=bool)
        chosen[list(rows)] = True
        return chosen

    def kinds(self) -> dict[str, Rows]:
        """The rows that were compared, by the finest measure that both sides have.

        Every element, one number that all elements are, a checksum over all of them, statistics
        and a sketch that sees their order, the four statistics alone, the extremes alone.
        """
        comparison, size = self._comparison, self.size
        open_ = self.known & ~self.blank & ~self.surplus
        both = self.recorded[0] & self.recorded[1]
        left, right = (side.table for side in comparison.statistics)
        # Where largest and smallest are one number, that is every element.
        constant = (left[0] == left[1]) & (right[0] == right[1]) & both[0] & both[1]
        files = self._chosen(comparison.elements.tensors)
        conditions = {
            "arguments": ~self.tensor,
            "empty": size == 0,
            "elements": files,
            "constant": constant,
            "checksum": self._checksums(),
            "sketch": self._sketches(),
            "statistics": both.all(axis=0),
            "extremes": both.any(axis=0),
        }
        kinds = {}
        for name, condition in conditions.items():
            kinds[name] = open_ & condition
            open_ = open_ & ~condition
        return kinds

    def gaps(self) -> list[Counted]:
        """The rows that were not, or not by what they should be, by the reason."""
        comparison = self._comparison
        aside, one_sided = dict(self.aside), self.surplus & self._needed()
        silent = ~self.known & ~self.surplus & ~self.blank & self.tensor & (self.size > 0)
        silent &= ~self._is_set_aside
        some = self.recorded[0].any(axis=0) | self.recorded[1].any(axis=0)
        shapes = self._shapes_differ()
        aside |= self._doubtful() | {
            "other_kernel": silent & shapes,
            "null_statistics": silent & ~shapes & some,
            "no_statistics": silent & ~shapes & ~some,
            "one_sided": one_sided,
            "files": self._without_files(),
        }
        return [self._counted(code, chosen, comparison) for code, chosen in aside.items()]

    def _doubtful(self) -> dict[str, Rows]:
        """The rows that were compared, of which something recorded was not, or speaks against it.

        Beside elements and checksums statistics add nothing. Those that differ where elements are
        equal are of another tensor than the file is.
        """
        whole = self._chosen(self._comparison.elements.tensors) | self._checksums()
        ours, theirs = self.recorded
        seen = self.known & ~self.blank & ~self.surplus & self.tensor
        told = ours.any(axis=0) & theirs.any(axis=0)
        lone = (ours != theirs).any(axis=0) | self._lone_sketches()
        doubtful = {"some_statistics": seen & ~whole & told & lone}
        if whole.any():
            equal = seen & whole & (self._comparison.scores.error == 0)
            apart = relative_error(*self._comparison.statistics) > self._comparison.scores.limit
            doubtful["contradicted"] = equal & apart
        return doubtful

    def _counted(self, code: str, chosen: Rows, comparison: Comparison) -> Counted:
        rows = np.flatnonzero(chosen)
        if not len(rows):
            return Counted(code, 0)
        row = int(rows[0])
        return Counted(code, len(rows), f"{_node_name(comparison, row)}.{comparison.keys[row]}")

    def _needed(self) -> Rows:
        """Values that a counterpart is missed of: tensors, and arguments of one framework."""
        comparison = self._comparison
        if not comparison.matching.across_frameworks:
            return np.ones(len(self.surplus), dtype=bool)
        sides = zip(comparison.columns, (comparison.pairs.problem, comparison.pairs.benchmark))
        return np.asarray(
            np.logical_or.reduce([_are_tensors(comparison.forms, *side) for side in sides])
        )

    def _shapes_differ(self) -> Rows:
        ours, theirs = self._comparison.records
        return np.array([p.shape != b.shape for p, b in zip(ours, theirs)], dtype=bool)

    def _checksums(self) -> Rows:
        if self._comparison.mode != "md5":
            return np.zeros(len(self.known), dtype=bool)
        pairs = zip(*self._comparison.records, strict=True)
        return np.array([None not in (p.md5, b.md5) for p, b in pairs], dtype=bool)

    def _sketches(self) -> Rows:
        estimates = self._comparison.elements.estimates
        if estimates is None:
            return np.zeros(len(self.known), dtype=bool)
        return np.asarray(~np.isnan(estimates.distance))

    def _lone_sketches(self) -> Rows:
        """The rows of which one side alone has a sketch, where both runs sketch their tensors."""
        comparison = self._comparison
        if comparison.elements.estimates is None:
            return np.zeros(len(self.known), dtype=bool)
        ours, theirs = comparison.records
        lone = [(p.sketch is None) != (b.sketch is None) for p, b in zip(ours, theirs)]
        return np.array(lone, dtype=bool)  # an empty list alone would be of floats

    def _without_files(self) -> Rows:
        """The rows whose elements should lie in a file on either side and were not measured."""
        comparison = self._comparison
        if comparison.mode != "tensor":
            return np.zeros(len(self.known), dtype=bool)
        named = [
            (p.data_name is not None or b.data_name is not None) and p.shape == b.shape
            for p, b in zip(*comparison.records, strict=True)
        ]
        measured = (
            self._chosen(comparison.elements.tensors) | self.blank | self.surplus | (self.size == 0)
        )
        return np.asarray(np.array(named, dtype=bool) & ~measured)


def _are_tensors(forms: Forms, side: Columns, indices: NDArray[np.int64]) -> Rows:
    tensors = [form.dtype is not None for form in forms.listed()]
    return np.asarray(np.append(np.array(tensors, dtype=bool)[side.forms], False)[indices])


def _one_sided_nodes(matching: Matching) -> list[Counted]:
    """The matched nodes of which one run alone recorded values."""
    find = matching.partner.get
    names = [
        node.name
        for node in matching.problem.in_order
        if (partner := find(node)) is not None
        and (node.values[0] == node.values[1]) != (partner.values[0] == partner.values[1])
    ]
    return [Counted("one_sided_nodes", len(names), names[0])] if names else []

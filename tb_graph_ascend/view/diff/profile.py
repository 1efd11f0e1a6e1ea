"""The whole pair as a strip over execution order: a few hundred bins, the worst score in each."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec
import numpy as np
from msgspec.structs import replace

from builder.results.followers.rows import MergedRows
from builder.results.followers.states import by_row, kinds_of
from builder.results.node_words import DIRECTIONS, KINDS, LEVELS, NOTHING
from builder.results.reading import ReadsValues
from builder.results.records import Count, Measure, Overflow
from tb_graph_ascend.view.diff.words import RowWords
from tb_graph_ascend.view.module_path import module_path

MOST_BINS = 400
_MOST_ASKED = 900
# What calls outside of any module belong to that run after a pass and before the next one.
PhaseName: TypeAlias = Literal["forward", "backward", "after_backward", "optimizer"]
AFTER: dict[PhaseName, PhaseName] = {"backward": "after_backward", "optimizer": "optimizer"}


class Phase(msgspec.Struct, frozen=True):
    """Where a pass begins, as a bin."""

    name: PhaseName
    bin: Count


class Block(msgspec.Struct, frozen=True):
    """A module of the icicle: from and to which row it stands, the worst in it, how much differs.

    `lane` is 0 for layers and 1 for what is in them. `share` is how many of the nodes in it that
    have a score diverge; null where none has one.
    """

    lane: Count
    row: Count
    until: Count
    title: str
    worst: float | None
    share: float | None
    overflow: Overflow | None


class Profile(msgspec.Struct, frozen=True):
    """Bins over all rows of a pair, closed or not.

    `rows` is how many rows there are; `worst` is null where no score is known; `causes` are bins
    in which something begins, `heals` those in which the runs part and come together again,
    `alone` those with calls of one side only. Of a single graph
    `norms` holds the largest norm that calls of a bin put out, null where none was recorded.
    """

    rows: Count
    worst: list[float | None]
    causes: list[int]
    heals: list[int]
    alone: list[int]
    phases: list[Phase]
    blocks: list[Block]
    norms: list[Measure] = []


def edges_of(rows: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The rows at which bins begin, and the end of the last."""
    bins = max(1, min(MOST_BINS, rows))
    return np.arange(bins + 1) * rows // bins


def profile_of(rows: MergedRows, words: RowWords) -> Profile:
    """The strip of a pair."""
    edges = edges_of(len(rows))
    if not len(rows):
        return Profile(0, [], [], [], [], [], [])
    leaf = rows.children == 0
    score = np.where(leaf & ~np.isnan(words.score), words.score, -1.0)
    worst = np.maximum.reduceat(score, edges[:-1])
    bin_of = np.searchsorted(edges, np.arange(len(rows)), "right") - 1
    alone = words.alone & leaf
    return Profile(
        rows=len(rows),
        worst=[None if w < 0 else round(w, 4) for w in worst.tolist()],
        causes=np.unique(bin_of[words.begins]).tolist(),
        heals=np.unique(bin_of[words.cause & ~words.begins]).tolist(),
        alone=np.unique(bin_of[alone]).tolist(),
        phases=_phases(rows, bin_of.tolist()),
        blocks=_blocks(rows, words),
    )


def with_norms(profile: Profile, rows: MergedRows, results: ReadsValues) -> Profile:
    """The strip of a single graph with the norms of what its calls put out."""
    leaves = np.flatnonzero(rows.children == 0)
    edges = edges_of(len(rows))
    norms: list[Measure] = [None] * len(profile.worst)
    for start in range(0, len(leaves), _MOST_ASKED):
        part = leaves[start : start + _MOST_ASKED]
        outputs = results.first_outputs(rows.key[part].tolist())
        bins = np.searchsorted(edges, part, "right") - 1
        for row, at in zip(part.tolist(), bins.tolist(), strict=True):
            output = outputs.get(int(rows.key[row]))
            norms[at] = _larger(norms[at], None if output is None else output.norm)
    return replace(profile, norms=norms)


def _larger(one: Measure, other: Measure) -> Measure:
    """The larger of two norms; one that is not finite outdoes all that are."""
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, str) or isinstance(other, str):
        return one if isinstance(one, str) else other
    return max(one, other)


def _blocks(rows: MergedRows, words: RowWords) -> list[Block]:
    """Modules in two lanes: the outermost of which a pass has several, and what is in them.

    One that is narrower than a bin is left out; the score under it is that of the lane above.
    """
    module = kinds_of(rows) == KINDS.index("module")
    depths = np.bincount(rows.depth[module], minlength=3)
    outer = next((depth for depth, count in enumerate(depths.tolist()) if count > 4), 1)
    scored = np.append(0, np.cumsum(~np.isnan(words.score)))
    divergent = np.append(0, np.cumsum(words.divergent))
    blocks = []
    for lane in (0, 1):
        wide = rows.last - np.arange(len(rows)) + 1 >= len(rows) / MOST_BINS
        for row in np.flatnonzero(module & (rows.depth == outer + lane) & wide).tolist():
            known = [s for s in (words.score[row], words.worst_below[row]) if not np.isnan(s)]
            until = int(rows.last[row]) + 1
            compared = int(scored[until] - scored[row])
            level = max(int(_level(rows, row)), int(rows.overflow_below(of_problem=True)[row]))
            blocks.append(
                Block(
                    lane=lane,
                    row=row,
                    until=until,
                    title=_tail(_name(rows, row)),
                    worst=round(float(max(known)), 4) if known else None,
                    share=round(int(divergent[until] - divergent[row]) / compared, 4)
                    if compared
                    else None,
                    overflow=LEVELS[level] if level >= 0 else None,
                )
            )
    return blocks


def _level(rows: MergedRows, row: int) -> int:
    return int(rows.problem.overflow[rows.ours[row]]) if rows.ours[row] >= 0 else NOTHING


def _tail(name: str) -> str:
    """The end of a module's path, with the number of a layer before its name."""
    parts = (module_path(name) or name).split(".")
    return ".".join(parts[-2:] if parts[-1].isdigit() else parts[-1:])


def _phases(rows: MergedRows, bin_of: list[int]) -> list[Phase]:
    """Passes as the top level has them, for what lies below a row belongs to its pass."""
    direction = by_row(rows, rows.problem.direction, rows.benchmark.direction)
    is_module = kinds_of(rows) == KINDS.index("module")
    of_pass = is_module.copy()
    # Of a dump without modules what is differentiated tells the next forward pass.
    of_pass[rows.forward_call[rows.forward_call != NOTHING]] = True
    phases: list[Phase] = []
    for row in np.flatnonzero(rows.depth == 1).tolist():
        below = slice(row, rows.last[row] + 1)
        directions = direction[below][direction[below] >= 0]
        name: PhaseName | None = DIRECTIONS[int(directions[0])] if len(directions) else None
        before = phases[-1].name if phases else None
        # What reduces and clips gradients runs forward, but in no forward pass.
        if name == "forward" and before not in (None, name):
            # A region, as of clipping, stands as a module does and has no name of one.
            is_region = is_module[row] and module_path(_name(rows, row)) is None
            is_pass = of_pass[below].any() and not is_region
            name = name if is_pass else AFTER.get(before, before)
        if _name(rows, row).lower().startswith("optimizer"):
            name = "optimizer"
        if name is not None and name != before:
            phases.append(Phase(name, bin_of[row]))
    if phases:
        phases[0] = Phase(phases[0].name, 0)
    return _few(phases)


def _name(rows: MergedRows, row: int) -> str:
    ours = int(rows.ours[row])
    return rows.problem.names[ours] if ours >= 0 else rows.benchmark.names[int(rows.theirs[row])]


def _few(phases: list[Phase]) -> list[Phase]:
    """Micro-steps alternate without end; where they do, nothing is marked beyond the first."""
    return phases if len(phases) <= 16 else phases[:1]

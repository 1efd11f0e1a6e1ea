"""Which causes of a file still stand where pairs were made by hand since it was diagnosed.

A cause stands that the pairs did not touch, if its step and rank differ nowhere before it; what a
diagnosis would name beside it, or instead of it, a rebuild tells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

import msgspec
import numpy as np

from builder.results.certainty import names_beginnings
from builder.results.database import ResultDatabase
from builder.results.followers.first_divergent import first_divergent
from builder.results.followers.named_causes import nodes_of
from builder.results.followers.rows import MergedRows
from builder.results.manual.patches import Patches
from builder.results.node_words import NOTHING
from builder.results.reading import ReadsNodes, Results
from builder.results.records import Finding


def without_pairs(results: Results) -> Results | None:
    """What lies below manual pairs: the file as it was built; None where there are none."""
    if isinstance(results, ResultDatabase) and results.patches.nodes:
        return results.with_patches(Patches())
    return None


def changed_names(results: ReadsNodes) -> Set[str]:
    """What manual pairs gave a partner, and all that it stands in; a name is alike on all ranks."""
    return {node.name for node in results.nodes_by_id(sorted(results.patches.nodes))}


def is_touched(finding: Finding, changed: Set[str]) -> bool:
    """Whether a name changed that the finding rests on: its call, or one of its reasons."""
    facts = (str(fact) for reason in finding.reasons for fact in msgspec.structs.astuple(reason))
    words = {word for fact in facts for word in re.split("[, ]+", fact)}
    return not changed.isdisjoint(words | {finding.node.name})


def causes_here(
    results: Results, rows: MergedRows, step: int, rank: int
) -> dict[int, float | None]:
    """The nodes of the causes of a step and rank, with their scores, best suspect first.

    There are none where the runs share too few calls. Through manual pairs, which the file's
    diagnosis does not know, it is the causes that stand, else the first row that differs.
    """
    if results.patches.nodes and results.comparison:
        first = first_divergent(rows, results.threshold)
        return standing(results, rows, step, rank, first) or dict.fromkeys(first)
    return results.beginnings(step, rank) if names_beginnings(results) else {}


def standing(
    results: Results, rows: MergedRows, step: int, rank: int, differs: Sequence[int]
) -> dict[int, float | None]:
    """The nodes of causes that stand in a step and rank, with their scores; empty where none does.

    `differs` is the node that the measures show first, as a list of one, or empty.
    """
    built = without_pairs(results)
    if built is None or not differs or not names_beginnings(built):
        return {}
    changed = changed_names(results)
    untouched = {
        node
        for one in built.findings().findings
        if not is_touched(one, changed)
        for node in nodes_of(one, step, rank)
    }
    named = built.beginnings(step, rank).items()
    scores = {node: score for node, score in named if node in untouched}
    ids = np.array([*differs, *scores], dtype=np.int64)
    first, *ahead = (row for row in rows.rows_of(ids).tolist() if row != NOTHING)
    return scores if ahead and min(ahead) <= first else {}

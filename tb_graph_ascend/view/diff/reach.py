"""What can be reached along links between rows, from some rows on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from builder.results.node_words import Ints


@dataclass(frozen=True, slots=True)
class Links:
    """Links from rows to rows: those of row n lead to `targets[heads[n]:heads[n + 1]]`."""

    heads: list[int]
    targets: list[int]


def links_of(source: Ints, target: Ints, count: int) -> Links:
    """The links between so many rows."""
    order = np.argsort(source, kind="stable")
    heads = np.searchsorted(source[order], np.arange(count + 1)).tolist()
    return Links(heads, target[order].tolist())


def reached(links: Links, start: Iterable[int], through: Sequence[bool]) -> set[int]:
    """The rows that links lead to from others, the start included; only some may be passed."""
    found = set(start)
    pending = list(found)
    heads, targets = links.heads, links.targets
    while pending:
        row = pending.pop()
        for following in targets[heads[row] : heads[row + 1]]:
            if through[following] and following not in found:
                found.add(following)
                pending.append(following)
    return found

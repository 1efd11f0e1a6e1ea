"""The precision that a run computes in, where mixed precision hides it behind the dtypes of values.

Autocast lowers products (linear layers, attention, convolutions) and leaves the rest as it is, so
most values may carry the dtype of a run without it. The runs differ in precision all the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

from builder.match.nodes import Matching
from builder.match.tree import Tree, TreeNode
from builder.operators.table import has
from msprobe_core.format import canonical_dtype, machine_epsilon

_FEWEST = 4
"""Products that have to be lower: fewer may be a fault of their own."""


class _Product(NamedTuple):
    """A product that both runs compute: its name, and the dtypes of its result."""

    name: str
    ours: str
    theirs: str


def working_precision(matching: Matching, base: tuple[str, str]) -> tuple[str, str]:
    """The base precisions of both runs, lowered where one of them computes products lower.

    A run does so when a whole class of products is in one lower dtype there, with it at least half
    of all products, and none is in a higher one. A compiler rounds a value only where it writes it,
    and two programs of one model round at other places: so in both cases float32 values too are
    apart by the rounding of the format that most products are in.
    """
    products = [*_products(matching, "api")] or [*_products(matching, "module")]
    dumps = matching.problem.dump, matching.benchmark.dump
    if matching.across_implementations or any(dump.keeps_digits for dump in dumps):
        base = (
            _coarser(base[0], [p.ours for p in products]),
            _coarser(base[1], [p.theirs for p in products]),
        )
    ours = _lowered([(p.name, p.ours, p.theirs) for p in products])
    theirs = _lowered([(p.name, p.theirs, p.ours) for p in products])
    return ours or base[0], theirs or base[1]


def _coarser(base: str, of_products: list[str]) -> str:
    """The dtype of most products, where it is coarser than that of most values."""
    usual, _ = Counter(of_products).most_common(1)[0] if of_products else (base, 0)
    return usual if _epsilon(usual) > _epsilon(base) else base


def _lowered(products: list[tuple[str, str, str]]) -> str | None:
    """The dtype of the first side's products if they are lower than the second's as a class."""
    steps = [_epsilon(own) - _epsilon(other) for _, own, other in products]
    lower = {own for (_, own, _), step in zip(products, steps) if step > 0}
    count = sum(step > 0 for step in steps)
    if len(lower) != 1 or count < max(_FEWEST, len(steps) / 2) or min(steps) < 0:
        return None
    classes: dict[str, list[bool]] = defaultdict(list)
    for (name, _, _), step in zip(products, steps):
        classes[name].append(step > 0)
    return lower.pop() if any(map(all, classes.values())) else None


def _products(matching: Matching, kind: str) -> list[_Product]:
    found = []
    for node in matching.problem.in_order:
        entry, partner = node.entry, matching.partner.get(node)
        if entry is None or partner is None or node.direction != "forward" or entry.kind != kind:
            continue
        ours = theirs = None
        if has(entry.type_name, "product"):
            ours = _result_dtype(matching.problem, node)
            theirs = _result_dtype(matching.benchmark, partner)
        if ours is not None and theirs is not None:
            found.append(_Product(entry.type_name, ours, theirs))
    return found


def _result_dtype(tree: Tree, node: TreeNode) -> str | None:
    """The dtype of the first floating result; None where none is recorded."""
    values = tree.dump.values
    for at in range(*node.values):
        dtype = values.records[at].dtype
        if values.keys[at].startswith("output") and dtype and machine_epsilon(dtype) is not None:
            return canonical_dtype(dtype)
    return None


def _epsilon(dtype: str) -> float:
    epsilon = machine_epsilon(dtype)
    assert epsilon is not None  # only floating results are listed
    return epsilon

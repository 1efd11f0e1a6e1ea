"""What the oracle of a suite accepts as the place of a fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from re import compile as expression

from evaluation.upstream.cases import Release
from evaluation.upstream.truth import is_right


@dataclass(frozen=True, slots=True)
class Named:
    """A node that a finding names: where it ran, the module around it, the stack of its call.

    It `is_alone` where the finding is that one run makes the call and the other does not.
    """

    step: int
    name: str
    inside: str = ""
    stack: str | None = None
    is_alone: bool = False


Right = Callable[[Named], bool]
"""Whether a node is where a fault is."""


def among(places: Iterable[tuple[int, str]]) -> Right:
    """One of some nodes, by step and name."""
    known = frozenset(places)
    return lambda named: (named.step, named.name) in known


def fits(culprits: Sequence[str]) -> Right:
    """A node, or one inside a module, whose name fits an expression."""
    expressions = list(map(expression, culprits))
    return lambda named: any(e.search(named.name) or e.search(named.inside) for e in expressions)


def of_release(case: Release, folders: tuple[Path, Path]) -> Right:
    """A call whose stack leads to what mended the bug; `folders` hold the two releases."""
    holds = cache(lambda stack, is_alone: is_right(stack, is_alone, case, folders))
    return lambda named: bool(holds(named.stack, named.is_alone))

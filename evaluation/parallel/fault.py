"""A seeded bug of a parallel run: how it is put in, and which answers name it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from evaluation.parallel.experiment import Experiment
from evaluation.parallel.layout import Layout
from evaluation.parallel.size import Size


@dataclass(frozen=True, slots=True)
class Fault:
    """`culprits` are expressions; a finding whose node fits one has found the bug.

    `ranks` are the guilty ones where some are; `threads` tell where such a bug was met.
    """

    name: str
    layout: Layout
    change: Callable[[Experiment], None]
    culprits: tuple[str, ...]
    ranks: tuple[int, ...] = ()
    size: Size = field(default_factory=Size)
    threads: str = ""
    benchmark: Layout = field(default_factory=Layout)

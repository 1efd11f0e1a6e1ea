"""A dump.json alone takes its structure from the run that it is compared with.

Users copy dump.json without construct.json, or record without it (`extra_info` off). A flat list
against a tree would leave nearly all calls without a partner, although names tell them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from builder.dump.reader import Dump


def flat_side(problem: Dump, benchmark: Dump) -> Literal["problem", "benchmark"] | None:
    """The side that alone has no structure."""
    if bool(problem.parents) == bool(benchmark.parents):
        return None
    return "benchmark" if problem.parents else "problem"


def with_structure(problem: Dump, benchmark: Dump) -> tuple[Dump, Dump]:
    """Both dumps; where one alone has a structure, the other's calls stand where its namesakes do.

    Calls that only the flat dump has stay at the top level, in their order.
    """
    flat = flat_side(problem, benchmark)
    if flat == "benchmark":
        return problem, _placed(benchmark, problem)
    return (problem if flat is None else _placed(problem, benchmark)), benchmark


def _placed(flat: Dump, other: Dump) -> Dump:
    names = set(flat.ranges)
    for name in flat.ranges:
        # What a call stands in may have no values of its own.
        above = other.parents.get(name)
        while above is not None and above not in names:
            names.add(above)
            above = other.parents.get(above)
    parents = {name: above for name, above in other.parents.items() if name in names}
    micro_steps = {n: step for n, step in other.micro_steps.items() if n in parents}
    return replace(flat, parents=parents, micro_steps=micro_steps)

"""Where calls stand of which flow.json alone tells: between the entries that ran around them."""

from __future__ import annotations

from collections import defaultdict

from builder.dump.reader import Dump


def place_passing(dump: Dump, other: Dump | None = None) -> None:
    """Give such calls of a dump a place, so that they become nodes.

    Against a dump that does not tell of them they would be calls that one run alone makes: then
    they stay without, and edges lead past them.
    """
    if dump.passing is None or (other is not None and other.passing is None):
        return
    behind: defaultdict[int, list[str]] = defaultdict(list)
    for name, call in dump.passing.items():
        if call.after is not None:
            behind[call.after].append(name)
    if not behind:
        return
    if dump.parents:
        dump.parents = dict(_parents(dump, behind))
    elif dump.level == "L1":
        end = len(dump.values.records)
        names = _between([*dump.ranges], behind)
        dump.ranges = {name: dump.ranges.get(name, (end, end)) for name in names}


def _parents(dump: Dump, behind: dict[int, list[str]]) -> list[tuple[str, str | None]]:
    passing = dump.passing or {}
    parents = dump.parents
    names = _between([*parents], behind)
    return [(n, parents[n] if n in parents else passing[n].parent) for n in names]


def _between(names: list[str], behind: dict[int, list[str]]) -> list[str]:
    """Names with those that stand behind so many of them."""
    placed: list[str] = []
    for at, name in enumerate(names):
        placed += behind.get(at, ())
        placed.append(name)
    ends = sorted(at for at in behind if at >= len(names))
    return [*placed, *(name for at in ends for name in behind[at])]

"""Whether one of two runs on one process works on a step's batch in more pieces than the other.

Nothing in a dump says so: the modules are called more often, and the rows that they read in all
their calls are the same.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec

from builder.dump.reader import Dump, read_dump
from builder.ranks.assembly.alignment import parse

_STRUCTURE = "construct.json"


def divides_batch(problem: Path, benchmark: Path) -> bool:
    """Whether the modules of one rank's dump work on the same rows in other numbers of calls."""
    ours, theirs = _calls(problem), _calls(benchmark)
    unlike = {owner for owner in ours.keys() & theirs.keys() if ours[owner] != theirs[owner]}
    if not _are_most(len(unlike), len(ours.keys() & theirs.keys())):
        return False
    rows = _rows(read_dump(problem)), _rows(read_dump(benchmark))
    read = [owner for owner in unlike if owner in rows[0] and owner in rows[1]]
    return _are_most(sum(1 for owner in read if rows[0][owner] == rows[1][owner]), len(read))


def _are_most(some: int, count: int) -> bool:
    return 2 * some > count


def _calls(dump: Path) -> Counter[str]:
    """How often each module is called forward, by its structure alone; empty where that lacks."""
    structure = dump / _STRUCTURE
    if not structure.is_file():  # whoever reads the dump says what is wrong
        return Counter()
    try:
        names = msgspec.json.decode(structure.read_bytes(), type=dict[str, msgspec.Raw])
    except (OSError, msgspec.DecodeError):
        return Counter()  # whoever reads the dump says what is wrong with it
    modules = (name.rpartition(".forward.")[0] for name in names if name.startswith("Module."))
    return Counter(owner for owner in modules if owner)


def _rows(dump: Dump) -> Counter[str]:
    """The leading extents of each module's first input, added up over its calls."""
    found: Counter[str] = Counter()
    for name, (start, stop) in dump.ranges.items():
        entry = parse(name)
        if entry is None or entry.kind != "module" or entry.direction != "forward" or start == stop:
            continue
        shape = dump.values.records[start].shape
        if shape:
            found[name.rpartition(".forward.")[0]] += shape[0]
    return found

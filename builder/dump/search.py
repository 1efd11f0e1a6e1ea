"""Finds dumps below the log folders, for the form that builds a comparison of two of them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from builder.dump.sources import SourceSet, find_sources, outermost
from builder.errors import BuilderError
from msprobe_core.format import DEBUG_FILE, DUMP_FILE

_LONGEST_SCAN_SECONDS = 3.0
_MOST_DUMPS = 200


def find_dumps(folders: Sequence[Path]) -> list[SourceSet]:
    """The dumps below folders, each at its outermost level; a huge tree is given up midway."""
    deadline = time.monotonic() + _LONGEST_SCAN_SECONDS
    tops = dict.fromkeys(top for folder in folders for top in _tops(folder, deadline))
    dumps = (_sources(top) for top in tops)
    return [dump for dump in dumps if dump is not None][:_MOST_DUMPS]


def _sources(top: Path) -> SourceSet | None:
    try:
        return find_sources(top)
    except BuilderError:
        return None


def _tops(folder: Path, deadline: float) -> Iterator[Path]:
    pending = [folder]
    while pending and time.monotonic() < deadline:
        current = pending.pop()
        try:
            entries = list(os.scandir(current))
        except OSError:
            continue
        if any(entry.name in (DUMP_FILE, DEBUG_FILE) and entry.is_file() for entry in entries):
            yield outermost(current, folder)
        else:
            pending += [Path(e.path) for e in entries if e.is_dir(follow_symlinks=False)]
